//! Tasks: a list with filters, and one task with its prompts, attempts and conversation.

use app::Permission;
use axum::response::IntoResponse as _;
use flow::engine::{CallRow, EngineCommand, TaskStatus};
use maud::{Markup, html};
use store::{AttemptRecord, TaskFilter};

use super::frame::{NavPage, page};
use super::inbox::{OpenQuestion, answer_form};
use super::parts::{
    count, empty, line, span, spent, state, task_state, text_block, value, value_line,
    waits_for_person, when,
};
use super::visit::{PageResult, PageVisit};
use crate::api::encoded;
use crate::problem::{ApiProblem, ProblemCode};

/// How many tasks are listed.
const LISTED_MAX: usize = 100;
/// How many comments are shown.
const COMMENTS_MAX: usize = 100;

/// The columns of the board: a title, and the statuses in it.
const COLUMNS: [(&str, &[TaskStatus]); 4] = [
    ("To do", &[TaskStatus::Pending]),
    ("Under way", &[TaskStatus::InProgress, TaskStatus::Waiting]),
    ("Needs a person", &[TaskStatus::OnHold, TaskStatus::Failed]),
    ("Done", &[TaskStatus::Completed]),
];
/// How many cards a column has.
const CARDS_MAX: usize = 25;

/// The open tasks as columns, and those that ended last.
async fn board(visit: &PageVisit) -> PageResult {
    let mut columns = Vec::new();
    for (title, statuses) in COLUMNS {
        let mut cards = Vec::new();
        for status in statuses {
            let filter = TaskFilter {
                status: Some(*status),
                has_ended: status.is_terminal(),
                ..TaskFilter::default()
            };
            cards.extend(visit.use_cases.list_tasks(&filter, CARDS_MAX).await?);
        }
        columns.push((title, cards));
    }
    let open: usize = columns.iter().take(3).map(|(_, cards)| cards.len()).sum();
    let title = count(open, "task is on the board", "tasks are on the board");
    let body = html! {
        div class="head" { div { h1 { (title) } } }
        div class="chips" { a class="chip" href="/tasks" { "as a list" } a class="chip" href="/tasks?as=board" aria-current="true" { "as a board" } }
        div class="board" data-live="board" data-keys="list" {
            @for (title, cards) in &columns {
                section aria-label=(title) {
                    h2 { (title) " " span class="muted num" { (cards.len()) @if cards.len() >= CARDS_MAX { "+" } } }
                    @for task in cards.iter().take(CARDS_MAX) {
                        a class="row card" href={ "/tasks/" (encoded(&task.id.to_string())) } {
                            strong class="mono" { (task.id) }
                            span class="small muted" { (task.assignee.as_deref().unwrap_or("unassigned")) }
                            (task_state(task))
                            span class="small muted" { (when(task.created_ms, visit.now_ms)) }
                        }
                    }
                }
            }
        }
    };
    Ok(page(visit, NavPage::Tasks, &title, &body).await)
}

pub(super) async fn list(visit: PageVisit) -> PageResult {
    if visit.query.get("as") == Some("board") {
        return board(&visit).await;
    }
    let status = visit.query.text("status");
    let status = status.and_then(|word| TaskStatus::ALL.into_iter().find(|one| one.name() == word));
    let filter = TaskFilter {
        has_ended: status.is_some_and(TaskStatus::is_terminal),
        status,
        assignee: visit.query.text("assignee").map(str::to_owned),
        ..TaskFilter::default()
    };
    let rows = visit.use_cases.list_tasks(&filter, LISTED_MAX + 1).await?;
    let title = match (rows.len(), status) {
        (0, _) => "No tasks here".to_owned(),
        (number, _) if number > LISTED_MAX => format!("More than {LISTED_MAX} tasks"),
        (number, Some(status)) => count(
            number,
            &format!("task is {}", words(status)),
            &format!("tasks are {}", words(status)),
        ),
        (number, None) => count(number, "task is open", "tasks are open"),
    };
    let body = html! {
        div class="head" { div { h1 { (title) } p class="muted" { "Everything that people, agents and workers do in runs." } } }
        div class="chips" {
            a class="chip" href="/tasks" aria-current=[status.is_none().then_some("true")] { "open" }
            @for one in TaskStatus::ALL {
                a class="chip" href={ "/tasks?status=" (one.name()) } aria-current=[(status == Some(one)).then_some("true")] { (words(one)) }
            }
            a class="chip" href="/tasks?as=board" { "as a board" }
        }
        @if rows.is_empty() {
            (empty("Nothing to list", &html! { p { "Tasks come from runs of workflows. " a href="/workflows" { "Start one" } "." } }))
        } @else {
            div class="list" data-live="list" data-keys="list" {
                @for task in rows.iter().take(LISTED_MAX) {
                    a class="row" href={ "/tasks/" (encoded(&task.id.to_string())) } {
                        strong class="mono" { (task.id) }
                        (task_state(task))
                        span class="small muted" dir="auto" { @if let Some(output) = &task.output { (value_line(output)) } @else { (task.assignee.as_deref().unwrap_or("unassigned")) } }
                        span class="small muted" { (when(task.created_ms, visit.now_ms)) }
                    }
                }
            }
        }
    };
    Ok(page(&visit, NavPage::Tasks, &title, &body).await)
}

