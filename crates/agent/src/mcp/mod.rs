//! Tools of MCP servers, under the name `server__tool`.
//!
//! A server is a program the user configured; its output is not trusted. It may die, hang, flood or
//! lie about its schemas: starting it and every call have a time limit, its replies are bounded by
//! the same limits as any tool's result, and a tool with an invalid schema is left out, because
//! providers refuse a whole request for one bad tool. Nothing a server does ends a run.
//!
//! `rmcp` speaks the protocol; `link` is the wire between it and the program.

mod stdio_link;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use exec::{ChildEnvironment, Invocation};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, PaginatedRequestParams,
};
use rmcp::service::{RoleClient, RunningService, ServiceError};
use rmcp::{Peer, ServiceExt};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::dispatch::cancelled;
use crate::error::{AgentErrorKind, Error};
use crate::tool::{CallContext, CallEffect, Tool, ToolAction, ToolError, ToolFuture, ToolOutput};
use stdio_link::McpStdioLink;

/// Separates the server's name from the tool's.
pub const SEPARATOR: &str = "__";
/// The longest name providers take.
const NAME_BYTES_MAX: usize = 64;
/// The longest description a server may give.
const DESCRIPTION_BYTES_MAX: usize = 4 * 1024;

/// One server, as it is configured under `mcp.servers.NAME`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSettings {
    /// The program to start.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables it gets, with their values.
    #[serde(default)]
    pub env: Vec<(String, String)>,
    /// Variables it sees of ours, besides the usual harmless ones.
    #[serde(default)]
    pub variables: Vec<String>,
    /// Seconds it may take to start and to list its tools.
    #[serde(default = "start_seconds_default")]
    pub start_seconds_max: u64,
    /// Seconds one call may take.
    #[serde(default = "call_seconds_default")]
    pub call_seconds_max: u64,
    /// Number of tools it may add.
    #[serde(default = "tools_default")]
    pub tools_max: usize,
    /// The longest message it may send.
    #[serde(default = "message_bytes_default")]
    pub message_bytes_max: usize,
}

fn start_seconds_default() -> u64 {
    30
}

fn call_seconds_default() -> u64 {
    120
}

fn tools_default() -> usize {
    100
}

fn message_bytes_default() -> usize {
    64 * 1024 * 1024
}

impl ServerSettings {
    /// Makes the settings of a server started by this command, with the usual limits.
    pub fn new(command: impl Into<String>, args: &[&str]) -> ServerSettings {
        ServerSettings {
            command: command.into(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: Vec::new(),
            variables: Vec::new(),
            start_seconds_max: start_seconds_default(),
            call_seconds_max: call_seconds_default(),
            tools_max: tools_default(),
            message_bytes_max: message_bytes_default(),
        }
    }
}

/// A running server. It is ended, with all that it started, when this is dropped.
pub struct McpServerProcess {
    name: String,
    tools: Vec<Arc<dyn Tool>>,
    left_out: Vec<String>,
    _running: RunningService<RoleClient, ()>,
}

impl McpServerProcess {
    /// Starts a server in `cwd` and asks for its tools.
    pub async fn start(
        name: &str,
        settings: &ServerSettings,
        cwd: &Path,
    ) -> Result<McpServerProcess, Error> {
        let failed = |why: String| {
            Error::new(
                AgentErrorKind::Mcp,
                format!("the MCP server `{name}` {why}. Check `mcp.servers.{name}`, or remove it."),
            )
        };
        let seconds = settings.start_seconds_max;
        let link = McpStdioLink::open(&invocation(settings, cwd))
            .map_err(|error| failed(format!("did not start: {error}")))?;
        let patience = Duration::from_secs(seconds);
        let late = || {
            failed(format!(
                "did not answer within start_seconds_max = {seconds}"
            ))
        };
        let running = tokio::time::timeout(patience, ().serve(link))
            .await
            .map_err(|_| late())?
            .map_err(|error| failed(format!("did not come up: {error}")))?;
        let declared = tokio::time::timeout(patience, declared(&running, settings.tools_max))
            .await
            .map_err(|_| late())?
            .map_err(|error| failed(format!("did not name its tools: {error}")))?;
        let mut server = McpServerProcess {
            name: name.to_owned(),
            tools: Vec::new(),
            left_out: Vec::new(),
            _running: running,
        };
        let peer = server._running.peer().clone();
        for tool in declared {
            server.take(tool, &peer, settings);
        }
        Ok(server)
    }

    /// Returns its name in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its tools, ready for a [`crate::AgentTools`].
    pub fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.tools
    }

    /// Sentences about tools that cannot be used.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    fn take(
        &mut self,
        tool: rmcp::model::Tool,
        peer: &Peer<RoleClient>,
        settings: &ServerSettings,
    ) {
        let name = tool_name(&self.name, &tool.name);
        let schema = Value::Object(tool.input_schema.as_ref().clone());
        if let Err(why) = check_schema(&schema) {
            self.left_out.push(format!("`{name}` is left out: {why}."));
            return;
        }
        if self
            .tools
            .iter()
            .any(|other| other.declaration().name == name)
        {
            self.left_out.push(format!(
                "`{name}` is left out: the server has two tools of that name."
            ));
            return;
        }
        let description = tool.description.as_deref().unwrap_or_default();
        let end = description.floor_char_boundary(DESCRIPTION_BYTES_MAX);
        self.tools.push(Arc::new(McpTool {
            server: self.name.clone(),
            tool: tool.name.into_owned(),
            declaration: llm::ToolDeclaration {
                name,
                description: description[..end].to_owned(),
                schema,
            },
            peer: peer.clone(),
            call_seconds_max: settings.call_seconds_max,
        }));
    }
}

