//! Answers to tasks: the form, the other tasks that one answer counts for, and what an answer does.

use app::Permission;
use flow::TaskId;
use flow::engine::{EngineCommand, HoldKind, TaskAnswer, TaskStatus};
use maud::{Markup, html};
use serde_json::{Map, Value, json};

use super::asking::AnswerForm;
use super::form::FormData;
use super::inbox::{InboxRow, OpenQuestion, address, respond};
use super::parts::{count, line, waits_for_person, when};
use super::visit::{PageProblem, PageResult, PageVisit};
use crate::problem::{ApiProblem, ProblemCode};

/// The form, for those who may answer; the ways out below it.
pub(super) fn answer_form(visit: &PageVisit, open: &OpenQuestion, rows: &[InboxRow]) -> Markup {
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
    let behind = rows.iter().skip_while(|row| row.task.id != task.id).nth(1);
    html! {
        form method="post" action="/inbox" class="answer" {
            input type="hidden" name="task" value=(task.id);
            @if let Some(scope) = visit.query.get("for").or_else(|| visit.form.get("for")) { input type="hidden" name="for" value=(scope); }
            @if let Some(behind) = behind { input type="hidden" name="next" value=(behind.task.id); }
            (first_help(visit, open))
            (form.markup(&typed))
            (others(visit, open, rows))
            details class="ways" open[typed.text("reason").is_some()] {
                summary { "It cannot be answered like this" }
                div class="field" {
                    label for="reason" { "Reason" }
                    textarea id="reason" name="reason" rows="2" dir="auto" { (typed.get("reason").unwrap_or_default()) }
                    div class="hint" { "It is kept with the task" @if may_send_back(visit, open) { ", and a model that tries again reads it" } "." }
                }
                div class="actions" {
                    @if may_send_back(visit, open) { button name="act" value="retry" formnovalidate { "Send back with this comment" } }
                    button name="act" value="fail" formnovalidate { "It cannot be done" }
                }
            }
        }
    }
}

fn may_send_back(visit: &PageVisit, open: &OpenQuestion) -> bool {
    open.task.status == TaskStatus::OnHold && visit.may(Permission::ManageTasks)
}

/// The button that helps most where nothing has to be answered: another try, or more money.
fn first_help(visit: &PageVisit, open: &OpenQuestion) -> Markup {
    let kind = open.task.hold.as_ref().map(|hold| hold.kind);
    let spent = open.task.spent.micros as f64 / 1e6;
    html! {
        @if may_send_back(visit, open) {
            @match kind {
                Some(HoldKind::Budget) => {
                    div class="field" {
                        label for="money" { "Raise what this step may cost to, in US dollars" }
                        input id="money" name="money" class="num" type="number" min="0" step="any" value=(format!("{:.2}", (spent * 2.0).max(1.0)));
                        div class="hint" { "It has cost " (super::parts::money(open.task.spent.micros)) " so far. A limit in the settings counts as well." }
                    }
                    div class="actions" { button class="primary" name="act" value="raise" formnovalidate { "Raise it and go on" } }
                    hr;
                },
                Some(HoldKind::Failed | HoldKind::Routing | HoldKind::LoopExhausted | HoldKind::Timeout) => {
                    div class="actions" { button class="primary" name="act" value="retry" formnovalidate { "Try it again" } }
                    p class="hint" { "Or give the answer yourself:" }
                },
                _ => {},
            }
        }
    }
}

/// The other tasks of the same step: one answer can count for those that are ticked.
fn others(visit: &PageVisit, open: &OpenQuestion, rows: &[InboxRow]) -> Markup {
    let is_alike =
        |row: &&InboxRow| row.task.id != open.task.id && row.asks_like(&open.task, &open.run);
    let alike: Vec<&InboxRow> = rows.iter().filter(is_alike).collect();
    html! {
        @if !alike.is_empty() {
            details class="ways" {
                summary { "Give the same answer to " (count(alike.len(), "other task of this step", "other tasks of this step")) }
                p class="hint" { "Take the tick away from those that want an answer of their own." }
                label class="flag" { input type="checkbox" name="all" value="true"; " Answer those that are ticked, too" }
                ul class="plain" {
                    @for row in &alike { li { label class="flag" { input type="checkbox" name="also" value=(row.task.id) checked; " " (line(row.run_name())) " " code { (row.task.id) } " " span class="muted small" { (when(row.task.created_ms, visit.now_ms)) } } } }
                }
            }
        }
    }
}

