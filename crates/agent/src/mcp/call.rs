//! A call of one tool without a model: what goes in and what comes out is held against the tool's schemas.

use std::time::Duration;

use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult};
use rmcp::service::ServiceError;
use serde_json::{Map, Value, json};

use super::{McpConnection, block};

/// Why a call gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpCallError {
    pub kind: McpCallErrorKind,
    pub message: String,
}

/// The kind of a failed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpCallErrorKind {
    /// The server has no such tool, or the arguments do not fit: the same call fails again.
    Invalid,
    /// The server says that the call failed.
    Failed,
    /// The answer is not what the tool's own schema promises.
    BadOutput,
    /// The server does not answer, or has gone.
    Unavailable,
    /// The server did not answer in time. It may have done its work or not.
    Timeout,
}

impl McpConnection {
    /// Calls a tool; the result is its structured content, or `{"text": …}` where it has none.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        patience: Duration,
    ) -> Result<Value, McpCallError> {
        let server = &self.name;
        let declared = self.declared.iter().find(|one| one.name == tool);
        let declared = declared.ok_or_else(|| {
            let names: Vec<&str> = self.declared.iter().map(|one| one.name.as_ref()).collect();
            let message = format!(
                "the MCP server `{server}` has no tool `{tool}`; it has {}",
                names.join(", ")
            );
            failed(McpCallErrorKind::Invalid, message)
        })?;
        let schema = Value::Object(declared.input_schema.as_ref().clone());
        let given = Value::Object(arguments.clone());
        check(&schema, &given).map_err(|problem| {
            let message = format!("the arguments do not fit the tool `{tool}`: {problem}");
            failed(McpCallErrorKind::Invalid, message)
        })?;
        let call = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let answered = tokio::time::timeout(patience, self.running.peer().call_tool_once(call));
        let answered = answered.await.map_err(|_| {
            let seconds = patience.as_secs();
            let message = format!(
                "the MCP server `{server}` did not answer within {seconds} s; it may have done its work or not"
            );
            failed(McpCallErrorKind::Timeout, message)
        })?;
        let result = match answered.map_err(|error| self.explained(&error))? {
            CallToolResponse::Complete(result) => result,
            _ => {
                let message = format!(
                    "the MCP server `{server}` asks for something before it goes on, which it cannot have here"
                );
                return Err(failed(McpCallErrorKind::Failed, message));
            }
        };
        let output = declared.output_schema.as_ref();
        let output = output.map(|schema| Value::Object(schema.as_ref().clone()));
        self.judged(tool, output.as_ref(), &result)
    }

    fn explained(&self, error: &ServiceError) -> McpCallError {
        let server = &self.name;
        let kind = match error {
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
                McpCallErrorKind::Unavailable
            }
            ServiceError::Timeout { .. } => McpCallErrorKind::Timeout,
            ServiceError::McpError(told) if told.code.0 == INVALID_PARAMS => {
                McpCallErrorKind::Invalid
            }
            _ => McpCallErrorKind::Failed,
        };
        failed(
            kind,
            format!("the MCP server `{server}`: {}", super::chain(error)),
        )
    }

    /// Takes the result, if it is what the tool has promised.
    fn judged(
        &self,
        tool: &str,
        schema: Option<&Value>,
        result: &CallToolResult,
    ) -> Result<Value, McpCallError> {
        let server = &self.name;
        let texts: Vec<String> = result.content.iter().map(block).collect();
        let text = texts.join("\n");
        if result.is_error == Some(true) {
            let message = format!("the MCP server `{server}` says that `{tool}` failed: {text}");
            return Err(failed(McpCallErrorKind::Failed, message));
        }
        let Some(schema) = schema else {
            let structured = result.structured_content.clone();
            return Ok(structured.unwrap_or_else(|| json!({ "text": text })));
        };
        let bad = |problem: String| {
            let message = format!(
                "the result of `{tool}` is not what the MCP server `{server}` says it is: {problem}"
            );
            failed(McpCallErrorKind::BadOutput, message)
        };
        let Some(structured) = &result.structured_content else {
            return Err(bad("there is no structured content".to_owned()));
        };
        check(schema, structured).map_err(bad)?;
        Ok(structured.clone())
    }
}

/// The number of the protocol for arguments that do not fit.
const INVALID_PARAMS: i32 = -32602;

fn failed(kind: McpCallErrorKind, message: String) -> McpCallError {
    McpCallError { kind, message }
}

/// Holds a value against a schema; the first problem with its place.
fn check(schema: &Value, value: &Value) -> Result<(), String> {
    let validator = jsonschema::validator_for(schema)
        .map_err(|cause| format!("its schema is not a JSON Schema ({cause})"))?;
    match validator.iter_errors(value).next() {
        None => Ok(()),
        Some(problem) => {
            let place = problem.instance_path().to_string();
            match place.is_empty() {
                true => Err(problem.to_string()),
                false => Err(format!("{problem} (at {place})")),
            }
        }
    }
}
