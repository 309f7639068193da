//! Schedules: workflows that the clock starts.

use app::schedules::{Schedule, Slug};
use app::{Permission, ScheduleRequest};
use axum::http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use store::SchedulePolicy;

use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest};
use crate::table::{ApiRoute, RouteAccess, schema};

/// The fields of a schedule that are always there.
const FIELDS: &[&str] = &["slug", "workflow", "cron", "timeZone", "isEnabled"];

pub(crate) fn routes() -> Vec<ApiRoute> {
    let looks = RouteAccess::Needs(Permission::Look);
    let manages = RouteAccess::Needs(Permission::ManageSchedules);
    vec![
        ApiRoute::new(
            Method::GET,
            "/schedules",
            looks,
            "Lists schedules.",
            |asked| Box::pin(list(asked)),
        )
        .answers(200, &["items"])
        .items(FIELDS),
        ApiRoute::new(
            Method::POST,
            "/schedules",
            manages,
            "Adds a schedule.",
            |asked| Box::pin(add(asked)),
        )
        .body(schema::<ScheduleBody>)
        .answers(201, FIELDS),
        ApiRoute::new(
            Method::GET,
            "/schedules/{slug}",
            looks,
            "Returns a schedule.",
            |asked| Box::pin(show(asked)),
        )
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::POST,
            "/schedules/{slug}/enable",
            manages,
            "Switches a schedule on.",
            |asked| Box::pin(switch(asked, true)),
        )
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::POST,
            "/schedules/{slug}/disable",
            manages,
            "Switches a schedule off.",
            |asked| Box::pin(switch(asked, false)),
        )
        .answers(200, FIELDS),
        ApiRoute::new(
            Method::DELETE,
            "/schedules/{slug}",
            manages,
            "Removes a schedule.",
            |asked| Box::pin(remove(asked)),
        ),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ScheduleBody {
    slug: String,
    /// The workflow's name.
    workflow: String,
    /// Minute, hour, day, month, weekday.
    cron: String,
    #[serde(default)]
    time_zone: Option<String>,
    #[serde(default)]
    input: Option<Value>,
    #[serde(default)]
    is_enabled: Option<bool>,
    /// The policy while the previous run is still running, as in `drawloom schedules add --overlap`.
    #[serde(default)]
    overlap: Option<String>,
    /// How late a missed time is still made up for, in milliseconds.
    #[serde(default)]
    catch_up_ms: Option<u64>,
    /// By how much every time is put off, at most, in milliseconds.
    #[serde(default)]
    jitter_ms: Option<u64>,
}

impl ScheduleBody {
    fn policy(&self) -> Result<SchedulePolicy, ApiProblem> {
        let overlap = match &self.overlap {
            Some(word) => serde_json::from_value(Value::from(word.as_str())).map_err(|cause| {
                let message = format!("`{word}` cannot be used: {cause}");
                ApiProblem::new(ProblemCode::Invalid, message.clone()).at("/overlap", message)
            })?,
            None => SchedulePolicy::default().overlap,
        };
        Ok(SchedulePolicy {
            overlap,
            catch_up_ms: self.catch_up_ms,
            jitter_ms: self.jitter_ms.unwrap_or(0),
        })
    }
}

async fn list(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let schedules = asked.use_cases()?.schedules().await?;
    let items: Vec<Value> = schedules.iter().map(document).collect();
    Ok(ApiReply::json(json!({ "items": items })))
}

async fn add(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let new: ScheduleBody = asked.body()?;
    let slug: Slug = new.slug.parse().map_err(|error: store::Error| {
        ApiProblem::new(ProblemCode::Invalid, error.to_string()).at("/slug", error.to_string())
    })?;
    let wish = ScheduleRequest {
        policy: new.policy()?,
        slug,
        workflow: new.workflow,
        cron: new.cron,
        time_zone: new.time_zone.unwrap_or_else(|| "UTC".to_owned()),
        input: new.input.unwrap_or_else(|| Value::Object(Map::new())),
        is_enabled: new.is_enabled.unwrap_or(true),
    };
    let added = asked.use_cases()?.add_schedule(wish).await?;
    let location = format!("/api/v1/schedules/{}", added.slug);
    Ok(ApiReply::created(document(&added), &location))
}

async fn show(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let slug: Slug = asked.path_as("slug")?;
    let schedule = asked.use_cases()?.schedule(&slug).await?;
    Ok(ApiReply::json(document(&schedule)))
}

async fn switch(asked: ApiRequest, on: bool) -> Result<ApiReply, ApiProblem> {
    let slug: Slug = asked.path_as("slug")?;
    let schedule = asked.use_cases()?.enable_schedule(&slug, on).await?;
    Ok(ApiReply::json(document(&schedule)))
}

async fn remove(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let slug: Slug = asked.path_as("slug")?;
    asked.use_cases()?.remove_schedule(&slug).await?;
    Ok(ApiReply::nothing())
}

fn document(schedule: &Schedule) -> Value {
    let last = schedule.last.as_ref();
    json!({
        "slug": schedule.slug.as_str(),
        "workflow": schedule.workflow,
        "cron": schedule.cron,
        "timeZone": schedule.time_zone,
        "input": schedule.input,
        "isEnabled": schedule.is_enabled,
        "overlap": schedule.policy.overlap,
        "catchUpMs": schedule.policy.catch_up_ms,
        "jitterMs": schedule.policy.jitter_ms,
        "nextMs": schedule.next_ms,
        "createdMs": schedule.created_ms,
        "last": last.map(|last| json!({
            "dueMs": last.due_ms,
            "run": last.outcome.as_ref().ok(),
            "error": last.outcome.as_ref().err(),
        })),
    })
}
