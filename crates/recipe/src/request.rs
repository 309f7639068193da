//! What a run is asked to do, and what it gives back.

use prompt::{Answers, Questionnaire};
use serde::Serialize;
use serde_json::{Map, Value};
use workspace::{PolicySettings, RelPath, WriterRequest};

use crate::conflict::{Conflict, OnConflict};
use crate::effect::FileStatus;
use crate::perform::{CommandReport, OwnRecipes, Trust};
use crate::step::StepReport;
use crate::variables::Given;

/// The variable that carries a run's writer token to the commands it starts.
pub const WRITER_VARIABLE: &str = "DRAWLOOM_WRITER";

/// One run of a recipe, as data.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub values: Given,
    pub answers: Option<Answers>,
    pub conflicts: OnConflict,
    pub trust: Trust,
    pub own_recipes: OwnRecipes,
    pub mode: Mode,
    pub ask_missing: AskMissing,
    /// Values that a person gave in an earlier attempt of the same run.
    pub asked: Map<String, Value>,
    /// The exact command that runs again with the answers, up to where further options may follow.
    pub rerun_command: String,
    /// What follows them.
    pub rerun_end: String,
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
    /// What an update does about answers to questions that have changed.
    pub changed_questions: ChangedQuestions,
    /// Who writes, and how long it waits for another writer.
    pub writer: WriterRequest,
}

/// What becomes of an answer whose question reads differently now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangedQuestions {
    /// It is kept if it still fits, and the report says so.
    #[default]
    KeepAnswer,
    AskAgain,
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
    /// The command that runs again with the answers.
    pub command: String,
    /// Values that a person gave before the questions came up.
    pub asked: Map<String, Value>,
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
