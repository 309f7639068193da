//! One tool call: looked up, read, checked, made, and cut to size.

use std::time::Duration;

use exec::{CommandCancel, OutputStream};
use llm::{ToolCall, ToolOutcome, ToolResult};
use serde_json::Value;

use crate::error::{AgentErrorKind, Error};
use crate::event::{AgentEvent, AgentObserver};
use crate::limits::Limits;
use crate::schema;
use crate::tool::{CallContext, CallEffect, LineSender, ToolAction, ToolError, ToolOutput};
use crate::toolset::{AgentTools, RegisteredTool};
use crate::truncate;

/// Time a tool has to end after it was cancelled or its time was over.
const TOOL_GRACE: Duration = Duration::from_secs(10);
/// Interval between checks of the cancel switch.
pub(crate) const CANCEL_POLL: Duration = Duration::from_millis(25);
/// Lines of a command that wait to be shown; more are dropped.
const LINES_WAITING_MAX: usize = 256;

/// A call that can be made, or the sentence the model gets instead.
pub(crate) enum DispatchDecision<'a> {
    Call(&'a RegisteredTool),
    Told(String),
}

/// Finds the tool and holds the arguments against its schema.
pub(crate) fn prepare<'a>(toolset: &'a AgentTools, call: &ToolCall) -> DispatchDecision<'a> {
    let Some(held) = toolset.find(&call.name) else {
        return DispatchDecision::Told(toolset.unknown(&call.name));
    };
    let declaration = held.tool.declaration();
    let arguments = match call.arguments.value() {
        Ok(arguments) => arguments,
        Err(why) => return DispatchDecision::Told(schema::malformed(declaration, why)),
    };
    match held.schema.problems(declaration, arguments) {
        Some(problems) => DispatchDecision::Told(format!(
            "The call of `{}` was not made. {problems}",
            call.name
        )),
        None => DispatchDecision::Call(held),
    }
}

impl DispatchDecision<'_> {
    pub(crate) fn effect(&self) -> CallEffect {
        match self {
            DispatchDecision::Call(held) => held.tool.effect(),
            DispatchDecision::Told(_) => CallEffect::Reads,
        }
    }
}

/// Limits of one call.
pub(crate) struct CallAllowance<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) cancel: &'a CommandCancel,
    pub(crate) time_left: Duration,
}

/// Makes the call. `Err` is the branch that stops the run.
pub(crate) async fn make(
    ready: DispatchDecision<'_>,
    call: &ToolCall,
    allowance: &CallAllowance<'_>,
    observer: &mut dyn AgentObserver,
) -> Result<(ToolResult, Vec<ToolAction>), Error> {
    let made = match ready {
        DispatchDecision::Told(sentence) => Err(ToolError::tell(sentence)),
        DispatchDecision::Call(held) => watched(held, call, allowance, observer).await,
    };
    let bytes_max = allowance.limits.output_bytes_max;
    match made {
        Ok(ToolOutput { mut value, deeds }) => {
            let content = truncate::bounded(&mut value, bytes_max);
            Ok((result(call, content, ToolOutcome::Done), deeds))
        }
        Err(ToolError::Tell(mut value)) => {
            let content = truncate::bounded(&mut value, bytes_max);
            Ok((result(call, content, ToolOutcome::Failed), Vec::new()))
        }
        Err(ToolError::Stop(error)) => Err(error),
    }
}

/// Makes a result for a call that was not made, or that may or may not have been made.
pub(crate) fn untold(call: &ToolCall, sentence: &str) -> ToolResult {
    let value = Value::from_iter([("error", sentence)]);
    result(call, value.to_string(), ToolOutcome::Failed)
}

fn result(call: &ToolCall, content: String, outcome: ToolOutcome) -> ToolResult {
    ToolResult {
        id: call.id.clone(),
        name: call.name.clone(),
        content,
        outcome,
    }
}

/// Waits for the tool, shows what its command prints, and gives up on a tool that does not end.
async fn watched(
    held: &RegisteredTool,
    call: &ToolCall,
    allowance: &CallAllowance<'_>,
    observer: &mut dyn AgentObserver,
) -> Result<ToolOutput, ToolError> {
    let empty = serde_json::Map::new();
    let (sender, mut lines) = tokio::sync::mpsc::channel(LINES_WAITING_MAX);
    let given = CallContext {
        arguments: call.arguments.value().unwrap_or(&empty),
        cancel: allowance.cancel,
        time_left: allowance.time_left,
        lines: LineSender(sender),
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
            () = &mut overdue => return Err(ToolError::Stop(Error::new(
                AgentErrorKind::Tool,
                format!(
                    "`{}` did not end within {} s of being told to; it may have done its work or not",
                    call.name,
                    TOOL_GRACE.as_secs()
                ),
            ))),
        }
    }
}

fn show(observer: &mut dyn AgentObserver, stream: OutputStream, line: &str) {
    let stream = match stream {
        OutputStream::Stdout => "stdout",
        OutputStream::Stderr => "stderr",
    };
    observer.notice(&AgentEvent::CommandLine { stream, line });
}

async fn overdue(cancel: &CommandCancel, time_left: Duration) {
    tokio::select! {
        () = cancelled(cancel) => {}
        () = tokio::time::sleep(time_left) => {}
    }
    tokio::time::sleep(TOOL_GRACE).await;
}

/// Ends when the switch is on.
pub(crate) async fn cancelled(cancel: &CommandCancel) {
    while !cancel.is_cancelled() {
        tokio::time::sleep(CANCEL_POLL).await;
    }
}
