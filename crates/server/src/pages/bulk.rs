//! Acts on many runs or tasks: a page that counts them and lists them, and the act itself.

use app::{BULK_RUNS_MAX, BulkAct, BulkReport, BulkRequest, Permission};
use flow::RunId;
use flow::engine::{EngineCommand, RunRow, TaskRow};
use maud::html;

use super::frame::{NavPage, page};
use super::parts::{count, line, task_state};
use super::runs::{PARAMETERS, filter, query_with, row, runs_words};
use super::visit::{PageResult, PageVisit};
use crate::api::encoded;
use crate::problem::{ApiProblem, ProblemCode};

/// How many runs or tasks a preview lists.
const LISTED_MAX: usize = 30;

/// The runs that an act is for.
enum RunChoice {
    /// Those that were ticked.
    Ticked(Vec<RunId>),
    /// All of the filter, as many as were counted.
    All(usize),
}

fn act_of(word: &str) -> Result<(BulkAct, &'static str), ApiProblem> {
    Ok(match word {
        "cancel" => (BulkAct::Cancel, "Cancel"),
        "pause" => (BulkAct::Pause, "Pause"),
        "resume" => (BulkAct::Resume, "Go on with"),
        "delete" => (BulkAct::Delete, "Delete"),
        other => {
            let message = format!("`{other}` is nothing that can be done to runs");
            return Err(ApiProblem::new(ProblemCode::BadRequest, message));
        }
    })
}

/// Shows which runs an act would change.
pub(super) async fn preview_runs(visit: PageVisit) -> PageResult {
    let word = visit.query.required("act")?.to_owned();
    let (act, verb) = act_of(&word)?;
    let wanted = filter(&visit.query, visit.now_ms);
    let ticked = ids(&visit.query.0, "run");
    let is_all = visit.query.get("which") == Some("all");
    let (choice, rows) = match is_all {
        true => {
            let number = visit.use_cases.count_runs(&wanted, BULK_RUNS_MAX + 1);
            let rows = visit.use_cases.runs(&wanted, LISTED_MAX).await?;
            (RunChoice::All(number.await?), rows)
        }
        false => {
            let ids: Vec<RunId> = ticked.iter().map(|id| RunId::new(id.as_str())).collect();
            let mut rows = Vec::new();
            for id in ids.iter().take(LISTED_MAX) {
                rows.extend(visit.use_cases.run(id).await?);
            }
            (RunChoice::Ticked(ids), rows)
        }
    };
    let number = match &choice {
        RunChoice::All(number) => *number,
        RunChoice::Ticked(ids) => ids.len(),
    };
    let title = match number {
        0 => "No run is ticked".to_owned(),
        number if number > BULK_RUNS_MAX => {
            format!("More than {BULK_RUNS_MAX} runs fit: narrow the filter")
        }
        number => format!("{verb} {}?", runs_words(number)),
    };
    let back = format!("/runs?{}", query_with(&visit.query, &PARAMETERS, ("", "")));
    let body = html! {
        div class="head" { div {
            p class="small muted" { a href=(back) { "Runs" } }
            h1 { (title) }
            p class="muted" { (about(act, &rows, number)) }
        } }
        @if (1..=BULK_RUNS_MAX).contains(&number) {
            form method="post" action="/runs/bulk" class="actions" {
                @for name in PARAMETERS { @if let Some(value) = visit.query.text(name) { input type="hidden" name=(name) value=(value); } }
                @match &choice {
                    RunChoice::All(number) => { input type="hidden" name="count" value=(number); },
                    RunChoice::Ticked(ids) => { @for id in ids { input type="hidden" name="run" value=(id); } },
                }
                button class="primary" name="act" value=(word) { (verb) " " (runs_words(number)) }
                a class="btn" href=(back) { "Leave them as they are" }
            }
        } @else { p { a class="btn" href=(back) { "Back to the list" } } }
        @if !rows.is_empty() {
            div class="list more" data-keys="list" { @for run in &rows { (row(run, visit.now_ms)) } }
            @if number > rows.len() { p class="hint" { "The first " (rows.len()) " of " (number) "." } }
        }
    };
    Ok(page(&visit, NavPage::Runs, &title, &body).await)
}

fn about(act: BulkAct, rows: &[RunRow], number: usize) -> String {
    let fits = |run: &&RunRow| match act {
        BulkAct::Delete => run.status.is_terminal(),
        BulkAct::Cancel | BulkAct::Pause | BulkAct::Resume => !run.status.is_terminal(),
    };
    let unfit = rows.len() - rows.iter().filter(fits).count();
    let why = match act {
        BulkAct::Delete => "has not ended and stays",
        _ => "has ended and stays as it is",
    };
    match unfit {
        0 => format!("The server has counted {}.", runs_words(number)),
        unfit => format!(
            "The server has counted {}; of those below, {unfit} {why}.",
            runs_words(number)
        ),
    }
}

