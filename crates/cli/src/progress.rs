//! A sign of life on stderr for what takes longer than a second, and only on a terminal.

use std::io::IsTerminal as _;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Before this, showing anything would only flicker.
const QUIET_FOR: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(120);

/// Work under way; dropping it takes the sign away.
pub(crate) struct Progress {
    running: Option<(Sender<String>, JoinHandle<()>)>,
}

impl Progress {
    pub(crate) fn start(message: impl Into<String>) -> Self {
        let message = message.into();
        if !std::io::stderr().is_terminal() {
            return Self { running: None };
        }
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::spawn(move || show(message, &receiver));
        Self {
            running: Some((sender, thread)),
        }
    }

    /// What is being done now.
    pub(crate) fn say(&self, message: String) {
        if let Some((sender, _)) = &self.running {
            // The thread ends after this sender does.
            let _ = sender.send(message);
        }
    }
}

/// Shows the last message until the other end goes away, which it does when the work is done.
fn show(mut message: String, receiver: &Receiver<String>) {
    let quiet_until = Instant::now() + QUIET_FOR;
    loop {
        let left = quiet_until.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left) {
            Ok(newer) => message = newer,
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
    let bar = spinner(&message);
    for newer in receiver {
        bar.set_message(newer);
    }
    bar.finish_and_clear();
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.running.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

fn spinner(message: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.set_message(message.to_owned());
    bar.enable_steady_tick(TICK);
    bar
}
