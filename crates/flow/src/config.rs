//! What a config block says of one step.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::engine::FailureClass;

/// A step's settings, as they are written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    pub step_type: Option<StepType>,
    pub execution: Option<Execution>,
    /// The old name of `execution`.
    #[serde(rename = "type")]
    pub old_execution: Option<Execution>,
    /// Instead of the node's label.
    pub name: Option<String>,
    pub prompt: Option<String>,
    pub default_assignee_id: Option<String>,
    pub fallback_assignee_id: Option<String>,
    pub hitl_phase: Option<String>,
    pub description: Option<String>,
    pub branches: Option<Vec<Branch>>,
    pub default_branch: Option<String>,
    pub items_path: Option<String>,
    pub item_variable: Option<String>,
    pub max_items: Option<u32>,
    pub max_concurrency: Option<u32>,
    pub await_tag: Option<String>,
    pub await_step_id: Option<String>,
    pub policy: Option<Policy>,
    pub min_success_percent: Option<f64>,
    pub min_count: Option<u32>,
    pub timeout: Option<Duration>,
    pub on_timeout: Option<OnTimeout>,
    pub subflow_id: Option<String>,
    pub input_mapping: Option<BTreeMap<String, String>>,
    pub max_depth: Option<u32>,
    /// A JSON Schema.
    pub output_schema: Option<Value>,
    pub retry: Option<Retry>,
    pub max_visits: Option<u32>,
    pub budget: Option<Budget>,
    pub handler: Option<Handler>,
    /// The step to go on with when every attempt failed; an edge labelled `onError` says the same.
    pub on_error: Option<String>,
    /// A failure of this step fails the run instead of pausing it.
    pub fail_fast: Option<bool>,
    /// The least confidence with which a reply counts without a person's look at it.
    pub confidence: Option<f64>,
    /// `http`: wait for a signed call back.
    pub await_callback: Option<bool>,
    pub tags: Option<Vec<String>>,
    /// The steps whose outputs a step is shown, instead of the one before it.
    pub context_from: Option<Vec<String>>,
    /// How many tokens of that, at most.
    pub context_tokens_max: Option<u32>,
    /// How long a wait takes.
    #[serde(rename = "for")]
    pub wait_for: Option<Duration>,
    /// An expression that gives the time at which a wait is over.
    pub until: Option<String>,
    /// The signal that ends a wait.
    pub signal: Option<String>,
    /// How often a person is reminded of a task.
    pub remind: Option<Duration>,
    /// Who gets a person's task when its time is over, before `onTimeout` counts.
    pub escalate_to: Option<String>,
    /// What the handler wants to know.
    pub config: Option<Map<String, Value>>,
}

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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Execution {
    #[default]
    Automated,
    Manual,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Branch {
    /// `null` is the default branch.
    pub condition: Option<String>,
    pub target_step_id: String,
}

/// When a join is content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Policy {
    /// Everything has ended, and enough of it well: all of it, unless a threshold is set.
    #[default]
    All,
    /// The first success.
    Any,
    /// As soon as the threshold is reached.
    Quorum,
    /// Everything has ended, however it did.
    AllTerminal,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OnTimeout {
    Fail,
    /// Go on with what is there.
    Continue,
    /// Wait for a person.
    #[default]
    Hold,
}

/// Who does an automated task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Handler {
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
}

/// How often and how soon a failed attempt is made again.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Retry {
    /// All attempts, the first one included.
    pub attempts: u32,
    /// Before the second attempt; `factor` times as long before every later one.
    pub delay: Duration,
    pub factor: f64,
    #[serde(rename = "max", alias = "maxDelay")]
    pub max_delay: Duration,
    /// After which failures.
    pub on: RetryOn,
}

/// The failures after which an attempt is made again.
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

/// Whoever sets `retry` for a script means its failures, too.
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

impl Default for Retry {
    fn default() -> Retry {
        Retry {
            attempts: 3,
            delay: Duration { ms: 5_000 },
            factor: 2.0,
            max_delay: Duration { ms: 300_000 },
            on: RetryOn::default(),
        }
    }
}

/// What a step may cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Budget {
    pub tokens: Option<u64>,
    /// In the currency that prices are in.
    pub money: Option<f64>,
}

/// A time span: `"90s"`, `"5m"`, `"2h"`, `"1d"`, `"500ms"`, or a number of seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Duration {
    pub ms: u64,
}

/// The longest time span that can be written.
pub const DURATION_DAYS_MAX: u64 = 3_650;

impl Duration {
    #[must_use]
    pub fn read(text: &str) -> Option<Duration> {
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
        Duration::of_ms(number.trim().parse::<f64>().ok()? * unit_ms)
    }

    fn of_ms(ms: f64) -> Option<Duration> {
        let max = (DURATION_DAYS_MAX * 86_400_000) as f64;
        let fine = ms.is_finite() && (0.0..=max).contains(&ms);
        fine.then_some(Duration { ms: ms as u64 })
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let read = match &value {
            Value::String(text) => Duration::read(text),
            Value::Number(seconds) => seconds
                .as_f64()
                .and_then(|seconds| Duration::of_ms(seconds * 1_000.0)),
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
    use super::Duration;

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
            let read = serde_json::from_str::<Duration>(json).ok();
            assert_eq!(read.map(|span| span.ms), expected, "{json}");
        }
    }
}
