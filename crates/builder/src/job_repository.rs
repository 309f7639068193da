//! The user's repository, and the worktrees of a job in it.
//!
//! A job has up to two worktrees at its base commit: the one it works in, and an untouched one for
//! comparisons. Neither is the user's checkout, which is only read for installed dependencies.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::CommandCancel;
use vcs::{
    BranchName, ChangeType, CheckoutTarget, CommitId, CommitMessage, GitProgram, HeadState,
    PathSelection, Repository, Worktree, WorktreeFolder,
};
use workspace::{
    AccessPolicy, ChangeSet, PathChange, PathKind as FileKind, PolicySettings, RelPath, Root,
    Workspace, WriteCounter, WriteScope, fs,
};

use crate::active_job::StageHalt;
use crate::build_context::BuildContext;
use crate::dependencies::borrow_dependencies;
use crate::error::{BuildErrorKind, Error};
use crate::job::{BaseCommit, BuildJob, FailureCode, JobId, StartFrom};
use crate::plan::BuildPlan;
use crate::taken_places::clear_the_way;

/// The user's repository, as a job sees it.
#[derive(Clone)]
pub(crate) struct JobRepository {
    pub(crate) repository: Repository,
    worktrees: WorktreeFolder,
    /// The project inside the repository.
    prefix: RelPath,
    /// The remote that commits of other machines come from.
    remote: String,
}

/// A worktree of a job.
#[derive(Clone)]
pub(crate) struct JobWorktree {
    pub(crate) worktree: Worktree,
    /// The project in it, under the policy and the plan.
    pub(crate) workspace: Arc<Workspace>,
    prefix: RelPath,
    /// Paths linked into the worktree that belong to the user's checkout.
    borrowed: Vec<RelPath>,
}

/// A changed path, relative to the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChangedPath {
    pub(crate) path: RelPath,
    pub(crate) change: vcs::RepositoryChange,
}

impl JobRepository {
    pub(crate) fn open(
        bench: &BuildContext<'_>,
        cancel: &CommandCancel,
    ) -> Result<JobRepository, Error> {
        let git = GitProgram::at(bench.project).cancel(cancel.clone());
        let repository = Repository::open(&git).map_err(|error| {
            let message = format!(
                "{error}; a build works in a worktree, so the project has to be a git repository \
                 (`git init`, and a first commit)"
            );
            Error::new(BuildErrorKind::Setup, message)
        })?;
        let worktrees =
            WorktreeFolder::new(&repository, &bench.places.worktrees, &bench.places.owner)?;
        let prefix = prefix_of(&repository, bench.project)?;
        Ok(JobRepository {
            repository,
            worktrees,
            prefix,
            remote: bench.outlet.remote.clone(),
        })
    }

    /// Chooses the commit a new job starts from; also returns notes about it for the user.
    pub(crate) fn base(
        &self,
        bench: &BuildContext<'_>,
        job: &BuildJob,
    ) -> Result<(BaseCommit, Vec<String>), Error> {
        let facts = self.repository.facts()?;
        let mut notes = Vec::new();
        let commit = self.start(bench, job, &mut notes)?;
        // The branch the user is on, if it is a branch; otherwise the branch that work goes back
        // to.
        let branch = match &facts.head {
            HeadState::Branch(branch, _) => Some(branch.clone()),
            HeadState::Detached(_) | HeadState::Unborn(_) => facts.default_branch,
        };
        if facts.submodules {
            notes.push(
                "The repository has submodules; their directories are empty in the worktree."
                    .to_owned(),
            );
        }
        let base = BaseCommit {
            commit: commit.to_string(),
            branch: branch.map(|branch| branch.to_string()),
        };
        Ok((base, notes))
    }

    /// Returns the checked-out commit, or a new commit of the present files.
    fn start(
        &self,
        bench: &BuildContext<'_>,
        job: &BuildJob,
        notes: &mut Vec<String>,
    ) -> Result<CommitId, Error> {
        let head = self.repository.head_commit()?;
        let changed = uncommitted(&self.repository, bench.policy)?;
        if changed.is_empty() {
            return Ok(head);
        }
        let (count, names) = (files_text(changed.len()), named(&changed));
        match job.options.start {
            StartFrom::LastCommit => {
                notes.push(format!(
                    "Uncommitted changes of {count} are not part of this build: {names}. \
                     `--uncommitted` builds from them."
                ));
                Ok(head)
            }
            StartFrom::WorkingTree => {
                let message = CommitMessage::new(ChangeType::Chore, "uncommitted changes").body(
                    &format!("The files as they were when the build {} began.", job.id),
                );
                let made = self.repository.commit_uncommitted(changed, &message)?;
                notes.push(format!(
                    "The branch begins with a commit of your uncommitted changes of {count}: {names}."
                ));
                Ok(made.unwrap_or(head))
            }
        }
    }

