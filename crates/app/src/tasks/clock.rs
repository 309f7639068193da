//! The clock of this machine.

use std::time::{SystemTime, UNIX_EPOCH};

/// Real time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemClock;

impl agent::AgentClock for SystemClock {
    fn now_ms(&self) -> u64 {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
    }
}
