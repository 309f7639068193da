//! Problems of a workflow's text, each with a place, a code to branch on and a hint.

use std::fmt;

use diagnostics::SourceExcerpt;

use crate::line_span::LineSpan;
use crate::workflow::{Workflow, WorkflowStep};

/// Limits the problems reported for one text.
pub const PROBLEMS_MAX: usize = 50;

/// The error of a text that is not a workflow. It has at least one problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    problems: Vec<WorkflowProblem>,
}

/// An error or a warning about a workflow's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowProblem {
    pub severity: ProblemSeverity,
    pub code: WorkflowProblemCode,
    /// A sentence.
    pub message: String,
    pub hint: Option<String>,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// The length of the faulty text in characters, at least 1.
    pub width: usize,
}

/// The severity of a problem. A workflow with an error cannot be saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProblemSeverity {
    Error,
    Warning,
}

/// The kind of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WorkflowProblemCode {
    /// The text is no Mermaid flowchart.
    Diagram,
    /// The config block is not closed, or its JSON cannot be read.
    Config,
    /// A step has two configs.
    DuplicateConfig,
    /// A config names a step that the diagram does not have.
    UnknownStep,
    /// The type of a step is ambiguous.
    AmbiguousStep,
    /// A setting has an invalid value, or has no meaning at this step.
    Setting,
    /// A condition at the wrong place, branches that differ from the edges, or two defaults.
    Branch,
    /// A decision may find no edge to take.
    NoDefault,
    /// No run can reach a step.
    Unreachable,
    /// A step has no edges, and would be run all the same.
    Alone,
    /// A step is run several times because paths meet at it.
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
    /// No user has the name that a person's task is assigned to.
    UnknownPerson,
    UnknownSubflow,
    /// Workflows that run each other, without `maxDepth`.
    Recursion,
    /// The text is larger than a limit allows.
    Limit,
}

impl WorkflowProblemCode {
    /// Returns a stable name to branch on.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            WorkflowProblemCode::Diagram => "diagram",
            WorkflowProblemCode::Config => "config",
            WorkflowProblemCode::DuplicateConfig => "duplicate-config",
            WorkflowProblemCode::UnknownStep => "unknown-step",
            WorkflowProblemCode::AmbiguousStep => "ambiguous-step",
            WorkflowProblemCode::Setting => "setting",
            WorkflowProblemCode::Branch => "branch",
            WorkflowProblemCode::NoDefault => "no-default",
            WorkflowProblemCode::Unreachable => "unreachable",
            WorkflowProblemCode::Alone => "alone",
            WorkflowProblemCode::Repeated => "repeated",
            WorkflowProblemCode::Scope => "scope",
            WorkflowProblemCode::EndlessCycle => "endless-cycle",
            WorkflowProblemCode::Expression => "expression",
            WorkflowProblemCode::UnknownReference => "unknown-reference",
            WorkflowProblemCode::UnknownAgent => "unknown-agent",
            WorkflowProblemCode::UnknownPerson => "unknown-person",
            WorkflowProblemCode::UnknownSubflow => "unknown-subflow",
            WorkflowProblemCode::Recursion => "recursion",
            WorkflowProblemCode::Limit => "limit",
        }
    }
}

impl WorkflowProblem {
    pub(crate) fn error(
        code: WorkflowProblemCode,
        spot: LineSpan,
        message: impl Into<String>,
    ) -> WorkflowProblem {
        WorkflowProblem {
            severity: ProblemSeverity::Error,
            code,
            message: message.into(),
            hint: None,
            line: spot.line,
            column: spot.column,
            width: spot.width,
        }
    }

    pub(crate) fn warning(
        code: WorkflowProblemCode,
        spot: LineSpan,
        message: impl Into<String>,
    ) -> WorkflowProblem {
        WorkflowProblem {
            severity: ProblemSeverity::Warning,
            ..WorkflowProblem::error(code, spot, message)
        }
    }

    /// Reports a handler's objection to the settings of a step. Its place is the first setting that
    /// the message quotes with backticks.
    #[must_use]
    pub fn of_handler(step: &WorkflowStep, message: &str) -> WorkflowProblem {
        let spot = step.quoted(message);
        WorkflowProblem::error(
            WorkflowProblemCode::Setting,
            spot,
            format!("`{}`: {message}", step.id),
        )
    }

    /// Reports a problem of a trigger, at the place of `@trigger`.
    #[must_use]
    pub fn of_trigger(workflow: &Workflow, message: &str) -> WorkflowProblem {
        let lines = workflow.source().lines().enumerate();
        let mut found = lines.filter_map(|(at, line)| Some((at + 1, line.find("@trigger")?, line)));
        let spot = found
            .next()
            .map_or(LineSpan::BEGIN, |(line, at, text)| LineSpan {
                line,
                column: text.get(..at).map_or(0, |before| before.chars().count()) + 1,
                width: "@trigger".len(),
            });
        WorkflowProblem::error(
            WorkflowProblemCode::Setting,
            spot,
            format!("`@trigger`: {message}"),
        )
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> WorkflowProblem {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the line of the source with the problem.
    #[must_use]
    pub fn excerpt(&self, source: &str) -> SourceExcerpt {
        let line = source.lines().nth(self.line.saturating_sub(1));
        let line = line.unwrap_or_default();
        let column = self.column.saturating_sub(1);
        SourceExcerpt::of_line(line, column, self.width)
    }

    /// Prints the problem with its place in a file, its line and a caret.
    #[must_use]
    pub fn report(&self, file: &str, source: &str) -> String {
        let WorkflowProblem {
            line,
            column,
            message,
            ..
        } = self;
        let word = match self.severity {
            ProblemSeverity::Error => "error",
            ProblemSeverity::Warning => "warning",
        };
        let code = self.code.name();
        let excerpt = self.excerpt(source);
        let excerpt = excerpt.print(*line, self.hint.as_deref());
        format!("{file}:{line}:{column}: {word}[{code}]: {message}\n{excerpt}")
    }
}

impl Error {
    pub(crate) fn new(mut problems: Vec<WorkflowProblem>) -> Error {
        problems.sort_by_key(|problem| (problem.severity, problem.line, problem.column));
        problems.truncate(PROBLEMS_MAX);
        Error { problems }
    }

    pub(crate) fn of_diagram(error: &mermaid::Error) -> Error {
        let problems = error.problems().iter().map(|problem| WorkflowProblem {
            hint: problem.hint.clone(),
            ..WorkflowProblem::error(
                WorkflowProblemCode::Diagram,
                LineSpan {
                    line: problem.line,
                    column: problem.column,
                    width: problem.excerpt.width,
                },
                &problem.message,
            )
        });
        Error::new(problems.collect())
    }

    /// Returns the problems, from the top of the text.
    #[must_use]
    pub fn problems(&self) -> &[WorkflowProblem] {
        &self.problems
    }

    /// Prints every problem with its place in a file.
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
