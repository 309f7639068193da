//! `drawloom.toml`: defaults, then the file, then `DRAWLOOM_…` variables; flags come last, in the caller.

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
pub use keys::{commented_file, variables};
pub use mcp::McpServer;
pub use recipe::OnConflict;
pub use workflows::{Agent as WorkflowAgent, Workflows};

pub const FILE_NAME: &str = "drawloom.toml";

/// Every setting with its value, wherever it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
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
            recipes: Recipes { dirs: Vec::new() },
            run: Run {
                on_conflict: OnConflict::Ask,
                trust: false,
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
    /// Reads `file` if there is one, then the variables.
    pub fn resolve(file: Option<&Path>, surroundings: &Surroundings) -> Result<Self, Error> {
        let mut settings = Self::default();
        if let Some(path) = file {
            let text = workspace::fs::read_text(path)?.unwrap_or_default();
            file::apply(&mut settings, path, &text)?;
        }
        for key in keys::all() {
            let name = key.variable();
            if let Some(value) = surroundings.variables.get(&name) {
                key.set_from_text(&mut settings, value).map_err(|problem| {
                    Error::new(Code::Settings, format!("{name} {problem}"))
                        .hint(format!("it overrides `{}` of {FILE_NAME}", key.dotted()))
                })?;
            }
        }
        Ok(settings)
    }
}
