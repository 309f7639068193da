//! All worktrees of one owner in a repository: made, found again, and reconciled after a crash.
//!
//! Whose a worktree is stands in its lock, which git writes before anything else of it: there is
//! no moment at which one of ours does not say so. A second file says that it is whole. Both are
//! in git's directory, out of the reach of what runs in the worktree.

use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::branch::job_part;
use crate::call::Call;
use crate::worktree::WHOLE;
use crate::{Branch, Commit, Error, ErrorKind, Repository, Worktree, disk};

/// How often a worktree is tried to be made while other gits are at work, and how long between.
const MAKE_ATTEMPTS_MAX: u32 = 20;
const MAKE_PAUSE: Duration = Duration::from_millis(100);

/// The first words of the lock of every worktree of ours.
const TAG: &str = "drawloom";
/// Beside the lock: the base of a worktree that is whole.
const MARKER: &str = "drawloom";

/// The worktrees of one owner. Owners are those who know which jobs live, such as one database;
/// the worktrees of another are not touched.
#[derive(Debug, Clone)]
pub struct Worktrees {
    repository: Repository,
    folder: PathBuf,
    owner: String,
}

/// What a new worktree has checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checkout {
    /// A commit, on no branch.
    Commit(Commit),
    /// A branch, which commits in the worktree move along.
    Branch(Branch),
}

/// A worktree of ours as its metadata says, whole or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// The job it was made for.
    pub job: String,
    /// Where it is, unless its maker died before git wrote that down.
    pub path: Option<PathBuf>,
    /// Whether it was made to the end.
    pub whole: bool,
    admin: PathBuf,
}

impl Registered {
    /// Whether there may be something in it that nobody wants to lose.
    fn has_work(&self) -> bool {
        self.whole && self.path.as_deref().is_some_and(Path::is_dir)
    }
}

impl Worktrees {
    /// The worktrees of `owner` in a repository; new ones are made in `folder`, which is made.
    pub fn new(repository: &Repository, folder: &Path, owner: &str) -> Result<Self, Error> {
        if !folder.is_absolute() {
            let message = format!(
                "the folder for worktrees, `{}`, is not an absolute path; give one",
                folder.display()
            );
            return Err(Error::new(ErrorKind::BadPath, message));
        }
        Ok(Self {
            repository: repository.clone(),
            folder: folder.to_owned(),
            owner: checked("owner", owner)?,
        })
    }

