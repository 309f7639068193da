//! Tools of MCP servers that have an address: a third party's server, and servers that lie, flood, hang and send
//! elsewhere.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use agent::mcp::{McpCallErrorKind, McpConnection, McpLimits, ServerAddress};
use agent::{AgentErrorKind, Error};
use serde_json::{Map, Value, json};

use crate::mcp::installed;

/// The address of a server, with limits that a test reaches.
fn address(url: String) -> ServerAddress {
    // Fails only where it is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(20));
    ServerAddress {
        url,
        headers: HashMap::new(),
        client: client.build().unwrap(),
        limits: McpLimits {
            start_seconds_max: 30,
            call_seconds_max: 2,
            tools_max: 100,
            message_bytes_max: 1 << 20,
        },
    }
}

fn arguments(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

const PATIENCE: Duration = Duration::from_secs(20);

/// A program that ends with the test.
struct PeerProgram(Child);

impl Drop for PeerProgram {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the third party's server and returns its address.
fn everything() -> (PeerProgram, String) {
    let folder = installed("everything");
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let mut program = Command::new(folder.join("node_modules/.bin/mcp-server-everything"));
    program
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let peer = PeerProgram(program.spawn().unwrap());
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "it did not start"
        );
        thread::sleep(Duration::from_millis(50));
    }
    (peer, format!("http://127.0.0.1:{port}/mcp"))
}

#[tokio::test]
async fn the_tools_of_a_third_partys_server_are_called_at_its_address() {
    let (_peer, url) = everything();
    let server = McpConnection::connect("every", &address(url)).await;
    let server = server.unwrap_or_else(|error| panic!("{error}"));
    assert!(server.left_out().is_empty(), "{:?}", server.left_out());
    let names: Vec<_> = server
        .tools()
        .iter()
        .map(|tool| tool.declaration().name.clone())
        .collect();
    assert!(names.contains(&"every__echo".to_owned()), "{names:?}");
    let hello = arguments(json!({ "message": "hello" }));
    let said = server.call("echo", hello, PATIENCE).await.unwrap();
    assert_eq!(said, json!({ "text": "Echo: hello" }));
    // Its schema promises numbers and texts, and it keeps that.
    let place = arguments(json!({ "location": "New York" }));
    let structured = server.call("get-structured-content", place, PATIENCE).await;
    assert!(structured.unwrap()["temperature"].is_number());
    for (tool, given, reason) in [
        ("ecko", json!({}), "has no tool `ecko`; it has"),
        (
            "echo",
            json!({ "massage": "hello" }),
            "do not fit the tool `echo`",
        ),
    ] {
        let refused = server.call(tool, arguments(given), PATIENCE).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind, McpCallErrorKind::Invalid);
        assert!(refused.message.contains(reason), "{}", refused.message);
    }
}

/// One way in which a hostile server treats a request.
enum HostileReply {
    /// It answers, as it should.
    Json(Value),
    /// It writes these bytes and closes the connection.
    Raw(String),
    /// It writes this beginning, and then more and more.
    Endless(&'static str),
    /// It says nothing.
    Silence,
}

/// A server that answers each method as a test wants.
fn hostile(reply: impl Fn(&str, &Value) -> HostileReply + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let reply = Arc::new(reply);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(stream), reply) = (stream, Arc::clone(&reply)) else {
                return;
            };
            thread::spawn(move || attend(stream, &*reply));
        }
    });
    url
}

fn attend(mut stream: TcpStream, reply: &dyn Fn(&str, &Value) -> HostileReply) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut length = 0;
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let request: Value = serde_json::from_slice(&body).unwrap_or_default();
        let method = request["method"].as_str().unwrap_or_default().to_owned();
        let written = match reply(&method, &request) {
            HostileReply::Json(value) => stream.write_all(json_reply(&value).as_bytes()),
            HostileReply::Raw(text) => {
                let _ = stream.write_all(text.as_bytes());
                let _ = stream.shutdown(std::net::Shutdown::Both);
                return;
            }
            HostileReply::Endless(head) => {
                let piece = "x".repeat(1 << 16);
                let mut written = stream.write_all(head.as_bytes());
                while written.is_ok() {
                    written = stream.write_all(piece.as_bytes());
                }
                return;
            }
            HostileReply::Silence => {
                // Until the client has had enough.
                let _ = reader.read(&mut [0]);
                return;
            }
        };
        if written.is_err() {
            return;
        }
    }
}

fn json_reply(value: &Value) -> String {
    let body = value.to_string();
    let (kind, status) = match value.is_null() {
        true => ("text/plain", "202 Accepted"),
        false => ("application/json", "200 OK"),
    };
    let body = if value.is_null() { "" } else { body.as_str() };
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Answers the handshake of the older revision and names one tool; the rest is the test's.
fn polite(method: &str, request: &Value, tool: &Value) -> Option<HostileReply> {
    let result = match method {
        "server/discover" => {
            let error = json!({ "code": -32601, "message": "no such method" });
            let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "error": error });
            return Some(HostileReply::Json(answer));
        }
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": "s", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [tool] }),
        method if method.starts_with("notifications/") => {
            return Some(HostileReply::Json(Value::Null));
        }
        _ => return None,
    };
    Some(HostileReply::Json(
        json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }),
    ))
}

