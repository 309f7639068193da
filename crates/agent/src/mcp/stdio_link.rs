//! The wire to a server: one JSON message per line, over a program that `exec` keeps.

use std::future::{Future, ready};
use std::io;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use exec::{CommandSession, Invocation, OutputStream, SessionEvent};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;

/// Read timeout per poll, before pending writes are checked.
const TICK: Duration = Duration::from_millis(5);
/// Time a server has to end when it is no longer needed.
const CLOSE_GRACE: Duration = Duration::from_millis(500);
/// Messages that wait to be read; a server that sends more waits.
const WAITING_MAX: usize = 64;

/// The two ends that `rmcp` holds. The program ends when they are dropped.
pub(super) struct McpStdioLink {
    say: Option<mpsc::Sender<String>>,
    hear: tokio::sync::mpsc::Receiver<String>,
}

impl McpStdioLink {
    /// Starts the program, and a thread that talks to it.
    pub(super) fn open(invocation: &Invocation) -> Result<McpStdioLink, exec::Error> {
        let session = CommandSession::start(invocation)?;
        let (say, to_say) = mpsc::channel();
        let (heard, hear) = tokio::sync::mpsc::channel(WAITING_MAX);
        thread::spawn(move || attend(session, &to_say, &heard));
        Ok(McpStdioLink {
            say: Some(say),
            hear,
        })
    }
}

/// Carries lines both ways until one side has had enough.
fn attend(
    mut session: CommandSession,
    to_say: &mpsc::Receiver<String>,
    heard: &tokio::sync::mpsc::Sender<String>,
) {
    loop {
        loop {
            match to_say.try_recv() {
                Ok(line) => session.say(&line),
                Err(mpsc::TryRecvError::Empty) => break,
                Err(mpsc::TryRecvError::Disconnected) => {
                    session.close(CLOSE_GRACE).ok();
                    return;
                }
            }
        }
        match session.hear(TICK) {
            Ok(SessionEvent::Line(OutputStream::Stdout, line)) => {
                if heard.blocking_send(line).is_err() {
                    session.close(CLOSE_GRACE).ok();
                    return;
                }
            }
            // Its log lines are ignored, and so is a message that is too long.
            Ok(
                SessionEvent::Line(OutputStream::Stderr, _)
                | SessionEvent::Overlong(_)
                | SessionEvent::Nothing,
            ) => {}
            Ok(SessionEvent::Ended(_) | SessionEvent::Cancelled) | Err(_) => return,
        }
    }
}

impl Transport<RoleClient> for McpStdioLink {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        let sent = serde_json::to_string(&message).map_err(io::Error::from);
        let sent = sent.and_then(|line| {
            let say = self.say.as_ref().ok_or_else(closed)?;
            say.send(line).map_err(|_| closed())
        });
        ready(sent)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = self.hear.recv().await?;
            // Servers print other things, too.
            let Ok(value) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            if let Ok(message) = serde_json::from_value(value) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.say = None;
        self.hear.close();
        Ok(())
    }
}
