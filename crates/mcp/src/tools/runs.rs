//! `runs`: workflows started, looked at and controlled; tasks listed and answered.

use std::time::Duration;

use app::RunRequest;
use app::workflows::{RunActivity, TaskFilter};
use flow::engine::{EngineCommand, EventKind, RunRow, TaskAnswer, TaskRow};
use flow::{StepId, TaskSelection};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep};

use super::{CallOutcome, NoArguments};
use crate::DrawloomServer;
use crate::failure::ToolFailure;

/// How long a call may wait for a run.
const WAIT_SECONDS_MAX: u64 = 20;
/// How long a waiting call sleeps before it looks again.
const WAIT_LOOK: Duration = Duration::from_millis(50);
/// How many tasks are listed.
const TASKS_MAX: usize = 100;

/// Arguments of `start_run`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartRun {
    /// The workflow's name.
    workflow: String,
    /// The input, by name.
    #[serde(default)]
    input: Map<String, Value>,
    /// Seconds to wait, 0 to 20.
    #[serde(default)]
    wait_seconds: u64,
}

/// Arguments of `get_run`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetRun {
    /// The run's id, the beginning of one, or `last`.
    id: String,
}

/// Arguments of `control_run`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ControlRun {
    /// The run's id.
    id: String,
    action: RunControl,
    /// With `rerun`: the step to begin at.
    #[serde(default)]
    from_step: Option<String>,
}

/// An action on a run.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RunControl {
    Cancel,
    Pause,
    Resume,
    Rerun,
}

/// Arguments of `list_tasks`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListTasks {
    /// Only tasks of this run.
    #[serde(default)]
    run: Option<String>,
}

/// Arguments of `answer_task`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerTask {
    /// The task's id.
    id: String,
    /// The output.
    output: Value,
}

pub(crate) async fn workflows(server: &DrawloomServer, _: NoArguments) -> CallOutcome {
    let mut listed = Vec::new();
    for name in server.use_cases.workflow_names().await? {
        let sheet = server.use_cases.sheet(&name).await?;
        listed.push(json!({
            "name": name,
            "title": sheet.title(),
            "can_run": sheet.is_fine(),
            "problems": sheet.problems.len(),
        }));
    }
    Ok(json!({ "workflows": listed }))
}

pub(crate) async fn start(server: &DrawloomServer, arguments: StartRun) -> CallOutcome {
    let use_cases = &server.use_cases;
    let sheet = use_cases.sheet(&arguments.workflow).await?;
    if !sheet.is_fine() {
        let message = format!("the workflow `{}` cannot run as it is", arguments.workflow);
        return Err(ToolFailure::new(message).hint("check_workflow lists its problems"));
    }
    let begin = RunRequest {
        input: Value::Object(arguments.input),
        ..RunRequest::default()
    };
    let run = use_cases.start(&sheet, begin).await?;
    let wait = Duration::from_secs(arguments.wait_seconds.min(WAIT_SECONDS_MAX));
    let until = Instant::now() + wait;
    while Instant::now() < until && matches!(use_cases.standing(&run).await?, RunActivity::Going) {
        sleep(WAIT_LOOK).await;
    }
    describe(server, run.as_str()).await
}

pub(crate) async fn get(server: &DrawloomServer, arguments: GetRun) -> CallOutcome {
    describe(server, &arguments.id).await
}

/// A run as an agent reads it: its status, the decisions taken, and what to do next.
pub(crate) async fn describe(server: &DrawloomServer, id: &str) -> CallOutcome {
    let use_cases = &server.use_cases;
    let run = use_cases.find(id).await?;
    let tasks = use_cases.tasks(Some(&run.id), TaskSelection::All).await?;
    let events = use_cases.events(&run.id).await?;
    let decisions = events.iter().filter(|event| is_decision(&event.what));
    let decisions: Vec<Value> = decisions
        .filter_map(|event| serde_json::to_value(&event.what).ok())
        .collect();
    let steps: Vec<Value> = tasks.iter().map(step).collect();
    let (waits_for, next) = waiting(server, &run).await?;
    let output = tasks
        .iter()
        .find(|task| Some(&task.id) == run.result.as_ref())
        .and_then(|task| task.output.clone());
    Ok(json!({
        "run": run.id,
        "workflow": run.name,
        "status": run.status,
        "reason": run.reason,
        "output": output,
        "steps": steps,
        "decisions": decisions,
        "cost": run.spent,
        "waits_for": waits_for,
        "next": next,
    }))
}