fn tool() -> Value {
    json!({
        "name": "weigh", "inputSchema": { "type": "object" },
        "outputSchema": {
            "type": "object", "required": ["grams"], "properties": { "grams": { "type": "number" } },
        },
    })
}

/// Connects to a server that is polite until its tool is called, and calls it.
async fn call(
    reply: impl Fn(&Value) -> HostileReply + Send + Sync + 'static,
) -> Result<Value, agent::mcp::McpCallError> {
    let url = hostile(move |method, request| {
        polite(method, request, &tool()).unwrap_or_else(|| reply(request))
    });
    let server = McpConnection::connect("s", &address(url)).await;
    let server = server.unwrap_or_else(|error| panic!("{error}"));
    server
        .call("weigh", Map::new(), Duration::from_secs(2))
        .await
}

fn result_of(request: &Value, result: Value) -> HostileReply {
    HostileReply::Json(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }))
}

#[tokio::test]
async fn what_a_tool_returns_is_held_against_its_schema() {
    let good = call(|request| {
        let content = json!({ "content": [], "structuredContent": { "grams": 3 } });
        result_of(request, content)
    });
    assert_eq!(good.await.unwrap(), json!({ "grams": 3 }));
    for (result, reason) in [
        (
            json!({ "content": [], "structuredContent": { "grams": "three" } }),
            "is not of type",
        ),
        (json!({ "content": [], "structuredContent": {} }), "grams"),
        (
            json!({ "content": [{ "type": "text", "text": "{\"grams\": 3}" }] }),
            "no structured content",
        ),
    ] {
        let lied = call(move |request| result_of(request, result.clone())).await;
        let lied = lied.unwrap_err();
        assert_eq!(lied.kind, McpCallErrorKind::BadOutput, "{}", lied.message);
        assert!(lied.message.contains(reason), "{}", lied.message);
    }
    let failed = call(|request| {
        let content =
            json!({ "isError": true, "content": [{ "type": "text", "text": "too heavy" }] });
        result_of(request, content)
    });
    let failed = failed.await.unwrap_err();
    assert_eq!(failed.kind, McpCallErrorKind::Failed);
    assert!(failed.message.contains("too heavy"), "{}", failed.message);
}

#[tokio::test]
async fn a_server_that_hangs_floods_or_breaks_off_is_given_up() {
    const ENDLESS_JSON: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{\"x\":\"";
    const ENDLESS_EVENT: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: ";
    const CUT: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"jsonrpc\"";
    type Reply = fn(&Value) -> HostileReply;
    let cases: [(&str, Reply); 6] = [
        ("silent", |_| HostileReply::Silence),
        ("endless JSON", |_| HostileReply::Endless(ENDLESS_JSON)),
        ("an endless event", |_| HostileReply::Endless(ENDLESS_EVENT)),
        ("cut", |_| HostileReply::Raw(CUT.to_owned())),
        ("closed", |_| HostileReply::Raw(String::new())),
        ("no message", |_| HostileReply::Json(json!([1, 2]))),
    ];
    for (name, reply) in cases {
        let began = Instant::now();
        let given_up = call(reply).await.unwrap_err();
        let is_about_the_server = matches!(
            given_up.kind,
            McpCallErrorKind::Timeout | McpCallErrorKind::Unavailable | McpCallErrorKind::Failed
        );
        assert!(is_about_the_server, "{name}: {given_up:?}");
        assert!(began.elapsed() < Duration::from_secs(60), "{name}");
    }
}

#[tokio::test]
async fn an_address_without_an_mcp_server_is_an_error_with_its_name() {
    let check = async |reply: HostileHead, sentence: &str| {
        let url = hostile(move |_, _| HostileReply::Raw(reply.0.to_owned()));
        let Err(error): Result<_, Error> = McpConnection::connect("s", &address(url)).await else {
            panic!("it connected");
        };
        assert_eq!(error.kind(), AgentErrorKind::Mcp);
        let message = error.to_string();
        assert!(message.contains("the MCP server `s`"), "{message}");
        assert!(message.contains(sentence), "{message}");
    };
    let elsewhere = "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    check(HostileHead(elsewhere), "it sends to another address").await;
    let refused = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n";
    check(HostileHead(refused), "check the headers").await;
    let page = "HTTP/1.1 500 Oops\r\ncontent-type: text/html\r\ncontent-length: 5\r\n\r\n<b>no";
    check(HostileHead(page), "500").await;
}

/// The whole answer of a program that is no MCP server.
#[derive(Clone, Copy)]
struct HostileHead(&'static str);

#[tokio::test]
async fn headers_are_sent_with_every_request_and_told_nowhere() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let kept = Arc::clone(&seen);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 4096];
            let count = stream.read(&mut bytes).unwrap();
            let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
            kept.lock().unwrap().push(text);
            let _ = stream.write_all(
                b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            );
        }
    });
    let mut address = address(url);
    let (name, value) = ("authorization", "Bearer very-secret");
    address
        .headers
        .insert(name.parse().unwrap(), value.parse().unwrap());
    let Err(error) = McpConnection::connect("s", &address).await else {
        panic!("it connected");
    };
    assert!(!error.to_string().contains("very-secret"), "{error}");
    let seen = seen.lock().unwrap();
    assert!(!seen.is_empty());
    for request in seen.iter() {
        assert!(request.contains("Bearer very-secret"), "{request}");
    }
}
