//! The config of one step, as its block in the diagram gives it.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::engine::FailureClass;
use crate::limits::ConcurrencyLimit;

/// A step's settings, as they are written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StepConfig {
    pub step_type: Option<StepType>,
    pub execution: Option<ExecutionMode>,
    /// The old name of `execution`.
    #[serde(rename = "type")]
    pub old_execution: Option<ExecutionMode>,
    /// Instead of the node's label.
    pub name: Option<String>,
    pub prompt: Option<String>,
    pub default_assignee_id: Option<String>,
    pub fallback_assignee_id: Option<String>,
    pub hitl_phase: Option<String>,
    pub description: Option<String>,
    pub branches: Option<Vec<DecisionBranch>>,
    pub default_branch: Option<String>,
    pub items_path: Option<String>,
    pub item_variable: Option<String>,
    pub max_items: Option<u32>,
    pub max_concurrency: Option<u32>,
    pub await_tag: Option<String>,
    pub await_step_id: Option<String>,
    pub policy: Option<JoinPolicy>,
    pub min_success_percent: Option<f64>,
    pub min_count: Option<u32>,
    pub timeout: Option<TimeSpan>,
    pub on_timeout: Option<OnTimeout>,
    pub subflow_id: Option<String>,
    pub input_mapping: Option<BTreeMap<String, String>>,
    pub max_depth: Option<u32>,
    /// A JSON Schema.
    pub output_schema: Option<Value>,
    pub retry: Option<RetryPolicy>,
    pub max_visits: Option<u32>,
    pub budget: Option<StepBudget>,
    pub handler: Option<StepHandler>,
    /// The step that follows when every attempt failed; an edge labelled `onError` says the same.
    pub on_error: Option<String>,
    /// A failure of this step fails the run instead of pausing it.
    pub fail_fast: Option<bool>,
    /// The least confidence at which a reply counts without a person's review.
    pub confidence: Option<f64>,
    /// `http`: wait for a signed call back.
    pub await_callback: Option<bool>,
    pub tags: Option<Vec<String>>,
    /// The steps whose outputs a step is shown, instead of the one before it.
    pub context_from: Option<Vec<String>>,
    /// Limits the tokens of that context.
    pub context_tokens_max: Option<u32>,
    /// The duration of a wait.
    #[serde(rename = "for")]
    pub wait_for: Option<TimeSpan>,
    /// An expression that gives the time at which a wait is over.
    pub until: Option<String>,
    /// The signal that ends a wait.
    pub signal: Option<String>,
    /// The interval at which a person is reminded of a task.
    pub remind: Option<TimeSpan>,
    /// The user that gets a person's task when its time is over, before `onTimeout` counts.
    pub escalate_to: Option<String>,
    /// Limits the tasks of this step in progress at a time, over all runs.
    pub concurrency: Option<ConcurrencyLimit>,
    /// The settings of the handler.
    pub config: Option<Map<String, Value>>,
}

/// The type of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepType {
    Task,
    Decision,
    Foreach,
    Join,
    Subflow,
    Wait,
}

impl StepType {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            StepType::Task => "task",
            StepType::Decision => "decision",
            StepType::Foreach => "foreach",
            StepType::Join => "join",
            StepType::Subflow => "subflow",
            StepType::Wait => "wait",
        }
    }
}

/// Says whether a worker or a person does a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionMode {
    #[default]
    Automated,
    Manual,
}

/// One branch of a decision in a config.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DecisionBranch {
    /// `null` is the default branch.
    pub condition: Option<String>,
    pub target_step_id: String,
}

/// The condition under which a join succeeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum JoinPolicy {
    /// All have ended, and all have succeeded, or as many as the threshold says.
    #[default]
    All,
    /// The first success.
    Any,
    /// As soon as the threshold is reached.
    Quorum,
    /// All have ended, whether they succeeded or not.
    AllTerminal,
}

/// The rule for a task or a join whose time is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OnTimeout {
    Fail,
    /// Continue with the results that have arrived.
    Continue,
    /// Wait for a person.
    #[default]
    Hold,
}

