//! What is wrong with a workflow's text: problems with a place, a code to branch on and a hint.

use std::fmt;

use mermaid::{Document, Span};

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
    /// A foreach and a join do not fit together.
    Scope,
    /// A cycle that nothing ends.
    EndlessCycle,
    /// An expression does not parse.
    Expression,
    /// An expression reads what no earlier step can have produced.
    UnknownReference,
    UnknownAgent,
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
            Code::Scope => "scope",
            Code::EndlessCycle => "endless-cycle",
            Code::Expression => "expression",
            Code::UnknownReference => "unknown-reference",
            Code::UnknownAgent => "unknown-agent",
            Code::UnknownSubflow => "unknown-subflow",
            Code::Recursion => "recursion",
            Code::Limit => "limit",
        }
    }
}

impl Problem {
    pub(crate) fn error(code: Code, line: usize, message: impl Into<String>) -> Problem {
        Problem {
            severity: Severity::Error,
            code,
            message: message.into(),
            hint: None,
            line,
        }
    }

    pub(crate) fn warning(code: Code, line: usize, message: impl Into<String>) -> Problem {
        Problem {
            severity: Severity::Warning,
            ..Problem::error(code, line, message)
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = Some(hint.into());
        self
    }

    /// The problem with its place in a file and the line it stands on, over several lines.
    #[must_use]
    pub fn report(&self, file: &str, source: &str) -> String {
        let Problem { line, message, .. } = self;
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        let mut out = format!("{file}:{line}: {word}[{}]: {message}\n", self.code.name());
        if let Some(text) = source.lines().nth(line.saturating_sub(1)) {
            let shown: String = text.chars().take(EXCERPT_CHARS_MAX).collect();
            out.push_str(&format!("{margin} |\n{number} | {shown}\n"));
        }
        if let Some(hint) = &self.hint {
            out.push_str(&format!("{margin} = hint: {hint}\n"));
        }
        out
    }
}

/// How many characters of a source line are shown.
const EXCERPT_CHARS_MAX: usize = 120;

impl Error {
    pub(crate) fn new(mut problems: Vec<Problem>) -> Error {
        problems.sort_by_key(|problem| (problem.severity, problem.line));
        problems.truncate(PROBLEMS_MAX);
        Error { problems }
    }

    pub(crate) fn of_diagram(error: &mermaid::Error) -> Error {
        let problems = error.problems().iter().map(|problem| Problem {
            hint: problem.hint.clone(),
            ..Problem::error(Code::Diagram, problem.line, &problem.message)
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
        write!(f, "line {}: {}", first.line, first.message)?;
        match self.problems.len() {
            0 | 1 => Ok(()),
            more => write!(f, " (and {} more)", more - 1),
        }
    }
}

impl std::error::Error for Error {}

pub(crate) fn line_of(document: &Document, span: Option<Span>) -> usize {
    span.map_or(1, |span| document.line_of(span))
}
