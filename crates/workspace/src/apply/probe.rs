//! Where tests may interrupt an apply: a probe is asked at every point.

use std::io;

use crate::Error;

/// Asked at every numbered point of an apply. A test's probe panics to play a
/// crash (nothing here cleans up while unwinding) or fails to play a bad disk.
pub(crate) trait Probe {
    fn reached(&self) -> io::Result<()>;
}

impl dyn Probe + '_ {
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.reached()
            .map_err(|source| Error::io("applying changes in", &"the project", source))
    }
}

/// The probe of real life: never interrupts.
pub(crate) struct Unprobed;

impl Probe for Unprobed {
    fn reached(&self) -> io::Result<()> {
        Ok(())
    }
}