/// The handler that executes an automated task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepHandler {
    #[default]
    AiInteraction,
    CodeGeneration,
    Planning,
    Validation,
    NoOp,
    Recipe,
    Build,
    Command,
    Http,
    /// A task as its file has it, which no value of the run changes.
    Task,
    Mcp,
}

impl StepHandler {
    /// The handlers that let an agent work, whose steps may name a model.
    pub(crate) const AGENTS: [StepHandler; 4] = [
        StepHandler::CodeGeneration,
        StepHandler::Planning,
        StepHandler::Validation,
        StepHandler::Task,
    ];

    /// All handlers.
    pub const ALL: [StepHandler; 11] = [
        StepHandler::AiInteraction,
        StepHandler::CodeGeneration,
        StepHandler::Planning,
        StepHandler::Validation,
        StepHandler::NoOp,
        StepHandler::Recipe,
        StepHandler::Build,
        StepHandler::Command,
        StepHandler::Http,
        StepHandler::Task,
        StepHandler::Mcp,
    ];

    /// The name as diagrams write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            StepHandler::AiInteraction => "ai_interaction",
            StepHandler::CodeGeneration => "code_generation",
            StepHandler::Planning => "planning",
            StepHandler::Validation => "validation",
            StepHandler::NoOp => "no_op",
            StepHandler::Recipe => "recipe",
            StepHandler::Build => "build",
            StepHandler::Command => "command",
            StepHandler::Http => "http",
            StepHandler::Task => "task",
            StepHandler::Mcp => "mcp",
        }
    }
}

/// The number of attempts, and the delays between them.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RetryPolicy {
    /// All attempts, the first one included.
    pub attempts: u32,
    /// The delay before the second attempt; every later one is `factor` times as long.
    pub delay: TimeSpan,
    pub factor: f64,
    #[serde(rename = "max", alias = "maxDelay")]
    pub max_delay: TimeSpan,
    /// The failures that are retried.
    pub on: RetryOn,
}

/// The set of failures that are retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryOn {
    /// One bit for each of [`RetryClass::ALL`].
    bits: u16,
}

/// Failures as `retry.on` names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RetryClass {
    Timeout,
    /// 429, 5xx, or no connection.
    Unavailable,
    /// The worker died.
    Lease,
    /// The reply could not be read.
    Reply,
    /// A command exited with an error.
    Exit,
    Http4xx,
    /// The reply was FAILED, or a child run failed.
    Failed,
    Any,
}

impl RetryClass {
    pub const ALL: [RetryClass; 8] = [
        RetryClass::Timeout,
        RetryClass::Unavailable,
        RetryClass::Lease,
        RetryClass::Reply,
        RetryClass::Exit,
        RetryClass::Http4xx,
        RetryClass::Failed,
        RetryClass::Any,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RetryClass::Timeout => "timeout",
            RetryClass::Unavailable => "unavailable",
            RetryClass::Lease => "lease",
            RetryClass::Reply => "reply",
            RetryClass::Exit => "exit",
            RetryClass::Http4xx => "http4xx",
            RetryClass::Failed => "failed",
            RetryClass::Any => "any",
        }
    }

    fn covers(self, class: FailureClass) -> bool {
        match self {
            RetryClass::Timeout => class == FailureClass::Timeout,
            RetryClass::Unavailable => {
                matches!(class, FailureClass::RateLimited | FailureClass::Unavailable)
            }
            RetryClass::Lease => class == FailureClass::LeaseLost,
            RetryClass::Reply => class == FailureClass::UnparsableReply,
            RetryClass::Exit => class == FailureClass::Exit,
            RetryClass::Http4xx => class == FailureClass::Http4xx,
            RetryClass::Failed => matches!(class, FailureClass::Failed | FailureClass::Child),
            RetryClass::Any => class != FailureClass::Cancelled,
        }
    }
}

impl RetryOn {
    #[must_use]
    pub fn of(classes: &[RetryClass]) -> RetryOn {
        let bits = classes.iter().map(|class| 1 << (*class as u16));
        RetryOn {
            bits: bits.fold(0, |all, bit| all | bit),
        }
    }

