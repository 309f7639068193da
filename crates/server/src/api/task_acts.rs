//! More acts on tasks: send back, cancel, many at once; and the prompts and replies of their attempts.

use app::{Permission, TaskBulkAct, TaskBulkRequest};
use axum::http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use store::TaskFilter;

use super::tasks;
use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest};
use crate::table::{ApiRoute, RouteAccess, schema};

/// The fields of a task that are always there.
const FIELDS: &[&str] = &["id", "run", "step", "status"];

pub(crate) fn routes() -> Vec<ApiRoute> {
    let looks = RouteAccess::Needs(Permission::Look);
    let answers = RouteAccess::Needs(Permission::AnswerTasks);
    let manages = RouteAccess::Needs(Permission::ManageTasks);
    vec![
        ApiRoute::new(
            Method::POST,
            "/tasks/bulk",
            answers,
            "Does something to every task of a filter, if there are as many as the caller has seen.",
            |asked| Box::pin(bulk(asked)),
        )
        .body(schema::<TaskBulkBody>)
        .answers(200, &["done", "failed"]),
        ApiRoute::new(
            Method::POST,
            "/tasks/{task}/send-back",
            answers,
            "Sends a task on hold back with a comment, which the next try reads.",
            |asked| Box::pin(send_back(asked)),
        )
        .body(schema::<SendBackBody>)
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::POST,
            "/tasks/{task}/cancel",
            manages,
            "Cancels a task that is all that its run does.",
            |asked| Box::pin(cancel(asked)),
        )
        .optional_body(schema::<TaskCancelBody>)
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::GET,
            "/tasks/{task}/attempts",
            looks,
            "Lists who had a task when, and how each attempt ended.",
            |asked| Box::pin(attempts(asked)),
        )
        .answers(200, &["items"]),
        ApiRoute::new(
            Method::GET,
            "/tasks/{task}/conversation",
            looks,
            "Lists the prompt and the replies of each attempt at a task.",
            |asked| Box::pin(conversation(asked)),
        )
        .answers(200, &["items"]),
        ApiRoute::new(
            Method::GET,
            "/tasks/{task}/layers",
            looks,
            "Returns the prompt layers as they were sent, or as they would be sent now.",
            |asked| Box::pin(layers(asked)),
        )
        .answers(200, &["wasSent", "layers"]),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SendBackBody {
    /// The change that is wanted.
    comment: String,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TaskCancelBody {
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TaskBulkBody {
    act: TaskBulkWord,
    filter: TaskFilterBody,
    /// How many tasks the caller has seen (`GET /tasks?count=true`).
    count: usize,
    /// `answer`: the output of every one of them.
    #[serde(default)]
    output: Option<Value>,
    /// `fail`: why they cannot be done.
    #[serde(default)]
    reason: Option<String>,
    /// `assign`: the new assignee; unassigned if left out.
    #[serde(default)]
    assignee: Option<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TaskBulkWord {
    Answer,
    Accept,
    Fail,
    Assign,
    Retry,
}

/// The parameters of the list of tasks.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TaskFilterBody {
    #[serde(default)]
    run: Option<String>,
    /// pending, in_progress, waiting, on_hold, …
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    waiting: bool,
    #[serde(default)]
    assignee: Option<String>,
    #[serde(default)]
    anybody: bool,
}

async fn send_back(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let SendBackBody { comment } = asked.body()?;
    let use_cases = asked.use_cases()?;
    let row = use_cases.task(asked.path("task")).await?;
    use_cases.send_back(&row, &comment).await?;
    shown_again(&asked).await
}

async fn cancel(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let given: TaskCancelBody = asked.body_or_default()?;
    let use_cases = asked.use_cases()?;
    let row = use_cases.task(asked.path("task")).await?;
    let by = use_cases.person();
    let reason = given.reason.unwrap_or_else(|| format!("cancelled by {by}"));
    use_cases.cancel_task(&row, reason).await?;
    shown_again(&asked).await
}

async fn shown_again(asked: &ApiRequest) -> Result<ApiReply, ApiProblem> {
    let now = asked.use_cases()?.task(asked.path("task")).await?;
    Ok(ApiReply::json(tasks::document(&now)))
}

async fn bulk(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let wanted: TaskBulkBody = asked.body()?;
    let use_cases = asked.use_cases()?;
    let missing = |pointer: &str, message: &str| {
        ApiProblem::new(ProblemCode::Invalid, message).at(pointer, message)
    };
    let act = match wanted.act {
        TaskBulkWord::Answer => {
            let output = wanted
                .output
                .ok_or_else(|| missing("/output", "`answer` needs the output of the tasks"))?;
            TaskBulkAct::Answer(output)
        }
        TaskBulkWord::Accept => TaskBulkAct::Accept,
        TaskBulkWord::Fail => {
            let reason = wanted
                .reason
                .ok_or_else(|| missing("/reason", "`fail` needs a reason"))?;
            TaskBulkAct::Fail(reason)
        }
        TaskBulkWord::Assign => TaskBulkAct::Assign(wanted.assignee),
        TaskBulkWord::Retry => TaskBulkAct::Retry,
    };
    let given = wanted.filter;
    let status = given.status.map(|word| {
        serde_json::from_value(Value::from(word.as_str())).map_err(|_| {
            let message = format!("`{word}` is no status of a task");
            ApiProblem::new(ProblemCode::Invalid, message.clone()).at("/filter/status", message)
        })
    });
    let request = TaskBulkRequest {
        act,
        filter: TaskFilter {
            run: match &given.run {
                Some(run) => Some(use_cases.find(run).await?.id),
                None => None,
            },
            status: status.transpose()?,
            is_waiting: given.waiting,
            assignee: given.assignee,
            is_anybodys: given.anybody,
            has_ended: false,
        },
        count: wanted.count,
    };
    let report = use_cases.act_on_tasks(&request).await?;
    let done: Vec<String> = report.done.iter().map(ToString::to_string).collect();
    let missed = report.failed.iter();
    let failed: Vec<Value> = missed
        .map(|(task, why)| json!({ "task": task.to_string(), "detail": why }))
        .collect();
    Ok(ApiReply::json(json!({ "done": done, "failed": failed })))
}

async fn attempts(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let row = use_cases.task(asked.path("task")).await?;
    let attempts = use_cases.attempts(&row.id).await?;
    let items: Vec<Value> = attempts.iter().map(tasks::attempt).collect();
    Ok(ApiReply::json(json!({ "items": items })))
}

async fn conversation(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let row = use_cases.task(asked.path("task")).await?;
    let calls = use_cases.calls(&row.id).await?;
    let items = calls.iter().map(|row| {
        let call = &row.call;
        json!({
            "attempt": row.attempt, "by": call.by, "layers": call.layers,
            "replies": call.replies, "summary": call.summary, "confidence": call.confidence,
            "usage": call.usage, "begunMs": call.begun_ms, "endedMs": call.ended_ms,
        })
    });
    Ok(ApiReply::json(
        json!({ "items": items.collect::<Vec<_>>() }),
    ))
}

async fn layers(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let row = use_cases.task(asked.path("task")).await?;
    let calls = use_cases.calls(&row.id).await?;
    if let Some(last) = calls.last() {
        return Ok(ApiReply::json(json!({
            "wasSent": true, "attempt": last.attempt, "layers": last.call.layers,
        })));
    }
    // A task that has ended without a call never had layers.
    let layers = if row.status.is_terminal() {
        Vec::new()
    } else {
        use_cases.layers(&row).await?.layers
    };
    Ok(ApiReply::json(
        json!({ "wasSent": false, "layers": layers }),
    ))
}
