//! Tools of MCP servers, under the name `server__tool`.
//!
//! A server is a program or an address that the user configured; its output is not trusted. It may die, hang,
//! flood or lie about its schemas: starting it and every call have a time limit, its replies are bounded by
//! the same limits as any tool's result, and a tool with an invalid schema is left out, because
//! providers refuse a whole request for one bad tool. Nothing a server does ends a run.
//!
//! `rmcp` speaks the protocol; `stdio_link` is the wire to a program, `http_link` the one to an address, `call`
//! a call without a model.

mod call;
mod http_link;
mod stdio_link;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use exec::{ChildEnvironment, Invocation};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, PaginatedRequestParams,
    ProtocolVersion,
};
use rmcp::service::{ClientInitializeError, RoleClient, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt as _, Peer, ServiceExt};
use serde_json::{Map, Value, json};

use crate::dispatch::cancelled;
use crate::error::{AgentErrorKind, Error};
use crate::tool::{CallContext, CallEffect, Tool, ToolAction, ToolError, ToolFuture, ToolOutput};
use http_link::McpHttpLink;
use stdio_link::McpStdioLink;

pub use call::{McpCallError, McpCallErrorKind};

/// Separates the server's name from the tool's.
pub(crate) const SEPARATOR: &str = "__";
/// The longest name providers take.
const NAME_BYTES_MAX: usize = 64;
/// The longest description a server may give.
const DESCRIPTION_BYTES_MAX: usize = 4 * 1024;

/// One server that is a program, as it is configured under `mcp.servers.NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// The program to start.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables it gets, with their values.
    pub env: Vec<(String, String)>,
    /// Variables it sees of ours, besides the usual harmless ones.
    pub variables: Vec<String>,
    pub limits: McpLimits,
}

/// One server that has an address.
#[derive(Clone, Debug)]
pub struct ServerAddress {
    pub url: String,
    /// Headers of every request, with their values.
    pub headers: HashMap<HeaderName, HeaderValue>,
    /// The client, which decides which addresses are reached and how long an answer may take.
    pub client: reqwest::Client,
    pub limits: McpLimits,
}

/// The limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpLimits {
    /// Seconds it may take to start and to list its tools.
    pub start_seconds_max: u64,
    /// Seconds one call may take.
    pub call_seconds_max: u64,
    /// Number of tools it may add.
    pub tools_max: usize,
    /// The longest message it may send.
    pub message_bytes_max: usize,
}

impl Default for McpLimits {
    fn default() -> Self {
        McpLimits {
            start_seconds_max: 30,
            call_seconds_max: 120,
            tools_max: 100,
            message_bytes_max: 64 * 1024 * 1024,
        }
    }
}

impl ServerSettings {
    /// Makes the settings of a server started by this command, with the usual limits.
    pub fn new(command: impl Into<String>, args: &[&str]) -> ServerSettings {
        ServerSettings {
            command: command.into(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: Vec::new(),
            variables: Vec::new(),
            limits: McpLimits::default(),
        }
    }
}

/// A connection to a server. A program that was started for it is ended, with all that it started, when this is
/// dropped.
pub struct McpConnection {
    name: String,
    /// The tools as the server has declared them.
    declared: Vec<rmcp::model::Tool>,
    tools: Vec<Arc<dyn Tool>>,
    left_out: Vec<String>,
    limits: McpLimits,
    running: RunningService<RoleClient, ()>,
}

impl McpConnection {
    /// Starts a server in `cwd` and asks for its tools.
    pub async fn start(
        name: &str,
        settings: &ServerSettings,
        cwd: &Path,
    ) -> Result<McpConnection, Error> {
        let link = McpStdioLink::open(&invocation(settings, cwd))
            .map_err(|error| no_server(name, &format!("did not start: {error}")))?;
        let limits = settings.limits;
        let running = within(name, limits, ().serve(link)).await?;
        let running =
            running.map_err(|error| no_server(name, &format!("did not come up: {error}")))?;
        McpConnection::of(name, limits, running).await
    }

    /// Connects to a server and asks for its tools, in the newest revision of the protocol that it knows.
    pub async fn connect(name: &str, address: &ServerAddress) -> Result<McpConnection, Error> {
        let link = McpHttpLink {
            client: address.client.clone(),
            message_bytes_max: address.limits.message_bytes_max,
        };
        let config = StreamableHttpClientTransportConfig::with_uri(address.url.as_str())
            .custom_headers(address.headers.clone());
        let transport = StreamableHttpClientTransport::with_client(link, config);
        let lifecycle = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: None,
        };
        let connecting = ().serve_with_lifecycle(transport, lifecycle);
        let running = within(name, address.limits, connecting).await?;
        let running = running.map_err(|error| {
            no_server(name, &format!("did not connect: {}", start_failure(&error)))
        })?;
        McpConnection::of(name, address.limits, running).await
    }

    async fn of(
        name: &str,
        limits: McpLimits,
        running: RunningService<RoleClient, ()>,
    ) -> Result<McpConnection, Error> {
        let declared = within(name, limits, declared(&running, limits.tools_max)).await?;
        let declared = declared
            .map_err(|error| no_server(name, &format!("did not name its tools: {error}")))?;
        let mut server = McpConnection {
            name: name.to_owned(),
            declared: Vec::new(),
            tools: Vec::new(),
            left_out: Vec::new(),
            limits,
            running,
        };
        for tool in &declared {
            server.take(tool);
        }
        server.declared = declared;
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

    fn take(&mut self, tool: &rmcp::model::Tool) {
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
            tool: tool.name.to_string(),
            declaration: llm::ToolDeclaration {
                name,
                description: description[..end].to_owned(),
                schema,
            },
            peer: self.running.peer().clone(),
            call_seconds_max: self.limits.call_seconds_max,
        }));
    }
}

fn no_server(name: &str, why: &str) -> Error {
    Error::new(
        AgentErrorKind::Mcp,
        format!("the MCP server `{name}` {why}. Check `mcp.servers.{name}`, or remove it."),
    )
}

/// Waits for a server, as long as it may take to start.
async fn within<T>(
    name: &str,
    limits: McpLimits,
    waited: impl Future<Output = T>,
) -> Result<T, Error> {
    let seconds = limits.start_seconds_max;
    let ended = tokio::time::timeout(Duration::from_secs(seconds), waited).await;
    ended.map_err(|_| {
        no_server(
            name,
            &format!("did not answer within start_seconds_max = {seconds}"),
        )
    })
}

/// Returns why a server could not be connected to. The transport's own sentence names types of Rust.
fn start_failure(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => chain(&*error.error),
        other => chain(other),
    }
}

/// Returns a failure with its reasons, down to the deepest one.
fn chain(error: &dyn std::error::Error) -> String {
    let mut told = error.to_string();
    let mut deeper = error.source();
    while let Some(one) = deeper {
        let reason = one.to_string();
        if !told.contains(&reason) {
            told.push_str(&format!(": {reason}"));
        }
        deeper = one.source();
    }
    told
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
        .output_bytes_max(settings.limits.message_bytes_max)
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
