//! Dependencies of handlers, and the limits of their use.

use std::ffi::OsStr;
use std::sync::Arc;

use exec::CommandCancel;
use llm::Model;
use serde::{Deserialize, Serialize};
use workspace::Workspace;

use crate::error::Error;
use crate::limits::Limits;
use crate::run::AgentClock;
use crate::task::ModelPreference;
use crate::toolset::AgentTools;

/// Everything a handler may touch.
#[derive(Clone, Copy)]
pub struct HandlerContext<'a> {
    /// Finds the model to ask.
    pub models: &'a dyn ModelChooser,
    /// The project's files, under the policy of the tools.
    pub workspace: &'a Workspace,
    /// The tools. Criteria are run with its `execute_command`.
    pub toolset: &'a AgentTools,
    /// Limits of one run of the loop.
    pub limits: &'a Limits,
    /// Limits of a task.
    pub task_limits: &'a TaskLimits,
    /// The time.
    pub clock: &'a dyn AgentClock,
    /// Ends everything when switched.
    pub cancel: &'a CommandCancel,
    /// The `PATH` of commands; a criterion that is only a text counts as a command if it names a
    /// program there.
    pub search_path: &'a OsStr,
}

/// Finds the model for a task.
pub trait ModelChooser: Send + Sync {
    /// Returns the model a task prefers, or the configured one. A preference that cannot be met is
    /// an error: another model is another result.
    fn choose(&self, preference: Option<&ModelPreference>) -> Result<ChosenModel, Error>;
}

/// A model and how it is asked.
#[derive(Clone)]
pub struct ChosenModel {
    /// The model to ask.
    pub model: Arc<dyn Model>,
    /// The model's name, as its provider knows it.
    pub name: String,
    /// The longest reply.
    pub max_tokens: u32,
    /// Sampling temperature.
    pub temperature: Option<f64>,
}

/// Limits of a task. Each field is a setting under `agent.` of the same name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaskLimits {
    /// Size of the input artifacts shown to the model, in tokens of about 3.5 bytes.
    pub context_tokens_max: usize,
    /// The most entries of a directory's tree that are shown.
    pub tree_entries_max: usize,
    /// Times failed checks are fed back to the model before the task fails.
    pub validation_retries_max: u32,
    /// Time limit for the command of a criterion that names none itself.
    pub validation_seconds_max: u64,
    /// Times a plan that cannot be read is sent back to the model.
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
