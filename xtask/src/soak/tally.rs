//! Adds up the numbers that the tests print, by name.

use std::collections::BTreeMap;
use std::fmt;

/// The prefix of a line of numbers.
const MARK: &str = "soak ";

/// Numbers in the order of their names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    counts: BTreeMap<String, u64>,
}

impl Tally {
    pub(super) fn add(&mut self, name: &str, count: u64) {
        *self.counts.entry(name.to_owned()).or_default() += count;
    }

    /// Adds every line of the form `soak name=number name=number …`.
    pub(super) fn read(&mut self, said: &str) {
        let lines = said.lines().filter_map(|line| line.strip_prefix(MARK));
        for (name, count) in lines.flat_map(str::split_whitespace).filter_map(pair) {
            self.add(name, count);
        }
    }

    pub(super) fn violations(&self) -> u64 {
        self.counts.get("violations").copied().unwrap_or(0)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others = self.counts.iter().filter(|(name, _)| *name != "violations");
        for (name, count) in others {
            write!(f, "{} {count}, ", name.replace('_', " "))?;
        }
        write!(f, "violations {}", self.violations())
    }
}

fn pair(word: &str) -> Option<(&str, u64)> {
    let (name, count) = word.split_once('=')?;
    Some((name, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn what_tests_say_is_added_up() {
        let mut tally = Tally::default();
        tally.read("storm 1\nsoak seeds=1 server_kills=2\nother runs=9\nsoak seeds=1 runs=40\n");
        assert_eq!(
            tally.to_string(),
            "runs 40, seeds 2, server kills 2, violations 0"
        );
        tally.add("violations", 1);
        assert_eq!(tally.violations(), 1);
    }
}
