//! A user's repository: its state, and the branches that this program adds.
//!
//! Its checkout, index, stash and the user's branches are never touched.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::call::GitCall;
use crate::{BranchName, CommitId, Error, GitProgram, GitRemote, VcsErrorKind};

/// The most numbers tried for a branch whose name is taken.
pub(crate) const BRANCH_NUMBERS_MAX: u32 = 99;

/// A repository found on disk.
#[derive(Debug, Clone)]
pub struct Repository {
    pub(crate) git: GitProgram,
    git_dir: PathBuf,
    bare: bool,
}

/// The state of `HEAD`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadState {
    /// The tip of a branch.
    Branch(BranchName, CommitId),
    /// A commit, on no branch.
    Detached(CommitId),
    /// A branch without any commit.
    Unborn(BranchName),
}

/// The facts that a builder needs before it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryFacts {
    /// The state of `HEAD`.
    pub head: HeadState,
    /// The branch that work goes back to: the remote's default, otherwise `main` or `master`,
    /// otherwise the checked-out one.
    pub default_branch: Option<BranchName>,
    /// There is no checkout.
    pub bare: bool,
    /// Only the newest part of the history is here.
    pub shallow: bool,
    /// There are submodules; a worktree has their directories empty.
    pub submodules: bool,
}

impl HeadState {
    /// The commit, if there is one.
    #[must_use]
    pub fn commit(&self) -> Option<&CommitId> {
        match self {
            Self::Branch(_, commit) | Self::Detached(commit) => Some(commit),
            Self::Unborn(_) => None,
        }
    }

    /// The branch, if there is one.
    #[must_use]
    pub fn branch(&self) -> Option<&BranchName> {
        match self {
            Self::Branch(branch, _) | Self::Unborn(branch) => Some(branch),
            Self::Detached(_) => None,
        }
    }
}

impl Repository {
    /// The repository that git's directory is in, or [`VcsErrorKind::NotARepository`].
    pub fn open(git: &GitProgram) -> Result<Self, Error> {
        if !git.dir().is_dir() {
            let message = format!("`{}` is not a directory; name another", git.dir().display());
            return Err(Error::new(VcsErrorKind::NotARepository, message));
        }
        let bare = git.line(&GitCall::new(["rev-parse", "--is-bare-repository"]))? == "true";
        let git_dir = path(git, "--git-common-dir")?;
        let top = match bare {
            true => git_dir.clone(),
            false => path(git, "--show-toplevel")?,
        };
        Ok(Self {
            git: git.moved_to(&top),
            git_dir,
            bare,
        })
    }

    /// The top of the checkout; of a bare repository, itself.
    #[must_use]
    pub fn top(&self) -> &Path {
        self.git.dir()
    }

    /// The directory of git, shared by all worktrees.
    #[must_use]
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Reads the facts that a builder needs.
    pub fn facts(&self) -> Result<RepositoryFacts, Error> {
        let head = self.head()?;
        let shallow = self
            .git
            .line(&GitCall::new(["rev-parse", "--is-shallow-repository"]))?;
        Ok(RepositoryFacts {
            default_branch: self.default_branch(&head)?,
            bare: self.bare,
            shallow: shallow == "true",
            submodules: self.has_submodules(&head)?,
            head,
        })
    }

    /// Reads the state of `HEAD`.
    pub fn head(&self) -> Result<HeadState, Error> {
        let call = GitCall::new(["symbolic-ref", "--quiet", "HEAD"]);
        let outcome = self.git.ask(&call)?;
        let branch = if outcome.is_success() {
            branch_of(outcome.stdout_text().trim(), "refs/heads/")
        } else {
            None
        };
        match (branch, self.git.commit("HEAD")?) {
            (Some(branch), Some(commit)) => Ok(HeadState::Branch(branch, commit)),
            (None, Some(commit)) => Ok(HeadState::Detached(commit)),
            (Some(branch), None) => Ok(HeadState::Unborn(branch)),
            (None, None) => {
                let message = format!(
                    "the HEAD of `{}` is broken; run `git fsck`",
                    self.top().display()
                );
                Err(Error::new(VcsErrorKind::Failed, message))
            }
        }
    }

    /// The commit that is checked out, or [`VcsErrorKind::NoCommits`].
    pub fn head_commit(&self) -> Result<CommitId, Error> {
        self.head()?.commit().cloned().ok_or_else(|| {
            let message = format!(
                "nothing has been committed in `{}` yet; make a first commit and try again",
                self.top().display()
            );
            Error::new(VcsErrorKind::NoCommits, message)
        })
    }

    /// Returns a remote by its name.
    pub fn remote(&self, name: &str) -> Result<Option<GitRemote>, Error> {
        let names = self.git.line(&GitCall::new(["remote"]))?;
        if !names.lines().any(|known| known == name) {
            return Ok(None);
        }
        let call = GitCall::new(["remote", "get-url", "--push", "--", name]);
        Ok(Some(GitRemote::new(name, &self.git.line(&call)?)))
    }

