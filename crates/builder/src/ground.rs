//! The user's repository, and the worktrees of a job in it.
//!
//! A job has up to two worktrees at the commit it starts from: the one that is worked in, and, when
//! something has to be compared with how it was, an untouched one. Neither is the user's checkout,
//! which is only looked at for installed dependencies.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::Cancel;
use vcs::{
    Branch, ChangeType, Checkout, Commit, Git, Head, Message, Paths, Repository, Worktree,
    Worktrees,
};
use workspace::{
    Change, ChangeSet, Kind as FileKind, Ledger, Policy, PolicySettings, RelPath, Root, Workspace,
    Writes, fs,
};

use crate::bench::Bench;
use crate::dependencies::borrow_dependencies;
use crate::error::{Error, Kind};
use crate::job::{Base, FailureCode, Job, JobId, StartFrom};
use crate::plan::Plan;
use crate::site::Halt;

/// The user's repository, as a job sees it.
#[derive(Clone)]
pub(crate) struct Ground {
    pub(crate) repository: Repository,
    worktrees: Worktrees,
    /// The project inside the repository.
    prefix: RelPath,
}

/// A worktree of a job.
#[derive(Clone)]
pub(crate) struct Tree {
    pub(crate) worktree: Worktree,
    /// The project in it, under the policy and the plan.
    pub(crate) workspace: Arc<Workspace>,
    prefix: RelPath,
    /// What was linked into it, and belongs to the checkout.
    borrowed: Vec<RelPath>,
}

/// A path that is not as it was, seen from the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) path: RelPath,
    pub(crate) change: vcs::FileChange,
}

impl Ground {
    pub(crate) fn open(bench: &Bench<'_>, cancel: &Cancel) -> Result<Ground, Error> {
        let git = Git::at(bench.project).cancel(cancel.clone());
        let repository = Repository::open(&git).map_err(|error| {
            let message = format!(
                "{error}; a build works in a worktree, so the project has to be a git repository \
                 (`git init`, and a first commit)"
            );
            Error::new(Kind::Setup, message)
        })?;
        let worktrees = Worktrees::new(&repository, &bench.places.worktrees, &bench.places.owner)?;
        let prefix = prefix_of(&repository, bench.project)?;
        Ok(Ground {
            repository,
            worktrees,
            prefix,
        })
    }

    /// The commit a new job starts from, and what is worth knowing about it.
    pub(crate) fn base(&self, bench: &Bench<'_>, job: &Job) -> Result<(Base, Vec<String>), Error> {
        let facts = self.repository.facts()?;
        let mut notes = Vec::new();
        let commit = self.start(bench, job, &mut notes)?;
        // The branch the user is on, where it is a branch; else the one that work goes back to.
        let branch = match &facts.head {
            Head::Branch(branch, _) => Some(branch.clone()),
            Head::Detached(_) | Head::Unborn(_) => facts.default_branch,
        };
        if facts.submodules {
            notes.push(
                "The repository has submodules; their directories are empty in the worktree."
                    .to_owned(),
            );
        }
        let base = Base {
            commit: commit.to_string(),
            branch: branch.map(|branch| branch.to_string()),
        };
        Ok((base, notes))
    }

