//! What builds work with, and how much of it they may use.

use std::path::{Path, PathBuf};

use agent::handlers::Chosen;
use agent::tools::CommandSettings;
use agent::{Cancel, Clock, Limits};
use serde::{Deserialize, Serialize};
use workspace::PolicySettings;

use crate::store::Jobs;
use crate::validation::Check;

/// Everything a build may touch.
#[derive(Clone, Copy)]
pub struct Bench<'a> {
    /// Where jobs are kept.
    pub jobs: &'a dyn Jobs,
    /// Who is asked.
    pub authors: &'a dyn Authors,
    /// The user's checkout. It is looked at and never written.
    pub project: &'a Path,
    /// Where builds keep their own files.
    pub places: &'a Places,
    /// What the project adds to the rules about files.
    pub policy: &'a PolicySettings,
    /// How much a job may read and write.
    pub files: workspace::Limits,
    /// What one run of the loop may use.
    pub limits: &'a Limits,
    /// The surroundings of commands, checks among them.
    pub commands: &'a CommandSettings,
    /// What builds may use.
    pub settings: &'a Settings,
    /// Where work goes when it is done.
    pub outlet: &'a Outlet,
    /// The time.
    pub clock: &'a dyn Clock,
    /// Stops the work here; the job stays as it is and can be gone on with.
    pub cancel: &'a Cancel,
}

/// Finds who is asked about a job.
pub trait Authors: Send + Sync {
    /// Whoever plans for the tree in this folder, or writes in it. A model sees no more of it than
    /// its tools show; a program in the place of a model is given a copy to work in.
    fn choose(&self, tree: &Path) -> Result<Chosen, agent::Error>;
}

/// Where builds keep their own files. None of it may be inside a checkout: package managers look
/// upwards, and would find the user's project around the worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Who knows which jobs live, such as one database; worktrees of others are left alone.
    pub owner: String,
    /// Worktrees, one directory for each job at work.
    pub worktrees: PathBuf,
    /// Patch files, one for each job that has work: a directory of this project.
    pub patches: PatchFolder,
    /// What can be thrown away: baselines of checks, the index.
    pub cache: PathBuf,
}

impl Places {
    /// Where compilers keep what they built, for all builds of the project.
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
    /// Writes a patch for its owner's eyes only; the path of the file.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<String, workspace::Error> {
        let path = self.dir.join(&workspace::RelPath::parse(name)?)?;
        let root = workspace::Root::open(&self.project)?;
        root.write_private(&path, bytes, workspace::Existing::Replace)?;
        Ok(self.project.join(path.as_path()).display().to_string())
    }
}

/// Where work goes when it is done.
pub struct Outlet {
    /// The remote that branches are pushed to; one that the repository does not have is none.
    pub remote: String,
    /// For remotes over HTTPS, if the user's own credentials do not do.
    pub token: Option<vcs::Secret>,
    /// Where pull requests go; without it the branch is the result.
    pub forge: Option<Box<dyn vcs::Forge>>,
    /// The branch that pull requests go to, if not the one the job started from.
    pub base: Option<String>,
}

impl Outlet {
    /// A branch here, and nothing that leaves the machine.
    pub fn local() -> Outlet {
        Outlet {
            remote: "origin".to_owned(),
            token: None,
            forge: None,
            base: None,
        }
    }
}

/// What builds may use. Each field is a setting under `builder.` of the same name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The most files of a plan.
    pub plan_files_max: usize,
    /// How often a plan that cannot be used is sent back to the model.
    pub plan_corrections_max: u32,
    /// How many turns the planner may take to look into files before it has to answer.
    pub plan_turns_max: u32,
    /// How much of the index the planner is shown, in tokens of about 3.5 bytes.
    pub index_max_tokens: usize,
    /// How much of the context files the model is shown, in tokens of about 3.5 bytes.
    pub context_max_tokens: usize,
    /// How often the model is told what the checks found.
    pub repairs_max: u32,
    /// How long a check may take when it does not say.
    pub check_seconds_max: u64,
    /// The checks; those that the project's files tell of if left out.
    pub checks: Option<Vec<Check>>,
    /// Whether work that no check could judge may be called complete.
    pub allow_unjudged: bool,
    /// Directories of installed dependencies that a worktree borrows from the checkout.
    pub dependencies: Vec<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        let names = [
            "node_modules",
            ".venv",
            "venv",
            "vendor/bundle",
            ".yarn/cache",
        ];
        Settings {
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
