//! Pages that tell: activity and health.

use app::Permission;
use flow::engine::{RunStatus, TaskStatus};
use maud::html;
use std::collections::BTreeMap;
use store::{AuditFilter, AuditOutcome, RunFilter, TaskFilter};

use super::frame::{NavPage, page};
use super::parts::{count, empty, line, state, when};
use super::runs;
use super::visit::{PageResult, PageVisit};
use crate::problem::ApiProblem;

/// How many entries of the audit log are shown.
const ENTRIES_MAX: usize = 100;
/// Number of tasks in progress that are searched for their workers.
const HELD_MAX: usize = 500;
/// How far counts on the health page go.
const COUNTED_MAX: usize = 10_000;

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
                        li class="small" { (when(entry.at_ms, visit.now_ms)) " " (state(outcome.0, outcome.1)) " " strong { (entry.entry.actor) } " " code { (entry.entry.action) } @if !entry.entry.action.ends_with(&entry.entry.object) { " " span dir="auto" { (line(&entry.entry.object)) } } }
                    }
                }
            }
        }
    };
    Ok(page(&visit, NavPage::Activity, title, &body).await)
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
    let workers = workers(&visit).await?;
    let body = html! {
        div class="head" data-live="head" { div { h1 { (title) } p class="muted" { "The database answers. " (super::inbox::waiting_words(waiting)) "." } } }
        div class="cards" data-live="counts" {
            section class="card" { h2 { "Runs" } dl class="facts" { @for (name, number) in &runs { dt { (name) } dd class="num" { (number) } } } }
            section class="card" { h2 { "Tasks" } dl class="facts" {
                @for (name, number) in &tasks { dt { (name.replace('_', " ")) } dd class="num" { (number) } }
                dt { "oldest that a worker could take" } dd { @if let Some(task) = oldest { (when(task.ready_ms, visit.now_ms)) } @else { "none" } }
            } }
            section class="card" { h2 { "Workers that have tasks" }
                @if workers.is_empty() { p class="muted" { "No worker has a task at this moment. This server works on them itself; " code { "drawloom worker" } " adds another." } }
                dl class="facts" { @for (name, (number, until_ms)) in &workers { dt { code { (line(name)) } } dd { (count(*number, "task", "tasks")) " " span class="muted small" { "lease ends " (when(*until_ms, visit.now_ms)) } } } }
            }
        }
    };
    Ok(page(&visit, NavPage::Health, title, &body).await)
}

/// The workers that have tasks, with how many, and the end of the lease that ends first.
async fn workers(visit: &PageVisit) -> Result<BTreeMap<String, (usize, u64)>, ApiProblem> {
    let filter = TaskFilter {
        status: Some(TaskStatus::InProgress),
        ..TaskFilter::default()
    };
    let mut workers = BTreeMap::new();
    for task in visit.use_cases.list_tasks(&filter, HELD_MAX).await? {
        if let Some(lease) = task.lease {
            let held = workers.entry(lease.worker).or_insert((0, u64::MAX));
            held.0 += 1;
            held.1 = lease.until_ms.min(held.1);
        }
    }
    Ok(workers)
}
