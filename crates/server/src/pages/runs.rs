//! The list of runs: filters in the address, saved views, and acts on many runs.

use app::Permission;
use flow::engine::{RunRow, RunStatus};
use maud::{Markup, html};
use store::{RunCursor, RunFilter, ViewedList};

use super::form::FormData;
use super::frame::{NavPage, page};
use super::parts::{count, empty, line, run_state, short_id, span, spent, when};
use super::views;
use super::visit::{PageResult, PageVisit};
use crate::api::encoded;

/// How many runs a page lists.
const LISTED_MAX: usize = 50;
/// How far the runs of a filter are counted for its title.
const COUNTED_MAX: usize = 1_000;

const STATUSES: [RunStatus; 5] = [
    RunStatus::Running,
    RunStatus::Paused,
    RunStatus::Completed,
    RunStatus::Failed,
    RunStatus::Cancelled,
];
/// How far back a list goes: the word in the address, its words, and hours.
const SPANS: [(&str, &str, u64); 3] = [
    ("day", "the last 24 hours", 24),
    ("week", "the last 7 days", 7 * 24),
    ("month", "the last 30 days", 30 * 24),
];
/// The parameters of the list, which a saved view keeps.
pub(super) const PARAMETERS: [&str; 5] = ["status", "workflow", "tag", "since", "parts"];

/// Reads the filter of an address or of a saved view.
pub(super) fn filter(query: &FormData, now_ms: u64) -> RunFilter {
    let span = query.text("since");
    let span = span.and_then(|word| SPANS.iter().find(|(known, ..)| *known == word));
    RunFilter {
        status: status(query),
        workflow: query.text("workflow").map(str::to_owned),
        tag: query.text("tag").map(str::to_owned),
        since_ms: span.map(|(.., hours)| now_ms.saturating_sub(hours * 3_600_000)),
        is_top: query.get("parts").is_none(),
        ..RunFilter::default()
    }
}

fn status(query: &FormData) -> Option<RunStatus> {
    let word = query.text("status")?;
    STATUSES.into_iter().find(|one| one.name() == word)
}

/// The parameters of an address that belong to the filter, with one of them changed.
pub(super) fn query_with(query: &FormData, names: &[&str], changed: (&str, &str)) -> String {
    let kept = names.iter().filter(|name| **name != changed.0);
    let kept = kept.filter_map(|name| Some((*name, query.text(name)?)));
    let changed = Some(changed).filter(|(name, value)| !name.is_empty() && !value.is_empty());
    let parts: Vec<String> = kept
        .chain(changed)
        .map(|(name, value)| format!("{name}={}", encoded(value)))
        .collect();
    parts.join("&")
}

pub(super) async fn list(visit: PageVisit) -> PageResult {
    let wanted = filter(&visit.query, visit.now_ms);
    let after = visit.query.text("after").and_then(read_cursor);
    let listed = visit
        .use_cases
        .runs_after(&wanted, after.as_ref(), LISTED_MAX + 1);
    let mut rows = listed.await?;
    let has_more = rows.len() > LISTED_MAX;
    rows.truncate(LISTED_MAX);
    let all = visit.use_cases.count_runs(&wanted, COUNTED_MAX + 1).await?;
    let title = title(&rows, all, wanted.status);
    let views = views::bar(&visit, ViewedList::Runs, &PARAMETERS).await?;
    let body = html! {
        div class="head" data-live="head" {
            div { h1 { (title) } }
            div class="actions" { a class="btn primary" href="/workflows" { "Start a run" } }
        }
        (views)
        (filters(&visit))
        @if rows.is_empty() {
            (empty("No runs here", &html! {
                p { "A run is one pass through a workflow. Start one from a workflow's page, by a schedule, by the API, or with" }
                pre { "drawloom run NAME" }
                p { a class="btn" href="/workflows" { "To the workflows" } }
            }))
        } @else {
            (picking(&visit, &rows, all))
            @if let Some(last) = rows.last().filter(|_| has_more) {
                p class="more" { a class="btn" rel="next" href=(next_link(&visit, last)) { "Older runs" } }
            }
        }
    };
    Ok(page(&visit, NavPage::Runs, &title, &body).await)
}

