//! A sign of life on stderr for what takes longer than a second, and only on a terminal.

use std::io::IsTerminal as _;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Before this, showing anything would only flicker.
const QUIET_FOR: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(120);

/// Work under way; dropping it takes the sign away.
pub(crate) struct Progress {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    pub(crate) fn start(message: impl Into<String>) -> Self {
        let message = message.into();
        if !std::io::stderr().is_terminal() {
            return Self { running: None };
        }
        let (sender, receiver) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            // The other end never sends: it only goes away when the work is done.
            if receiver.recv_timeout(QUIET_FOR) == Err(RecvTimeoutError::Timeout) {
                let bar = spinner(&message);
                let _ = receiver.recv();
                bar.finish_and_clear();
            }
        });
        Self {
            running: Some((sender, thread)),
        }
    }
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
