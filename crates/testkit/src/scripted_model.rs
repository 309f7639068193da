//! A model that says what the test wrote down, over real HTTP, and remembers what it was sent.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use llm::WireFormat;
use serde_json::{Value, json};

pub const FORMATS: [WireFormat; 3] = [
    WireFormat::Anthropic,
    WireFormat::OpenAi,
    WireFormat::Gemini,
];

/// One reply, whatever the format.
#[derive(Clone, Debug)]
pub struct ScriptedReply {
    text: String,
    /// Names and arguments, as the model writes them.
    calls: Vec<(String, String)>,
    stop: ScriptedStop,
    pub input: u64,
    pub output: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptedStop {
    Done,
    Length,
    Refusal,
}

/// What the server does with one request.
#[derive(Clone, Debug)]
pub enum ServerAct {
    Reply(ScriptedReply),
    Status(u16),
    /// Accepts, reads, and hangs up.
    HangUp,
    /// Begins an answer of Anthropic's, which counts what it was sent, and breaks off.
    BreakOff,
    /// Says nothing for so long.
    Silence(u64),
}

pub fn says(text: &str) -> ServerAct {
    ServerAct::Reply(ScriptedReply {
        text: text.to_owned(),
        calls: Vec::new(),
        stop: ScriptedStop::Done,
        input: 100,
        output: 10,
    })
}

pub fn calls(calls: &[(&str, Value)]) -> ServerAct {
    let calls: Vec<_> = calls
        .iter()
        .map(|(name, arguments)| (*name, arguments.to_string()))
        .collect();
    raw_calls(
        &calls
            .iter()
            .map(|(name, arguments)| (*name, arguments.as_str()))
            .collect::<Vec<_>>(),
    )
}

pub fn raw_calls(calls: &[(&str, &str)]) -> ServerAct {
    let ServerAct::Reply(mut reply) = says("") else {
        unreachable!()
    };
    let own = calls
        .iter()
        .map(|(name, arguments)| ((*name).to_owned(), (*arguments).to_owned()));
    reply.calls = own.collect();
    ServerAct::Reply(reply)
}

impl ServerAct {
    pub fn stopping(self, stop: ScriptedStop) -> ServerAct {
        match self {
            ServerAct::Reply(reply) => ServerAct::Reply(ScriptedReply { stop, ..reply }),
            other => other,
        }
    }

    pub fn saying(self, text: &str) -> ServerAct {
        match self {
            ServerAct::Reply(reply) => ServerAct::Reply(ScriptedReply {
                text: text.to_owned(),
                ..reply
            }),
            other => other,
        }
    }
}

pub struct ScriptedModel {
    pub url: String,
    pub format: WireFormat,
    received: Arc<Mutex<Vec<Value>>>,
}

impl ScriptedModel {
    /// Answers one request after the other; the last answer is given again and again.
    pub fn start(format: WireFormat, script: Vec<ServerAct>) -> ScriptedModel {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&received);
        // Ends with the test program.
        thread::spawn(move || {
            let mut turn = 0;
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let Some(body) = receive(&mut stream) else {
                    continue;
                };
                log.lock().unwrap().push(body);
                let act = script[turn.min(script.len() - 1)].clone();
                turn += 1;
                thread::spawn(move || perform(&mut stream, format, &act, turn));
            }
        });
        ScriptedModel {
            url,
            format,
            received,
        }
    }

    /// How often the model was asked.
    pub fn asked(&self) -> usize {
        self.received.lock().unwrap().len()
    }

    pub fn bodies(&self) -> Vec<Value> {
        self.received.lock().unwrap().clone()
    }

    /// What the model was sent in request `at`, one line per part, the same for all formats.
    pub fn sent(&self, at: usize) -> Vec<String> {
        let bodies = self.received.lock().unwrap();
        let body = bodies
            .get(at)
            .unwrap_or_else(|| panic!("request {at} was not made"));
        lines(self.format, body)
    }
}

