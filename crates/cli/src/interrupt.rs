//! Ctrl-C and SIGTERM: running commands are ended, the cursor comes back, and the exit code is 130; what
//! was asked to stop and has stopped in order says its own.
//!
//! Files need no care here: an apply that is cut off is finished or undone by the next command.
//! Until something is asked or started, the default holds and the process simply ends.

use std::io::IsTerminal as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use app::CommandCancel;

use crate::exit::CliExit;

/// Longer than a command gets to end by itself before it is killed.
const COMMANDS_END_MAX: Duration = Duration::from_secs(4);
/// Time a worker has to let its tasks end and to give back the rest.
const WORK_END_MAX: Duration = Duration::from_secs(30);

static CANCEL: OnceLock<CommandCancel> = OnceLock::new();
static COMMANDS: AtomicUsize = AtomicUsize::new(0);
static WORKERS: AtomicUsize = AtomicUsize::new(0);
static SIGNALS: AtomicUsize = AtomicUsize::new(0);
static OBEYED: AtomicBool = AtomicBool::new(false);
static TOLD: AtomicBool = AtomicBool::new(false);

/// Returns the switch that Ctrl-C throws.
pub(crate) fn cancel() -> CommandCancel {
    CANCEL.get_or_init(CommandCancel::default).clone()
}

/// Handles Ctrl-C here from now on.
pub(crate) fn watch() {
    static WATCHING: OnceLock<()> = OnceLock::new();
    WATCHING.get_or_init(|| {
        let cancel = cancel();
        let handled = ctrlc::set_handler(move || {
            // Not told by the switch: a question that Ctrl-C has ended throws it, too.
            let is_second = SIGNALS.fetch_add(1, Ordering::Relaxed) > 0;
            cancel.cancel();
            let patience = patience();
            if is_second || patience.is_zero() {
                leave();
            }
            // The run ends its commands and then the process; this is in case it cannot. Not slept
            // here, where a second Ctrl-C would not be heard.
            std::thread::spawn(move || {
                std::thread::sleep(patience);
                leave();
            });
        });
        // Without a handler Ctrl-C still ends the process, only less politely.
        drop(handled);
    });
}

fn patience() -> Duration {
    let is_any = |count: &AtomicUsize| count.load(Ordering::Relaxed) > 0;
    match (is_any(&WORKERS), is_any(&COMMANDS)) {
        (true, _) => WORK_END_MAX,
        (false, true) => COMMANDS_END_MAX,
        (false, false) => Duration::ZERO,
    }
}

/// While it lives, Ctrl-C lets the work come to its end by itself.
#[must_use]
pub(crate) struct InterruptGuard(&'static AtomicUsize);

impl InterruptGuard {
    pub(crate) fn start() -> Self {
        Self::counted(&COMMANDS)
    }

    /// Makes the guard of a worker, which needs more time to end.
    pub(crate) fn work() -> Self {
        Self::counted(&WORKERS)
    }

    fn counted(count: &'static AtomicUsize) -> Self {
        watch();
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for InterruptGuard {
    fn drop(&mut self) {
        finished(self.0);
    }
}

/// Notes that the command has stopped as Ctrl-C asked, and reports its own end.
pub(crate) fn obeyed() {
    OBEYED.store(true, Ordering::Relaxed);
}

/// Notes that the person has been told that the run stopped, so that no second message follows.
pub(crate) fn told() {
    TOLD.store(true, Ordering::Relaxed);
}

pub(crate) fn was_told() -> bool {
    TOLD.load(Ordering::Relaxed)
}

pub(crate) fn command_started() {
    watch();
    COMMANDS.fetch_add(1, Ordering::Relaxed);
}

/// Throws the switch for a question that Ctrl-C has ended. The signal itself may be handled a
/// moment later, on another thread: it must not end the process before the answers so far are
/// saved.
pub(crate) fn question_ended() {
    command_started();
    cancel().cancel();
}

pub(crate) fn command_finished() {
    finished(&COMMANDS);
}

fn finished(count: &AtomicUsize) {
    let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
        Some(count.saturating_sub(1))
    });
}

pub(crate) fn was_interrupted() -> bool {
    let is_cancelled = CANCEL.get().is_some_and(CommandCancel::is_cancelled);
    is_cancelled && !OBEYED.load(Ordering::Relaxed)
}

/// Shows the cursor again that a menu may have hidden. Where no terminal is, none has, and the characters
/// would be in a log.
pub(crate) fn show_cursor() {
    if std::io::stderr().is_terminal() {
        let _ = dialoguer::console::Term::stderr().show_cursor();
    }
}

/// Ends the process.
pub(crate) fn leave() -> ! {
    show_cursor();
    std::process::exit(CliExit::Interrupted as i32)
}
