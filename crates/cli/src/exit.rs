//! The end of a command: the exit codes, and every kind of error turned into one of them.
//!
//! Only this file maps errors to exit codes, and turns the errors of the crates below into one
//! shape that is printed the same way whatever failed.

use serde_json::{Value, json};

use crate::output::harmless;

/// The exit code of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CliExit {
    Done = 0,
    Failed = 1,
    /// Questions were printed and wait for `--answers`; nothing else ever ends so.
    AnswersNeeded = 2,
    /// A build is done and none of its checks could judge it; nothing else ever ends so.
    NotJudged = 3,
    /// The command line itself is wrong (sysexits' EX_USAGE).
    Usage = 64,
    /// Interrupted by Ctrl-C, as shells expect it (128 + SIGINT).
    Interrupted = 130,
}

impl From<CliExit> for std::process::ExitCode {
    fn from(exit: CliExit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error on its way to the person: how to exit, and everything that is wrong.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) exit: CliExit,
    pub(crate) code: String,
    pub(crate) problems: Vec<CliProblem>,
    /// A last word, such as what a recipe's `onError` says.
    pub(crate) note: Option<String>,
    /// The whole report, when clap has already written it.
    pub(crate) shown: Option<String>,
    /// The actions the user can be asked to trust.
    pub(crate) untrusted: Option<Box<app::trust::UntrustedActs>>,
}

/// One thing that is wrong. Lines count from 1; columns as the part that found it counts them, from 1
/// in recipes and settings, and from 0 in templates, because Edge does.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CliProblem {
    /// More exact than the code of the whole, such as that of a template's error.
    pub(crate) code: Option<String>,
    pub(crate) message: String,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<usize>,
    pub(crate) column: Option<usize>,
    /// Number of characters before the underlined ones.
    pub(crate) caret: usize,
    /// Number of characters that are underlined.
    pub(crate) width: usize,
    pub(crate) excerpt: Option<String>,
    /// The way to the place, such as a chain of includes.
    pub(crate) notes: Vec<String>,
    pub(crate) hint: Option<String>,
    /// The answer it is about: its key, the rule it broke, what was found.
    pub(crate) answer: Option<recipe::WrongAnswer>,
}

impl CliProblem {
    fn to_json(&self) -> Value {
        let mut problem = self.place_to_json();
        if let (Some(answer), Value::Object(fields)) = (&self.answer, &mut problem)
            && let Value::Object(about) = json!(answer)
        {
            fields.extend(about);
        }
        problem
    }

    fn place_to_json(&self) -> Value {
        json!({
            "code": self.code,
            "message": self.message,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "excerpt": self.excerpt,
            "notes": self.notes,
            "hint": self.hint,
        })
    }
}

impl CliError {
    pub(crate) fn new(exit: CliExit, code: &str, message: impl Into<String>) -> Self {
        let problem = CliProblem {
            message: message.into(),
            ..CliProblem::default()
        };
        Self {
            exit,
            code: code.to_owned(),
            problems: vec![problem],
            note: None,
            shown: None,
            untrusted: None,
        }
    }

    /// Makes the error for a project that the user has not trusted; on a terminal the user is
    /// asked.
    pub(crate) fn untrusted(untrusted: app::trust::UntrustedActs) -> Self {
        let hint = format!(
            "run `{}`, or use `--trust` for this once",
            untrusted.command()
        );
        Self {
            untrusted: Some(Box::new(untrusted.clone())),
            ..Self::failed("E_UNTRUSTED", harmless(&untrusted.to_string())).hint(hint)
        }
    }

    pub(crate) fn failed(code: &str, message: impl Into<String>) -> Self {
        Self::new(CliExit::Failed, code, message)
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(CliExit::Usage, "E_USAGE", message)
    }

    /// Answers that could not be read; `text` is what was read.
    pub(crate) fn answers(error: prompt::Error, text: &str) -> Self {
        let (origin, line, column, detail, hint) = match error {
            prompt::Error::AnswersUnreadable {
                origin,
                line,
                column,
                detail,
                hint,
            } => (origin, Some(line), Some(column), detail, Some(hint)),
            prompt::Error::AnswersMisshapen {
                origin,
                detail,
                hint,
            } => (origin, None, None, detail, Some(hint)),
            other => return Self::failed("E_ANSWERS", other.to_string()),
        };
        let excerpt = line.and_then(|line| text.lines().nth(line.saturating_sub(1)));
        let problem = CliProblem {
            message: format!("the answers cannot be read: {detail}"),
            file: Some(origin),
            line,
            column,
            caret: column.map_or(0, |column| column.saturating_sub(1)),
            width: 1,
            excerpt: excerpt.map(str::to_owned),
            hint: hint.map(str::to_owned),
            ..CliProblem::default()
        };
        Self {
            problems: vec![problem],
            ..Self::failed("E_ANSWERS", "")
        }
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Some(last) = self.problems.last_mut() {
            last.hint = Some(hint.into());
        }
        self
    }