fn receive(stream: &mut TcpStream) -> Option<Value> {
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .ok()?;
    let mut bytes = Vec::new();
    let mut piece = vec![0; 65_536];
    let head = loop {
        let n = stream.read(&mut piece).ok().filter(|n| *n > 0)?;
        bytes.extend(&piece[..n]);
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length
        .and_then(|length| length.trim().parse().ok())
        .unwrap_or(0);
    while bytes.len() < head + length {
        let n = stream.read(&mut piece).ok().filter(|n| *n > 0)?;
        bytes.extend(&piece[..n]);
    }
    serde_json::from_slice(&bytes[head..]).ok()
}

fn perform(stream: &mut TcpStream, format: WireFormat, act: &ServerAct, turn: usize) {
    let (status, kind, body) = match act {
        ServerAct::HangUp => return,
        ServerAct::Silence(ms) => {
            thread::sleep(Duration::from_millis(*ms));
            return;
        }
        ServerAct::BreakOff => {
            let ServerAct::Reply(reply) = says("Half an") else {
                return;
            };
            let events = anthropic(&reply, turn);
            let half = events
                .split("event: message_delta")
                .next()
                .unwrap_or_default();
            (200, "text/event-stream", half.to_owned())
        }
        ServerAct::Status(status) => {
            let body = json!({"error": {"message": "scripted failure", "type": "scripted"}});
            (*status, "application/json", body.to_string())
        }
        ServerAct::Reply(reply) => {
            let (kind, body) = rendered(format, reply, turn);
            (200, kind, body)
        }
    };
    let head = format!(
        "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok();
    stream.write_all(body.as_bytes()).ok();
    stream.flush().ok();
    stream.shutdown(std::net::Shutdown::Write).ok();
    // Waits for the peer to close: closing first could reset what it has not read yet.
    stream.read_to_end(&mut Vec::new()).ok();
}

fn rendered(format: WireFormat, reply: &ScriptedReply, turn: usize) -> (&'static str, String) {
    match format {
        WireFormat::Anthropic => ("text/event-stream", anthropic(reply, turn)),
        WireFormat::OpenAi => ("application/json", openai(reply, turn).to_string()),
        WireFormat::Gemini => ("application/json", gemini(reply).to_string()),
    }
}

/// As a stream, in which half a call can be said.
fn anthropic(reply: &ScriptedReply, turn: usize) -> String {
    let mut events = vec![json!({"type": "message_start", "message": {
        "id": "m", "type": "message", "role": "assistant", "model": "scripted", "content": [],
        "stop_reason": null, "usage": {"input_tokens": reply.input, "output_tokens": 1}}})];
    let mut index = 0;
    if !reply.text.is_empty() {
        events.push(json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}));
        events.push(json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": reply.text}}));
        events.push(json!({"type": "content_block_stop", "index": 0}));
        index += 1;
    }
    for (at, (name, arguments)) in reply.calls.iter().enumerate() {
        let id = format!("c{turn}_{at}");
        events.push(json!({"type": "content_block_start", "index": index, "content_block": {"type": "tool_use", "id": id, "name": name, "input": {}}}));
        events.push(json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": arguments}}));
        events.push(json!({"type": "content_block_stop", "index": index}));
        index += 1;
    }
    let stop = match reply.stop {
        ScriptedStop::Length => "max_tokens",
        ScriptedStop::Refusal => "refusal",
        ScriptedStop::Done if reply.calls.is_empty() => "end_turn",
        ScriptedStop::Done => "tool_use",
    };
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": reply.output}}));
    events.push(json!({"type": "message_stop"}));
    let written = events.iter().map(|event| {
        format!(
            "event: {}\ndata: {event}\n\n",
            event["type"].as_str().unwrap()
        )
    });
    written.collect()
}

fn openai(reply: &ScriptedReply, turn: usize) -> Value {
    let calls: Vec<Value> = reply
        .calls
        .iter()
        .enumerate()
        .map(|(at, (name, arguments))| {
            json!({"id": format!("c{turn}_{at}"), "type": "function",
                   "function": {"name": name, "arguments": arguments}})
        })
        .collect();
    let stop = match reply.stop {
        ScriptedStop::Length => "length",
        ScriptedStop::Refusal => "content_filter",
        ScriptedStop::Done if calls.is_empty() => "stop",
        ScriptedStop::Done => "tool_calls",
    };
    let mut message = json!({"role": "assistant", "content": reply.text});
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    json!({"id": "m", "object": "chat.completion", "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": stop}],
        "usage": {"prompt_tokens": reply.input, "completion_tokens": reply.output,
                  "total_tokens": reply.input + reply.output}})
}

