//! A server that does exactly what the test says, byte by byte, over real TCP.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// What to do with one request.
#[derive(Clone, Debug)]
pub(crate) enum ProviderAct {
    Send(Vec<u8>),
    Pause(u64),
    /// Closes with data unread, so that the peer sees a reset.
    Break,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    /// Method and path.
    pub(crate) line: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl ReceivedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

pub(crate) struct ScriptedProvider {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl ScriptedProvider {
    /// Answers one request after the other; the last answer is given again and again.
    pub(crate) fn start(answers: Vec<Vec<ProviderAct>>) -> ScriptedProvider {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&received);
        // Ends with the test program.
        thread::spawn(move || {
            let mut turn = 0;
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let Some(request) = receive(&mut stream) else {
                    continue;
                };
                log.lock().unwrap().push(request);
                let answer = answers[turn.min(answers.len() - 1)].clone();
                turn += 1;
                thread::spawn(move || perform(stream, answer));
            }
        });
        ScriptedProvider { url, received }
    }

    pub(crate) fn received(&self) -> Vec<ReceivedRequest> {
        self.received.lock().unwrap().clone()
    }
}

const TLS_HANDSHAKE: u8 = 0x16;

fn receive(stream: &mut TcpStream) -> Option<ReceivedRequest> {
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    let head = loop {
        let n = stream.read(&mut piece).ok()?;
        if n == 0 {
            return None;
        }
        bytes.extend(&piece[..n]);
        // A greeting in TLS gets what servers without it say.
        if bytes[0] == TLS_HANDSHAKE {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            return None;
        }
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.lines();
    let line = lines.next()?.trim_end_matches(" HTTP/1.1").to_owned();
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map_or(0, |(_, n)| n.parse().unwrap());
    let mut body = bytes[head + 4..].to_vec();
    while body.len() < length {
        let n = stream.read(&mut piece).ok()?;
        body.extend(&piece[..n]);
    }
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(ReceivedRequest {
        line,
        headers,
        body,
    })
}

fn perform(mut stream: TcpStream, acts: Vec<ProviderAct>) {
    for act in acts {
        match act {
            ProviderAct::Send(bytes) => {
                if stream
                    .write_all(&bytes)
                    .and_then(|()| stream.flush())
                    .is_err()
                {
                    return;
                }
            }
            ProviderAct::Pause(ms) => thread::sleep(Duration::from_millis(ms)),
            ProviderAct::Break => return,
        }
    }
    let _ = stream.shutdown(std::net::Shutdown::Write);
    // Waits for the peer to close: closing first could reset what it has not read yet.
    let _ = stream.read(&mut [0; 64]);
}

/// A whole answer.
pub(crate) fn reply(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<ProviderAct> {
    let mut head = format!(
        "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    vec![ProviderAct::Send(format!("{head}\r\n{body}").into_bytes())]
}

pub(crate) fn json(body: &str) -> Vec<ProviderAct> {
    reply(200, &[("content-type", "application/json")], body)
}

const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\
                           transfer-encoding: chunked\r\nx-request-id: req-scripted\r\n\r\n";

fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend(bytes);
    chunk.extend(b"\r\n");
    chunk
}

/// A stream that comes to its proper HTTP end, whatever its events say.
pub(crate) fn stream(events: &str) -> Vec<ProviderAct> {
    let mut bytes = STREAM_HEAD.as_bytes().to_vec();
    bytes.extend(chunk(events.as_bytes()));
    bytes.extend(b"0\r\n\r\n");
    vec![ProviderAct::Send(bytes)]
}

/// A stream whose connection breaks after so many bytes of it.
pub(crate) fn stream_cut(events: &str, at: usize) -> Vec<ProviderAct> {
    let mut bytes = STREAM_HEAD.as_bytes().to_vec();
    if at > 0 {
        bytes.extend(chunk(&events.as_bytes()[..at]));
    }
    vec![ProviderAct::Send(bytes)]
}

/// A stream in small pieces with pauses between.
pub(crate) fn stream_dripping(events: &str, piece: usize, pause_ms: u64) -> Vec<ProviderAct> {
    let mut acts = vec![ProviderAct::Send(STREAM_HEAD.as_bytes().to_vec())];
    for bytes in events.as_bytes().chunks(piece) {
        acts.push(ProviderAct::Send(chunk(bytes)));
        acts.push(ProviderAct::Pause(pause_ms));
    }
    acts.push(ProviderAct::Send(b"0\r\n\r\n".to_vec()));
    acts
}

/// The simplest whole answer and the simplest stream of each format, both saying "Hello.".
pub(crate) fn hello(provider: llm::Provider) -> (&'static str, &'static str) {
    match provider.format() {
        llm::WireFormat::Anthropic => (
            r#"{"id":"m1","type":"message","model":"m","content":[{"type":"text","text":"Hello."}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}}"#,
            concat!(
                "event: message_start\n",
                r#"data: {"type":"message_start","message":{"id":"m1","type":"message","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}"#,
                "\n\nevent: content_block_start\n",
                r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
                "\n\nevent: ping\n",
                r#"data: {"type":"ping"}"#,
                "\n\nevent: content_block_delta\n",
                r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}"#,
                "\n\nevent: content_block_delta\n",
                r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo."}}"#,
                "\n\nevent: content_block_stop\n",
                r#"data: {"type":"content_block_stop","index":0}"#,
                "\n\nevent: message_delta\n",
                r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#,
                "\n\nevent: message_stop\n",
                r#"data: {"type":"message_stop"}"#,
                "\n\n"
            ),
        ),
        llm::WireFormat::OpenAi => (
            r#"{"id":"m1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello."},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#,
            concat!(
                r#"data: {"id":"m1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
                "\n\n",
                r#"data: {"id":"m1","model":"m","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}"#,
                "\n\n",
                r#"data: {"id":"m1","model":"m","choices":[{"index":0,"delta":{"content":"lo."},"finish_reason":null}]}"#,
                "\n\n",
                r#"data: {"id":"m1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
                "\n\n",
                r#"data: {"id":"m1","model":"m","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#,
                "\n\ndata: [DONE]\n\n"
            ),
        ),
        llm::WireFormat::Gemini => (
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Hello."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2},"modelVersion":"m","responseId":"m1"}"#,
            concat!(
                r#"data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Hel"}]}}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1},"modelVersion":"m","responseId":"m1"}"#,
                "\r\n\r\n",
                r#"data: {"candidates":[{"content":{"role":"model","parts":[{"text":"lo."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2},"modelVersion":"m","responseId":"m1"}"#,
                "\r\n\r\n"
            ),
        ),
    }
}