/// Takes an answer and goes on to the next question. One that does not fit is shown again with what was typed.
pub(super) async fn answer(visit: PageVisit) -> PageResult {
    let id = visit.form.required("task")?.to_owned();
    let task = visit.use_cases.task(&id).await?;
    let question = OpenQuestion::of(&visit.use_cases, task).await?;
    match decide(&visit, &question).await {
        Ok(said) => {
            let (also, missed) = answer_others(&visit, &question).await?;
            let scope = visit.form.text("for").unwrap_or("mine");
            let to = address(scope, "next", visit.form.text("next"));
            if also + missed == 0 {
                return visit.done(("tasks.answer", &id), &to, said).await;
            }
            let mark = if to.contains('?') { '&' } else { '?' };
            let to = format!("{to}{mark}n={}&missed={missed}", also + 1);
            visit.done(("tasks.answer", &id), &to, "answered-all").await
        }
        Err(problem) => respond(&visit, Some(&id), Some(&problem))
            .await
            .map_err(PageProblem),
    }
}

/// Gives the same answer to the ticked tasks of the same step, and counts those that took it and those that
/// did not: they were answered meanwhile.
async fn answer_others(
    visit: &PageVisit,
    first: &OpenQuestion,
) -> Result<(usize, usize), ApiProblem> {
    let (mut done, mut missed) = (0, 0);
    if visit.form.get("all").is_none() {
        return Ok((done, missed));
    }
    let also = visit.form.0.iter().filter(|(name, _)| name == "also");
    for (_, id) in also {
        let task = visit.use_cases.task(id).await?;
        let question = OpenQuestion::of(&visit.use_cases, task).await?;
        let is_alike = question.run.workflow == first.run.workflow
            && question.task.id.step == first.task.id.step;
        if is_alike && decide(visit, &question).await.is_ok() {
            visit.note(("tasks.answer", id)).await;
            done += 1;
        } else {
            missed += 1;
        }
    }
    Ok((done, missed))
}

async fn decide(visit: &PageVisit, open: &OpenQuestion) -> Result<&'static str, ApiProblem> {
    let (task, use_cases) = (open.task.id.clone(), &visit.use_cases);
    let by = use_cases.person();
    let (command, said) = match visit.form.get("act").unwrap_or_default() {
        "retry" => {
            if let Some(reason) = visit.form.text("reason") {
                use_cases.send_back(&open.task, reason).await?;
                return Ok("retried");
            }
            (EngineCommand::Retry { task, with: None }, "retried")
        }
        "raise" => {
            let money = visit.form.required("money")?;
            let money: f64 = money.parse().map_err(|_| {
                ApiProblem::new(ProblemCode::Invalid, format!("`{money}` is no amount"))
            })?;
            let with = raised(open, money);
            (EngineCommand::Retry { task, with }, "retried")
        }
        "fail" => {
            let message = visit.form.required("reason").map(str::to_owned)?;
            let answer = TaskAnswer::Failed { message };
            (answered(task, by, answer), "failed")
        }
        "accept" => (answered(task, by, TaskAnswer::Accept), "answered"),
        _ => {
            let output = AnswerForm::of(&open.workflow, &open.task).answer(&visit.form)?;
            (answered(task, by, TaskAnswer::Done { output }), "answered")
        }
    };
    use_cases.execute(command).await?;
    Ok(said)
}

fn answered(task: TaskId, by: String, answer: TaskAnswer) -> EngineCommand {
    EngineCommand::Answer { task, by, answer }
}

/// The step's budget with another amount of money.
fn raised(open: &OpenQuestion, money: f64) -> Option<Map<String, Value>> {
    let step = open.workflow.step_of(&open.task)?;
    let tokens = step.config.budget.and_then(|budget| budget.tokens);
    let mut budget = json!({ "money": money });
    if let Some(tokens) = tokens {
        budget["tokens"] = json!(tokens.saturating_mul(2));
    }
    Some(Map::from_iter([("budget".to_owned(), budget)]))
}
