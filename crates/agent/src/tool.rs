//! What a tool is: a declaration for the model and a handler, with two ways to fail.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use exec::Cancel;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use workspace::RelPath;

use crate::error::Error;

/// A call under way. Boxed, so that tools can be kept as `dyn Tool`.
pub type Called<'a> = Pin<Box<dyn Future<Output = Result<Output, Fault>> + Send + 'a>>;

/// Something the model may call.
pub trait Tool: Send + Sync {
    /// Name, description and the JSON Schema of the arguments, as the model sees them.
    fn declaration(&self) -> &llm::Tool;

    /// Whether a call can change something, so that it must never be made twice.
    fn effect(&self) -> Effect;

    /// Makes the call. The arguments fit the schema. Must end soon after `given.cancel` is
    /// switched or `given.time_left` is over; a call that does not is given up.
    fn call<'a>(&'a self, given: Given<'a>) -> Called<'a>;
}

/// What a call is handed.
pub struct Given<'a> {
    /// The arguments, which fit the tool's schema.
    pub arguments: &'a Map<String, Value>,
    /// Switched when the run is to end.
    pub cancel: &'a Cancel,
    /// What is left of the run's time.
    pub time_left: Duration,
    /// Told the lines of a running command; may be called from another thread.
    pub lines: Lines,
    /// What one result may hold; output beyond it need not be kept.
    pub output_bytes_max: usize,
}

/// Where a tool sends the lines of a running command. Lines nobody has time for are dropped:
/// they are for watching, the result has what counts.
#[derive(Clone)]
pub struct Lines(pub(crate) tokio::sync::mpsc::Sender<(exec::Stream, String)>);

impl Lines {
    /// Shows a line. Does not wait.
    pub fn show(&self, stream: exec::Stream, line: &str) {
        self.0.try_send((stream, line.to_owned())).ok();
    }
}

/// Whether a call can change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It only looks; making it again does no harm.
    Reads,
    /// It changes files or runs something.
    Changes,
}

/// A call that did what it was asked to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// What the model gets, as JSON.
    pub value: Value,
    /// What was done on the way, for observers and for the record.
    pub deeds: Vec<Deed>,
}

impl Output {
    /// A result without anything worth telling observers.
    pub fn new(value: Value) -> Output {
        Output {
            value,
            deeds: Vec::new(),
        }
    }

    /// The same, having done one thing more.
    #[must_use]
    pub fn having(mut self, deed: Deed) -> Output {
        self.deeds.push(deed);
        self
    }
}

/// A call that failed: the model is told, or the run stops. There is no third way.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The model can do something about it. The value is an object with `error`, a sentence, and
    /// whatever else helps.
    Tell(Value),
    /// Nobody in this run can.
    Stop(Error),
}

impl Fault {
    /// Tells the model one sentence.
    pub fn tell(sentence: impl Into<String>) -> Fault {
        Fault::Tell(Value::Object(Map::from_iter([(
            "error".to_owned(),
            Value::String(sentence.into()),
        )])))
    }
}

/// Something a tool did, in the order it did it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "did", rename_all = "snake_case")]
pub enum Deed {
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
        /// How many entries were shown.
        entries: u64,
    },
    /// Files were searched.
    Searched {
        /// The pattern.
        pattern: String,
        /// Where.
        path: RelPath,
        /// How many lines matched.
        hits: u64,
    },
    /// A file was written, or is gone.
    Wrote {
        /// The file.
        path: RelPath,
        /// What became of it.
        change: FileChange,
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
        /// Whether its time was up.
        timed_out: bool,
        /// How long it took.
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

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    /// It was not there before.
    Created,
    /// It has another content.
    Modified,
    /// It was there before.
    Deleted,
}
