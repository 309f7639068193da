//! One tool call: looked up, read, checked, made, and cut to size.

use std::time::Duration;

use exec::{Cancel, Stream};
use llm::{Outcome, ToolCall, ToolResult};
use serde_json::Value;

use crate::bound;
use crate::error::{Error, Kind};
use crate::event::{Event, Observer};
use crate::limits::Limits;
use crate::schema;
use crate::tool::{Deed, Effect, Fault, Given, Lines, Output};
use crate::toolset::{Held, Toolset};

/// How long a tool may go on after it was cancelled or its time was over.
const TOOL_GRACE: Duration = Duration::from_secs(10);
/// How often the switch is looked at.
pub(crate) const CANCEL_POLL: Duration = Duration::from_millis(25);
/// Lines of a command that wait to be shown; more are dropped.
const LINES_WAITING_MAX: usize = 256;

/// A call that can be made, or what the model is told instead.
pub(crate) enum Ready<'a> {
    Call(&'a Held),
    Told(String),
}

/// Finds the tool and holds the arguments against its schema.
pub(crate) fn prepare<'a>(toolset: &'a Toolset, call: &ToolCall) -> Ready<'a> {
    let Some(held) = toolset.find(&call.name) else {
        return Ready::Told(toolset.unknown(&call.name));
    };
    let declaration = held.tool.declaration();
    let arguments = match call.arguments.value() {
        Ok(arguments) => arguments,
        Err(why) => return Ready::Told(schema::malformed(declaration, why)),
    };
    match held.schema.problems(declaration, arguments) {
        Some(problems) => Ready::Told(format!(
            "The call of `{}` was not made. {problems}",
            call.name
        )),
        None => Ready::Call(held),
    }
}

impl Ready<'_> {
    pub(crate) fn effect(&self) -> Effect {
        match self {
            Ready::Call(held) => held.tool.effect(),
            Ready::Told(_) => Effect::Reads,
        }
    }
}

/// What a call may use.
pub(crate) struct Allowance<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) cancel: &'a Cancel,
    pub(crate) time_left: Duration,
}

/// Makes the call. `Err` is the branch that stops the run.
pub(crate) async fn make(
    ready: Ready<'_>,
    call: &ToolCall,
    allowance: &Allowance<'_>,
    observer: &mut dyn Observer,
) -> Result<(ToolResult, Vec<Deed>), Error> {
    let made = match ready {
        Ready::Told(sentence) => Err(Fault::tell(sentence)),
        Ready::Call(held) => watched(held, call, allowance, observer).await,
    };
    let bytes_max = allowance.limits.output_bytes_max;
    match made {
        Ok(Output { mut value, deeds }) => {
            let content = bound::bounded(&mut value, bytes_max);
            Ok((result(call, content, Outcome::Done), deeds))
        }
        Err(Fault::Tell(mut value)) => {
            let content = bound::bounded(&mut value, bytes_max);
            Ok((result(call, content, Outcome::Failed), Vec::new()))
        }
        Err(Fault::Stop(error)) => Err(error),
    }
}

/// A result for a call that was not made, or of which nobody knows whether it was.
pub(crate) fn untold(call: &ToolCall, sentence: &str) -> ToolResult {
    let value = Value::from_iter([("error", sentence)]);
    result(call, value.to_string(), Outcome::Failed)
}

fn result(call: &ToolCall, content: String, outcome: Outcome) -> ToolResult {
    ToolResult {
        id: call.id.clone(),
        name: call.name.clone(),
        content,
        outcome,
    }
}

/// Waits for the tool, shows what its command prints, and gives up on a tool that does not end.
async fn watched(
    held: &Held,
    call: &ToolCall,
    allowance: &Allowance<'_>,
    observer: &mut dyn Observer,
) -> Result<Output, Fault> {
    let empty = serde_json::Map::new();
    let (sender, mut lines) = tokio::sync::mpsc::channel(LINES_WAITING_MAX);
    let given = Given {
        arguments: call.arguments.value().unwrap_or(&empty),
        cancel: allowance.cancel,
        time_left: allowance.time_left,
        lines: Lines(sender),
        output_bytes_max: allowance.limits.output_bytes_max,
    };
    let mut work = held.tool.call(given);
    let overdue = overdue(allowance.cancel, allowance.time_left);
    tokio::pin!(overdue);
    loop {
        tokio::select! {
            biased;
            Some((stream, line)) = lines.recv() => show(observer, stream, &line),
            made = &mut work => return made,
            () = &mut overdue => return Err(Fault::Stop(Error::new(
                Kind::Tool,
                format!(
                    "`{}` did not end within {} s of being told to; it may have done its work or not",
                    call.name,
                    TOOL_GRACE.as_secs()
                ),
            ))),
        }
    }
}

fn show(observer: &mut dyn Observer, stream: Stream, line: &str) {
    let stream = match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    };
    observer.notice(&Event::CommandLine { stream, line });
}

async fn overdue(cancel: &Cancel, time_left: Duration) {
    tokio::select! {
        () = cancelled(cancel) => {}
        () = tokio::time::sleep(time_left) => {}
    }
    tokio::time::sleep(TOOL_GRACE).await;
}

/// Ends when the switch is on.
pub(crate) async fn cancelled(cancel: &Cancel) {
    while !cancel.is_cancelled() {
        tokio::time::sleep(CANCEL_POLL).await;
    }
}
