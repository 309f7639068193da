//! A plan: which files become what. Once approved, it is the permission to write.
//!
//! A plan comes from a model ([`read_reply`], which is tolerant of how models write) or from a
//! person who edited one ([`read`], which is strict). Both are held against the schema and then, by
//! [`check`], against the policy and the tree it is for.

mod check;
mod read;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use workspace::{Action, Grant, RelPath};

use crate::task_type::TaskType;

pub use check::check;
pub use read::{read, read_reply};

/// What is to be built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// What will be there afterwards, for people.
    pub summary: String,
    /// What kind of work it is.
    pub task_type: TaskType,
    /// The files, and what becomes of each.
    pub files: Vec<PlanFile>,
    /// Files that are there and worth reading first.
    #[serde(default)]
    pub context_files: Vec<RelPath>,
}

/// One file of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFile {
    /// Where it is, or will be.
    pub path: RelPath,
    /// What becomes of it.
    #[serde(flatten)]
    pub action: FileAction,
    /// What for, in a sentence.
    pub description: String,
}

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum FileAction {
    /// Made where nothing is.
    Create,
    /// Changed.
    Modify,
    /// Removed.
    Delete,
    /// Moved here, and perhaps changed.
    Rename {
        /// Where it is now.
        from: RelPath,
    },
}

impl FileAction {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            FileAction::Create => "create",
            FileAction::Modify => "modify",
            FileAction::Delete => "delete",
            FileAction::Rename { .. } => "rename",
        }
    }
}

impl Plan {
    /// The permission to write that the approved plan is.
    ///
    /// A file that is to be moved may be changed where it is before it is moved.
    pub fn grant(&self) -> Grant {
        let mut grant = Grant::new();
        for file in &self.files {
            let path = file.path.clone();
            match &file.action {
                FileAction::Create => grant.permit(path, Action::Create),
                FileAction::Modify => grant.permit(path, Action::Modify),
                FileAction::Delete => grant.permit(path, Action::Delete),
                FileAction::Rename { from } => {
                    grant.permit(from.clone(), Action::Modify);
                    grant.permit_rename(from.clone(), path);
                }
            }
        }
        grant
    }

    /// Every path that the plan touches, those that files are moved away from included.
    pub fn touched(&self) -> impl Iterator<Item = &RelPath> {
        self.files.iter().flat_map(|file| {
            let from = match &file.action {
                FileAction::Rename { from } => Some(from),
                _ => None,
            };
            std::iter::once(&file.path).chain(from)
        })
    }

    /// The files that are there before the job, and become something else.
    pub fn existing(&self) -> impl Iterator<Item = &RelPath> {
        self.files.iter().filter_map(|file| match &file.action {
            FileAction::Create => None,
            FileAction::Modify | FileAction::Delete => Some(&file.path),
            FileAction::Rename { from } => Some(from),
        })
    }

    /// As JSON for people.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The files as a list for prompts and bodies.
    pub fn file_list(&self) -> String {
        let lines = self.files.iter().map(|file| match &file.action {
            FileAction::Rename { from } => format!(
                "- rename `{from}` to `{}`: {}",
                file.path,
                file.description.trim()
            ),
            action => format!(
                "- {} `{}`: {}",
                action.word(),
                file.path,
                file.description.trim()
            ),
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// The JSON Schema of a plan, as `drawloom schema build-plan` prints it.
pub fn schema() -> Value {
    serde_json::from_str(include_str!("plan/schema.json")).unwrap_or_default()
}

/// Everything that is wrong with a plan, a sentence each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<String>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let end = if index + 1 < self.0.len() { "\n" } else { "" };
            write!(f, "- {problem}{end}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
