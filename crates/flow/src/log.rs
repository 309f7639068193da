//! The output of commands, stored line by line with the attempt that printed it.

use serde::{Deserialize, Serialize};

use crate::id::TaskId;

/// Limits the stored output of one attempt, in bytes; the last line then says that there was more.
pub const LOG_BYTES_MAX: usize = 1 << 20;
/// Limits the stored bytes of one line.
pub const LOG_LINE_BYTES_MAX: usize = 16 << 10;

/// One line that was printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// The task whose command printed it.
    pub task: TaskId,
    /// The claim of the task, counted from 1, including attempts that do not count.
    pub attempt: u32,
    /// The number of the line, from 1 for every claim.
    pub number: u64,
    /// The time it was printed, in milliseconds since 1970.
    pub at_ms: u64,
    /// The stream it was printed on.
    pub stream: LogStream,
    /// Without its line feed.
    pub text: String,
}

/// The stream of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogStream {
    /// The standard output.
    Stdout,
    /// The standard error output.
    Stderr,
    /// A remark of drawloom: lines were omitted.
    Note,
}

impl LogStream {
    /// Returns the word for it in rows and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LogStream::Stdout => "stdout",
            LogStream::Stderr => "stderr",
            LogStream::Note => "note",
        }
    }

    /// Returns the stream of a word; an unknown word of another version is a note.
    #[must_use]
    pub fn named(name: &str) -> LogStream {
        match name {
            "stdout" => LogStream::Stdout,
            "stderr" => LogStream::Stderr,
            _ => LogStream::Note,
        }
    }
}