    /// Adds a hint, unless the error has one.
    #[must_use]
    pub(crate) fn or_hint(self, hint: impl Into<String>) -> Self {
        let has_hint = self.problems.last().is_some_and(|last| last.hint.is_some());
        if has_hint { self } else { self.hint(hint) }
    }

    /// Appends a last note.
    #[must_use]
    pub(crate) fn and_note(mut self, note: String) -> Self {
        self.note = Some(match self.note.take() {
            Some(before) => format!("{}\n\n{note}", before.trim_end()),
            None => note,
        });
        self
    }

    /// Returns the first problem's fields and the code; `problems` lists all when there are
    /// several.
    pub(crate) fn to_json(&self) -> Value {
        let mut error = match self.problems.first().map(CliProblem::to_json) {
            Some(Value::Object(fields)) => fields,
            _ => serde_json::Map::new(),
        };
        let code = self
            .problems
            .first()
            .and_then(|problem| problem.code.as_ref());
        error.insert("code".to_owned(), json!(code.unwrap_or(&self.code)));
        error.insert("exit".to_owned(), json!(self.exit as u8));
        if self.problems.len() > 1 {
            let all: Vec<Value> = self.problems.iter().map(CliProblem::to_json).collect();
            error.insert("problems".to_owned(), Value::Array(all));
        }
        if let Some(note) = &self.note {
            error.insert("note".to_owned(), json!(note));
        }
        json!({ "error": error })
    }
}

impl From<app::Error> for CliError {
    fn from(error: app::Error) -> Self {
        match error {
            app::Error::Own(fault) => Self::from(*fault),
            app::Error::Untrusted(untrusted) => Self::untrusted(*untrusted),
            app::Error::Recipe(error) => Self::from(error),
            app::Error::Template(error) => Self::from(error),
            app::Error::Ai(error) => Self::from(error),
            app::Error::Definition(problems) => Self::from(&problems),
        }
    }
}

impl From<&agent::task::TaskFileProblems> for CliError {
    fn from(problems: &agent::task::TaskFileProblems) -> Self {
        let listed = problems.iter().map(|problem| CliProblem {
            message: match problem.place.as_str() {
                "" => problem.message.clone(),
                place => format!("{place}: {}", problem.message),
            },
            file: Some(problem.file.clone()),
            line: Some(problem.line),
            column: Some(problem.column),
            hint: problem.hint.clone(),
            ..CliProblem::default()
        });
        Self {
            problems: listed.collect(),
            ..Self::failed("E_DEFINITION", "")
        }
    }
}

impl From<transport::Error> for CliError {
    fn from(error: transport::Error) -> Self {
        let said = error.said().into_iter().flat_map(str::lines);
        let problem = CliProblem {
            message: error.what().to_owned(),
            notes: said.map(str::to_owned).collect(),
            hint: Some(error.advice().to_owned()),
            ..CliProblem::default()
        };
        Self {
            problems: vec![problem],
            ..Self::failed(error.code().as_str(), "")
        }
    }
}

impl From<app::AppFailure> for CliError {
    fn from(fault: app::AppFailure) -> Self {
        let place = fault.place;
        let problem = CliProblem {
            message: fault.message,
            file: place.as_ref().map(|place| place.file.display().to_string()),
            line: place.as_ref().map(|place| place.line),
            column: place.as_ref().map(|place| place.column),
            caret: place.as_ref().map_or(0, |place| place.column - 1),
            width: 1,
            excerpt: place.map(|place| place.excerpt),
            hint: fault.hint,
            ..CliProblem::default()
        };
        let exit = match fault.code {
            app::AppErrorCode::Usage => CliExit::Usage,
            _ => CliExit::Failed,
        };
        Self {
            problems: vec![problem],
            ..Self::new(exit, fault.code.as_str(), "")
        }
    }
}

impl From<workspace::Error> for CliError {
    fn from(error: workspace::Error) -> Self {
        app::Error::from(error).into()
    }
}

