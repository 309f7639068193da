//! Points at which tests can interrupt an apply: the probe is called at each.

use std::io;

use crate::Error;

/// Called at every numbered point of an apply. A test's probe panics to simulate a crash (no
/// cleanup happens while unwinding) or fails to simulate a bad disk.
pub(crate) trait FailPoint {
    fn reached(&self) -> io::Result<()>;
}

impl dyn FailPoint + '_ {
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.reached()
            .map_err(|source| Error::io("applying changes in", &"the project", source))
    }
}

/// The probe of real life: never interrupts.
pub(crate) struct NoFailPoint;

impl FailPoint for NoFailPoint {
    fn reached(&self) -> io::Result<()> {
        Ok(())
    }
}
