//! The tasks that wait for a person, grouped by what is asked, and the question that is open.

use app::{InboxRequest, InboxScope, Permission, UseCases};
use axum::http::StatusCode;
use axum::response::Response;
use flow::Workflow;
use flow::engine::{RunRow, TaskRow};
use maud::{Markup, html};
use std::sync::Arc;
use store::{AuditEntry, AuditFilter, RunFilter, TaskCursor, TaskDetails, TaskUrgency};

use super::answers::answer_form;
use super::builds;
use super::frame::{NavPage, page_with};
use super::parts::{
    count, empty, line, state, task_state, text_block, value, value_line, waits_for_person, when,
};
use super::visit::{PageResult, PageVisit};
use crate::api::encoded;
use crate::problem::ApiProblem;

/// How many tasks are listed.
const LISTED_MAX: usize = 100;
/// How many tasks of a group are listed before the rest is folded.
const UNFOLDED_MAX: usize = 3;
/// How many of the person's own decisions are listed.
const DECIDED_MAX: usize = 8;

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

/// A line of the inbox.
pub(super) struct InboxRow {
    pub(super) task: TaskRow,
    pub(super) run: RunRow,
    step_name: String,
    details: Option<TaskDetails>,
}

impl InboxRow {
    /// Tells whether both ask the same: the same step of the same text.
    pub(super) fn asks_like(&self, task: &TaskRow, run: &RunRow) -> bool {
        self.run.workflow == run.workflow && self.task.id.step == task.id.step
    }

    fn title(&self) -> &str {
        let given = self.details.as_ref().map(|details| details.title.as_str());
        given
            .filter(|title| !title.is_empty())
            .unwrap_or(&self.step_name)
    }

    pub(super) fn run_name(&self) -> &str {
        self.run.name.as_deref().unwrap_or("a run")
    }
}

/// A page of the inbox.
struct InboxView {
    rows: Vec<InboxRow>,
    total: usize,
    next: Option<TaskCursor>,
    open: Option<OpenQuestion>,
}

impl InboxView {
    async fn of(visit: &PageVisit, chosen: Option<&str>) -> Result<InboxView, ApiProblem> {
        let request = InboxRequest {
            scope: scope(visit),
            after: visit
                .query
                .text("after")
                .and_then(|after| after.parse().ok()),
            max: LISTED_MAX,
        };
        let listed = visit.use_cases.inbox(request).await?;
        let rows: Vec<InboxRow> = listed
            .groups
            .into_iter()
            .flat_map(|group| {
                let (run, step_name) = (group.run, group.step_name);
                group.tasks.into_iter().map(move |one| InboxRow {
                    task: one.task,
                    run: run.clone(),
                    step_name: step_name.clone(),
                    details: one.details,
                })
            })
            .collect();
        let chosen = match chosen {
            Some(id) => visit.use_cases.task(id).await.ok(),
            None => None,
        };
        // The next one may have been answered meanwhile.
        let is_leftover = visit.query.get("next").is_some();
        let chosen = chosen.filter(|task| !is_leftover || waits_for_person(task));
        let task = chosen.or_else(|| rows.first().map(|row| row.task.clone()));
        let open = match task {
            Some(task) => Some(OpenQuestion::of(&visit.use_cases, task).await?),
            None => None,
        };
        Ok(InboxView {
            rows,
            total: listed.total,
            next: listed.next,
            open,
        })
    }

    fn title(&self) -> String {
        match self.total {
            0 => "Nothing waits for you".to_owned(),
            1 => "1 thing waits for you".to_owned(),
            number if number >= app::INBOX_COUNT_MAX => {
                format!("{number} things or more wait for you")
            }
            number => format!("{number} things wait for you"),
        }
    }

    fn is_open(&self, row: &InboxRow) -> bool {
        let open = self.open.as_ref();
        open.is_some_and(|open| open.task.id == row.task.id)
    }
}

/// Reads from the address whose tasks are listed.
fn scope(visit: &PageVisit) -> InboxScope {
    match visit.query.get("for").or_else(|| visit.form.get("for")) {
        Some("everybody") => InboxScope::Everybody,
        Some("me") => InboxScope::Assigned,
        _ => InboxScope::Mine,
    }
}

