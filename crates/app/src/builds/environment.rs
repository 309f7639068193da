//! The environment of a build, made from the settings: models, folders, commands, publish target.

use std::path::{Path, PathBuf};

use agent::handlers::ChosenModel;
use agent::tools::CommandSettings;
use builder::{
    BuildContext, BuildDirectories, BuildJob, JobModels, PatchFolder, PublishDestination,
};
use exec::CommandCancel;
use vcs::{GitProgram, Repository};
use workspace::{RelPath, fs};

use super::{PATCHES_DIR, publishing};
use crate::ai::{AiOverrides, CallPurpose, LEDGER_DIR, model};
use crate::tasks::clock::SystemClock;
use crate::tasks::environment::commands;
use crate::tasks::run_archive;
use crate::workflows::database::ProjectDatabase;
use crate::{AppErrorCode, Error, ProcessEnvironment, Project, ignoring};

/// The parts of the environment that a use case needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BuildNeeds {
    /// A model that plans.
    Planner,
    /// A model that builds, and what publishing takes.
    Builder,
    /// The publish target only.
    Publisher,
    /// Nothing but the database and the repository.
    Nobody,
}

/// Resolves the models of a team, and checks them before anything begins.
pub(super) fn models(
    project: &Project,
    surroundings: &ProcessEnvironment,
    wish: &AiOverrides,
    team: BuildNeeds,
) -> Result<Option<model::ModelResolver>, Error> {
    if team != BuildNeeds::Nobody {
        project.trust.require_settings(&["agent.", "builder."])?;
    }
    let errand = match team {
        BuildNeeds::Planner => CallPurpose::BuildPlan,
        BuildNeeds::Builder => CallPurpose::Build,
        BuildNeeds::Publisher | BuildNeeds::Nobody => return Ok(None),
    };
    let source = model::ModelResolver::open(project, surroundings, wish, errand)?;
    source.check(None)?;
    Ok(Some(source))
}

/// Everything that builds of a project work with.
pub(super) struct BuildEnvironment<'a> {
    project: &'a Project,
    pub(super) store: ProjectDatabase,
    models: Option<model::ModelResolver>,
    places: BuildDirectories,
    commands: CommandSettings,
    outlet: PublishDestination,
    /// Reason why no pull request can be opened, if none can.
    no_pull: Option<String>,
    repository: Result<Repository, vcs::Error>,
    cancel: CommandCancel,
    /// Problems of setting up.
    warnings: Vec<String>,
}

impl<'a> BuildEnvironment<'a> {
    /// Opens it, and removes what processes that died have left behind.
    pub(super) async fn open(
        project: &'a Project,
        surroundings: &ProcessEnvironment,
        models: Option<model::ModelResolver>,
        cancel: CommandCancel,
    ) -> Result<Self, Error> {
        let settings = &project.settings;
        let repository = Repository::open(&GitProgram::at(project.folder()));
        let forge = &settings.builder.forge;
        let opened = publishing::open(forge, surroundings, repository.as_ref().ok(), &cancel)?;
        let mut secrets = models.as_ref().map(model::ModelResolver::secrets);
        let tokens = publishing::tokens(forge, surroundings);
        secrets.get_or_insert_default().extend(tokens);
        let mut shop = Self {
            project,
            store: run_archive::open(project, surroundings, secrets.unwrap_or_default()).await?,
            models,
            places: places(project, surroundings)?,
            commands: commands(project, surroundings),
            outlet: opened.outlet,
            no_pull: opened.no_pull,
            repository,
            cancel,
            warnings: Vec::new(),
        };
        shop.tidy().await;
        Ok(shop)
    }