fn invocation(settings: &ServerSettings, cwd: &Path) -> Invocation {
    let env = settings.env.iter().fold(
        ChildEnvironment::agent(&settings.variables),
        |env, (name, value)| env.set(name, value),
    );
    Invocation::new(&settings.command)
        .args(&settings.args)
        .cwd(cwd)
        .env(env)
        .output_bytes_max(settings.message_bytes_max)
}

/// Lists the server's tools, page by page; a server that never ends is cut off.
async fn declared(
    peer: &Peer<RoleClient>,
    tools_max: usize,
) -> Result<Vec<rmcp::model::Tool>, ServiceError> {
    let mut tools = Vec::new();
    let mut cursor = None;
    // Each page might be empty, so pages are counted too.
    for _ in 0..=tools_max {
        let mut page = PaginatedRequestParams::default();
        page.cursor = cursor;
        let listed = peer.list_tools(Some(page)).await?;
        tools.extend(listed.tools);
        cursor = listed.next_cursor;
        if cursor.is_none() || tools.len() >= tools_max {
            break;
        }
    }
    tools.truncate(tools_max);
    Ok(tools)
}

/// Makes a name of the letters that all providers accept.
fn tool_name(server: &str, tool: &str) -> String {
    let mut name: String = format!("{server}{SEPARATOR}{tool}")
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect();
    name.truncate(NAME_BYTES_MAX);
    name
}

fn check_schema(schema: &Value) -> Result<(), String> {
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        _ => return Err("its schema is not that of an object".to_owned()),
    }
    match jsonschema::validator_for(schema) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("its schema is not a JSON Schema ({error})")),
    }
}

/// A tool at a server.
struct McpTool {
    server: String,
    tool: String,
    declaration: llm::ToolDeclaration,
    peer: Peer<RoleClient>,
    call_seconds_max: u64,
}

impl Tool for McpTool {
    fn declaration(&self) -> &llm::ToolDeclaration {
        &self.declaration
    }

    /// Returns `Changes` always: a server's own claim that its tools are harmless is only a hint.
    fn effect(&self) -> CallEffect {
        CallEffect::Changes
    }

    fn call<'a>(&'a self, given: CallContext<'a>) -> ToolFuture<'a> {
        Box::pin(self.ask(given))
    }
}

impl McpTool {
    async fn ask(&self, given: CallContext<'_>) -> Result<ToolOutput, ToolError> {
        let patience = Duration::from_secs(self.call_seconds_max).min(given.time_left);
        let call =
            CallToolRequestParams::new(self.tool.clone()).with_arguments(given.arguments.clone());
        let answered = tokio::select! {
            answered = self.peer.call_tool_once(call) => answered,
            () = tokio::time::sleep(patience) => {
                return Err(ToolError::tell(format!(
                    "The MCP server `{}` did not answer within {} s (call_seconds_max). It may have done its work or not.",
                    self.server,
                    patience.as_secs()
                )));
            }
            () = cancelled(given.cancel) => {
                return Err(ToolError::tell("The call was given up, because the run is to end."));
            }
        };
        let deed = ToolAction::Called {
            server: self.server.clone(),
            tool: self.tool.clone(),
        };
        match answered {
            Ok(CallToolResponse::Complete(result)) if result.is_error == Some(true) => {
                let mut value = shown(&result);
                value["error"] = json!(format!(
                    "The MCP server `{}` says the call failed.",
                    self.server
                ));
                Err(ToolError::Tell(value))
            }
            Ok(CallToolResponse::Complete(result)) => {
                Ok(ToolOutput::new(shown(&result)).having(deed))
            }
            Ok(_) => Err(ToolError::tell(format!(
                "The MCP server `{}` wants something before it goes on, which it cannot have here.",
                self.server
            ))),
            Err(ServiceError::TransportClosed | ServiceError::TransportSend(_)) => {
                Err(ToolError::tell(format!(
                    "The MCP server `{}` has ended; its tools are gone. Go on without them.",
                    self.server
                )))
            }
            Err(error) => Err(ToolError::tell(format!(
                "The MCP server `{}`: {error}.",
                self.server
            ))),
        }
    }
}

fn shown(result: &CallToolResult) -> Value {
    let mut value = Map::new();
    let texts: Vec<String> = result.content.iter().map(block).collect();
    if !texts.is_empty() {
        value.insert("text".to_owned(), Value::String(texts.join("\n")));
    }
    if let Some(structured) = &result.structured_content {
        value.insert("structured".to_owned(), structured.clone());
    }
    Value::Object(value)
}

/// Returns text unchanged; for other content, its type.
fn block(block: &ContentBlock) -> String {
    if let ContentBlock::Text(text) = block {
        return text.text.clone();
    }
    let value = serde_json::to_value(block).unwrap_or_default();
    let kind = value["type"].as_str().unwrap_or("something");
    let word = |name: &str| {
        value[name]
            .as_str()
            .map(|text| format!(", {text}"))
            .unwrap_or_default()
    };
    if let Some(text) = value["resource"]["text"].as_str() {
        return text.to_owned();
    }
    let bytes = value["data"].as_str().map_or(0, str::len) / 4 * 3;
    format!(
        "[{kind}{}{}, {bytes} bytes, not shown]",
        word("mimeType"),
        word("uri")
    )
}
