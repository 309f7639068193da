//! Acts on a run: pause, go on, cancel, run again from a step, start another one.

use std::collections::BTreeMap;

use app::{Permission, RerunRequest, RerunText};
use axum::response::IntoResponse as _;
use flow::engine::{EngineCommand, RunRow, RunStatus, TaskRow};
use maud::{Markup, html};

use super::items;
use super::parts::line;
use super::run::RunStory;
use super::visit::{PageProblem, PageResult, PageVisit};
use crate::api::encoded;
use crate::problem::{ApiProblem, ProblemCode};

/// A form that starts the same workflow again, with this input or another.
pub(super) fn again(visit: &PageVisit, story: &RunStory) -> Markup {
    let written = serde_json::to_string_pretty(&story.input).unwrap_or_default();
    html! {
        @if visit.may(Permission::ControlRuns) && story.run.parent.is_none() {
            details {
                summary class="small muted" { "Start another run with this input" }
                form method="post" action={ "/runs/" (encoded(story.run.id.as_str())) } {
                    div class="field" { label for="input" { "Input, as JSON" } textarea id="input" name="input" class="code" rows="4" spellcheck="false" { "\n" (written) } }
                    div class="field" {
                        label for="text" { "With which text" }
                        select id="text" name="text" { option value="newest" { "the newest version of the workflow" } option value="pinned" { "the text of this run" } }
                    }
                    button name="act" value="again" { "Start it" }
                }
            }
        }
    }
}

/// Starts the workflow of a run again.
async fn start_again(visit: &PageVisit, run: &RunRow) -> Result<String, ApiProblem> {
    let use_cases = &visit.use_cases;
    let input = visit.form.text("input").unwrap_or("{}");
    let input = super::form::any_value(input).map_err(|why| {
        ApiProblem::new(
            ProblemCode::Invalid,
            format!("the input cannot be read: {why}"),
        )
    })?;
    let wish = RerunRequest {
        step: None,
        input: Some(input),
        text: match visit.form.get("text") {
            Some("pinned") => RerunText::Pinned,
            _ => RerunText::Current,
        },
    };
    Ok(use_cases.run_again(run, wish).await?.to_string())
}

pub(super) fn acts(visit: &PageVisit, story: &RunStory) -> Markup {
    let run = &story.run;
    let is_over = run.status.is_terminal();
    let first = story.waiting.first();
    html! {
        div class="actions" {
            @if let Some(task) = first {
                a class="btn primary" href={ "/inbox?for=everybody&task=" (encoded(&task.id.to_string())) } { "Answer " (line(&story.step_name(&task.id.step))) }
            }
            @if visit.may(Permission::ControlRuns) {
                form class="actions" method="post" action={ "/runs/" (encoded(run.id.as_str())) } {
                    @if run.status == RunStatus::Paused { button name="act" value="resume" { "Go on" } }
                    @if run.status == RunStatus::Running { button name="act" value="pause" { "Pause" } }
                    @if !is_over { button class="quiet" name="act" value="cancel" { "Cancel the run" } }
                    @if is_over { (rerun(story)) }
                }
            }
        }
    }
}

/// A choice of steps to run again from.
fn rerun(story: &RunStory) -> Markup {
    let mut last: BTreeMap<&str, &TaskRow> = BTreeMap::new();
    for task in story
        .tasks
        .iter()
        .filter(|task| task.id.path.items().is_empty())
    {
        last.insert(task.id.step.as_str(), task);
    }
    html! {
        @if !last.is_empty() {
            select name="task" aria-label="Run again from" {
                @for task in last.values() { option value=(task.id) { "from " (line(&story.step_name(&task.id.step))) } }
            }
            button name="act" value="rerun" { "Run again" }
        }
    }
}

/// Cancels, pauses, resumes or reruns; tries failed items again; starts another run.
pub(super) async fn act(visit: PageVisit) -> PageResult {
    let use_cases = &visit.use_cases;
    let row = use_cases.find(visit.path("run")).await?;
    let run = row.id.clone();
    let name = run.to_string();
    let back = format!("/runs/{}", encoded(&name));
    match visit.form.get("act") {
        Some("again") => {
            let started = start_again(&visit, &row).await?;
            let to = format!("/runs/{}", encoded(&started));
            return visit.done(("runs.start", &started), &to, "started").await;
        }
        Some("retry-items") => {
            let (done, missed) = items::retry_failed(&visit, visit.form.required("of")?).await?;
            let to = format!("{back}?n={done}&missed={missed}");
            return visit
                .done(("runs.rerun", &name), &to, "items-retried")
                .await;
        }
        _ => {}
    }
    let by = use_cases.person();
    let (command, action, said) = match visit.form.get("act").unwrap_or_default() {
        "cancel" => {
            let reason = format!("{by} cancelled it.");
            (
                EngineCommand::Cancel { run, reason },
                "runs.cancel",
                "cancelled",
            )
        }
        "pause" => {
            let reason = format!("{by} paused it.");
            (EngineCommand::Pause { run, reason }, "runs.pause", "paused")
        }
        "resume" => (EngineCommand::Resume { run }, "runs.resume", "resumed"),
        "rerun" => {
            let task = use_cases.task(visit.form.required("task")?).await?.id;
            (EngineCommand::Rerun { task }, "runs.rerun", "rerun")
        }
        other => {
            let message = format!("`{other}` is nothing that can be done to a run");
            return Ok(
                PageProblem(ApiProblem::new(ProblemCode::BadRequest, message)).into_response(),
            );
        }
    };
    use_cases.execute(command).await?;
    visit.done((action, &name), &back, said).await
}
