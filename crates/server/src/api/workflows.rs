//! Workflows: their texts, checked, drawn, saved, versioned, imported and exported.

use std::collections::HashMap;

use app::workflows::LoadedWorkflow;
use app::{Permission, TextSave, UseCases};
use axum::http::{Method, StatusCode};
use flow::{EdgeCondition, StepId, TextHash, Workflow, WorkflowStep};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use store::WorkflowVersion;

use super::encoded;
use crate::pages::samples::RunSample;
use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest};
use crate::table::{ApiRoute, RouteAccess, schema};

/// The fields of a workflow that are always there.
const FIELDS: &[&str] = &["name", "hash", "isFine", "problems"];

#[expect(
    clippy::too_many_lines,
    reason = "one table of routes: splitting it would hide gaps"
)]
pub(crate) fn routes() -> Vec<ApiRoute> {
    let looks = RouteAccess::Needs(Permission::Look);
    let edits = RouteAccess::Needs(Permission::EditWorkflows);
    vec![
        ApiRoute::new(
            Method::GET,
            "/workflows",
            looks,
            "Lists workflows by name.",
            |asked| Box::pin(list(asked)),
        )
        .answers(200, &["items"])
        .items(&["name"]),
        ApiRoute::new(
            Method::POST,
            "/workflows",
            edits,
            "Creates a workflow from a text.",
            |asked| Box::pin(create(asked)),
        )
        .body(schema::<NewWorkflow>)
        .answers(201, FIELDS),
        ApiRoute::new(
            Method::POST,
            "/workflows/check",
            looks,
            "Checks a text: problems with their places, the steps, and what a step can refer to.",
            |asked| Box::pin(check(asked)),
        )
        .body(schema::<CheckText>)
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::POST,
            "/workflows/draw",
            looks,
            "Draws a text as SVG.",
            |asked| Box::pin(draw_text(asked)),
        )
        .body(schema::<DrawText>)
        .media("image/svg+xml"),
        ApiRoute::new(
            Method::POST,
            "/workflows/import",
            edits,
            "Imports a document of version 2.0, or a bare diagram.",
            |asked| Box::pin(import(asked)),
        )
        .body(schema::<ImportBody>)
        .answers(201, FIELDS),
        ApiRoute::new(
            Method::GET,
            "/workflows/{name}",
            looks,
            "Returns the text of a workflow, its steps and its problems.",
            |asked| Box::pin(show(asked)),
        )
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::PUT,
            "/workflows/{name}",
            edits,
            "Saves a text as the next version; `If-Match: \"new\"` for a new workflow.",
            |asked| Box::pin(save(asked)),
        )
        .body(schema::<SaveText>)
        .needs_match()
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::GET,
            "/workflows/{name}/svg",
            looks,
            "Draws a workflow as SVG.",
            |asked| Box::pin(draw(asked)),
        )
        .media("image/svg+xml"),
        ApiRoute::new(
            Method::GET,
            "/workflows/{name}/export",
            looks,
            "Returns a workflow as a document of version 2.0, with its agents.",
            |asked| Box::pin(export(asked)),
        ),
        ApiRoute::new(
            Method::GET,
            "/workflows/{name}/steps/{step}",
            looks,
            "Returns one step by its stage id.",
            |asked| Box::pin(show_step(asked)),
        )
        .answers(200, &["id", "name", "stepType", "edges"]),
        ApiRoute::new(
            Method::GET,
            "/workflows/{name}/versions",
            looks,
            "Lists the versions of a workflow, the newest first.",
            |asked| Box::pin(versions(asked)),
        )
        .query(&[("before", "only versions before this number")])
        .answers(200, &["items"]),
        ApiRoute::new(
            Method::GET,
            "/workflows/{name}/diff",
            looks,
            "Compares two versions of a workflow line by line.",
            |asked| Box::pin(diff(asked)),
        )
        .query(&[
            ("from", "the number of a version"),
            ("to", "the number of another"),
        ])
        .answers(200, &["from", "to", "diff"]),
        ApiRoute::new(
            Method::GET,
            "/workflows/{name}/versions/{number}",
            looks,
            "Returns one version with its text.",
            |asked| Box::pin(show_version(asked)),
        )
        .answers(200, &["number", "text", "hash"]),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CheckText {
    text: String,
    /// The workflow's name, whose last run gives the samples of references.
    #[serde(default)]
    name: Option<String>,
    /// The step whose references are wanted.
    #[serde(default)]
    step: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DrawText {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewWorkflow {
    name: String,
    text: String,
    /// A line that says why.
    #[serde(default)]
    message: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SaveText {
    text: String,
    /// A line that says why.
    #[serde(default)]
    message: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ImportBody {
    /// The document, or the text of a diagram.
    document: Value,
    /// The new name; its own name if left out.
    #[serde(default)]
    name: Option<String>,
}

async fn list(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let names = use_cases.workflow_names().await?;
    let items: Vec<Value> = names
        .iter()
        .map(|name| json!({ "name": name, "href": format!("/api/v1/workflows/{}", encoded(name)) }))
        .collect();
    Ok(ApiReply::json(json!({ "items": items })))
}

async fn create(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let new: NewWorkflow = asked.body()?;
    let use_cases = asked.use_cases()?;
    let save = TextSave {
        name: new.name,
        source: new.text,
        seen: None,
        message: new.message,
    };
    let saved = use_cases.save_workflow(save).await;
    let (sheet, version) = saved.map_err(|error| match ApiProblem::from(error) {
        // The author has seen no text: the one that exists is not stale, it is in the way.
        problem if problem.code == ProblemCode::Stale => {
            ApiProblem::new(ProblemCode::Conflict, problem.detail())
                .hint("PUT it with If-Match to save another version")
        }
        problem => problem,
    })?;
    let mut shown = document(&sheet);
    shown["version"] = json!(version.number);
    let location = format!("/api/v1/workflows/{}", encoded(&sheet.name));
    let tag = TextHash::of(&sheet.source);
    Ok(ApiReply::created(shown, &location).etag(tag.as_str()))
}

async fn check(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let CheckText { text, name, step } = asked.body()?;
    let name = name.as_deref().unwrap_or("text");
    let use_cases = asked.use_cases()?;
    let sheet = use_cases.check_text(name, text).await?;
    let mut shown = document(&sheet);
    if let Some(step) = step {
        shown["references"] = references(&use_cases, &sheet, &step).await?;
    }
    Ok(ApiReply::json(shown))
}

/// Lists the references that a step can use, each with its value in the last run.
async fn references(
    use_cases: &UseCases,
    sheet: &LoadedWorkflow,
    step: &str,
) -> Result<Value, ApiProblem> {
    let sample = RunSample::of(use_cases, sheet).await?;
    let all = sample.references(sheet, step).into_iter();
    Ok(all
        .map(|(path, value)| json!({ "path": path, "sample": value }))
        .collect())
}

async fn draw_text(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let DrawText { text } = asked.body()?;
    let sheet = asked.use_cases()?.check_text("text", text).await?;
    picture(&sheet)
}

async fn show(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let sheet = asked.use_cases()?.sheet(asked.path("name")).await?;
    let mut shown = document(&sheet);
    shown["text"] = json!(sheet.source);
    Ok(ApiReply::json(shown).etag(TextHash::of(&sheet.source).as_str()))
}

async fn save(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let given: SaveText = asked.body()?;
    let seen = asked.if_match()?;
    let use_cases = asked.use_cases()?;
    let is_new = seen == "new";
    let save = TextSave {
        name: asked.path("name").to_owned(),
        source: given.text,
        seen: Some(seen).filter(|_| !is_new),
        message: given.message,
    };
    let (sheet, version) = use_cases.save_workflow(save).await?;
    let mut shown = document(&sheet);
    shown["version"] = json!(version.number);
    let status = match is_new {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    let tag = TextHash::of(&sheet.source);
    Ok(ApiReply::json(shown).etag(tag.as_str()).status(status))
}

async fn import(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let given: ImportBody = asked.body()?;
    let text = match given.document {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let use_cases = asked.use_cases()?;
    let sheet = use_cases
        .import_workflow(&text, given.name.as_deref())
        .await?;
    let location = format!("/api/v1/workflows/{}", encoded(&sheet.name));
    let tag = TextHash::of(&sheet.source);
    Ok(ApiReply::created(document(&sheet), &location).etag(tag.as_str()))
}

async fn draw(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let sheet = asked.use_cases()?.sheet(asked.path("name")).await?;
    picture(&sheet)
}

fn picture(sheet: &LoadedWorkflow) -> Result<ApiReply, ApiProblem> {
    let Some(workflow) = &sheet.workflow else {
        return Err(unfit(sheet));
    };
    let drawn = workflow.document().to_svg("drawloom", &HashMap::new());
    let drawn = drawn.map_err(|cause| ApiProblem::new(ProblemCode::Invalid, cause.to_string()))?;
    // As a page of its own it may load and run nothing.
    Ok(ApiReply::text("image/svg+xml", drawn).header(
        "content-security-policy",
        "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    ))
}

async fn export(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    Ok(ApiReply::json(
        use_cases.export_workflow(asked.path("name")).await?,
    ))
}

async fn show_step(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let (name, id) = (asked.path("name"), asked.path("step"));
    let use_cases = asked.use_cases()?;
    let sheet = use_cases.sheet(name).await?;
    let Some(workflow) = &sheet.workflow else {
        return Err(unfit(&sheet));
    };
    let Some(found) = workflow.step(&StepId::new(id)) else {
        let message = format!("the workflow `{name}` has no step `{id}`");
        return Err(ApiProblem::new(ProblemCode::NotFound, message));
    };
    let mut shown = step(workflow, found);
    shown["references"] = references(&use_cases, &sheet, id).await?;
    Ok(ApiReply::json(shown))
}

async fn versions(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let before = asked.query_as("before", "the number of a version")?;
    let use_cases = asked.use_cases()?;
    let listed = use_cases
        .workflow_versions(asked.path("name"), before)
        .await?;
    let items: Vec<Value> = listed.iter().map(version).collect();
    Ok(ApiReply::json(json!({ "items": items })))
}

async fn show_version(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let number: u64 = asked.path_as("number")?;
    let use_cases = asked.use_cases()?;
    let (found, text) = use_cases
        .workflow_version(asked.path("name"), number)
        .await?;
    let mut shown = version(&found);
    shown["text"] = json!(text);
    Ok(ApiReply::json(shown))
}

async fn diff(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let number = |name: &'static str| -> Result<u64, ApiProblem> {
        let given = asked.query_as(name, "the number of a version")?;
        given.ok_or_else(|| {
            let message = format!("the parameter `{name}` is missing");
            ApiProblem::new(ProblemCode::BadRequest, message)
                .at(format!("/query/{name}"), "the number of a version")
        })
    };
    let (from, to) = (number("from")?, number("to")?);
    let use_cases = asked.use_cases()?;
    let name = asked.path("name");
    let (old, old_text) = use_cases.workflow_version(name, from).await?;
    let (new, new_text) = use_cases.workflow_version(name, to).await?;
    let diff = workspace::diff::unified(&old_text, &new_text, &format!("{name}.mmd"));
    Ok(ApiReply::json(
        json!({ "from": version(&old), "to": version(&new), "diff": diff }),
    ))
}

fn version(version: &WorkflowVersion) -> Value {
    json!({
        "number": version.number, "hash": version.hash.as_str(), "author": version.author,
        "createdMs": version.created_ms, "message": version.message,
    })
}

/// A workflow as programs see it, without its text.
fn document(sheet: &LoadedWorkflow) -> Value {
    let workflow = sheet.workflow.as_ref();
    let steps = workflow.map(|workflow| {
        let steps = workflow.steps().iter();
        steps.map(|one| step(workflow, one)).collect::<Vec<Value>>()
    });
    json!({
        "name": sheet.name,
        "title": sheet.title(),
        "hash": TextHash::of(&sheet.source).as_str(),
        "isFine": sheet.is_fine(),
        "problems": problems(sheet),
        "steps": steps,
        "starts": workflow.map(|workflow| {
            workflow.starts().iter().map(|id| id.as_str().to_owned()).collect::<Vec<_>>()
        }),
    })
}

fn problems(sheet: &LoadedWorkflow) -> Vec<Value> {
    let severity = |problem: &flow::WorkflowProblem| match problem.severity {
        flow::ProblemSeverity::Error => "error",
        flow::ProblemSeverity::Warning => "warning",
    };
    let all = sheet.problems.iter();
    all.map(|problem| {
        json!({
            "severity": severity(problem), "code": problem.code.name(),
            "line": problem.line, "column": problem.column, "width": problem.width,
            "message": problem.message, "hint": problem.hint,
        })
    })
    .collect()
}

/// A step as programs see it.
pub(crate) fn step(workflow: &Workflow, step: &WorkflowStep) -> Value {
    let edges: Vec<Value> = workflow
        .outgoing(&step.id)
        .map(|edge| {
            let (when, condition) = match &edge.when {
                EdgeCondition::Always => ("always", None),
                EdgeCondition::Condition(condition) => ("condition", Some(condition)),
                EdgeCondition::Default => ("default", None),
                EdgeCondition::OnError => ("on_error", None),
            };
            json!({
                "to": edge.to.as_str(), "label": edge.label, "when": when, "condition": condition,
            })
        })
        .collect();
    json!({
        "id": step.id.as_str(), "name": step.name, "stepType": step.step_type,
        "execution": step.execution, "handler": step.config.handler,
        "prompt": step.config.prompt, "description": step.config.description,
        "assignee": step.config.default_assignee_id, "line": step.spot.line, "edges": edges,
    })
}

/// The refusal of a workflow that cannot run, with every problem and its place.
pub(crate) fn unfit(sheet: &LoadedWorkflow) -> ApiProblem {
    let message = format!("the workflow `{}` cannot run", sheet.name);
    ApiProblem::new(ProblemCode::Invalid, message)
        .hint("each of `problems` has its line and column")
        .with("problems", Value::Array(problems(sheet)))
}