/// The word of a scope in addresses.
fn scope_word(scope: InboxScope) -> &'static str {
    match scope {
        InboxScope::Mine => "mine",
        InboxScope::Assigned => "me",
        InboxScope::Everybody => "everybody",
    }
}

/// The address of the inbox of a scope, with a task that is open.
pub(super) fn address(scope: &str, parameter: &str, task: Option<&str>) -> String {
    let scope = (scope != "mine").then(|| format!("for={}", encoded(scope)));
    let task = task.map(|task| format!("{parameter}={}", encoded(task)));
    let parts: Vec<String> = scope.into_iter().chain(task).collect();
    match parts.is_empty() {
        true => "/inbox".to_owned(),
        false => format!("/inbox?{}", parts.join("&")),
    }
}

pub(super) async fn show(visit: PageVisit) -> PageResult {
    let chosen = visit
        .query
        .text("task")
        .or_else(|| visit.query.text("next"));
    let chosen = chosen.map(str::to_owned);
    respond(&visit, chosen.as_deref(), None)
        .await
        .map_err(Into::into)
}

pub(super) async fn respond(
    visit: &PageVisit,
    chosen: Option<&str>,
    wrong: Option<&ApiProblem>,
) -> Result<Response, ApiProblem> {
    let view = InboxView::of(visit, chosen).await?;
    let builds = builds::waiting(visit).await?;
    let title = match (view.total, builds.len()) {
        (0, number) if number > 0 => builds::waiting_words(number),
        _ => view.title(),
    };
    let decided = decided(visit).await?;
    let is_new = view.rows.is_empty()
        && visit
            .use_cases
            .runs(&RunFilter::default(), 1)
            .await?
            .is_empty();
    let body = html! {
        div class="head" data-live="head" {
            div {
                h1 { (title) }
                @if let Some(first) = view.rows.first() {
                    p class="muted" { "The oldest came " (when(first.task.created_ms, visit.now_ms)) "."
                        @if !builds.is_empty() { " " (builds::waiting_words(builds.len())) ", too." } }
                }
            }
        }
        (chips(visit))
        @if view.rows.is_empty() && view.open.is_none() {
            @if is_new { (super::welcome::card(visit)) }
            @if builds.is_empty() { (nothing_waits()) } @else { (builds::waiting_list(visit, &builds)) }
            (decided_card(visit, &decided))
        } @else {
            @let is_chosen = visit.query.get("task").or_else(|| visit.query.get("next")).is_some() || wrong.is_some();
            div class=(if is_chosen { "split chosen" } else { "split" }) {
                div {
                    nav class="list" data-live="list" data-keys="list" aria-label="Questions" { (list(visit, &view)) }
                    @if let Some(next) = &view.next { p class="more" { a class="btn" rel="next" href={ "/inbox?for=" (scope_word(scope(visit))) "&after=" (encoded(&next.to_string())) } { "Newer ones" } } }
                    (builds::waiting_list(visit, &builds))
                    (decided_card(visit, &decided))
                }
                @if let Some(open) = &view.open { (card(visit, open, (&view.rows, wrong)).await?) }
            }
        }
    };
    let status = wrong.map_or(StatusCode::OK, ApiProblem::status);
    Ok(page_with(visit, status, (NavPage::Inbox, &title), &body).await)
}

fn chips(visit: &PageVisit) -> Markup {
    let current = scope_word(scope(visit));
    let all = [
        ("mine", "For me and unassigned"),
        ("me", "Only for me"),
        ("everybody", "Everybody's"),
    ];
    html! {
        div class="chips" {
            @for (name, words) in all {
                a class="chip" href=(address(name, "task", None)) aria-current=[(name == current).then_some("true")] { (words) }
            }
        }
    }
}

fn nothing_waits() -> Markup {
    empty(
        "You are done here",
        &html! {
            p { "Steps drawn with round brackets, such as " code { "B(Review it)" } ", wait for a person. When a run comes to one, it shows up here with its question." }
            p { a class="btn" href="/workflows" { "Start a workflow" } " " a class="btn" href="/builder" { "Draw a new one" } }
        },
    )
}

