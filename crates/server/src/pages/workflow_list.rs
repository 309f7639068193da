//! The list of workflows with how their last runs went; import, export and copies.

use std::collections::HashMap;

use app::Permission;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use flow::engine::{RunRow, RunStatus};
use maud::{Markup, html};
use store::RunFilter;

use super::frame::{NavPage, page};
use super::parts::{count, empty, line, money, run_state, span, state, when};
use super::visit::{PageProblem, PageResult, PageVisit};
use crate::api::encoded;

/// How many workflows are listed.
const LISTED_MAX: usize = 200;
/// How many of the newest runs of all workflows are read for the list.
const RUNS_MAX: usize = 500;
/// How many runs a sparkline has.
const TICKS_MAX: usize = 20;
/// How many workflows that have not run lately are asked for their last run.
const ASKED_MAX: usize = 20;

/// How the last runs of a workflow went.
#[derive(Default)]
pub(super) struct RunStatistics {
    /// The newest first.
    runs: Vec<RunRow>,
}

impl RunStatistics {
    /// The runs among these that are of exactly this workflow.
    pub(super) fn of(runs: &[RunRow], name: &str) -> RunStatistics {
        let own = runs.iter().filter(|run| run.name.as_deref() == Some(name));
        RunStatistics {
            runs: own.cloned().collect(),
        }
    }

    fn ended(&self) -> impl Iterator<Item = &RunRow> {
        self.runs.iter().filter(|run| run.status.is_terminal())
    }

    fn with(&self, status: RunStatus) -> usize {
        self.runs.iter().filter(|run| run.status == status).count()
    }

    /// The percentage of runs that completed; `None` if no run has ended.
    fn success(&self) -> Option<usize> {
        let (good, bad) = (
            self.with(RunStatus::Completed),
            self.with(RunStatus::Failed),
        );
        (good + bad > 0).then(|| good * 100 / (good + bad))
    }

    /// A bar for each of the last runs, as high as it was long, coloured by how it ended.
    pub(super) fn sparkline(&self) -> Markup {
        let mut runs: Vec<&RunRow> = self.runs.iter().take(TICKS_MAX).collect();
        runs.reverse();
        let took = |run: &RunRow| {
            let ended = run.ended_ms.unwrap_or(run.created_ms);
            ended.saturating_sub(run.created_ms)
        };
        let most = runs.iter().map(|run| took(run)).max().unwrap_or(0).max(1);
        let words = format!(
            "{}: {} completed, {} failed",
            count(runs.len(), "last run", "last runs"),
            self.with(RunStatus::Completed),
            self.with(RunStatus::Failed)
        );
        html! {
            @if runs.len() > 1 {
                svg class="bars spark" viewBox="0 0 100 16" role="img" aria-label=(words) {
                    @for (at, run) in runs.iter().enumerate() {
                        @let high = 4 + took(run) * 12 / most;
                        @let class = match run.status { RunStatus::Completed => "ok", RunStatus::Failed => "bad", RunStatus::Running => "run", RunStatus::Paused => "hold", RunStatus::Cancelled => "idle" };
                        rect class=(class) x=(at * 5) y=(16 - high) width="4" height=(high) {}
                    }
                }
            }
        }
    }

    /// Says how long a run of it takes and what it costs, from those that have ended.
    pub(super) fn usual(&self) -> Option<String> {
        let mut spans: Vec<u64> = self
            .ended()
            .filter_map(|run| Some(run.ended_ms?.saturating_sub(run.created_ms)))
            .collect();
        let mut costs: Vec<u64> = self.ended().map(|run| run.spent.micros).collect();
        spans.sort_unstable();
        costs.sort_unstable();
        let middle = *spans.get(spans.len() / 2)?;
        let mut words = format!("A run takes about {}", span(middle));
        let cost = costs.get(costs.len() / 2).copied().unwrap_or(0);
        let most = costs.get(costs.len() * 9 / 10).copied().unwrap_or(0);
        if most > 0 {
            words.push_str(&format!(
                " and costs about {}, nine of ten at most {}",
                money(cost),
                money(most)
            ));
        }
        if let Some(share) = self.success() {
            words.push_str(&format!("; {share} % end well"));
        }
        Some(words + ".")
    }
}

