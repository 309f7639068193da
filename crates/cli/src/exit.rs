//! How a command ends: the exit codes, and every kind of error turned into one of them.
//!
//! This is the only place that knows which error is which exit code, and how errors of the crates
//! below become one shape that is printed the same way whatever failed.

use serde_json::{Value, json};

use crate::output::harmless;

/// What the process says to whoever started it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
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
    /// What the user can be asked to trust.
    pub(crate) untrusted: Option<Box<app::trust::Untrusted>>,
}

/// One thing that is wrong. Lines count from 1; columns as the part that found it counts them, from 1
/// in recipes and settings, and from 0 in templates, because Edge does.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Problem {
    /// More exact than the code of the whole, such as that of a template's error.
    pub(crate) code: Option<String>,
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
    /// The answer it is about: its key, the rule it broke, what was found.
    pub(crate) answer: Option<recipe::WrongAnswer>,
}

impl Problem {
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
            untrusted: None,
        }
    }

    /// A project that would do what its user has not trusted; on a terminal the user is asked.
    pub(crate) fn untrusted(untrusted: app::trust::Untrusted) -> Self {
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
        Self::new(Exit::Failed, code, message)
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "E_USAGE", message)
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
        let problem = Problem {
            message: format!("the answers cannot be read: {detail}"),
            file: Some(origin),
            line,
            column,
            caret: column.map_or(0, |column| column.saturating_sub(1)),
            width: 1,
            excerpt: excerpt.map(str::to_owned),
            hint: hint.map(str::to_owned),
            ..Problem::default()
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

    /// With this hint, unless it has one.
    #[must_use]
    pub(crate) fn or_hint(self, hint: impl Into<String>) -> Self {
        let has_hint = self.problems.last().is_some_and(|last| last.hint.is_some());
        if has_hint { self } else { self.hint(hint) }
    }

    /// With a last word, after those there are.
    #[must_use]
    pub(crate) fn and_note(mut self, note: String) -> Self {
        self.note = Some(match self.note.take() {
            Some(before) => format!("{}\n\n{note}", before.trim_end()),
            None => note,
        });
        self
    }

    /// The first problem's fields and the code; `problems` lists all when there are several.
    pub(crate) fn to_json(&self) -> Value {
        let mut error = match self.problems.first().map(Problem::to_json) {
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

impl From<&agent::task::Problems> for Trouble {
    fn from(problems: &agent::task::Problems) -> Self {
        let listed = problems.iter().map(|problem| Problem {
            message: match problem.place.as_str() {
                "" => problem.message.clone(),
                place => format!("{place}: {}", problem.message),
            },
            file: Some(problem.file.clone()),
            line: Some(problem.line),
            column: Some(problem.column),
            hint: problem.hint.clone(),
            ..Problem::default()
        });
        Self {
            problems: listed.collect(),
            ..Self::failed("E_DEFINITION", "")
        }
    }
}

impl From<transport::Error> for Trouble {
    fn from(error: transport::Error) -> Self {
        let said = error.said().into_iter().flat_map(str::lines);
        let problem = Problem {
            message: error.what().to_owned(),
            notes: said.map(str::to_owned).collect(),
            hint: Some(error.advice().to_owned()),
            ..Problem::default()
        };
        Self {
            problems: vec![problem],
            ..Self::failed(error.code().as_str(), "")
        }
    }
}

impl From<app::Fault> for Trouble {
    fn from(fault: app::Fault) -> Self {
        let place = fault.place;
        let problem = Problem {
            message: fault.message,
            file: place.as_ref().map(|place| place.file.display().to_string()),
            line: place.as_ref().map(|place| place.line),
            column: place.as_ref().map(|place| place.column),
            caret: place.as_ref().map_or(0, |place| place.column - 1),
            width: 1,
            excerpt: place.map(|place| place.excerpt),
            hint: fault.hint,
            ..Problem::default()
        };
        let exit = match fault.code {
            app::Code::Usage => Exit::Usage,
            _ => Exit::Failed,
        };
        Self {
            problems: vec![problem],
            ..Self::new(exit, fault.code.as_str(), "")
        }
    }
}

impl From<workspace::Error> for Trouble {
    fn from(error: workspace::Error) -> Self {
        app::Error::from(error).into()
    }
}

impl From<recipe::Error> for Trouble {
    fn from(error: recipe::Error) -> Self {
        let (exit, code) = exit_of(error.kind());
        Self {
            exit,
            code: code.to_owned(),
            problems: error.diagnostics().iter().map(Problem::from).collect(),
            note: error.on_error().map(str::to_owned),
            shown: None,
            untrusted: None,
        }
    }
}

/// The exit and the code of every kind of failure that a recipe can have.
fn exit_of(kind: recipe::Kind) -> (Exit, &'static str) {
    use recipe::Kind;
    match kind {
        Kind::Usage => (Exit::Usage, "E_USAGE"),
        Kind::Manifest => (Exit::Failed, "E_MANIFEST"),
        Kind::Missing => (Exit::Failed, "E_MISSING_VALUES"),
        Kind::NotFound => (Exit::Failed, "E_NOT_FOUND"),
        Kind::Template => (Exit::Failed, "E_TEMPLATE"),
        Kind::Answers => (Exit::Failed, "E_ANSWERS"),
        Kind::Path => (Exit::Failed, "E_PATH"),
        Kind::Inject => (Exit::Failed, "E_INJECT"),
        Kind::Untrusted | Kind::UntrustedOwn => (Exit::Failed, "E_UNTRUSTED"),
        Kind::Command => (Exit::Failed, "E_COMMAND"),
        Kind::Aborted => (Exit::Failed, "E_ABORTED"),
        Kind::Limit => (Exit::Failed, "E_LIMIT"),
        Kind::Unsupported => (Exit::Failed, "E_UNSUPPORTED"),
        Kind::Locked => (Exit::Failed, "E_LOCKED"),
        Kind::Io => (Exit::Failed, "E_FILE"),
        _ => (Exit::Failed, "E_RECIPE"),
    }
}

impl From<&recipe::Diagnostic> for Problem {
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
            answer: diagnostic.answer.as_deref().cloned(),
        }
    }
}

/// What a template says stands in a recipe's message as `E_CODE: …`.
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

impl From<template::Error> for Trouble {
    fn from(error: template::Error) -> Self {
        let excerpt = error.excerpt().map(str::to_owned);
        let line = usize::try_from(error.line()).ok().filter(|line| *line > 0);
        let problem = Problem {
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

/// How many characters the first `units` UTF-16 units of a text are.
fn characters(text: &str, units: u32) -> usize {
    let mut left = units as usize;
    let fits = |c: &char| {
        let fits = c.len_utf16() <= left;
        left = left.saturating_sub(c.len_utf16());
        fits
    };
    text.chars().take_while(fits).count()
}
