//! The dependencies of a build, and the limits on them.

use std::path::{Path, PathBuf};

use agent::handlers::ChosenModel;
use agent::tools::CommandSettings;
use agent::{AgentClock, CommandCancel, Limits};
use serde::{Deserialize, Serialize};
use workspace::PolicySettings;

use crate::store::JobStore;
use crate::validation::ProjectCheck;

/// The dependencies of a build; it touches nothing else.
#[derive(Clone, Copy)]
pub struct BuildContext<'a> {
    /// Stores the jobs.
    pub jobs: &'a dyn JobStore,
    /// Chooses the model of a job.
    pub authors: &'a dyn JobModels,
    /// The user's checkout. A build reads it and never writes to it.
    pub project: &'a Path,
    /// Folders for the builds' own files.
    pub places: &'a BuildDirectories,
    /// The project's additions to the rules about files.
    pub policy: &'a PolicySettings,
    /// Limits on the files a job reads and writes.
    pub files: workspace::Limits,
    /// Limits of one run of the agent loop.
    pub limits: &'a Limits,
    /// The environment of commands, including checks.
    pub commands: &'a CommandSettings,
    /// The `builder.` settings.
    pub settings: &'a BuildSettings,
    /// The remote and the forge that finished work goes to.
    pub outlet: &'a PublishDestination,
    /// The time.
    pub clock: &'a dyn AgentClock,
    /// Stops the work in this process. The job keeps its status and can be resumed.
    pub cancel: &'a CommandCancel,
}

/// Chooses the model for a job.
pub trait JobModels: Send + Sync {
    /// Returns the model that plans for the tree in this folder, or writes in it. A model sees only
    /// what its tools show it; an external program gets a copy to work in.
    fn choose(&self, tree: &Path) -> Result<ChosenModel, agent::Error>;
}

/// Folders for the builds' own files. None of them may be inside a checkout: package managers
/// search upwards, and would find the user's project around the worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildDirectories {
    /// Names the store that knows which jobs are alive, such as one database. Worktrees of other
    /// owners are left alone.
    pub owner: String,
    /// Worktrees, one directory for each job at work.
    pub worktrees: PathBuf,
    /// Patch files, one for each job that has work: a directory of this project.
    pub patches: PatchFolder,
    /// Files that can be deleted at any time: baselines of checks, the index.
    pub cache: PathBuf,
}

impl BuildDirectories {
    /// Folder for compiler caches, shared by all builds of the project.
    pub(crate) fn tool_cache(&self) -> PathBuf {
        self.cache.join("tools")
    }
}

/// A private directory of a project, entered without following links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchFolder {
    pub project: PathBuf,
    pub dir: workspace::RelPath,
}

impl PatchFolder {
    /// Writes a patch that only its owner can read, and returns the path of the file.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<String, workspace::Error> {
        let path = self.dir.join(&workspace::RelPath::parse(name)?)?;
        let root = workspace::Root::open(&self.project)?;
        root.write_private(&path, bytes, workspace::ExistingFile::Replace)?;
        Ok(self.project.join(path.as_path()).display().to_string())
    }
}

/// The remote and the forge that finished work goes to.
pub struct PublishDestination {
    /// The remote that branches are pushed to. A name the repository does not have means no push.
    pub remote: String,
    /// For remotes over HTTPS, if the user's own credentials are not enough.
    pub token: Option<vcs::ForgeToken>,
    /// Opens pull requests; without it the pushed branch is the result.
    pub forge: Option<Box<dyn vcs::Forge>>,
    /// The branch that pull requests go to, if not the one the job started from.
    pub base: Option<String>,
}

impl PublishDestination {
    /// Makes a local branch only; nothing leaves the machine.
    pub fn local() -> PublishDestination {
        PublishDestination {
            remote: "origin".to_owned(),
            token: None,
            forge: None,
            base: None,
        }
    }
}

/// Limits and choices for builds. Each field is a setting under `builder.` of the same name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BuildSettings {
    /// The most files of a plan.
    pub plan_files_max: usize,
    /// The most times an unusable plan is sent back to the model.
    pub plan_corrections_max: u32,
    /// Turns the planner may spend reading files before it has to answer.
    pub plan_turns_max: u32,
    /// Tokens of the index that the planner sees, of about 3.5 bytes each.
    pub index_max_tokens: usize,
    /// Tokens of context files that the model sees, of about 3.5 bytes each.
    pub context_max_tokens: usize,
    /// The most rounds in which the model repairs failed checks.
    pub repairs_max: u32,
    /// Seconds a check may take if it sets no limit of its own.
    pub check_seconds_max: u64,
    /// The checks; if absent, those detected from the project's files.
    pub checks: Option<Vec<ProjectCheck>>,
    /// Calls work complete that no check could judge.
    pub allow_unjudged: bool,
    /// Directories of installed dependencies that a worktree borrows from the checkout.
    pub dependencies: Vec<String>,
}

impl Default for BuildSettings {
    fn default() -> BuildSettings {
        let names = [
            "node_modules",
            ".venv",
            "venv",
            "vendor/bundle",
            ".yarn/cache",
        ];
        BuildSettings {
            plan_files_max: 50,
            plan_corrections_max: 2,
            plan_turns_max: 8,
            index_max_tokens: 6_000,
            context_max_tokens: 8_000,
            repairs_max: 2,
            check_seconds_max: 900,
            checks: None,
            allow_unjudged: false,
            dependencies: names.map(str::to_owned).to_vec(),
        }
    }
}
