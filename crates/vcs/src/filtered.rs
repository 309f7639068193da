//! Shows commands in a sandbox a repository without the files they may not read.
//!
//! Git stores every version of every file, so a command that cannot read `.env` could still run
//! `git show HEAD:.env`. If some version in a repository has a refused path, commands get a
//! separate git directory instead: one commit, the checked-out one, without the refused paths and
//! without history. Otherwise they see the repository itself.
//!
//! Deciding between the two takes a walk over the history. Its result is stored beside the filtered
//! directories, with the state of the references and objects it holds for: while they are
//! unchanged, a command costs one look at git's files; when they change, only new objects are
//! walked.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::call::{GitCall, TimeLimit};
use crate::git_dir;
use crate::known_history::KnownHistory;
use crate::leftovers::{self, LeftoverVerdict, ObjectFiles};
use crate::references::ReferenceState;
use crate::worktree::WHOLE;
use crate::{Error, GitProgram, VcsErrorKind};

/// Part of the name of every filtered directory, so that a new format makes new directories.
const VERSION: &str = "1";
/// The file that records the history that was walked without finding a refused path.
const CLEAN: &str = "clean";

/// Settings of a repository that influence `git status` and `git diff`.
const SETTINGS_KEPT: [&str; 7] = [
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.safecrlf",
    "core.symlinks",
];

/// Selects the refused paths of a repository, under a name: results stored for one selection are
/// not used for another.
pub struct PathRefusals<'a> {
    /// Judges a path, relative to the top of the repository.
    pub of_path: &'a dyn Fn(&Path) -> PathVerdict,
    /// Returns true if a version of a file that is [`PathVerdict::Judged`] must be refused.
    pub of_content: &'a dyn Fn(&[u8]) -> bool,
    /// The name of this selection.
    pub name: &'a str,
}

/// The verdict on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathVerdict {
    /// All its versions may be read.
    Shown,
    /// The content of each version decides.
    Judged,
    /// None of its versions may be read.
    Refused,
}

/// The git directory that commands see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownGit {
    /// The repository itself: it has no refused path.
    Whole {
        /// Files in it with unreachable versions, which must be hidden.
        hidden: Vec<PathBuf>,
    },
    /// Another git directory; the repository's own must be hidden.
    Filtered {
        /// For `GIT_DIR`.
        git_dir: PathBuf,
        /// For `GIT_WORK_TREE`.
        work_tree: PathBuf,
        /// The repository's own directories.
        hidden: Vec<PathBuf>,
    },
}

/// The directories of a checkout's git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitPlaces {
    /// Of this checkout.
    pub git_dir: PathBuf,
    /// Shared by all worktrees.
    pub common_dir: PathBuf,
    /// The top of the checkout.
    pub top: PathBuf,
}

impl GitPlaces {
    /// Finds the repository around `dir`, by its files; `None` if there is no repository.
    #[must_use]
    pub fn find(dir: &Path) -> Option<Self> {
        let top = dir
            .ancestors()
            .find(|above| git_dir::is_there(&above.join(".git")))?;
        let named = top.join(".git");
        let git_dir = match git_dir::first_line(&named) {
            Some(line) => git_dir::path_from(line.strip_prefix(b"gitdir: ")?, top),
            None => named,
        };
        let common_dir = match git_dir::first_line(&git_dir.join("commondir")) {
            Some(line) => git_dir::path_from(&line, &git_dir),
            None => git_dir.clone(),
        };
        Some(Self {
            top: top.to_owned(),
            git_dir,
            common_dir,
        })
    }

    /// The repositories of submodules stored in this one, at any depth.
    #[must_use]
    pub fn modules(&self) -> Vec<PathBuf> {
        let (mut found, mut pending) = (Vec::new(), vec![self.common_dir.join("modules")]);
        while let Some(dir) = pending.pop() {
            // A module's name may have slashes in it.
            for inner in git_dir::folders(&dir).unwrap_or_default() {
                if git_dir::is_there(&inner.join("HEAD")) {
                    pending.push(inner.join("modules"));
                    found.push(inner);
                } else {
                    pending.push(inner);
                }
            }
        }
        found
    }

