//! `code_generation`, `planning`, `validation`: a task for the agent, made from the step.
//!
//! The step's `config` is the task (docs/tasks.md); `prompt` is its description. Its conversation
//! is stored, so that the next attempt continues it.

mod criteria;

use std::sync::Arc;

use agent::NoAgentObserver;
use agent::handlers::FailureKind;
use agent::plan::TaskFingerprint;
use exec::CommandCancel;
use flow::WorkflowStep;
use flow::engine::{AttemptReport, FailureClass, SpentAmount};
use serde_json::{Map, Value, json};

use super::budget::{ModelUse, within_budget};
use super::{
    ExecutorContext, ExecutorFuture, StepAttempt, StepExecutor, failed, failed_by, interpolate,
    invalid, on_a_runtime,
};
use super::{over_budget, setting, unknown_settings};
use crate::ai::AiOverrides;
use crate::tasks::TaskEnd;
use crate::tasks::run_archive::{STEP_PREFIX, digest};
use crate::tasks::step::{RecordedTask, StepWork, run_step};

pub(crate) use criteria::SETTING as CRITERIA;

const SETTINGS: [&str; 7] = [
    "description",
    "instructions",
    "input_artifacts",
    "output_artifacts",
    "constraints",
    "validation_criteria",
    "model_preference",
];

pub(super) const PLANNING: &str = "planning";
pub(super) const VALIDATION: &str = "validation";

/// The kind of task it is.
pub(super) struct AgentTask(pub(super) &'static str);

impl StepExecutor for AgentTask {
    fn check(&self, step: &WorkflowStep) -> Vec<String> {
        let mut problems = unknown_settings(step, &SETTINGS);
        if self.0 == PLANNING && setting(step, "output_artifacts").is_none() {
            let missing =
                "A plan needs a place: `\"config\": { \"output_artifacts\": [\"plan.json\"] }`.";
            problems.push(missing.to_owned());
        }
        if problems.is_empty() {
            let fields = step.config.config.clone().unwrap_or_default();
            let text = self.definition(step, fields, step.config.prompt.as_deref());
            problems.extend(criteria::problems(step));
            if let Err(cause) = agent::task::read(&text, "config") {
                problems.extend(cause.iter().map(|problem| match problem.place.as_str() {
                    "" => format!("The task is not one: {}.", problem.message),
                    place => format!("`{place}`: {}.", problem.message),
                }));
            }
        }
        problems
    }

    fn execute<'a>(&'a self, job: &'a StepAttempt) -> ExecutorFuture<'a> {
        Box::pin(async move {
            let (fields, prompt) = match filled(job) {
                Ok(filled) => filled,
                Err(problem) => return invalid(problem),
            };
            let text = self.definition(&job.step, fields, Some(&prompt));
            let name = format!("{STEP_PREFIX}{}", job.task.id);
            let hands = Arc::clone(&job.hands);
            let asks = match self.0 {
                VALIDATION => ModelUse::Perhaps,
                _ => ModelUse::Surely,
            };
            within_budget(job, asks, |wish| {
                on_a_runtime(async move |cancel| {
                    carry_out(&hands, wish, (&name, &text), cancel).await
                })
            })
            .await
        })
    }
}

/// Interpolates the fields of the task and its prompt. Commands among them get their values as
/// data.
fn filled(job: &StepAttempt) -> Result<(Map<String, Value>, String), String> {
    let mut fields = job.step.config.config.clone().unwrap_or_default();
    let given = fields.remove(criteria::SETTING);
    let filled = interpolate::json(&Value::Object(fields), &job.state)?;
    let mut fields = filled.as_object().cloned().unwrap_or_default();
    if let Some(given) = given {
        let given = criteria::filled(&given, &job.state)?;
        fields.insert(criteria::SETTING.to_owned(), given);
    }
    let prompt = job.step.config.prompt.as_deref().unwrap_or_default();
    Ok((fields, interpolate::text(prompt, &job.state)?))
}

impl AgentTask {
    /// Writes the task as its file would be.
    fn definition(
        &self,
        step: &WorkflowStep,
        mut fields: Map<String, Value>,
        prompt: Option<&str>,
    ) -> String {
        let id: String = step.id.as_str().chars().map(tame).collect();
        fields.insert("subtask_id".to_owned(), json!(id));
        fields.insert("name".to_owned(), json!(step.name));
        fields.insert("type".to_owned(), json!(self.0));
        let prompt = prompt.filter(|prompt| !prompt.trim().is_empty());
        if !fields.contains_key("description") {
            let described = prompt.or(step.config.description.as_deref());
            fields.insert(
                "description".to_owned(),
                json!(described.unwrap_or(&step.name)),
            );
        } else if let Some(prompt) = prompt {
            fields.insert("raw_text".to_owned(), json!(prompt));
        }
        Value::Object(fields).to_string()
    }
}

/// Ids of tasks are narrower than those of steps.
fn tame(c: char) -> char {
    match c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
        true => c,
        false => '_',
    }
}

async fn carry_out(
    hands: &ExecutorContext,
    wish: AiOverrides,
    (name, text): (&str, &str),
    cancel: CommandCancel,
) -> AttemptReport {
    let task = match agent::task::read(text, "config") {
        Ok(task) => task,
        Err(problems) => return invalid(problems.to_string()),
    };
    let key = TaskFingerprint {
        id: task.subtask_id.clone(),
        fingerprint: digest(text),
    };
    let work = StepWork {
        project: &hands.project,
        surroundings: &hands.surroundings,
        wish,
        observer: &mut NoAgentObserver,
        cancel,
    };
    let recorded = RecordedTask {
        name,
        task: &task,
        key: &key,
        earlier: &[],
        others: &[],
    };
    match run_step(work, recorded).await {
        Ok(ended) => judge(ended.came),
        Err(error) => failed_by(&error),
    }
}

/// Converts the end of the task's conversation into a report. Its usage is that of all attempts.
pub(super) fn judge(came: TaskEnd) -> AttemptReport {
    let (mut report, usage) = match came {
        Ok(result) => {
            let output = serde_json::to_value(&result).unwrap_or_default();
            (AttemptReport::completed(output), result.report.usage)
        }
        Err(failure) => {
            let message = failure.message;
            let report = match failure.kind {
                FailureKind::Stopped(agent::AgentErrorKind::Budget) => over_budget(message),
                FailureKind::Stopped(agent::AgentErrorKind::Cancelled) => {
                    failed(FailureClass::Cancelled, message)
                }
                FailureKind::Stopped(agent::AgentErrorKind::Model) => {
                    failed(FailureClass::Unavailable, message)
                }
                _ => failed(FailureClass::Failed, message),
            };
            (report, failure.report.usage)
        }
    };
    report.spent = SpentAmount {
        tokens: usage.all.usage.total(),
        micros: usage.all.micro_usd,
    };
    report
}
