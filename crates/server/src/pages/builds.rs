//! Builds: the list, and a form that asks for one.

use app::Permission;
use builder::{JobStatus, Options};
use maud::{Markup, html};

use super::frame::{NavPage, page};
use super::parts::{count, empty, line, money, state, when};
use super::visit::{PageResult, PageVisit};
use crate::api::builder::go_on;

/// How many builds are listed.
const LISTED_MAX: usize = 100;

pub(super) async fn list(visit: PageVisit) -> PageResult {
    let builds = visit.use_cases.builds(None, LISTED_MAX).await?;
    let waiting = builds.iter().filter(|shown| {
        matches!(
            shown.job.status(),
            JobStatus::PlanReady | JobStatus::ReviewReady
        )
    });
    let title = match (builds.len(), waiting.count()) {
        (0, _) => "Nothing was built yet".to_owned(),
        (_, 0) => "No build waits for a decision".to_owned(),
        (_, number) => count(
            number,
            "build waits for a decision",
            "builds wait for a decision",
        ),
    };
    let body = html! {
        div class="head" { div { h1 { (title) } } }
        @if visit.may(Permission::StartBuilds) { (ask_card()) }
        @if builds.is_empty() {
            (empty("Say what should be built", &html! { p { "A model makes a plan, you approve it, it is built in a worktree of its own and held against the project's checks. Nothing leaves the machine unasked." } pre { "drawloom build 'Rate limiting for login'" } }))
        } @else {
            div class="list" data-live="list" data-keys="list" {
                @for shown in &builds {
                    a class="row" href={ "/builds/" (shown.job.id.as_str()) } {
                        strong dir="auto" { (line(&shown.job.prompt)) }
                        (build_state(shown.job.status(), shown.is_interrupted()))
                        span class="small muted" { code { (shown.job.id.as_str()) } @if shown.job.result.cost.calls > 0 { " · " (money(shown.job.result.cost.micro_usd)) } @if !shown.job.result.files.is_empty() { " · " (count(shown.job.result.files.len(), "file", "files")) } }
                        span class="small muted" { (when(shown.job.created_ms, visit.now_ms)) }
                    }
                }
            }
        }
    };
    Ok(page(&visit, NavPage::Builds, &title, &body).await)
}

fn ask_card() -> Markup {
    html! {
        details class="card" {
            summary { "Ask for a build" }
            form method="post" action="/builds" {
                div class="field" { label for="prompt" { "What should be there afterwards?" } textarea id="prompt" name="prompt" rows="3" required minlength="10" {} }
                div class="field" { label class="flag" { input type="checkbox" name="review" value="true" checked; " Show me the changes before anything is pushed" } }
                button class="primary" { "Make a plan" }
            }
        }
    }
}

pub(super) fn build_state(status: JobStatus, is_interrupted: bool) -> Markup {
    let class = match status {
        _ if is_interrupted => "bad",
        JobStatus::Completed => "ok",
        JobStatus::CompletedDraft | JobStatus::PlanReady | JobStatus::ReviewReady => "hold",
        JobStatus::Failed => "bad",
        JobStatus::Rejected | JobStatus::Cancelled => "idle",
        _ => "run",
    };
    let word = match is_interrupted {
        true => "interrupted".to_owned(),
        false => status.as_str().replace('_', " "),
    };
    state(class, &word)
}

/// Asks for a build.
pub(super) async fn ask(visit: PageVisit) -> PageResult {
    let prompt = visit.form.required("prompt")?;
    let options = Options {
        review: visit.form.get("review").is_some(),
        ..Options::default()
    };
    let id = visit.use_cases.ask_for_build(prompt, options).await?;
    go_on(&visit.state, visit.use_cases.clone(), id.clone());
    let to = format!("/builds/{}", id.as_str());
    visit.done(("builds.ask", id.as_str()), &to, "asked").await
}
