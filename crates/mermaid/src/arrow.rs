//! Arrows: heads, strokes and lengths, read from and written as `-->` and its kin.

/// Longest length Mermaid tells apart; a longer arrow has this one.
pub const ARROW_LENGTH_MAX: usize = 10;

/// The line between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow {
    pub heads: Heads,
    pub stroke: Stroke,
    /// How many ranks it spans at least, from 1 to [`ARROW_LENGTH_MAX`].
    pub length: usize,
}

/// What stands at the ends of an arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heads {
    Open,
    Point,
    Cross,
    Circle,
    DoublePoint,
    DoubleCross,
    DoubleCircle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    Normal,
    Thick,
    Dotted,
    Invisible,
}

impl Default for Arrow {
    fn default() -> Self {
        Arrow {
            heads: Heads::Point,
            stroke: Stroke::Normal,
            length: 1,
        }
    }
}

impl Arrow {
    /// Reads a whole arrow. A head at the start counts only with the same head at the end; one
    /// that does not count makes the arrow one longer.
    pub(crate) fn parse(written: &str) -> Arrow {
        let written = written.trim();
        let end = written.chars().next_back().unwrap_or('-');
        let mut line = &written[..written.len() - end.len_utf8()];
        let (start, single, double) = match end {
            'x' => ('x', Heads::Cross, Heads::DoubleCross),
            '>' => ('<', Heads::Point, Heads::DoublePoint),
            'o' => ('o', Heads::Circle, Heads::DoubleCircle),
            _ => ('\0', Heads::Open, Heads::Open),
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
            _ if dots > 0 => (Stroke::Dotted, dots),
            Some(b'=') => (Stroke::Thick, line.len() - 1),
            Some(b'~') => (Stroke::Invisible, line.len() - 1),
            _ => (Stroke::Normal, line.len().saturating_sub(1)),
        };
        Arrow {
            heads,
            stroke,
            length: length.clamp(1, ARROW_LENGTH_MAX),
        }
    }

    /// Reads an arrow of two halves with text between them; nothing if they do not fit together.
    pub(crate) fn parse_halves(first: &str, second: &str) -> Option<Arrow> {
        let first = first.trim();
        let end = Arrow::parse(second);
        let (start, line) = match first.chars().next() {
            Some('<') => (Heads::Point, &first[1..]),
            Some('x') => (Heads::Cross, &first[1..]),
            Some('o') => (Heads::Circle, &first[1..]),
            _ => (Heads::Open, first),
        };
        let stroke = if line.contains('.') {
            Stroke::Dotted
        } else if line.contains('=') {
            Stroke::Thick
        } else {
            Stroke::Normal
        };
        if stroke != end.stroke {
            return None;
        }
        let heads = match (start, end.heads) {
            (Heads::Open, heads) => heads,
            (Heads::Point, Heads::Point) => Heads::DoublePoint,
            (Heads::Cross, Heads::Cross) => Heads::DoubleCross,
            (Heads::Circle, Heads::Circle) => Heads::DoubleCircle,
            _ => return None,
        };
        Some(Arrow { heads, ..end })
    }
}

impl std::fmt::Display for Arrow {
    /// The arrow as it is written between two nodes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (start, end) = match self.heads {
            Heads::Open => ("", ""),
            Heads::Point => ("", ">"),
            Heads::Cross => ("", "x"),
            Heads::Circle => ("", "o"),
            Heads::DoublePoint => ("<", ">"),
            Heads::DoubleCross => ("x", "x"),
            Heads::DoubleCircle => ("o", "o"),
        };
        let length = self.length.clamp(1, ARROW_LENGTH_MAX);
        let headless = usize::from(end.is_empty());
        let line = match self.stroke {
            Stroke::Normal => "-".repeat(length + 1 + headless),
            Stroke::Thick => "=".repeat(length + 1 + headless),
            Stroke::Dotted => format!("-{}-", ".".repeat(length)),
            Stroke::Invisible => "~".repeat(length + 2),
        };
        match self.stroke {
            Stroke::Invisible => f.write_str(&line),
            _ => write!(f, "{start}{line}{end}"),
        }
    }
}

impl Heads {
    /// The name Mermaid has for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Heads::Open => "arrow_open",
            Heads::Point => "arrow_point",
            Heads::Cross => "arrow_cross",
            Heads::Circle => "arrow_circle",
            Heads::DoublePoint => "double_arrow_point",
            Heads::DoubleCross => "double_arrow_cross",
            Heads::DoubleCircle => "double_arrow_circle",
        }
    }
}

impl Stroke {
    /// The name Mermaid has for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Stroke::Normal => "normal",
            Stroke::Thick => "thick",
            Stroke::Dotted => "dotted",
            Stroke::Invisible => "invisible",
        }
    }
}
