//! The project's checks: detected, run on the untouched tree, and run on the work.
//!
//! Only *new* failures count. A failure from before the job is not the job's fault. The comparison
//! uses identities such as a test's name or a file with a message, not line numbers, which move.
//!
//! A check that cannot run, before and after, has *not judged* the work. That is neither a pass nor
//! a failure, and [`ValidationReport::judgement`] keeps the three apart for the whole build.

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
pub(crate) use environment::CheckEnvironment;
pub use failures::{FailureCounts, new_ones, read as read_failures};
pub(crate) use skips::new_skips;

/// A check of the project: one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProjectCheck {
    /// The check's name: `typecheck`, `lint`, `test`, `build`, or a name from the settings.
    pub name: String,
    /// The command line.
    pub run: String,
    /// The directory to run in; the project's root if absent.
    #[serde(default = "RelPath::root")]
    pub cwd: RelPath,
    /// Time limit; `builder.check_seconds_max` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
}

/// The results of one round of checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ValidationReport {
    /// One entry for each check, in their order.
    pub checks: Vec<CheckReport>,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// The check.
    pub name: String,
    /// Its command line.
    pub command: String,
    /// The verdict.
    pub verdict: CheckVerdict,
    /// The command's exit code, if it ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Failures that were not there before.
    pub new_failures: Vec<String>,
    /// Number of failures that were there before and still are.
    pub old_failures: usize,
    /// The reason why the check judged nothing: the last output of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// If it failed and the sandbox may be the cause: a sentence with the setting to change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// The end of the output, if something new failed or nothing could be judged.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// Milliseconds it took.
    pub duration_ms: u64,
}

/// The verdict of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// The command ended with code 0.
    Passed,
    /// It fails, and failed in the same ways before.
    FailedBefore,
    /// It fails before and after the change without naming a place: it could not run.
    #[serde(alias = "unjudged")]
    NotJudged,
    /// It fails in ways that are new.
    Failed,
    /// It was not run, and does not count as passed.
    Skipped,
}

/// The judgement of all checks about a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BuildJudgement {
    /// At least one check judged the work, and everything that passed before still passes.
    Passed,
    /// A check fails that passed before.
    Failed,
    /// No check could judge the work, or the project has no checks.
    NotJudged,
}

/// Tells whether a test shows that a bug is fixed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum FixProof {
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

impl ValidationReport {
    /// Returns true if there is a new failure.
    pub fn has_failed(&self) -> bool {
        self.checks
            .iter()
            .any(|check| check.verdict == CheckVerdict::Failed)
    }

    /// Judges the build as a whole.
    pub fn judgement(&self) -> BuildJudgement {
        let judged = |check: &CheckReport| {
            !matches!(
                check.verdict,
                CheckVerdict::Skipped | CheckVerdict::NotJudged
            )
        };
        if self.has_failed() {
            BuildJudgement::Failed
        } else if self.checks.iter().any(judged) {
            BuildJudgement::Passed
        } else {
            BuildJudgement::NotJudged
        }
    }

    /// Returns true if there were checks and none of them could judge the work. A project without
    /// checks is another case: its plan says so before a person approves it.
    pub(crate) fn judged_nothing(&self) -> bool {
        !self.checks.is_empty() && self.judgement() == BuildJudgement::NotJudged
    }

    /// Returns true if everything passes that passed before, or `None` if nothing was judged.
    pub fn passed(&self) -> Option<bool> {
        match self.judgement() {
            BuildJudgement::Passed => Some(true),
            BuildJudgement::Failed => Some(false),
            BuildJudgement::NotJudged => None,
        }
    }

    /// Returns true if fewer failures remain than before: fewer checks fail, or the same fail in
    /// fewer ways, or the cause that kept tests from running is repaired.
    pub(crate) fn is_better_than(&self, before: &ValidationReport) -> bool {
        let failing = |report: &ValidationReport| {
            let failed = |check: &&CheckReport| check.verdict == CheckVerdict::Failed;
            report.checks.iter().filter(failed).count()
        };
        let left = |report: &ValidationReport| (failing(report), report.new_failures());
        let blocks = |report: &ValidationReport| {
            let mut failures = report.checks.iter().flat_map(|check| &check.new_failures);
            failures.any(|failure| !failure.starts_with("test "))
        };
        left(self) < left(before) || (blocks(before) && !blocks(self))
    }

    /// Counts the new failures.
    pub fn new_failures(&self) -> usize {
        self.checks
            .iter()
            .map(|check| check.new_failures.len())
            .sum()
    }
}
