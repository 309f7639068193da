//! The tasks that wait for a person, and the place where they answer.

use app::{Permission, UseCases};
use axum::http::StatusCode;
use axum::response::Response;
use flow::Workflow;
use flow::engine::{EngineCommand, RunRow, TaskAnswer, TaskRow, TaskStatus};
use maud::{Markup, html};
use std::sync::Arc;
use store::{RunFilter, TaskFilter};

use super::asking::AnswerForm;
use super::form::FormData;
use super::frame::{NavPage, page_with};
use super::parts::{
    count, empty, line, state, task_state, text_block, value, waits_for_person, when,
};
use super::visit::{PageProblem, PageResult, PageVisit};
use crate::api::encoded;
use crate::problem::ApiProblem;

/// How many tasks are listed.
const LISTED_MAX: usize = 100;

/// A task with the run and the workflow it belongs to.
pub(super) struct OpenQuestion {
    pub(super) task: TaskRow,
    pub(super) run: RunRow,
    pub(super) workflow: Arc<Workflow>,
}

impl OpenQuestion {
    pub(super) async fn of(
        use_cases: &UseCases,
        task: TaskRow,
    ) -> Result<OpenQuestion, ApiProblem> {
        let run = use_cases.find(task.id.run.as_str()).await?;
        let workflow = use_cases.workflow(&run).await?;
        Ok(OpenQuestion {
            task,
            run,
            workflow,
        })
    }

    /// The step's name.
    pub(super) fn title(&self) -> String {
        self.step_name(&self.task.id.step)
    }

    /// The name of another step of the workflow.
    fn step_name(&self, id: &flow::StepId) -> String {
        let step = self.workflow.step(id);
        step.map_or_else(|| id.as_str().to_owned(), |step| step.name.clone())
    }

    pub(super) fn run_name(&self) -> &str {
        self.run.name.as_deref().unwrap_or("a run")
    }
}

/// Reads from the address which tasks are listed.
fn filter(visit: &PageVisit) -> TaskFilter {
    let mine = Some(visit.use_cases.person());
    let base = TaskFilter {
        is_waiting: true,
        ..TaskFilter::default()
    };
    match visit.query.get("for") {
        Some("everybody") => base,
        Some("me") => TaskFilter {
            assignee: mine,
            ..base
        },
        _ => TaskFilter {
            assignee: mine,
            is_anybodys: true,
            ..base
        },
    }
}

pub(super) async fn show(visit: PageVisit) -> PageResult {
    let chosen = visit.query.text("task").map(str::to_owned);
    respond(&visit, chosen.as_deref(), None)
        .await
        .map_err(Into::into)
}

async fn respond(
    visit: &PageVisit,
    chosen: Option<&str>,
    wrong: Option<&ApiProblem>,
) -> Result<Response, ApiProblem> {
    let mut waiting = visit
        .use_cases
        .list_tasks(&filter(visit), LISTED_MAX)
        .await?;
    waiting.retain(waits_for_person);
    let chosen = match chosen {
        Some(id) => visit.use_cases.task(id).await.ok(),
        None => waiting.first().cloned(),
    };
    let mut rows = Vec::new();
    for task in waiting {
        rows.push(OpenQuestion::of(&visit.use_cases, task).await?);
    }
    let title = match rows.len() {
        0 => "Nothing waits for you".to_owned(),
        1 => "1 thing waits for you".to_owned(),
        number => format!("{number} things wait for you"),
    };
    let open = match chosen {
        Some(task) => Some(OpenQuestion::of(&visit.use_cases, task).await?),
        None => None,
    };
    let is_new = visit
        .use_cases
        .runs(&RunFilter::default(), 1)
        .await?
        .is_empty();
    let body = html! {
        div class="head" data-live="head" {
            div {
                h1 { (title) }
                @if let Some(first) = rows.first() {
                    p class="muted" { "The oldest came " (when(first.task.created_ms, visit.now_ms)) "." }
                }
            }
        }
        (chips(visit))
        @if rows.is_empty() && open.is_none() { (nothing_waits()) @if is_new { (super::welcome::card(visit)) } } @else {
            div class="split" {
                div class="list" data-live="list" data-keys="list" { @for row in &rows { (list_row(visit, row, open.as_ref())) } }
                @if let Some(open) = &open { (card(visit, open, (&rows, wrong)).await?) }
            }
        }
    };
    let status = wrong.map_or(StatusCode::OK, ApiProblem::status);
    Ok(page_with(visit, status, (NavPage::Inbox, &title), &body).await)
}

