//! Ignore rules of `.gitignore` files: read through handles, matched from the inside out.
//!
//! Taken into account: `.gitignore` and `.ignore` in every directory from the root down (the second
//! wins), and `.git/info/exclude`. Not: files outside the root, such as a user's global one.

use std::io::Read;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::read::open_at;
use crate::descent::{Descent, kind_of};
use crate::{PathKind, RelPath, Root};

/// The most bytes read of one ignore file; the rest is ignored.
pub(crate) const IGNORE_BYTES_MAX: u64 = 1024 * 1024;

/// The names of ignore files; the last one wins.
const FILES: [&str; 2] = [".gitignore", ".ignore"];

/// The ignore rules that apply in a directory: its own and those above.
#[derive(Clone, Default)]
pub(super) struct IgnoreRules(Option<Arc<IgnoreLevel>>);

struct IgnoreLevel {
    above: IgnoreRules,
    /// Bytes of the directory's path, with the slash after it.
    prefix: usize,
    matcher: Gitignore,
}

impl IgnoreRules {
    /// Reads the outermost rules, those of `.git/info/exclude`.
    pub(super) fn of_repository(root: &Root) -> Self {
        let Ok(info) = RelPath::parse(".git/info") else {
            return Self::default();
        };
        let mut descent = Descent::new(root.fd());
        match descent.enter(&info) {
            Ok(dir) => Self::default().with_files(dir, &RelPath::root(), &["exclude"]),
            Err(_) => Self::default(),
        }
    }

    /// The rules that apply in `dir`, an opened directory that contains these names.
    pub(super) fn entering<'n>(
        &self,
        fd: BorrowedFd<'_>,
        dir: &RelPath,
        names: impl Iterator<Item = &'n str>,
    ) -> Self {
        let mut present: Vec<&str> = names.filter(|name| FILES.contains(name)).collect();
        present.sort_unstable_by_key(|name| FILES.iter().position(|file| file == name));
        if present.is_empty() {
            return self.clone();
        }
        self.with_files(fd, dir, &present)
    }

    /// The names of files with ignore rules.
    pub(super) fn file_names() -> impl Iterator<Item = &'static str> {
        FILES.into_iter()
    }

    /// Returns true if `path` is ignored.
    pub(super) fn name(&self, path: &RelPath, kind: PathKind) -> bool {
        let mut next = self;
        while let Some(level) = &next.0 {
            let below = path.as_str().get(level.prefix..).unwrap_or_default();
            let matched = level.matcher.matched(below, kind == PathKind::Dir);
            if !matched.is_none() {
                return matched.is_ignore();
            }
            next = &level.above;
        }
        false
    }

    fn with_files(&self, fd: BorrowedFd<'_>, dir: &RelPath, files: &[&str]) -> Self {
        let mut builder = GitignoreBuilder::new("");
        for file in files {
            let text = read(fd, file).unwrap_or_default();
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            for line in text.lines() {
                // A line that is not a valid pattern is skipped, as in git.
                builder.add_line(None, line).ok();
            }
        }
        match builder.build() {
            Ok(matcher) if !matcher.is_empty() => Self(Some(Arc::new(IgnoreLevel {
                above: self.clone(),
                prefix: if dir.is_root() {
                    0
                } else {
                    dir.as_str().len() + 1
                },
                matcher,
            }))),
            _ => self.clone(),
        }
    }
}

fn read(dir: BorrowedFd<'_>, name: &str) -> Option<String> {
    let (file, stat) = open_at(dir, name).ok()?;
    if kind_of(&stat) != PathKind::File {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(IGNORE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
