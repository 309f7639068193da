//! Tasks: listed, shown with their prompts and attempts, answered and assigned.
//!
//! A task is named `RUN/STEP`; in a path its slashes are written `%2F`.

use app::{Permission, UseCases};
use axum::http::Method;
use flow::engine::{EngineCommand, TaskAnswer, TaskRow, TaskStatus};
use flow::{ExecutionMode, TaskId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use store::{AttemptRecord, TaskCursor, TaskFilter};

use super::{cut, encoded, page};
use crate::cursor;
use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest};
use crate::table::{ApiRoute, RouteAccess, schema};

/// The number up to which tasks are counted.
const COUNT_MAX: usize = 100_000;
/// The fields of a task that are always there.
const FIELDS: &[&str] = &["id", "run", "step", "status", "execution", "createdMs"];

#[expect(
    clippy::too_many_lines,
    reason = "one table of routes: splitting it would hide gaps"
)]
pub(crate) fn routes() -> Vec<ApiRoute> {
    let looks = RouteAccess::Needs(Permission::Look);
    let answers = RouteAccess::Needs(Permission::AnswerTasks);
    let manages = RouteAccess::Needs(Permission::ManageTasks);
    vec![
        ApiRoute::new(
            Method::GET,
            "/tasks",
            looks,
            "Lists tasks that have not ended, the oldest first.",
            |asked| Box::pin(list(asked)),
        )
        .query(&[
            ("run", "only tasks of this run"),
            (
                "status",
                "pending, in_progress, waiting, on_hold, completed, failed or cancelled",
            ),
            ("waiting", "true for tasks that wait for a person"),
            ("assignee", "only tasks of this person or agent"),
            (
                "anybody",
                "true with `assignee`: also tasks that are not assigned",
            ),
            ("ended", "true for tasks that have ended, too"),
            ("count", "true to count them all"),
            ("limit", "how many, at most page_items_max"),
            ("cursor", "nextCursor of the page before"),
        ])
        .answers(200, &["items", "nextCursor"])
        .items(FIELDS),
        ApiRoute::new(
            Method::GET,
            "/tasks/{task}",
            looks,
            "Shows a task with its prompt layers, attempts and calls.",
            |asked| Box::pin(show(asked)),
        )
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::POST,
            "/tasks/{task}/answer",
            answers,
            "Answers a task that waits for a person.",
            |asked| Box::pin(answer(asked)),
        )
        .body(schema::<AnswerBody>)
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::POST,
            "/tasks/{task}/accept",
            answers,
            "Accepts the output that is there already.",
            |asked| Box::pin(accept(asked)),
        )
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::POST,
            "/tasks/{task}/fail",
            answers,
            "Says that a task cannot be done, and why.",
            |asked| Box::pin(fail(asked)),
        )
        .body(schema::<FailureBody>)
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::POST,
            "/tasks/{task}/assign",
            manages,
            "Assigns a task to a person or an agent, or unassigns it.",
            |asked| Box::pin(assign(asked)),
        )
        .body(schema::<AssignBody>)
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::POST,
            "/tasks/{task}/retry",
            manages,
            "Tries a task on hold again.",
            |asked| Box::pin(retry(asked)),
        )
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::GET,
            "/tasks/{task}/comments",
            looks,
            "Lists the comments on a task, the oldest first.",
            |asked| Box::pin(comments(asked)),
        )
        .answers(200, &["items"])
        .items(&["author", "body"]),
        ApiRoute::new(
            Method::POST,
            "/tasks/{task}/comments",
            answers,
            "Comments on a task.",
            |asked| Box::pin(comment(asked)),
        )
        .body(schema::<CommentBody>)
        .answers(201, &["author", "body"]),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AnswerBody {
    /// The task's output, as its `outputSchema` wants it.
    output: Value,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FailureBody {
    reason: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AssignBody {
    /// The slug of a person or an agent; null to unassign.
    assignee: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CommentBody {
    /// Markdown.
    body: String,
}

async fn list(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let max = cursor::page_items(&asked)?;
    let flag = |name: &str| asked.query_as::<bool>(name, "true or false");
    let use_cases = asked.use_cases()?;
    let run = match asked.query("run") {
        Some(run) => Some(use_cases.find(run).await?.id),
        None => None,
    };
    let status = status(&asked)?;
    let filter = TaskFilter {
        run,
        has_ended: flag("ended")?.unwrap_or(false) || status.is_some_and(TaskStatus::is_terminal),
        status,
        is_waiting: flag("waiting")?.unwrap_or(false),
        assignee: asked.query("assignee").map(str::to_owned),
        is_anybodys: flag("anybody")?.unwrap_or(false),
    };
    let after: Option<TaskCursor> = match cursor::read::<String>(&asked)? {
        Some(text) => Some(text.parse().map_err(|error: store::Error| {
            ApiProblem::new(ProblemCode::Invalid, error.to_string())
                .at("/query/cursor", "take `nextCursor` of an answer as it is")
        })?),
        None => None,
    };
    let rows = use_cases
        .tasks_after(&filter, after.as_ref(), max + 1)
        .await?;
    let (rows, next) = cut(rows, max, |entry| entry.cursor.to_string());
    let items = rows.iter().map(|entry| document(&entry.task)).collect();
    let mut reply = page(&asked, items, next);
    if flag("count")? == Some(true)
        && let crate::request::ReplyBody::Json(body) = &mut reply.body
    {
        body["count"] = json!(use_cases.count_tasks(&filter, COUNT_MAX).await?);
    }
    Ok(reply)
}

fn status(asked: &ApiRequest) -> Result<Option<TaskStatus>, ApiProblem> {
    let Some(text) = asked.query("status") else {
        return Ok(None);
    };
    let read = serde_json::from_value(Value::from(text));
    read.map(Some).map_err(|_| {
        ApiProblem::new(
            ProblemCode::BadRequest,
            format!("`{text}` is no status of a task"),
        )
        .at(
            "/query/status",
            "pending, in_progress, waiting, on_hold, completed, failed, …",
        )
    })
}

async fn show(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let row = use_cases.task(asked.path("task")).await?;
    let attempts = use_cases.attempts(&row.id).await?;
    let calls = use_cases.calls(&row.id).await?;
    let layers = match row.status.is_terminal() {
        true => Vec::new(),
        false => use_cases.layers(&row).await?.layers,
    };
    let mut shown = document(&row);
    shown["prompt"] = json!(use_cases.prompt(&row).await?);
    shown["layers"] = json!(layers);
    shown["attempts"] = attempts.iter().map(attempt).collect();
    shown["calls"] = json!(calls);
    shown["outputSchema"] = output_schema(&use_cases, &row).await?;
    shown["workflow"] = workflow_context(&use_cases, &row).await?;
    Ok(ApiReply::json(shown))
}

/// The schema that an answer must fit; null where any fits.
pub(super) async fn output_schema(
    use_cases: &UseCases,
    row: &TaskRow,
) -> Result<Value, ApiProblem> {
    let Some(run) = use_cases.run(&row.id.run).await? else {
        return Ok(Value::Null);
    };
    let workflow = use_cases.workflow(&run).await?;
    let step = workflow.step(&row.id.step);
    let config = step.and_then(|step| serde_json::to_value(&step.config.output_schema).ok());
    Ok(config.unwrap_or_default())
}

/// The place of a task in its workflow: the step, and where it goes from there.
async fn workflow_context(use_cases: &UseCases, row: &TaskRow) -> Result<Value, ApiProblem> {
    let Some(run) = use_cases.run(&row.id.run).await? else {
        return Ok(Value::Null);
    };
    let workflow = use_cases.workflow(&run).await?;
    let step = workflow.step(&row.id.step);
    let step = step.map(|step| super::workflows::step(&workflow, step));
    Ok(
        json!({ "name": run.name, "run": run.id.as_str(), "status": run.status.name(), "step": step }),
    )
}

async fn answer(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let AnswerBody { output } = asked.body()?;
    decide(&asked, TaskAnswer::Done { output }).await
}

async fn accept(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    decide(&asked, TaskAnswer::Accept).await
}

async fn fail(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let FailureBody { reason } = asked.body()?;
    decide(&asked, TaskAnswer::Failed { message: reason }).await
}

async fn decide(asked: &ApiRequest, answer: TaskAnswer) -> Result<ApiReply, ApiProblem> {
    let by = asked.use_cases()?.person();
    act(asked, |task| EngineCommand::Answer { task, by, answer }).await
}

async fn assign(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let AssignBody { assignee } = asked.body()?;
    act(&asked, |task| EngineCommand::Assign { task, assignee }).await
}

async fn retry(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    // Other settings of the step are for the person at the terminal: they may change what it runs.
    act(&asked, |task| EngineCommand::Retry { task, with: None }).await
}

/// Does something to the task of the path, and shows it.
async fn act(
    asked: &ApiRequest,
    command: impl FnOnce(TaskId) -> EngineCommand,
) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let row = use_cases.task(asked.path("task")).await?;
    use_cases.execute(command(row.id.clone())).await?;
    let now = use_cases.task(&row.id.to_string()).await?;
    Ok(ApiReply::json(document(&now)))
}

async fn comments(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let row = use_cases.task(asked.path("task")).await?;
    let max = asked.state().limits().page_items_max;
    let listed = asked
        .state()
        .app()
        .ports()
        .comments(&row.id, None, max)
        .await;
    let listed = listed.map_err(app::Error::from)?;
    let items: Vec<Value> = listed.iter().map(comment_document).collect();
    Ok(ApiReply::json(json!({ "items": items })))
}

async fn comment(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let CommentBody { body } = asked.body()?;
    let use_cases = asked.use_cases()?;
    let row = use_cases.task(asked.path("task")).await?;
    let author = use_cases.person();
    let added = asked
        .state()
        .app()
        .ports()
        .add_comment(&row.id, &author, &body)
        .await;
    let added = added.map_err(|error| match error.kind() {
        store::DatabaseErrorKind::Invalid => {
            ApiProblem::new(ProblemCode::Invalid, error.to_string())
        }
        _ => app::Error::from(error).into(),
    })?;
    let location = format!("/api/v1/tasks/{}/comments", encoded(&row.id.to_string()));
    Ok(ApiReply::created(comment_document(&added), &location))
}

fn comment_document(comment: &store::TaskComment) -> Value {
    json!({
        "id": comment.id, "author": comment.author, "body": comment.body,
        "createdMs": comment.created_ms, "editedMs": comment.edited_ms,
    })
}

/// Returns whether a task waits for a person.
pub(crate) fn waits_for_people(row: &TaskRow) -> bool {
    match row.status {
        TaskStatus::OnHold => true,
        TaskStatus::Pending => row.execution == ExecutionMode::Manual,
        _ => false,
    }
}

/// A task as programs see it.
pub(crate) fn document(row: &TaskRow) -> Value {
    json!({
        "id": row.id.to_string(),
        "run": row.id.run.as_str(),
        "step": row.id.step.as_str(),
        "kind": row.kind,
        "execution": row.execution,
        "status": row.status.name(),
        "isWaiting": waits_for_people(row),
        "assignee": row.assignee,
        "attempt": row.attempt,
        "output": row.output,
        "isPartial": row.partial,
        "failure": row.failure.as_ref().map(|failure| json!({
            "class": failure.class.name(), "message": failure.message,
        })),
        "hold": row.hold.as_ref().map(|hold| hold.reason.clone()),
        "tags": row.tags,
        "spent": { "tokens": row.spent.tokens, "micros": row.spent.micros },
        "createdMs": row.created_ms,
        "endedMs": row.ended_ms,
    })
}

pub(super) fn attempt(attempt: &AttemptRecord) -> Value {
    let end = attempt.end.as_ref();
    json!({
        "number": attempt.number,
        "by": attempt.by,
        "begunMs": attempt.begun_ms,
        "endedMs": end.map(|end| end.at_ms),
        "status": end.map(|end| end.status.name()),
        "class": end.and_then(|end| end.class).map(|class| class.name()),
        "message": end.and_then(|end| end.message.as_deref()),
    })
}
