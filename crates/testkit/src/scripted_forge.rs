//! A forge that does exactly what the test scripts, over real TCP.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// The reaction to one request.
#[derive(Clone, Debug)]
pub enum Act {
    /// Status, headers, body.
    Reply(u16, Vec<(&'static str, String)>, String),
    /// Nothing, for a long time.
    Hang,
    /// Closes the connection before answering.
    Break,
    /// So many bytes of body, and never an end.
    Flood(usize),
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Received {
    /// Method and path.
    pub line: String,
    /// All headers, in small letters.
    pub headers: String,
    pub body: Value,
}

pub struct Scripted {
    pub url: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Scripted {
    /// Answers one request after the other; the last answer is given again and again.
    pub fn start(acts: Vec<Act>) -> Scripted {
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
                let act = acts[turn.min(acts.len() - 1)].clone();
                turn += 1;
                thread::spawn(move || perform(stream, act));
            }
        });
        Scripted { url, received }
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Method and path of every request, without the query.
    pub fn lines(&self) -> Vec<String> {
        let received = self.received();
        let line = |request: &Received| request.line.split('?').next().unwrap().to_owned();
        received.iter().map(line).collect()
    }
}

pub fn receive(stream: &mut TcpStream) -> Option<Received> {
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    let head = loop {
        let count = stream.read(&mut piece).ok().filter(|count| *count > 0)?;
        bytes.extend(&piece[..count]);
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let (line, headers) = text.split_once("\r\n")?;
    let headers = headers.to_ascii_lowercase();
    let length = headers
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.trim().parse().unwrap());
    let mut body = bytes[head + 4..].to_vec();
    while body.len() < length {
        let count = stream.read(&mut piece).ok()?;
        body.extend(&piece[..count]);
    }
    Some(Received {
        line: line.trim_end_matches(" HTTP/1.1").to_owned(),
        headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    })
}

fn perform(mut stream: TcpStream, act: Act) {
    match act {
        Act::Break => {}
        Act::Hang => thread::sleep(Duration::from_secs(3600)),
        Act::Flood(bytes) => {
            let head = "HTTP/1.1 200 X\r\nconnection: close\r\n\r\n";
            let _ = stream.write_all(head.as_bytes());
            let piece = vec![b' '; 64 * 1024];
            for _ in 0..bytes / piece.len() {
                if stream.write_all(&piece).is_err() {
                    return;
                }
            }
            thread::sleep(Duration::from_secs(3600));
        }
        Act::Reply(status, headers, body) => {
            let length = body.len();
            let mut head =
                format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n");
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes());
            let _ = stream.shutdown(std::net::Shutdown::Write);
            // Waits for the peer to close: closing first could reset what it has not read yet.
            let _ = stream.read(&mut [0; 64]);
        }
    }
}

pub fn reply(status: u16, body: &str) -> Act {
    Act::Reply(status, Vec::new(), body.to_owned())
}

pub fn reply_with(status: u16, headers: &[(&'static str, &str)], body: &str) -> Act {
    let headers = headers
        .iter()
        .map(|(name, value)| (*name, (*value).to_owned()));
    Act::Reply(status, headers.collect(), body.to_owned())
}
