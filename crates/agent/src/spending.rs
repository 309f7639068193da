//! What a conversation used: per call in its turns, per phase and in all.

use std::collections::BTreeMap;

use llm::budget::Entry;
use llm::{Cost, Usage};
use serde::{Deserialize, Serialize};

/// Usage and money of some calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spending {
    /// Calls that reached a provider, failed ones that were billed included.
    pub calls: u64,
    /// Tokens in the five buckets.
    pub usage: Usage,
    /// Money of the calls whose price is known.
    pub micro_usd: u64,
    /// Calls whose price is not known, so that the sum is not taken for all.
    pub unpriced_calls: u64,
}

impl Spending {
    /// The money, if it is known for every call.
    pub fn cost(&self) -> Cost {
        if self.unpriced_calls == 0 {
            Cost::Known(self.micro_usd)
        } else {
            Cost::Unknown
        }
    }

    pub(crate) fn add(&mut self, entry: &Entry) {
        self.calls += 1;
        self.usage += entry.usage;
        match entry.cost {
            Cost::Known(micro_usd) => self.micro_usd = self.micro_usd.saturating_add(micro_usd),
            Cost::Unknown => self.unpriced_calls += 1,
        }
    }
}

/// What a whole conversation used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Committed turns.
    pub turns: u32,
    /// All calls.
    #[serde(flatten)]
    pub all: Spending,
    /// The same by phase, such as `generate` and `repair`.
    pub phases: BTreeMap<String, Spending>,
}

impl Totals {
    pub(crate) fn add(&mut self, phase: &str, entry: &Entry) {
        self.all.add(entry);
        match self.phases.get_mut(phase) {
            Some(spending) => spending.add(entry),
            None => {
                let mut spending = Spending::default();
                spending.add(entry);
                self.phases.insert(phase.to_owned(), spending);
            }
        }
    }
}
