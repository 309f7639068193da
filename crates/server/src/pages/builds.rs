//! Builds: asked for, their plan decided about, their changes and checks looked at.

use app::Permission;
use axum::response::IntoResponse as _;
use builder::{BuildJob, FileDiff, JobId, JobStatus, Options};
use maud::{Markup, html};

use super::frame::{NavPage, page};
use super::parts::{count, empty, is_web_link, line, money, state, when};
use super::visit::{PageProblem, PageResult, PageVisit};
use crate::api::builder::go_on;
use crate::problem::{ApiProblem, ProblemCode};

/// How many builds are listed.
const LISTED_MAX: usize = 100;
/// How many lines of one file's changes are shown.
const DIFF_LINES_MAX: usize = 400;

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
                        span class="small muted mono" { (shown.job.id.as_str()) }
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
                button class="primary" { "Make a plan" }
            }
        }
    }
}

fn build_state(status: JobStatus, is_interrupted: bool) -> Markup {
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

pub(super) async fn show(visit: PageVisit) -> PageResult {
    let (shown, progress) = visit.use_cases.build(visit.path("build")).await?;
    let job = &shown.job;
    let title = match job.status() {
        JobStatus::PlanReady => "A plan waits for your decision".to_owned(),
        JobStatus::ReviewReady => "A build is ready to review".to_owned(),
        status => format!("The build is {}", status.as_str().replace('_', " ")),
    };
    let result = &job.result;
    let body = html! {
        div class="head" data-live="head" data-build=(job.id.as_str()) {
            div {
                p class="small muted" { a href="/builds" { "Builds" } " / " code { (job.id.as_str()) } }
                h1 { (title) }
                p dir="auto" { (job.prompt) }
                p class="small muted" {
                    (build_state(job.status(), shown.is_interrupted())) " · asked " (when(job.created_ms, visit.now_ms))
                    " · " (count(result.files.len(), "file changed", "files changed"))
                    @if result.cost.calls > 0 { " · " (money(result.cost.micro_usd)) ", " (count(usize::try_from(result.cost.calls).unwrap_or(usize::MAX), "call", "calls")) }
                }
                @if let Some(error) = &job.error { p class="why bad" dir="auto" { (line(&serde_json::to_value(error).map(|error| error["message"].as_str().unwrap_or_default().to_owned()).unwrap_or_default())) } }
            }
            (acts(&visit, job))
        }
        div class="split split-build" {
            div data-live="diffs" {
                (plan(job))
                @for diff in &result.diffs { (file_diff(diff)) }
            }
            div data-live="checks" {
                (facts(job))
                section class="card" {
                    h2 { "Progress" }
                    ul class="plain" { @for step in progress.iter().rev().take(30) { li class="small" dir="auto" { (when(step.at_ms, visit.now_ms)) " " (line(&step.message)) } } }
                }
            }
        }
    };
    Ok(page(&visit, NavPage::Builds, &title, &body).await)
}

fn acts(visit: &PageVisit, job: &BuildJob) -> Markup {
    let is_waiting = job.status() == JobStatus::PlanReady;
    html! {
        form class="actions" method="post" action={ "/builds/" (job.id.as_str()) } {
            @if is_waiting && visit.may(Permission::DecideBuilds) {
                button class="primary" name="act" value="approve" { "Approve the plan" }
                button name="act" value="reject" { "Reject it" }
            }
            @if !job.status().is_final() && visit.may(Permission::StartBuilds) { button class="quiet" name="act" value="cancel" { "Cancel" } }
        }
    }
}

fn plan(job: &BuildJob) -> Markup {
    html! {
        @if let Some(plan) = &job.plan {
            section class="card" {
                h2 { "The plan" }
                p dir="auto" { (plan.summary) }
                ul class="plain" {
                    @for file in &plan.files {
                        @let action = serde_json::to_value(&file.action).ok().and_then(|value| value["action"].as_str().map(str::to_owned)).unwrap_or_default();
                        li { code { (file.path.as_str()) } " " span class="small muted" { (action) } " " span dir="auto" { (file.description) } }
                    }
                }
            }
        }
    }
}

fn facts(job: &BuildJob) -> Markup {
    let result = serde_json::to_value(&job.result).unwrap_or_default();
    let checks = result["validation"].as_array().cloned().unwrap_or_default();
    let word =
        |value: &serde_json::Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    html! {
        @if !checks.is_empty() {
            section class="card" { h2 { "Checks" } ul class="plain" {
                @for check in &checks {
                    @let status = word(check, "status");
                    li { (state(match status.as_str() { "passed" => "ok", "failed" => "bad", _ => "hold" }, if status.is_empty() { "run" } else { &status })) " " (word(check, "name")) }
                }
            } }
        }
        @if let Some(coverage) = &job.result.plan_coverage {
            section class="card" { h2 { "Plan coverage" } p { (coverage.generated.len()) " of " (coverage.planned.len()) " planned files" } @for path in &coverage.missing { p class="small" { (state("bad", "missing")) " " code { (path.as_str()) } } } }
        }
        @if !job.result.impacted_files.is_empty() {
            section class="card" { h2 { "This change reaches" } ul class="plain" { @for path in job.result.impacted_files.iter().take(20) { li class="small mono" { (path.as_str()) } } } }
        }
        @if let Some(words) = &job.result.closing_words { section class="card" { h2 { "The model says" } p dir="auto" class="said-by" { (words) } } }
        @if let Some(link) = job.result.pr_url.as_deref() {
            section class="card" { h2 { "Published" } p { @if is_web_link(link) { a href=(link) rel="noreferrer" { (link) } } @else { (link) } } }
        }
        @for note in &job.result.notes { p class="hint" dir="auto" { (note) } }
    }
}

/// A unified diff as a table, with line numbers of both sides.
pub(super) fn file_diff(diff: &FileDiff) -> Markup {
    diff_table(diff.path.as_str(), &diff.diff)
}

pub(super) fn diff_table(path: &str, diff: &str) -> Markup {
    let added = diff
        .lines()
        .filter(|line| line.starts_with('+') && !line.starts_with("+++"))
        .count();
    let removed = diff
        .lines()
        .filter(|line| line.starts_with('-') && !line.starts_with("---"))
        .count();
    let rows = diff_rows(diff);
    html! {
        section class="diff" {
            div class="file" { strong { (path) } span class="added" { "+" (added) } span class="removed" { "−" (removed) } }
            div class="scroll" { table {
                @for (class, old, new, text) in rows.iter().take(DIFF_LINES_MAX) {
                    tr class=(class) { td class="ln" { (old) } td class="ln" { (new) } td { (text) } }
                }
            } }
            @if rows.len() > DIFF_LINES_MAX { p class="hint" { "The first " (DIFF_LINES_MAX) " of " (rows.len()) " lines." } }
        }
    }
}

type DiffRow<'d> = (&'static str, String, String, &'d str);

fn diff_rows(diff: &str) -> Vec<DiffRow<'_>> {
    let (mut old, mut new) = (0_usize, 0_usize);
    let mut rows = Vec::new();
    for text in diff.lines() {
        if text.starts_with("--- ") || text.starts_with("+++ ") || text.starts_with("diff ") {
            continue;
        }
        if let Some(place) = text.strip_prefix("@@") {
            let mut starts = place
                .split(|c: char| !c.is_ascii_digit())
                .filter(|part| !part.is_empty());
            let numbers: Vec<usize> = place
                .split_whitespace()
                .filter(|part| part.starts_with(['-', '+']))
                .filter_map(|part| part[1..].split(',').next()?.parse().ok())
                .collect();
            if let [first, second, ..] = numbers.as_slice() {
                (old, new) = (*first, *second);
            } else if let Some(first) = starts.next().and_then(|number| number.parse().ok()) {
                (old, new) = (first, first);
            }
            rows.push(("h", String::new(), String::new(), text));
            continue;
        }
        match text.as_bytes().first() {
            Some(b'+') => {
                rows.push(("a", String::new(), new.to_string(), text));
                new += 1;
            }
            Some(b'-') => {
                rows.push(("d", old.to_string(), String::new(), text));
                old += 1;
            }
            _ => {
                rows.push(("", old.to_string(), new.to_string(), text));
                (old, new) = (old + 1, new + 1);
            }
        }
    }
    rows
}

