//! Tasks: a list and a board with filters, saved views and acts on many; and a new task without a diagram.

use std::collections::HashMap;

use app::{AddTaskRequest, Permission};
use flow::engine::{RunRow, TaskRow, TaskStatus};
use flow::{RunId, TaskId};
use maud::{Markup, html};
use store::{TaskCursor, TaskDetails, TaskFilter, TaskUrgency, UserFilter, ViewedList};

use super::form::FormData;
use super::frame::{NavPage, page};
use super::parts::{count, empty, line, read_day, short_id, state, task_state, value_line, when};
use super::people::invalid;
use super::runs::query_with;
use super::views;
use super::visit::{PageResult, PageVisit};
use crate::api::encoded;
use crate::problem::ApiProblem;

/// How many tasks are listed.
const LISTED_MAX: usize = 50;
/// How far the tasks of a filter are counted for its title.
const COUNTED_MAX: usize = 1_000;
/// The parameters of the list, which a saved view keeps.
pub(super) const PARAMETERS: [&str; 4] = ["status", "assignee", "waiting", "run"];

/// The columns of the board: a title, and the statuses in it.
const COLUMNS: [(&str, &[TaskStatus]); 4] = [
    ("To do", &[TaskStatus::Pending]),
    ("Under way", &[TaskStatus::InProgress, TaskStatus::Waiting]),
    ("Needs a person", &[TaskStatus::OnHold, TaskStatus::Failed]),
    ("Done", &[TaskStatus::Completed]),
];
/// How many cards a column has.
const CARDS_MAX: usize = 25;

/// The names that tasks are shown with.
struct TaskNames {
    runs: HashMap<RunId, RunRow>,
    steps: HashMap<TaskId, String>,
    details: HashMap<TaskId, TaskDetails>,
}

impl TaskNames {
    /// Reads the names of tasks in as many queries for many as for one.
    async fn of(visit: &PageVisit, tasks: &[TaskRow]) -> Result<TaskNames, ApiProblem> {
        let ports = visit.state.app().ports();
        let ids: Vec<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
        let mut runs: Vec<RunId> = ids.iter().map(|id| id.run.clone()).collect();
        runs.sort();
        runs.dedup();
        let runs = ports.runs_of(&runs).await.map_err(app::Error::from)?;
        let details = ports.details_of(&ids).await.map_err(app::Error::from)?;
        let runs: HashMap<RunId, RunRow> =
            runs.into_iter().map(|run| (run.id.clone(), run)).collect();
        let mut steps = HashMap::new();
        let mut texts = HashMap::new();
        for id in ids {
            let Some(run) = runs.get(&id.run) else {
                continue;
            };
            if !texts.contains_key(&run.workflow) {
                let read = visit.use_cases.workflow(run).await?;
                texts.insert(run.workflow.clone(), read);
            }
            let step = texts
                .get(&run.workflow)
                .and_then(|text| text.step(&id.step));
            if let Some(step) = step {
                steps.insert(id, step.name.clone());
            }
        }
        let details = details
            .into_iter()
            .map(|details| (details.task.clone(), details));
        Ok(TaskNames {
            runs,
            steps,
            details: details.collect(),
        })
    }

    fn title<'t>(&'t self, task: &'t TaskRow) -> &'t str {
        let given = self
            .details
            .get(&task.id)
            .map(|details| details.title.as_str());
        let given = given.filter(|title| !title.is_empty());
        let step = self.steps.get(&task.id).map(String::as_str);
        given.or(step).unwrap_or(task.id.step.as_str())
    }

    fn run(&self, task: &TaskRow) -> &str {
        let run = self.runs.get(&task.id.run);
        run.and_then(|run| run.name.as_deref()).unwrap_or("a run")
    }

    /// The row of a task: its name, its run, how far it is, who has it.
    fn row(&self, task: &TaskRow, class: &str, now_ms: u64) -> Markup {
        let details = self.details.get(&task.id);
        let urgency = details.map_or(TaskUrgency::Normal, |details| details.urgency);
        html! {
            a class=(class) href={ "/tasks/" (encoded(&task.id.to_string())) } {
                strong dir="auto" {
                    (line(self.title(task)))
                    @if let Some(item) = task.id.path.last() { " " span class="muted small" { "item " (item.index + 1) } }
                }
                span {
                    @if matches!(urgency, TaskUrgency::High | TaskUrgency::Critical) { (state("bad", urgency.as_str())) " " }
                    (task_state(task))
                }
                span class="small muted" dir="auto" {
                    (line(self.run(task))) " " span class="mono" { (short_id(task.id.run.as_str())) } " · "
                    (line(task.assignee.as_deref().unwrap_or("unassigned")))
                    @if let Some(output) = &task.output { " · " (value_line(output)) }
                    @if let Some(due) = details.and_then(|details| details.due_ms) { " · due " (when(due, now_ms)) }
                }
                span class="small muted" { (when(task.created_ms, now_ms)) }
            }
        }
    }
}

