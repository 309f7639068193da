//! Watches a worker: gets the events of its runs.

use flow::engine::RunEvent;
use flow::{LogLine, TaskId};
use store::PendingWork;

/// Sees what happens.
pub trait RunWatcher: Send {
    /// Gets the next events of the run that the worker waits for, or of every run it works on.
    fn events(&mut self, events: &[RunEvent]);

    /// The next lines that a command has printed; asked for by [`RunWatcher::wants_lines`].
    fn printed(&mut self, _lines: &[LogLine]) {}

    /// Returns true if the worker must read the lines that a task prints.
    fn wants_lines(&self, _task: &TaskId) -> bool {
        false
    }

    /// Called when nothing happened for a moment.
    fn tick(&mut self) {}

    /// Called with the work that a worker waits for before it ends when idle.
    fn waiting(&mut self, _pending: PendingWork) {}

    /// Returns true if the worker must read events for it.
    fn is_looking(&self) -> bool {
        true
    }
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoWatcher;

impl RunWatcher for NoWatcher {
    fn events(&mut self, _events: &[RunEvent]) {}

    fn is_looking(&self) -> bool {
        false
    }
}
