//! A server on loopback that remembers what it was sent, and answers as it is told.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The variable with the addresses that may be called; a project cannot set it.
pub(crate) const ALLOW: &str = "DRAWLOOM_WORKFLOWS_HTTP_ALLOW";

/// What was sent, request by request.
pub(crate) type SentRequests = Arc<Mutex<Vec<String>>>;

/// Starts a server whose answer is made from the request.
pub(crate) fn listen(
    answer: impl Fn(&str) -> String + Send + 'static,
) -> (SocketAddr, SentRequests) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let sent = SentRequests::default();
    let log = Arc::clone(&sent);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
            let mut bytes = vec![0; 64 * 1024];
            let count = stream.read(&mut bytes).unwrap_or(0);
            let head = String::from_utf8_lossy(&bytes[..count]).to_string();
            let reply = answer(&head);
            log.lock().unwrap().push(head);
            let _ = stream.write_all(reply.as_bytes());
        }
    });
    (address, sent)
}

/// An ordinary answer.
pub(crate) fn fine(_: &str) -> String {
    reply("200 OK", "", r#"{"ok":true}"#)
}

pub(crate) fn reply(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    )
}

/// A workflow of one `http` step.
pub(crate) fn calling(config: &serde_json::Value) -> String {
    let config =
        serde_json::json!({ "handler": "http", "config": config, "retry": { "attempts": 1 } });
    format!(
        "graph TD\n A[Call]\n%% === WORKFLOW_CONFIG ===\n%% @A: {config}\n%% === END_CONFIG ===\n"
    )
}