/// Does it. Where the filter has more or fewer runs than were seen, nothing is done.
pub(super) async fn act_on_runs(visit: PageVisit) -> PageResult {
    let word = visit.form.required("act")?.to_owned();
    let (act, _) = act_of(&word)?;
    let reason = format!("{} did it to many runs.", visit.use_cases.person());
    let ticked = ids(&visit.form.0, "run");
    let report = match visit.form.text("count") {
        Some(number) => {
            let count = number.parse().map_err(|_| {
                ApiProblem::new(ProblemCode::Invalid, format!("`{number}` is no number"))
            })?;
            let request = BulkRequest {
                act,
                filter: filter(&visit.form, visit.now_ms),
                count,
                reason,
            };
            visit.use_cases.act_on_runs(&request).await?
        }
        None => {
            let ids: Vec<RunId> = ticked.iter().map(|id| RunId::new(id.as_str())).collect();
            visit
                .use_cases
                .act_on_named_runs(act, &ids, &reason)
                .await?
        }
    };
    let BulkReport { done, failed } = report;
    let query = query_with(&visit.form, &PARAMETERS, ("", ""));
    let to = format!("/runs?{query}&n={}&missed={}", done.len(), failed.len());
    let object = runs_words(done.len());
    visit
        .done((&format!("runs.{word}"), &object), &to, "runs-changed")
        .await
}

/// The values of a field that is there several times.
fn ids(fields: &[(String, String)], name: &str) -> Vec<String> {
    let found = fields.iter().filter(|(key, _)| key == name);
    found.map(|(_, value)| value.clone()).collect()
}

/// Shows which tasks an act would change.
pub(super) async fn preview_tasks(visit: PageVisit) -> PageResult {
    let act = visit.query.required("act")?.to_owned();
    let assignee = visit.query.text("assignee").unwrap_or_default().to_owned();
    let ticked = ids(&visit.query.0, "task");
    let mut rows: Vec<TaskRow> = Vec::new();
    for id in ticked.iter().take(LISTED_MAX) {
        rows.extend(visit.use_cases.task(id).await.ok());
    }
    let words = count(ticked.len(), "task", "tasks");
    let title = match (ticked.len(), act.as_str(), assignee.as_str()) {
        (0, ..) => "No task is ticked".to_owned(),
        (_, "retry", _) => format!("Try {words} again?"),
        (_, _, "") => format!("Take {words} from their assignees?"),
        (_, _, name) => format!("Give {words} to {name}?"),
    };
    let body = html! {
        div class="head" { div { p class="small muted" { a href="/tasks" { "Tasks" } } h1 { (title) }
            @if act == "retry" { p class="muted" { "Only tasks on hold are tried again." } } } }
        @if !ticked.is_empty() {
            form method="post" action="/tasks/bulk" class="actions" {
                @for id in &ticked { input type="hidden" name="task" value=(id); }
                input type="hidden" name="assignee" value=(assignee);
                button class="primary" name="act" value=(act) { "Do it" }
                a class="btn" href="/tasks" { "Leave them as they are" }
            }
        } @else { p { a class="btn" href="/tasks" { "Back to the list" } } }
        @if !rows.is_empty() {
            div class="list more" data-keys="list" {
                @for task in &rows {
                    a class="row" href={ "/tasks/" (encoded(&task.id.to_string())) } { strong class="mono" { (line(&task.id.to_string())) } (task_state(task)) }
                }
            }
        }
    };
    Ok(page(&visit, NavPage::Tasks, &title, &body).await)
}

/// Does it. Tasks that it is not possible for are counted and passed over.
pub(super) async fn act_on_tasks(visit: PageVisit) -> PageResult {
    visit.use_cases.permit(Permission::ManageTasks)?;
    let act = visit.form.required("act")?;
    let assignee = visit.form.text("assignee").map(str::to_owned);
    let (mut done, mut missed) = (0, 0);
    for id in ids(&visit.form.0, "task") {
        let task = visit.use_cases.task(&id).await?.id;
        let command = match act {
            "retry" => EngineCommand::Retry { task, with: None },
            "assign" => EngineCommand::Assign {
                task,
                assignee: assignee.clone(),
            },
            other => {
                let message = format!("`{other}` is nothing that can be done to tasks");
                return Err(ApiProblem::new(ProblemCode::BadRequest, message).into());
            }
        };
        match visit.use_cases.execute(command).await {
            Ok(()) => done += 1,
            Err(_) => missed += 1,
        }
    }
    let to = format!("/tasks?n={done}&missed={missed}");
    let action = format!("tasks.{act}");
    let object = count(done, "task", "tasks");
    visit.done((&action, &object), &to, "tasks-changed").await
}
