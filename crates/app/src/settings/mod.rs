//! `drawloom.toml`: defaults, then the file, then `DRAWLOOM_…` variables; flags come last, in the caller.

mod file;
mod keys;

use std::path::{Path, PathBuf};

use crate::surroundings::Surroundings;
use crate::{Code, Error};

pub use keys::commented_file;

pub const FILE_NAME: &str = "drawloom.toml";

/// Every setting with its value, wherever it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub recipes: Recipes,
    pub run: Run,
    pub limits: expr::Limits,
    pub output: Output,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipes {
    /// Folders with recipes, relative to the project's root.
    pub dirs: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub on_conflict: OnConflict,
    /// Whether recipes from kits may run commands without `--trust`.
    pub trust: bool,
}

/// What to do with a file that exists and differs from what would be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// Show the difference and ask; without a terminal, fail.
    Ask,
    Force,
    Skip,
    Fail,
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
            recipes: Recipes {
                dirs: vec![PathBuf::from(".drawloom/recipes")],
            },
            run: Run {
                on_conflict: OnConflict::Ask,
                trust: false,
            },
            limits: expr::Limits::default(),
            output: Output { color: Color::Auto },
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
        for key in keys::ALL {
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
