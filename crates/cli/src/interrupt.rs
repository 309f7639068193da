//! Ctrl-C: running commands are ended, the cursor comes back, and the exit code is 130.
//!
//! Files need no care here: an apply that is cut off is finished or undone by the next command.
//! Until something is asked or started, the default holds and the process simply ends.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use app::Cancel;

use crate::exit::Exit;

/// Longer than a command gets to end by itself before it is killed.
const COMMANDS_END_MAX: Duration = Duration::from_secs(4);

static CANCEL: OnceLock<Cancel> = OnceLock::new();
static COMMANDS: AtomicUsize = AtomicUsize::new(0);

/// The switch that Ctrl-C throws.
pub(crate) fn cancel() -> Cancel {
    CANCEL.get_or_init(Cancel::default).clone()
}

/// From now on Ctrl-C is handled here.
pub(crate) fn watch() {
    static WATCHING: OnceLock<()> = OnceLock::new();
    WATCHING.get_or_init(|| {
        let cancel = cancel();
        let handled = ctrlc::set_handler(move || {
            let is_second = cancel.is_cancelled();
            cancel.cancel();
            if COMMANDS.load(Ordering::Relaxed) > 0 && !is_second {
                // The run ends its commands and then the process; this is in case it cannot.
                std::thread::sleep(COMMANDS_END_MAX);
            }
            leave();
        });
        // Without a handler Ctrl-C still ends the process, only less politely.
        drop(handled);
    });
}

/// While it lives, Ctrl-C lets the work come to its end by itself.
#[must_use]
pub(crate) struct Busy(());

impl Busy {
    pub(crate) fn start() -> Self {
        command_started();
        Self(())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        command_finished();
    }
}

pub(crate) fn command_started() {
    watch();
    COMMANDS.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn command_finished() {
    let _ = COMMANDS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
        Some(count.saturating_sub(1))
    });
}

pub(crate) fn was_interrupted() -> bool {
    CANCEL.get().is_some_and(Cancel::is_cancelled)
}

/// Ends the process, with the cursor that a menu may have hidden.
pub(crate) fn leave() -> ! {
    let _ = dialoguer::console::Term::stderr().show_cursor();
    std::process::exit(Exit::Interrupted as i32)
}
