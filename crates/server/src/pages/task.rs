//! One task: what is asked, its output, its prompts, attempts, conversation, notes and parts.

use app::{Permission, TaskEdit, TaskStory};
use axum::response::IntoResponse as _;
use flow::engine::{CallRow, EngineCommand, TaskStatus};
use maud::{Markup, html};
use serde_json::{Map, json};
use store::{AttemptRecord, TaskUrgency};

use super::answers::answer_form;
use super::form::FormData;
use super::frame::{NavPage, page};
use super::inbox::OpenQuestion;
use super::parts::{
    copy, count, day_text, line, read_day, span, spent, state, text_block, value, waits_for_person,
    when,
};
use super::tasks::words;
use super::visit::{PageResult, PageVisit};
use crate::api::encoded;
use crate::problem::{ApiProblem, ProblemCode};

/// How many lines a command has printed are shown.
const LOG_LINES_MAX: usize = 400;

pub(super) async fn show(visit: PageVisit) -> PageResult {
    let use_cases = &visit.use_cases;
    let task = use_cases.task(visit.path("task")).await?;
    let open = OpenQuestion::of(use_cases, task).await?;
    let task = &open.task;
    let attempts = use_cases.attempts(&task.id).await?;
    let calls = use_cases.calls(&task.id).await?;
    let layers = use_cases.layers(task).await?;
    let story = use_cases.task_story(&task.id).await?;
    let log = use_cases.log(&task.id, (0, 0), LOG_LINES_MAX).await?;
    let people = super::tasks::people(&visit).await?;
    let (_, word) = super::parts::task_words(task);
    let name = match story.details.title.as_str() {
        "" => open.title(),
        title => title.to_owned(),
    };
    let title = format!("{name} is {word}");
    let body = html! {
        (head(&visit, &open, &title))
        div class="split split-run" {
            div {
                @if waits_for_person(task) { section class="card question" data-live="answer" data-task=(task.id) { h2 { "What is asked" } (answer_form(&visit, &open, &[])) } }
                section class="card" data-live="output" {
                    h2 { "Output" }
                    @if let Some(hold) = &task.hold { p class="why" dir="auto" { (hold.reason) } }
                    @if let Some(failure) = &task.failure { p class="why bad" dir="auto" { (state("bad", failure.class.name())) " " (failure.message) } }
                    @if let Some(output) = &task.output { (value(output)) } @else { p class="muted" { "Nothing yet." } }
                }
                @if !log.is_empty() { section class="card" data-live="log" { h2 { "What its command printed" } pre { @for entry in &log { (entry.text) "\n" } } @if log.len() >= LOG_LINES_MAX { p class="hint" { "The first " (LOG_LINES_MAX) " lines." } } } }
                (conversation(&calls, &visit))
                (prompt_layers(&layers))
            }
            div {
                section class="card" data-live="attempts" {
                    h2 { (count(attempts.len(), "attempt", "attempts")) }
                    @if attempts.is_empty() { p class="muted" { "No attempt has begun." } }
                    @for attempt in &attempts { (attempt_row(attempt, visit.now_ms)) }
                }
                (details_card(&visit, &story))
                (parts_card(&visit, &open, &story))
                (comments_card(&visit, &open, &story))
                (activity_card(&visit, &story))
            }
        }
        datalist id="people" { @for name in &people { option value=(name) {} } }
    };
    Ok(page(&visit, NavPage::Tasks, &title, &body).await)
}

fn head(visit: &PageVisit, open: &OpenQuestion, title: &str) -> Markup {
    let (task, run) = (&open.task, open.run.id.as_str());
    html! {
        div class="head" data-live="head" data-run=(run) {
            div {
                p class="small muted" { a href="/runs" { "Runs" } " / " a href={ "/runs/" (encoded(run)) } { (line(open.run_name())) } }
                h1 dir="auto" { (title) }
                p class="small muted" {
                    code { (task.id) } (copy(&task.id.to_string(), "the id")) " · since " (when(task.created_ms, visit.now_ms))
                    @if let Some(name) = &task.assignee { " · " (name) }
                    @if let Some(words) = spent(task.spent) { " · " (words) }
                }
            }
            (acts(visit, open))
        }
    }
}

fn acts(visit: &PageVisit, open: &OpenQuestion) -> Markup {
    let task = &open.task;
    let step = open.workflow.step_of(task);
    let prompt = step.and_then(|step| step.config.prompt.clone());
    html! {
        @if visit.may(Permission::ManageTasks) {
            form class="actions" method="post" action="/tasks" {
                input type="hidden" name="task" value=(task.id);
                @if task.status == TaskStatus::OnHold {
                    button name="act" value="retry" { "Try again" }
                    @if let Some(prompt) = &prompt {
                        details class="pop" {
                            summary class="btn" { "Try again with another prompt…" }
                            div class="menu" {
                                div class="field" { label for="prompt" { "The prompt, for this task only" } textarea id="prompt" name="prompt" rows="5" dir="auto" { "\n" (prompt) } }
                                button name="act" value="retry-with" { "Try again with it" }
                            }
                        }
                    }
                }
                @if task.status.is_terminal() && visit.may(Permission::ControlRuns) { button name="act" value="rerun" { "Run again from here" } }
                @if !task.status.is_terminal() {
                    input name="assignee" list="people" aria-label="Assignee" placeholder="unassigned" size="12" value=(task.assignee.as_deref().unwrap_or_default());
                    button name="act" value="assign" { "Assign" }
                }
            }
        }
    }
}