    /// Returns the worktree of a job, made now if it does not exist yet, and whether it is fresh.
    pub(crate) fn worktree(
        &self,
        name: &str,
        base: &BaseCommit,
    ) -> Result<(Worktree, bool), StageHalt> {
        if let Some(found) = self.worktrees.find(name).map_err(git)? {
            return Ok((found, false));
        }
        // A worktree that git knows but whose directory is gone blocks a new one.
        self.worktrees.remove_of(name).map_err(git)?;
        let commit = CommitId::parse(&base.commit).map_err(git)?;
        self.require_commit(&commit)?;
        let made = self.worktrees.make(name, &CheckoutTarget::Commit(commit));
        Ok((made.map_err(git)?, true))
    }

    /// Fetches a commit that another machine began with, if it is not here.
    fn require_commit(&self, commit: &CommitId) -> Result<(), StageHalt> {
        let repository = &self.repository;
        if repository.has_commit(commit).map_err(git)? {
            return Ok(());
        }
        let fetched = repository.fetch(&self.remote);
        if repository.has_commit(commit).map_err(git)? {
            return Ok(());
        }
        let why = match fetched {
            Ok(()) => format!("`{}` does not have it either", self.remote),
            Err(error) => error.to_string(),
        };
        let message = format!(
            "the build starts from the commit {commit}, which is not in this clone: {why}. Push it from \
             the machine that has it, and try again"
        );
        Err(StageHalt::Broken(Error::new(
            BuildErrorKind::Setup,
            message,
        )))
    }

    /// Removes the worktrees of a job.
    pub(crate) fn remove(&self, id: &JobId) -> Result<(), Error> {
        for name in [work_name(id), base_name(id), origin_name(id)] {
            self.worktrees.remove_of(&name)?;
        }
        Ok(())
    }

    /// The jobs that have worktrees.
    pub(crate) fn jobs(&self) -> Result<Vec<JobId>, Error> {
        let list = self.worktrees.list()?;
        let names = list.iter().map(|found| found.job.as_str());
        let ids = names.map(|name| {
            let name = name.strip_suffix(BASE_SUFFIX).unwrap_or(name);
            name.strip_suffix(ORIGIN_SUFFIX).unwrap_or(name)
        });
        let mut ids: Vec<JobId> = ids.filter_map(|id| JobId::parse(id).ok()).collect();
        ids.sort();
        ids.dedup();
        Ok(ids)
    }

    /// Opens a worktree of a job as a project.
    pub(crate) fn tree(
        &self,
        bench: &BuildContext<'_>,
        worktree: Worktree,
        (writes, ledger): (WriteScope, WriteCounter),
    ) -> Result<JobWorktree, StageHalt> {
        let dir = worktree.path().join(self.prefix.as_str());
        let root = Root::open(&dir)?;
        let policy = AccessPolicy::new(bench.policy)?.with_writes(writes);
        let workspace = Workspace::new(root, policy, bench.files).with_ledger(ledger);
        workspace.recover()?;
        let mut tree = JobWorktree {
            worktree,
            workspace: Arc::new(workspace),
            prefix: self.prefix.clone(),
            borrowed: Vec::new(),
        };
        tree.borrowed = borrow_dependencies(bench, &tree.workspace)?;
        Ok(tree)
    }

    /// Opens the untouched tree of a job. Only commands may write there.
    pub(crate) fn untouched(
        &self,
        bench: &BuildContext<'_>,
        job: &BuildJob,
    ) -> Result<JobWorktree, StageHalt> {
        let base = base_of(job)?;
        let (worktree, _) = self.worktree(&base_name(&job.id), base)?;
        self.tree(
            bench,
            worktree,
            (WriteScope::Nothing, WriteCounter::default()),
        )
    }