    /// The directories to hide when the repository is not shown.
    #[must_use]
    pub fn hidden(&self) -> Vec<PathBuf> {
        let mut places = vec![self.common_dir.clone()];
        if !self.git_dir.starts_with(&self.common_dir) {
            places.push(self.git_dir.clone());
        }
        // Objects stored in another repository.
        let objects = self.common_dir.join("objects");
        let others = git_dir::read_small(&objects.join("info/alternates")).unwrap_or_default();
        let lines = others.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty());
        places.extend(lines.map(|line| git_dir::path_from(line, &objects)));
        places
    }
}

/// Decides which git directory commands see, and makes it if it is missing. `store` is this
/// program's directory for the repository; commands must not be able to write it.
pub fn shown_git(
    git: &GitProgram,
    places: &GitPlaces,
    store: &Path,
    refusal: &PathRefusals<'_>,
) -> Result<ShownGit, Error> {
    if let Some(hidden) = showable_git(git, places, store, refusal)? {
        return Ok(ShownGit::Whole { hidden });
    }
    let git = guarded(git, places);
    let git_dir = filtered(&git, places, store, refusal)?;
    Ok(ShownGit::Filtered {
        git_dir,
        work_tree: places.top.clone(),
        hidden: places.hidden(),
    })
}

/// Decides whether commands may see the repository itself. Returns the files in it that must be
/// hidden, or `None` if all of it must be. `store` is as in [`shown_git`].
pub fn showable_git(
    git: &GitProgram,
    places: &GitPlaces,
    store: &Path,
    refusal: &PathRefusals<'_>,
) -> Result<Option<Vec<PathBuf>>, Error> {
    let git = guarded(git, places);
    git_dir::make_private_folder(store)?;
    let objects = places.common_dir.join("objects");
    let references = ReferenceState::read(places)?;
    let state = digest(&[
        references.state.as_bytes(),
        ObjectFiles::stamp(&objects)?.as_bytes(),
    ]);
    let clean = store.join(format!("{CLEAN}-{}", digest(&[refusal.name.as_bytes()])));
    let known = KnownHistory::parse(&git_dir::read_small(&clean).unwrap_or_default());
    if known.state == state {
        return Ok(Some(leftovers::files(places, &known.hidden)));
    }
    let now = ObjectFiles::list(&objects)?;
    let Some(walked) = walk_history(&git, &references, &known.tips, refusal)? else {
        return Ok(None);
    };
    let hidden = match leftovers::judge(&git, (&known.objects, &now), &walked, refusal)? {
        LeftoverVerdict::Hidden(hidden) => hidden,
        LeftoverVerdict::Refused => return Ok(None),
    };
    let files = leftovers::files(places, &hidden);
    let found = KnownHistory {
        state,
        tips: references.tips,
        objects: ObjectFiles {
            // A hidden object is judged again: it may have got a name.
            loose: now.loose.difference(&hidden).cloned().collect(),
            packs: now.packs,
        },
        hidden,
    };
    git_dir::write(&clean, &found.print())?;
    Ok(Some(files))
}

/// Returns git limited to this repository, with fetching turned off: the settings of a repository
/// name programs to fetch with, and this repository may be anyone's.
fn guarded(git: &GitProgram, places: &GitPlaces) -> GitProgram {
    let above = places.top.parent().unwrap_or(&places.top);
    git.moved_to(&places.top)
        .variable("GIT_CEILING_DIRECTORIES", above)
        .variable("GIT_NO_LAZY_FETCH", "1")
        .variable("GIT_ALLOW_PROTOCOL", "none")
        .variable("GIT_SSH_COMMAND", "false")
}