/// Lists all workflows.
pub(super) async fn list(visit: PageVisit) -> PageResult {
    let names = visit.use_cases.workflow_names().await?;
    let newest = RunFilter {
        is_top: true,
        ..RunFilter::default()
    };
    let newest = visit.use_cases.runs(&newest, RUNS_MAX).await?;
    let mut rows = Vec::new();
    let mut asked = 0;
    for name in names.iter().take(LISTED_MAX) {
        let mut found = RunStatistics::of(&newest, name);
        if found.runs.is_empty() && asked < ASKED_MAX && !newest.is_empty() {
            // It has another title than its file, or has not run for long.
            asked += 1;
            let filter = RunFilter {
                workflow: Some(name.clone()),
                is_top: true,
                ..RunFilter::default()
            };
            found.runs = visit.use_cases.runs(&filter, 1).await?;
        }
        rows.push((name, found));
    }
    let spent = spent_by_name(&newest);
    let title = match names.len() {
        0 => "There are no workflows yet".to_owned(),
        number => count(
            number,
            "workflow can be started",
            "workflows can be started",
        ),
    };
    let may_edit = visit.may(Permission::EditWorkflows);
    let body = html! {
        div class="head" {
            div { h1 { (title) } }
            @if may_edit { div class="actions" { a class="btn primary" href="/builder" { "Draw a workflow" } } }
        }
        @if rows.is_empty() {
            (empty("Draw the first one", &html! {
                p { "A workflow is a Mermaid flowchart: square boxes are done by machines, round ones by people, diamonds decide. Draw one here, or put a file into " code { ".drawloom/workflows" } "." }
                p { a class="btn" href="/builder" { "Draw a workflow" } }
            }))
        } @else {
            div class="list" data-live="list" data-keys="list" {
                @for (name, found) in &rows {
                    a class="row" href={ "/workflows/" (encoded(name)) } {
                        strong dir="auto" { (name) }
                        @match found.runs.first() {
                            Some(run) => (run_state(run.status)),
                            None => (state("idle", "no run yet")),
                        }
                        span class="small muted" {
                            @if let Some(run) = found.runs.first() { "last run " (when(run.created_ms, visit.now_ms)) } @else { "Open it to start a run." }
                            @if let Some(share) = found.success() { " · " (share) " % end well" }
                            @if let Some(micros) = spent.get(name.as_str()).filter(|micros| **micros > 0) { " · " (money(*micros)) }
                        }
                        span { (found.sparkline()) }
                    }
                }
            }
            @if newest.len() == RUNS_MAX { p class="hint" { "Shares and costs are of the newest " (RUNS_MAX) " runs." } }
        }
        @if may_edit { (import_form(&visit)) }
    };
    Ok(page(&visit, NavPage::Workflows, &title, &body).await)
}

fn spent_by_name(runs: &[RunRow]) -> HashMap<&str, u64> {
    let mut sums = HashMap::new();
    for run in runs {
        if let Some(name) = run.name.as_deref() {
            *sums.entry(name).or_insert(0) += run.spent.micros;
        }
    }
    sums
}

fn import_form(visit: &PageVisit) -> Markup {
    html! {
        details class="card more" {
            summary { "Import a workflow" }
            form method="post" action="/workflows" {
                div class="field" { label for="document" { "An exported document, or the text of a diagram" }
                    textarea id="document" name="document" class="code" rows="6" spellcheck="false" required { "\n" (visit.form.get("document").unwrap_or_default()) } }
                div class="field" { label for="file" { "Or choose a file" } input id="file" type="file" accept=".json,.mmd,.md,.txt" data-into="document"; }
                div class="field" { label for="name" { "Under which name (optional)" } input id="name" name="name" value=(visit.form.get("name").unwrap_or_default()); }
                button { "Import it" }
            }
        }
    }
}

/// Imports a document.
pub(super) async fn import(visit: PageVisit) -> PageResult {
    let text = visit.form.required("document")?;
    let name = visit.form.text("name");
    let sheet = visit.use_cases.import_workflow(text, name).await?;
    let to = format!("/workflows/{}", encoded(&sheet.name));
    visit
        .done(("workflows.import", &sheet.name), &to, "imported")
        .await
}

/// Exports a workflow as a document to download.
pub(super) async fn export(visit: PageVisit) -> Result<Response, PageProblem> {
    let name = visit.path("name");
    let document = visit.use_cases.export_workflow(name).await?;
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    let safe: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect();
    let headers = [
        (
            header::CONTENT_TYPE,
            "application/json; charset=utf-8".to_owned(),
        ),
        (
            header::CONTENT_DISPOSITION,
            format!("attachment; filename=\"{}.json\"", line(&safe)),
        ),
    ];
    Ok((headers, text).into_response())
}
