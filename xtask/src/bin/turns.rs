//! The program that `cargo xtask bench agent` runs: turns of the loop against a server that answers at once.
//!
//! Prints one JSON object: the median turn, the median bare exchange of the same bytes, and the
//! difference, in milliseconds.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a developers' tool is its own door to the clock and the terminal"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use agent::{
    Called, Cancel, Clock, Conversation, Effect, Event, Given, History, Job, Limits, Memory,
    Observer, Output, Setting, Tool, Toolset,
};
use anyhow::{Context, Result};
use llm::{Block, Client, Endpoint, Provider, Secret};
use serde_json::{Value, json};

const CONVERSATION_BYTES: usize = 1 << 20;
const MESSAGE_BYTES: usize = 4 << 10;
/// Turns before the first that counts: they make the conversation.
const GROWING: u32 = (CONVERSATION_BYTES / MESSAGE_BYTES) as u32;
/// Turns that count; few, so that the conversation is about as long for the last as for the first.
const TURNS: u32 = 40;

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(measure())
}

async fn measure() -> Result<()> {
    let server = Server::start()?;
    let mut endpoint = Endpoint::new(Provider::Compatible, Some(Secret::new("none")));
    endpoint.base_url = Some(format!("http://{}", server.address));
    let client = Client::new(&endpoint, llm::Limits::default())?;
    let mut toolset = Toolset::new();
    toolset.add(Arc::new(Nothing::new()))?;
    let limits = Limits {
        turns_max: GROWING + TURNS,
        identical_calls_max: u32::MAX,
        ..Limits::default()
    };
    let setting = Setting {
        model: "scripted".to_owned(),
        system: vec![Block::stable("You call a tool that does nothing.")],
        max_tokens: 1_000,
        temperature: None,
    };
    let mut conversation = Conversation::open(setting, History::default());
    // As many messages as a long run has: what counts is their number as well as their size.
    conversation.say("Call it again and again.");
    let job = Job {
        model: &client,
        toolset: &toolset,
        limits: &limits,
        clock: &Wall,
        cancel: &Cancel::default(),
        phase: "bench",
    };
    let mut watch = Watch::default();
    let ended = agent::run(&job, &mut conversation, &mut Memory::default(), &mut watch).await;
    ended.err().context("the run was to end by its limit")?;
    let turn_ms = median(watch.turns.split_off(GROWING as usize));
    let bare_ms = median(bare(server.address, server.bytes.load(Ordering::Relaxed))?);
    let figures = json!({
        "turn_ms": turn_ms, "bare_exchange_ms": bare_ms, "overhead_ms": turn_ms - bare_ms,
        "times_bare": turn_ms / bare_ms, "request_bytes": server.bytes.load(Ordering::Relaxed),
    });
    println!("{figures}");
    Ok(())
}

/// The same bytes there and back, with nothing around them.
fn bare(address: SocketAddr, bytes: usize) -> Result<Vec<f64>> {
    let body = vec![b'x'; bytes];
    let mut times = Vec::new();
    for _ in 0..TURNS {
        let began = Instant::now();
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        write!(stream, "POST / HTTP/1.1\r\ncontent-length: {bytes}\r\n\r\n")?;
        stream.write_all(&body)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        times.push(began.elapsed().as_secs_f64() * 1_000.0);
    }
    Ok(times)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

struct Wall;

impl Clock for Wall {
    fn now_ms(&self) -> u64 {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
    }
}

/// Takes the time from one turn's start to the next.
#[derive(Default)]
struct Watch {
    began: Option<Instant>,
    turns: Vec<f64>,
}

impl Observer for Watch {
    fn wants_stream(&self) -> bool {
        false
    }

    fn notice(&mut self, event: &Event<'_>) {
        if let Event::TurnStarted { .. } = event {
            let now = Instant::now();
            if let Some(began) = self.began.replace(now) {
                self.turns.push((now - began).as_secs_f64() * 1_000.0);
            }
        }
    }
}

struct Nothing(llm::Tool);

impl Nothing {
    fn new() -> Nothing {
        Nothing(llm::Tool {
            name: "nothing".to_owned(),
            description: "Does nothing.".to_owned(),
            schema: json!({"type": "object"}),
        })
    }
}

impl Tool for Nothing {
    fn declaration(&self) -> &llm::Tool {
        &self.0
    }

    fn effect(&self) -> Effect {
        Effect::Changes
    }

    fn call<'a>(&'a self, _given: Given<'a>) -> Called<'a> {
        // A result goes into the conversation as JSON, quotes and line ends escaped.
        let line = "fn main() { println!(\"{}\", 1); }\n";
        let lines = line.repeat(MESSAGE_BYTES / (line.len() + 3));
        Box::pin(std::future::ready(Ok(Output::new(Value::from(lines)))))
    }
}

/// Answers every request with the same tool call.
struct Server {
    address: SocketAddr,
    /// The size of the last request.
    bytes: Arc<AtomicUsize>,
}

impl Server {
    fn start() -> Result<Server> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let bytes = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&bytes);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(stream, &seen);
            }
        });
        Ok(Server { address, bytes })
    }
}

fn serve(mut stream: TcpStream, seen: &AtomicUsize) -> Option<()> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 1 << 16];
    let head = loop {
        let count = stream.read(&mut piece).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))?;
    let length: usize = length.trim().parse().ok()?;
    let mut read = bytes.len() - head;
    while read < length {
        read += stream.read(&mut piece).ok().filter(|count| *count > 0)?;
    }
    seen.store(length, Ordering::Relaxed);
    let call =
        json!({"id": "c", "type": "function", "function": {"name": "nothing", "arguments": "{}"}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let body = json!({"id": "m", "object": "chat.completion", "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}})
    .to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).ok()
}
