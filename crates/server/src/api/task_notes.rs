//! Tasks without a diagram, and what people write about tasks.

use app::{AddTaskRequest, Permission, TaskEdit};
use axum::http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use store::{TaskDetails, TaskUrgency};

use super::encoded;
use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest};
use crate::table::{ApiRoute, RouteAccess, schema};

/// The fields of a task's details that are always there.
const FIELDS: &[&str] = &["task", "title", "urgency", "tags", "revision"];

pub(crate) fn routes() -> Vec<ApiRoute> {
    let looks = RouteAccess::Needs(Permission::Look);
    let manages = RouteAccess::Needs(Permission::ManageTasks);
    vec![
        ApiRoute::new(
            Method::POST,
            "/tasks",
            manages,
            "Adds a task, alone or as a step of a workflow that is run for it.",
            |asked| Box::pin(add(asked)),
        )
        .body(schema::<TaskBody>)
        .answers(201, FIELDS),
        ApiRoute::new(
            Method::GET,
            "/tasks/{task}/details",
            looks,
            "Returns what people have written about a task.",
            |asked| Box::pin(show(asked)),
        )
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::PATCH,
            "/tasks/{task}/details",
            manages,
            "Edits the details of a task.",
            |asked| Box::pin(edit(asked)),
        )
        .body(schema::<DetailsEdit>)
        .needs_match()
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::GET,
            "/tasks/{task}/children",
            looks,
            "Lists the tasks that are parts of a task.",
            |asked| Box::pin(children(asked)),
        )
        .answers(200, &["items"]),
        ApiRoute::new(
            Method::GET,
            "/tasks/{task}/activity",
            looks,
            "Lists what happened to a task, with its comments, in order.",
            |asked| Box::pin(activity(asked)),
        )
        .answers(200, &["items"]),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct TaskBody {
    /// One line that names it.
    title: String,
    #[serde(default)]
    summary: String,
    /// A text for the one who does it, added to the prompt.
    #[serde(default)]
    extra_prompt: String,
    #[serde(default)]
    additional_info: Value,
    /// low, normal, high or critical
    #[serde(default)]
    urgency: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    due_ms: Option<u64>,
    /// The slug of a person or an agent; unassigned if left out.
    #[serde(default)]
    assignee: Option<String>,
    /// The task it is a part of.
    #[serde(default)]
    parent: Option<String>,
    /// The workflow that is run for it, in place of the built-in one.
    #[serde(default)]
    workflow_id: Option<String>,
    /// The step of that workflow which is this task.
    #[serde(default)]
    step_id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct DetailsEdit {
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    summary: Option<String>,
    #[serde(default)]
    extra_prompt: Option<String>,
    #[serde(default)]
    additional_info: Option<Value>,
    /// low, normal, high or critical
    #[serde(default)]
    urgency: Option<String>,
    #[serde(default)]
    tags: Option<Vec<String>>,
    /// 0 removes it.
    #[serde(default)]
    due_ms: Option<u64>,
    /// An empty text removes it.
    #[serde(default)]
    parent: Option<String>,
}

async fn add(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let new: TaskBody = asked.body()?;
    let wish = AddTaskRequest {
        title: new.title,
        summary: new.summary,
        extra_prompt: new.extra_prompt,
        additional_info: new.additional_info,
        urgency: urgency(new.urgency.as_deref())?.unwrap_or_default(),
        tags: new.tags,
        due_ms: new.due_ms,
        assignee: new.assignee,
        parent: new.parent,
        workflow: new.workflow_id,
        step: new.step_id,
    };
    let added = asked.use_cases()?.add_task(wish).await?;
    let name = encoded(&added.task.to_string());
    let shown = document(&added.details);
    let location = format!("/api/v1/tasks/{name}");
    Ok(ApiReply::created(shown, &location).etag(added.details.revision))
}

async fn show(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let row = use_cases.task(asked.path("task")).await?;
    let story = use_cases.task_story(&row.id).await?;
    let details = &story.details;
    Ok(ApiReply::json(document(details)).etag(details.revision))
}

async fn edit(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let edit: DetailsEdit = asked.body()?;
    let edit = TaskEdit {
        urgency: urgency(edit.urgency.as_deref())?,
        revision: Some(asked.if_match_revision()?),
        title: edit.title,
        summary: edit.summary,
        extra_prompt: edit.extra_prompt,
        additional_info: edit.additional_info,
        tags: edit.tags,
        due_ms: edit.due_ms.map(|due_ms| Some(due_ms).filter(|ms| *ms > 0)),
        parent: edit
            .parent
            .map(|parent| Some(parent).filter(|name| !name.is_empty())),
    };
    let use_cases = asked.use_cases()?;
    let edited = use_cases.edit_task(asked.path("task"), edit).await?;
    Ok(ApiReply::json(document(&edited)).etag(edited.revision))
}

async fn children(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let row = use_cases.task(asked.path("task")).await?;
    let story = use_cases.task_story(&row.id).await?;
    let items: Vec<Value> = story.children.iter().map(document).collect();
    Ok(ApiReply::json(json!({ "items": items })))
}

async fn activity(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let row = use_cases.task(asked.path("task")).await?;
    let story = use_cases.task_story(&row.id).await?;
    let entries = story.activity.iter();
    let items: Vec<Value> = entries
        .map(|entry| json!({ "atMs": entry.at_ms, "what": entry.what, "text": entry.text }))
        .collect();
    Ok(ApiReply::json(json!({ "items": items })))
}

fn urgency(word: Option<&str>) -> Result<Option<TaskUrgency>, ApiProblem> {
    let read = word.map(str::parse).transpose();
    read.map_err(|error: store::Error| {
        ApiProblem::new(ProblemCode::Invalid, error.to_string()).at("/urgency", error.to_string())
    })
}

fn document(details: &TaskDetails) -> Value {
    json!({
        "task": details.task.to_string(),
        "title": details.title,
        "summary": details.summary,
        "extraPrompt": details.extra_prompt,
        "additionalInfo": details.additional_info,
        "urgency": details.urgency.as_str(),
        "tags": details.tags,
        "dueMs": details.due_ms,
        "parent": details.parent.as_ref().map(ToString::to_string),
        "createdBy": details.created_by,
        "revision": details.revision,
        "createdMs": details.created_ms,
        "updatedMs": details.updated_ms,
    })
}
