//! What a run is asked to do, and what it gives back.

use prompt::{Answers, Questionnaire};
use serde::Serialize;
use serde_json::Value;
use workspace::{PolicySettings, RelPath};

use crate::conflict::{Conflict, OnConflict};
use crate::effect::FileStatus;
use crate::perform::{CommandReport, Trust};
use crate::step::StepReport;
use crate::variables::Given;

/// One run of a recipe, as data.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub values: Given,
    pub answers: Option<Answers>,
    pub conflicts: OnConflict,
    pub trust: Trust,
    pub mode: Mode,
    pub ask_missing: AskMissing,
    /// The exact command that runs again with the answers.
    pub rerun_command: String,
    /// Where that command expects them.
    pub answers_path: String,
    /// Replaces the built-in document of questions.
    pub prompt_template: Option<String>,
    /// Names that nothing defines are an error.
    pub strict: Strictness,
    /// What of the project may not be read as context, and what may after all.
    pub policy: PolicySettings,
    /// How much one render may use.
    pub limits: template::Limits,
    /// The time, without which templates cannot ask for it.
    pub now_ms: Option<f64>,
    /// Ends running commands.
    pub cancel: Option<exec::Cancel>,
}

/// Whether names that nothing defines are an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    #[default]
    Lenient,
    Strict,
}

/// Whether anything is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Perform,
    DryRun,
}

/// Who is asked for values that are required and not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskMissing {
    /// Nobody: one error lists them all.
    #[default]
    Fail,
    /// The host's person, one by one.
    Person,
    /// Whoever answers the document.
    Document,
}

/// How a run ended.
#[derive(Debug)]
pub enum Outcome {
    Done(Report),
    AnswersNeeded(Needed),
    /// A dry run.
    Shown(Plan),
    /// Files exist and differ, and nobody could be asked; nothing was written.
    Conflicts(Vec<Conflict>),
}

/// Questions that must be answered before anything is written.
#[derive(Debug)]
pub struct Needed {
    pub questionnaire: Questionnaire,
    /// For a person or a model to read.
    pub document: String,
    /// The same as data, with schemas.
    pub json: Value,
}

/// What a run did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    pub recipe: String,
    pub files: Vec<FileReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<RelPath>,
    pub commands: Vec<CommandReport>,
    pub messages: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_success: Option<String>,
    pub steps: Vec<StepReport>,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileReport {
    pub path: String,
    pub status: FileStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a run would do.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Plan {
    pub recipe: String,
    pub files: Vec<PlannedFile>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<RelPath>,
    pub commands: Vec<PlannedCommand>,
    pub messages: Vec<String>,
    pub conflicts: Vec<RelPath>,
    pub steps: Vec<StepReport>,
}

#[derive(Clone, Debug, Serialize)]
pub struct PlannedFile {
    pub path: String,
    pub status: FileStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// From what is there to what will be, as a unified diff; empty when nothing changes.
    pub diff: String,
    /// A command decides about the content, so this is not final.
    pub provisional: bool,
    /// Why a recipe from outside needs `--trust` to write it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_trust: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct PlannedCommand {
    pub step: String,
    pub command: String,
    pub cwd: RelPath,
    /// It comes from outside the project and needs `--trust`.
    pub outside: bool,
}