/// The open tasks as columns, and those that ended last.
async fn board(visit: &PageVisit) -> PageResult {
    let mut columns = Vec::new();
    for (title, statuses) in COLUMNS {
        let mut cards = Vec::new();
        for status in statuses {
            let filter = TaskFilter {
                status: Some(*status),
                has_ended: status.is_terminal(),
                assignee: visit.query.text("assignee").map(str::to_owned),
                ..TaskFilter::default()
            };
            cards.extend(visit.use_cases.list_tasks(&filter, CARDS_MAX).await?);
        }
        cards.truncate(CARDS_MAX);
        let names = TaskNames::of(visit, &cards).await?;
        columns.push((title, cards, names));
    }
    let open: usize = columns
        .iter()
        .take(3)
        .map(|(_, cards, _)| cards.len())
        .sum();
    let title = count(open, "task is on the board", "tasks are on the board");
    let body = html! {
        div class="head" { div { h1 { (title) } } }
        div class="chips" { a class="chip" href="/tasks" { "as a list" } a class="chip" href="/tasks?as=board" aria-current="true" { "as a board" } }
        div class="board" data-live="board" data-keys="list" tabindex="0" role="group" aria-label="Columns" {
            @for (title, cards, names) in &columns {
                section aria-label=(title) {
                    h2 { (title) " " span class="muted num" { (cards.len()) @if cards.len() >= CARDS_MAX { "+" } } }
                    @for task in cards { (names.row(task, "row card", visit.now_ms)) }
                }
            }
        }
    };
    Ok(page(visit, NavPage::Tasks, &title, &body).await)
}

/// Reads the filter of an address or of a saved view; `me` is the person.
pub(super) fn filter(query: &FormData, person: &str) -> TaskFilter {
    let status = status(query);
    let assignee = query.text("assignee").map(|name| match name {
        "me" => person.to_owned(),
        name => name.to_owned(),
    });
    TaskFilter {
        run: query.text("run").map(RunId::new),
        has_ended: status.is_some_and(TaskStatus::is_terminal),
        status,
        is_waiting: query.get("waiting").is_some(),
        assignee,
        is_anybodys: false,
    }
}

fn status(query: &FormData) -> Option<TaskStatus> {
    let word = query.text("status")?;
    TaskStatus::ALL.into_iter().find(|one| one.name() == word)
}

pub(super) async fn list(visit: PageVisit) -> PageResult {
    if visit.query.get("as") == Some("board") {
        return board(&visit).await;
    }
    let wanted = filter(&visit.query, &visit.use_cases.person());
    let after: Option<TaskCursor> = visit.query.text("after").and_then(|text| text.parse().ok());
    let entries = visit
        .use_cases
        .tasks_after(&wanted, after.as_ref(), LISTED_MAX + 1)
        .await?;
    let next = entries
        .get(LISTED_MAX.saturating_sub(1))
        .filter(|_| entries.len() > LISTED_MAX)
        .map(|entry| entry.cursor.to_string());
    let rows: Vec<TaskRow> = entries
        .into_iter()
        .take(LISTED_MAX)
        .map(|entry| entry.task)
        .collect();
    let names = TaskNames::of(&visit, &rows).await?;
    let all = visit
        .use_cases
        .count_tasks(&wanted, COUNTED_MAX + 1)
        .await?;
    let title = title(all, wanted.status);
    let views = views::bar(&visit, ViewedList::Tasks, &PARAMETERS).await?;
    let people = people(&visit).await?;
    let body = html! {
        div class="head" {
            div { h1 { (title) } p class="muted" { "Everything that people, agents and workers do in runs." } }
            @if visit.may(Permission::ManageTasks) { div class="actions" { (add_form(&people)) } }
        }
        (views)
        (filters(&visit))
        @if rows.is_empty() {
            (empty("Nothing to list", &html! { p { "Tasks come from runs of workflows, and from people. " a href="/workflows" { "Start a run" } "." } }))
        } @else {
            (picking(&visit, &rows, &names))
            @if let Some(next) = next { p class="more" { a class="btn" rel="next" href={ "/tasks?" (query_with(&visit.query, &PARAMETERS, ("after", &next))) } { "More tasks" } } }
        }
        datalist id="people" { @for name in &people { option value=(name) {} } }
    };
    Ok(page(&visit, NavPage::Tasks, &title, &body).await)
}

/// The names that a task can be given to.
pub(super) async fn people(visit: &PageVisit) -> Result<Vec<String>, ApiProblem> {
    let users = visit.use_cases.users(UserFilter::Everybody).await?;
    let active = users.iter().filter(|user| user.is_active);
    Ok(active.map(|user| user.slug.as_str().to_owned()).collect())
}

fn title(all: usize, status: Option<TaskStatus>) -> String {
    match (all, status) {
        (0, _) => "No tasks here".to_owned(),
        (number, _) if number > COUNTED_MAX => format!("More than {COUNTED_MAX} tasks"),
        (number, Some(status)) => count(
            number,
            &format!("task is {}", words(status)),
            &format!("tasks are {}", words(status)),
        ),
        (number, None) => count(number, "task is open", "tasks are open"),
    }
}