/// Returns the walked ids, or `None` if some version has a refused path. Skips the part walked
/// before without a finding (`known`); if that part is gone, walks everything.
fn walk_history(
    git: &GitProgram,
    references: &ReferenceState,
    known: &BTreeSet<String>,
    refusal: &PathRefusals<'_>,
) -> Result<Option<BTreeSet<String>>, Error> {
    let walk = |without: &BTreeSet<String>| {
        let tips = references.tips.iter().map(|tip| format!("{tip}\n"));
        let without = without.iter().map(|tip| format!("^{tip}\n"));
        let stdin: String = tips.chain(without).collect();
        let args = [
            "-c",
            "core.quotePath=false",
            "rev-list",
            "--objects",
            "--ignore-missing",
            "--all",
            "--reflog",
            "--indexed-objects",
            "--stdin",
        ];
        git.ask(&GitCall::new(args).stdin(stdin).limit(WHOLE))
    };
    let mut outcome = walk(known)?;
    if !outcome.is_success() && !known.is_empty() {
        outcome = walk(&BTreeSet::new())?;
    }
    git.expect_success(&outcome)?;
    // A history too long to be listed is not shown.
    if outcome.stdout_truncated {
        return Ok(None);
    }
    let mut judged = Vec::new();
    for (id, path) in named_objects(&outcome.stdout) {
        match (refusal.of_path)(&path) {
            PathVerdict::Shown => {}
            PathVerdict::Judged => judged.extend_from_slice(format!("{id}\n").as_bytes()),
            PathVerdict::Refused => return Ok(None),
        }
    }
    if !judged.is_empty() {
        // The versions one after the other, with a line about each: more than enough to judge them by.
        let batch = GitCall::new(["cat-file", "--batch"]).stdin(judged);
        let contents = git.tell(&batch.limit(WHOLE))?;
        if (refusal.of_content)(&contents) {
            return Ok(None);
        }
    }
    let lines = outcome.stdout.split(|byte| *byte == b'\n');
    let ids = lines.filter_map(|line| line.split(|byte| *byte == b' ').next());
    let ids = ids.map(|id| String::from_utf8_lossy(id).into_owned());
    Ok(Some(ids.collect()))
}

/// Parses the objects with a path from the output of `git rev-list --objects`.
pub(crate) fn named_objects(listed: &[u8]) -> impl Iterator<Item = (String, PathBuf)> {
    listed.split(|byte| *byte == b'\n').filter_map(|line| {
        let cut = line.iter().position(|byte| *byte == b' ')?;
        let (id, path) = (&line[..cut], &line[cut + 1..]);
        let id = String::from_utf8_lossy(id).into_owned();
        (!path.is_empty()).then(|| (id, PathBuf::from(OsStr::from_bytes(path))))
    })
}

/// Returns the filtered directory of the checked-out commit, made if it is missing.
fn filtered(
    git: &GitProgram,
    places: &GitPlaces,
    store: &Path,
    refusal: &PathRefusals<'_>,
) -> Result<PathBuf, Error> {
    let head = git.commit("HEAD")?;
    let commit = head.as_ref().map_or("none", |commit| commit.as_str());
    let top = places.top.as_os_str().as_bytes();
    let parts = [
        VERSION.as_bytes(),
        commit.as_bytes(),
        refusal.name.as_bytes(),
        top,
    ];
    let place = store.join(digest(&parts));
    if git_dir::is_there(&place) {
        return Ok(place);
    }
    let made = git_dir::temporary_folder(store)?;
    let dir = made.path();
    let format = git.line(&GitCall::new(["rev-parse", "--show-object-format"]))?;
    let init = ["init", "--quiet", "--bare", "--template="].map(str::to_owned);
    let init = init
        .into_iter()
        .chain([format!("--object-format={format}")]);
    git.tell(&GitCall::new(init).arg(dir))?;
    keep_settings(git, dir)?;
    if let Some(head) = &head {
        let refused = commit_without(git, dir, head.as_str(), refusal)?;
        git_dir::make_private_folder(&dir.join("info"))?;
        git_dir::write(&dir.join("info/exclude"), &excluded(&refused))?;
    }
    git_dir::persist_folder(made, &place)?;
    Ok(place)
}

