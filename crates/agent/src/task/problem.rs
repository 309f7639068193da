//! What is wrong with a file: every problem with its place and what to do about it.

use std::fmt;

use serde::Serialize;

use crate::error::{Error, Kind};

/// The most problems of one file that are told.
pub const PROBLEMS_MAX: usize = 50;

/// One thing wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file, as it was named.
    pub file: String,
    /// Counts from 1.
    pub line: usize,
    /// Counts characters from 1.
    pub column: usize,
    /// The place in the document, such as `tasks[2].type`; empty for the whole.
    pub place: String,
    /// What is wrong, as a sentence without its full stop.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Problem {
    /// The same place with something to say about it.
    pub(crate) fn saying(&self, message: impl Into<String>, hint: Option<String>) -> Problem {
        Problem {
            message: message.into(),
            hint,
            ..self.clone()
        }
    }
}

impl fmt::Display for Problem {
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
pub struct Problems(Vec<Problem>);

impl Problems {
    /// `Ok` if there are none.
    pub(crate) fn none_or(problems: Vec<Problem>) -> Result<(), Problems> {
        if problems.is_empty() {
            return Ok(());
        }
        Err(Problems(problems))
    }

    /// One problem with a file as a whole.
    pub(crate) fn whole(file: &str, message: impl Into<String>) -> Problems {
        Problems(vec![Problem {
            file: file.to_owned(),
            line: 1,
            column: 1,
            place: String::new(),
            message: message.into(),
            hint: None,
        }])
    }

    /// The problems, one by one.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }

    pub(crate) fn into_vec(self) -> Vec<Problem> {
        self.0
    }
}

impl fmt::Display for Problems {
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

impl std::error::Error for Problems {}

impl From<Problems> for Error {
    fn from(problems: Problems) -> Error {
        Error::new(Kind::Setup, problems.to_string())
    }
}
