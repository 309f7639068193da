//! The project's checks: found, run on the untouched tree, and run on the work.
//!
//! Only *new* failures count. What failed before the job fails after it without being the job's
//! fault; what is compared are identities such as a test's name or a file with a message, not line
//! numbers, which move.
//!
//! A check that cannot run, before and after, has *not judged* the work. That is neither a pass nor a
//! failure, and [`Report::judgement`] keeps the three apart for the whole build.

pub(crate) mod baseline;
pub(crate) mod checks;
mod comments;
mod detect;
mod environment;
mod failures;
pub(crate) mod rules;
mod skips;

use serde::{Deserialize, Serialize};
use workspace::RelPath;

pub use detect::detect;
pub(crate) use environment::Environment;
pub use failures::{Failures, new_ones, read as read_failures};
pub(crate) use skips::new_skips;

/// A check of the project: one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Check {
    /// What it is called: `typecheck`, `lint`, `test`, `build`, or a name of the settings.
    pub name: String,
    /// The command line.
    pub run: String,
    /// Where it is run; the project's root if left out.
    #[serde(default = "RelPath::root")]
    pub cwd: RelPath,
    /// How long it may take; `builder.check_seconds_max` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
}

/// What one round of checks found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Report {
    /// One entry for each check, in their order.
    pub checks: Vec<CheckReport>,
}

/// What became of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// The check.
    pub name: String,
    /// Its command line.
    pub command: String,
    /// All in all.
    pub verdict: Verdict,
    /// How the command ended, where it ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Failures that were not there before.
    pub new_failures: Vec<String>,
    /// How many failures were there before and still are.
    pub old_failures: usize,
    /// Why the check judged nothing: what the command said last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The end of what the command said, where something new failed or nothing could be judged.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// How long it took.
    pub duration_ms: u64,
}

/// What a check came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The command ended with code 0.
    Passed,
    /// It fails, and it failed in the same ways before.
    FailedBefore,
    /// It fails before and after the change without naming a place: it could not run.
    #[serde(alias = "unjudged")]
    NotJudged,
    /// It fails in ways that are new.
    Failed,
    /// It was not run, and is not said to have passed.
    Skipped,
}

/// What the checks say about a whole build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// At least one check judged the work, and nothing fails that passed before.
    Passed,
    /// Something fails that passed before.
    Failed,
    /// No check could judge the work, or the project has none.
    NotJudged,
}

/// Whether a test shows that a bug is fixed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Proven {
    /// These tests fail without the change and pass with it.
    Proven {
        /// Their names, or the name of the check.
        tests: Vec<String>,
    },
    /// The tests of the job pass without the change as well.
    NotProven {
        /// A sentence.
        because: String,
    },
    /// It could not be tried.
    NotChecked {
        /// A sentence.
        because: String,
    },
}

impl Report {
    /// Whether something is new and fails.
    pub fn has_failed(&self) -> bool {
        self.checks
            .iter()
            .any(|check| check.verdict == Verdict::Failed)
    }

    /// What the checks say about the build as a whole.
    pub fn judgement(&self) -> Judgement {
        let judged =
            |check: &CheckReport| !matches!(check.verdict, Verdict::Skipped | Verdict::NotJudged);
        if self.has_failed() {
            Judgement::Failed
        } else if self.checks.iter().any(judged) {
            Judgement::Passed
        } else {
            Judgement::NotJudged
        }
    }

    /// Whether there were checks and none of them could judge the work. A project without checks
    /// is another matter: the plan says so before anybody approves it.
    pub fn judged_nothing(&self) -> bool {
        !self.checks.is_empty() && self.judgement() == Judgement::NotJudged
    }

    /// Whether everything passes that passed before; `None` where nothing was judged.
    pub fn passed(&self) -> Option<bool> {
        match self.judgement() {
            Judgement::Passed => Some(true),
            Judgement::Failed => Some(false),
            Judgement::NotJudged => None,
        }
    }

    /// Whether there is less to mend than there was: fewer checks fail, or the same fail in fewer
    /// ways, or what kept tests from running at all is mended.
    pub fn is_better_than(&self, before: &Report) -> bool {
        let failing = |report: &Report| {
            let failed = |check: &&CheckReport| check.verdict == Verdict::Failed;
            report.checks.iter().filter(failed).count()
        };
        let left = |report: &Report| (failing(report), report.new_failures());
        let blocks = |report: &Report| {
            let mut failures = report.checks.iter().flat_map(|check| &check.new_failures);
            failures.any(|failure| !failure.starts_with("test "))
        };
        left(self) < left(before) || (blocks(before) && !blocks(self))
    }

    /// How many new failures there are.
    pub fn new_failures(&self) -> usize {
        self.checks
            .iter()
            .map(|check| check.new_failures.len())
            .sum()
    }
}
