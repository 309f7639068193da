//! Problems of a file, each with its place and a hint.

use std::fmt;

use serde::Serialize;

use crate::error::{AgentErrorKind, Error};

/// Number of problems reported for one file.
pub const PROBLEMS_MAX: usize = 50;

/// One thing wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskFileProblem {
    /// The file, as it was named.
    pub file: String,
    /// Counts from 1.
    pub line: usize,
    /// Counts characters from 1.
    pub column: usize,
    /// The place in the document, such as `tasks[2].type`; empty for the whole.
    pub place: String,
    /// The problem, as a sentence without its full stop.
    pub message: String,
    /// How to solve it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl TaskFileProblem {
    /// Makes a problem at the same place with this message.
    pub(crate) fn saying(
        &self,
        message: impl Into<String>,
        hint: Option<String>,
    ) -> TaskFileProblem {
        TaskFileProblem {
            message: message.into(),
            hint,
            ..self.clone()
        }
    }
}

impl fmt::Display for TaskFileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.file, self.line, self.column)?;
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// Everything wrong with a file and the files it names, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct TaskFileProblems(Vec<TaskFileProblem>);

impl TaskFileProblems {
    /// Returns `Ok` if the list is empty.
    pub(crate) fn none_or(problems: Vec<TaskFileProblem>) -> Result<(), TaskFileProblems> {
        if problems.is_empty() {
            return Ok(());
        }
        Err(TaskFileProblems(problems))
    }

    /// Makes one problem with a file as a whole.
    pub(crate) fn whole(file: &str, message: impl Into<String>) -> TaskFileProblems {
        TaskFileProblems(vec![TaskFileProblem {
            file: file.to_owned(),
            line: 1,
            column: 1,
            place: String::new(),
            message: message.into(),
            hint: None,
        }])
    }

    /// Returns the problems, one by one.
    pub fn iter(&self) -> impl Iterator<Item = &TaskFileProblem> {
        self.0.iter()
    }

    pub(crate) fn into_vec(self) -> Vec<TaskFileProblem> {
        self.0
    }
}

impl fmt::Display for TaskFileProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().take(PROBLEMS_MAX).enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        match self.0.len().checked_sub(PROBLEMS_MAX) {
            None | Some(0) => Ok(()),
            Some(more) => write!(f, "\n… and {more} more (PROBLEMS_MAX = {PROBLEMS_MAX})"),
        }
    }
}

impl std::error::Error for TaskFileProblems {}

impl From<TaskFileProblems> for Error {
    fn from(problems: TaskFileProblems) -> Error {
        Error::new(AgentErrorKind::Setup, problems.to_string())
    }
}
