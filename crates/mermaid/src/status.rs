//! The progress of each node of a running diagram.

/// The progress of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeStatus {
    Pending,
    Running,
    Waiting,
    Done,
    Failed,
    Skipped,
}

impl NodeStatus {
    pub const ALL: [NodeStatus; 6] = [
        NodeStatus::Pending,
        NodeStatus::Running,
        NodeStatus::Waiting,
        NodeStatus::Done,
        NodeStatus::Failed,
        NodeStatus::Skipped,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            NodeStatus::Pending => "pending",
            NodeStatus::Running => "running",
            NodeStatus::Waiting => "waiting",
            NodeStatus::Done => "done",
            NodeStatus::Failed => "failed",
            NodeStatus::Skipped => "skipped",
        }
    }

    /// Returns one character for the status, for output without colour.
    #[must_use]
    pub fn mark(self) -> char {
        match self {
            NodeStatus::Pending => '·',
            NodeStatus::Running => '▶',
            NodeStatus::Waiting => '◷',
            NodeStatus::Done => '✓',
            NodeStatus::Failed => '✗',
            NodeStatus::Skipped => '–',
        }
    }
}
