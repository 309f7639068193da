//! A sign of life on stderr for what takes longer than a second, and only on a terminal.

use std::io::IsTerminal as _;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dialoguer::console::{Term, truncate_str};

use crate::output;

/// Before this, showing anything would only flicker.
const QUIET_FOR: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(120);
const FRAMES: [char; 8] = ['⠁', '⠂', '⠄', '⡀', '⢀', '⠠', '⠐', '⠈'];
/// Columns that stay free at the end of the line.
const ROOM: usize = 4;

/// Work under way; dropping it takes the sign away.
pub(crate) struct ProgressSpinner {
    running: Option<(Sender<String>, JoinHandle<()>)>,
}

impl ProgressSpinner {
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

    /// Shows the current activity.
    pub(crate) fn say(&self, message: String) {
        if let Some((sender, _)) = &self.running {
            // The thread ends after this sender does.
            let _ = sender.send(message);
        }
    }
}

/// Shows the last message until the other end goes away, which it does when the work is done.
fn show(mut message: String, receiver: &Receiver<String>) {
    let began = Instant::now();
    let quiet_until = began + QUIET_FOR;
    loop {
        let left = quiet_until.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left) {
            Ok(newer) => message = newer,
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
    let terminal = Term::stderr();
    for frame in FRAMES.iter().cycle() {
        draw(&terminal, &format!("{frame} {message}"), began.elapsed());
        match receiver.recv_timeout(TICK) {
            Ok(newer) => message = newer,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let _ = terminal.clear_line();
}

/// Draws one line over the last one. It leaves room at its end: the terminal writes `^C` behind the line
/// when a person presses it, and a full line would push that, and what clears it, to the next one.
fn draw(terminal: &Term, message: &str, took: Duration) {
    let columns = usize::from(terminal.size().1);
    let took = format!(" ({} s)", took.as_secs());
    let room = columns.saturating_sub(took.len() + ROOM);
    let message = output::harmless(message.lines().next().unwrap_or_default());
    let message = truncate_str(&message, room, "…");
    // That a sign of life cannot be seen is no reason to fail.
    let _ = terminal.write_str(&format!("\r{message}{took}\u{1b}[K"));
}

impl Drop for ProgressSpinner {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.running.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}