    /// Opens the tree that checks are compared with, if the job continues after its end and so
    /// starts from another commit.
    pub(crate) fn origin(
        &self,
        bench: &BuildContext<'_>,
        job: &BuildJob,
    ) -> Result<Option<JobWorktree>, StageHalt> {
        let Some(continued) = &job.continues else {
            return Ok(None);
        };
        let (worktree, _) = self.worktree(&origin_name(&job.id), &continued.origin)?;
        let tree = self.tree(
            bench,
            worktree,
            (WriteScope::Nothing, WriteCounter::default()),
        )?;
        Ok(Some(tree))
    }

    /// Returns true if the job has a worktree it works in.
    pub(crate) fn has_worktree(&self, id: &JobId) -> Result<bool, StageHalt> {
        Ok(self.worktrees.find(&work_name(id)).map_err(git)?.is_some())
    }

    /// Returns the project's folder in the job's worktree.
    pub(crate) fn worktree_root(&self, id: &JobId) -> Result<PathBuf, StageHalt> {
        let found = self.worktrees.find(&work_name(id)).map_err(git)?;
        let found = found.ok_or_else(|| {
            let message = "the worktree of the job is gone; try the build again";
            StageHalt::Failed(FailureCode::Git, message.to_owned())
        })?;
        Ok(found.path().join(self.prefix.as_str()))
    }

    /// Removes the untouched tree, or any path put in its place.
    pub(crate) fn forget_untouched(&self, id: &JobId) -> Result<(), StageHalt> {
        self.worktrees.remove_of(&base_name(id)).map_err(git)
    }

    /// Creates a branch at a commit.
    pub(crate) fn branch(
        &self,
        branch: &BranchName,
        commit: &CommitId,
    ) -> Result<BranchName, StageHalt> {
        self.repository.make_branch(branch, commit).map_err(git)
    }
}

/// Lists the user's uncommitted changes, without paths the policy denies to a model and without the
/// builder's own files.
pub fn uncommitted(
    repository: &Repository,
    policy: &PolicySettings,
) -> Result<Vec<PathBuf>, Error> {
    let policy = AccessPolicy::new(policy)?;
    let mut changed = repository.uncommitted()?;
    changed.retain(|path| {
        let path = path.to_str().and_then(|path| RelPath::parse(path).ok());
        path.is_some_and(|path| {
            let mut names = path.names();
            let is_own = names.any(|name| name == ".drawloom" || name == "drawloom.toml");
            !is_own && policy.check_read(&path).is_ok()
        })
    });
    Ok(changed)
}

/// The most files that one sentence names.
const NAMED_MAX: usize = 5;