    /// Makes the worktree of a job. What is left of one that was not made to the end is removed
    /// first; a whole one is [`ErrorKind::Occupied`], because there may be work in it.
    pub fn make(&self, job: &str, checkout: &Checkout) -> Result<Worktree, Error> {
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
            // What is half made says whose it is; should this fail too, reconciling removes it.
            let _ = self.remove_of(&job);
            if error.kind() != ErrorKind::Locked || attempts >= MAKE_ATTEMPTS_MAX {
                return Err(error);
            }
            thread::sleep(MAKE_PAUSE);
        }
    }

    /// The worktree of a job, if there is a whole one.
    pub fn find(&self, job: &str) -> Result<Option<Worktree>, Error> {
        let mut list = self.list()?.into_iter();
        let found = list.find(|found| found.job == job && found.whole);
        found.map_or(Ok(None), |found| self.open(found))
    }

    /// All of this owner, whole or not, in a fixed order.
    pub fn list(&self) -> Result<Vec<Registered>, Error> {
        let folders = disk::folders(&self.repository.git_dir().join("worktrees"))?;
        Ok(folders
            .into_iter()
            .filter_map(|admin| self.registered(admin))
            .collect())
    }

    /// Removes every worktree of this owner whose job is not to be kept, and returns those.
    pub fn reconcile(&self, mut keep: impl FnMut(&str) -> bool) -> Result<Vec<Registered>, Error> {
        let mut removed = Vec::new();
        for found in self.list()? {
            if !keep(&found.job) {
                self.remove(&found)?;
                removed.push(found);
            }
        }
        Ok(removed)
    }

    /// Removes a job's worktree, with everything in it. That there is none is fine.
    pub fn remove_of(&self, job: &str) -> Result<(), Error> {
        let list = self.list()?;
        let mut ours = list.iter().filter(|found| found.job == job);
        ours.try_for_each(|found| self.remove(found))
    }

    fn add(&self, job: &str, path: &Path, checkout: &Checkout) -> Result<Worktree, Error> {
        let git = &self.repository.git;
        let base = match checkout {
            Checkout::Commit(commit) => Some(commit.clone()),
            Checkout::Branch(branch) => self.repository.branch_commit(branch)?,
        };
        let base = base.ok_or_else(|| {
            let message = "there is no such branch to make a worktree of; make it first";
            Error::new(ErrorKind::UnknownRevision, message)
        })?;
        let reason = self.reason(job);
        let call =
            Call::new(["worktree", "add", "--quiet", "--lock", "--reason", &reason]).limit(WHOLE);
        let call = match checkout {
            Checkout::Commit(commit) => {
                call.args(["--detach", "--"]).arg(path).arg(commit.as_str())
            }
            Checkout::Branch(branch) => call.arg("--").arg(path).arg(branch.as_str()),
        };
        git.tell(&call)?;
        let mut list = self.list()?.into_iter();
        let mut found = list.find(|found| found.job == job).ok_or_else(|| {
            let message = "git made a worktree and does not know of it; run `git worktree list`";
            Error::new(ErrorKind::Failed, message)
        })?;
        disk::write(&found.admin.join(MARKER), &format!("{base}\n"))?;
        found.whole = true;
        let opened = self.open(found)?;
        opened.ok_or_else(|| Error::new(ErrorKind::Failed, "the new worktree vanished; try again"))
    }

    fn open(&self, found: Registered) -> Result<Option<Worktree>, Error> {
        let Some(path) = found.path.filter(|path| path.is_dir()) else {
            return Ok(None);
        };
        let Some(base) = disk::first_line(&found.admin.join(MARKER)) else {
            return Ok(None);
        };
        let base = Commit::parse(&String::from_utf8_lossy(&base))?;
        let git = &self.repository.git;
        let worktree = Worktree::new(git, path, found.admin, found.job, base);
        worktree.clear_locks()?;
        Ok(Some(worktree))
    }

    /// Removes the directory and then what git knows of it: if we die in between, the lock still
    /// says whose it was, and nothing says that it is whole.
    fn remove(&self, found: &Registered) -> Result<(), Error> {
        disk::remove_file(&found.admin.join(MARKER))?;
        if let Some(path) = &found.path
            && self.is_removable(path, &found.admin)
        {
            disk::remove_folder(path)?;
        }
        disk::remove_folder(&found.admin)?;
        disk::remove_if_empty(&self.repository.git_dir().join("worktrees"));
        disk::remove_if_empty(&self.folder);
        Ok(())
    }

    /// A directory that has become something else, or in which the user's repository is, stays.
    fn is_removable(&self, path: &Path, admin: &Path) -> bool {
        let holds_theirs =
            self.repository.top().starts_with(path) || self.repository.git_dir().starts_with(path);
        let link = path.join(".git");
        let points_here = match disk::first_line(&link) {
            Some(line) => line
                .strip_prefix(b"gitdir: ")
                .is_some_and(|target| disk::is_same(&disk::path_from(target, path), admin)),
            None => !link.is_dir(),
        };
        !holds_theirs && points_here
    }

    fn registered(&self, admin: PathBuf) -> Option<Registered> {
        let lock = disk::first_line(&admin.join("locked"))?;
        let lock = String::from_utf8(lock).ok()?;
        let job = lock.strip_prefix(&self.reason(""))?;
        if job.is_empty() || job != job_part(job) {
            return None;
        }
        let link = disk::first_line(&admin.join("gitdir"));
        let link = link.map(|line| disk::path_from(&line, &admin));
        Some(Registered {
            job: job.to_owned(),
            path: link.and_then(|link| link.parent().map(Path::to_owned)),
            whole: admin.join(MARKER).is_file(),
            admin,
        })
    }

    fn reason(&self, job: &str) -> String {
        format!("{TAG} {} job {job}", self.owner)
    }

    /// A directory that nobody had before. A git whose parent was killed goes on for a moment, and
    /// when it fails it removes what stands under the name it was given.
    fn fresh_path(&self, job: &str) -> Result<PathBuf, Error> {
        let unused = |path: &Path| match disk::is_there(path) {
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
                Err(Error::new(ErrorKind::Occupied, message))
            }
        }
    }

    fn occupied(&self, found: &Registered) -> Error {
        let path = found.path.as_deref().unwrap_or(&self.folder);
        let message = format!(
            "the job `{}` has a worktree already, at `{}`; go on with that one, or remove it",
            found.job,
            path.display()
        );
        Error::new(ErrorKind::Occupied, message)
    }
}

fn checked(what: &str, id: &str) -> Result<String, Error> {
    if !id.is_empty() && job_part(id) == id {
        return Ok(id.to_owned());
    }
    let message =
        format!("{id:?} cannot be the id of a {what}; use up to 64 letters, digits, `-` and `_`");
    Err(Error::new(ErrorKind::BadPath, message))
}