/// Asks for a build.
pub(super) async fn ask(visit: PageVisit) -> PageResult {
    let prompt = visit.form.required("prompt")?;
    let id = visit
        .use_cases
        .ask_for_build(prompt, Options::default())
        .await?;
    go_on(&visit.state, visit.use_cases.clone(), id.clone());
    let to = format!("/builds/{}", id.as_str());
    visit.done(("builds.ask", id.as_str()), &to, "asked").await
}

/// Approves, rejects or cancels.
pub(super) async fn act(visit: PageVisit) -> PageResult {
    let id = JobId::parse(visit.path("build")).map_err(app::Error::from)?;
    let name = id.as_str().to_owned();
    let to = format!("/builds/{name}");
    match visit.form.get("act").unwrap_or_default() {
        "approve" => {
            visit.use_cases.approve_build(&id, None).await?;
            go_on(&visit.state, visit.use_cases.clone(), id);
            visit.done(("builds.approve", &name), &to, "approved").await
        }
        "reject" => {
            visit.use_cases.reject_build(&id).await?;
            visit.done(("builds.reject", &name), &to, "rejected").await
        }
        "cancel" => {
            visit.use_cases.cancel_build(&id).await?;
            visit.done(("builds.cancel", &name), &to, "ended").await
        }
        other => {
            let message = format!("`{other}` is nothing that can be done to a build");
            Ok(PageProblem(ApiProblem::new(ProblemCode::BadRequest, message)).into_response())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_have_the_numbers_of_their_side() {
        let diff = "--- a\n+++ b\n@@ -3,2 +3,3 @@\n one\n-two\n+2\n+3\n";
        let rows: Vec<(String, String)> = diff_rows(diff)
            .into_iter()
            .map(|(_, old, new, _)| (old, new))
            .collect();
        let expected = [("", ""), ("3", "3"), ("4", ""), ("", "4"), ("", "5")];
        assert_eq!(rows, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }
}