fn chips(visit: &PageVisit) -> Markup {
    let current = visit.query.get("for").unwrap_or("mine");
    let all = [
        ("mine", "/inbox", "For me and unassigned"),
        ("me", "/inbox?for=me", "Only for me"),
        ("everybody", "/inbox?for=everybody", "Everybody's"),
    ];
    html! {
        div class="chips" {
            @for (name, link, words) in all {
                a class="chip" href=(link) aria-current=[(name == current).then_some("true")] { (words) }
            }
        }
    }
}

fn nothing_waits() -> Markup {
    empty(
        "You are done here",
        &html! {
            p { "Steps drawn with round brackets, such as " code { "B(Review it)" } ", wait for a person. When a run comes to one, it shows up here with its question." }
            p { a class="btn primary" href="/workflows" { "Start a workflow" } " " a class="btn" href="/builder" { "Draw a new one" } }
        },
    )
}

fn list_row(visit: &PageVisit, row: &OpenQuestion, open: Option<&OpenQuestion>) -> Markup {
    let id = row.task.id.to_string();
    let is_open = open.is_some_and(|open| open.task.id == row.task.id);
    html! {
        a class="row" href={ "/inbox?task=" (encoded(&id)) } aria-current=[is_open.then_some("true")] {
            strong dir="auto" { (line(&row.title())) }
            span class="small muted" { (when(row.task.created_ms, visit.now_ms)) }
            span class="small muted" dir="auto" { (line(row.run_name())) }
            (task_state(&row.task))
        }
    }
}

/// The question with everything a person needs to answer it.
async fn card(
    visit: &PageVisit,
    open: &OpenQuestion,
    (rows, wrong): (&[OpenQuestion], Option<&ApiProblem>),
) -> Result<Markup, ApiProblem> {
    let task = &open.task;
    let before = match &task.from {
        Some(from) => visit.use_cases.task(&from.to_string()).await.ok(),
        None => None,
    };
    let prompt = visit.use_cases.prompt(task).await?;
    let run = open.run.id.as_str();
    Ok(html! {
        div {
            section class="card" data-live="question" data-task=(task.id) {
                div class="head" {
                    div {
                        h2 class="large" dir="auto" { (open.title()) }
                        p class="small muted" { "A step of " a href={ "/runs/" (encoded(run)) } { (line(open.run_name())) } ". "
                            a href={ "/tasks/" (encoded(&task.id.to_string())) } { "All about this task" } }
                    }
                    (asked_of(task))
                }
                @if let Some(hold) = &task.hold { p class="why" dir="auto" { (hold.reason) } }
                @if !prompt.trim().is_empty() { div class="prompt" { (text_block(&prompt)) } }
                @if let Some(wrong) = wrong {
                    p class="wrong" role="alert" { (wrong.detail()) @if let Some(hint) = wrong.hint_text() { " " (hint) } }
                }
                (answer_form(visit, open, rows))
            }
            @if let Some((before, output)) = before.as_ref().and_then(|task| Some((task, task.output.as_ref()?))) {
                section class="card" {
                    h2 dir="auto" { "What came before: " (line(&open.step_name(&before.id.step))) }
                    (value(output))
                }
            }
        }
    })
}

fn asked_of(task: &TaskRow) -> Markup {
    let words = match &task.assignee {
        Some(name) => format!("asked of {name}"),
        None => "asked of everyone".to_owned(),
    };
    html! { @if waits_for_person(task) { (state("wait", &words)) } @else { (task_state(task)) } }
}

/// The form, for those who may answer; the ways out below it.
pub(super) fn answer_form(visit: &PageVisit, open: &OpenQuestion, rows: &[OpenQuestion]) -> Markup {
    let task = &open.task;
    if !waits_for_person(task) {
        return html! { p class="muted" { "Nothing is asked here any more." } };
    }
    if !visit.may(Permission::AnswerTasks) {
        return html! { p class="muted" { "A reviewer, an operator or an admin answers this." } };
    }
    let form = AnswerForm::of(&open.workflow, task);
    let typed = match visit.form.get("task") {
        Some(_) => visit.form.clone(),
        None => FormData::default(),
    };
    html! {
        form method="post" action="/inbox" class="answer" {
            input type="hidden" name="task" value=(task.id);
            (form.markup(&typed))
            (others(visit, open, rows))
            details class="ways" {
                summary { "It cannot be answered like this" }
                div class="field" {
                    label for="reason" { "Reason" }
                    textarea id="reason" name="reason" rows="2" { (typed.get("reason").unwrap_or_default()) }
                }
                div class="actions" {
                    @if task.status == TaskStatus::OnHold && visit.may(Permission::ManageTasks) {
                        button name="act" value="retry" formnovalidate { "Send back to be tried again" }
                    }
                    button name="act" value="fail" formnovalidate { "It cannot be done" }
                }
                p class="hint" { "The reason is kept with the task." }
            }
        }
    }
}

