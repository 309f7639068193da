//! What handlers work with, and how much of it they may use.

use std::ffi::OsStr;
use std::sync::Arc;

use exec::Cancel;
use llm::Model;
use serde::{Deserialize, Serialize};
use workspace::Workspace;

use crate::error::Error;
use crate::limits::Limits;
use crate::run::Clock;
use crate::task::ModelPreference;
use crate::toolset::Toolset;

/// Everything a handler may touch.
#[derive(Clone, Copy)]
pub struct Bench<'a> {
    /// Who is asked.
    pub models: &'a dyn Models,
    /// The project's files, under the policy of the tools.
    pub workspace: &'a Workspace,
    /// The tools. Criteria are run with its `execute_command`.
    pub toolset: &'a Toolset,
    /// What one run of the loop may use.
    pub limits: &'a Limits,
    /// What a task may use.
    pub task_limits: &'a TaskLimits,
    /// The time.
    pub clock: &'a dyn Clock,
    /// Ends everything when switched.
    pub cancel: &'a Cancel,
    /// The `PATH` of commands, by which a criterion that is only a text is told to be a command.
    pub search_path: &'a OsStr,
}

/// Finds the model for a task.
pub trait Models: Send + Sync {
    /// The model a task prefers, or the configured one. A preference that cannot be met is an
    /// error: another model is another result.
    fn choose(&self, preference: Option<&ModelPreference>) -> Result<Chosen, Error>;
}

/// A model and how it is asked.
#[derive(Clone)]
pub struct Chosen {
    /// Who is asked.
    pub model: Arc<dyn Model>,
    /// The model's name, as its provider knows it.
    pub name: String,
    /// The longest reply.
    pub max_tokens: u32,
    /// How freely the model speaks.
    pub temperature: Option<f64>,
}

/// What a task may use. Each field is a setting under `agent.` of the same name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaskLimits {
    /// How much of the input artifacts the model is shown, in tokens of about 3.5 bytes.
    pub context_tokens_max: usize,
    /// The most entries of a directory's tree that are shown.
    pub tree_entries_max: usize,
    /// How often failed checks are fed back to the model before the task fails.
    pub validation_retries_max: u32,
    /// How long the command of a criterion may take when the criterion does not say.
    pub validation_seconds_max: u64,
    /// How often a plan that cannot be read is sent back to the model.
    pub plan_corrections_max: u32,
}

impl Default for TaskLimits {
    fn default() -> TaskLimits {
        TaskLimits {
            context_tokens_max: 60_000,
            tree_entries_max: 500,
            validation_retries_max: 3,
            validation_seconds_max: 600,
            plan_corrections_max: 3,
        }
    }
}
