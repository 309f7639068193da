//! Pages that tell: costs, activity, settings, health, and what a search finds.

use app::Permission;
use app::ai::cost::{self, SpendGrouping};
use flow::engine::{RunStatus, TaskStatus};
use maud::{Markup, html};
use store::{AuditFilter, AuditOutcome, RunFilter, TaskFilter};

use super::frame::{NavPage, page};
use super::parts::{count, empty, line, money, state, when};
use super::runs;
use super::visit::{PageResult, PageVisit};
use crate::api::encoded;

/// How many runs are added up and searched.
const RUNS_MAX: usize = 500;
/// How many entries of the audit log are shown.
const ENTRIES_MAX: usize = 100;
/// How far counts on the health page go.
const COUNTED_MAX: usize = 10_000;

pub(super) async fn costs(visit: PageVisit) -> PageResult {
    visit.use_cases.permit(Permission::Look)?;
    let project = visit.use_cases.project();
    let days = cost::sheet(project, None, SpendGrouping::Day)?;
    let models = cost::sheet(project, None, SpendGrouping::Model)?;
    let mut runs = visit
        .use_cases
        .runs(&RunFilter::default(), RUNS_MAX)
        .await?;
    let micros: u64 = runs.iter().map(|run| run.spent.micros).sum();
    runs.retain(|run| run.spent.micros > 0 || run.spent.tokens > 0);
    runs.sort_by_key(|run| std::cmp::Reverse((run.spent.micros, run.spent.tokens)));
    let title = match (micros, days.sums.is_empty()) {
        (0, true) => "Nothing was spent yet".to_owned(),
        _ => format!(
            "The last {} cost {}",
            count(runs.len(), "paid run", "paid runs"),
            money(micros)
        ),
    };
    let body = html! {
        div class="head" { div { h1 { (title) } p class="muted" { "From the ledger of calls to models, and from the newest " (RUNS_MAX) " runs." } } }
        div class="split split-run" {
            section class="card" { h2 { "The most expensive runs" }
                @if runs.is_empty() { p class="muted" { "No run has called a model." } }
                div class="flat" { @for run in runs.iter().take(15) { (runs::row(run, visit.now_ms)) } }
            }
            div { (chart(&days)) (sums("By day", &days)) (sums("By model", &models)) }
        }
    };
    Ok(page(&visit, NavPage::Costs, &title, &body).await)
}

/// How many days the chart shows.
const DAYS_MAX: usize = 30;

/// A bar for each of the last days with calls, as high as its tokens, with what it cost.
fn chart(sheet: &cost::SpendReport) -> Markup {
    let skipped = sheet.sums.len().saturating_sub(DAYS_MAX);
    let days: Vec<_> = sheet.sums.iter().skip(skipped).collect();
    let most = days
        .iter()
        .map(|day| day.usage.total())
        .max()
        .unwrap_or(0)
        .max(1);
    html! {
        @if !days.is_empty() {
            section class="card" {
                h2 { "Tokens by day" }
                svg class="chart" viewBox="0 0 480 150" role="img" aria-label={ "Tokens of the last " (count(days.len(), "day", "days")) " with calls; the table below has the numbers" } {
                    line x1="0" y1="130" x2="480" y2="130" {}
                    @for (at, day) in days.iter().enumerate() {
                        @let high = (day.usage.total() * 110 / most).max(1);
                        rect x=(at * 16 + 2) y=(130 - high) width="12" height=(high) rx="2" { title { (day.name) ": " (day.usage.total()) " tokens, " (day.cost().to_string()) } }
                    }
                    @if let (Some(first), Some(last)) = (days.first(), days.last()) {
                        text x="2" y="146" { (first.name) }
                        @if days.len() > 8 { text class="end" x=(days.len() * 16) y="146" { (last.name) } }
                    }
                }
            }
        }
    }
}

fn sums(title: &str, sheet: &cost::SpendReport) -> Markup {
    html! {
        section class="card" {
            h2 { (title) }
            @if sheet.sums.is_empty() { p class="muted" { "No calls." } } @else {
                table class="table" {
                    tr { th { "" } th class="num" { "Tokens" } th class="num" { "Cost" } }
                    @for sum in sheet.sums.iter().rev().take(30) { tr { td dir="auto" { (sum.name) } td class="num" { (sum.usage.total()) } td class="num" { (sum.cost().to_string()) } } }
                    tr { th { "all" } th class="num" { (sheet.total.usage.total()) } th class="num" { (sheet.total.cost().to_string()) } }
                }
            }
        }
    }
}

