//! The one error of the crate: what is wrong with a diagram, where, and what would be right.

use std::fmt;

use diagnostics::SourceExcerpt;

use crate::span::Span;

/// Number of problems reported for one text.
pub const PROBLEMS_MAX: usize = 20;

/// Why a text is not a diagram. It holds at least one problem, the first one first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    problems: Vec<DiagramProblem>,
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagramProblem {
    pub kind: ProblemKind,
    /// A sentence.
    pub message: String,
    /// The text to write instead, if it can be guessed.
    pub hint: Option<String>,
    pub span: Span,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// The line of the source, cut to a readable width.
    pub excerpt: SourceExcerpt,
}

/// The kind of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The text is longer than a limit allows.
    Limit,
    /// The text does not begin as a flowchart does.
    Header,
    /// The front matter is not YAML.
    FrontMatter,
    /// The grammar does not allow this text here.
    Syntax,
    /// A bracket, quote or subgraph is never closed.
    Unclosed,
    /// `@{ … }` is not YAML, or has a value Mermaid does not take.
    Data,
    /// A shape that does not exist.
    Shape,
    /// The two ends of a link do not fit together.
    Arrow,
    /// `linkStyle` names a link that does not exist.
    LinkStyle,
    /// An edit names something the text does not have.
    Edit,
}

impl ProblemKind {
    /// Returns a name to branch on.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            ProblemKind::Limit => "limit",
            ProblemKind::Header => "header",
            ProblemKind::FrontMatter => "front-matter",
            ProblemKind::Syntax => "syntax",
            ProblemKind::Unclosed => "unclosed",
            ProblemKind::Data => "data",
            ProblemKind::Shape => "shape",
            ProblemKind::Arrow => "arrow",
            ProblemKind::LinkStyle => "link-style",
            ProblemKind::Edit => "edit",
        }
    }
}

/// A problem before its place is known as line and column.
#[derive(Clone, Debug)]
pub(crate) struct SpanProblem {
    pub(crate) kind: ProblemKind,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) span: Span,
}

impl SpanProblem {
    pub(crate) fn new(kind: ProblemKind, message: impl Into<String>, span: Span) -> Self {
        SpanProblem {
            kind,
            message: message.into(),
            hint: None,
            span,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl Error {
    pub(crate) fn new(source: &str, faults: Vec<SpanProblem>) -> Self {
        let problems = faults.into_iter().take(PROBLEMS_MAX);
        Error {
            problems: problems.map(|fault| placed(source, fault)).collect(),
        }
    }

    /// Returns the problems, in the order they were met.
    #[must_use]
    pub fn problems(&self) -> &[DiagramProblem] {
        &self.problems
    }

    /// Returns every problem with its place in a file, its line and a caret, as a person reads it.
    #[must_use]
    pub fn report(&self, file: &str) -> String {
        let shown: Vec<String> = self.problems.iter().map(|p| p.report(file)).collect();
        shown.join("\n")
    }
}

impl DiagramProblem {
    /// Returns the problem with its place in a file, its line and a caret, over several lines.
    #[must_use]
    pub fn report(&self, file: &str) -> String {
        let DiagramProblem { line, column, .. } = self;
        let excerpt = self.excerpt.print(*line, self.hint.as_deref());
        format!("{file}:{line}:{column}: {}\n{excerpt}", self.message)
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

fn placed(source: &str, fault: SpanProblem) -> DiagramProblem {
    let start = floor(source, fault.span.start);
    let line_start = source[..start].rfind('\n').map_or(0, |at| at + 1);
    let line = source[..line_start].matches('\n').count() + 1;
    let column = source[line_start..start].chars().count();
    let text = source[line_start..].lines().next().unwrap_or("");
    let end = floor(source, fault.span.end.max(start)).min(line_start + text.len());
    let width = source
        .get(start..end)
        .map_or(0, |shown| shown.chars().count());
    DiagramProblem {
        kind: fault.kind,
        message: fault.message,
        hint: fault.hint,
        span: Span {
            start,
            end: end.max(start),
        },
        line,
        column: column + 1,
        excerpt: SourceExcerpt::of_line(text, column, width),
    }
}

fn floor(source: &str, at: usize) -> usize {
    let mut at = at.min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    at
}