/// Makes the commit with its objects and an index. Returns the paths left out.
fn commit_without(
    git: &GitProgram,
    dir: &Path,
    head: &str,
    refusal: &PathRefusals<'_>,
) -> Result<Vec<PathBuf>, Error> {
    let objects = [
        "rev-parse",
        "--path-format=absolute",
        "--git-path",
        "objects",
    ];
    let objects = git.line(&GitCall::new(objects))?;
    let own = git
        .clone()
        .variable("GIT_INDEX_FILE", dir.join("index"))
        .variable("GIT_OBJECT_DIRECTORY", dir.join("objects"))
        .variable(
            "GIT_ALTERNATE_OBJECT_DIRECTORIES",
            crate::snapshot::quoted(&objects),
        );
    own.tell(&GitCall::new(["read-tree", head]).limit(WHOLE))?;
    let listed = own.tell(&GitCall::new(["ls-files", "-z"]).limit(WHOLE))?;
    let paths = listed
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty());
    let paths = paths.map(|path| Path::new(OsStr::from_bytes(path)));
    let refused: Vec<PathBuf> = paths
        .filter(|path| (refusal.of_path)(path) != PathVerdict::Shown)
        .map(Path::to_owned)
        .collect();
    let mut stdin = Vec::new();
    for path in &refused {
        stdin.extend_from_slice(path.as_os_str().as_bytes());
        stdin.push(0);
    }
    let remove = ["update-index", "--force-remove", "-z", "--stdin"];
    own.tell(&GitCall::new(remove).stdin(stdin).limit(WHOLE))?;
    let tree = own.line(&GitCall::new(["write-tree"]).limit(WHOLE))?;
    let commit = same_words(git, &own, head, &tree)?;
    let pack =
        GitCall::new(["pack-objects", "--quiet", "--revs"]).arg(dir.join("objects/pack/pack"));
    own.tell(&pack.stdin(format!("{commit}\n")).limit(WHOLE))?;
    let branch = git.ask(&GitCall::new(["symbolic-ref", "--quiet", "HEAD"]))?;
    let branch = branch.stdout_text().trim().to_owned();
    let head = match branch.strip_prefix("refs/heads/") {
        Some(_) => {
            let own_dir = git.clone().variable("GIT_DIR", dir);
            own_dir.tell(&GitCall::new(["update-ref", &branch, &commit]))?;
            format!("ref: {branch}\n")
        }
        None => format!("{commit}\n"),
    };
    git_dir::write(&dir.join("HEAD"), &head)?;
    Ok(refused)
}

/// Makes a commit of `tree` without parents, with the message of `head`.
fn same_words(git: &GitProgram, own: &GitProgram, head: &str, tree: &str) -> Result<String, Error> {
    let fields = ["%an", "%ae", "%aI", "%cn", "%ce", "%cI", "%B"].join("%x00");
    let args = ["show", "--no-patch", "--no-show-signature"].map(str::to_owned);
    let args = args
        .into_iter()
        .chain([format!("--format={fields}"), head.to_owned()]);
    let shown = git.tell(&GitCall::new(args))?;
    let parts: Vec<&[u8]> = shown.splitn(7, |byte| *byte == 0).collect();
    let [an, ae, ad, cn, ce, cd, message] = parts.as_slice() else {
        return Err(Error::new(
            VcsErrorKind::Failed,
            "git shows no commit at HEAD",
        ));
    };
    let names = [
        ("GIT_AUTHOR_NAME", an),
        ("GIT_AUTHOR_EMAIL", ae),
        ("GIT_AUTHOR_DATE", ad),
        ("GIT_COMMITTER_NAME", cn),
        ("GIT_COMMITTER_EMAIL", ce),
        ("GIT_COMMITTER_DATE", cd),
    ];
    let own = names.into_iter().fold(own.clone(), |own, (name, value)| {
        own.variable(name, OsStr::from_bytes(value))
    });
    let call = GitCall::new(["commit-tree", "--no-gpg-sign", tree]).stdin(*message);
    own.line(&call.limit(TimeLimit::LOCAL))
}

fn keep_settings(git: &GitProgram, dir: &Path) -> Result<(), Error> {
    let config = dir.join("config");
    let set = |name: &str, value: &str| {
        let call = GitCall::new(["config", "--file"]).arg(&config);
        git.tell(&call.args([name, value])).map(drop)
    };
    set("core.bare", "false")?;
    for name in SETTINGS_KEPT {
        let found = git.ask(&GitCall::new(["config", "--get", name]))?;
        if found.is_success() {
            set(name, found.stdout_text().trim_end_matches('\n'))?;
        }
    }
    Ok(())
}

/// The refused paths as patterns to ignore, so that `git status` does not call them new.
fn excluded(refused: &[PathBuf]) -> String {
    let lines: BTreeSet<String> = refused
        .iter()
        .filter_map(|path| path.to_str())
        .filter(|path| !path.contains(['\n', '\r']))
        .map(|path| {
            let mut line = "/".to_owned();
            for letter in path.chars() {
                if matches!(letter, '*' | '?' | '[' | '\\' | ' ') {
                    line.push('\\');
                }
                line.push(letter);
            }
            line
        })
        .collect();
    lines.into_iter().collect::<Vec<_>>().join("\n") + "\n"
}

/// A short name for these parts, the same on every machine.
fn digest(parts: &[&[u8]]) -> String {
    let mut hasher = crate::references::Fingerprint::default();
    for part in parts {
        hasher.add(part);
    }
    hasher.name()
}
