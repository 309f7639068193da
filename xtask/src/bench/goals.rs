//! The goals of a benchmark: a figure, the limit it must keep, and the verdict.

use std::process::ExitCode;

/// A figure that must be at most, or at least, its limit.
pub(crate) struct Goal {
    what: String,
    figure: f64,
    limit: Limit,
}

enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Goal {
    pub(crate) fn at_most(what: impl Into<String>, figure: f64, limit: f64) -> Self {
        Self {
            what: what.into(),
            figure,
            limit: Limit::AtMost(limit),
        }
    }

    pub(crate) fn at_least(what: impl Into<String>, figure: f64, limit: f64) -> Self {
        Self {
            what: what.into(),
            figure,
            limit: Limit::AtLeast(limit),
        }
    }

    fn is_met(&self) -> bool {
        match self.limit {
            Limit::AtMost(limit) => self.figure <= limit,
            Limit::AtLeast(limit) => self.figure >= limit,
        }
    }
}

/// Prints one line per goal; a missed goal fails the run.
pub(crate) fn judge(goals: &[Goal]) -> ExitCode {
    println!("\nGoals");
    for goal in goals {
        let verdict = if goal.is_met() { "PASS" } else { "FAIL" };
        let (sign, limit) = match goal.limit {
            Limit::AtMost(limit) => ("≤", limit),
            Limit::AtLeast(limit) => ("≥", limit),
        };
        println!(
            "  {verdict}  {}: {:.3} ({sign} {limit:.3})",
            goal.what, goal.figure
        );
    }
    if goals.iter().all(Goal::is_met) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_met_up_to_its_limit() {
        let cases = [
            (Goal::at_most("ratio", 0.05, 0.05), true),
            (Goal::at_most("ratio", 0.051, 0.05), false),
            (Goal::at_least("speed", 3.0, 3.0), true),
            (Goal::at_least("speed", 2.9, 3.0), false),
            (Goal::at_most("nothing measured", f64::NAN, 1.0), false),
        ];
        for (goal, expected) in cases {
            assert_eq!(goal.is_met(), expected, "{} {}", goal.what, goal.figure);
        }
    }
}
