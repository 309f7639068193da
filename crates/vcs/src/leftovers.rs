//! Unreachable objects of a repository: git keeps them for weeks, and lists them on request.
//!
//! A file that was staged and removed again, or written by `git hash-object`, is an object without
//! a path, so no rule about paths can judge it. Commands must not see such objects: each one in a
//! file of its own is hidden, and if one cannot be hidden alone, the repository is not shown.
//! Objects that have paths (commits and trees of a deleted branch) are judged by those.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::call::GitCall;
use crate::filtered::{GitPlaces, PathRefusals, PathVerdict};
use crate::git_dir;
use crate::worktree::WHOLE;
use crate::{Error, GitProgram, VcsErrorKind};

/// The most objects that are hidden one by one.
const HIDDEN_OBJECTS_MAX: usize = 400;

/// The exit codes of `git fsck` are bits; above them, git itself failed.
const FSCK_CODE_MAX: i32 = 31;

/// The objects of a repository as its files show them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ObjectFiles {
    /// Ids of the objects in separate files.
    pub(crate) loose: BTreeSet<String>,
    /// Names of the pack files.
    pub(crate) packs: BTreeSet<String>,
}

impl ObjectFiles {
    /// Lists them; a thousand take a few milliseconds.
    pub(crate) fn list(objects: &Path) -> Result<Self, Error> {
        let name = |path: &PathBuf| Some(path.file_name()?.to_str()?.to_owned());
        let mut found = Self::default();
        for folder in git_dir::folders(objects)? {
            let Some(start) = name(&folder).filter(|name| name.len() == 2) else {
                continue;
            };
            let files = git_dir::files_in(&folder);
            let ends = files.iter().filter_map(name);
            let ends = ends.filter(|end| end.bytes().all(|byte| byte.is_ascii_hexdigit()));
            found.loose.extend(ends.map(|end| start.clone() + &end));
        }
        let packs = git_dir::files_in(&objects.join("pack"));
        let packs = packs.iter().filter_map(name);
        found.packs = packs.filter(|pack| pack.ends_with(".pack")).collect();
        Ok(found)
    }

    /// Returns a text that changes when an object is added or removed, without listing them.
    pub(crate) fn stamp(objects: &Path) -> Result<String, Error> {
        let folders = git_dir::folders(objects)?;
        let stamps = folders.iter().filter_map(|folder| git_dir::stamp(folder));
        Ok(stamps.collect::<Vec<_>>().join("\n"))
    }
}

/// The treatment of objects without names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LeftoverVerdict {
    /// These ids must be hidden; the set may be empty.
    Hidden(BTreeSet<String>),
    /// Some cannot be hidden, or belong to a refused path.
    Refused,
}

/// Judges the objects in `now` that were not in `before` and that the history walk, which gave
/// `walked`, has not named.
pub(crate) fn judge(
    git: &GitProgram,
    (before, now): (&ObjectFiles, &ObjectFiles),
    walked: &BTreeSet<String>,
    refusal: &PathRefusals<'_>,
) -> Result<LeftoverVerdict, Error> {
    let unnamed: BTreeSet<String> = match before.packs == now.packs && !before.is_empty() {
        true => {
            let new = now.loose.difference(&before.loose);
            new.filter(|id| !walked.contains(*id)).cloned().collect()
        }
        // A new pack may hold any object.
        false => unreachable(git)?,
    };
    if unnamed.is_empty() {
        return Ok(LeftoverVerdict::Hidden(BTreeSet::new()));
    }
    let (blobs, others) = by_kind(git, &unnamed)?;
    let mut blobs = blobs;
    if !others.is_empty() {
        for (id, path) in walk(git, &others)? {
            if (refusal.of_path)(&path) != PathVerdict::Shown {
                return Ok(LeftoverVerdict::Refused);
            }
            blobs.remove(&id);
        }
    }
    let can_be_hidden = blobs.len() <= HIDDEN_OBJECTS_MAX && blobs.is_subset(&now.loose);
    Ok(match can_be_hidden {
        true => LeftoverVerdict::Hidden(blobs),
        false => LeftoverVerdict::Refused,
    })
}

impl ObjectFiles {
    fn is_empty(&self) -> bool {
        self.loose.is_empty() && self.packs.is_empty()
    }
}

/// The files of these objects.
pub(crate) fn files(places: &GitPlaces, ids: &BTreeSet<String>) -> Vec<PathBuf> {
    let objects = places.common_dir.join("objects");
    let file = |id: &String| objects.join(&id[..2]).join(&id[2..]);
    ids.iter().map(file).collect()
}

/// Everything that no reference, log or index leads to.
fn unreachable(git: &GitProgram) -> Result<BTreeSet<String>, Error> {
    let args = [
        "fsck",
        "--unreachable",
        "--connectivity-only",
        "--no-progress",
        "--no-dangling",
    ];
    // The exit code reports other problems of the repository, such as a log entry whose commit is
    // gone.
    let outcome = git.ask(&GitCall::new(args).limit(WHOLE))?;
    if outcome.stdout_truncated
        || outcome
            .status
            .code()
            .is_none_or(|code| code > FSCK_CODE_MAX)
    {
        let message = "git cannot say which objects of the repository are left over".to_owned();
        return Err(Error::new(VcsErrorKind::Failed, message));
    }
    let said = outcome.stdout_text();
    let lines = said
        .lines()
        .filter_map(|line| line.strip_prefix("unreachable "));
    let ids = lines.filter_map(|line| line.split(' ').nth(1));
    Ok(ids.map(str::to_owned).collect())
}

/// Splits objects into blobs and those that have paths: commits, trees and tags.
fn by_kind(
    git: &GitProgram,
    ids: &BTreeSet<String>,
) -> Result<(BTreeSet<String>, BTreeSet<String>), Error> {
    let call = GitCall::new(["cat-file", "--batch-check=%(objectname) %(objecttype)"]);
    let stdin: String = ids.iter().map(|id| format!("{id}\n")).collect();
    let listed = git.tell(&call.stdin(stdin).limit(WHOLE))?;
    let listed = String::from_utf8_lossy(&listed);
    let (mut blobs, mut others) = (BTreeSet::new(), BTreeSet::new());
    for line in listed.lines() {
        match line.split_once(' ') {
            Some((id, "blob")) => blobs.insert(id.to_owned()),
            Some((id, "commit" | "tree" | "tag")) => others.insert(id.to_owned()),
            // The object is gone meanwhile.
            _ => false,
        };
    }
    Ok((blobs, others))
}

/// The objects that these lead to, with their paths, without those of the history.
fn walk(git: &GitProgram, from: &BTreeSet<String>) -> Result<Vec<(String, PathBuf)>, Error> {
    let stdin: String = from.iter().map(|id| format!("{id}\n")).collect();
    let args = [
        "-c",
        "core.quotePath=false",
        "rev-list",
        "--objects",
        "--ignore-missing",
        "--stdin",
        "--not",
        "--all",
    ];
    let listed = git.tell(&GitCall::new(args).stdin(stdin).limit(WHOLE))?;
    Ok(crate::filtered::named_objects(&listed).collect())
}
