//! The worktrees of one owner in a repository: makes them, finds them, and reconciles them after a
//! crash.
//!
//! A worktree's lock names its owner, and git writes the lock first, so the owner is known at any
//! moment. A second file marks the worktree as complete. Both are in git's directory, out of reach
//! of commands in the worktree.

use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::branch::job_part;
use crate::call::GitCall;
use crate::worktree::WHOLE;
use crate::{BranchName, CommitId, Error, Repository, VcsErrorKind, Worktree, git_dir};

/// Attempts to make a worktree while other gits are at work, and the pause between them.
const MAKE_ATTEMPTS_MAX: u32 = 20;
const MAKE_PAUSE: Duration = Duration::from_millis(100);

/// The first word in the lock of every worktree made by this program.
const TAG: &str = "drawloom";
/// Beside the lock: marks a complete worktree, and names its base.
const MARKER: &str = "drawloom";

/// The worktrees of one owner. An owner, such as one database, knows which jobs are alive;
/// worktrees of other owners are not touched.
#[derive(Debug, Clone)]
pub struct WorktreeFolder {
    repository: Repository,
    folder: PathBuf,
    owner: String,
}

/// The commit or branch that a new worktree checks out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckoutTarget {
    /// A commit, on no branch.
    Commit(CommitId),
    /// A branch, which commits in the worktree move along.
    Branch(BranchName),
}

/// A worktree of this program as its metadata describes it, complete or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredWorktree {
    /// The job it was made for.
    pub job: String,
    /// Its directory, unless its maker died before git wrote it down.
    pub path: Option<PathBuf>,
    /// True if it was made completely.
    pub whole: bool,
    admin: PathBuf,
}

impl RegisteredWorktree {
    /// Returns true if it may hold work that must not be lost.
    fn has_work(&self) -> bool {
        self.whole && self.path.as_deref().is_some_and(Path::is_dir)
    }
}

impl WorktreeFolder {
    /// The worktrees of `owner` in a repository; new ones are made in `folder`, which is made.
    pub fn new(repository: &Repository, folder: &Path, owner: &str) -> Result<Self, Error> {
        if !folder.is_absolute() {
            let message = format!(
                "the folder for worktrees, `{}`, is not an absolute path; give one",
                folder.display()
            );
            return Err(Error::new(VcsErrorKind::BadPath, message));
        }
        Ok(Self {
            repository: repository.clone(),
            folder: folder.to_owned(),
            owner: checked("owner", owner)?,
        })
    }

    /// Makes the worktree of a job. Removes the remains of an incomplete one first; a complete one
    /// is [`VcsErrorKind::Occupied`], because there may be work in it.
    pub fn make(&self, job: &str, checkout: &CheckoutTarget) -> Result<Worktree, Error> {
        let job = checked("job", job)?;
        for found in self.list()?.iter().filter(|found| found.job == job) {
            if found.has_work() {
                return Err(self.occupied(found));
            }
            self.remove(found)?;
        }
        let mut attempts = 0;
        loop {
            attempts += 1;
            let path = self.fresh_path(&job)?;
            let error = match self.add(&job, &path, checkout) {
                Ok(made) => return Ok(made),
                Err(error) => error,
            };
            // An incomplete worktree names its owner; if this removal fails too, reconciling
            // removes it.
            let _ = self.remove_of(&job);
            if error.kind() != VcsErrorKind::Locked || attempts >= MAKE_ATTEMPTS_MAX {
                return Err(error);
            }
            thread::sleep(MAKE_PAUSE);
        }
    }

    /// Returns the worktree of a job, if there is a complete one.
    pub fn find(&self, job: &str) -> Result<Option<Worktree>, Error> {
        let mut list = self.list()?.into_iter();
        let found = list.find(|found| found.job == job && found.whole);
        found.map_or(Ok(None), |found| self.open(found))
    }

    /// Lists all worktrees of this owner, complete or not, in a fixed order.
    pub fn list(&self) -> Result<Vec<RegisteredWorktree>, Error> {
        let folders = git_dir::folders(&self.repository.git_dir().join("worktrees"))?;
        Ok(folders
            .into_iter()
            .filter_map(|admin| self.registered(admin))
            .collect())
    }

    /// Removes every worktree of this owner whose job `keep` does not keep, and returns the removed ones.
    pub fn reconcile(
        &self,
        mut keep: impl FnMut(&str) -> bool,
    ) -> Result<Vec<RegisteredWorktree>, Error> {
        let mut removed = Vec::new();
        for found in self.list()? {
            if !keep(&found.job) {
                self.remove(&found)?;
                removed.push(found);
            }
        }
        Ok(removed)
    }

    /// Removes a job's worktree, with everything in it. A missing one is fine.
    pub fn remove_of(&self, job: &str) -> Result<(), Error> {
        let list = self.list()?;
        let mut ours = list.iter().filter(|found| found.job == job);
        ours.try_for_each(|found| self.remove(found))
    }

