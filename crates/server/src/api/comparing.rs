//! Two runs beside each other, step by step.

use app::UseCases;
use flow::TaskSelection;
use flow::engine::{RunRow, TaskRow};
use serde_json::{Value, json};

use super::runs;
use crate::problem::ApiProblem;
use crate::request::{ApiReply, ApiRequest};

/// A run with its input and its tasks.
struct RunSide {
    run: RunRow,
    input: Value,
    tasks: Vec<TaskRow>,
}

impl RunSide {
    async fn of(use_cases: &UseCases, name: &str) -> Result<RunSide, ApiProblem> {
        let run = use_cases.find(name).await?;
        Ok(RunSide {
            input: use_cases.input(&run.id).await?,
            tasks: use_cases.tasks(Some(&run.id), TaskSelection::All).await?,
            run,
        })
    }

    /// The task of a name that both runs share.
    fn task(&self, name: &str) -> Option<&TaskRow> {
        self.tasks.iter().find(|task| name_in_run(task) == name)
    }
}

pub(super) async fn compare(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let left = RunSide::of(&use_cases, asked.path("run")).await?;
    let right = RunSide::of(&use_cases, asked.path("other")).await?;
    let mut names: Vec<String> = Vec::new();
    for task in left.tasks.iter().chain(&right.tasks) {
        let name = name_in_run(task);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let steps: Vec<Value> = names
        .iter()
        .map(|name| {
            let (one, other) = (left.task(name).map(side), right.task(name).map(side));
            let facts = |side: &Option<Value>| {
                side.as_ref()
                    .map(|side| (side["status"].clone(), side["output"].clone()))
            };
            json!({
                "step": name, "isSame": facts(&one) == facts(&other), "left": one, "right": other,
            })
        })
        .collect();
    Ok(ApiReply::json(json!({
        "left": runs::document(&left.run),
        "right": runs::document(&right.run),
        "hasSameText": left.run.workflow == right.run.workflow,
        "hasSameInput": left.input == right.input,
        "leftInput": left.input,
        "rightInput": right.input,
        "steps": steps,
    })))
}

/// The name of a task without its run.
fn name_in_run(task: &TaskRow) -> String {
    let name = task.id.to_string();
    let within = name.split_once('/').map(|(_, within)| within.to_owned());
    within.unwrap_or(name)
}

fn side(task: &TaskRow) -> Value {
    let took_ms = task
        .ended_ms
        .map(|ended_ms| ended_ms.saturating_sub(task.created_ms));
    json!({
        "status": task.status.name(), "output": task.output, "attempt": task.attempt,
        "tookMs": took_ms,
        "failure": task.failure.as_ref().map(|failure| failure.message.clone()),
        "spent": { "tokens": task.spent.tokens, "micros": task.spent.micros },
    })
}
