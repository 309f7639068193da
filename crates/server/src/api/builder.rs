//! The builder's routes: asked for (202), looked at, approved, rejected, reviewed, published and cancelled.
//!
//! A build is a record: the answer comes at once, and the work goes on in the background. Where no model is
//! set up to do it, the answer is 503; if the build's status does not allow the act, 409.

use app::{Permission, UseCases};
use axum::http::Method;
use builder::review::BuildReview;
use builder::{JobId, JobStatus, Options};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cursor;
use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest};
use crate::state::ServerState;
use crate::table::{ApiRoute, RouteAccess, schema};

/// The fields of an answer about an act.
const ACTED: &[&str] = &["jobId", "status"];

#[expect(
    clippy::too_many_lines,
    reason = "one table of routes: splitting it would hide gaps"
)]
pub(crate) fn routes() -> Vec<ApiRoute> {
    let looks = RouteAccess::Needs(Permission::Look);
    let starts = RouteAccess::Needs(Permission::StartBuilds);
    let decides = RouteAccess::Needs(Permission::DecideBuilds);
    vec![
        ApiRoute::new(
            Method::POST,
            "/builder/generate",
            starts,
            "Asks for a build; its plan is made in the background.",
            |asked| Box::pin(generate(asked)),
        )
        .body(schema::<GenerateBody>)
        .answers(202, ACTED),
        ApiRoute::new(
            Method::GET,
            "/builder/jobs",
            looks,
            "Lists builds, the newest first.",
            |asked| Box::pin(list(asked)),
        )
        .query(&[
            ("status", "only builds of this status"),
            ("limit", "how many, at most page_items_max"),
            ("cursor", "nextCursor of the page before"),
        ])
        .answers(200, &["items", "nextCursor"]),
        ApiRoute::new(
            Method::GET,
            "/builder/jobs/{job}",
            looks,
            "Returns a build: its plan, progress and result.",
            |asked| Box::pin(show(asked)),
        )
        .answers(200, &["id", "status"]),
        ApiRoute::new(
            Method::POST,
            "/builder/jobs/{job}/approve",
            decides,
            "Approves a plan, or an edited one; it is built in the background.",
            |asked| Box::pin(approve(asked)),
        )
        .optional_body(schema::<ApproveBody>)
        .answers(200, ACTED),
        ApiRoute::new(
            Method::POST,
            "/builder/jobs/{job}/reject",
            decides,
            "Ends a build without building it.",
            |asked| Box::pin(reject(asked)),
        )
        .answers(200, ACTED),
        ApiRoute::new(
            Method::GET,
            "/builder/jobs/{job}/events",
            looks,
            "Lists what happened to a build, in order.",
            |asked| Box::pin(events(asked)),
        )
        .answers(200, &["items"]),
        ApiRoute::new(
            Method::GET,
            "/builder/jobs/{job}/diff",
            looks,
            "Returns what a build has changed, file by file.",
            |asked| Box::pin(diff(asked)),
        )
        .answers(200, &["items"]),
        ApiRoute::new(
            Method::POST,
            "/builder/jobs/{job}/review",
            decides,
            "Decides about work that waits for a review; it goes on in the background.",
            |asked| Box::pin(review(asked)),
        )
        .body(review_schema)
        .answers(202, ACTED),
        ApiRoute::new(
            Method::POST,
            "/builder/jobs/{job}/publish",
            decides,
            "Pushes the work of a build and opens its pull request, in the background.",
            |asked| Box::pin(publish(asked)),
        )
        .answers(202, ACTED),
        ApiRoute::new(
            Method::POST,
            "/builder/jobs/{job}/follow-up",
            starts,
            "Asks for more in the branch of a build that has come to its end.",
            |asked| Box::pin(follow_up(asked)),
        )
        .body(schema::<FollowUpBody>)
        .answers(202, ACTED),
        ApiRoute::new(
            Method::POST,
            "/builder/jobs/{job}/cancel",
            starts,
            "Ends a build wherever it is.",
            |asked| Box::pin(cancel(asked)),
        )
        .answers(200, ACTED),
        ApiRoute::new(
            Method::POST,
            "/builder/jobs/{job}/retry",
            starts,
            "Goes on with a build that failed or was left.",
            |asked| Box::pin(retry(asked)),
        )
        .answers(202, ACTED),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GenerateBody {
    /// The change to build, in at least ten characters.
    prompt: String,
    /// As `drawloom build` has them: dryRun, taskType, publish, start, review.
    #[serde(default)]
    options: Option<Value>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ApproveBody {
    /// The plan in place of the one that waits.
    #[serde(default)]
    plan: Option<Value>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FollowUpBody {
    /// The wish, in at least ten characters.
    prompt: String,
}

/// The schema of a review, as `drawloom builds review` takes it.
pub(super) fn review_schema() -> Value {
    let remark = json!({
        "type": "object",
        "required": ["path", "decision"],
        "properties": {
            "path": { "type": "string" },
            "number": { "type": "integer", "minimum": 1, "description": "the hunk; the whole file if left out" },
            "decision": { "type": "string", "enum": ["accept", "reject", "comment"] },
            "text": { "type": "string", "description": "the comment" },
        },
    });
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "remarks": { "type": "array", "items": remark },
            "comment": { "type": "string", "description": "about the work as a whole" },
        },
    })
}

async fn generate(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let wanted: GenerateBody = asked.body()?;
    let options = match wanted.options {
        Some(options) => serde_json::from_value::<Options>(options).map_err(|cause| {
            let message = format!("the options cannot be used: {cause}");
            ApiProblem::new(ProblemCode::Invalid, message.clone()).at("/options", message)
        })?,
        None => Options::default(),
    };
    let use_cases = asked.use_cases()?;
    let id = use_cases.ask_for_build(&wanted.prompt, options).await?;
    go_on(asked.state(), use_cases, id.clone());
    let document = json!({ "jobId": id.as_str(), "status": JobStatus::Queued.as_str() });
    Ok(ApiReply::accepted(document, &location(&id)))
}

async fn list(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let max = cursor::page_items(&asked)?;
    let status = match asked.query("status") {
        Some(word) => Some(JobStatus::read(word).ok_or_else(|| {
            let message = format!("`{word}` is no status of a build");
            ApiProblem::new(ProblemCode::BadRequest, message)
                .at("/query/status", "such as plan_ready")
        })?),
        None => None,
    };
    let use_cases = asked.use_cases()?;
    let after = match cursor::read::<String>(&asked)? {
        Some(id) => Some(JobId::parse(&id).map_err(app::Error::from)?),
        None => None,
    };
    let rows = use_cases.builds_after(status, after, max + 1).await?;
    let (rows, next) = super::cut(rows, max, |shown| shown.job.id.as_str().to_owned());
    let items = rows.iter().map(|shown| {
        let job = &shown.job;
        json!({
            "id": job.id.as_str(), "status": job.status().as_str(), "prompt": job.prompt,
            "isInterrupted": shown.is_interrupted(), "isHeld": shown.is_held,
        })
    });
    Ok(super::page(&asked, items.collect(), next))
}

async fn show(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let (shown, progress) = asked.use_cases()?.build(asked.path("job")).await?;
    let mut document = serde_json::to_value(&shown.job).unwrap_or_default();
    document["status"] = json!(shown.job.status().as_str());
    document["isInterrupted"] = json!(shown.is_interrupted());
    document["isHeld"] = json!(shown.is_held);
    document["progress"] = json!(progress);
    Ok(ApiReply::json(document))
}

async fn approve(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let wanted: ApproveBody = asked.body_or_default()?;
    let use_cases = asked.use_cases()?;
    let id = find(&asked, &use_cases).await?;
    let plan = wanted.plan.map(|plan| plan.to_string());
    let status = use_cases.approve_build(&id, plan).await?;
    go_on(asked.state(), use_cases, id.clone());
    Ok(stands(&id, status))
}

async fn reject(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let id = find(&asked, &use_cases).await?;
    let status = use_cases.reject_build(&id).await?;
    Ok(stands(&id, status))
}

async fn events(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let (_, progress) = asked.use_cases()?.build(asked.path("job")).await?;
    let items = progress.iter().map(|event| {
        json!({
            "status": event.status.as_str(), "message": event.message, "detail": event.detail,
            "atMs": event.at_ms,
        })
    });
    Ok(ApiReply::json(
        json!({ "items": items.collect::<Vec<_>>() }),
    ))
}

async fn diff(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let (shown, _) = asked.use_cases()?.build(asked.path("job")).await?;
    let result = &shown.job.result;
    Ok(ApiReply::json(json!({
        "items": result.diffs, "commit": result.commit, "planCoverage": result.plan_coverage,
    })))
}

async fn review(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let review: BuildReview = asked.body()?;
    let use_cases = asked.use_cases()?;
    let id = find(&asked, &use_cases).await?;
    let status = use_cases.review_build(&id, review).await?;
    Ok(goes_on(&asked, use_cases, (id, status)))
}

async fn publish(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let id = find(&asked, &use_cases).await?;
    let status = use_cases.publish_build(&id).await?;
    Ok(goes_on(&asked, use_cases, (id, status)))
}

async fn follow_up(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let FollowUpBody { prompt } = asked.body()?;
    let use_cases = asked.use_cases()?;
    let id = find(&asked, &use_cases).await?;
    let status = use_cases.follow_up_build(&id, &prompt).await?;
    Ok(goes_on(&asked, use_cases, (id, status)))
}

/// Says that a build is worked on from here.
fn goes_on(asked: &ApiRequest, use_cases: UseCases, (id, status): (JobId, JobStatus)) -> ApiReply {
    go_on(asked.state(), use_cases, id.clone());
    let document = json!({ "jobId": id.as_str(), "status": status.as_str() });
    ApiReply::accepted(document, &location(&id))
}

async fn cancel(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let id = find(&asked, &use_cases).await?;
    let status = use_cases.cancel_build(&id).await?;
    Ok(stands(&id, status))
}

async fn retry(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let use_cases = asked.use_cases()?;
    let (shown, _) = use_cases.build(asked.path("job")).await?;
    let id = shown.job.id.clone();
    if !shown.is_interrupted() && shown.job.status() != JobStatus::Failed {
        let message = format!("the build `{id}` is `{}`", shown.job.status());
        return Err(ApiProblem::new(ProblemCode::Conflict, message)
            .hint("only a build that failed, or that lost its process, can continue"));
    }
    go_on(asked.state(), use_cases, id.clone());
    let document = json!({ "jobId": id.as_str(), "status": shown.job.status().as_str() });
    Ok(ApiReply::accepted(document, &location(&id)))
}

async fn find(asked: &ApiRequest, use_cases: &UseCases) -> Result<JobId, ApiProblem> {
    let (shown, _) = use_cases.build(asked.path("job")).await?;
    Ok(shown.job.id)
}

fn stands(id: &JobId, status: JobStatus) -> ApiReply {
    ApiReply::json(json!({ "jobId": id.as_str(), "status": status.as_str() }))
}

fn location(id: &JobId) -> String {
    format!("/api/v1/builder/jobs/{id}")
}

/// Works on a build in the background. What goes wrong is kept with the build.
pub(crate) fn go_on(state: &ServerState, use_cases: UseCases, id: JobId) {
    let cancel = state.shared.cancel.clone();
    tokio::spawn(async move {
        if let Err(error) = use_cases.work_on_build(&id, cancel).await {
            let (build, cause) = (id.to_string(), error.to_string());
            tracing::warn!(
                build = build.as_str(),
                cause = cause.as_str(),
                "build stopped"
            );
        }
    });
}