pub(super) async fn activity(visit: PageVisit) -> PageResult {
    let title = "What happened last";
    let newest = visit.use_cases.runs(&RunFilter::default(), 20).await?;
    let entries = match visit.may(Permission::ReadAudit) {
        true => {
            let ports = visit.state.app().ports();
            let listed = ports
                .audit_entries(&AuditFilter::default(), None, ENTRIES_MAX)
                .await;
            listed.map_err(app::Error::from)?
        }
        false => Vec::new(),
    };
    let body = html! {
        div class="head" { div { h1 { (title) } } }
        div class="split split-run" {
            div class="list" data-live="list" data-keys="list" {
                @if newest.is_empty() { (empty("Nothing yet", &html! { p { "Runs show up here." } })) }
                @for run in &newest { (runs::row(run, visit.now_ms)) }
            }
            section class="card" data-live="audit" {
                h2 { "Audit log" }
                @if entries.is_empty() { p class="muted" { "Admins see it." } }
                ul class="plain" {
                    @for entry in &entries {
                        @let outcome = match entry.entry.outcome { AuditOutcome::Done => ("ok", "done"), AuditOutcome::Refused => ("bad", "refused"), AuditOutcome::Failed => ("hold", "failed") };
                        li class="small" { (when(entry.at_ms, visit.now_ms)) " " (state(outcome.0, outcome.1)) " " strong { (entry.entry.actor) } " " code { (entry.entry.action) } " " span dir="auto" { (line(&entry.entry.object)) } }
                    }
                }
            }
        }
    };
    Ok(page(&visit, NavPage::Activity, title, &body).await)
}

pub(super) async fn settings(visit: PageVisit) -> PageResult {
    let schedules = visit.use_cases.schedules().await?;
    let title = format!(
        "{} and the limits of this server",
        count(schedules.len(), "schedule", "schedules")
    );
    let limits = visit.state.limits();
    let facts = [
        ("body_bytes_max", limits.body_bytes_max.to_string()),
        ("page_items_max", limits.page_items_max.to_string()),
        ("runs_at_once_max", limits.runs_at_once_max.to_string()),
        (
            "streams_per_user_max",
            limits.streams_per_user_max.to_string(),
        ),
        (
            "requests_per_second_max",
            limits.requests_per_second_max.to_string(),
        ),
        (
            "sign_ins_per_minute_max",
            limits.sign_ins_per_minute_max.to_string(),
        ),
    ];
    let body = html! {
        div class="head" { div { h1 { (title) } p class="muted" { "Settings are in " code { "drawloom.toml" } "; keys are named there, never shown." } } }
        div class="split split-run" {
            section class="card" {
                h2 { "Schedules" }
                @if schedules.is_empty() { p class="muted" { "None. Add one with" } pre { "drawloom schedules add NAME WORKFLOW '0 6 * * *'" } }
                @for schedule in &schedules {
                    form class="inline" method="post" action="/settings/schedules" {
                        input type="hidden" name="slug" value=(schedule.slug.as_str());
                        @if schedule.is_enabled { (state("ok", "on")) } @else { (state("idle", "off")) } " "
                        strong { (schedule.slug.as_str()) } " " code { (schedule.cron) } " "
                        span class="small muted" { (schedule.workflow) " · " (schedule.time_zone) @if let Some(next) = schedule.next_ms { " · next " (when(next, visit.now_ms)) } }
                        @if visit.may(Permission::ManageSchedules) { " " button class="quiet" name="on" value=(!schedule.is_enabled) { @if schedule.is_enabled { "Switch off" } @else { "Switch on" } } }
                    }
                }
            }
            section class="card" { h2 { "Limits" } dl class="facts" { @for (name, number) in &facts { dt { code { (name) } } dd class="num" { (number) } } } }
        }
    };
    Ok(page(&visit, NavPage::Settings, &title, &body).await)
}

pub(super) async fn switch_schedule(visit: PageVisit) -> PageResult {
    let name = visit.form.required("slug")?.to_owned();
    let slug = name.parse().map_err(app::Error::from)?;
    let is_on = visit.form.get("on") == Some("true");
    visit.use_cases.enable_schedule(&slug, is_on).await?;
    visit
        .done(("schedules.switch", &name), "/settings", "switched")
        .await
}

