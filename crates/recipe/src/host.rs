//! What a run needs from whoever runs it: a person to ask, and someone to tell.

use serde_json::Value;
use workspace::RelPath;

use crate::conflict::Conflict;

/// A question for a person.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// The variable that gets the answer.
    pub name: String,
    pub message: String,
    pub kind: AskKind,
    /// Taken when the person just confirms.
    pub default: Option<Value>,
    /// Shown, never taken.
    pub suggestion: Option<Value>,
    /// Why the last answer was refused.
    pub refused: Option<String>,
    /// What the choices are called, where they have names of their own.
    pub labels: Vec<String>,
    /// Typed without an echo.
    pub is_secret: bool,
}

/// What kind of answer is wanted.
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

/// What a person decides about a file that exists and differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Overwrite,
    Skip,
    Abort,
}

/// What happens during a run, for progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'e> {
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

/// The one who runs a recipe.
pub trait Host {
    /// Asks a person; `None` when there is nobody to ask.
    fn ask(&mut self, ask: &Ask) -> Option<Value>;

    /// Shows a difference and asks what to do; `None` when there is nobody to ask.
    fn resolve(&mut self, conflict: &Conflict) -> Option<Decision>;

    fn event(&mut self, event: Event<'_>);
}

/// Nobody is there: no question is answered, no event shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Host for Nobody {
    fn ask(&mut self, _: &Ask) -> Option<Value> {
        None
    }

    fn resolve(&mut self, _: &Conflict) -> Option<Decision> {
        None
    }

    fn event(&mut self, _: Event<'_>) {}
}

/// What was decided about which file.
pub(crate) type Decisions = std::collections::BTreeMap<RelPath, Decision>;
