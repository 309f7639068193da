//! `mcp`: calls one tool of one configured MCP server, without a model.
//!
//! The arguments come from expressions and are held against the tool's input schema; the result is held against
//! its output schema. The server is connected to for the attempt, and left after it.

use std::time::Duration;

use agent::mcp::{McpCallError, McpCallErrorKind};
use flow::WorkflowStep;
use flow::engine::{AttemptReport, FailureClass};
use serde_json::{Map, Value};

use super::{
    ExecutorFuture, StepAttempt, StepExecutor, failed, failed_by, interpolate, invalid, needs_text,
    setting, unknown_settings,
};
use crate::settings::McpServer;
use crate::{AppErrorCode, Error, Project, mcp_servers};

const SETTINGS: [&str; 3] = ["server", "tool", "arguments"];
/// Default time limit of a call.
const SECONDS_DEFAULT: u64 = 120;
/// The longest result, in bytes.
const RESULT_BYTES_MAX: usize = 4 << 20;

pub(super) struct CallTool;

impl StepExecutor for CallTool {
    fn check(&self, step: &WorkflowStep) -> Vec<String> {
        let mut problems = unknown_settings(step, &SETTINGS);
        for name in ["server", "tool"] {
            problems.extend(needs_text(step, name));
            let text = setting(step, name).and_then(Value::as_str);
            if text.is_some_and(|text| text.contains("{{")) {
                problems.push(format!(
                    "`config.{name}` must be written out: a value must not choose what is called."
                ));
            }
        }
        if setting(step, "arguments").is_some_and(|given| !given.is_object()) {
            problems
                .push("`config.arguments` must be an object: a value for each name.".to_owned());
        }
        problems
    }

    fn execute<'a>(&'a self, job: &'a StepAttempt) -> ExecutorFuture<'a> {
        Box::pin(call(job))
    }
}

/// Returns the problem of a step that names a server which the settings do not have.
pub(crate) fn problems_of(project: &Project, step: &WorkflowStep) -> Vec<String> {
    let name = setting(step, "server").and_then(Value::as_str);
    let name = name.unwrap_or_default().trim();
    match configured(project, name) {
        Err(error) if !name.is_empty() => vec![format!("`server`: {error}.")],
        _ => Vec::new(),
    }
}

fn configured<'p>(project: &'p Project, name: &str) -> Result<&'p McpServer, Error> {
    project.settings.mcp.get(name).ok_or_else(|| {
        let names = project.settings.mcp.keys().map(String::as_str);
        let meant = match crate::nearest(name, names) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("add a section [mcp.servers.{name}] to drawloom.toml"),
        };
        let message = format!("there is no MCP server `{name}`; {meant}");
        Error::new(AppErrorCode::NotFound, message)
    })
}

async fn call(job: &StepAttempt) -> AttemptReport {
    let text = |name| {
        job.setting(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .trim()
    };
    let (name, tool) = (text("server"), text("tool"));
    let arguments = match job.setting("arguments") {
        Some(given) => interpolate::json(given, &job.state),
        None => Ok(Value::Object(Map::new())),
    };
    let arguments = match arguments {
        Ok(Value::Object(arguments)) => arguments,
        Ok(_) => return invalid("`config.arguments` must be an object."),
        Err(problem) => return invalid(problem),
    };
    let (project, surroundings) = (&*job.hands.project, &job.hands.surroundings);
    let server = match configured(project, name) {
        Ok(server) => server,
        Err(error) => return failed_by(&error),
    };
    if let Err(error) = project.trust.require_settings(&["mcp."]) {
        return failed_by(&error);
    }
    let connected = mcp_servers::connect(project, surroundings, (name, server)).await;
    let connection = match connected {
        Ok(connection) => connection,
        // A server that does not come up may come up later; settings that do not fit stay as they are.
        Err(Error::Own(fault)) if fault.code == AppErrorCode::Agent => {
            return failed(FailureClass::Unavailable, fault.message);
        }
        Err(error) => return failed_by(&error),
    };
    let timeout = job.step.config.timeout;
    let usual = Duration::from_secs(SECONDS_DEFAULT);
    let patience = timeout.map_or(usual, |timeout| Duration::from_millis(timeout.ms));
    match connection.call(tool, arguments, patience).await {
        Ok(output) => taken(tool, output),
        Err(McpCallError { kind, message }) => failed(class_of(kind), message),
    }
}

fn taken(tool: &str, output: Value) -> AttemptReport {
    let bytes = output.to_string().len();
    if bytes > RESULT_BYTES_MAX {
        let message = format!(
            "the result of `{tool}` has {bytes} bytes, more than RESULT_BYTES_MAX = {RESULT_BYTES_MAX}"
        );
        return failed(FailureClass::Limit, message);
    }
    AttemptReport::completed(output)
}

/// Returns the failure class of a call, which decides about another attempt.
fn class_of(kind: McpCallErrorKind) -> FailureClass {
    match kind {
        McpCallErrorKind::Invalid => FailureClass::Invalid,
        // The work may be done: another attempt would do it again.
        McpCallErrorKind::Failed | McpCallErrorKind::BadOutput => FailureClass::Failed,
        McpCallErrorKind::Unavailable => FailureClass::Unavailable,
        McpCallErrorKind::Timeout => FailureClass::Timeout,
    }
}
