//! A plan: the files to create, change, move and delete. Once approved, it is the permission to
//! write.
//!
//! A plan comes from a model ([`read_reply`], which is tolerant of how models write) or from a
//! person who edited one ([`read`], which is strict). Both are validated against the schema and
//! then, by [`check`], against the policy and the tree.

mod check;
mod read;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use workspace::{GrantedAction, RelPath, WriteGrant};

use crate::task_type::TaskType;

pub use check::check;
pub use read::{read, read_reply};

/// The files to change, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildPlan {
    /// Describes the result, for people.
    pub summary: String,
    /// The kind of work.
    pub task_type: TaskType,
    /// The files with their actions.
    pub files: Vec<BuildPlanFile>,
    /// Existing files worth reading first.
    #[serde(default)]
    pub context_files: Vec<RelPath>,
}

/// One file of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildPlanFile {
    /// The file's path, now or after the build.
    pub path: RelPath,
    /// The planned action.
    #[serde(flatten)]
    pub action: FileAction,
    /// One sentence on the purpose of the change.
    pub description: String,
}

/// The action planned for a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum FileAction {
    /// Creates a file that does not exist.
    Create,
    /// Changed.
    Modify,
    /// Removed.
    Delete,
    /// Moved here, and perhaps changed.
    Rename {
        /// The present path.
        from: RelPath,
    },
}

impl FileAction {
    /// The action's name.
    pub fn word(&self) -> &'static str {
        match self {
            FileAction::Create => "create",
            FileAction::Modify => "modify",
            FileAction::Delete => "delete",
            FileAction::Rename { .. } => "rename",
        }
    }
}

impl BuildPlan {
    /// Returns the write permission that approving the plan gives.
    ///
    /// A file to be moved may also be changed at its old path.
    pub fn grant(&self) -> WriteGrant {
        let mut grant = WriteGrant::new();
        for file in &self.files {
            let path = file.path.clone();
            match &file.action {
                FileAction::Create => grant.permit(path, GrantedAction::Create),
                FileAction::Modify => grant.permit(path, GrantedAction::Modify),
                FileAction::Delete => grant.permit(path, GrantedAction::Delete),
                FileAction::Rename { from } => {
                    grant.permit(from.clone(), GrantedAction::Modify);
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

    /// The files that exist before the job and are changed, moved or deleted.
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
    pub(crate) fn file_list(&self) -> String {
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

/// All problems of a plan, a sentence each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanProblems(pub Vec<String>);

impl fmt::Display for PlanProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let end = if index + 1 < self.0.len() { "\n" } else { "" };
            write!(f, "- {problem}{end}")?;
        }
        Ok(())
    }
}

impl std::error::Error for PlanProblems {}
