//! The direction of a diagram.

/// The direction of a diagram or a subgraph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowDirection {
    /// Top to bottom: `TB`, `TD`, `v`, or nothing.
    #[default]
    TopBottom,
    BottomTop,
    LeftRight,
    RightLeft,
    /// `BR`, which the grammar knows and no layout does.
    BottomRight,
}

impl FlowDirection {
    /// Returns the name Mermaid has for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FlowDirection::TopBottom => "TB",
            FlowDirection::BottomTop => "BT",
            FlowDirection::LeftRight => "LR",
            FlowDirection::RightLeft => "RL",
            FlowDirection::BottomRight => "BR",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<FlowDirection> {
        match word {
            "TB" | "TD" | "v" => Some(FlowDirection::TopBottom),
            "BT" | "^" => Some(FlowDirection::BottomTop),
            "LR" | ">" => Some(FlowDirection::LeftRight),
            "RL" | "<" => Some(FlowDirection::RightLeft),
            "BR" => Some(FlowDirection::BottomRight),
            _ => None,
        }
    }
}
