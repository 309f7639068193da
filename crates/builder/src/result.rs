//! The result of a job, as its JSON shows it.

use agent::{CallSpending, ConversationTotals};
use llm::Usage;
use serde::{Deserialize, Serialize};
use workspace::RelPath;

use crate::validation::{BuildJudgement, CheckReport, FixProof};

/// The results of a job so far. Each stage adds to it; unknown values are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BuildResult {
    /// The files that were made, changed, moved or deleted.
    pub files: Vec<ChangedFile>,
    /// A unified diff for each of them.
    pub diffs: Vec<FileDiff>,
    /// The parts of the plan that were carried out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_coverage: Option<PlanCoverage>,
    /// Files that import, directly or through others, something that was changed.
    pub impacted_files: Vec<RelPath>,
    /// The tests among them.
    pub impacted_tests: Vec<RelPath>,
    /// The report of each check.
    pub validation: Vec<CheckReport>,
    /// The judgement of all checks: `passed`, `failed` or `not_judged`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judgement: Option<BuildJudgement>,
    /// The reason why the build is a draft, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<DraftReason>,
    /// True if every check that passed before the job passes now. Absent if nothing was judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_passed: Option<bool>,
    /// The remaining failures, one entry for each error.
    pub validation_errors: Vec<String>,
    /// For a bug fix: the proof by a test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<FixProof>,
    /// The model's closing message: its changes, and what a reviewer should look at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closing_words: Option<String>,
    /// Lines by which the build turns tests off, as `file:line: text`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped_tests: Vec<String>,
    /// Number of rounds in which the model repaired failed checks.
    pub repair_attempts: u32,
    /// Tokens of all calls, planning included.
    pub token_usage: TokenUsage,
    /// The cost of all calls, planning included.
    pub cost: BuildCost,
    /// The branch with the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Its commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// True once the branch is pushed.
    pub pushed: bool,
    /// The pull request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pr_url: Option<String>,
    /// Its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pr_number: Option<u64>,
    /// The file with the work as a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch_file: Option<String>,
    /// Notes for the user, a sentence each.
    pub notes: Vec<String>,
}

impl BuildResult {
    /// Adds a note, unless it is there already.
    pub fn note(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if !self.notes.contains(&sentence) {
            self.notes.push(sentence);
        }
    }

    /// Returns true if the work is published as a draft.
    pub fn is_draft(&self) -> bool {
        // Jobs stored before draft reasons existed only record that checks fail.
        self.draft.is_some() || self.validation_passed == Some(false)
    }

    /// Adds up the usage of the job's conversations.
    pub fn spent<'t>(&mut self, totals: impl IntoIterator<Item = &'t ConversationTotals>) {
        let mut usage = Usage::default();
        let mut cost = BuildCost::default();
        for totals in totals {
            usage += totals.all.usage;
            cost.add(&totals.all);
            for (phase, spending) in &totals.phases {
                cost.add_phase(phase, spending);
            }
        }
        self.token_usage = TokenUsage::from(usage);
        self.cost = cost;
    }
}

/// Why a build is a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DraftReason {
    /// A check fails that passed before, and repairs did not help.
    ChecksFailed,
    /// The project has checks, and none of them could run.
    NotJudged,
}

/// A file that was made, changed, moved or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedFile {
    /// The file's path, also if it was deleted.
    pub path: RelPath,
    /// The change made to it.
    pub action: FileOutcome,
    /// The old path, if it was moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<RelPath>,
    /// Number of added lines.
    pub lines_added: usize,
    /// Number of removed lines.
    pub lines_removed: usize,
}

/// The change made to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileOutcome {
    /// The file is new.
    Created,
    /// The content changed.
    Modified,
    /// The file was deleted.
    Deleted,
    /// The path changed, and perhaps the content.
    Renamed,
}

/// The difference of one file, as `git apply` reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    /// The file.
    pub path: RelPath,
    /// The unified diff.
    pub diff: String,
}

/// The parts of a plan that were carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanCoverage {
    /// The files of the plan.
    pub planned: Vec<RelPath>,
    /// The planned files that were changed as planned.
    pub generated: Vec<RelPath>,
    /// The planned files that were not changed as planned.
    pub missing: Vec<RelPath>,
}

/// Tokens in the buckets providers bill by. They do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TokenUsage {
    /// Sent and not cached.
    pub input: u64,
    /// Written by the model, including its reasoning.
    pub output: u64,
    /// Sent and found in the provider's cache.
    pub cache_read: u64,
    /// Sent and put into the provider's cache.
    pub cache_write: u64,
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> TokenUsage {
        TokenUsage {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
        }
    }
}

/// The cost of the calls, in all and by phase. Calls without a known price are counted, not
/// estimated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BuildCost {
    /// Millionths of a dollar, for the calls with a known price.
    pub micro_usd: u64,
    /// Calls to the model.
    pub calls: u64,
    /// Calls without a known price.
    pub unpriced_calls: u64,
    /// The same by phase: `plan`, `generate`, `repair-1`, `repair-2`.
    pub phases: std::collections::BTreeMap<String, PhaseCost>,
}

/// The cost of one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PhaseCost {
    /// Millionths of a dollar, for the calls with a known price.
    pub micro_usd: u64,
    /// Calls to the model.
    pub calls: u64,
    /// Tokens.
    pub token_usage: TokenUsage,
}

impl BuildCost {
    fn add(&mut self, spending: &CallSpending) {
        self.micro_usd = self.micro_usd.saturating_add(spending.micro_usd);
        self.calls += spending.calls;
        self.unpriced_calls += spending.unpriced_calls;
    }

    fn add_phase(&mut self, phase: &str, spending: &CallSpending) {
        let cost = PhaseCost {
            micro_usd: spending.micro_usd,
            calls: spending.calls,
            token_usage: TokenUsage::from(spending.usage),
        };
        // Each phase belongs to one conversation, so there is nothing to add to.
        self.phases.insert(phase.to_owned(), cost);
    }
}
