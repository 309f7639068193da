//! The input of a run and its result.

use prompt::{Answers, Questionnaire};
use serde::Serialize;
use serde_json::{Map, Value};
use workspace::{PolicySettings, RelPath, WriterRequest};

use crate::conflict::{FileConflict, OnConflict};
use crate::effect::FileStatus;
use crate::perform::{CommandReport, OwnRecipes, RecipeTrust};
use crate::step::StepReport;
use crate::update::SettledConflict;
use crate::variables::GivenValues;

/// The variable that carries a run's writer token to the commands it starts.
pub const WRITER_VARIABLE: &str = "DRAWLOOM_WRITER";

/// One run of a recipe, as data.
#[derive(Clone, Debug, Default)]
pub struct RecipeRunRequest {
    pub values: GivenValues,
    pub answers: Option<Answers>,
    pub conflicts: OnConflict,
    pub trust: RecipeTrust,
    pub own_recipes: OwnRecipes,
    pub mode: RecipeRunMode,
    pub ask_missing: AskMissing,
    /// Values that a person gave in an earlier attempt of the same run.
    pub asked: Map<String, Value>,
    /// The exact command that runs again with the answers, up to where further options may follow.
    pub rerun_command: String,
    /// The end of that command, after the further options.
    pub rerun_end: String,
    /// Path at which that command expects the answers.
    pub answers_path: String,
    /// Replaces the built-in document of questions.
    pub prompt_template: Option<String>,
    /// Names that nothing defines are an error.
    pub strict: UndefinedPolicy,
    /// Paths of the project that may not be read as context, and the exceptions.
    pub policy: PolicySettings,
    /// Limits of one render.
    pub limits: template::Limits,
    /// The time, without which templates cannot ask for it.
    pub now_ms: Option<f64>,
    /// Ends running commands.
    pub cancel: Option<exec::CommandCancel>,
    /// Policy of an update for answers whose questions have changed.
    pub changed_questions: ChangedQuestions,
    /// Texts of a person for files in which an update conflicts.
    pub resolutions: Vec<SettledConflict>,
    /// Identity of this writer, and the time it waits for another one.
    pub writer: WriterRequest,
}

/// Policy for an answer whose question reads differently now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangedQuestions {
    /// It is kept if it still fits, and the report mentions it.
    #[default]
    KeepAnswer,
    AskAgain,
}

/// Decides if a name that nothing defines is an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UndefinedPolicy {
    #[default]
    Lenient,
    Strict,
}

/// Decides if the run performs its effects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecipeRunMode {
    #[default]
    Perform,
    DryRun,
}

/// The one who is asked for values that are required and not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskMissing {
    /// Ask no one: one error lists all of them.
    #[default]
    Fail,
    /// The host's person, one by one.
    Person,
    /// Put the questions into the document that asks for answers.
    Document,
}

/// Result of a run.
#[derive(Debug)]
pub enum RecipeRunOutcome {
    Done(RecipeRunReport),
    AnswersNeeded(NeededAnswers),
    /// A dry run.
    Shown(DryRunPlan),
    /// Files exist and differ, and no person could be asked; nothing was written.
    Conflicts(Vec<FileConflict>),
}

/// Questions that must be answered before anything is written.
#[derive(Debug)]
pub struct NeededAnswers {
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

/// Report about a finished run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RecipeRunReport {
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

/// Report about one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileReport {
    pub path: String,
    pub status: FileStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Plan of a run: the result of a dry run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DryRunPlan {
    pub recipe: String,
    pub files: Vec<DryRunFile>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<RelPath>,
    pub commands: Vec<DryRunCommand>,
    pub messages: Vec<String>,
    pub conflicts: Vec<RelPath>,
    pub steps: Vec<StepReport>,
}

#[derive(Clone, Debug, Serialize)]
pub struct DryRunFile {
    pub path: String,
    pub status: FileStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The difference to the current file, as a unified diff; empty when nothing changes.
    pub diff: String,
    /// A command decides about the content, so this is not final.
    pub provisional: bool,
    /// Reason why a recipe from outside needs `--trust` to write it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_trust: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct DryRunCommand {
    pub step: String,
    pub command: String,
    pub cwd: RelPath,
    /// It comes from outside the project and needs `--trust`.
    pub outside: bool,
}
