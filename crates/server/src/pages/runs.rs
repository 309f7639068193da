//! The list of runs, with filters that are in the address.

use flow::engine::{RunRow, RunStatus};
use maud::{Markup, html};
use store::{RunCursor, RunFilter};

use super::frame::{NavPage, page};
use super::parts::{empty, line, run_state, short_id, span, spent, when};
use super::visit::{PageResult, PageVisit};
use crate::api::encoded;

/// How many runs a page lists.
const LISTED_MAX: usize = 50;

const STATUSES: [RunStatus; 5] = [
    RunStatus::Running,
    RunStatus::Paused,
    RunStatus::Completed,
    RunStatus::Failed,
    RunStatus::Cancelled,
];

pub(super) async fn list(visit: PageVisit) -> PageResult {
    let word = visit.query.text("status");
    let status = word.and_then(|word| STATUSES.into_iter().find(|one| one.name() == word));
    let filter = RunFilter {
        status,
        workflow: visit.query.text("workflow").map(str::to_owned),
        tag: visit.query.text("tag").map(str::to_owned),
        is_top: true,
        ..RunFilter::default()
    };
    let after = visit.query.text("after").and_then(read_cursor);
    let listed = visit
        .use_cases
        .runs_after(&filter, after.as_ref(), LISTED_MAX + 1);
    let mut rows = listed.await?;
    let has_more = rows.len() > LISTED_MAX;
    rows.truncate(LISTED_MAX);
    let title = title(&rows, status, has_more);
    let body = html! {
        div class="head" data-live="head" {
            div { h1 { (title) } }
            div class="actions" { a class="btn primary" href="/workflows" { "Start a run" } }
        }
        (filters(&visit, status))
        @if rows.is_empty() {
            (empty("No runs here", &html! {
                p { "A run is one pass through a workflow. Start one from a workflow's page, by a schedule, by the API, or with" }
                pre { "drawloom workflow start NAME" }
                p { a class="btn primary" href="/workflows" { "To the workflows" } }
            }))
        } @else {
            div class="list" data-live="list" data-keys="list" { @for run in &rows { (row(run, visit.now_ms)) } }
            @if let Some(last) = rows.last().filter(|_| has_more) {
                p class="more" { a class="btn" rel="next" href=(next_link(&visit, last)) { "Older runs" } }
            }
        }
    };
    Ok(page(&visit, NavPage::Runs, &title, &body).await)
}

fn title(rows: &[RunRow], status: Option<RunStatus>, has_more: bool) -> String {
    let running = rows
        .iter()
        .filter(|run| run.status == RunStatus::Running)
        .count();
    match (rows.len(), status) {
        (0, _) => "No runs here".to_owned(),
        (number, Some(status)) if has_more => {
            format!("The newest {number} of the {} runs", status.name())
        }
        (1, Some(status)) => format!("1 run is {}", status.name()),
        (number, Some(status)) => format!("{number} runs are {}", status.name()),
        (_, None) => match running {
            0 => "No run is going on".to_owned(),
            1 => "1 run is going on".to_owned(),
            running => format!("{running} runs are going on"),
        },
    }
}

fn filters(visit: &PageVisit, status: Option<RunStatus>) -> Markup {
    let workflow = visit.query.text("workflow");
    let with = |status: &str| {
        let mut parts = Vec::new();
        if !status.is_empty() {
            parts.push(format!("status={status}"));
        }
        if let Some(workflow) = workflow {
            parts.push(format!("workflow={}", encoded(workflow)));
        }
        format!("/runs?{}", parts.join("&"))
    };
    html! {
        div class="chips" {
            a class="chip" href=(with("")) aria-current=[status.is_none().then_some("true")] { "all" }
            @for one in STATUSES {
                a class="chip" href=(with(one.name())) aria-current=[(status == Some(one)).then_some("true")] { (one.name()) }
            }
            @if let Some(workflow) = workflow { a class="chip" href="/runs" aria-current="true" { "workflow: " (workflow) " ✕" } }
        }
    }
}

/// One run in a list.
pub(super) fn row(run: &RunRow, now_ms: u64) -> Markup {
    let until = run.ended_ms.unwrap_or(now_ms);
    html! {
        a class="row" href={ "/runs/" (encoded(run.id.as_str())) } {
            strong dir="auto" { (line(run.name.as_deref().unwrap_or("a run"))) " " span class="mono muted small" { (short_id(run.id.as_str())) } }
            (run_state(run.status))
            span class="small muted" dir="auto" {
                @if let Some(reason) = &run.reason { (line(reason)) } @else { (span(until.saturating_sub(run.created_ms))) @if let Some(words) = spent(run.spent) { " · " (words) } }
            }
            span class="small muted" { (when(run.created_ms, now_ms)) }
        }
    }
}

fn next_link(visit: &PageVisit, last: &RunRow) -> String {
    let kept = visit
        .query
        .0
        .iter()
        .filter(|(name, _)| name != "after" && name != "said");
    let mut parts: Vec<String> = kept
        .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
        .collect();
    parts.push(format!(
        "after={}.{}",
        last.created_ms,
        encoded(last.id.as_str())
    ));
    format!("/runs?{}", parts.join("&"))
}

fn read_cursor(text: &str) -> Option<RunCursor> {
    let (created, id) = text.split_once('.')?;
    Some(RunCursor {
        created_ms: created.parse().ok()?,
        id: flow::RunId::new(id),
    })
}
