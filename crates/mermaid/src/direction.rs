//! Which way a diagram runs.

/// Which way a diagram or a subgraph runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Top to bottom: `TB`, `TD`, `v`, or nothing.
    #[default]
    TopBottom,
    BottomTop,
    LeftRight,
    RightLeft,
    /// `BR`, which the grammar knows and no layout does.
    BottomRight,
}

impl Direction {
    /// The name Mermaid has for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Direction::TopBottom => "TB",
            Direction::BottomTop => "BT",
            Direction::LeftRight => "LR",
            Direction::RightLeft => "RL",
            Direction::BottomRight => "BR",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Direction> {
        match word {
            "TB" | "TD" | "v" => Some(Direction::TopBottom),
            "BT" | "^" => Some(Direction::BottomTop),
            "LR" | ">" => Some(Direction::LeftRight),
            "RL" | "<" => Some(Direction::RightLeft),
            "BR" => Some(Direction::BottomRight),
            _ => None,
        }
    }
}
