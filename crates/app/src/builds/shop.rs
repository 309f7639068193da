//! What builds work with, put together from the settings: models, places, commands, where work goes.

use std::path::{Path, PathBuf};

use agent::handlers::Chosen;
use agent::tools::CommandSettings;
use builder::{Authors, Bench, Job, Outlet, PatchFolder, Places};
use exec::Cancel;
use store::Store;
use vcs::{Git, Repository};
use workspace::{RelPath, fs};

use super::{PATCHES_DIR, outlet};
use crate::ai::{Errand, LEDGER_DIR, Wish, model};
use crate::tasks::bench::commands;
use crate::tasks::clock::SystemClock;
use crate::tasks::keeping;
use crate::{Code, Error, Project, Surroundings, ignoring};

/// Who is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Team {
    /// A model that plans.
    Planner,
    /// A model that builds, and what publishing takes.
    Builder,
    /// What publishing takes.
    Publisher,
    /// Nothing but the database and the repository.
    Nobody,
}

/// The models of a team, checked before anything is begun.
pub(super) fn models(
    project: &Project,
    surroundings: &Surroundings,
    wish: &Wish,
    team: Team,
) -> Result<Option<model::Source>, Error> {
    if team != Team::Nobody {
        project.trust.require_settings(&["agent.", "builder."])?;
    }
    let errand = match team {
        Team::Planner => Errand::BuildPlan,
        Team::Builder => Errand::Build,
        Team::Publisher | Team::Nobody => return Ok(None),
    };
    let source = model::Source::open(project, surroundings, wish, errand)?;
    source.check(None)?;
    Ok(Some(source))
}

/// Everything that builds of a project work with.
pub(super) struct Shop<'a> {
    project: &'a Project,
    pub(super) store: Store,
    models: Option<model::Source>,
    places: Places,
    commands: CommandSettings,
    outlet: Outlet,
    /// Why no pull request can be opened, if none can.
    no_pull: Option<String>,
    repository: Result<Repository, vcs::Error>,
    cancel: Cancel,
    /// What went wrong in setting up.
    warnings: Vec<String>,
}

impl<'a> Shop<'a> {
    /// Opens it, and removes what processes that died have left behind.
    pub(super) async fn open(
        project: &'a Project,
        surroundings: &Surroundings,
        models: Option<model::Source>,
        cancel: Cancel,
    ) -> Result<Self, Error> {
        let settings = &project.settings;
        let repository = Repository::open(&Git::at(project.folder()));
        let forge = &settings.builder.forge;
        let opened = outlet::open(forge, surroundings, repository.as_ref().ok(), &cancel)?;
        let mut secrets = models.as_ref().map(model::Source::secrets);
        let tokens = outlet::tokens(forge, surroundings);
        secrets.get_or_insert_default().extend(tokens);
        let mut shop = Self {
            project,
            store: keeping::open(project, secrets.unwrap_or_default()).await?,
            models,
            places: places(project, surroundings)?,
            commands: commands(&settings.agent.sandbox, surroundings),
            outlet: opened.outlet,
            no_pull: opened.no_pull,
            repository,
            cancel,
            warnings: Vec::new(),
        };
        shop.tidy().await;
        if shop.repository.is_ok() {
            ignore_own_files(project)?;
        }
        Ok(shop)
    }

    /// What a build may touch.
    pub(super) fn bench(&self) -> Bench<'_> {
        let settings = &self.project.settings;
        let authors: &dyn Authors = match &self.models {
            Some(source) => source,
            None => &Nobody,
        };
        Bench {
            jobs: &self.store,
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
        let refused = |error: &vcs::Error| Error::new(Code::Git, error.to_string()).hint(hint);
        let repository = self.repository.as_ref().map_err(refused)?;
        repository.head_commit().map_err(|error| refused(&error))?;
        Ok(())
    }

    /// What went wrong beside the work on this build.
    pub(super) fn warnings(&self, job: &Job) -> Vec<String> {
        let mut warnings = self.warnings.clone();
        let trouble = self.models.as_ref().and_then(model::Source::trouble);
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
        // What was kept is on the disk already.
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

impl Authors for model::Source {
    fn choose(&self, tree: &Path) -> Result<Chosen, agent::Error> {
        self.choose_for(None, tree)
    }
}

/// Who is asked where nobody is.
struct Nobody;

impl Authors for Nobody {
    fn choose(&self, _: &Path) -> Result<Chosen, agent::Error> {
        let message = "no model is needed here, and none was set up; report this";
        Err(agent::Error::new(agent::Kind::Setup, message))
    }
}

/// Where the builds of a project keep their files. Worktrees are outside of it, because tools that
/// look for a project upwards would find the user's around them.
fn places(project: &Project, surroundings: &Surroundings) -> Result<Places, Error> {
    let folder = fs::canonical(project.folder())?;
    let home = cache(project, surroundings);
    let owner = keeping::digest(&folder.display().to_string());
    let own = home.join("builds").join(&owner[..OWNER_CHARS]);
    // Source code of every project is in there.
    fs::create_private_dir(&own)?;
    ignoring::ignore_private(&project.root)?;
    Ok(Places {
        owner,
        worktrees: own.join("worktrees"),
        patches: PatchFolder {
            dir: RelPath::parse(PATCHES_DIR)?,
            project: folder,
        },
        cache: own.join("cache"),
    })
}

/// What builds keep in the project is not for git, also where nobody ran `drawloom init`. Recipes and
/// workflows beside it are.
const OWN_FILES: &str = "/.gitignore\n/drawloom.db*\n/apply/\n/answers/\n/ledger/\n/patches/\n";

fn ignore_own_files(project: &Project) -> Result<(), Error> {
    let place = project.folder().join(".drawloom/.gitignore");
    if !fs::exists(&place) {
        fs::write_atomic(&place, OWN_FILES.as_bytes())?;
    }
    Ok(())
}

/// How much of a digest tells projects apart in a folder's name.
const OWNER_CHARS: usize = 16;

/// The folder for what can be made again: that of the settings, of the user, or of the system.
fn cache(project: &Project, surroundings: &Surroundings) -> PathBuf {
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
