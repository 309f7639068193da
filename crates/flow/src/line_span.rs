//! Positions in a text, as people count them.

use mermaid::Span;

/// A span on one line of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineSpan {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// In characters, at least 1.
    pub width: usize,
}

impl LineSpan {
    /// The first character of a text, for problems without a nearer place.
    pub(crate) const BEGIN: LineSpan = LineSpan {
        line: 1,
        column: 1,
        width: 1,
    };

    /// Returns a part of this span, whose text is given.
    pub(crate) fn within(self, text: &str, start: usize, end: usize) -> LineSpan {
        let chars = |part: Option<&str>| part.map_or(0, |part| part.chars().count());
        LineSpan {
            line: self.line,
            column: self.column + chars(text.get(..start)),
            width: chars(text.get(start..end)).max(1),
        }
    }
}

/// The offsets at which the lines of a text begin.
#[derive(Clone, Debug)]
pub(crate) struct LineStarts<'s> {
    source: &'s str,
    starts: Vec<usize>,
}

impl<'s> LineStarts<'s> {
    pub(crate) fn of(source: &'s str) -> LineStarts<'s> {
        let ends = source.match_indices('\n').map(|(at, _)| at + 1);
        LineStarts {
            source,
            starts: std::iter::once(0).chain(ends).collect(),
        }
    }

    pub(crate) fn source(&self) -> &'s str {
        self.source
    }

    /// Returns the line span of a byte span; of one over several lines, the part on the first.
    pub(crate) fn spot(&self, span: Span) -> LineSpan {
        let line = self.starts.partition_point(|start| *start <= span.start);
        let start = self
            .starts
            .get(line.saturating_sub(1))
            .copied()
            .unwrap_or(0);
        let text = self.source.get(start..).unwrap_or("");
        let text = text.lines().next().unwrap_or("");
        let (from, to) = (span.start - start, span.end.saturating_sub(start));
        let whole = LineSpan {
            line: line.max(1),
            column: 1,
            width: 1,
        };
        whole.within(text, from.min(text.len()), to.min(text.len()))
    }
}