impl From<recipe::Error> for CliError {
    fn from(error: recipe::Error) -> Self {
        let (exit, code) = exit_of(error.kind());
        Self {
            exit,
            code: code.to_owned(),
            problems: error.diagnostics().iter().map(CliProblem::from).collect(),
            note: error.on_error().map(str::to_owned),
            shown: None,
            untrusted: None,
        }
    }
}

/// Returns the exit and the code of every kind of failure that a recipe can have.
fn exit_of(kind: recipe::RecipeErrorKind) -> (CliExit, &'static str) {
    use recipe::RecipeErrorKind;
    match kind {
        RecipeErrorKind::Usage => (CliExit::Usage, "E_USAGE"),
        RecipeErrorKind::Manifest => (CliExit::Failed, "E_MANIFEST"),
        RecipeErrorKind::Missing => (CliExit::Failed, "E_MISSING_VALUES"),
        RecipeErrorKind::NotFound => (CliExit::Failed, "E_NOT_FOUND"),
        RecipeErrorKind::Template => (CliExit::Failed, "E_TEMPLATE"),
        RecipeErrorKind::Answers => (CliExit::Failed, "E_ANSWERS"),
        RecipeErrorKind::Path => (CliExit::Failed, "E_PATH"),
        RecipeErrorKind::Inject => (CliExit::Failed, "E_INJECT"),
        RecipeErrorKind::Untrusted | RecipeErrorKind::UntrustedOwn => {
            (CliExit::Failed, "E_UNTRUSTED")
        }
        RecipeErrorKind::Command => (CliExit::Failed, "E_COMMAND"),
        RecipeErrorKind::Aborted => (CliExit::Failed, "E_ABORTED"),
        RecipeErrorKind::Limit => (CliExit::Failed, "E_LIMIT"),
        RecipeErrorKind::Unsupported => (CliExit::Failed, "E_UNSUPPORTED"),
        RecipeErrorKind::Locked => (CliExit::Failed, "E_LOCKED"),
        RecipeErrorKind::Io => (CliExit::Failed, "E_FILE"),
        _ => (CliExit::Failed, "E_RECIPE"),
    }
}

impl From<&recipe::Diagnostic> for CliProblem {
    fn from(diagnostic: &recipe::Diagnostic) -> Self {
        let place = diagnostic.place;
        let column = place.map(|place| place.column as usize);
        let (code, message) = split_code(&diagnostic.message);
        Self {
            code: code.map(str::to_owned),
            message: message.to_owned(),
            file: diagnostic.file.clone(),
            line: place.map(|place| place.line as usize),
            column,
            caret: column.map_or(0, |column| column.saturating_sub(1)),
            width: place.map_or(1, |place| place.width as usize),
            excerpt: diagnostic.excerpt.clone(),
            notes: Vec::new(),
            hint: diagnostic.hint.clone(),
            answer: diagnostic
                .answer
                .as_deref()
                .filter(|it| it.rule.is_some())
                .cloned(),
        }
    }
}

/// Splits off the code of a template's error, which a recipe's message holds as `E_CODE: …`.
fn split_code(message: &str) -> (Option<&str>, &str) {
    let is_code = |word: &str| {
        let rest = word.strip_prefix("E_");
        rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    };
    match message.split_once(": ").filter(|(word, _)| is_code(word)) {
        Some((code, rest)) => (Some(code), rest),
        None => (None, message),
    }
}

impl From<template::Error> for CliError {
    fn from(error: template::Error) -> Self {
        let excerpt = error.excerpt().map(str::to_owned);
        let line = usize::try_from(error.line()).ok().filter(|line| *line > 0);
        let problem = CliProblem {
            code: None,
            message: error.message().to_owned(),
            file: Some(error.file().to_owned()),
            line,
            column: line.and(usize::try_from(error.column()).ok()),
            caret: excerpt
                .as_deref()
                .map_or(0, |text| characters(text, error.column())),
            width: 1,
            excerpt,
            notes: error
                .chain()
                .iter()
                .map(|link| format!("{} at {}", link.what, link.place))
                .collect(),
            hint: error.hint().map(str::to_owned),
            answer: None,
        };
        Self {
            problems: vec![problem],
            ..Self::failed(error.code(), "")
        }
    }
}

/// Converts a count of UTF-16 units at the start of a text to a count of characters.
fn characters(text: &str, units: u32) -> usize {
    let mut left = units as usize;
    let fits = |c: &char| {
        let fits = c.len_utf16() <= left;
        left = left.saturating_sub(c.len_utf16());
        fits
    };
    text.chars().take_while(fits).count()
}
