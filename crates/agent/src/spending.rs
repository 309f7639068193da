//! Usage of a conversation: per call in its turns, per phase and in all.

use std::collections::BTreeMap;

use llm::budget::SpendEntry;
use llm::{CallCost, Usage};
use serde::{Deserialize, Serialize};

/// Usage and money of some calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSpending {
    /// Calls that reached a provider, failed ones that were billed included.
    pub calls: u64,
    /// Tokens in the five buckets.
    pub usage: Usage,
    /// Money of the calls whose price is known.
    pub micro_usd: u64,
    /// Calls whose price is not known, so that the sum is not taken for all.
    pub unpriced_calls: u64,
}

impl CallSpending {
    /// Returns the money, if it is known for every call.
    pub fn cost(&self) -> CallCost {
        if self.unpriced_calls == 0 {
            CallCost::Known(self.micro_usd)
        } else {
            CallCost::Unknown
        }
    }

    pub(crate) fn add(&mut self, entry: &SpendEntry) {
        self.calls += 1;
        self.usage += entry.usage;
        match entry.cost {
            CallCost::Known(micro_usd) => self.micro_usd = self.micro_usd.saturating_add(micro_usd),
            CallCost::Unknown => self.unpriced_calls += 1,
        }
    }
}

/// Usage of a whole conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationTotals {
    /// Committed turns.
    pub turns: u32,
    /// All calls.
    #[serde(flatten)]
    pub all: CallSpending,
    /// The same by phase, such as `generate` and `repair`.
    pub phases: BTreeMap<String, CallSpending>,
}

impl ConversationTotals {
    pub(crate) fn add(&mut self, phase: &str, entry: &SpendEntry) {
        self.all.add(entry);
        match self.phases.get_mut(phase) {
            Some(spending) => spending.add(entry),
            None => {
                let mut spending = CallSpending::default();
                spending.add(entry);
                self.phases.insert(phase.to_owned(), spending);
            }
        }
    }
}