    fn add(&self, job: &str, path: &Path, checkout: &CheckoutTarget) -> Result<Worktree, Error> {
        let git = &self.repository.git;
        let base = match checkout {
            CheckoutTarget::Commit(commit) => Some(commit.clone()),
            CheckoutTarget::Branch(branch) => self.repository.branch_commit(branch)?,
        };
        let base = base.ok_or_else(|| {
            let message = "there is no such branch to make a worktree of; make it first";
            Error::new(VcsErrorKind::UnknownRevision, message)
        })?;
        let reason = self.reason(job);
        let call = GitCall::new(["worktree", "add", "--quiet", "--lock", "--reason", &reason])
            .limit(WHOLE);
        let call = match checkout {
            CheckoutTarget::Commit(commit) => {
                call.args(["--detach", "--"]).arg(path).arg(commit.as_str())
            }
            CheckoutTarget::Branch(branch) => call.arg("--").arg(path).arg(branch.as_str()),
        };
        git.tell(&call)?;
        let mut list = self.list()?.into_iter();
        let mut found = list.find(|found| found.job == job).ok_or_else(|| {
            let message = "git made a worktree and does not know of it; run `git worktree list`";
            Error::new(VcsErrorKind::Failed, message)
        })?;
        git_dir::write(&found.admin.join(MARKER), &format!("{base}\n"))?;
        found.whole = true;
        let opened = self.open(found)?;
        opened
            .ok_or_else(|| Error::new(VcsErrorKind::Failed, "the new worktree vanished; try again"))
    }

    fn open(&self, found: RegisteredWorktree) -> Result<Option<Worktree>, Error> {
        let Some(path) = found.path.filter(|path| path.is_dir()) else {
            return Ok(None);
        };
        let Some(base) = git_dir::first_line(&found.admin.join(MARKER)) else {
            return Ok(None);
        };
        let base = CommitId::parse(&String::from_utf8_lossy(&base))?;
        let git = &self.repository.git;
        let worktree = Worktree::new(git, path, found.admin, found.job, base);
        worktree.clear_locks()?;
        Ok(Some(worktree))
    }

    /// Removes the directory first and git's metadata last: if the process dies in between, the
    /// lock still names the owner, and the worktree is not marked as complete.
    fn remove(&self, found: &RegisteredWorktree) -> Result<(), Error> {
        git_dir::remove_file(&found.admin.join(MARKER))?;
        if let Some(path) = &found.path
            && self.is_removable(path, &found.admin)
        {
            git_dir::remove_folder(path)?;
        }
        git_dir::remove_folder(&found.admin)?;
        git_dir::remove_if_empty(&self.repository.git_dir().join("worktrees"));
        git_dir::remove_if_empty(&self.folder);
        Ok(())
    }

    /// Returns false for a directory that has become something else, or that contains the user's
    /// repository.
    fn is_removable(&self, path: &Path, admin: &Path) -> bool {
        let holds_theirs =
            self.repository.top().starts_with(path) || self.repository.git_dir().starts_with(path);
        let link = path.join(".git");
        let points_here = match git_dir::first_line(&link) {
            Some(line) => line
                .strip_prefix(b"gitdir: ")
                .is_some_and(|target| git_dir::is_same(&git_dir::path_from(target, path), admin)),
            None => !link.is_dir(),
        };
        !holds_theirs && points_here
    }

    fn registered(&self, admin: PathBuf) -> Option<RegisteredWorktree> {
        let lock = git_dir::first_line(&admin.join("locked"))?;
        let lock = String::from_utf8(lock).ok()?;
        let job = lock.strip_prefix(&self.reason(""))?;
        if job.is_empty() || job != job_part(job) {
            return None;
        }
        let link = git_dir::first_line(&admin.join("gitdir"));
        let link = link.map(|line| git_dir::path_from(&line, &admin));
        Some(RegisteredWorktree {
            job: job.to_owned(),
            path: link.and_then(|link| link.parent().map(Path::to_owned)),
            whole: admin.join(MARKER).is_file(),
            admin,
        })
    }

    fn reason(&self, job: &str) -> String {
        format!("{TAG} {} job {job}", self.owner)
    }

    /// Returns a directory name that was never used. A git whose parent was killed continues for a
    /// moment, and if it fails it removes the directory under the name it was given.
    fn fresh_path(&self, job: &str) -> Result<PathBuf, Error> {
        let unused = |path: &Path| match git_dir::is_there(path) {
            true => Err(io::ErrorKind::AlreadyExists.into()),
            false => Ok(()),
        };
        let found = tempfile::Builder::new()
            .prefix(&format!("{job}-"))
            .disable_cleanup(true)
            .make_in(&self.folder, unused);
        match found {
            Ok(found) => Ok(found.path().to_owned()),
            Err(error) => {
                let place = self.folder.display();
                let message = format!("no directory can be made in `{place}`: {error}");
                Err(Error::new(VcsErrorKind::Occupied, message))
            }
        }
    }

    fn occupied(&self, found: &RegisteredWorktree) -> Error {
        let path = found.path.as_deref().unwrap_or(&self.folder);
        let message = format!(
            "the job `{}` has a worktree already, at `{}`; go on with that one, or remove it",
            found.job,
            path.display()
        );
        Error::new(VcsErrorKind::Occupied, message)
    }
}

fn checked(what: &str, id: &str) -> Result<String, Error> {
    if !id.is_empty() && job_part(id) == id {
        return Ok(id.to_owned());
    }
    let message =
        format!("{id:?} cannot be the id of a {what}; use up to 64 letters, digits, `-` and `_`");
    Err(Error::new(VcsErrorKind::BadPath, message))
}
