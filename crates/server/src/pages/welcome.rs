//! The first two minutes on a new server: a sample run to answer and to look at, and one click that removes it.

use app::{Permission, RunRequest};
use flow::RunId;
use flow::engine::{EngineCommand, RunStatus};
use maud::{Markup, html};
use serde_json::json;
use store::RunFilter;

use super::visit::{PageResult, PageVisit};
use crate::api::encoded;
use crate::problem::ApiProblem;

/// The name of the sample and of its runs.
const NAME: &str = "welcome-tour";
/// How many runs of the sample are removed at once.
const RUNS_MAX: usize = 100;

const SAMPLE: &str = "---
title: welcome-tour
---
graph TD
    A[Collect what changed] --> B(May it be released?)
    B --> C{Approved?}
    C -->|\"output.approved == true\"| D[Publish]
    C -->|default| E[Write down why]

%% === WORKFLOW_CONFIG ===
%% @A: { \"handler\": \"no_op\" }
%% @B: { \"prompt\": \"Version {{input.version}} is ready. May it be released? Your answer decides which way the run goes.\" }
%% @D: { \"handler\": \"no_op\" }
%% @E: { \"handler\": \"no_op\" }
%% === END_CONFIG ===
";

/// The card on an empty inbox that begins the tour.
pub(super) fn card(visit: &PageVisit) -> Markup {
    html! {
        @if visit.may(Permission::ControlRuns) {
            section class="card empty" {
                h2 { "New here? It takes two minutes" }
                p { "Start a sample run: it asks you one question, here in the inbox. Answer it, and see on the run's page which way it went and why. One click removes it again." }
                form method="post" action="/welcome" class="actions" {
                    button class="primary" name="act" value="start" { "Start the sample run" }
                    a class="btn" href="/builder" { "Draw a workflow instead" }
                }
            }
        }
    }
}

/// The line on pages of sample runs that removes them.
pub(super) fn removal(visit: &PageVisit, name: Option<&str>) -> Markup {
    html! {
        @if name == Some(NAME) && visit.may(Permission::DeleteRuns) {
            form method="post" action="/welcome" class="actions why" {
                span { "This is the sample." }
                button name="act" value="remove" { "Remove all sample data" }
                a href="/builder" { "Draw your own" }
            }
        }
    }
}

/// Starts the sample, or removes every run of it.
pub(super) async fn act(visit: PageVisit) -> PageResult {
    match visit.form.get("act") {
        Some("remove") => {
            remove(&visit).await?;
            visit.done(("runs.delete", NAME), "/inbox", "removed").await
        }
        _ => {
            let sheet = visit.use_cases.check_text(NAME, SAMPLE.to_owned()).await?;
            let begin = RunRequest {
                input: json!({ "version": "1.2.0" }),
                ..RunRequest::default()
            };
            let run = visit.use_cases.start(&sheet, begin).await?;
            let to = format!("/runs/{}", encoded(run.as_str()));
            visit.done(("runs.start", NAME), &to, "started").await
        }
    }
}

async fn remove(visit: &PageVisit) -> Result<(), ApiProblem> {
    visit.use_cases.permit(Permission::DeleteRuns)?;
    let filter = RunFilter {
        workflow: Some(NAME.to_owned()),
        ..RunFilter::default()
    };
    let runs = visit.use_cases.runs(&filter, RUNS_MAX).await?;
    let runs: Vec<_> = runs
        .into_iter()
        .filter(|run| run.name.as_deref() == Some(NAME))
        .collect();
    for run in runs
        .iter()
        .filter(|run| matches!(run.status, RunStatus::Running | RunStatus::Paused))
    {
        let reason = "The sample was removed.".to_owned();
        let cancel = EngineCommand::Cancel {
            run: run.id.clone(),
            reason,
        };
        visit.use_cases.execute(cancel).await?;
    }
    let ids: Vec<RunId> = runs.into_iter().map(|run| run.id).collect();
    visit.use_cases.delete_runs(&ids).await?;
    Ok(())
}
