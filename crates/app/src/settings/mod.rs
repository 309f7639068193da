//! Settings: defaults, then the user's own file, then the project's `drawloom.toml`, then
//! `DRAWLOOM_…` variables; flags come last, in the caller.

mod agent;
mod ai;
mod builder;
mod file;
mod keys;
mod mcp;
mod named;
mod workflows;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::surroundings::Surroundings;
use crate::{Code, Error};

pub use agent::{Agent, Sandbox};
pub use builder::{Builder, Forge};
pub use keys::{DATABASE_VARIABLE, commented_file, variables};
pub use mcp::McpServer;
pub use recipe::OnConflict;
pub use workflows::{Agent as WorkflowAgent, NotifyRule, Workflows};

pub const FILE_NAME: &str = "drawloom.toml";
/// The user's own settings, in the folder for them.
pub const USER_FILE_NAME: &str = "config.toml";

/// Every setting with its value, wherever it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What the user trusts, whatever a project says.
    pub trust: Trust,
    pub recipes: Recipes,
    pub run: Run,
    pub limits: template::Limits,
    pub output: Output,
    /// Who answers questions.
    pub ai: transport::Setup,
    /// What a model with tools may do.
    pub agent: Agent,
    /// What builds may use, and where their work goes.
    pub builder: Builder,
    /// How runs of workflows are worked on.
    pub workflows: Workflows,
    /// MCP servers by name.
    pub mcp: BTreeMap<String, McpServer>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// Folders whose projects are trusted without a question, whoever owns them.
    pub projects: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipes {
    /// Folders with recipes beside `.drawloom/recipes`, relative to the project's root.
    pub dirs: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub on_conflict: OnConflict,
    /// Whether recipes from kits may run commands without `--trust`.
    pub trust: bool,
    /// How long a run waits for another one that writes to the project.
    pub wait_ms_max: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub color: Color,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    Auto,
    Always,
    Never,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            trust: Trust::default(),
            recipes: Recipes { dirs: Vec::new() },
            run: Run {
                on_conflict: OnConflict::Ask,
                trust: false,
                wait_ms_max: u64::try_from(workspace::WRITER_WAIT_MAX.as_millis())
                    .unwrap_or(u64::MAX),
            },
            limits: template::Limits::default(),
            output: Output { color: Color::Auto },
            ai: transport::Setup::default(),
            agent: Agent::default(),
            builder: Builder::default(),
            workflows: Workflows::default(),
            mcp: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// Reads the user's file, then `file` if there is one, then the variables.
    pub fn resolve(file: Option<&Path>, surroundings: &Surroundings) -> Result<Self, Error> {
        let mut settings = Self::of_user(surroundings)?;
        if let Some(path) = file {
            let text = workspace::fs::read_text(path)?.unwrap_or_default();
            file::apply(&mut settings, (path, Layer::Project), &text)?;
        }
        settings.add_variables(surroundings, keys::all())?;
        Ok(settings)
    }

    /// The defaults under a project's file, and nothing else: what the project itself asks for.
    pub(crate) fn of_project(file: &Path) -> Result<Self, Error> {
        let mut settings = Self::default();
        let text = workspace::fs::read_text(file)?.unwrap_or_default();
        file::apply(&mut settings, (file, Layer::Project), &text)?;
        Ok(settings)
    }

    /// The defaults under the user's own file and the variables that only a user may set: what can
    /// be known before a project is found.
    pub fn of_user(surroundings: &Surroundings) -> Result<Self, Error> {
        let mut settings = Self::default();
        if let Some(path) = user_file(surroundings) {
            surroundings.owners.check(&path).map_err(unsafe_file)?;
            if let Some(text) = workspace::fs::read_text(&path)? {
                file::apply(&mut settings, (&path, Layer::User), &text)?;
            }
        }
        settings.add_variables(surroundings, keys::all().filter(|key| key.is_users_own()))?;
        Ok(settings)
    }

    fn add_variables(
        &mut self,
        surroundings: &Surroundings,
        keys: impl Iterator<Item = &'static keys::Key>,
    ) -> Result<(), Error> {
        if surroundings.variables.is_empty() {
            return Ok(());
        }
        for key in keys {
            let name = key.variable();
            if let Some(value) = surroundings.variables.get(&name) {
                key.set_from_text(self, value).map_err(|problem| {
                    let file = if key.is_users_own() {
                        USER_FILE_NAME
                    } else {
                        FILE_NAME
                    };
                    Error::new(Code::Settings, format!("{name} {problem}"))
                        .hint(format!("it overrides `{}` of {file}", key.dotted()))
                })?;
            }
        }
        Ok(())
    }
}

/// Whose file a setting is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    User,
    Project,
}

/// The user's own settings file, whether or not it exists.
pub fn user_file(surroundings: &Surroundings) -> Option<PathBuf> {
    let folder = surroundings.user_folders.config.as_ref()?;
    Some(folder.join(USER_FILE_NAME))
}

/// A file that another user could have written, as an error.
pub(crate) fn unsafe_file(refused: workspace::ownership::UnsafeFile) -> Error {
    Error::new(Code::Owner, refused.to_string()).hint(refused.fix())
}
