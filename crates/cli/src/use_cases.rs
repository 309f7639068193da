//! The application as commands use it: every call is waited for on the runtime of the session.

use std::future::Future;
use std::ops::Deref;
use std::rc::Rc;

use app::UseCases;
use tokio::runtime::Runtime;

/// The use cases of the person at the terminal.
pub(crate) struct TerminalUseCases {
    use_cases: UseCases,
    runtime: Rc<Runtime>,
}

impl TerminalUseCases {
    pub(crate) fn new(use_cases: UseCases, runtime: Rc<Runtime>) -> Self {
        Self { use_cases, runtime }
    }

    /// Waits for a use case to end.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }
}

impl Deref for TerminalUseCases {
    type Target = UseCases;

    fn deref(&self) -> &UseCases {
        &self.use_cases
    }
}