fn named(paths: &[PathBuf]) -> String {
    let names = paths.iter().take(NAMED_MAX);
    let names: Vec<String> = names.map(|path| format!("`{}`", path.display())).collect();
    match paths.len().saturating_sub(NAMED_MAX) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

fn files_text(count: usize) -> String {
    match count {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    }
}

/// The name of the worktree that a job works in.
pub(crate) fn work_name(id: &JobId) -> String {
    id.as_str().to_owned()
}

const BASE_SUFFIX: &str = "-base";

const ORIGIN_SUFFIX: &str = "-origin";

fn origin_name(id: &JobId) -> String {
    format!("{id}{ORIGIN_SUFFIX}")
}

fn base_name(id: &JobId) -> String {
    format!("{id}{BASE_SUFFIX}")
}

/// Returns the base commit of a job, which is known once it was planned.
pub(crate) fn base_of(job: &BuildJob) -> Result<&BaseCommit, Error> {
    job.base.as_ref().ok_or_else(|| {
        let message = format!(
            "the build `{}` has no commit to start from; start it again",
            job.id
        );
        Error::new(BuildErrorKind::Setup, message)
    })
}

impl JobWorktree {
    /// The project's folder in the worktree.
    pub(crate) fn path(&self) -> &Path {
        self.workspace.path()
    }

    /// The dependency folders that lead to the checkout's.
    pub(crate) fn borrowed(&self) -> &[RelPath] {
        &self.borrowed
    }

    /// Converts the project's paths to paths from the top of the repository, as git expects them.
    pub(crate) fn git_paths<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p RelPath>,
    ) -> PathSelection {
        let above = Path::new(self.prefix.as_str());
        let paths = paths.into_iter().map(|path| above.join(path.as_str()));
        PathSelection::Only(paths.collect())
    }

    /// The name of the tree that the job starts from.
    pub(crate) fn base_hash(&self) -> Result<String, StageHalt> {
        let hash = self.worktree.tree_hash(&PathSelection::Only(Vec::new()));
        Ok(hash.map_err(git)?.to_string())
    }

    /// Lists the changed paths, without borrowed folders and the builder's own files.
    pub(crate) fn changes(&self, paths: &PathSelection) -> Result<Vec<ChangedPath>, StageHalt> {
        let changes = self.worktree.changes(paths).map_err(git)?;
        let ours = changes.into_iter().filter_map(|change| {
            let path = self.project_path(&change.path)?;
            let is_borrowed = self
                .borrowed
                .iter()
                .any(|borrowed| path.is_within(borrowed));
            let is_own =
                path.names().next() == Some(".drawloom") && change.kind == vcs::ChangeKind::Added;
            (!is_borrowed && !is_own).then_some(ChangedPath { path, change })
        });
        Ok(ours.collect())
    }

    /// Returns the path relative to the project; a path outside of it keeps its name from the top.
    pub(crate) fn project_path(&self, path: &Path) -> Option<RelPath> {
        let path = RelPath::parse(path.to_str()?).ok()?;
        path.strip_prefix(&self.prefix)
    }

    /// Restores files from the untouched tree.
    pub(crate) fn put_back(
        &self,
        paths: &[RelPath],
        untouched: &JobWorktree,
    ) -> Result<(), StageHalt> {
        let root = Root::open(self.path())?;
        let before = Root::open(untouched.path())?;
        clear_the_way(&root, &before, paths)?;
        let mut changes = ChangeSet::new();
        for path in paths {
            // A link is committed as a link and never followed, so it stays. A directory is there
            // by its files.
            if let Some(FileKind::Symlink | FileKind::Dir) = before.kind(path)? {
                continue;
            }
            let change = match before.read(path)? {
                Some(bytes) => PathChange::Write {
                    bytes,
                    executable: before.is_executable(path)?,
                },
                None if root.kind(path)? == Some(FileKind::Dir) => PathChange::DeleteTree,
                None => PathChange::Delete,
            };
            changes.put(path.clone(), change);
        }
        if !changes.is_empty() {
            root.apply(&changes)?;
        }
        Ok(())
    }
}

/// Lock files that a package manager writes when the manifest beside them changes.
const FOLLOWERS: [(&str, &[&str]); 6] = [
    ("Cargo.toml", &["Cargo.lock"]),
    (
        "package.json",
        &[
            "package-lock.json",
            "pnpm-lock.yaml",
            "yarn.lock",
            "bun.lock",
            "bun.lockb",
        ],
    ),
    ("pyproject.toml", &["uv.lock", "poetry.lock", "pdm.lock"]),
    ("go.mod", &["go.sum"]),
    ("Gemfile", &["Gemfile.lock"]),
    ("composer.json", &["composer.lock"]),
];

/// Returns true if a change of this path belongs to a manifest of the plan, as a lock file does.
pub(crate) fn follows(path: &RelPath, plan: &BuildPlan) -> bool {
    let name = path.file_name().unwrap_or_default();
    let Some((manifest, _)) = FOLLOWERS.iter().find(|(_, locks)| locks.contains(&name)) else {
        return false;
    };
    // The lock file of a workspace lies above the manifests of its members.
    let folder = path.parent().unwrap_or_else(RelPath::root);
    plan.touched()
        .any(|planned| planned.file_name() == Some(manifest) && planned.is_within(&folder))
}

fn prefix_of(repository: &Repository, project: &Path) -> Result<RelPath, Error> {
    let (top, project) = (fs::canonical(repository.top())?, fs::canonical(project)?);
    let below = project.strip_prefix(&top).ok().and_then(Path::to_str);
    match below {
        Some("") => Ok(RelPath::root()),
        Some(below) => Ok(RelPath::parse(below)?),
        None => Err(Error::new(
            BuildErrorKind::Setup,
            format!(
                "`{}` is not inside the checkout `{}`; run the build there",
                project.display(),
                top.display()
            ),
        )),
    }
}

/// Maps a failure of git to a failure of the job.
pub(crate) fn git(error: vcs::Error) -> StageHalt {
    match error.kind() {
        vcs::VcsErrorKind::Cancelled => StageHalt::Interrupted,
        _ => StageHalt::Failed(FailureCode::Git, error.to_string()),
    }
}