pub(super) async fn health(visit: PageVisit) -> PageResult {
    let use_cases = &visit.use_cases;
    let mut runs = Vec::new();
    for status in [RunStatus::Running, RunStatus::Paused] {
        let filter = RunFilter {
            status: Some(status),
            ..RunFilter::default()
        };
        runs.push((
            status.name(),
            use_cases.count_runs(&filter, COUNTED_MAX).await?,
        ));
    }
    let mut tasks = Vec::new();
    for status in [
        TaskStatus::Pending,
        TaskStatus::InProgress,
        TaskStatus::Waiting,
        TaskStatus::OnHold,
    ] {
        let filter = TaskFilter {
            status: Some(status),
            ..TaskFilter::default()
        };
        tasks.push((
            status.name(),
            use_cases.count_tasks(&filter, COUNTED_MAX).await?,
        ));
    }
    let waiting = TaskFilter {
        is_waiting: true,
        ..TaskFilter::default()
    };
    let waiting = use_cases.count_tasks(&waiting, COUNTED_MAX).await?;
    let oldest = TaskFilter {
        status: Some(TaskStatus::Pending),
        ..TaskFilter::default()
    };
    let oldest = use_cases.list_tasks(&oldest, 50).await?;
    let oldest = oldest.iter().find(|task| task.is_claimable());
    let title = match oldest {
        Some(task) if visit.now_ms.saturating_sub(task.ready_ms) > 60_000 => {
            "Tasks wait for a worker"
        }
        _ => "The server is well",
    };
    let body = html! {
        div class="head" data-live="head" { div { h1 { (title) } p class="muted" { "The database answers. " (super::inbox::waiting_words(waiting)) "." } } }
        div class="split split-run" data-live="counts" {
            section class="card" { h2 { "Runs" } dl class="facts" { @for (name, number) in &runs { dt { (name) } dd class="num" { (number) } } } }
            section class="card" { h2 { "Tasks" } dl class="facts" {
                @for (name, number) in &tasks { dt { (name.replace('_', " ")) } dd class="num" { (number) } }
                dt { "oldest that a worker could take" } dd { @if let Some(task) = oldest { (when(task.ready_ms, visit.now_ms)) } @else { "none" } }
            } }
        }
    };
    Ok(page(&visit, NavPage::Health, title, &body).await)
}

/// Finds runs and workflows by name, and runs and tasks by id.
pub(super) async fn search(visit: PageVisit) -> PageResult {
    let wanted = visit.query.text("q").unwrap_or_default().to_owned();
    let use_cases = &visit.use_cases;
    let lower = wanted.to_lowercase();
    let (mut runs_found, mut names) = (Vec::new(), Vec::new());
    if !wanted.is_empty() {
        let filter = RunFilter {
            workflow: Some(wanted.clone()),
            ..RunFilter::default()
        };
        runs_found = use_cases.runs(&filter, 30).await?;
        if let Ok(run) = use_cases.find(&wanted).await
            && !runs_found.iter().any(|known| known.id == run.id)
        {
            runs_found.insert(0, run);
        }
        names = use_cases.workflow_names().await?;
        names.retain(|name| name.to_lowercase().contains(&lower));
    }
    let task = match wanted.contains('/') {
        true => use_cases.task(&wanted).await.ok(),
        false => None,
    };
    let found = runs_found.len() + names.len() + usize::from(task.is_some());
    let title = match (wanted.as_str(), found) {
        ("", _) => "What are you looking for?".to_owned(),
        (_, 0) => format!("Nothing is called “{wanted}”"),
        (_, found) => format!(
            "{} “{wanted}”",
            count(found, "thing is called", "things are called")
        ),
    };
    let body = html! {
        div class="head" { div { h1 dir="auto" { (title) } p class="muted" { "Names of workflows and runs, and ids of runs and tasks." } } }
        div class="list" data-keys="list" {
            @for name in &names { a class="row" href={ "/workflows/" (encoded(name)) } { strong dir="auto" { (name) } span class="small muted" { "workflow" } } }
            @if let Some(task) = &task { a class="row" href={ "/tasks/" (encoded(&task.id.to_string())) } { strong class="mono" { (task.id) } span class="small muted" { "task" } } }
            @for run in &runs_found { (runs::row(run, visit.now_ms)) }
        }
    };
    Ok(page(&visit, NavPage::Runs, &title, &body).await)
}
