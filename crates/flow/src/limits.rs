//! Concurrency limits: per workflow, per step, or per key that a run or a task names; and rate limits: how many tasks
//! of a handler or a model begin within a span of time.

use serde::{Deserialize, Serialize};

use crate::config::{ExecutionMode, StepHandler};
use crate::workflow::WorkflowStep;

/// The highest `max` of a concurrency limit.
pub(crate) const CONCURRENCY_MAX: u32 = 1_000;
/// Limits the length of a key with its `{{ }}` filled in.
pub const KEY_BYTES_MAX: usize = 512;
/// The lowest and the highest priority of a run; 0 is the usual one.
pub const PRIORITY_MIN: i32 = -100;
/// The highest priority.
pub const PRIORITY_MAX: i32 = 100;

/// The highest `max` of a rate limit.
pub const RATE_MAX: u32 = 10_000;

/// A limit as it is written: `{ "key": "{{input.repo}}", "max": 1, "onLimit": "queue" }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConcurrencyLimit {
    /// Tasks or runs with the same key share the limit; without a key, the step or workflow has a
    /// limit of its own.
    #[serde(default)]
    pub key: Option<String>,
    /// The number of tasks or runs at a time.
    #[serde(default = "one")]
    pub max: u32,
    /// The rule beyond the limit.
    #[serde(default)]
    pub on_limit: OnLimit,
}

fn one() -> u32 {
    1
}

/// The rule for a run or a task beyond the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnLimit {
    /// Waits until another one has ended.
    #[default]
    Queue,
    /// Is skipped: a run is cancelled, a task is completed with `{"skipped": true}`.
    Skip,
    /// Cancels the one that has been in progress for longest.
    CancelOldest,
}

impl ConcurrencyLimit {
    /// Returns the problem with the numbers, as the end of a sentence.
    pub(crate) fn wrong(&self) -> Option<String> {
        if self.max == 0 {
            return Some("must be at least 1".to_owned());
        }
        let is_over = self.max > CONCURRENCY_MAX;
        is_over.then(|| format!("is over CONCURRENCY_MAX = {CONCURRENCY_MAX}"))
    }
}

/// Limits how many tasks of a kind begin within a span of time, counted over all workers of a database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimit {
    /// The name under which tasks are counted.
    pub name: String,
    /// The tasks that are counted.
    pub scope: RateScope,
    /// How many may begin within the span.
    pub max: u32,
    /// The span in milliseconds.
    pub per_ms: u64,
}

/// Names the tasks that a rate limit counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateScope {
    /// The tasks of a handler.
    Handler(StepHandler),
    /// The tasks that ask a model.
    Model {
        /// The model's name.
        name: String,
        /// The handlers that ask it where a step names no model itself.
        handlers: Vec<StepHandler>,
    },
}

impl RateLimit {
    /// The key under which tasks are counted.
    #[must_use]
    pub fn key(&self) -> String {
        format!("rate:{}", self.name)
    }

    /// Tells whether the limit counts the tasks of a step.
    #[must_use]
    pub fn counts(&self, step: &WorkflowStep) -> bool {
        let handler = step.handler();
        match &self.scope {
            RateScope::Handler(limited) => *limited == handler,
            RateScope::Model { name, handlers } => match step.preferred_model() {
                Some(model) => model == name,
                None => handlers.contains(&handler),
            },
        }
    }

    /// The lanes that are closed while the limit is reached. A store leaves their tasks alone; every claim is
    /// checked against the step besides.
    #[must_use]
    pub fn lanes(&self) -> Vec<String> {
        match &self.scope {
            RateScope::Handler(handler) => vec![lane(*handler, None)],
            RateScope::Model { name, handlers } => {
                let usual = handlers.iter().map(|handler| lane(*handler, None));
                let named = StepHandler::AGENTS.map(|handler| lane(handler, Some(name)));
                usual.chain(named).collect()
            }
        }
    }
}

fn lane(handler: StepHandler, model: Option<&str>) -> String {
    match model {
        Some(model) => format!("lane:{}:{model}", handler.name()),
        None => format!("lane:{}", handler.name()),
    }
}

impl WorkflowStep {
    /// The model that the step names itself.
    #[must_use]
    pub(crate) fn preferred_model(&self) -> Option<&str> {
        if !StepHandler::AGENTS.contains(&self.handler()) {
            return None;
        }
        let config = self.config.config.as_ref()?;
        let preference = match self.handler() {
            StepHandler::Task => config.get("task")?.get("model_preference")?,
            _ => config.get("model_preference")?,
        };
        preference.get("model")?.as_str()
    }

    /// The lane in which the tasks of the step wait for a worker. Steps that do nothing have none.
    pub(crate) fn lane(&self) -> Option<String> {
        let is_limited =
            self.execution == ExecutionMode::Automated && self.handler() != StepHandler::NoOp;
        is_limited.then(|| lane(self.handler(), self.preferred_model()))
    }
}
