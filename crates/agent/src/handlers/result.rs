//! What came out of a task: the result, or the failure with all that is known about it.

use serde::{Deserialize, Serialize};
use workspace::RelPath;

use super::context::ContextNote;
use crate::error::{Error, Kind};
use crate::spending::Totals;

/// A task that is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskResult {
    /// What happened, in a sentence.
    pub message: String,
    /// What came out.
    #[serde(flatten)]
    pub report: Report,
}

/// A task that ended without being done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct TaskFailure {
    /// The kind to branch on.
    pub kind: FailureKind,
    /// What went wrong and what to do about it.
    pub message: String,
    /// What came out all the same.
    #[serde(flatten)]
    pub report: Box<Report>,
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
    Stopped(Kind),
}

impl FailureKind {
    /// Whether what stopped the task would stop every other task as well.
    pub fn ends_the_plan(self) -> bool {
        matches!(
            self,
            FailureKind::Stopped(Kind::Cancelled | Kind::Journal | Kind::Budget)
        )
    }
}

/// What is known about a task that ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The model's last words.
    pub ai_result: Option<AiResult>,
    /// What was checked, and how it went.
    pub validation_details: ValidationDetails,
    /// What became of the output artifacts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_artifacts: Vec<Artifact>,
    /// The files that the tools wrote, each once, in tree order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_written: Vec<RelPath>,
    /// Input artifacts that the model was not shown as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_notes: Vec<ContextNote>,
    /// What the conversation used.
    pub usage: Totals,
}

/// The model's last words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AiResult {
    /// The text.
    pub content: String,
}

/// What was checked, and how it went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ValidationDetails {
    /// The commands that were run, in order.
    pub commands_executed: Vec<CommandRun>,
    /// The files that had to be there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_checked: Vec<CheckedFile>,
    /// Criteria that no command can check and that nobody judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_judged: Vec<Unjudged>,
    /// How criteria that are only a text were read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<Reading>,
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
    /// What it printed, shortened in the middle where it is long.
    pub stdout: String,
    /// What it printed to standard error, shortened in the middle where it is long.
    pub stderr: String,
    /// Whether its time was up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Why it was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl CommandRun {
    /// Whether it ended by itself with code 0.
    pub fn passed(&self) -> bool {
        self.exit_code == Some(0) && !self.timed_out && self.error.is_none()
    }
}

/// A file that had to be there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedFile {
    /// Its path.
    pub path: RelPath,
    /// Whether it is there.
    pub exists: bool,
    /// Why that could not be found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A criterion that nobody judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unjudged {
    /// What it says.
    pub criterion: String,
    /// Why it was not checked.
    pub because: String,
}

/// How a criterion that is only a text was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The text.
    pub criterion: String,
    /// What it was taken for.
    pub read_as: ReadAs,
    /// Why.
    pub because: String,
}

/// What a text was taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadAs {
    /// A command, which was run.
    Command,
    /// A description, which was not judged.
    Description,
}

/// What became of an output artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Its path.
    pub path: RelPath,
    /// Whether it is there.
    pub state: ArtifactState,
}

/// Whether an output artifact is there.
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
        report: Report,
    ) -> TaskFailure {
        TaskFailure {
            kind,
            message: message.into(),
            report: Box::new(report),
        }
    }

    pub(super) fn stopped(error: &Error, report: Report) -> TaskFailure {
        TaskFailure::new(
            FailureKind::Stopped(error.kind()),
            error.to_string(),
            report,
        )
    }
}