fn filters(visit: &PageVisit) -> Markup {
    let query = &visit.query;
    let status = status(query);
    let with = |name: &str, value: &str| {
        format!("/tasks?{}", query_with(query, &PARAMETERS, (name, value)))
    };
    let is_mine = query.text("assignee") == Some("me");
    let is_waiting = query.get("waiting").is_some();
    html! {
        div class="chips" {
            a class="chip" href=(with("status", "")) aria-current=[status.is_none().then_some("true")] { "open" }
            @for one in TaskStatus::ALL {
                a class="chip" href=(with("status", one.name())) aria-current=[(status == Some(one)).then_some("true")] { (words(one)) }
            }
            span class="chip-gap" {}
            a class="chip" href=(with("waiting", if is_waiting { "" } else { "1" })) aria-current=[is_waiting.then_some("true")] { "for people" }
            a class="chip" href=(with("assignee", if is_mine { "" } else { "me" })) aria-current=[is_mine.then_some("true")] { "mine" }
            @if let Some(name) = query.text("assignee").filter(|_| !is_mine) { a class="chip" href=(with("assignee", "")) aria-current="true" { "of " (line(name)) " ✕" } }
            @if query.text("run").is_some() { a class="chip" href=(with("run", "")) aria-current="true" { "of one run ✕" } }
            span class="chip-gap" {}
            a class="chip" href="/tasks?as=board" { "as a board" }
        }
    }
}

/// The rows with ticks, and what can be done to those that are ticked.
fn picking(visit: &PageVisit, rows: &[TaskRow], names: &TaskNames) -> Markup {
    let may_act = visit.may(Permission::ManageTasks);
    html! {
        form method="get" action="/tasks/bulk" {
            div class="list" data-live="list" data-keys="list" {
                @for task in rows {
                    @if may_act {
                        div class="pick" {
                            input type="checkbox" name="task" value=(task.id) aria-label={ "Tick " (line(names.title(task))) " of " (task.id.run.as_str()) };
                            (names.row(task, "row", visit.now_ms))
                        }
                    } @else { (names.row(task, "row", visit.now_ms)) }
                }
            }
            @if may_act {
                div class="actions bulk" {
                    span class="hint" { "Those that are ticked:" }
                    input name="assignee" list="people" aria-label="Assignee" placeholder="a person or an agent" size="18";
                    button name="act" value="assign" { "Assign…" }
                    button name="act" value="retry" { "Try again…" }
                }
            }
        }
    }
}

fn add_form(people: &[String]) -> Markup {
    html! {
        details class="pop" {
            summary class="btn primary" { "Add a task" }
            form class="menu" method="post" action="/tasks/new" {
                div class="field" { label for="title" { "What is to be done, in a line" } input id="title" name="title" required maxlength=(store::TASK_TITLE_CHARS_MAX); }
                div class="field" { label for="summary" { "More about it (optional)" } textarea id="summary" name="summary" rows="2" dir="auto" {} }
                div class="pair" {
                    div class="field" { label for="assignee" { "Who does it (optional)" } input id="assignee" name="assignee" list="people"; }
                    div class="field" { label for="urgency" { "Urgency" } (urgencies(TaskUrgency::Normal)) }
                    div class="field" { label for="due" { "Until (optional)" } input id="due" name="due" type="date"; }
                }
                button { "Add it" }
                @if people.is_empty() { p class="hint" { "Left open, everyone can do it." } } @else { p class="hint" { "An agent does it by itself; left open, everyone can do it." } }
            }
        }
    }
}

/// A choice of urgencies.
pub(super) fn urgencies(current: TaskUrgency) -> Markup {
    html! {
        select id="urgency" name="urgency" {
            @for one in TaskUrgency::ALL { option value=(one.as_str()) selected[one == current] { (one.as_str()) } }
        }
    }
}

/// Adds a task without a diagram.
pub(super) async fn add(visit: PageVisit) -> PageResult {
    let form = &visit.form;
    let urgency = form.text("urgency").unwrap_or("normal");
    let wish = AddTaskRequest {
        title: form.required("title")?.to_owned(),
        summary: form.text("summary").unwrap_or_default().to_owned(),
        assignee: form.text("assignee").map(str::to_owned),
        urgency: urgency.parse().map_err(invalid)?,
        due_ms: form.text("due").map(read_day).transpose()?,
        parent: form.text("parent").map(str::to_owned),
        ..AddTaskRequest::default()
    };
    let added = visit.use_cases.add_task(wish).await?;
    let id = added.task.to_string();
    let to = format!("/tasks/{}", encoded(&id));
    visit.done(("tasks.add", &id), &to, "created").await
}

/// The words of a status.
pub(super) fn words(status: TaskStatus) -> String {
    status.name().replace('_', " ")
}