    /// The commit that is checked out, or one of the files as they are.
    fn start(
        &self,
        bench: &Bench<'_>,
        job: &Job,
        notes: &mut Vec<String>,
    ) -> Result<Commit, Error> {
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
                let message = Message::new(ChangeType::Chore, "uncommitted changes").body(
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

    /// The worktree of a job: the one that is there, or a fresh one. Says whether it is fresh.
    pub(crate) fn worktree(&self, name: &str, base: &Base) -> Result<(Worktree, bool), Halt> {
        if let Some(found) = self.worktrees.find(name).map_err(git)? {
            return Ok((found, false));
        }
        // One that git knows of and whose directory is gone is in the way of a new one.
        self.worktrees.remove_of(name).map_err(git)?;
        let commit = Commit::parse(&base.commit).map_err(git)?;
        let made = self.worktrees.make(name, &Checkout::Commit(commit));
        Ok((made.map_err(git)?, true))
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
        bench: &Bench<'_>,
        worktree: Worktree,
        (writes, ledger): (Writes, Ledger),
    ) -> Result<Tree, Halt> {
        let dir = worktree.path().join(self.prefix.as_str());
        let root = Root::open(&dir)?;
        let policy = Policy::new(bench.policy)?.with_writes(writes);
        let workspace = Workspace::new(root, policy, bench.files).with_ledger(ledger);
        workspace.recover()?;
        let mut tree = Tree {
            worktree,
            workspace: Arc::new(workspace),
            prefix: self.prefix.clone(),
            borrowed: Vec::new(),
        };
        tree.borrowed = borrow_dependencies(bench, &tree.workspace)?;
        Ok(tree)
    }

    /// The untouched tree of a job, read-only for everybody but commands.
    pub(crate) fn untouched(&self, bench: &Bench<'_>, job: &Job) -> Result<Tree, Halt> {
        let base = base_of(job)?;
        let (worktree, _) = self.worktree(&base_name(&job.id), base)?;
        self.tree(bench, worktree, (Writes::Nothing, Ledger::default()))
    }

    /// The tree that checks are compared with, where the job goes on after its end and so does not
    /// start from it.
    pub(crate) fn origin(&self, bench: &Bench<'_>, job: &Job) -> Result<Option<Tree>, Halt> {
        let Some(continued) = &job.continues else {
            return Ok(None);
        };
        let (worktree, _) = self.worktree(&origin_name(&job.id), &continued.origin)?;
        let tree = self.tree(bench, worktree, (Writes::Nothing, Ledger::default()))?;
        Ok(Some(tree))
    }

    /// Whether the job has a worktree that it works in.
    pub(crate) fn has_worktree(&self, id: &JobId) -> Result<bool, Halt> {
        Ok(self.worktrees.find(&work_name(id)).map_err(git)?.is_some())
    }

    /// Where the project is in the worktree that the job works in.
    pub(crate) fn worktree_root(&self, id: &JobId) -> Result<PathBuf, Halt> {
        let found = self.worktrees.find(&work_name(id)).map_err(git)?;
        let found = found.ok_or_else(|| {
            let message = "the worktree of the job is gone; try the build again";
            Halt::Failed(FailureCode::Git, message.to_owned())
        })?;
        Ok(found.path().join(self.prefix.as_str()))
    }

    /// Removes the untouched tree, or what was put in its place.
    pub(crate) fn forget_untouched(&self, id: &JobId) -> Result<(), Halt> {
        self.worktrees.remove_of(&base_name(id)).map_err(git)
    }

    /// Makes a branch of ours at a commit.
    pub(crate) fn branch(&self, branch: &Branch, commit: &Commit) -> Result<Branch, Halt> {
        self.repository.make_branch(branch, commit).map_err(git)
    }
}

/// The user's uncommitted changes, without what the policy does not let a model read and without
/// our own files.
pub fn uncommitted(
    repository: &Repository,
    policy: &PolicySettings,
) -> Result<Vec<PathBuf>, Error> {
    let policy = Policy::new(policy)?;
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

/// How many files a sentence names.
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

/// The commit a job starts from, which is known once it was planned.
pub(crate) fn base_of(job: &Job) -> Result<&Base, Error> {
    job.base.as_ref().ok_or_else(|| {
        let message = format!(
            "the build `{}` has no commit to start from; start it again",
            job.id
        );
        Error::new(Kind::Setup, message)
    })
}

impl Tree {
    /// Where the project is in it.
    pub(crate) fn path(&self) -> &Path {
        self.workspace.path()
    }

    /// The dependency folders that lead to the checkout's.
    pub(crate) fn borrowed(&self) -> &[RelPath] {
        &self.borrowed
    }

    /// The project's paths as git wants them.
    pub(crate) fn git_paths<'p>(&self, paths: impl IntoIterator<Item = &'p RelPath>) -> Paths {
        let above = Path::new(self.prefix.as_str());
        let paths = paths.into_iter().map(|path| above.join(path.as_str()));
        Paths::Only(paths.collect())
    }

    /// The name of the tree that the job starts from.
    pub(crate) fn base_hash(&self) -> Result<String, Halt> {
        let hash = self.worktree.tree_hash(&Paths::Only(Vec::new()));
        Ok(hash.map_err(git)?.to_string())
    }

    /// What is not as it was, borrowed and own things left out.
    pub(crate) fn changes(&self, paths: &Paths) -> Result<Vec<Moved>, Halt> {
        let changes = self.worktree.changes(paths).map_err(git)?;
        let ours = changes.into_iter().filter_map(|change| {
            let path = self.project_path(&change.path)?;
            let is_borrowed = self
                .borrowed
                .iter()
                .any(|borrowed| path.is_within(borrowed));
            let is_own =
                path.names().next() == Some(".drawloom") && change.kind == vcs::ChangeKind::Added;
            (!is_borrowed && !is_own).then_some(Moved { path, change })
        });
        Ok(ours.collect())
    }

    /// The path seen from the project; one outside of it keeps its name from the top.
    pub(crate) fn project_path(&self, path: &Path) -> Option<RelPath> {
        let path = RelPath::parse(path.to_str()?).ok()?;
        path.strip_prefix(&self.prefix)
    }

    /// Puts files back to how they are in the untouched tree.
    pub(crate) fn put_back(&self, paths: &[RelPath], untouched: &Tree) -> Result<(), Halt> {
        let root = Root::open(self.path())?;
        let before = Root::open(untouched.path())?;
        let mut changes = ChangeSet::new();
        for path in paths {
            // A link is committed as where it leads, and nothing here follows it: it stays.
            if before.kind(path)? == Some(FileKind::Symlink) {
                continue;
            }
            let change = match before.read(path)? {
                Some(bytes) => Change::Write {
                    bytes,
                    executable: before.is_executable(path)?,
                },
                None if root.kind(path)? == Some(FileKind::Dir) => Change::DeleteTree,
                None => Change::Delete,
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

/// Whether a change of this path goes with a manifest of the plan.
pub(crate) fn follows(path: &RelPath, plan: &Plan) -> bool {
    let name = path.file_name().unwrap_or_default();
    let Some((manifest, _)) = FOLLOWERS.iter().find(|(_, locks)| locks.contains(&name)) else {
        return false;
    };
    // The lock file of a workspace stands above the manifests of its members.
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
            Kind::Setup,
            format!(
                "`{}` is not inside the checkout `{}`; run the build there",
                project.display(),
                top.display()
            ),
        )),
    }
}

/// A failure of git is one of the job.
pub(crate) fn git(error: vcs::Error) -> Halt {
    match error.kind() {
        vcs::ErrorKind::Cancelled => Halt::Interrupted,
        _ => Halt::Failed(FailureCode::Git, error.to_string()),
    }
}