/// The rows with ticks, and what can be done to those that are ticked or to all of the filter.
fn picking(visit: &PageVisit, rows: &[RunRow], all: usize) -> Markup {
    let may_act = visit.may(Permission::ControlRuns);
    let words = match all {
        number if number > COUNTED_MAX => format!("all of the filter, more than {COUNTED_MAX}"),
        number => format!("all {number} of the filter"),
    };
    html! {
        form method="get" action="/runs/bulk" {
            @for name in PARAMETERS { @if let Some(value) = visit.query.text(name) { input type="hidden" name=(name) value=(value); } }
            div class="list" data-live="list" data-keys="list" {
                @for run in rows {
                    @if may_act {
                        div class="pick" {
                            input type="checkbox" name="run" value=(run.id) aria-label={ "Tick " (line(run.name.as_deref().unwrap_or("a run"))) " " (short_id(run.id.as_str())) };
                            (row(run, visit.now_ms))
                        }
                    } @else { (row(run, visit.now_ms)) }
                }
            }
            @if may_act {
                div class="actions bulk" {
                    select name="which" aria-label="Which runs" { option value="ticked" { "those that are ticked" } option value="all" { (words) } }
                    button name="act" value="cancel" { "Cancel…" }
                    button name="act" value="pause" { "Pause…" }
                    button name="act" value="resume" { "Go on…" }
                    @if visit.may(Permission::DeleteRuns) { button name="act" value="delete" { "Delete…" } }
                    span class="hint" { "You see what it would change before it does." }
                }
            }
        }
    }
}

fn title(rows: &[RunRow], all: usize, status: Option<RunStatus>) -> String {
    let running = rows
        .iter()
        .filter(|run| run.status == RunStatus::Running)
        .count();
    match (all, status) {
        (0, _) => "No runs here".to_owned(),
        (number, Some(status)) if number > COUNTED_MAX => {
            format!("More than {COUNTED_MAX} runs are {}", status.name())
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

fn filters(visit: &PageVisit) -> Markup {
    let query = &visit.query;
    let status = status(query);
    let since = query.text("since");
    let with = |name: &str, value: &str| {
        format!("/runs?{}", query_with(query, &PARAMETERS, (name, value)))
    };
    html! {
        div class="chips" {
            a class="chip" href=(with("status", "")) aria-current=[status.is_none().then_some("true")] { "all" }
            @for one in STATUSES {
                a class="chip" href=(with("status", one.name())) aria-current=[(status == Some(one)).then_some("true")] { (one.name()) }
            }
            span class="chip-gap" {}
            @for (word, words, _) in SPANS {
                @let is_on = since == Some(word);
                a class="chip" href=(with("since", if is_on { "" } else { word })) aria-current=[is_on.then_some("true")] { (words) @if is_on { " ✕" } }
            }
            @for name in ["workflow", "tag"] {
                @if let Some(value) = query.text(name) { a class="chip" href=(with(name, "")) aria-current="true" { (name) ": " (line(value)) " ✕" } }
            }
            @let has_parts = query.get("parts").is_some();
            a class="chip" href=(with("parts", if has_parts { "" } else { "1" })) aria-current=[has_parts.then_some("true")] { "with runs that runs have started" }
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
    let after = format!("{}.{}", last.created_ms, last.id);
    format!(
        "/runs?{}",
        query_with(&visit.query, &PARAMETERS, ("after", &after))
    )
}

fn read_cursor(text: &str) -> Option<RunCursor> {
    let (created, id) = text.split_once('.')?;
    Some(RunCursor {
        created_ms: created.parse().ok()?,
        id: flow::RunId::new(id),
    })
}

/// The words for a number of runs.
pub(super) fn runs_words(number: usize) -> String {
    count(number, "run", "runs")
}