    #[must_use]
    pub fn classes(self) -> Vec<RetryClass> {
        let named = RetryClass::ALL.into_iter();
        named
            .filter(|class| self.bits & (1 << (*class as u16)) != 0)
            .collect()
    }

    #[must_use]
    pub fn contains(self, class: FailureClass) -> bool {
        self.classes().iter().any(|named| named.covers(class))
    }
}

/// Retries script failures as well: an author who sets `retry` on a script means those.
impl Default for RetryOn {
    fn default() -> RetryOn {
        RetryOn::of(&[
            RetryClass::Timeout,
            RetryClass::Unavailable,
            RetryClass::Lease,
            RetryClass::Reply,
            RetryClass::Exit,
        ])
    }
}

impl<'de> Deserialize<'de> for RetryOn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RetryOn, D::Error> {
        Vec::<RetryClass>::deserialize(deserializer).map(|classes| RetryOn::of(&classes))
    }
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy {
            attempts: 3,
            delay: TimeSpan { ms: 5_000 },
            factor: 2.0,
            max_delay: TimeSpan { ms: 300_000 },
            on: RetryOn::default(),
        }
    }
}

/// The spending limit of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StepBudget {
    pub tokens: Option<u64>,
    /// In the currency that prices are in.
    pub money: Option<f64>,
}

/// A time span: `"90s"`, `"5m"`, `"2h"`, `"1d"`, `"500ms"`, or a number of seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TimeSpan {
    pub ms: u64,
}

/// The longest time span that can be written.
pub(crate) const DURATION_DAYS_MAX: u64 = 3_650;

impl TimeSpan {
    #[must_use]
    pub fn read(text: &str) -> Option<TimeSpan> {
        let text = text.trim();
        let unit = text.find(|c: char| c.is_ascii_alphabetic())?;
        let (number, unit) = text.split_at(unit);
        let unit_ms = match unit {
            "ms" => 1.0,
            "s" => 1_000.0,
            "m" | "min" => 60_000.0,
            "h" => 3_600_000.0,
            "d" => 86_400_000.0,
            _ => return None,
        };
        TimeSpan::of_ms(number.trim().parse::<f64>().ok()? * unit_ms)
    }

    fn of_ms(ms: f64) -> Option<TimeSpan> {
        let max = (DURATION_DAYS_MAX * 86_400_000) as f64;
        let fine = ms.is_finite() && (0.0..=max).contains(&ms);
        fine.then_some(TimeSpan { ms: ms as u64 })
    }
}

impl<'de> Deserialize<'de> for TimeSpan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TimeSpan, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let read = match &value {
            Value::String(text) => TimeSpan::read(text),
            Value::Number(seconds) => seconds
                .as_f64()
                .and_then(|seconds| TimeSpan::of_ms(seconds * 1_000.0)),
            _ => None,
        };
        read.ok_or_else(|| {
            let wanted = format!(
                "{value} is not a time span of at most DURATION_DAYS_MAX = {DURATION_DAYS_MAX} \
                 days: write \"90s\", \"5m\", \"2h\", \"1d\" or a number of seconds"
            );
            serde::de::Error::custom(wanted)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::TimeSpan;

    #[test]
    fn time_spans_have_units_or_are_seconds() {
        for (json, expected) in [
            ("\"90s\"", Some(90_000)),
            ("\"1.5m\"", Some(90_000)),
            ("\"2 h\"", Some(7_200_000)),
            ("\"1d\"", Some(86_400_000)),
            ("\"500ms\"", Some(500)),
            ("2", Some(2_000)),
            ("0", Some(0)),
            ("-1", None),
            ("\"5\"", None),
            ("\"5 weeks\"", None),
            ("\"1e9d\"", None),
            ("true", None),
        ] {
            let read = serde_json::from_str::<TimeSpan>(json).ok();
            assert_eq!(read.map(|span| span.ms), expected, "{json}");
        }
    }
}