fn is_decision(what: &EventKind) -> bool {
    matches!(what, EventKind::Decided { .. })
}

fn step(task: &TaskRow) -> Value {
    json!({
        "task": task.id.to_string(),
        "step": task.id.step,
        "status": task.status,
        "attempt": task.attempt,
        "assignee": task.assignee,
        "output": task.output,
        "failure": task.failure,
        "hold": task.hold,
    })
}

/// The tasks that a run waits for, and the sentence that says what to do.
async fn waiting(
    server: &DrawloomServer,
    run: &RunRow,
) -> Result<(Vec<Value>, String), ToolFailure> {
    Ok(match server.use_cases.standing(&run.id).await? {
        RunActivity::Going => {
            let next = "it goes on by itself: call get_run again in a while";
            (Vec::new(), next.to_owned())
        }
        RunActivity::Ended(_) => (Vec::new(), "it has ended".to_owned()),
        RunActivity::Paused(_) => {
            let next = format!(
                "it is paused; control_run with `resume` goes on, or a person looks: drawloom runs show {}",
                run.id
            );
            (Vec::new(), next)
        }
        RunActivity::Waiting(tasks) => {
            let mut listed = Vec::new();
            for task in &tasks {
                listed.push(waiting_task(server, task).await?);
            }
            let commands: Vec<String> = tasks
                .iter()
                .map(|task| format!("drawloom tasks answer {}", task.id))
                .collect();
            let next = format!(
                "it waits for a person, who answers in the inbox or with: {}",
                commands.join("; ")
            );
            (listed, next)
        }
    })
}

async fn waiting_task(server: &DrawloomServer, task: &TaskRow) -> CallOutcome {
    let prompt = server.use_cases.prompt(task).await?;
    Ok(json!({
        "task": task.id.to_string(),
        "step": task.id.step,
        "assignee": task.assignee,
        "status": task.status,
        "prompt": prompt,
    }))
}

pub(crate) async fn control(server: &DrawloomServer, arguments: ControlRun) -> CallOutcome {
    let use_cases = &server.use_cases;
    let run = use_cases.find(&arguments.id).await?.id;
    let reason = format!("by {}", use_cases.actor().name());
    let command = match arguments.action {
        RunControl::Cancel => EngineCommand::Cancel {
            run: run.clone(),
            reason,
        },
        RunControl::Pause => EngineCommand::Pause {
            run: run.clone(),
            reason,
        },
        RunControl::Resume => EngineCommand::Resume { run: run.clone() },
        RunControl::Rerun => {
            let Some(step) = &arguments.from_step else {
                let message = "`rerun` needs `from_step`: the step to begin at";
                return Err(ToolFailure::new(message).hint("get_run lists the steps"));
            };
            let wanted = StepId::new(step.as_str());
            let tasks = use_cases.tasks(Some(&run), TaskSelection::All).await?;
            let newest = tasks.into_iter().rfind(|task| task.id.step == wanted);
            let Some(task) = newest else {
                let message = format!("the run has no step `{step}` that was reached");
                return Err(ToolFailure::new(message).hint("get_run lists the steps"));
            };
            EngineCommand::Rerun { task: task.id }
        }
    };
    use_cases.execute(command).await?;
    describe(server, run.as_str()).await
}

pub(crate) async fn tasks(server: &DrawloomServer, arguments: ListTasks) -> CallOutcome {
    let use_cases = &server.use_cases;
    let run = match &arguments.run {
        Some(run) => Some(use_cases.find(run).await?.id),
        None => None,
    };
    let filter = TaskFilter {
        run,
        is_waiting: true,
        ..TaskFilter::default()
    };
    let mut listed = Vec::new();
    for task in use_cases.list_tasks(&filter, TASKS_MAX).await? {
        listed.push(waiting_task(server, &task).await?);
    }
    Ok(json!({ "tasks": listed }))
}

pub(crate) async fn answer(server: &DrawloomServer, arguments: AnswerTask) -> CallOutcome {
    let use_cases = &server.use_cases;
    let task = use_cases.task(&arguments.id).await?;
    let run = task.id.run.clone();
    let command = EngineCommand::Answer {
        task: task.id,
        by: use_cases.actor().name().to_owned(),
        answer: TaskAnswer::Done {
            output: arguments.output,
        },
    };
    use_cases.execute(command).await?;
    describe(server, run.as_str()).await
}
