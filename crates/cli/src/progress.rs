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
    running: Option<(Sender<String>, JoinHandle<()>)>,
}

impl Progress {
    pub(crate) fn start(message: impl Into<String>) -> Self {
        let message = message.into();
        if !std::io::stderr().is_terminal() {
            return Self { running: None };
        }
        let (sender, receiver) = mpsc::channel::<String>();
        let thread = std::thread::spawn(move || {
            let mut message = message;
            let mut bar: Option<ProgressBar> = None;
            loop {
                match receiver.recv_timeout(QUIET_FOR) {
                    Ok(next) => {
                        if let Some(bar) = &bar {
                            bar.set_message(next.clone());
                        }
                        message = next;
                    }
                    Err(RecvTimeoutError::Timeout) if bar.is_none() => {
                        bar = Some(spinner(&message));
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            if let Some(bar) = bar {
                bar.finish_and_clear();
            }
        });
        Self {
            running: Some((sender, thread)),
        }
    }

    /// Says what is being done now.
    pub(crate) fn now(&self, message: impl Into<String>) {
        if let Some((sender, _)) = &self.running {
            // The thread ends only when this sender does.
            let _ = sender.send(message.into());
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
