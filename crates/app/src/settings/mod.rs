//! Settings: defaults, then the user's own file, then the project's `drawloom.toml`, then
//! `DRAWLOOM_…` variables; flags come last, in the caller.

mod agent;
mod ai;
mod builder;
mod file;
mod keys;
mod mcp;
mod named;
mod oidc;
mod rates;
mod server;
mod workflows;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::surroundings::ProcessEnvironment;
use crate::{AppErrorCode, Error};

pub use agent::{AgentSettings, SandboxSettings};
pub use builder::{BuilderSettings, ForgeSettings};
pub use keys::{ADMIN_EMAIL, ADMIN_PASSWORD_FILE};
pub use keys::{DATABASE_VARIABLE, commented_file, variables};
pub(crate) use mcp::references;
pub use mcp::{McpServer, TOOL_SETS, TOOL_SETS_DEFAULT};
pub use oidc::OidcSettings;
pub use rates::{RateRule, RateSubject};
pub use recipe::OnConflict;
pub use server::{ForwardedKind, LogFormat, ServeSettings};
pub use workflows::{NotifyRule, WorkflowAgent, WorkflowSettings};

pub const FILE_NAME: &str = "drawloom.toml";
/// The user's own settings, in the folder for them.
pub const USER_FILE_NAME: &str = "config.toml";

/// Every setting with its value, from whichever source.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectSettings {
    /// Projects that the user trusts, whatever the project says.
    pub trust: TrustSettings,
    pub recipes: RecipeSettings,
    pub run: RunSettings,
    pub limits: template::Limits,
    pub output: OutputSettings,
    /// Settings of answering questions.
    pub ai: transport::AiSettings,
    /// Permissions and limits of a model with tools.
    pub agent: AgentSettings,
    /// Limits of builds, and their publish target.
    pub builder: BuilderSettings,
    /// Settings of workflow runs.
    pub workflows: WorkflowSettings,
    /// How `drawloom serve` behaves.
    pub server: ServeSettings,
    /// The provider that people sign in with.
    pub oidc: OidcSettings,
    /// MCP servers by name.
    pub mcp: BTreeMap<String, McpServer>,
    /// The sets of tools that programs get through MCP.
    pub mcp_tools: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustSettings {
    /// Folders whose projects are trusted without a question, for any owner.
    pub projects: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipeSettings {
    /// Folders with recipes beside `.drawloom/recipes`, relative to the project's root.
    pub dirs: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSettings {
    pub on_conflict: OnConflict,
    /// True if recipes from kits may run commands without `--trust`.
    pub trust: bool,
    /// Time a run waits for another one that writes to the project.
    pub wait_ms_max: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputSettings {
    pub color: ColorSetting,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorSetting {
    Auto,
    Always,
    Never,
}

impl Default for ProjectSettings {
    fn default() -> Self {
        Self {
            trust: TrustSettings::default(),
            recipes: RecipeSettings { dirs: Vec::new() },
            run: RunSettings {
                on_conflict: OnConflict::Ask,
                trust: false,
                wait_ms_max: u64::try_from(workspace::WRITER_WAIT_MAX.as_millis())
                    .unwrap_or(u64::MAX),
            },
            limits: template::Limits::default(),
            output: OutputSettings {
                color: ColorSetting::Auto,
            },
            ai: transport::AiSettings::default(),
            agent: AgentSettings::default(),
            builder: BuilderSettings::default(),
            workflows: WorkflowSettings::default(),
            server: ServeSettings::default(),
            oidc: OidcSettings::default(),
            mcp: BTreeMap::new(),
            mcp_tools: mcp::TOOL_SETS_DEFAULT.map(str::to_owned).to_vec(),
        }
    }
}

impl ProjectSettings {
    /// Reads the user's file, then `file` if there is one, then the variables.
    pub fn resolve(file: Option<&Path>, surroundings: &ProcessEnvironment) -> Result<Self, Error> {
        let mut settings = Self::of_user(surroundings)?;
        if let Some(path) = file {
            let text = workspace::fs::read_text(path)?.unwrap_or_default();
            file::apply(&mut settings, (path, SettingsLayer::Project), &text)?;
        }
        settings.add_variables(surroundings, keys::all())?;
        Ok(settings)
    }

    /// Reads the defaults and a project's file, and nothing else: the settings that the project
    /// itself asks for.
    pub(crate) fn of_project(file: &Path) -> Result<Self, Error> {
        let mut settings = Self::default();
        let text = workspace::fs::read_text(file)?.unwrap_or_default();
        file::apply(&mut settings, (file, SettingsLayer::Project), &text)?;
        Ok(settings)
    }

    /// Reads the defaults, the user's own file and the variables that only a user may set: the
    /// settings that are known before a project is found.
    pub fn of_user(surroundings: &ProcessEnvironment) -> Result<Self, Error> {
        let mut settings = Self::default();
        if let Some(path) = user_file(surroundings) {
            surroundings.owners.check(&path).map_err(unsafe_file)?;
            if let Some(text) = workspace::fs::read_text(&path)? {
                file::apply(&mut settings, (&path, SettingsLayer::User), &text)?;
            }
        }
        settings.add_variables(surroundings, keys::all().filter(|key| key.is_users_own()))?;
        Ok(settings)
    }

    fn add_variables(
        &mut self,
        surroundings: &ProcessEnvironment,
        keys: impl Iterator<Item = &'static keys::SettingKey>,
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
                    Error::new(AppErrorCode::Settings, format!("{name} {problem}"))
                        .hint(format!("it overrides `{}` of {file}", key.dotted()))
                })?;
            }
        }
        Ok(())
    }
}

/// The file a setting is read from: the user's or the project's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingsLayer {
    User,
    Project,
}

/// Returns the user's own settings file, whether or not it exists.
pub fn user_file(surroundings: &ProcessEnvironment) -> Option<PathBuf> {
    let folder = surroundings.user_folders.config.as_ref()?;
    Some(folder.join(USER_FILE_NAME))
}

/// Makes the error about a file that another user could have written.
pub(crate) fn unsafe_file(refused: workspace::ownership::UnsafeFile) -> Error {
    Error::new(AppErrorCode::Owner, refused.to_string()).hint(refused.fix())
}
