//! Builds: the list, and a form that asks for one.

use app::Permission;
use app::builds::BuildSnapshot;
use builder::{JobStatus, Options};
use maud::{Markup, html};

use super::frame::{NavPage, page};
use super::parts::{count, empty, line, money, state, when};
use super::visit::{PageResult, PageVisit};
use crate::api::builder::go_on;
use crate::problem::ApiProblem;

/// Among how many of the newest builds those that wait are looked for.
const WAITING_READ_MAX: usize = 30;
/// How many builds are listed.
const LISTED_MAX: usize = 100;

pub(super) async fn list(visit: PageVisit) -> PageResult {
    let builds = visit.use_cases.builds(None, LISTED_MAX).await?;
    let waiting = builds.iter().filter(|shown| waits(shown));
    let title = match (builds.len(), waiting.count()) {
        (0, _) => "Nothing was built yet".to_owned(),
        (_, 0) => "No build waits for a decision".to_owned(),
        (_, number) => waiting_words(number),
    };
    let body = html! {
        div class="head" {
            div { h1 { (title) } }
            @if visit.may(Permission::StartBuilds) { div class="actions" { (ask_form()) } }
        }
        @if builds.is_empty() {
            (empty("Say what should be built", &html! { p { "A model makes a plan, you approve it, it is built in a worktree of its own and held against the project's checks. Nothing leaves the machine unasked." } pre { "drawloom build 'Rate limiting for login'" } }))
        } @else {
            div class="list" data-live="list" data-keys="list" {
                @for shown in &builds { (row(shown, visit.now_ms)) }
            }
        }
    };
    Ok(page(&visit, NavPage::Builds, &title, &body).await)
}

fn row(shown: &BuildSnapshot, now_ms: u64) -> Markup {
    let job = &shown.job;
    html! {
        a class="row" href={ "/builds/" (job.id.as_str()) } {
            strong dir="auto" { (line(&job.prompt)) }
            (build_state(job.status(), shown.is_interrupted()))
            span class="small muted" { code { (job.id.as_str()) } @if job.result.cost.calls > 0 { " · " (money(job.result.cost.micro_usd)) } @if !job.result.files.is_empty() { " · " (count(job.result.files.len(), "file", "files")) } }
            span class="small muted" { (when(job.created_ms, now_ms)) }
        }
    }
}

/// Tells whether a person decides next: about a plan, or about the changes.
fn waits(shown: &BuildSnapshot) -> bool {
    matches!(
        shown.job.status(),
        JobStatus::PlanReady | JobStatus::ReviewReady
    )
}

/// Returns the builds that wait for a decision of this person: none where they may not decide.
pub(super) async fn waiting(visit: &PageVisit) -> Result<Vec<BuildSnapshot>, ApiProblem> {
    if !visit.may(Permission::DecideBuilds) {
        return Ok(Vec::new());
    }
    let newest = visit.use_cases.builds(None, WAITING_READ_MAX).await?;
    Ok(newest.into_iter().filter(waits).collect())
}

pub(super) fn waiting_words(number: usize) -> String {
    count(
        number,
        "build waits for a decision",
        "builds wait for a decision",
    )
}

/// The builds that wait, below the tasks of an inbox.
pub(super) fn waiting_list(visit: &PageVisit, builds: &[BuildSnapshot]) -> Markup {
    html! {
        @if !builds.is_empty() {
            nav class="list more" data-live="builds" data-keys="list" aria-label="Builds that wait" {
                @for shown in builds { (row(shown, visit.now_ms)) }
            }
        }
    }
}

fn ask_form() -> Markup {
    html! {
        details class="pop" {
            summary class="btn primary" { "Ask for a build" }
            form class="menu" method="post" action="/builds" {
                div class="field" { label for="prompt" { "What should be there afterwards?" } textarea id="prompt" name="prompt" rows="3" required minlength="10" {} }
                div class="field" { label class="flag" { input type="checkbox" name="review" value="true" checked; " Show me the changes before anything is pushed" } }
                button { "Make a plan" }
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