fn prompt_layers(layers: &flow::layers::LayeredPrompt) -> Markup {
    html! {
        section class="card" {
            h2 { "The prompt, layer by layer" }
            @if layers.layers.is_empty() { p class="muted" { "This step has no prompt." } }
            @for layer in &layers.layers {
                details { summary { (layer.name) " " span class="muted small" { (layer.text.len()) " bytes" } } (text_block(&layer.text)) }
            }
            @for warning in &layers.warnings { p class="hint" { (warning) } }
        }
    }
}

/// The notes of people about the task, and a form to change them.
fn details_card(visit: &PageVisit, story: &TaskStory) -> Markup {
    let details = &story.details;
    html! {
        section class="card" {
            h2 { "About it" }
            dl class="facts" {
                @if !details.summary.is_empty() { dt { "summary" } dd dir="auto" class="said-by" { (details.summary) } }
                dt { "urgency" } dd { (details.urgency.as_str()) }
                @if let Some(due) = details.due_ms { dt { "due" } dd { (when(due, visit.now_ms)) } }
                @if !details.tags.is_empty() { dt { "tags" } dd { (details.tags.join(", ")) } }
                @if !details.created_by.is_empty() { dt { "added by" } dd { (details.created_by) } }
                @if let Some(parent) = &details.parent { dt { "part of" } dd { a href={ "/tasks/" (encoded(&parent.to_string())) } { (parent) } } }
            }
            @if visit.may(Permission::ManageTasks) {
                details {
                    summary class="small muted" { "Edit" }
                    form method="post" action="/tasks" {
                        input type="hidden" name="task" value=(details.task);
                        input type="hidden" name="revision" value=(details.revision);
                        div class="field" { label for="title" { "Title" } input id="title" name="title" value=(details.title) maxlength=(store::TASK_TITLE_CHARS_MAX); }
                        div class="field" { label for="summary" { "Summary" } textarea id="summary" name="summary" rows="2" dir="auto" { "\n" (details.summary) } }
                        div class="pair" {
                            div class="field" { label for="urgency" { "Urgency" } (super::tasks::urgencies(details.urgency)) }
                            div class="field" { label for="due" { "Until" } input id="due" name="due" type="date" value=(details.due_ms.map(day_text).unwrap_or_default()); }
                        }
                        div class="field" { label for="tags" { "Tags, with commas" } input id="tags" name="tags" value=(details.tags.join(", ")); }
                        button name="act" value="edit" { "Keep it" }
                    }
                }
            }
        }
    }
}

/// The tasks that are parts of this one.
fn parts_card(visit: &PageVisit, open: &OpenQuestion, story: &TaskStory) -> Markup {
    let may = visit.may(Permission::ManageTasks);
    html! {
        @if may || !story.children.is_empty() {
            section class="card" {
                h2 { "Parts of it" }
                ul class="plain" { @for child in &story.children { li { a dir="auto" href={ "/tasks/" (encoded(&child.task.to_string())) } { (line(&child.title)) } } } }
                @if may {
                    form method="post" action="/tasks/new" class="actions" {
                        input type="hidden" name="parent" value=(open.task.id);
                        input name="title" required aria-label="A part of this task" placeholder="A part of this task";
                        button { "Add it" }
                    }
                }
            }
        }
    }
}

fn comments_card(visit: &PageVisit, open: &OpenQuestion, story: &TaskStory) -> Markup {
    html! {
        section class="card" {
            h2 { "Comments" }
            div data-live="comments" { @for comment in &story.comments { div class="comment" { p class="small muted" { strong { (comment.author) } " · " (when(comment.created_ms, visit.now_ms)) } p dir="auto" class="said-by" { (comment.body) } } } }
            @if visit.may(Permission::AnswerTasks) {
                form method="post" action="/tasks" {
                    input type="hidden" name="task" value=(open.task.id);
                    div class="field" { label for="comment" { "Comment" } textarea id="comment" name="comment" rows="2" dir="auto" required {} }
                    button name="act" value="comment" { "Comment" }
                }
            }
        }
    }
}

fn activity_card(visit: &PageVisit, story: &TaskStory) -> Markup {
    html! {
        section class="card" data-live="activity" {
            h2 { "What happened" }
            ul class="plain" {
                @for entry in story.activity.iter().rev().take(40) {
                    li class="small" { (when(entry.at_ms, visit.now_ms)) " " strong { (entry.what.replace('_', " ")) } " " span dir="auto" { (line(&entry.text)) } }
                }
            }
        }
    }
}