/// The other tasks of the same step: one answer can count for those that are ticked.
fn others(visit: &PageVisit, open: &OpenQuestion, rows: &[OpenQuestion]) -> Markup {
    let is_alike = |row: &&OpenQuestion| {
        row.task.id != open.task.id
            && row.run.workflow == open.run.workflow
            && row.task.id.step == open.task.id.step
    };
    let alike: Vec<&OpenQuestion> = rows.iter().filter(is_alike).collect();
    html! {
        @if !alike.is_empty() {
            details class="ways" {
                summary { "Give the same answer to " (count(alike.len(), "other task of this step", "other tasks of this step")) }
                p class="hint" { "Take the tick away from those that want an answer of their own." }
                label class="flag" { input type="checkbox" name="all" value="true"; " Answer those that are ticked, too" }
                ul class="plain" {
                    @for row in &alike { li { label class="flag" { input type="checkbox" name="also" value=(row.task.id) checked; " " code { (row.task.id) } " " span class="muted small" { (when(row.task.created_ms, visit.now_ms)) } } } }
                }
            }
        }
    }
}

/// Takes an answer. One that does not fit is shown again with what was typed.
pub(super) async fn answer(visit: PageVisit) -> PageResult {
    let id = visit.form.required("task")?.to_owned();
    let task = visit.use_cases.task(&id).await?;
    let question = OpenQuestion::of(&visit.use_cases, task).await?;
    match decide(&visit, &question).await {
        Ok(said) => {
            answer_others(&visit, &question).await?;
            visit.done(("tasks.answer", &id), "/inbox", said).await
        }
        Err(problem) => respond(&visit, Some(&id), Some(&problem))
            .await
            .map_err(PageProblem),
    }
}

/// Gives the same answer to the ticked tasks of the same step. One that was answered meanwhile is passed over.
async fn answer_others(visit: &PageVisit, first: &OpenQuestion) -> Result<(), ApiProblem> {
    if visit.form.get("all").is_none() {
        return Ok(());
    }
    let also = visit.form.0.iter().filter(|(name, _)| name == "also");
    for (_, id) in also {
        let task = visit.use_cases.task(id).await?;
        let question = OpenQuestion::of(&visit.use_cases, task).await?;
        let is_alike = question.run.workflow == first.run.workflow
            && question.task.id.step == first.task.id.step;
        if is_alike && decide(visit, &question).await.is_ok() {
            visit.note(("tasks.answer", id)).await;
        }
    }
    Ok(())
}

async fn decide(visit: &PageVisit, open: &OpenQuestion) -> Result<&'static str, ApiProblem> {
    let (task, use_cases) = (open.task.id.clone(), &visit.use_cases);
    let reason = visit.form.text("reason").map(str::to_owned);
    let by = use_cases.person();
    let (command, said) = match visit.form.get("act").unwrap_or_default() {
        "retry" => {
            if let Some(reason) = &reason {
                let ports = visit.state.app().ports();
                let kept = ports.add_comment(&task, &by, reason).await;
                kept.map_err(app::Error::from)?;
            }
            (EngineCommand::Retry { task, with: None }, "retried")
        }
        "fail" => {
            let message = visit.form.required("reason").map(str::to_owned)?;
            let answer = TaskAnswer::Failed { message };
            (EngineCommand::Answer { task, by, answer }, "failed")
        }
        "accept" => {
            let answer = TaskAnswer::Accept;
            (EngineCommand::Answer { task, by, answer }, "answered")
        }
        _ => {
            let output = AnswerForm::of(&open.workflow, &open.task).answer(&visit.form)?;
            let answer = TaskAnswer::Done { output };
            (EngineCommand::Answer { task, by, answer }, "answered")
        }
    };
    use_cases.execute(command).await?;
    Ok(said)
}

/// The words for how many wait, for other pages.
pub(super) fn waiting_words(number: usize) -> String {
    count(number, "task waits for a person", "tasks wait for a person")
}
