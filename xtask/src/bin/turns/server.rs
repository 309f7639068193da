//! A server that answers every request at once with the same tool call, in the format it is asked in.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::clocks::ms_since;

/// As much as is read from a connection at once.
const PIECE_BYTES: usize = 1 << 18;

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// The size of the last request.
    bytes: Arc<AtomicUsize>,
}

impl Server {
    pub(crate) fn start() -> Result<Server> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let bytes = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&bytes);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                thread::spawn(move || serve(&stream, &seen));
            }
        });
        Ok(Server { address, bytes })
    }

    pub(crate) fn last_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The last request's bytes there and an answer back, without anything around them.
    pub(crate) fn exchanges(&self, count: u32) -> Result<Vec<f64>> {
        let bytes = self.last_bytes();
        let body = vec![b'x'; bytes];
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        let mut answers = BufReader::new(stream.try_clone()?);
        let mut times = Vec::new();
        for _ in 0..count {
            let began = Instant::now();
            write!(
                stream,
                "POST /messages HTTP/1.1\r\ncontent-length: {bytes}\r\n\r\n"
            )?;
            stream.write_all(&body)?;
            let (_, length) = head(&mut answers).context("the server has gone")?;
            skip(&mut answers, length).context("the server has gone")?;
            times.push(ms_since(began));
        }
        Ok(times)
    }
}

fn serve(stream: &TcpStream, seen: &AtomicUsize) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut requests = BufReader::with_capacity(PIECE_BYTES, stream);
    let mut answers = stream;
    loop {
        let (path, length) = head(&mut requests)?;
        skip(&mut requests, length)?;
        seen.store(length, Ordering::Relaxed);
        let body = answer(&path).to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        answers.write_all((head + &body).as_bytes()).ok()?;
    }
}

/// The second word of the first line, and the length of what follows the head.
fn head(input: &mut impl BufRead) -> Option<(String, usize)> {
    let (mut second, mut length) = (None, None);
    loop {
        let mut line = String::new();
        input.read_line(&mut line).ok().filter(|count| *count > 0)?;
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            return Some((second?, length?));
        }
        if second.is_none() {
            second = line.split(' ').nth(1).map(str::to_owned);
        } else if let Some(text) = line.strip_prefix("content-length:") {
            length = text.trim().parse().ok();
        }
    }
}

/// Without a copy: what a server does with a request is not what is measured.
fn skip(input: &mut impl BufRead, length: usize) -> Option<()> {
    let mut left = length;
    while left > 0 {
        let here = input.fill_buf().ok().filter(|here| !here.is_empty())?;
        let count = here.len().min(left);
        input.consume(count);
        left -= count;
    }
    Some(())
}

fn answer(path: &str) -> Value {
    if path.ends_with("/chat/completions") {
        let call = json!({"id": "c", "type": "function", "function": {"name": "nothing", "arguments": "{}"}});
        let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
        json!({"id": "m", "object": "chat.completion", "model": "scripted",
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}})
    } else if path.ends_with("/messages") {
        let call = json!({"type": "tool_use", "id": "c", "name": "nothing", "input": {}});
        json!({"id": "m", "type": "message", "role": "assistant", "model": "scripted",
            "content": [call], "stop_reason": "tool_use",
            "usage": {"input_tokens": 1, "output_tokens": 1}})
    } else {
        let call = json!({"functionCall": {"name": "nothing", "args": {}}});
        json!({"responseId": "m", "modelVersion": "scripted",
            "candidates": [{"content": {"role": "model", "parts": [call]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}})
    }
}
