//! What comes of a job, as its JSON shows it.

use agent::{Spending, Totals};
use llm::Usage;
use serde::{Deserialize, Serialize};
use workspace::RelPath;

use crate::validation::{CheckReport, Judgement, Proven};

/// What came of a job so far. Grows stage by stage; what is not known is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BuildResult {
    /// The files that were made, changed, moved or deleted.
    pub files: Vec<ChangedFile>,
    /// A unified diff for each of them.
    pub diffs: Vec<FileDiff>,
    /// What of the plan was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_coverage: Option<PlanCoverage>,
    /// Files that import, directly or through others, something that was changed.
    pub impacted_files: Vec<RelPath>,
    /// The tests among them.
    pub impacted_tests: Vec<RelPath>,
    /// What became of each check.
    pub validation: Vec<CheckReport>,
    /// What the checks say about the build: `passed`, `failed` or `not_judged`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Judgement>,
    /// Why the build is a draft, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<DraftReason>,
    /// Whether every check passes that passed before. Absent when nothing was judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_passed: Option<bool>,
    /// What is left to mend, one entry for each error.
    pub validation_errors: Vec<String>,
    /// For a bug fix: whether a test shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proven>,
    /// What the model said when it was done: what it changed, and what a reviewer should look at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closing_words: Option<String>,
    /// Lines by which the build turns tests off, as `file:line: text`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped_tests: Vec<String>,
    /// How often the model was told what the checks found.
    pub repair_attempts: u32,
    /// Tokens of all calls, planning included.
    pub token_usage: TokenUsage,
    /// What they cost, planning included.
    pub cost: BuildCost,
    /// The branch that holds the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Its commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether the branch was pushed.
    pub pushed: bool,
    /// The pull request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pr_url: Option<String>,
    /// Its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pr_number: Option<u64>,
    /// Where the work lies as a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch_file: Option<String>,
    /// What else is worth knowing, a sentence each.
    pub notes: Vec<String>,
}

impl BuildResult {
    /// Says something once.
    pub fn note(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if !self.notes.contains(&sentence) {
            self.notes.push(sentence);
        }
    }

    /// Whether the work goes out as a draft.
    pub fn is_draft(&self) -> bool {
        // Jobs that were kept before there were reasons only say that checks fail.
        self.draft.is_some() || self.validation_passed == Some(false)
    }

    /// Takes over what the conversations of the job have used.
    pub fn spent<'t>(&mut self, totals: impl IntoIterator<Item = &'t Totals>) {
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
    /// Something fails that passed before, and telling the model did not help.
    ChecksFailed,
    /// There are checks, and none of them could run.
    NotJudged,
}

/// A file that was made, changed, moved or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedFile {
    /// Where it is, or was.
    pub path: RelPath,
    /// What became of it.
    pub action: Became,
    /// Where it came from, if it was moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<RelPath>,
    /// Lines that came.
    pub lines_added: usize,
    /// Lines that went.
    pub lines_removed: usize,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Became {
    /// It was not there before.
    Created,
    /// It has another content.
    Modified,
    /// It is gone.
    Deleted,
    /// It has another place, and perhaps another content.
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

/// What of a plan was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanCoverage {
    /// The files of the plan.
    pub planned: Vec<RelPath>,
    /// Those of them that are as planned.
    pub generated: Vec<RelPath>,
    /// Those that are not.
    pub missing: Vec<RelPath>,
}

/// Tokens in the buckets providers bill by. They do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TokenUsage {
    /// Sent and read anew.
    pub input: u64,
    /// Written by the model, its thoughts included.
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

/// What the calls cost, in all and by phase. What has no price is counted and not guessed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BuildCost {
    /// Millionths of a dollar, of the calls whose price is known.
    pub micro_usd: u64,
    /// Calls to the model.
    pub calls: u64,
    /// Those whose price is not known.
    pub unpriced_calls: u64,
    /// The same by phase: `plan`, `generate`, `repair-1`, `repair-2`.
    pub phases: std::collections::BTreeMap<String, PhaseCost>,
}

/// What one phase took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PhaseCost {
    /// Millionths of a dollar, of the calls whose price is known.
    pub micro_usd: u64,
    /// Calls to the model.
    pub calls: u64,
    /// Tokens.
    pub token_usage: TokenUsage,
}

impl BuildCost {
    fn add(&mut self, spending: &Spending) {
        self.micro_usd = self.micro_usd.saturating_add(spending.micro_usd);
        self.calls += spending.calls;
        self.unpriced_calls += spending.unpriced_calls;
    }

    fn add_phase(&mut self, phase: &str, spending: &Spending) {
        let cost = PhaseCost {
            micro_usd: spending.micro_usd,
            calls: spending.calls,
            token_usage: TokenUsage::from(spending.usage),
        };
        // Each phase belongs to one conversation, so there is nothing to add to.
        self.phases.insert(phase.to_owned(), cost);
    }
}
