//! The end of a task: the result, or the failure with everything known about it.

use serde::{Deserialize, Serialize};
use workspace::RelPath;

use super::context::ContextNote;
use crate::error::{AgentErrorKind, Error};
use crate::spending::ConversationTotals;

/// A task that is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskResult {
    /// One sentence that says what happened.
    pub message: String,
    /// The details.
    #[serde(flatten)]
    pub report: TaskReport,
}

/// A task that ended without being done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct TaskFailure {
    /// The kind to branch on.
    pub kind: FailureKind,
    /// The problem, and how to solve it.
    pub message: String,
    /// The details, as far as the task got.
    #[serde(flatten)]
    pub report: Box<TaskReport>,
}

/// Why a task failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// A criterion is not fulfilled.
    Validation,
    /// An output artifact is not there.
    MissingArtifact,
    /// The model's plan cannot be read.
    InvalidPlan,
    /// A file that has to be written may not be, or could not be.
    Files,
    /// The loop, a tool or the journal stopped it; the kind says why.
    Stopped(AgentErrorKind),
}

impl FailureKind {
    /// True if the reason that stopped the task would stop every other task as well.
    pub fn ends_the_plan(self) -> bool {
        matches!(
            self,
            FailureKind::Stopped(
                AgentErrorKind::Cancelled | AgentErrorKind::Journal | AgentErrorKind::Budget
            )
        )
    }
}

/// Details of a task that ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskReport {
    /// The model's last words.
    pub ai_result: Option<AiResult>,
    /// The checks and their outcomes.
    pub validation_details: ValidationDetails,
    /// The state of the output artifacts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_artifacts: Vec<OutputArtifact>,
    /// The files that the tools wrote, each once, in tree order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_written: Vec<RelPath>,
    /// Input artifacts that the model was not shown as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_notes: Vec<ContextNote>,
    /// Usage of the conversation.
    pub usage: ConversationTotals,
}

/// The model's last words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AiResult {
    /// The text.
    pub content: String,
}

/// The checks and their outcomes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ValidationDetails {
    /// The commands that were run, in order.
    pub commands_executed: Vec<CommandRun>,
    /// The files that had to be there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_checked: Vec<CheckedFile>,
    /// Criteria that no command can check and that were not judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_judged: Vec<UncheckedCriterion>,
    /// How the handler read criteria that are only a text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<CriterionReading>,
    /// All in all.
    pub overall_status: OverallStatus,
}

/// All in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverallStatus {
    /// Something was checked, and nothing failed.
    Passed,
    /// Something failed.
    Failed,
    /// Nothing was checked.
    #[default]
    Skipped,
}

/// A command of a criterion that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRun {
    /// The command line.
    pub command: String,
    /// Its code; none if it did not end by itself or did not start.
    pub exit_code: Option<i32>,
    /// Its standard output, shortened in the middle if it is long.
    pub stdout: String,
    /// Its standard error, shortened in the middle if it is long.
    pub stderr: String,
    /// True if it ran out of time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Why it was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Set if it failed and the sandbox may be the reason: a sentence that names the setting to
    /// change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
}

impl CommandRun {
    /// True if it ended by itself with code 0.
    pub fn passed(&self) -> bool {
        self.exit_code == Some(0) && !self.timed_out && self.error.is_none()
    }
}

/// A file that had to be there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedFile {
    /// Its path.
    pub path: RelPath,
    /// True if the file exists.
    pub exists: bool,
    /// Why that could not be found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A criterion that was not judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UncheckedCriterion {
    /// Its text.
    pub criterion: String,
    /// Why it was not checked.
    pub because: String,
}

/// The reading of a criterion that is only a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriterionReading {
    /// The text.
    pub criterion: String,
    /// The kind of criterion it was read as.
    pub read_as: ReadAs,
    /// Why.
    pub because: String,
}

/// The kinds of criterion a text can be read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadAs {
    /// A command, which was run.
    Command,
    /// A description, which was not judged.
    Description,
}

/// The state of an output artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputArtifact {
    /// Its path.
    pub path: RelPath,
    /// Says if the file exists.
    pub state: ArtifactState,
}

/// Says if an output artifact exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactState {
    /// A tool of this task wrote it.
    Written,
    /// It is there, and no tool of this task wrote it: it was there before, or a command made it.
    Present,
    /// It is not there.
    Missing,
}

impl TaskFailure {
    pub(super) fn new(
        kind: FailureKind,
        message: impl Into<String>,
        report: TaskReport,
    ) -> TaskFailure {
        TaskFailure {
            kind,
            message: message.into(),
            report: Box::new(report),
        }
    }

    pub(super) fn stopped(error: &Error, report: TaskReport) -> TaskFailure {
        TaskFailure::new(
            FailureKind::Stopped(error.kind()),
            error.to_string(),
            report,
        )
    }
}
