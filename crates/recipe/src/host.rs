//! The host's part of a run: it asks a person, and it shows progress.

use serde_json::Value;
use workspace::RelPath;

use crate::conflict::FileConflict;

/// A question for a person.
#[derive(Clone, Debug, PartialEq)]
pub struct VariablePrompt {
    /// The variable that gets the answer.
    pub name: String,
    pub message: String,
    pub kind: AskKind,
    /// Taken when the person just confirms.
    pub default: Option<Value>,
    /// Shown, never taken.
    pub suggestion: Option<Value>,
    /// Labels of the choices, if they have names of their own.
    pub labels: Vec<String>,
    /// Typed without an echo.
    pub is_secret: bool,
}

/// Kind of answer the host must get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskKind {
    Text,
    Number,
    Confirm,
    Select(Vec<String>),
    MultiSelect(Vec<String>),
    /// Several texts.
    List,
    /// A JSON object.
    Object,
}

/// A person's decision about a file that exists and differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictDecision {
    Overwrite,
    Skip,
    Abort,
}

/// Something that happens during a run, for progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecipeEvent<'e> {
    /// Another process writes to the project, and this run waits for it.
    WaitingForWriter {
        /// The other process's command line, where it can be read.
        command: Option<&'e str>,
        pid: Option<u32>,
    },
    /// The wait is over.
    WriterLocked,
    FilesApplied {
        created: usize,
        changed: usize,
    },
    CommandStarted {
        step: &'e str,
        command: &'e str,
    },
    /// A line a command printed.
    CommandLine {
        step: &'e str,
        line: &'e str,
        is_error: bool,
    },
    CommandFinished {
        step: &'e str,
        command: &'e str,
        succeeded: bool,
    },
    /// Files were put back after a failure.
    RolledBack {
        files: usize,
    },
}

/// Returns why a value does not fit the question.
pub type ValueCheck<'c> = dyn Fn(&Value) -> Result<(), String> + 'c;

/// Runs a recipe: asks a person, and shows progress.
pub trait RecipeHost {
    /// Asks a person; `None` if there is no person to ask. If `check` refuses a value, the host
    /// asks again: only the host can show the reason before it shows the value as accepted.
    fn ask(&mut self, ask: &VariablePrompt, check: &ValueCheck<'_>) -> Option<Value>;

    /// Shows a difference and asks what to do; `None` when there is no person to ask.
    fn resolve(&mut self, conflict: &FileConflict) -> Option<ConflictDecision>;

    fn event(&mut self, event: RecipeEvent<'_>);
}

/// A host without a person: it answers no question and shows no event.
#[derive(Clone, Copy, Debug, Default)]
pub struct SilentHost;

impl RecipeHost for SilentHost {
    fn ask(&mut self, _: &VariablePrompt, _: &ValueCheck<'_>) -> Option<Value> {
        None
    }

    fn resolve(&mut self, _: &FileConflict) -> Option<ConflictDecision> {
        None
    }

    fn event(&mut self, _: RecipeEvent<'_>) {}
}

/// The decision for each file in conflict.
pub(crate) type ConflictDecisions = std::collections::BTreeMap<RelPath, ConflictDecision>;
