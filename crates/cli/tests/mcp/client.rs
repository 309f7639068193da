//! A client of its own: one JSON message a line, as the stdio transport has it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::project::CliProject;

/// The revision that needs no handshake.
pub(crate) const STATELESS: &str = "2026-07-28";
/// The revision that begins with `initialize`.
pub(crate) const SESSIONS: &str = "2025-11-25";

/// A program that has started `drawloom mcp`.
pub(crate) struct McpTestClient {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next: u64,
    /// Every request says its revision by itself.
    is_stateless: bool,
    /// The revision that requests say.
    pub(crate) version: String,
    /// The capabilities of the client, as each request says them.
    pub(crate) capabilities: Value,
}

impl McpTestClient {
    /// Starts the server and, where the revision has one, does the handshake.
    pub(crate) fn start(project: &CliProject, line: &str, revision: &str) -> McpTestClient {
        let mut command = project.command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut client = McpTestClient {
            stdin: child.stdin.take(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
            next: 0,
            is_stateless: revision == STATELESS,
            version: revision.to_owned(),
            capabilities: json!({}),
        };
        if !client.is_stateless {
            let answer = client.request(
                "initialize",
                json!({
                    "protocolVersion": revision,
                    "capabilities": {},
                    "clientInfo": { "name": "test", "version": "1" },
                }),
            );
            assert_eq!(
                answer["result"]["serverInfo"]["name"], "drawloom",
                "{answer}"
            );
            client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        }
        client
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string());
    }

    pub(crate) fn send_text(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{text}").unwrap();
        stdin.flush().unwrap();
    }

    /// Sends a request and returns its answer; messages in between are left out.
    pub(crate) fn request(&mut self, method: &str, mut params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        if self.is_stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.version,
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            });
        }
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let mut line = String::new();
            let read = self.stdout.read_line(&mut line).unwrap();
            assert!(
                read > 0,
                "the server has gone instead of answering {method}"
            );
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == id {
                return answer;
            }
        }
    }

    /// Calls a tool that must succeed; its structured content.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        );
        let result = &answer["result"];
        assert_ne!(result["isError"], true, "{tool}: {answer}");
        assert!(result["structuredContent"].is_object(), "{tool}: {answer}");
        result["structuredContent"].clone()
    }

    /// Calls a tool that must fail with a sentence for the model; the sentence.
    #[track_caller]
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.request(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        );
        let result = &answer["result"];
        assert_eq!(result["isError"], true, "{tool}: {answer}");
        assert!(result["structuredContent"].is_null(), "{tool}: {answer}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Closes stdin and waits for the server to end.
    pub(crate) fn close(mut self) -> i32 {
        drop(self.stdin.take());
        self.child.wait().unwrap().code().unwrap_or(-1)
    }
}

impl Drop for McpTestClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
