//! A server that does exactly what a test says, byte by byte, over real TCP.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What to do with one request.
#[derive(Clone, Debug)]
pub(crate) enum ScriptedAct {
    Send(String),
    Pause(u64),
}

pub(crate) struct ScriptedServer {
    pub(crate) url: String,
    requests: Arc<AtomicUsize>,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl ScriptedServer {
    /// Answers one request after the other; the last answer is given again and again.
    pub(crate) fn start(answers: Vec<Vec<ScriptedAct>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(AtomicUsize::new(0));
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let (counted, kept) = (Arc::clone(&requests), Arc::clone(&bodies));
        // Ends with the test program.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let Some(body) = receive(&mut stream) else {
                    continue;
                };
                kept.lock().unwrap().push(body);
                let turn = counted.fetch_add(1, Ordering::SeqCst);
                let acts = answers[turn.min(answers.len() - 1)].clone();
                thread::spawn(move || perform(stream, acts));
            }
        });
        Self {
            url,
            requests,
            bodies,
        }
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    pub(crate) fn body(&self, turn: usize) -> String {
        self.bodies.lock().unwrap()[turn].clone()
    }
}

fn receive(stream: &mut TcpStream) -> Option<String> {
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    let head = loop {
        let read = stream.read(&mut piece).ok().filter(|read| *read > 0)?;
        bytes.extend(&piece[..read]);
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.trim().parse().unwrap());
    let mut body = bytes[head + 4..].to_vec();
    while body.len() < length {
        let read = stream.read(&mut piece).ok()?;
        body.extend(&piece[..read]);
    }
    Some(String::from_utf8_lossy(&body).into_owned())
}

fn perform(mut stream: TcpStream, acts: Vec<ScriptedAct>) {
    for act in acts {
        match act {
            ScriptedAct::Send(text) => {
                let sent = stream.write_all(text.as_bytes());
                if sent.and_then(|()| stream.flush()).is_err() {
                    return;
                }
            }
            ScriptedAct::Pause(ms) => thread::sleep(Duration::from_millis(ms)),
        }
    }
    let _ = stream.shutdown(std::net::Shutdown::Write);
    // Waits for the peer to close: closing first could reset what it has not read yet.
    let _ = stream.read(&mut [0; 64]);
}

/// A whole answer of HTTP.
pub(crate) fn reply(status: u16, headers: &str, body: &str) -> Vec<ScriptedAct> {
    let length = body.len();
    vec![ScriptedAct::Send(format!(
        "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    ))]
}

/// The head of a stream that ends when the connection does.
pub(crate) const STREAM: &str =
    "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n";

/// Anthropic's events for a text, with its usage.
pub(crate) fn events(text: &str) -> String {
    let text = serde_json::Value::from(text);
    format!(
        r#"event: message_start
data: {{"type":"message_start","message":{{"id":"m1","type":"message","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"usage":{{"input_tokens":1000,"output_tokens":1}}}}}}

event: content_block_start
data: {{"type":"content_block_start","index":0,"content_block":{{"type":"text","text":""}}}}

event: content_block_delta
data: {{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{text}}}}}

event: content_block_stop
data: {{"type":"content_block_stop","index":0}}

event: message_delta
data: {{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{{"output_tokens":200}}}}

event: message_stop
data: {{"type":"message_stop"}}

"#
    )
}

/// A stream of Anthropic that says a text.
pub(crate) fn says(text: &str) -> Vec<ScriptedAct> {
    vec![ScriptedAct::Send(format!("{STREAM}{}", events(text)))]
}
