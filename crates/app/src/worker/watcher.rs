//! Watching a worker: what is told about the runs it works on.

use flow::engine::Event;
use store::PendingWork;

/// Sees what happens.
pub trait Watcher {
    /// The next events of the run that is waited for, or of every run that is worked on.
    fn events(&mut self, events: &[Event]);

    /// Nothing happened for a moment.
    fn tick(&mut self) {}

    /// A worker that ends when it is idle waits for this.
    fn waiting(&mut self, _pending: PendingWork) {}

    /// Whether events need to be read for it at all.
    fn is_looking(&self) -> bool {
        true
    }
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Watcher for Nobody {
    fn events(&mut self, _events: &[Event]) {}

    fn is_looking(&self) -> bool {
        false
    }
}
