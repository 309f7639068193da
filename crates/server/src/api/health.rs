//! Health of the server, and the description of the API.

use app::Permission;
use axum::http::Method;
use serde_json::json;

use crate::metrics::MetricGauge;
use crate::openapi;
use crate::problem::{ApiProblem, ProblemCode};
use crate::request::{ApiReply, ApiRequest};
use crate::table::{ApiRoute, RouteAccess};

pub(crate) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::new(
            Method::GET,
            "//healthz",
            RouteAccess::Everybody,
            "Says that the process lives.",
            |asked| Box::pin(healthy(asked)),
        )
        .answers(200, &["status"]),
        ApiRoute::new(
            Method::GET,
            "//readyz",
            RouteAccess::Everybody,
            "Says that the database answers, its tables are current and the disk has room, or 503.",
            |asked| Box::pin(ready(asked)),
        )
        .answers(200, &["status"]),
        ApiRoute::new(
            Method::GET,
            "//metrics",
            RouteAccess::Needs(Permission::Look),
            "Returns numbers about requests, runs and tasks, as Prometheus reads them.",
            |asked| Box::pin(measure(asked)),
        )
        .media("text/plain"),
        ApiRoute::new(
            Method::GET,
            "/openapi.json",
            RouteAccess::Everybody,
            "Describes this API (OpenAPI 3.2).",
            |asked| Box::pin(describe(asked)),
        )
        .answers(200, &["openapi", "paths"]),
        ApiRoute::new(
            Method::GET,
            "/counts",
            RouteAccess::Needs(Permission::Look),
            "Counts what runs and what waits for people, up to 1000 each.",
            |asked| Box::pin(count(asked)),
        )
        .answers(200, &["running", "paused", "waiting"]),
    ]
}

async fn healthy(_: ApiRequest) -> Result<ApiReply, ApiProblem> {
    Ok(ApiReply::json(json!({ "status": "alive" })))
}

async fn ready(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    let unready = |detail: String| {
        ApiProblem::new(ProblemCode::Unavailable, detail).header("retry-after", "5")
    };
    let health = asked.state().app().health().await;
    let health = health.map_err(|_| unready("the database does not answer".to_owned()))?;
    if !health.has_current_tables {
        let detail = "the tables of the database are of another version of drawloom";
        return Err(unready(detail.to_owned()).hint("run one version on a database"));
    }
    let min = asked.state().limits().disk_bytes_min;
    if let Some(free) = health.free_bytes.filter(|free| *free < min) {
        let detail = format!("the disk has {free} bytes left, less than {min} (disk_bytes_min)");
        return Err(unready(detail).hint("make room, or move the project"));
    }
    Ok(ApiReply::json(json!({
        "status": "ready", "database": "answers", "tables": "current",
        "freeBytes": health.free_bytes,
    })))
}

async fn describe(_: ApiRequest) -> Result<ApiReply, ApiProblem> {
    Ok(ApiReply::json(openapi::document()))
}

/// How far runs and tasks are counted for the metrics.
const GAUGE_MAX: usize = 100_000;
/// Number of tasks that are read to find the one that has waited longest.
const AGE_TASKS_MAX: usize = 1_000;

async fn measure(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    use flow::engine::{RunStatus, TaskStatus};
    use store::{RunFilter, TaskFilter};
    let use_cases = asked.use_cases()?;
    let mut runs = Vec::new();
    for status in [RunStatus::Running, RunStatus::Paused] {
        let filter = RunFilter {
            status: Some(status),
            ..RunFilter::default()
        };
        let count = use_cases.count_runs(&filter, GAUGE_MAX).await?;
        runs.push((format!("status=\"{}\"", status.name()), count as f64));
    }
    let mut tasks = Vec::new();
    let open = [
        TaskStatus::Pending,
        TaskStatus::InProgress,
        TaskStatus::Waiting,
        TaskStatus::OnHold,
    ];
    for status in open {
        let filter = TaskFilter {
            status: Some(status),
            ..TaskFilter::default()
        };
        let count = use_cases.count_tasks(&filter, GAUGE_MAX).await?;
        tasks.push((format!("status=\"{}\"", status.name()), count as f64));
    }
    let waiting = TaskFilter {
        is_waiting: true,
        ..TaskFilter::default()
    };
    let rows = use_cases.list_tasks(&waiting, AGE_TASKS_MAX).await?;
    let oldest = rows.iter().map(|row| row.created_ms).min();
    let now_ms = asked.state().app().now_ms();
    let age = oldest.map_or(0, |oldest| now_ms.saturating_sub(oldest));
    let streams = asked.state().shared.streams.lock();
    let streams = streams.map_or(0, |streams| streams.values().sum());
    let one = |value: f64| vec![(String::new(), value)];
    let gauges = [
        MetricGauge {
            name: "drawloom_runs",
            help: "Runs that have not ended.",
            values: runs,
        },
        MetricGauge {
            name: "drawloom_tasks",
            help: "Tasks that have not ended.",
            values: tasks,
        },
        MetricGauge {
            name: "drawloom_waiting_for_people_seconds_max",
            help: "Age of the oldest task that waits for a person.",
            values: one(age as f64 / 1_000.0),
        },
        MetricGauge {
            name: "drawloom_event_streams",
            help: "Streams of events that are open.",
            values: one(streams as f64),
        },
    ];
    let text = asked.state().shared.metrics.render(&gauges);
    Ok(ApiReply::text(METRICS_MEDIA, text))
}

/// The media type of Prometheus' text format.
const METRICS_MEDIA: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How far things are counted.
const COUNT_MAX: usize = 1_000;

async fn count(asked: ApiRequest) -> Result<ApiReply, ApiProblem> {
    use flow::engine::RunStatus;
    use store::{RunFilter, TaskFilter};
    let use_cases = asked.use_cases()?;
    let of = |status| RunFilter {
        status: Some(status),
        ..RunFilter::default()
    };
    let waiting = TaskFilter {
        is_waiting: true,
        ..TaskFilter::default()
    };
    let running = use_cases
        .count_runs(&of(RunStatus::Running), COUNT_MAX)
        .await?;
    let paused = use_cases
        .count_runs(&of(RunStatus::Paused), COUNT_MAX)
        .await?;
    let waiting = use_cases.count_tasks(&waiting, COUNT_MAX).await?;
    Ok(ApiReply::json(json!({
        "running": running, "paused": paused, "waiting": waiting,
    })))
}