fn gemini(reply: &ScriptedReply) -> Value {
    let mut parts = Vec::new();
    if !reply.text.is_empty() {
        parts.push(json!({"text": reply.text}));
    }
    for (name, arguments) in &reply.calls {
        let args: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
        parts.push(json!({"functionCall": {"name": name, "args": args}}));
    }
    let stop = match reply.stop {
        ScriptedStop::Length => "MAX_TOKENS",
        ScriptedStop::Refusal => "SAFETY",
        ScriptedStop::Done => "STOP",
    };
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": stop}],
        "usageMetadata": {"promptTokenCount": reply.input, "candidatesTokenCount": reply.output,
                          "totalTokenCount": reply.input + reply.output},
        "modelVersion": "scripted", "responseId": "m"})
}

/// A request's conversation as lines: `user: …`, `assistant: …`, `call NAME ARGUMENTS`,
/// `result: …`, `failed: …`.
fn lines(format: WireFormat, body: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    match format {
        WireFormat::Anthropic => {
            for message in body["messages"].as_array().unwrap() {
                anthropic_lines(message, &mut lines);
            }
        }
        WireFormat::OpenAi => {
            for message in body["messages"].as_array().unwrap() {
                openai_lines(message, &mut lines);
            }
        }
        WireFormat::Gemini => {
            for content in body["contents"].as_array().unwrap() {
                gemini_lines(content, &mut lines);
            }
        }
    }
    lines
}

fn anthropic_lines(message: &Value, lines: &mut Vec<String>) {
    let role = message["role"].as_str().unwrap();
    if let Some(text) = message["content"].as_str() {
        lines.push(format!("{role}: {text}"));
    }
    for block in message["content"].as_array().into_iter().flatten() {
        match block["type"].as_str().unwrap() {
            "text" => lines.push(format!("{role}: {}", block["text"].as_str().unwrap())),
            "tool_use" => lines.push(format!(
                "call {} {}",
                block["name"].as_str().unwrap(),
                block["input"]
            )),
            "tool_result" => {
                let word = if block["is_error"] == true {
                    "failed"
                } else {
                    "result"
                };
                let content = match &block["content"] {
                    Value::String(text) => text.clone(),
                    blocks => blocks[0]["text"].as_str().unwrap_or_default().to_owned(),
                };
                lines.push(format!("{word}: {content}"));
            }
            other => panic!("unknown block {other}"),
        }
    }
}

fn openai_lines(message: &Value, lines: &mut Vec<String>) {
    let role = message["role"].as_str().unwrap();
    match (role, message["content"].as_str()) {
        ("system", _) | (_, None) => {}
        ("tool", Some(text)) => match text.strip_prefix("error: ") {
            Some(text) => lines.push(format!("failed: {text}")),
            None => lines.push(format!("result: {text}")),
        },
        (role, Some(text)) => lines.push(format!("{role}: {text}")),
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        let arguments: Value =
            serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
        lines.push(format!(
            "call {} {arguments}",
            function["name"].as_str().unwrap()
        ));
    }
}

fn gemini_lines(content: &Value, lines: &mut Vec<String>) {
    let role = match content["role"].as_str().unwrap() {
        "model" => "assistant",
        other => other,
    };
    for part in content["parts"].as_array().unwrap() {
        if let Some(text) = part["text"].as_str() {
            lines.push(format!("{role}: {text}"));
        } else if let Some(call) = part.get("functionCall") {
            lines.push(format!(
                "call {} {}",
                call["name"].as_str().unwrap(),
                call["args"]
            ));
        } else if let Some(result) = part.get("functionResponse") {
            let response = &result["response"];
            let (word, content) = match response.get("error") {
                Some(error) if response.as_object().unwrap().len() == 1 => ("failed", error),
                _ => (
                    "result",
                    response
                        .get("result")
                        .or(response.get("output"))
                        .unwrap_or(response),
                ),
            };
            let text = content
                .as_str()
                .map_or_else(|| content.to_string(), str::to_owned);
            lines.push(format!("{word}: {text}"));
        }
    }
}
