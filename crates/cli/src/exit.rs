//! How a command ends: the four exit codes, and every kind of error turned into one of them.
//!
//! This is the only place that knows which error is which exit code, and how errors of the crates
//! below become one shape that is printed the same way whatever failed.

use serde_json::{Value, json};

/// What the process says to whoever started it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    Failed = 1,
    /// Questions were printed and wait for `--answers`; nothing else ever ends so.
    AnswersNeeded = 2,
    /// The command line itself is wrong (sysexits' EX_USAGE).
    Usage = 64,
    /// Interrupted by Ctrl-C, as shells expect it (128 + SIGINT).
    Interrupted = 130,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error on its way to the person: how to exit, and everything that is wrong.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) exit: Exit,
    pub(crate) code: String,
    pub(crate) problems: Vec<Problem>,
    /// A last word, such as what a recipe's `onError` says.
    pub(crate) note: Option<String>,
    /// The whole report, when somebody else (clap) has already written it.
    pub(crate) shown: Option<String>,
}

/// One thing that is wrong. Lines count from 1; columns as the part that found it counts them, from 1
/// in recipes and settings, and from 0 in templates, because Edge does.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) message: String,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<usize>,
    pub(crate) column: Option<usize>,
    /// How many characters stand before the underlined ones.
    pub(crate) caret: usize,
    /// How many characters are underlined.
    pub(crate) width: usize,
    pub(crate) excerpt: Option<String>,
    /// How one got there, such as a chain of includes.
    pub(crate) notes: Vec<String>,
    pub(crate) hint: Option<String>,
}

impl Problem {
    fn to_json(&self) -> Value {
        json!({
            "message": self.message,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "excerpt": self.excerpt,
            "hint": self.hint,
        })
    }
}

impl Trouble {
    pub(crate) fn new(exit: Exit, code: &str, message: impl Into<String>) -> Self {
        let problem = Problem {
            message: message.into(),
            ..Problem::default()
        };
        Self {
            exit,
            code: code.to_owned(),
            problems: vec![problem],
            note: None,
            shown: None,
        }
    }

    pub(crate) fn failed(code: &str, message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, code, message)
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "E_USAGE", message)
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Some(last) = self.problems.last_mut() {
            last.hint = Some(hint.into());
        }
        self
    }

    /// The first problem's fields and the code; `problems` lists all when there are several.
    pub(crate) fn to_json(&self) -> Value {
        let mut error = match self.problems.first().map(Problem::to_json) {
            Some(Value::Object(fields)) => fields,
            _ => serde_json::Map::new(),
        };
        error.insert("code".to_owned(), json!(self.code));
        error.insert("exit".to_owned(), json!(self.exit as u8));
        if self.problems.len() > 1 {
            let all: Vec<Value> = self.problems.iter().map(Problem::to_json).collect();
            error.insert("problems".to_owned(), Value::Array(all));
        }
        if let Some(note) = &self.note {
            error.insert("note".to_owned(), json!(note));
        }
        json!({ "error": error })
    }
}

impl From<app::Error> for Trouble {
    fn from(error: app::Error) -> Self {
        let place = error.place;
        let problem = Problem {
            message: error.message,
            file: place.as_ref().map(|place| place.file.display().to_string()),
            line: place.as_ref().map(|place| place.line),
            column: place.as_ref().map(|place| place.column),
            caret: place.as_ref().map_or(0, |place| place.column - 1),
            width: 1,
            notes: Vec::new(),
            excerpt: place.map(|place| place.excerpt),
            hint: error.hint,
        };
        let code = error.code.as_str().to_owned();
        Self {
            exit: Exit::Failed,
            code,
            problems: vec![problem],
            note: None,
            shown: None,
        }
    }
}

impl From<workspace::Error> for Trouble {
    fn from(error: workspace::Error) -> Self {
        app::Error::from(error).into()
    }
}
