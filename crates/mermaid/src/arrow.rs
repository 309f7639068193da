//! Arrows: heads, strokes and lengths, read from and written as `-->` and its kin.

/// Longest length Mermaid tells apart; a longer arrow has this one.
pub const ARROW_LENGTH_MAX: usize = 10;

/// The line between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeArrow {
    pub heads: ArrowHeads,
    pub stroke: LineStroke,
    /// Minimum number of ranks it spans, from 1 to [`ARROW_LENGTH_MAX`].
    pub length: usize,
}

/// The signs at the ends of an arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrowHeads {
    Open,
    Point,
    Cross,
    Circle,
    DoublePoint,
    DoubleCross,
    DoubleCircle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineStroke {
    Normal,
    Thick,
    Dotted,
    Invisible,
}

impl Default for EdgeArrow {
    fn default() -> Self {
        EdgeArrow {
            heads: ArrowHeads::Point,
            stroke: LineStroke::Normal,
            length: 1,
        }
    }
}

impl EdgeArrow {
    /// Reads a whole arrow. A head at the start counts only with the same head at the end; one
    /// that does not count makes the arrow one longer.
    pub(crate) fn parse(written: &str) -> EdgeArrow {
        let written = written.trim();
        let end = written.chars().next_back().unwrap_or('-');
        let mut line = &written[..written.len() - end.len_utf8()];
        let (start, single, double) = match end {
            'x' => ('x', ArrowHeads::Cross, ArrowHeads::DoubleCross),
            '>' => ('<', ArrowHeads::Point, ArrowHeads::DoublePoint),
            'o' => ('o', ArrowHeads::Circle, ArrowHeads::DoubleCircle),
            _ => ('\0', ArrowHeads::Open, ArrowHeads::Open),
        };
        let heads = match line.strip_prefix(start) {
            Some(rest) => {
                line = rest;
                double
            }
            None => single,
        };
        let dots = line.bytes().filter(|b| *b == b'.').count();
        let (stroke, length) = match line.bytes().next() {
            _ if dots > 0 => (LineStroke::Dotted, dots),
            Some(b'=') => (LineStroke::Thick, line.len() - 1),
            Some(b'~') => (LineStroke::Invisible, line.len() - 1),
            _ => (LineStroke::Normal, line.len().saturating_sub(1)),
        };
        EdgeArrow {
            heads,
            stroke,
            length: length.clamp(1, ARROW_LENGTH_MAX),
        }
    }

    /// Reads an arrow of two halves with text between them; `None` if they do not fit together.
    pub(crate) fn parse_halves(first: &str, second: &str) -> Option<EdgeArrow> {
        let first = first.trim();
        let end = EdgeArrow::parse(second);
        let (start, line) = match first.chars().next() {
            Some('<') => (ArrowHeads::Point, &first[1..]),
            Some('x') => (ArrowHeads::Cross, &first[1..]),
            Some('o') => (ArrowHeads::Circle, &first[1..]),
            _ => (ArrowHeads::Open, first),
        };
        let stroke = if line.contains('.') {
            LineStroke::Dotted
        } else if line.contains('=') {
            LineStroke::Thick
        } else {
            LineStroke::Normal
        };
        if stroke != end.stroke {
            return None;
        }
        let heads = match (start, end.heads) {
            (ArrowHeads::Open, heads) => heads,
            (ArrowHeads::Point, ArrowHeads::Point) => ArrowHeads::DoublePoint,
            (ArrowHeads::Cross, ArrowHeads::Cross) => ArrowHeads::DoubleCross,
            (ArrowHeads::Circle, ArrowHeads::Circle) => ArrowHeads::DoubleCircle,
            _ => return None,
        };
        Some(EdgeArrow { heads, ..end })
    }
}

impl std::fmt::Display for EdgeArrow {
    /// Writes the arrow as it appears between two nodes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (start, end) = match self.heads {
            ArrowHeads::Open => ("", ""),
            ArrowHeads::Point => ("", ">"),
            ArrowHeads::Cross => ("", "x"),
            ArrowHeads::Circle => ("", "o"),
            ArrowHeads::DoublePoint => ("<", ">"),
            ArrowHeads::DoubleCross => ("x", "x"),
            ArrowHeads::DoubleCircle => ("o", "o"),
        };
        let length = self.length.clamp(1, ARROW_LENGTH_MAX);
        let headless = usize::from(end.is_empty());
        let line = match self.stroke {
            LineStroke::Normal => "-".repeat(length + 1 + headless),
            LineStroke::Thick => "=".repeat(length + 1 + headless),
            LineStroke::Dotted => format!("-{}-", ".".repeat(length)),
            LineStroke::Invisible => "~".repeat(length + 2),
        };
        match self.stroke {
            LineStroke::Invisible => f.write_str(&line),
            _ => write!(f, "{start}{line}{end}"),
        }
    }
}

impl ArrowHeads {
    /// Returns the name Mermaid has for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ArrowHeads::Open => "arrow_open",
            ArrowHeads::Point => "arrow_point",
            ArrowHeads::Cross => "arrow_cross",
            ArrowHeads::Circle => "arrow_circle",
            ArrowHeads::DoublePoint => "double_arrow_point",
            ArrowHeads::DoubleCross => "double_arrow_cross",
            ArrowHeads::DoubleCircle => "double_arrow_circle",
        }
    }
}

impl LineStroke {
    /// Returns the name Mermaid has for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LineStroke::Normal => "normal",
            LineStroke::Thick => "thick",
            LineStroke::Dotted => "dotted",
            LineStroke::Invisible => "invisible",
        }
    }
}
