//! A user's repository: what is known of it, and the few things that are added to it.
//!
//! Its checkout, index, stash and branches are never touched; what is added is a branch of ours.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::call::Call;
use crate::{Branch, Commit, Error, ErrorKind, Git, Remote};

/// How many numbers are tried for a branch whose name is taken.
pub const BRANCH_NUMBERS_MAX: u32 = 99;

/// A repository that was found.
#[derive(Debug, Clone)]
pub struct Repository {
    pub(crate) git: Git,
    git_dir: PathBuf,
    bare: bool,
}

/// What is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// The tip of a branch.
    Branch(Branch, Commit),
    /// A commit, on no branch.
    Detached(Commit),
    /// A branch on which nothing has been committed.
    Unborn(Branch),
}

/// What a builder has to know before it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// What is checked out.
    pub head: Head,
    /// The branch that work goes back to: the remote's default, else `main` or `master`, else the
    /// one checked out.
    pub default_branch: Option<Branch>,
    /// There is no checkout.
    pub bare: bool,
    /// Only the newest part of the history is here.
    pub shallow: bool,
    /// There are submodules; a worktree has their directories empty.
    pub submodules: bool,
}

impl Head {
    /// The commit, where there is one.
    #[must_use]
    pub fn commit(&self) -> Option<&Commit> {
        match self {
            Self::Branch(_, commit) | Self::Detached(commit) => Some(commit),
            Self::Unborn(_) => None,
        }
    }

    /// The branch, where there is one.
    #[must_use]
    pub fn branch(&self) -> Option<&Branch> {
        match self {
            Self::Branch(branch, _) | Self::Unborn(branch) => Some(branch),
            Self::Detached(_) => None,
        }
    }
}

impl Repository {
    /// The repository that git's directory is in, or [`ErrorKind::NotARepository`].
    pub fn open(git: &Git) -> Result<Self, Error> {
        if !git.dir().is_dir() {
            let message = format!("`{}` is not a directory; name another", git.dir().display());
            return Err(Error::new(ErrorKind::NotARepository, message));
        }
        let bare = git.line(&Call::new(["rev-parse", "--is-bare-repository"]))? == "true";
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

    /// What a builder has to know.
    pub fn facts(&self) -> Result<Facts, Error> {
        let head = self.head()?;
        let shallow = self
            .git
            .line(&Call::new(["rev-parse", "--is-shallow-repository"]))?;
        Ok(Facts {
            default_branch: self.default_branch(&head)?,
            bare: self.bare,
            shallow: shallow == "true",
            submodules: self.has_submodules(&head)?,
            head,
        })
    }

    /// What is checked out.
    pub fn head(&self) -> Result<Head, Error> {
        let call = Call::new(["symbolic-ref", "--quiet", "HEAD"]);
        let outcome = self.git.ask(&call)?;
        let branch = if outcome.is_success() {
            branch_of(outcome.stdout_text().trim(), "refs/heads/")
        } else {
            None
        };
        match (branch, self.git.commit("HEAD")?) {
            (Some(branch), Some(commit)) => Ok(Head::Branch(branch, commit)),
            (None, Some(commit)) => Ok(Head::Detached(commit)),
            (Some(branch), None) => Ok(Head::Unborn(branch)),
            (None, None) => {
                let message = format!(
                    "the HEAD of `{}` is broken; run `git fsck`",
                    self.top().display()
                );
                Err(Error::new(ErrorKind::Failed, message))
            }
        }
    }

    /// The commit that is checked out, or [`ErrorKind::NoCommits`].
    pub fn head_commit(&self) -> Result<Commit, Error> {
        self.head()?.commit().cloned().ok_or_else(|| {
            let message = format!(
                "nothing has been committed in `{}` yet; make a first commit and try again",
                self.top().display()
            );
            Error::new(ErrorKind::NoCommits, message)
        })
    }

    /// A remote, where pushes go.
    pub fn remote(&self, name: &str) -> Result<Option<Remote>, Error> {
        let names = self.git.line(&Call::new(["remote"]))?;
        if !names.lines().any(|known| known == name) {
            return Ok(None);
        }
        let call = Call::new(["remote", "get-url", "--push", "--", name]);
        Ok(Some(Remote::new(name, &self.git.line(&call)?)))
    }

    /// The tip of a branch here.
    pub fn branch_commit(&self, branch: &Branch) -> Result<Option<Commit>, Error> {
        self.git.commit(&branch.reference())
    }

    /// Makes a branch at a commit. If there is one of that name already, the same commit is fine
    /// and another means the next free number. The branch that it became is returned.
    pub fn make_branch(&self, branch: &Branch, commit: &Commit) -> Result<Branch, Error> {
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
        Err(Error::new(ErrorKind::BranchTaken, message))
    }

    /// Moves a branch of ours on to a commit that follows `tip`. Says whether it could be: not if the
    /// branch is elsewhere by now, or is checked out, because the files would not follow.
    pub fn advance_branch(
        &self,
        branch: &Branch,
        tip: &Commit,
        commit: &Commit,
    ) -> Result<bool, Error> {
        let reference = branch.reference();
        if self.branch_commit(branch)?.as_ref() == Some(commit) {
            return Ok(true);
        }
        let listed = self
            .git
            .tell(&Call::new(["worktree", "list", "--porcelain"]))?;
        let listed = String::from_utf8_lossy(&listed);
        if listed
            .lines()
            .any(|line| line == format!("branch {reference}"))
        {
            return Ok(false);
        }
        let call = Call::new(["update-ref", "-m", "drawloom: goes on", &reference])
            .args([commit.as_str(), tip.as_str()]);
        Ok(self.git.ask(&call)?.is_success())
    }

    /// Whether the branch could be made; it fails if somebody was faster.
    fn try_branch(&self, branch: &Branch, commit: &Commit) -> Result<bool, Error> {
        let nothing = "0".repeat(commit.as_str().len());
        let reference = branch.reference();
        let call = Call::new(["update-ref", "-m", "drawloom: branch", &reference])
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
                crate::complaint::complaint(&said)
            );
            return Err(Error::new(ErrorKind::BranchTaken, message));
        }
        self.git.expect_success(&outcome).map(|()| true)
    }

    fn default_branch(&self, head: &Head) -> Result<Option<Branch>, Error> {
        let call = Call::new(["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"]);
        let outcome = self.git.ask(&call)?;
        let told = branch_of(outcome.stdout_text().trim(), "refs/remotes/origin/");
        if outcome.is_success() && told.is_some() {
            return Ok(told);
        }
        for name in ["main", "master"] {
            for folder in ["refs/remotes/origin/", "refs/heads/"] {
                if self.git.commit(&format!("{folder}{name}"))?.is_some() {
                    return Branch::parse(name).map(Some);
                }
            }
        }
        Ok(head.branch().cloned())
    }

    fn has_submodules(&self, head: &Head) -> Result<bool, Error> {
        let Some(commit) = head.commit() else {
            return Ok(false);
        };
        let call = Call::new(["cat-file", "-e"]).arg(format!("{commit}:.gitmodules"));
        Ok(self.git.ask(&call)?.is_success())
    }
}

/// One of the paths git knows, which need not be text.
fn path(git: &Git, which: &str) -> Result<PathBuf, Error> {
    let call = Call::new(["rev-parse", "--path-format=absolute", which]);
    let mut bytes = git.tell(&call)?;
    bytes.pop_if(|byte| *byte == b'\n');
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

fn branch_of(reference: &str, folder: &str) -> Option<Branch> {
    Branch::parse(reference.strip_prefix(folder)?).ok()
}
