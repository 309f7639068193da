//! How far each node of a running diagram has come.

/// How far a node has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    Pending,
    Running,
    Waiting,
    Done,
    Failed,
    Skipped,
}

impl Status {
    pub const ALL: [Status; 6] = [
        Status::Pending,
        Status::Running,
        Status::Waiting,
        Status::Done,
        Status::Failed,
        Status::Skipped,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Running => "running",
            Status::Waiting => "waiting",
            Status::Done => "done",
            Status::Failed => "failed",
            Status::Skipped => "skipped",
        }
    }

    /// One character for it, to stand where there is no colour.
    #[must_use]
    pub fn mark(self) -> char {
        match self {
            Status::Pending => '·',
            Status::Running => '▶',
            Status::Waiting => '◷',
            Status::Done => '✓',
            Status::Failed => '✗',
            Status::Skipped => '–',
        }
    }
}
