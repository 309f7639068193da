//! A repository without the files that commands may not read: what git shows in a sandbox.
//!
//! Git keeps every version of every file, so a command that cannot read `.env` could still run
//! `git show HEAD:.env`. Where some version of a repository holds a refused path, commands get a
//! directory of git of their own instead: one commit, the checked out one, without the refused
//! paths and without a history. Where none does, they see the repository itself.
//!
//! Which of the two it is takes a walk over the history. Its outcome is kept beside the filtered
//! directories, with the state of the references it was found for: as long as they stay, a command
//! costs a look at git's files; when they move, only what is new is walked.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::call::{Call, Limit};
use crate::disk;
use crate::references::References;
use crate::worktree::WHOLE;
use crate::{Error, ErrorKind, Git};

/// Stands in the name of every filtered directory: another way to make them makes others.
const VERSION: &str = "1";
/// The file that says which history was walked and had nothing to refuse.
const CLEAN: &str = "clean";

/// Settings of a repository that decide what `git status` and `git diff` say.
const SETTINGS_KEPT: [&str; 7] = [
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.safecrlf",
    "core.symlinks",
];

/// Which paths of a repository are refused, and a name for that choice: what is kept for one choice
/// does not count for another.
pub struct Refusal<'a> {
    /// What to do about a path from the top of the repository.
    pub of_path: &'a dyn Fn(&Path) -> PathVerdict,
    /// Whether a version of a file that is [`PathVerdict::Judged`] has to be refused.
    pub of_content: &'a dyn Fn(&[u8]) -> bool,
    /// Tells this choice from others.
    pub name: &'a str,
}

/// What becomes of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathVerdict {
    /// All its versions may be read.
    Shown,
    /// What each version says decides.
    Judged,
    /// None of its versions may be read.
    Refused,
}

/// What commands see of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownGit {
    /// The repository itself: nothing in it is refused.
    Whole,
    /// Another directory of git; the repository's own has to be hidden.
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
    /// Finds the repository that `dir` is in, by its files. `None` where there is none.
    #[must_use]
    pub fn find(dir: &Path) -> Option<Self> {
        let top = dir
            .ancestors()
            .find(|above| disk::is_there(&above.join(".git")))?;
        let named = top.join(".git");
        let git_dir = match disk::first_line(&named) {
            Some(line) => disk::path_from(line.strip_prefix(b"gitdir: ")?, top),
            None => named,
        };
        let common_dir = match disk::first_line(&git_dir.join("commondir")) {
            Some(line) => disk::path_from(&line, &git_dir),
            None => git_dir.clone(),
        };
        Some(Self {
            top: top.to_owned(),
            git_dir,
            common_dir,
        })
    }

    /// The directories to hide when the repository is not shown.
    #[must_use]
    pub fn hidden(&self) -> Vec<PathBuf> {
        let mut places = vec![self.common_dir.clone()];
        if !self.git_dir.starts_with(&self.common_dir) {
            places.push(self.git_dir.clone());
        }
        // Objects that are kept in another repository.
        let objects = self.common_dir.join("objects");
        let others = disk::read_small(&objects.join("info/alternates")).unwrap_or_default();
        let lines = others.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty());
        places.extend(lines.map(|line| disk::path_from(line, &objects)));
        places
    }
}

/// Decides what commands see of the repository, and makes it where it is missing. `store` is a
/// directory of ours for this repository; commands must not be able to write it.
pub fn shown_git(
    git: &Git,
    places: &GitPlaces,
    store: &Path,
    refusal: &Refusal<'_>,
) -> Result<ShownGit, Error> {
    let git = guarded(git, places);
    disk::make_private_folder(store)?;
    let references = References::read(places)?;
    let clean = store.join(format!("{CLEAN}-{}", digest(&[refusal.name.as_bytes()])));
    let known = disk::read_small(&clean).unwrap_or_default();
    let known = String::from_utf8_lossy(&known);
    let (state, tips) = known.split_once('\n').unwrap_or_default();
    if state == references.state {
        return Ok(ShownGit::Whole);
    }
    if !holds_refused(&git, &references, tips, refusal)? {
        let tips = references.tips.iter().map(String::as_str);
        let kept = format!(
            "{}\n{}",
            references.state,
            tips.collect::<Vec<_>>().join("\n")
        );
        disk::write(&clean, &kept)?;
        return Ok(ShownGit::Whole);
    }
    let git_dir = filtered(&git, places, store, refusal)?;
    Ok(ShownGit::Filtered {
        git_dir,
        work_tree: places.top.clone(),
        hidden: places.hidden(),
    })
}

/// Git in this repository and in none above it, which fetches nothing: the settings of a repository
/// name programs to fetch with, and this one may be anybody's.
fn guarded(git: &Git, places: &GitPlaces) -> Git {
    let above = places.top.parent().unwrap_or(&places.top);
    git.moved_to(&places.top)
        .variable("GIT_CEILING_DIRECTORIES", above)
        .variable("GIT_NO_LAZY_FETCH", "1")
        .variable("GIT_ALLOW_PROTOCOL", "none")
        .variable("GIT_SSH_COMMAND", "false")
}

