//! What is wrong with a workflow's text: problems with a place, a code to branch on and a hint.

use std::fmt;

use crate::spot::Spot;
use crate::workflow::Step;

/// How many problems of one text are reported.
pub const PROBLEMS_MAX: usize = 50;

/// Why a text is not a workflow. It holds at least one problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    problems: Vec<Problem>,
}

/// One thing that is wrong or looks wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub severity: Severity,
    pub code: Code,
    /// A sentence.
    pub message: String,
    pub hint: Option<String>,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// How many characters it is about, at least 1.
    pub width: usize,
}

/// A line of a source with a problem, cut to a readable width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    pub text: String,
    /// Where the caret stands below the text, counted from 0, and how wide it is.
    pub caret: usize,
    pub width: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    Error,
    Warning,
}

/// What sort of problem it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The text is no Mermaid flowchart.
    Diagram,
    /// The config block is not closed, or its JSON cannot be read.
    Config,
    /// A step has two configs.
    DuplicateConfig,
    /// A config is of a step that the diagram does not have.
    UnknownStep,
    /// What a step is cannot be told.
    AmbiguousStep,
    /// A setting has a value it cannot have, or stands where it means nothing.
    Setting,
    /// A condition where none can be, branches that differ from the edges, two defaults.
    Branch,
    /// A decision may find no way on.
    NoDefault,
    /// No run can come to a step.
    Unreachable,
    /// A step has no edges, and is run all the same.
    Alone,
    /// A step is done several times because paths meet at it.
    Repeated,
    /// A foreach and a join do not fit together.
    Scope,
    /// A cycle that nothing ends.
    EndlessCycle,
    /// An expression does not parse.
    Expression,
    /// An expression reads what no earlier step can have produced.
    UnknownReference,
    UnknownAgent,
    /// Nobody has the name to whom a person's task is assigned.
    UnknownPerson,
    UnknownSubflow,
    /// Workflows that run each other, without `maxDepth`.
    Recursion,
    /// The text is larger than a limit allows.
    Limit,
}

impl Code {
    /// A name to branch on.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Code::Diagram => "diagram",
            Code::Config => "config",
            Code::DuplicateConfig => "duplicate-config",
            Code::UnknownStep => "unknown-step",
            Code::AmbiguousStep => "ambiguous-step",
            Code::Setting => "setting",
            Code::Branch => "branch",
            Code::NoDefault => "no-default",
            Code::Unreachable => "unreachable",
            Code::Alone => "alone",
            Code::Repeated => "repeated",
            Code::Scope => "scope",
            Code::EndlessCycle => "endless-cycle",
            Code::Expression => "expression",
            Code::UnknownReference => "unknown-reference",
            Code::UnknownAgent => "unknown-agent",
            Code::UnknownPerson => "unknown-person",
            Code::UnknownSubflow => "unknown-subflow",
            Code::Recursion => "recursion",
            Code::Limit => "limit",
        }
    }
}

impl Problem {
    pub(crate) fn error(code: Code, spot: Spot, message: impl Into<String>) -> Problem {
        Problem {
            severity: Severity::Error,
            code,
            message: message.into(),
            hint: None,
            line: spot.line,
            column: spot.column,
            width: spot.width,
        }
    }

    pub(crate) fn warning(code: Code, spot: Spot, message: impl Into<String>) -> Problem {
        Problem {
            severity: Severity::Warning,
            ..Problem::error(code, spot, message)
        }
    }

    /// What a handler says of the settings of a step. It stands where the first setting does that the
    /// message quotes with backticks.
    #[must_use]
    pub fn of_handler(step: &Step, message: &str) -> Problem {
        let spot = step.quoted(message);
        Problem::error(Code::Setting, spot, format!("`{}`: {message}", step.id))
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = Some(hint.into());
        self
    }

    /// The line of the source it stands on.
    #[must_use]
    pub fn excerpt(&self, source: &str) -> Excerpt {
        let line = source.lines().nth(self.line.saturating_sub(1));
        let line = line.unwrap_or_default();
        let column = self.column.saturating_sub(1);
        let skipped = column.saturating_sub(EXCERPT_CHARS_MAX / 2);
        let mut text: String = line.chars().skip(skipped).take(EXCERPT_CHARS_MAX).collect();
        let mut caret = column - skipped;
        if skipped > 0 {
            text.insert(0, '…');
            caret += 1;
        }
        if line.chars().nth(skipped + EXCERPT_CHARS_MAX).is_some() {
            text.push('…');
        }
        let room = text.chars().count().saturating_sub(caret).max(1);
        Excerpt {
            text,
            caret,
            width: self.width.clamp(1, room),
        }
    }

    /// The problem with its place in a file, its line and a caret, over several lines.
    #[must_use]
    pub fn report(&self, file: &str, source: &str) -> String {
        let Problem {
            line,
            column,
            message,
            ..
        } = self;
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        let code = self.code.name();
        let Excerpt { text, caret, width } = self.excerpt(source);
        let caret = " ".repeat(caret) + &"^".repeat(width);
        let text = text.replace('\t', " ");
        let mut out = format!(
            "{file}:{line}:{column}: {word}[{code}]: {message}\n{margin} |\n{number} | {text}\n{margin} | {caret}\n"
        );
        if let Some(hint) = &self.hint {
            out.push_str(&format!("{margin} = hint: {hint}\n"));
        }
        out
    }
}

/// How many characters of a source line are shown.
const EXCERPT_CHARS_MAX: usize = 100;

impl Error {
    pub(crate) fn new(mut problems: Vec<Problem>) -> Error {
        problems.sort_by_key(|problem| (problem.severity, problem.line, problem.column));
        problems.truncate(PROBLEMS_MAX);
        Error { problems }
    }

    pub(crate) fn of_diagram(error: &mermaid::Error) -> Error {
        let problems = error.problems().iter().map(|problem| Problem {
            hint: problem.hint.clone(),
            ..Problem::error(
                Code::Diagram,
                Spot {
                    line: problem.line,
                    column: problem.column,
                    width: problem.caret.1,
                },
                &problem.message,
            )
        });
        Error::new(problems.collect())
    }

    /// What is wrong, from the top of the text.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Every problem with its place in a file, as a person reads it.
    #[must_use]
    pub fn report(&self, file: &str, source: &str) -> String {
        let reports = self
            .problems
            .iter()
            .map(|problem| problem.report(file, source));
        reports.collect::<Vec<_>>().join("\n")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.problems.first() else {
            return Ok(());
        };
        write!(
            f,
            "line {}, column {}: {}",
            first.line, first.column, first.message
        )?;
        match self.problems.len() {
            0 | 1 => Ok(()),
            more => write!(f, " (and {} more)", more - 1),
        }
    }
}

impl std::error::Error for Error {}