    /// Returns the dependencies of a build.
    pub(super) fn bench(&self) -> BuildContext<'_> {
        let settings = &self.project.settings;
        let authors: &dyn JobModels = match &self.models {
            Some(source) => source,
            None => &NoBuildModels,
        };
        BuildContext {
            jobs: self.store.jobs(),
            authors,
            project: self.project.folder(),
            places: &self.places,
            policy: &settings.agent.policy,
            files: settings.agent.files,
            limits: &settings.agent.limits,
            commands: &self.commands,
            settings: &settings.builder.builds,
            outlet: &self.outlet,
            clock: &SystemClock,
            cancel: &self.cancel,
        }
    }

    /// Refuses a project in which nothing can be built, before a build is begun.
    pub(super) fn require_repository(&self) -> Result<(), Error> {
        let hint = "a build works in a worktree of its own, which takes a git repository with a \
                    commit: `git init && git add . && git commit -m first`";
        let refused =
            |error: &vcs::Error| Error::new(AppErrorCode::Git, error.to_string()).hint(hint);
        let repository = self.repository.as_ref().map_err(refused)?;
        repository.head_commit().map_err(|error| refused(&error))?;
        Ok(())
    }

    /// Returns problems beside the work on this build.
    pub(super) fn warnings(&self, job: &BuildJob) -> Vec<String> {
        let mut warnings = self.warnings.clone();
        let trouble = self.models.as_ref().and_then(model::ModelResolver::trouble);
        warnings.extend(
            trouble.map(|why| format!("a call could not be written into {LEDGER_DIR}: {why}")),
        );
        if job.result.pushed && job.result.pr_url.is_none() {
            warnings.extend(self.no_pull.clone());
        }
        warnings
    }

    /// Closes the database, so that another process finds one file and not three.
    pub(super) async fn close(self) {
        // All data is on the disk already, so an error of closing loses nothing.
        let _ = self.store.close().await;
    }

    async fn tidy(&mut self) {
        if self.repository.is_err() {
            return;
        }
        let tidied = builder::run::reconcile(&self.bench()).await;
        if let Err(error) = tidied {
            let warning = format!("what an earlier build left could not be removed: {error}");
            self.warnings.push(warning);
        }
    }
}

impl JobModels for model::ModelResolver {
    fn choose(&self, tree: &Path) -> Result<ChosenModel, agent::Error> {
        self.choose_for(None, tree)
    }
}

/// Replaces the models for commands that need none; fails if one is asked for.
struct NoBuildModels;

impl JobModels for NoBuildModels {
    fn choose(&self, _: &Path) -> Result<ChosenModel, agent::Error> {
        let message = "no model is needed here, and none was set up; report this";
        Err(agent::Error::new(agent::AgentErrorKind::Setup, message))
    }
}

/// Returns the folders in which builds of a project keep their files. Worktrees are outside of the
/// project, because tools that search upwards for a project would find the user's.
fn places(project: &Project, surroundings: &ProcessEnvironment) -> Result<BuildDirectories, Error> {
    let folder = fs::canonical(project.folder())?;
    let home = cache(project, surroundings);
    let owner = run_archive::digest(&folder.display().to_string());
    let own = home.join("builds").join(&owner[..OWNER_CHARS]);
    // Source code of every project is in there.
    fs::create_private_dir(&own)?;
    ignoring::ignore_private(&project.root)?;
    Ok(BuildDirectories {
        owner,
        worktrees: own.join("worktrees"),
        patches: PatchFolder {
            dir: RelPath::parse(PATCHES_DIR)?,
            project: folder,
        },
        cache: own.join("cache"),
    })
}

/// Number of characters of a digest that tells projects apart in a folder's name.
const OWNER_CHARS: usize = 16;

/// Returns the folder for files that can be made again: that of the settings, of the user, or of
/// the system.
fn cache(project: &Project, surroundings: &ProcessEnvironment) -> PathBuf {
    let variable = |name: &str| {
        let value = surroundings.variable(name).map(PathBuf::from);
        value.filter(|path| path.is_absolute())
    };
    let home = variable("HOME");
    if let Some(folder) = &project.settings.builder.folder {
        return match (folder.strip_prefix("~"), home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => project.folder().join(folder),
        };
    }
    let user = variable("XDG_CACHE_HOME").or_else(|| home.map(|home| home.join(".cache")));
    user.unwrap_or_else(std::env::temp_dir)
        .join(Path::new("drawloom"))
}