/// The rows, those that ask the same next to each other; of a long group the rest is folded.
fn list(visit: &PageVisit, view: &InboxView) -> Markup {
    let mut groups: Vec<Vec<&InboxRow>> = Vec::new();
    for row in &view.rows {
        let known = groups
            .iter_mut()
            .find(|group| group[0].asks_like(&row.task, &row.run));
        match known {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    html! {
        @for group in &groups {
            @let (shown, folded) = group.split_at(group.len().min(UNFOLDED_MAX));
            @for row in shown { (list_row(visit, row, view.is_open(row))) }
            @if !folded.is_empty() {
                details class="fold" open[folded.iter().any(|row| view.is_open(row))] {
                    summary { (count(folded.len(), "more asks", "more ask")) " “" (line(&group[0].step_name)) "”" }
                    @for row in folded { (list_row(visit, row, view.is_open(row))) }
                }
            }
        }
    }
}

fn list_row(visit: &PageVisit, row: &InboxRow, is_open: bool) -> Markup {
    let id = row.task.id.to_string();
    let details = row.details.as_ref();
    let urgency = details.map_or(TaskUrgency::Normal, |details| details.urgency);
    let due = details.and_then(|details| details.due_ms);
    html! {
        a class="row" href=(address(scope_word(scope(visit)), "task", Some(&id))) aria-current=[is_open.then_some("true")] {
            strong dir="auto" { (line(row.title())) @if let Some(item) = row.task.id.path.last() { " " span class="muted small" { "item " (item.index + 1) } } }
            span class="small muted" { (when(row.task.created_ms, visit.now_ms)) }
            span class="small muted" dir="auto" {
                (line(row.run_name()))
                @if let Some(due) = due { " · due " (when(due, visit.now_ms)) }
            }
            span {
                @if matches!(urgency, TaskUrgency::High | TaskUrgency::Critical) { (state("bad", urgency.as_str())) " " }
                (task_state(&row.task))
            }
        }
    }
}

/// The question with everything a person needs to answer it.
async fn card(
    visit: &PageVisit,
    open: &OpenQuestion,
    (rows, wrong): (&[InboxRow], Option<&ApiProblem>),
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
            section class="card question" data-live="question" data-task=(task.id) {
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
                (opinion(visit, task).await?)
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

/// The words of a model about the task, and how sure it was.
async fn opinion(visit: &PageVisit, task: &TaskRow) -> Result<Markup, ApiProblem> {
    if task.attempt == 0 {
        return Ok(html! {});
    }
    let calls = visit.use_cases.calls(&task.id).await?;
    let Some(call) = calls.last().map(|row| &row.call) else {
        return Ok(html! {});
    };
    Ok(html! {
        div class="why" {
            p class="small" {
                strong { (call.by.as_deref().unwrap_or("The model")) }
                @if let Some(sure) = call.confidence { " is " (format!("{:.0} %", sure * 100.0)) " sure" }
                @if let Some(summary) = &call.summary { ": " span dir="auto" { (summary) } }
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

/// The newest decisions of the person, from the audit log.
async fn decided(visit: &PageVisit) -> Result<Vec<(AuditEntry, Option<TaskRow>)>, ApiProblem> {
    let filter = AuditFilter {
        actor: Some(visit.identity.actor.name().to_owned()),
        action: Some("tasks.answer".to_owned()),
        ..AuditFilter::default()
    };
    let ports = visit.state.app().ports();
    let listed = ports.audit_entries(&filter, None, DECIDED_MAX).await;
    let mut decided = Vec::new();
    for entry in listed.map_err(app::Error::from)? {
        let task = visit.use_cases.task(&entry.entry.object).await.ok();
        decided.push((entry, task));
    }
    Ok(decided)
}

fn decided_card(visit: &PageVisit, decided: &[(AuditEntry, Option<TaskRow>)]) -> Markup {
    html! {
        @if !decided.is_empty() && visit.may(Permission::AnswerTasks) {
            details class="card decided" {
                summary { "What you decided last" }
                ul class="plain" {
                    @for (entry, task) in decided {
                        li class="small" {
                            (when(entry.at_ms, visit.now_ms)) " "
                            @match task {
                                Some(task) => {
                                    a href={ "/tasks/" (encoded(&entry.entry.object)) } { (line(&entry.entry.object)) } " "
                                    (task_state(task)) " "
                                    @if let Some(output) = &task.output { code dir="auto" { (value_line(output)) } }
                                },
                                None => code { (line(&entry.entry.object)) },
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The words for how many wait, for other pages.
pub(super) fn waiting_words(number: usize) -> String {
    count(number, "task waits for a person", "tasks wait for a person")
}