fn words(status: TaskStatus) -> String {
    status.name().replace('_', " ")
}

pub(super) async fn show(visit: PageVisit) -> PageResult {
    let use_cases = &visit.use_cases;
    let task = use_cases.task(visit.path("task")).await?;
    let open = OpenQuestion::of(use_cases, task).await?;
    let task = &open.task;
    let attempts = use_cases.attempts(&task.id).await?;
    let calls = use_cases.calls(&task.id).await?;
    let layers = use_cases.layers(task).await?;
    let ports = visit.state.app().ports();
    let comments = ports
        .comments(&task.id, None, COMMENTS_MAX)
        .await
        .map_err(app::Error::from)?;
    let (_, word) = super::parts::task_words(task);
    let title = format!("{} is {word}", open.title());
    let run = open.run.id.as_str();
    let body = html! {
        div class="head" data-live="head" {
            div {
                p class="small muted" { a href="/runs" { "Runs" } " / " a href={ "/runs/" (encoded(run)) } { (line(open.run_name())) } }
                h1 dir="auto" { (title) }
                p class="small muted" {
                    code { (task.id) } " · since " (when(task.created_ms, visit.now_ms))
                    @if let Some(name) = &task.assignee { " · " (name) }
                    @if let Some(words) = spent(task.spent) { " · " (words) }
                }
            }
            (acts(&visit, &open))
        }
        div class="split split-run" {
            div {
                @if waits_for_person(task) { section class="card" data-live="answer" { h2 { "What is asked" } (answer_form(&visit, &open, &[])) } }
                section class="card" data-live="output" {
                    h2 { "Output" }
                    @if let Some(hold) = &task.hold { p class="why" dir="auto" { (hold.reason) } }
                    @if let Some(failure) = &task.failure { p class="why bad" dir="auto" { (state("bad", failure.class.name())) " " (failure.message) } }
                    @if let Some(output) = &task.output { (value(output)) } @else { p class="muted" { "Nothing yet." } }
                }
                (conversation(&calls, &visit))
            }
            div {
                section class="card" data-live="attempts" {
                    h2 { (count(attempts.len(), "attempt", "attempts")) }
                    @if attempts.is_empty() { p class="muted" { "No attempt has begun." } }
                    @for attempt in &attempts { (attempt_row(attempt, visit.now_ms)) }
                }
                section class="card" {
                    h2 { "The prompt, layer by layer" }
                    @if layers.layers.is_empty() { p class="muted" { "This step has no prompt." } }
                    @for layer in &layers.layers {
                        details { summary { (layer.name) " " span class="muted small" { (layer.text.len()) " bytes" } } (text_block(&layer.text)) }
                    }
                    @for warning in &layers.warnings { p class="hint" { (warning) } }
                }
                section class="card" {
                    h2 { "Comments" }
                    @for comment in &comments { div class="comment" { p class="small muted" { strong { (comment.author) } " · " (when(comment.created_ms, visit.now_ms)) } p dir="auto" class="said-by" { (comment.body) } } }
                    @if visit.may(Permission::AnswerTasks) {
                        form method="post" action="/tasks" {
                            input type="hidden" name="task" value=(task.id);
                            div class="field" { label for="comment" { "Comment" } textarea id="comment" name="comment" rows="2" required {} }
                            button name="act" value="comment" { "Comment" }
                        }
                    }
                }
            }
        }
    };
    Ok(page(&visit, NavPage::Tasks, &title, &body).await)
}

fn acts(visit: &PageVisit, open: &OpenQuestion) -> Markup {
    let task = &open.task;
    html! {
        @if visit.may(Permission::ManageTasks) {
            form class="actions" method="post" action="/tasks" {
                input type="hidden" name="task" value=(task.id);
                @if task.status == TaskStatus::OnHold { button name="act" value="retry" { "Try again" } }
                @if task.status.is_terminal() && visit.may(Permission::ControlRuns) { button name="act" value="rerun" { "Run again from here" } }
                @if !task.status.is_terminal() {
                    input name="assignee" aria-label="Assignee" placeholder="unassigned" size="12" value=(task.assignee.as_deref().unwrap_or_default());
                    button name="act" value="assign" { "Assign" }
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

/// Does something to a task: retries, reruns, assigns or comments.
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
            use_cases.permit(Permission::AnswerTasks)?;
            let comment = visit.form.required("comment")?;
            let ports = visit.state.app().ports();
            let kept = ports.add_comment(&task, &use_cases.person(), comment).await;
            kept.map_err(app::Error::from)?;
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
