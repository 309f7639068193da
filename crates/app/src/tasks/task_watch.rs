//! How this process shows and ends the tasks that it works on itself.

use std::sync::{Arc, Mutex, PoisonError};

use agent::handlers::TaskObserver;
use exec::CommandCancel;

/// Makes an observer for one task: tasks of a plan are worked on side by side.
pub type TaskObservers = Arc<dyn Fn() -> Box<dyn TaskObserver> + Send + Sync>;

/// Shows the tasks that this process works on, and ends them.
pub(crate) struct TaskWatch {
    observers: TaskObservers,
    cancel: CommandCancel,
    warnings: Mutex<Vec<String>>,
}

impl TaskWatch {
    pub(super) fn new(observers: TaskObservers, cancel: CommandCancel) -> TaskWatch {
        TaskWatch {
            observers,
            cancel,
            warnings: Mutex::default(),
        }
    }

    /// Returns an observer for one task.
    pub(crate) fn observer(&self) -> Box<dyn TaskObserver> {
        (self.observers)()
    }

    /// Tells whether the person has asked for the work to end.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Keeps sentences about problems beside the work, each once.
    pub(crate) fn warn(&self, warnings: Vec<String>) {
        let mut known = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        for warning in warnings {
            if !known.contains(&warning) {
                known.push(warning);
            }
        }
    }

    pub(super) fn take_warnings(&self) -> Vec<String> {
        let mut known = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut known)
    }
}
