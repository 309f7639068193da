//! One build: its plan to edit and approve, its changes to review, its checks, and what it reaches.

use app::Permission;
use axum::response::IntoResponse as _;
use builder::review::{BuildReview, HunkDecision, HunkRemark};
use builder::{BuildJob, DraftReason, JobId, JobStatus};
use maud::{Markup, html};
use serde_json::{Value, json};

use super::builds::build_state;
use super::diff::{DiffLayout, columns, counts, head_row, hunks, rows};
use super::form::FormData;
use super::frame::{NavPage, page};
use super::parts::{copy, count, is_web_link, line, money, span, state, text_block, when};
use super::visit::{PageProblem, PageResult, PageVisit};
use crate::api::builder::go_on;
use crate::problem::{ApiProblem, ProblemCode};

/// How many lines of all changes a page shows before the rest has pages of its own.
const LINES_MAX: usize = 700;
/// How many empty rows a plan has for more files.
const NEW_ROWS: usize = 2;
const ACTIONS: [&str; 4] = ["create", "modify", "delete", "rename"];

/// Shows a build.
pub(super) async fn show(visit: PageVisit) -> PageResult {
    let (shown, progress) = visit.use_cases.build(visit.path("build")).await?;
    let job = &shown.job;
    let title = match job.status() {
        JobStatus::PlanReady => "A plan waits for your decision".to_owned(),
        JobStatus::ReviewReady => "The changes wait for your review".to_owned(),
        JobStatus::CompletedDraft => match job.result.draft {
            Some(DraftReason::NotJudged) => "A draft: no check could judge it".to_owned(),
            Some(DraftReason::ChecksFailed) | None => "A draft: some checks fail".to_owned(),
        },
        JobStatus::Failed => "The build has failed".to_owned(),
        JobStatus::Cancelled => "The build was cancelled".to_owned(),
        JobStatus::Rejected => "The plan was rejected".to_owned(),
        status => format!("The build is {}", status.as_str().replace('_', " ")),
    };
    let result = &job.result;
    let reviews = job.status() == JobStatus::ReviewReady && visit.may(Permission::DecideBuilds);
    let changes = changes(&visit, job, reviews);
    let body = html! {
        div class="head" data-live="head" data-build=(job.id.as_str()) {
            div {
                p class="small muted" { a href="/builds" { "Builds" } " / " code { (job.id.as_str()) } (copy(job.id.as_str(), "the id")) }
                h1 { (title) }
                p dir="auto" { (job.prompt) }
                @for wish in &job.follow_ups { p class="small" dir="auto" { "Then: " (wish) } }
                p class="small muted" {
                    (build_state(job.status(), shown.is_interrupted())) " · asked " (when(job.created_ms, visit.now_ms))
                    " · " (count(result.files.len(), "file changed", "files changed"))
                    @if result.cost.calls > 0 { " · " (money(result.cost.micro_usd)) ", " (count(usize::try_from(result.cost.calls).unwrap_or(usize::MAX), "call", "calls")) }
                }
                @if let Some(error) = &job.error { p class="why bad said-by" dir="auto" { (error.message) } }
            }
            (acts(&visit, job, shown.is_interrupted()))
        }
        @let has_work = job.plan.is_some() || !result.diffs.is_empty();
        div class=(if has_work { "split split-build" } else { "narrow" }) {
            div {
                (plan(&visit, job))
                @if reviews { form method="post" action={ "/builds/" (job.id.as_str()) } id="review" data-live="review" { (changes) (closing(job)) } }
                @else { div data-live="diffs" { (changes) } }
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

fn acts(visit: &PageVisit, job: &BuildJob, is_interrupted: bool) -> Markup {
    let status = job.status();
    let may_start = visit.may(Permission::StartBuilds);
    let may_decide = visit.may(Permission::DecideBuilds);
    let is_done = matches!(status, JobStatus::Completed | JobStatus::CompletedDraft);
    html! {
        form class="actions" method="post" action={ "/builds/" (job.id.as_str()) } {
            @if status == JobStatus::PlanReady && may_decide {
                button class="primary" name="act" value="approve" data-key="a" { "Approve the plan" }
                button name="act" value="reject" data-key="r" { "Reject it" }
            }
            @if (status == JobStatus::Failed || is_interrupted) && may_start { button class="primary" name="act" value="retry" { "Go on where it stopped" } }
            @if is_done && may_decide && job.result.commit.is_some() && !job.result.pushed { button name="act" value="publish" { "Publish it" } }
            @if !status.is_final() && may_start { button class="quiet" name="act" value="cancel" { "Cancel" } }
        }
        @if is_done && may_decide && job.result.branch.is_some() {
            details class="pop" {
                summary class="btn" { "Ask for a change…" }
                form class="menu" method="post" action={ "/builds/" (job.id.as_str()) } {
                    div class="field" { label for="wish" { "What should be different? It goes on in the same branch." } textarea id="wish" name="wish" rows="3" dir="auto" required minlength="10" {} }
                    button name="act" value="follow-up" { "Make a plan for it" }
                }
            }
        }
    }
}

/// The plan: a form where it waits for a decision, a list otherwise.
fn plan(visit: &PageVisit, job: &BuildJob) -> Markup {
    let Some(plan) = &job.plan else {
        return html! {};
    };
    let is_open = job.status() == JobStatus::PlanReady && visit.may(Permission::DecideBuilds);
    html! {
        section class="card" data-live="plan" {
            h2 { "The plan" }
            p dir="auto" { (plan.summary) }
            ul class="plain" {
                @for file in &plan.files {
                    li { code { (file.path.as_str()) } " " span class="small muted" { (file.action.word()) } " " span dir="auto" { (file.description) } }
                }
            }
        }
        @if is_open {
            details class="card" id="edit-plan" {
                summary { "Edit it before approving" }
                form method="post" action={ "/builds/" (job.id.as_str()) } {
                    div class="field" { label for="summary" { "What the result is" } textarea id="summary" name="summary" rows="2" dir="auto" required { "\n" (plan.summary) } }
                    p class="hint" { "The model may write these files and no others. A row without a path is left out." }
                    @for (at, file) in plan.files.iter().enumerate() {
                        @let from = match &file.action { builder::plan::FileAction::Rename { from } => from.as_str(), _ => "" };
                        (plan_row(at, (file.path.as_str(), file.action.word()), (from, &file.description)))
                    }
                    @for at in plan.files.len()..plan.files.len() + NEW_ROWS { (plan_row(at, ("", "create"), ("", ""))) }
                    button class="primary" name="act" value="approve-edited" { "Approve it like this" }
                }
            }
        }
    }
}

fn plan_row(at: usize, (path, action): (&str, &str), (from, description): (&str, &str)) -> Markup {
    let name = |field: &str| format!("file.{at}.{field}");
    let label = |field: &str| format!("{field} of file {}", at + 1);
    html! {
        fieldset class="plan-row" {
            legend class="visually-hidden" { "File " (at + 1) }
            input name=(name("path")) value=(path) aria-label=(label("Path")) placeholder="src/new_file.py" class="mono";
            select name=(name("action")) aria-label=(label("Action")) { @for word in ACTIONS { option value=(word) selected[word == action] { (word) } } }
            input name=(name("from")) value=(from) aria-label=(label("Old path")) placeholder="old path, to rename" class="mono";
            input name=(name("description")) value=(description) aria-label=(label("Purpose")) placeholder="what changes in it" dir="auto";
        }
    }
}

/// The plan that a form writes, as the builder reads it.
fn edited_plan(form: &FormData, job: &BuildJob) -> Result<String, ApiProblem> {
    let mut plan = serde_json::to_value(&job.plan).unwrap_or_default();
    plan["summary"] = Value::from(form.required("summary")?);
    let mut files = Vec::new();
    let most = job.plan.as_ref().map_or(0, |plan| plan.files.len()) + NEW_ROWS;
    for at in 0..most {
        let field = |name: &str| form.text(&format!("file.{at}.{name}"));
        let Some(path) = field("path") else { continue };
        let mut file = json!({
            "path": path,
            "action": field("action").unwrap_or("modify"),
            "description": field("description").unwrap_or_default(),
        });
        if let Some(from) = field("from").filter(|_| field("action") == Some("rename")) {
            file["from"] = Value::from(from);
        }
        files.push(file);
    }
    plan["files"] = Value::from(files);
    Ok(plan.to_string())
}

/// The changes of all files: what fits on a page, or the one file that the address names.
fn changes(visit: &PageVisit, job: &BuildJob, reviews: bool) -> Markup {
    let diffs = &job.result.diffs;
    if diffs.is_empty() {
        return html! {};
    }
    let layout = match visit.query.get("view") {
        Some("side") => DiffLayout::SideBySide,
        _ => DiffLayout::Unified,
    };
    let only = visit
        .query
        .text("file")
        .and_then(|text| text.parse::<usize>().ok());
    let word = if layout == DiffLayout::SideBySide {
        "side"
    } else {
        "unified"
    };
    let mut left = LINES_MAX;
    let planned = |path: &str| -> Option<&str> {
        let files = &job.plan.as_ref()?.files;
        let file = files.iter().find(|file| file.path.as_str() == path)?;
        Some(file.description.as_str())
    };
    html! {
        div class="chips" {
            a class="chip" href="?view=unified" aria-current=[(layout == DiffLayout::Unified).then_some("true")] { "one below the other" }
            a class="chip" href="?view=side" aria-current=[(layout == DiffLayout::SideBySide).then_some("true")] { "side by side" }
            @if only.is_some() { a class="chip" href={ "?view=" (word) } aria-current="true" { "one file ✕" } }
            span class="hint needs-js" { span data-reviewed-count {} " · " kbd { "]" } " next change" }
        }
        @if diffs.len() > 1 {
            ul class="plain files" {
                @for (at, diff) in diffs.iter().enumerate() {
                    @let (added, removed) = counts(&diff.diff);
                    li class="small" { a class="mono" href={ "#file-" (at) } { (diff.path.as_str()) } " " span class="added" { "+" (added) } " " span class="removed" { "−" (removed) }
                        @if planned(diff.path.as_str()).is_none() { " " (state("hold", "not in the plan")) } }
                }
            }
        }
        @for (at, diff) in diffs.iter().enumerate() {
            @if only.is_none_or(|only| only == at) {
                @let (added, removed) = counts(&diff.diff);
                section class={ "diff " (word) } id={ "file-" (at) } {
                    div class="file" {
                        strong dir="auto" { (diff.path.as_str()) }
                        span class="added" { "+" (added) } span class="removed" { "−" (removed) }
                        @if let Some(words) = planned(diff.path.as_str()) { span class="small muted" dir="auto" { (line(words)) } }
                        label class="flag needs-js" { input type="checkbox" data-reviewed={ (job.id.as_str()) "/" (diff.path.as_str()) } data-of=(diff.diff.len()); " reviewed" }
                    }
                    @if left == 0 { p class="hint" { a href={ "?view=" (word) "&file=" (at) } { "Show this file" } } } @else {
                        div class="scroll" tabindex="0" role="group" aria-label={ "Changes of " (diff.path.as_str()) } { table {
                            (columns(layout))
                            @for (number, hunk) in hunks(&diff.diff).iter().enumerate() {
                                tbody data-hunk id={ "h-" (at) "-" (number + 1) } tabindex="-1" {
                                    (head_row(hunk, layout))
                                    (rows(hunk, layout, &mut left))
                                    @if reviews { tr class="decide" { td colspan="4" { (hunk_form(at, number + 1)) } } }
                                }
                            }
                        } }
                        @if reviews && hunks(&diff.diff).is_empty() { (hunk_form(at, 1)) }
                    }
                }
            }
        }
    }
}

/// The fields for a decision about one change.
fn hunk_form(file: usize, number: usize) -> Markup {
    let name = format!("d.{file}.{number}");
    let choices = [
        ("accept", "keep it"),
        ("reject", "take it out"),
        ("comment", "comment"),
    ];
    html! {
        fieldset class="decide" {
            legend class="visually-hidden" { "About change " (number) " of file " (file + 1) }
            @for (word, words) in choices {
                label class="flag" { input type="radio" name=(name) value=(word) checked[word == "accept"]; " " (words) }
            }
            input name={ "c." (file) "." (number) } aria-label={ "Comment on change " (number) " of file " (file + 1) } placeholder="what the model should change here" dir="auto";
        }
    }
}

/// The end of a review: a word about all of it, and the button that sends it.
fn closing(job: &BuildJob) -> Markup {
    html! {
        section class="card" {
            div class="field" { label for="comment" { "About all of it (optional)" } textarea id="comment" name="comment" rows="2" dir="auto" {} }
            div class="actions" {
                button class="primary" name="act" value="review" data-key="a" { "Send the review" }
                button class="quiet" name="act" value="cancel" { "Discard the build" }
            }
            p class="hint" {
                "Kept as it is, it is published. What is taken out goes, comments go back to the model, and the checks run again."
                @if job.work.review_rounds > 0 { " This is round " (job.work.review_rounds + 1) "." }
            }
        }
    }
}

/// The review that a form gives. A comment without the choice beside it counts as a comment.
fn review_of(form: &FormData, job: &BuildJob) -> BuildReview {
    let mut remarks = Vec::new();
    for (at, diff) in job.result.diffs.iter().enumerate() {
        let all = hunks(&diff.diff).len();
        for number in 1..=all.max(1) {
            let text = form.text(&format!("c.{at}.{number}"));
            let word = form.get(&format!("d.{at}.{number}"));
            let decision = match (word, text) {
                (Some("reject"), _) => HunkDecision::Reject,
                (_, Some(text)) => HunkDecision::Comment {
                    text: text.to_owned(),
                },
                _ => continue,
            };
            remarks.push(HunkRemark {
                path: diff.path.clone(),
                number: Some(number).filter(|_| all > 0),
                decision,
            });
        }
    }
    BuildReview {
        remarks,
        comment: form.text("comment").map(str::to_owned),
    }
}

fn facts(job: &BuildJob) -> Markup {
    html! {
        (checks(job))
        @if let Some(coverage) = &job.result.plan_coverage {
            section class="card" { h2 { "Plan coverage" } p { (coverage.generated.len()) " of " (coverage.planned.len()) " planned files" } @for path in &coverage.missing { p class="small" { (state("bad", "missing")) " " code { (path.as_str()) } } } }
        }
        @if !job.result.impacted_files.is_empty() {
            section class="card" { h2 { "This change reaches" } ul class="plain" { @for path in job.result.impacted_files.iter().take(20) { li class="small mono" { (path.as_str()) } } }
                @if !job.result.impacted_tests.is_empty() { p class="small muted" { "Tests among them: " (job.result.impacted_tests.len()) } } }
        }
        @if let Some(words) = &job.result.closing_words { section class="card" { h2 { "The model says" } p dir="auto" class="said-by" { (words) } } }
        @if !job.result.skipped_tests.is_empty() { section class="card" { h2 { "It turns tests off" } @for text in &job.result.skipped_tests { p class="small mono" dir="auto" { (text) } } } }
        (published(job))
        @for note in &job.result.notes { p class="hint" dir="auto" { (note) } }
    }
}

fn checks(job: &BuildJob) -> Markup {
    html! {
        @if !job.result.validation.is_empty() {
            section class="card" { h2 { "Checks" }
                @for check in &job.result.validation {
                    @let word = serde_json::to_value(check.verdict).ok().and_then(|word| Some(word.as_str()?.replace('_', " "))).unwrap_or_default();
                    @let class = match word.as_str() { "passed" => "ok", "failed" => "bad", "skipped" => "idle", _ => "hold" };
                    div class="check" {
                        p { (state(class, &word)) " " strong { (check.name) } " " span class="small muted num" { (span(check.duration_ms)) @if check.old_failures > 0 { " · " (count(check.old_failures, "old failure", "old failures")) } } }
                        @for failure in check.new_failures.iter().take(8) { p class="small why bad" dir="auto" { "new: " (line(failure)) } }
                        @if let Some(words) = &check.sandbox { p class="hint" { (words) } }
                        @if let Some(words) = check.because.as_ref().filter(|_| check.output.is_empty()) { p class="small" dir="auto" { (line(words)) } }
                        @if !check.output.is_empty() { details { summary class="small muted" { "What it printed" } (text_block(&check.output)) } }
                    }
                }
            }
        }
    }
}

fn published(job: &BuildJob) -> Markup {
    let result = &job.result;
    html! {
        @if result.branch.is_some() || result.pr_url.is_some() || result.patch_file.is_some() {
            section class="card" { h2 { "Where it is" } dl class="facts" {
                @if let Some(branch) = &result.branch { dt { "branch" } dd { code { (branch) } @if !result.pushed { " " span class="muted small" { "not pushed" } } } }
                @if let Some(link) = result.pr_url.as_deref() { dt { "pull request" } dd { @if is_web_link(link) { a href=(link) rel="noreferrer" { (link) } } @else { (link) } } }
                @if let Some(patch) = &result.patch_file { dt { "patch" } dd { code { (patch) } } }
            } }
        }
    }
}

/// Approves, rejects, reviews, goes on, publishes, asks for more, or cancels.
pub(super) async fn act(visit: PageVisit) -> PageResult {
    let id = JobId::parse(visit.path("build")).map_err(app::Error::from)?;
    let name = id.as_str().to_owned();
    let to = format!("/builds/{name}");
    let use_cases = &visit.use_cases;
    let (action, said, goes_on) = match visit.form.get("act").unwrap_or_default() {
        "approve" => {
            use_cases.approve_build(&id, None).await?;
            ("builds.approve", "approved", true)
        }
        "approve-edited" => {
            let (shown, _) = use_cases.build(&name).await?;
            let plan = edited_plan(&visit.form, &shown.job)?;
            use_cases.approve_build(&id, Some(plan)).await?;
            ("builds.approve", "approved", true)
        }
        "review" => {
            let (shown, _) = use_cases.build(&name).await?;
            let review = review_of(&visit.form, &shown.job);
            use_cases.review_build(&id, review).await?;
            ("builds.review", "reviewed", true)
        }
        "retry" => {
            use_cases.permit(Permission::StartBuilds)?;
            use_cases.build(&name).await?;
            ("builds.retry", "retried-build", true)
        }
        "publish" => {
            use_cases.publish_build(&id).await?;
            ("builds.publish", "published", true)
        }
        "follow-up" => {
            let wish = visit.form.required("wish")?;
            use_cases.follow_up_build(&id, wish).await?;
            ("builds.follow-up", "followed", true)
        }
        "reject" => {
            use_cases.reject_build(&id).await?;
            ("builds.reject", "rejected", false)
        }
        "cancel" => {
            use_cases.cancel_build(&id).await?;
            ("builds.cancel", "ended", false)
        }
        other => {
            let message = format!("`{other}` is nothing that can be done to a build");
            return Ok(
                PageProblem(ApiProblem::new(ProblemCode::BadRequest, message)).into_response(),
            );
        }
    };
    if goes_on {
        go_on(&visit.state, use_cases.clone(), id);
    }
    visit.done((action, &name), &to, said).await
}
