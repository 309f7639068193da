//! The interface of a tool: a declaration for the model and a handler, with two ways to fail.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use exec::CommandCancel;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use workspace::RelPath;

use crate::error::Error;

/// A call under way. Boxed, so that tools can be kept as `dyn Tool`.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

/// Something the model may call.
pub trait Tool: Send + Sync {
    /// Name, description and the JSON Schema of the arguments, as the model sees them.
    fn declaration(&self) -> &llm::ToolDeclaration;

    /// Tells if a call can change something, so that it must never be made twice.
    fn effect(&self) -> CallEffect;

    /// Makes the call. The arguments fit the schema. Must end soon after `given.cancel` is
    /// switched or `given.time_left` is over; a call that does not is given up.
    fn call<'a>(&'a self, given: CallContext<'a>) -> ToolFuture<'a>;
}

/// Arguments and limits of one call.
pub struct CallContext<'a> {
    /// The arguments, which fit the tool's schema.
    pub arguments: &'a Map<String, Value>,
    /// Switched when the run is to end.
    pub cancel: &'a CommandCancel,
    /// Time left for the run.
    pub time_left: Duration,
    /// Told the lines of a running command; may be called from another thread.
    pub lines: LineSender,
    /// Size of one result; output beyond it need not be kept.
    pub output_bytes_max: usize,
}

/// Sends the lines of a running command to the observer. Lines that the observer has no time for
/// are dropped: they are only for watching, the result holds the full output.
#[derive(Clone)]
pub struct LineSender(pub(crate) tokio::sync::mpsc::Sender<(exec::OutputStream, String)>);

impl LineSender {
    /// Shows a line. Does not wait.
    pub fn show(&self, stream: exec::OutputStream, line: &str) {
        self.0.try_send((stream, line.to_owned())).ok();
    }
}

/// The effect of a call on the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallEffect {
    /// It only looks; making it again does no harm.
    Reads,
    /// It changes files or runs something.
    Changes,
}

/// A call that did what it was asked to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// The value the model gets, as JSON.
    pub value: Value,
    /// Actions taken on the way, for observers and for the record.
    pub deeds: Vec<ToolAction>,
}

impl ToolOutput {
    /// Makes a result without actions to report to observers.
    pub fn new(value: Value) -> ToolOutput {
        ToolOutput {
            value,
            deeds: Vec::new(),
        }
    }

    /// Adds one action.
    #[must_use]
    pub(crate) fn having(mut self, deed: ToolAction) -> ToolOutput {
        self.deeds.push(deed);
        self
    }
}

/// A failed call: the model gets the error, or the run stops. There is no third way.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolError {
    /// The model can do something about it. The value is an object with `error`, a sentence, and
    /// whatever else helps.
    Tell(Value),
    /// Nothing in this run can recover from it.
    Stop(Error),
}

impl ToolError {
    /// Tells the model one sentence.
    pub fn tell(sentence: impl Into<String>) -> ToolError {
        ToolError::Tell(Value::Object(Map::from_iter([(
            "error".to_owned(),
            Value::String(sentence.into()),
        )])))
    }
}

/// Something a tool did, in the order it did it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "did", rename_all = "snake_case")]
pub enum ToolAction {
    /// A file was read.
    Read {
        /// The file.
        path: RelPath,
        /// The first line that was shown, from 1.
        start_line: u64,
        /// The last line that was shown.
        end_line: u64,
    },
    /// A directory was listed.
    Listed {
        /// The directory.
        path: RelPath,
        /// Number of entries shown.
        entries: u64,
    },
    /// Files were searched.
    Searched {
        /// The pattern.
        pattern: String,
        /// The folder or file that was searched.
        path: RelPath,
        /// Number of lines that matched.
        hits: u64,
    },
    /// A file was written, or is gone.
    Wrote {
        /// The file.
        path: RelPath,
        /// The kind of change.
        change: FileChangeKind,
        /// Lines it has that it had not.
        lines_added: u64,
        /// Lines it had that it has no more.
        lines_removed: u64,
        /// Bytes written; none for a file that is gone.
        bytes: u64,
    },
    /// A command was run.
    Ran {
        /// The command line.
        command: String,
        /// Its code, where it ended by itself.
        exit_code: Option<i32>,
        /// True if it ran out of time.
        timed_out: bool,
        /// Time it took.
        duration_ms: u64,
    },
    /// A tool of an MCP server was called.
    Called {
        /// The server's name in the configuration.
        server: String,
        /// The tool's name at the server.
        tool: String,
    },
}

/// The change made to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChangeKind {
    /// It was not there before.
    Created,
    /// It has another content.
    Modified,
    /// It was there before.
    Deleted,
}