/// Whether some version holds a refused path. What was walked before without finding one (`known`)
/// is left out; where it is gone meanwhile, everything is walked.
fn holds_refused(
    git: &Git,
    references: &References,
    known: &str,
    refusal: &Refusal<'_>,
) -> Result<bool, Error> {
    let walk = |without: &str| {
        let mut stdin = references
            .tips
            .iter()
            .fold(String::new(), |mut lines, tip| {
                lines.push_str(tip);
                lines.push('\n');
                lines
            });
        for tip in without.lines() {
            stdin.push('^');
            stdin.push_str(tip);
            stdin.push('\n');
        }
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
        git.ask(&Call::new(args).stdin(stdin).limit(WHOLE))
    };
    let mut outcome = walk(known)?;
    if !outcome.is_success() && !known.is_empty() {
        outcome = walk("")?;
    }
    git.expect_success(&outcome)?;
    // A history too long to be listed is not shown.
    if outcome.stdout_truncated {
        return Ok(true);
    }
    let mut judged = Vec::new();
    for line in outcome.stdout.split(|byte| *byte == b'\n') {
        let Some(cut) = line.iter().position(|byte| *byte == b' ') else {
            continue;
        };
        let (id, path) = (&line[..cut], &line[cut + 1..]);
        if path.is_empty() {
            continue;
        }
        match (refusal.of_path)(Path::new(OsStr::from_bytes(path))) {
            PathVerdict::Shown => {}
            PathVerdict::Judged => {
                judged.extend_from_slice(id);
                judged.push(b'\n');
            }
            PathVerdict::Refused => return Ok(true),
        }
    }
    if judged.is_empty() {
        return Ok(false);
    }
    // The versions one after the other, with a line about each: more than enough to judge them by.
    let batch = Call::new(["cat-file", "--batch"]).stdin(judged);
    let contents = git.tell(&batch.limit(WHOLE))?;
    Ok((refusal.of_content)(&contents))
}

/// The filtered directory of what is checked out, made if it is not there.
fn filtered(
    git: &Git,
    places: &GitPlaces,
    store: &Path,
    refusal: &Refusal<'_>,
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
    if disk::is_there(&place) {
        return Ok(place);
    }
    let made = disk::temporary_folder(store)?;
    let dir = made.path();
    let format = git.line(&Call::new(["rev-parse", "--show-object-format"]))?;
    let init = ["init", "--quiet", "--bare", "--template="].map(str::to_owned);
    let init = init
        .into_iter()
        .chain([format!("--object-format={format}")]);
    git.tell(&Call::new(init).arg(dir))?;
    keep_settings(git, dir)?;
    if let Some(head) = &head {
        let refused = commit_without(git, dir, head.as_str(), refusal)?;
        disk::make_private_folder(&dir.join("info"))?;
        disk::write(&dir.join("info/exclude"), &excluded(&refused))?;
    }
    disk::persist_folder(made, &place)?;
    Ok(place)
}

/// Makes the commit with its objects and an index. Returns what was left out.
fn commit_without(
    git: &Git,
    dir: &Path,
    head: &str,
    refusal: &Refusal<'_>,
) -> Result<Vec<PathBuf>, Error> {
    let objects = [
        "rev-parse",
        "--path-format=absolute",
        "--git-path",
        "objects",
    ];
    let objects = git.line(&Call::new(objects))?;
    let own = git
        .clone()
        .variable("GIT_INDEX_FILE", dir.join("index"))
        .variable("GIT_OBJECT_DIRECTORY", dir.join("objects"))
        .variable(
            "GIT_ALTERNATE_OBJECT_DIRECTORIES",
            crate::snapshot::quoted(&objects),
        );
    own.tell(&Call::new(["read-tree", head]).limit(WHOLE))?;
    let listed = own.tell(&Call::new(["ls-files", "-z"]).limit(WHOLE))?;
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
    own.tell(&Call::new(remove).stdin(stdin).limit(WHOLE))?;
    let tree = own.line(&Call::new(["write-tree"]).limit(WHOLE))?;
    let commit = same_words(git, &own, head, &tree)?;
    let pack = Call::new(["pack-objects", "--quiet", "--revs"]).arg(dir.join("objects/pack/pack"));
    own.tell(&pack.stdin(format!("{commit}\n")).limit(WHOLE))?;
    let branch = git.ask(&Call::new(["symbolic-ref", "--quiet", "HEAD"]))?;
    let branch = branch.stdout_text().trim().to_owned();
    let head = match branch.strip_prefix("refs/heads/") {
        Some(_) => {
            let own_dir = git.clone().variable("GIT_DIR", dir);
            own_dir.tell(&Call::new(["update-ref", &branch, &commit]))?;
            format!("ref: {branch}\n")
        }
        None => format!("{commit}\n"),
    };
    disk::write(&dir.join("HEAD"), &head)?;
    Ok(refused)
}

/// A commit of `tree` without parents that says what `head` says.
fn same_words(git: &Git, own: &Git, head: &str, tree: &str) -> Result<String, Error> {
    let fields = ["%an", "%ae", "%aI", "%cn", "%ce", "%cI", "%B"].join("%x00");
    let args = ["show", "--no-patch", "--no-show-signature"].map(str::to_owned);
    let args = args
        .into_iter()
        .chain([format!("--format={fields}"), head.to_owned()]);
    let shown = git.tell(&Call::new(args))?;
    let parts: Vec<&[u8]> = shown.splitn(7, |byte| *byte == 0).collect();
    let [an, ae, ad, cn, ce, cd, message] = parts.as_slice() else {
        return Err(Error::new(ErrorKind::Failed, "git shows no commit at HEAD"));
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
    let call = Call::new(["commit-tree", "--no-gpg-sign", tree]).stdin(*message);
    own.line(&call.limit(Limit::LOCAL))
}

fn keep_settings(git: &Git, dir: &Path) -> Result<(), Error> {
    let config = dir.join("config");
    let set = |name: &str, value: &str| {
        let call = Call::new(["config", "--file"]).arg(&config);
        git.tell(&call.args([name, value])).map(drop)
    };
    set("core.bare", "false")?;
    for name in SETTINGS_KEPT {
        let found = git.ask(&Call::new(["config", "--get", name]))?;
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
