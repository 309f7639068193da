//! `code_generation`, `planning`, `validation`: a task for the agent, made from the step.
//!
//! The step's `config` is the task (docs/tasks.md); `prompt` is its description. Its conversation is
//! kept, so that the next attempt goes on with it.

mod criteria;

use std::sync::Arc;

use agent::Nobody;
use agent::handlers::FailureKind;
use exec::Cancel;
use flow::Step;
use flow::engine::{FailureClass, Report, Spent};
use serde_json::{Map, Value, json};

use super::purse::{Asks, within_budget};
use super::{Executor, Hands, Job, Working, failed, failed_by, fill, invalid, on_a_thread};
use super::{over_budget, setting, unknown_settings};
use crate::ai::Wish;
use crate::tasks::{self, TaskEnd};

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

impl Executor for AgentTask {
    fn check(&self, step: &Step) -> Vec<String> {
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

    fn execute<'a>(&'a self, job: &'a Job) -> Working<'a> {
        Box::pin(async move {
            let (fields, prompt) = match filled(job) {
                Ok(filled) => filled,
                Err(problem) => return invalid(problem),
            };
            let text = self.definition(&job.step, fields, Some(&prompt));
            let name = format!("workflow:{}", job.task.id);
            let hands = Arc::clone(&job.hands);
            let asks = match self.0 {
                VALIDATION => Asks::Perhaps,
                _ => Asks::Surely,
            };
            within_budget(job, asks, |wish| {
                on_a_thread(move |cancel| carry_out(&hands, wish, (&name, &text), cancel))
            })
            .await
        })
    }
}

/// The fields of the task and its prompt, with their values. Commands among them get theirs as data.
fn filled(job: &Job) -> Result<(Map<String, Value>, String), String> {
    let mut fields = job.step.config.config.clone().unwrap_or_default();
    let given = fields.remove(criteria::SETTING);
    let filled = fill::json(&Value::Object(fields), &job.state)?;
    let mut fields = filled.as_object().cloned().unwrap_or_default();
    if let Some(given) = given {
        let given = criteria::filled(&given, &job.state)?;
        fields.insert(criteria::SETTING.to_owned(), given);
    }
    let prompt = job.step.config.prompt.as_deref().unwrap_or_default();
    Ok((fields, fill::text(prompt, &job.state)?))
}

impl AgentTask {
    /// The task as its file would be.
    fn definition(
        &self,
        step: &Step,
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

fn carry_out(hands: &Hands, wish: Wish, (name, text): (&str, &str), cancel: Cancel) -> Report {
    let task = match agent::task::read(text, "config") {
        Ok(task) => task,
        Err(problems) => return invalid(problems.to_string()),
    };
    let job = tasks::Job {
        project: &hands.project,
        surroundings: &hands.surroundings,
        wish,
        start: tasks::Start::Resume,
        observer: &mut Nobody,
        cancel,
    };
    match tasks::run_step(job, &task, (name, text)) {
        Ok(ended) => judge(ended.came),
        Err(error) => failed_by(&error),
    }
}

/// What the task's conversation came to. What it took is that of all attempts.
fn judge(came: TaskEnd) -> Report {
    let (mut report, usage) = match came {
        Ok(result) => {
            let output = serde_json::to_value(&result).unwrap_or_default();
            (Report::completed(output), result.report.usage)
        }
        Err(failure) => {
            let message = failure.message;
            let report = match failure.kind {
                FailureKind::Stopped(agent::Kind::Budget) => over_budget(message),
                FailureKind::Stopped(agent::Kind::Cancelled) => {
                    failed(FailureClass::Cancelled, message)
                }
                FailureKind::Stopped(agent::Kind::Model) => {
                    failed(FailureClass::Unavailable, message)
                }
                _ => failed(FailureClass::Failed, message),
            };
            (report, failure.report.usage)
        }
    };
    report.spent = Spent {
        tokens: usage.all.usage.total(),
        micros: usage.all.micro_usd,
    };
    report
}
