//! Limits of one run of the loop. Each field is a setting under `agent.` of the same name.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The limits of a run; every one appears by its name in the error when it is hit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Replies of the model in one run.
    pub turns_max: u32,
    /// Tool calls in one reply; the model is told that the rest were not made.
    pub calls_per_turn_max: u32,
    /// The same call with the same arguments, one after the other.
    pub identical_calls_max: u32,
    /// Replies in a row that were cut off at the token limit.
    pub cut_replies_max: u32,
    /// Time, without the time between a crash and its resume.
    pub wall_seconds_max: u64,
    /// Tokens of the whole conversation, in all buckets.
    pub tokens_max: Option<u64>,
    /// Money for the whole conversation, in millionths of a dollar.
    pub micro_usd_max: Option<u64>,
    /// Size of one tool result as the model gets it; the middle is left out.
    pub output_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            turns_max: 100,
            calls_per_turn_max: 64,
            identical_calls_max: 3,
            cut_replies_max: 3,
            wall_seconds_max: 60 * 60,
            tokens_max: None,
            micro_usd_max: None,
            output_bytes_max: 48 * 1024,
        }
    }
}

impl Limits {
    /// Returns the time a run may take.
    pub(crate) fn wall_max(&self) -> Duration {
        Duration::from_secs(self.wall_seconds_max)
    }
}
