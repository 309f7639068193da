//! Usage of a call, in the buckets providers bill by, and its cost.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// Tokens of one call or of many.
///
/// `input`, `cache_read` and `cache_write` do not overlap: together they are what was sent.
/// `reasoning` is the part of `output` that was spent on thinking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub reasoning: u64,
}

impl Usage {
    /// Returns everything that went over the wire, both ways.
    pub fn total(&self) -> u64 {
        let sent = self
            .input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write);
        sent.saturating_add(self.output)
    }

    /// Servers that do not count report nothing, or zeros.
    pub(crate) fn is_reported(&self) -> bool {
        self.total() > 0
    }
}

impl Add for Usage {
    type Output = Usage;

    fn add(self, other: Usage) -> Usage {
        Usage {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            reasoning: self.reasoning.saturating_add(other.reasoning),
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        *self = *self + other;
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Usage>>(all: I) -> Usage {
        all.fold(Usage::default(), Add::add)
    }
}

/// Money, in millionths of a US dollar. An unknown sum is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallCost {
    Known(u64),
    Unknown,
}

impl CallCost {
    pub const NOTHING: CallCost = CallCost::Known(0);

    pub fn micro_usd(self) -> Option<u64> {
        match self {
            CallCost::Known(micro_usd) => Some(micro_usd),
            CallCost::Unknown => None,
        }
    }
}

impl Add for CallCost {
    type Output = CallCost;

    /// Adds two costs; a sum with an unknown cost in it is unknown.
    fn add(self, other: CallCost) -> CallCost {
        match (self, other) {
            (CallCost::Known(a), CallCost::Known(b)) => CallCost::Known(a.saturating_add(b)),
            _ => CallCost::Unknown,
        }
    }
}

impl Sum for CallCost {
    fn sum<I: Iterator<Item = CallCost>>(all: I) -> CallCost {
        all.fold(CallCost::NOTHING, Add::add)
    }
}

impl std::fmt::Display for CallCost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CallCost::Known(micro_usd) => f.write_str(&dollars(*micro_usd)),
            CallCost::Unknown => f.write_str("unknown"),
        }
    }
}

/// Dollars with four decimals, or six where four would show nothing.
pub fn dollars(micro_usd: u64) -> String {
    let (whole, part) = (micro_usd / 1_000_000, micro_usd % 1_000_000);
    if micro_usd > 0 && micro_usd < 100 {
        return format!("${whole}.{part:06}");
    }
    // Half up, in integers: a float would print 0.0000 for what is not nothing.
    let rounded = (micro_usd + 50) / 100;
    format!("${}.{:04}", rounded / 10_000, rounded % 10_000)
}

#[cfg(test)]
mod tests {
    use super::{CallCost, Usage, dollars};

    #[test]
    fn a_sum_with_an_unknown_part_is_unknown() {
        assert_eq!(
            [CallCost::Known(2), CallCost::Known(3)]
                .into_iter()
                .sum::<CallCost>(),
            CallCost::Known(5)
        );
        assert_eq!(
            [CallCost::Known(2), CallCost::Unknown]
                .into_iter()
                .sum::<CallCost>(),
            CallCost::Unknown
        );
        assert_eq!(CallCost::Unknown.to_string(), "unknown");
    }

    #[test]
    fn sent_and_received_add_up_without_the_overlap() {
        let usage = Usage {
            input: 10,
            output: 20,
            cache_read: 30,
            cache_write: 40,
            reasoning: 15,
        };
        assert_eq!(usage.total(), 100);
        assert_eq!((usage + usage).reasoning, 30);
        assert!(!Usage::default().is_reported());
    }

    #[test]
    fn small_amounts_are_not_shown_as_nothing() {
        for (micro_usd, shown) in [
            (0, "$0.0000"),
            (7, "$0.000007"),
            (12_345, "$0.0123"),
            (1_999_950, "$2.0000"),
        ] {
            assert_eq!(dollars(micro_usd), shown);
        }
    }
}
