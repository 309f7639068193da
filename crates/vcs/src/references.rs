//! The references that a repository's history hangs on, read from git's files: cheap enough for
//! every command.

use std::collections::BTreeSet;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::filtered::GitPlaces;
use crate::git_dir;
use crate::{Error, VcsErrorKind};

/// The most files of references and logs that are read.
const REFERENCE_FILES_MAX: usize = 200_000;
/// Characters of a digest that make a name.
const NAME_CHARS: usize = 32;

/// The state of everything that keeps a version of a file reachable.
pub(crate) struct ReferenceState {
    /// Changes with every reference, log and index.
    pub(crate) state: String,
    /// The objects that references and files such as `FETCH_HEAD` name.
    pub(crate) tips: BTreeSet<String>,
}

impl ReferenceState {
    pub(crate) fn read(places: &GitPlaces) -> Result<Self, Error> {
        let common = &places.common_dir;
        let mut dirs = vec![common.clone()];
        dirs.extend(git_dir::folders(&common.join("worktrees"))?);
        if !dirs.contains(&places.git_dir) {
            dirs.push(places.git_dir.clone());
        }
        let (mut named, mut stamped) = (Vec::new(), Vec::new());
        for dir in &dirs {
            named.extend(git_dir::files_below(&dir.join("refs")));
            named.extend(heads(dir));
            stamped.extend(git_dir::files_below(&dir.join("logs")));
            stamped.extend(git_dir::files_below(&dir.join("reftable")));
            stamped.push(dir.join("index"));
        }
        named.push(common.join("packed-refs"));
        stamped.push(common.join("shallow"));
        stamped.push(common.join("objects/info/alternates"));
        let count = named.len() + stamped.len();
        if count > REFERENCE_FILES_MAX {
            let message = format!(
                "the repository has {count} files of references, more than REFERENCE_FILES_MAX ({REFERENCE_FILES_MAX}); run `git pack-refs --all`"
            );
            return Err(Error::new(VcsErrorKind::TooLarge, message));
        }
        let (mut state, mut tips) = (Fingerprint::default(), BTreeSet::new());
        for file in &named {
            let Some(text) = git_dir::read_small(file) else {
                continue;
            };
            state.add(file.as_os_str().as_encoded_bytes());
            state.add(&text);
            tips.extend(text.split(|byte| byte.is_ascii_whitespace()).filter_map(id));
        }
        for file in &stamped {
            if let Some(stamp) = git_dir::stamp(file) {
                state.add(file.as_os_str().as_encoded_bytes());
                state.add(stamp.as_bytes());
            }
        }
        Ok(Self {
            state: state.name(),
            tips,
        })
    }
}

/// `HEAD`, `FETCH_HEAD`, `ORIG_HEAD` and the like.
fn heads(dir: &Path) -> Vec<std::path::PathBuf> {
    git_dir::files_in(dir)
        .into_iter()
        .filter(|file| {
            let name = file.file_name().map(std::ffi::OsStr::as_encoded_bytes);
            name.is_some_and(|name| name.ends_with(b"HEAD") || name == b"AUTO_MERGE")
        })
        .collect()
}

/// Parses the id of an object, as git's files have it.
fn id(word: &[u8]) -> Option<String> {
    let word = word.strip_prefix(b"^").unwrap_or(word);
    let is_id = matches!(word.len(), 40 | 64) && word.iter().all(u8::is_ascii_hexdigit);
    is_id.then(|| String::from_utf8_lossy(word).into_owned())
}

/// A digest of several parts.
#[derive(Default)]
pub(crate) struct Fingerprint(Sha256);

impl Fingerprint {
    pub(crate) fn add(&mut self, part: &[u8]) {
        self.0.update(part.len().to_le_bytes());
        self.0.update(part);
    }

    pub(crate) fn name(self) -> String {
        let digest = self.0.finalize();
        let hex = digest.iter().map(|byte| format!("{byte:02x}"));
        let hex: String = hex.collect();
        hex[..NAME_CHARS].to_owned()
    }
}
