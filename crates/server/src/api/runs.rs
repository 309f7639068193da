//! Runs: started, listed, shown, controlled, followed.

use app::{Permission, RerunRequest, RerunText, RunRequest, UseCases};
use axum::http::Method;
use flow::engine::{EngineCommand, RunEvent, RunRow, RunStatus, TaskRow};
use flow::{TaskId, TaskSelection};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use store::{RunCursor, RunFilter};

use super::{cut, encoded, page, tasks, workflows};
use crate::cursor;
use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest};
use crate::table::{ApiRoute, RouteAccess, schema};

/// How far runs are counted.
const COUNT_MAX: usize = 100_000;
/// The fields of a run that are always there.
const FIELDS: &[&str] = &["id", "status", "workflow", "createdMs", "tags"];
/// The fields of one that is shown whole.
const SHOWN: &[&str] = &[
    "id",
    "status",
    "workflow",
    "createdMs",
    "tags",
    "input",
    "output",
    "steps",
    "waiting",
];

#[expect(
    clippy::too_many_lines,
    reason = "one table of routes: splitting it would hide gaps"
)]
pub(crate) fn routes() -> Vec<ApiRoute> {
    let looks = RouteAccess::Needs(Permission::Look);
    let controls = RouteAccess::Needs(Permission::ControlRuns);
    vec![
        ApiRoute::new(
            Method::GET,
            "/runs",
            looks,
            "Lists runs, the newest first.",
            |asked| Box::pin(list(asked)),
        )
        .query(&[
            ("status", "running, paused, completed, failed or cancelled"),
            ("workflow", "only runs of workflows with this in their name"),
            ("tag", "only runs with this tag"),
            ("sinceMs", "only runs that began then or later"),
            ("beforeMs", "only runs that began before"),
            ("top", "true for runs that no other run has started"),
            ("count", "true to count them all"),
            ("limit", "how many, at most page_items_max"),
            ("cursor", "nextCursor of the page before"),
        ])
        .answers(200, &["items", "nextCursor"])
        .items(FIELDS),
        ApiRoute::new(
            Method::POST,
            "/runs",
            controls,
            "Starts one run, or many with `inputs`.",
            |asked| Box::pin(start(asked)),
        )
        .body(schema::<StartRuns>)
        .answers(201, &["runs"]),
        ApiRoute::new(
            Method::POST,
            "/runs/bulk",
            controls,
            "Does something to every run of a filter, if there are as many as the caller has seen.",
            |asked| Box::pin(super::bulk::act(asked)),
        )
        .body(schema::<super::bulk::BulkBody>)
        .answers(200, &["done", "failed"]),
        ApiRoute::new(
            Method::GET,
            "/runs/{run}/compare/{other}",
            looks,
            "Compares two runs step by step.",
            |asked| Box::pin(super::comparing::compare(asked)),
        )
        .answers(
            200,
            &["left", "right", "steps", "hasSameText", "hasSameInput"],
        ),
        ApiRoute::new(
            Method::GET,
            "/runs/{run}",
            looks,
            "Shows a run with its steps and what it waits for.",
            |asked| Box::pin(show(asked)),
        )
        .answers(200, SHOWN),
        ApiRoute::new(
            Method::GET,
            "/runs/{run}/events",
            looks,
            "Lists what happened to a run, in order.",
            |asked| Box::pin(events(asked)),
        )
        .query(&[
            ("afterSeq", "only events behind this number"),
            ("limit", "how many, at most page_items_max"),
        ])
        .answers(200, &["items", "nextSeq"])
        .items(&["run", "seq", "kind"]),
        ApiRoute::new(
            Method::GET,
            "/runs/{run}/explain",
            looks,
            "Lists every decision of a run with its conditions and values.",
            |asked| Box::pin(explain(asked)),
        )
        .answers(200, &["decisions"]),
        ApiRoute::new(
            Method::POST,
            "/runs/{run}/cancel",
            controls,
            "Cancels a run.",
            |asked| Box::pin(cancel(asked)),
        )
        .optional_body(schema::<ReasonBody>)
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::POST,
            "/runs/{run}/pause",
            controls,
            "Pauses a run.",
            |asked| Box::pin(pause(asked)),
        )
        .optional_body(schema::<ReasonBody>)
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::POST,
            "/runs/{run}/resume",
            controls,
            "Resumes a run.",
            |asked| Box::pin(resume(asked)),
        )
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::POST,
            "/runs/{run}/rerun",
            controls,
            "Runs a step again with everything after it, or the workflow as a new run.",
            |asked| Box::pin(rerun(asked)),
        )
        .body(schema::<RerunBody>)
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::POST,
            "/runs/{run}/signal",
            controls,
            "Sends a signal that a step waits for.",
            |asked| Box::pin(signal(asked)),
        )
        .body(schema::<SignalBody>)
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::DELETE,
            "/runs/{run}",
            RouteAccess::Needs(Permission::DeleteRuns),
            "Deletes a run that has ended.",
            |asked| Box::pin(delete(asked)),
        ),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct StartRuns {
    /// The workflow's name.
    workflow: String,
    /// The input of one run.
    #[serde(default)]
    input: Option<Value>,
    /// An input for each of many runs.
    #[serde(default)]
    inputs: Option<Vec<Value>>,
    #[serde(default)]
    tags: Vec<String>,
    /// Who does what no step says who does.
    #[serde(default)]
    assignee: Option<String>,
    /// Runs of a higher one are worked on first; 0 if left out.
    #[serde(default)]
    priority: Option<i32>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReasonBody {
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RerunBody {
    /// The task, such as `B`, `B~2` or `C[2]/D`; left out, a new run begins.
    #[serde(default)]
    #[schemars(length(min = 1))]
    step: Option<String>,
    /// The input of the new run; that of this run if left out.
    #[serde(default)]
    input: Option<Value>,
    /// With the text of this run, or with the one that the workflow has now.
    #[serde(default)]
    version: RerunVersion,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RerunVersion {
    #[default]
    Pinned,
    Current,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SignalBody {
    name: String,
    #[serde(default)]
    payload: Value,
}

async fn list(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let max = cursor::page_items(&asked)?;
    let filter = RunFilter {
        status: status(&asked)?,
        workflow: asked.query("workflow").map(str::to_owned),
        tag: asked.query("tag").map(str::to_owned),
        since_ms: asked.query_as("sinceMs", "milliseconds since 1970")?,
        before_ms: asked.query_as("beforeMs", "milliseconds since 1970")?,
        is_top: asked.query_as("top", "true or false")?.unwrap_or(false),
    };
    let after = cursor::read::<(u64, String)>(&asked)?.map(|(created_ms, id)| RunCursor {
        created_ms,
        id: id.into(),
    });
    let use_cases = asked.use_cases()?;
    let rows = use_cases
        .runs_after(&filter, after.as_ref(), max + 1)
        .await?;
    let (rows, next) = cut(rows, max, |run| {
        (run.created_ms, run.id.as_str().to_owned())
    });
    let items = rows.iter().map(document).collect();
    let mut reply = page(&asked, items, next);
    if asked.query_as::<bool>("count", "true or false")? == Some(true)
        && let crate::request::ReplyBody::Json(body) = &mut reply.body
    {
        body["count"] = json!(use_cases.count_runs(&filter, COUNT_MAX).await?);
    }
    Ok(reply)
}

fn status(asked: &ApiRequest) -> Result<Option<RunStatus>, ApiProblem> {
    let Some(text) = asked.query("status") else {
        return Ok(None);
    };
    let read = serde_json::from_value(Value::from(text));
    read.map(Some).map_err(|_| {
        ApiProblem::new(
            ProblemCode::BadRequest,
            format!("`{text}` is no status of a run"),
        )
        .at(
            "/query/status",
            "running, paused, completed, failed or cancelled",
        )
    })
}

async fn start(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let wanted: StartRuns = asked.body()?;
    let inputs = match (wanted.input, wanted.inputs) {
        (Some(_), Some(_)) => {
            return Err(
                ApiProblem::new(ProblemCode::Invalid, "there are two kinds of input")
                    .at("/inputs", "give `input` for one run or `inputs` for many"),
            );
        }
        (input, None) => vec![input.unwrap_or_else(|| Value::Object(Map::new()))],
        (None, Some(inputs)) => inputs,
    };
    let max = asked.state().limits().runs_at_once_max;
    if inputs.is_empty() || inputs.len() > max {
        return Err(
            ApiProblem::new(ProblemCode::Invalid, "the number of runs does not fit")
                .at("/inputs", format!("from 1 to {max} (runs_at_once_max)")),
        );
    }
    let use_cases = asked.use_cases()?;
    let sheet = use_cases.sheet(&wanted.workflow).await?;
    if !sheet.is_fine() {
        return Err(workflows::unfit(&sheet));
    }
    let begins = inputs.into_iter().map(|input| RunRequest {
        input,
        tags: wanted.tags.clone(),
        assignee: wanted.assignee.clone(),
        priority: wanted.priority.unwrap_or_default(),
        name: None,
    });
    let runs = use_cases.start_many(&sheet, begins.collect()).await?;
    let ids: Vec<&str> = runs.iter().map(|run| run.as_str()).collect();
    let location = match ids.as_slice() {
        [one] => format!("/api/v1/runs/{}", encoded(one)),
        _ => "/api/v1/runs".to_owned(),
    };
    Ok(ApiReply::created(json!({ "runs": ids }), &location))
}

async fn show(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let run = use_cases.find(asked.path("run")).await?;
    let input = use_cases.input(&run.id).await?;
    let rows = use_cases.tasks(Some(&run.id), TaskSelection::All).await?;
    let workflow = use_cases.workflow(&run).await?;
    let steps: Vec<Value> = workflow
        .steps()
        .iter()
        .map(|step| {
            let of: Vec<&TaskRow> = rows.iter().filter(|row| row.id.step == step.id).collect();
            let mut counts: Map<String, Value> = Map::new();
            for row in &of {
                let name = row.status.name();
                let count = counts.get(name).and_then(Value::as_u64).unwrap_or(0);
                counts.insert(name.to_owned(), json!(count + 1));
            }
            json!({
                "id": step.id.as_str(), "name": step.name, "stepType": step.step_type,
                "tasks": of.len(), "counts": counts,
                "newest": of.last().map(|row| tasks::document(row)),
            })
        })
        .collect();
    let output = run.result.as_ref().and_then(|result| {
        let row = rows.iter().find(|row| row.id == *result);
        row.and_then(|row| row.output.clone())
    });
    let waiting = rows.iter().filter(|row| tasks::waits_for_people(row));
    let mut shown = document(&run);
    shown["input"] = input;
    shown["output"] = output.unwrap_or_default();
    shown["steps"] = json!(steps);
    shown["waiting"] = waiting.map(tasks::document).collect();
    Ok(ApiReply::json(shown).etag(run.seq))
}

async fn events(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let max = cursor::page_items(&asked)?;
    let after = asked.query_as::<u64>("afterSeq", "the number of an event")?;
    let use_cases = asked.use_cases()?;
    let run = use_cases.find(asked.path("run")).await?;
    let after = after.unwrap_or(0);
    let events = use_cases.events_after(&run.id, after, max).await?;
    let next = events.last().map_or(after, |event| event.seq);
    let items: Vec<Value> = events.iter().map(event).collect();
    Ok(ApiReply::json(
        json!({ "items": items, "nextSeq": next, "lastSeq": run.seq }),
    ))
}

async fn explain(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let run = use_cases.find(asked.path("run")).await?;
    let events = use_cases.events(&run.id).await?;
    let decided = events
        .iter()
        .filter(|event| matches!(event.what, flow::engine::EventKind::Decided { .. }));
    let decisions: Vec<Value> = decided.map(event).collect();
    Ok(ApiReply::json(
        json!({ "run": run.id.as_str(), "decisions": decisions }),
    ))
}

async fn cancel(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let reason = reason(&asked, "cancelled")?;
    act(&asked, |run| EngineCommand::Cancel {
        run: run.id,
        reason,
    })
    .await
}

async fn pause(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let reason = reason(&asked, "paused")?;
    act(&asked, |run| EngineCommand::Pause {
        run: run.id,
        reason,
    })
    .await
}

async fn resume(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    act(&asked, |run| EngineCommand::Resume { run: run.id }).await
}

async fn rerun(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let wanted: RerunBody = asked.body()?;
    let use_cases = asked.use_cases()?;
    let run = use_cases.find(asked.path("run")).await?;
    let wish = RerunRequest {
        step: wanted.step,
        input: wanted.input,
        text: match wanted.version {
            RerunVersion::Pinned => RerunText::Pinned,
            RerunVersion::Current => RerunText::Current,
        },
    };
    let goes_on = use_cases.run_again(&run, wish).await?;
    let run = use_cases.find(goes_on.as_str()).await?;
    let location = format!("/api/v1/runs/{}", encoded(run.id.as_str()));
    Ok(ApiReply::json(document(&run)).header("location", &location))
}

async fn signal(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let SignalBody { name, payload } = asked.body()?;
    act(&asked, |run| EngineCommand::Signal {
        run: run.id,
        name,
        payload,
    })
    .await
}

async fn delete(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let run = use_cases.find(asked.path("run")).await?;
    if !run.status.is_terminal() {
        return Err(
            ApiProblem::new(ProblemCode::Conflict, "the run has not ended").hint("cancel it first"),
        );
    }
    use_cases.delete_runs(std::slice::from_ref(&run.id)).await?;
    Ok(ApiReply::nothing())
}

/// Does something to the run of the path, and shows it.
async fn act(
    asked: &ApiRequest,
    command: impl FnOnce(RunRow) -> EngineCommand,
) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let run = use_cases.find(asked.path("run")).await?;
    use_cases.execute(command(run.clone())).await?;
    shown_again(&use_cases, &run).await
}

async fn shown_again(use_cases: &UseCases, run: &RunRow) -> Result<ApiReply, ApiProblem> {
    let now = use_cases.run(&run.id).await?;
    Ok(ApiReply::json(document(now.as_ref().unwrap_or(run))))
}

fn reason(asked: &ApiRequest, did: &str) -> Result<String, ApiProblem> {
    let given: ReasonBody = asked.body_or_default()?;
    let by = asked.use_cases()?.person();
    Ok(given.reason.unwrap_or_else(|| format!("{did} by {by}")))
}

/// A run as programs see it.
pub(crate) fn document(run: &RunRow) -> Value {
    json!({
        "id": run.id.as_str(),
        "workflow": run.name,
        "textHash": run.workflow.as_str(),
        "status": run.status.name(),
        "reason": run.reason,
        "parent": run.parent.as_ref().map(TaskId::to_string),
        "assignee": run.assignee,
        "tags": run.tags,
        "active": run.active,
        "lastSeq": run.seq,
        "spent": { "tokens": run.spent.tokens, "micros": run.spent.micros },
        "createdMs": run.created_ms,
        "endedMs": run.ended_ms,
    })
}

/// An event of a run as programs see it: its kind, and what else there is to say.
pub(crate) fn event(event: &RunEvent) -> Value {
    let mut data = serde_json::to_value(&event.what).unwrap_or_default();
    let kind = data.as_object_mut().and_then(|data| data.remove("what"));
    json!({
        "run": event.run.as_str(), "seq": event.seq, "atMs": event.at_ms,
        "kind": kind, "data": data,
    })
}
