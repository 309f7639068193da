//! Places in a text, as people count them.

use mermaid::Span;

/// A place on one line of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Spot {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// In characters, at least 1.
    pub width: usize,
}

impl Spot {
    /// The first character of a text, where nothing nearer is known.
    pub(crate) const BEGIN: Spot = Spot {
        line: 1,
        column: 1,
        width: 1,
    };

    /// A part of what stands here, which is this text.
    pub(crate) fn within(self, text: &str, start: usize, end: usize) -> Spot {
        let chars = |part: Option<&str>| part.map_or(0, |part| part.chars().count());
        Spot {
            line: self.line,
            column: self.column + chars(text.get(..start)),
            width: chars(text.get(start..end)).max(1),
        }
    }
}

/// Where the lines of a text begin.
#[derive(Clone, Debug)]
pub(crate) struct Lines<'s> {
    source: &'s str,
    starts: Vec<usize>,
}

impl<'s> Lines<'s> {
    pub(crate) fn of(source: &'s str) -> Lines<'s> {
        let ends = source.match_indices('\n').map(|(at, _)| at + 1);
        Lines {
            source,
            starts: std::iter::once(0).chain(ends).collect(),
        }
    }

    pub(crate) fn source(&self) -> &'s str {
        self.source
    }

    /// The place of a span; of one that goes over several lines, its part of the first.
    pub(crate) fn spot(&self, span: Span) -> Spot {
        let line = self.starts.partition_point(|start| *start <= span.start);
        let start = self
            .starts
            .get(line.saturating_sub(1))
            .copied()
            .unwrap_or(0);
        let text = self.source.get(start..).unwrap_or("");
        let text = text.lines().next().unwrap_or("");
        let (from, to) = (span.start - start, span.end.saturating_sub(start));
        let whole = Spot {
            line: line.max(1),
            column: 1,
            width: 1,
        };
        whole.within(text, from.min(text.len()), to.min(text.len()))
    }
}