fn attempt_row(attempt: &AttemptRecord, now_ms: u64) -> Markup {
    html! {
        div class="attempt" {
            p {
                strong class="num" { (attempt.number) ". " }
                @match &attempt.end {
                    Some(end) => { (ending(end.status)) span class="small muted" { " after " (span(end.at_ms.saturating_sub(attempt.begun_ms))) } },
                    None => (state("run", "under way")),
                }
            }
            p class="small muted" {
                (attempt.by.as_deref().unwrap_or("the clock")) " · " (when(attempt.begun_ms, now_ms))
                @if let Some(words) = attempt.spent.and_then(spent) { " · " (words) }
            }
            @if let Some(message) = attempt.end.as_ref().and_then(|end| end.message.as_deref()) { p class="small" dir="auto" { (line(message)) } }
        }
    }
}

fn ending(status: TaskStatus) -> Markup {
    let class = match status {
        TaskStatus::Completed => "ok",
        TaskStatus::Failed => "bad",
        TaskStatus::OnHold => "hold",
        _ => "idle",
    };
    state(class, &words(status))
}

/// The calls to models: what was sent, what came back.
fn conversation(calls: &[CallRow], visit: &PageVisit) -> Markup {
    html! {
        @for row in calls {
            @let call = &row.call;
            section class="card" {
                h2 { "Asked of " (call.by.as_deref().unwrap_or("a model")) }
                p class="small muted" { (when(call.begun_ms, visit.now_ms)) " · " (span(call.ended_ms.saturating_sub(call.begun_ms))) " · "
                    (call.usage.input_tokens) " tokens in, " (call.usage.output_tokens) " out"
                    @if let Some(sure) = call.confidence { " · " (format!("{:.0} % sure", sure * 100.0)) } }
                @if let Some(summary) = &call.summary { p dir="auto" { (summary) } }
                details { summary { "What was sent" } @for layer in &call.layers { h3 { (layer.name) } (text_block(&layer.text)) } }
                @for (at, reply) in call.replies.iter().enumerate() {
                    details open[at + 1 == call.replies.len()] { summary { "Reply " (at + 1) } (text_block(reply)) }
                }
            }
        }
    }
}

/// The details that a form changes.
fn edit(form: &FormData) -> Result<TaskEdit, ApiProblem> {
    let revision = form.text("revision").and_then(|text| text.parse().ok());
    let urgency: Option<TaskUrgency> = form
        .text("urgency")
        .map(str::parse)
        .transpose()
        .map_err(app::Error::from)?;
    let tags = form.get("tags").map(|tags| {
        let tags = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty());
        tags.map(str::to_owned).collect()
    });
    Ok(TaskEdit {
        revision,
        title: form.text("title").map(str::to_owned),
        summary: form.get("summary").map(str::to_owned),
        urgency,
        tags,
        due_ms: Some(form.text("due").map(read_day).transpose()?),
        ..TaskEdit::default()
    })
}

/// Does something to a task: retries, reruns, assigns, edits or comments.
pub(super) async fn act(visit: PageVisit) -> PageResult {
    let use_cases = &visit.use_cases;
    let task = use_cases.task(visit.form.required("task")?).await?.id;
    let name = task.to_string();
    let back = format!("/tasks/{}", encoded(&name));
    match visit.form.get("act").unwrap_or_default() {
        "retry" => {
            use_cases
                .execute(EngineCommand::Retry { task, with: None })
                .await?;
            visit.done(("tasks.retry", &name), &back, "retried").await
        }
        "retry-with" => {
            let prompt = visit.form.required("prompt")?;
            let with = Map::from_iter([("prompt".to_owned(), json!(prompt))]);
            let with = Some(with);
            use_cases
                .execute(EngineCommand::Retry { task, with })
                .await?;
            visit.done(("tasks.retry", &name), &back, "retried").await
        }
        "edit" => {
            use_cases.edit_task(&name, edit(&visit.form)?).await?;
            visit.done(("tasks.edit", &name), &back, "edited").await
        }
        "rerun" => {
            let run = format!("/runs/{}", encoded(task.run.as_str()));
            use_cases.execute(EngineCommand::Rerun { task }).await?;
            visit.done(("runs.rerun", &name), &run, "rerun").await
        }
        "assign" => {
            let assignee = visit.form.text("assignee").map(str::to_owned);
            use_cases
                .execute(EngineCommand::Assign { task, assignee })
                .await?;
            visit.done(("tasks.assign", &name), &back, "assigned").await
        }
        "comment" => {
            let comment = visit.form.required("comment")?;
            use_cases.comment_task(&name, comment).await?;
            visit
                .done(("tasks.comment", &name), &back, "commented")
                .await
        }
        other => {
            let message = format!("`{other}` is nothing that can be done to a task");
            Ok(
                super::visit::PageProblem(ApiProblem::new(ProblemCode::BadRequest, message))
                    .into_response(),
            )
        }
    }
}