    /// Returns true if the commit is in this repository.
    pub fn has_commit(&self, commit: &CommitId) -> Result<bool, Error> {
        Ok(self.git.commit(commit.as_str())?.is_some())
    }

    /// Fetches the branches of a remote, which changes no branch here.
    pub fn fetch(&self, remote: &str) -> Result<(), Error> {
        self.git.fetch_branches(remote)
    }

    /// The tip of a branch here.
    pub fn branch_commit(&self, branch: &BranchName) -> Result<Option<CommitId>, Error> {
        self.git.commit(&branch.reference())
    }

    /// Makes a branch at a commit. If the name is taken, the same commit is fine, and another one
    /// means the next free number. Returns the branch that was made.
    pub fn make_branch(&self, branch: &BranchName, commit: &CommitId) -> Result<BranchName, Error> {
        for number in 1..=BRANCH_NUMBERS_MAX {
            let name = match number {
                1 => branch.clone(),
                _ => branch.numbered(number),
            };
            match self.branch_commit(&name)? {
                Some(found) if found == *commit => return Ok(name),
                Some(_) => continue,
                None => {}
            }
            if self.try_branch(&name, commit)? {
                return Ok(name);
            }
        }
        let message = format!(
            "`{branch}` and its numbers up to BRANCH_NUMBERS_MAX ({BRANCH_NUMBERS_MAX}) are taken; \
             delete some with `git branch -D`"
        );
        Err(Error::new(VcsErrorKind::BranchTaken, message))
    }

    /// Moves a branch made by this program to a commit that follows `tip`. Returns false if the
    /// branch has moved meanwhile, or is checked out: its files would not follow.
    pub fn advance_branch(
        &self,
        branch: &BranchName,
        tip: &CommitId,
        commit: &CommitId,
    ) -> Result<bool, Error> {
        let reference = branch.reference();
        if self.branch_commit(branch)?.as_ref() == Some(commit) {
            return Ok(true);
        }
        let listed = self
            .git
            .tell(&GitCall::new(["worktree", "list", "--porcelain"]))?;
        let listed = String::from_utf8_lossy(&listed);
        if listed
            .lines()
            .any(|line| line == format!("branch {reference}"))
        {
            return Ok(false);
        }
        let call = GitCall::new(["update-ref", "-m", "drawloom: goes on", &reference])
            .args([commit.as_str(), tip.as_str()]);
        Ok(self.git.ask(&call)?.is_success())
    }

    /// Returns true if the branch was made; false if another process was faster.
    fn try_branch(&self, branch: &BranchName, commit: &CommitId) -> Result<bool, Error> {
        let nothing = "0".repeat(commit.as_str().len());
        let reference = branch.reference();
        let call = GitCall::new(["update-ref", "-m", "drawloom: branch", &reference])
            .args([commit.as_str(), &nothing]);
        let outcome = self.git.ask(&call)?;
        let said = outcome.stderr_text();
        if outcome.is_success() {
            return Ok(true);
        }
        if said.contains("reference already exists") || said.contains("File exists") {
            return Ok(false);
        }
        if said.contains("exists; cannot create") {
            let message = format!(
                "the branch `{branch}` cannot be made, because another branch has the name of one \
                 of its folders: {}; rename that one",
                crate::git_errors::complaint(&said)
            );
            return Err(Error::new(VcsErrorKind::BranchTaken, message));
        }
        self.git.expect_success(&outcome).map(|()| true)
    }

    fn default_branch(&self, head: &HeadState) -> Result<Option<BranchName>, Error> {
        let call = GitCall::new(["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"]);
        let outcome = self.git.ask(&call)?;
        let told = branch_of(outcome.stdout_text().trim(), "refs/remotes/origin/");
        if outcome.is_success() && told.is_some() {
            return Ok(told);
        }
        for name in ["main", "master"] {
            for folder in ["refs/remotes/origin/", "refs/heads/"] {
                if self.git.commit(&format!("{folder}{name}"))?.is_some() {
                    return BranchName::parse(name).map(Some);
                }
            }
        }
        Ok(head.branch().cloned())
    }

    fn has_submodules(&self, head: &HeadState) -> Result<bool, Error> {
        let Some(commit) = head.commit() else {
            return Ok(false);
        };
        let call = GitCall::new(["cat-file", "-e"]).arg(format!("{commit}:.gitmodules"));
        Ok(self.git.ask(&call)?.is_success())
    }
}

/// One of the paths git knows, which need not be text.
fn path(git: &GitProgram, which: &str) -> Result<PathBuf, Error> {
    let call = GitCall::new(["rev-parse", "--path-format=absolute", which]);
    let mut bytes = git.tell(&call)?;
    bytes.pop_if(|byte| *byte == b'\n');
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

fn branch_of(reference: &str, folder: &str) -> Option<BranchName> {
    BranchName::parse(reference.strip_prefix(folder)?).ok()
}
