//! One run: the picture coloured by state, the steps in order, why each way was taken, what to do next.

use std::collections::{BTreeMap, HashMap};

use app::{Permission, StepView};
use flow::engine::{
    EvaluatedCondition, EventKind, RunEvent, RunRow, RunStatus, TaskRow, TaskStatus,
};
use flow::{EdgeCondition, StepId, TaskId, Workflow};
use maud::{Markup, html};
use serde_json::Value;
use store::{RunCursor, RunFilter, TaskFilter};

use super::form::shown;
use super::frame::{NavPage, page};
use super::items::{self, ItemsPanel};
use super::parts::{
    id, line, run_state, span, spent, state, task_state, task_words, value, value_line,
    waits_for_person, when,
};
use super::picture::{DiagramMarks, diagram};
use super::run_acts::{acts, again};
use super::timeline;
use super::visit::{PageResult, PageVisit};
use crate::api::encoded;
use crate::problem::ApiProblem;

/// How many tasks of a run a page knows.
const TASKS_MAX: usize = 500;
/// How many of its last events.
const EVENTS_MAX: usize = 2_000;
/// How many steps the list shows.
const LISTED_MAX: usize = 120;
/// How many tasks of one step under a foreach the list shows.
const ITEMS_MAX: usize = 5;

/// Everything that is told about a run.
pub(super) struct RunStory {
    pub(super) run: RunRow,
    pub(super) input: Value,
    workflow: std::sync::Arc<Workflow>,
    pub(super) tasks: Vec<TaskRow>,
    events: Vec<RunEvent>,
    /// Every step outside of a foreach, with its newest visit.
    steps: Vec<StepView>,
    /// Tasks that wait for a person.
    pub(super) waiting: Vec<TaskRow>,
}

impl RunStory {
    async fn of(visit: &PageVisit) -> Result<RunStory, ApiProblem> {
        let use_cases = &visit.use_cases;
        let run = use_cases.find(visit.path("run")).await?;
        let filter = TaskFilter {
            run: Some(run.id.clone()),
            has_ended: true,
            ..TaskFilter::default()
        };
        let view = use_cases.run_view(&run.id).await?;
        let after = run.seq.saturating_sub(EVENTS_MAX as u64);
        let events = use_cases.events_after(&run.id, after, EVENTS_MAX).await?;
        Ok(RunStory {
            input: view.input,
            workflow: view.workflow,
            tasks: use_cases.list_tasks(&filter, TASKS_MAX).await?,
            events,
            steps: view.steps,
            waiting: view.waiting,
            run: view.run,
        })
    }

    fn name(&self) -> &str {
        self.run.name.as_deref().unwrap_or("The run")
    }

    pub(super) fn step_name(&self, step: &StepId) -> String {
        let found = self.workflow.step(step);
        found.map_or_else(|| step.as_str().to_owned(), |step| step.name.clone())
    }

    /// A sentence about the run's status.
    fn title(&self) -> String {
        let name = self.name();
        let waiting = self.waiting.first();
        match (self.run.status, waiting) {
            (RunStatus::Running | RunStatus::Paused, Some(task)) => {
                let who = task.assignee.as_deref().unwrap_or("a person");
                format!("{name} waits for {who}")
            }
            (RunStatus::Running, None) => format!("{name} is running"),
            (RunStatus::Paused, None) => format!("{name} is paused"),
            (RunStatus::Completed, _) => format!("{name} is completed"),
            (RunStatus::Failed, _) => format!("{name} has failed"),
            (RunStatus::Cancelled, _) => format!("{name} was cancelled"),
        }
    }
}

pub(super) async fn show(visit: PageVisit) -> PageResult {
    let story = RunStory::of(&visit).await?;
    let run = &story.run;
    let progress = progress(&story);
    let loops = timeline::loops(&story.tasks);
    let panels = panels(&visit, &story).await?;
    let action = format!("/runs/{}", encoded(run.id.as_str()));
    let before = earlier(&visit, run).await?;
    let title = story.title();
    let until = run.ended_ms.unwrap_or(visit.now_ms);
    let body = html! {
        div class="head" data-live="head" data-run=(run.id) {
            div {
                p class="small muted" { a href="/runs" { "Runs" } " / " a href={ "/runs?workflow=" (encoded(story.name())) } { (line(story.name())) } }
                h1 dir="auto" { (title) }
                p class="small muted" {
                    (run_state(run.status)) " · began " (when(run.created_ms, visit.now_ms)) " · "
                    @if run.ended_ms.is_some() { "took " } @else { "for " } span class="num" { (span(until.saturating_sub(run.created_ms))) }
                    @if let Some(words) = spent(run.spent) { " · " (words) }
                    " · " (id(run.id.as_str()))
                    @for tag in &run.tags { " · " (tag) }
                    @if let Some(parent) = &run.parent { " · started by " a href={ "/tasks/" (encoded(&parent.to_string())) } { (parent) } }
                }
                @if let Some(reason) = &run.reason { p class="why" dir="auto" { (reason) } }
            }
            (acts(&visit, &story))
            @if let Some(before) = &before { a class="small" href={ "/runs/" (encoded(run.id.as_str())) "/compare/" (encoded(before)) } { "Compare with the run before" } }
        }
        (super::welcome::removal(&visit, run.name.as_deref()))
        div class="split split-run" {
            div data-live="picture" { (diagram(story.workflow.document(), &progress)) }
            div {
                section class="card" data-live="steps" id="steps" { h2 { "Steps, in order" } (steps(&story)) }
                @for panel in &panels { (panel.markup(visit.may(Permission::ControlRuns), &action)) }
                @for (step, tasks) in loops.iter().filter(|_| panels.is_empty()) { (timeline::grid(&story.step_name(step), tasks)) }
                section class="card" data-live="timeline" { h2 { "Timeline" } (timeline::bars(&story.tasks, (run.created_ms, until), |step| story.step_name(step))) }
                section class="card" { h2 { "Input" } (value(&story.input)) (again(&visit, &story)) }
                (result(&story))
                (happened(&story))
            }
        }
    };
    Ok(page(&visit, NavPage::Runs, &title, &body).await)
}

/// How far each step is: the newest visit of those outside of a foreach, the tasks of the others, and the
/// counts of each foreach.
fn progress(story: &RunStory) -> DiagramMarks {
    let newest = story.steps.iter().filter_map(|step| step.newest.clone());
    let inside = story
        .tasks
        .iter()
        .filter(|task| !task.id.path.items().is_empty());
    let tasks: Vec<TaskRow> = newest.chain(inside.cloned()).collect();
    let mut progress = DiagramMarks::of(&story.workflow, &tasks, &story.events);
    for task in story.tasks.iter().chain(&tasks) {
        if let Some(from) = &task.from {
            progress.take(from.step.as_str(), task.id.step.as_str());
        }
    }
    for step in &story.steps {
        if let Some(group) = &step.group {
            progress.count(step.step.as_str(), items::counts(group));
        }
    }
    // Of a large run not all tasks are read: their counts would not be true.
    if story.tasks.len() < TASKS_MAX {
        for (step, tasks) in timeline::loops(&story.tasks) {
            progress.count(step.as_str(), timeline::counts(&tasks));
        }
    }
    progress
}

async fn panels(visit: &PageVisit, story: &RunStory) -> Result<Vec<ItemsPanel>, ApiProblem> {
    let mut panels = Vec::new();
    for step in &story.steps {
        if let Some(group) = step.group.clone() {
            panels.push(ItemsPanel::of(visit, (&step.step, &step.name), group).await?);
        }
    }
    Ok(panels)
}

/// The run of the same workflow before this one.
async fn earlier(visit: &PageVisit, run: &RunRow) -> Result<Option<String>, ApiProblem> {
    let filter = RunFilter {
        workflow: run.name.clone(),
        is_top: true,
        ..RunFilter::default()
    };
    let after = RunCursor::of(run);
    let listed = visit.use_cases.runs_after(&filter, Some(&after), 1).await?;
    Ok(listed.first().map(|before| before.id.to_string()))
}

/// One line of the story, in the order in which things happened.
enum StoryEntry<'s> {
    Task(&'s TaskRow),
    Decision {
        event: &'s RunEvent,
    },
    Summary {
        step: &'s StepId,
        counts: BTreeMap<&'static str, usize>,
    },
}

/// The tasks and decisions in order; of many tasks of one step, the first few and their counts.
fn entries(story: &RunStory) -> Vec<StoryEntry<'_>> {
    let by_id: HashMap<&TaskId, &TaskRow> =
        story.tasks.iter().map(|task| (&task.id, task)).collect();
    let mut many: HashMap<&StepId, Vec<&TaskRow>> = HashMap::new();
    for task in story
        .tasks
        .iter()
        .filter(|task| !task.id.path.items().is_empty())
    {
        many.entry(&task.id.step).or_default().push(task);
    }
    many.retain(|_, tasks| tasks.len() > ITEMS_MAX);
    let mut told: HashMap<&StepId, usize> = HashMap::new();
    let mut wrong: HashMap<&StepId, usize> = HashMap::new();
    let mut entries = Vec::new();
    for event in &story.events {
        match &event.what {
            EventKind::TaskCreated { task, .. } => {
                let Some(row) = by_id.get(task) else { continue };
                let Some(all) = many.get(&row.id.step) else {
                    entries.push(StoryEntry::Task(row));
                    continue;
                };
                let seen = told.entry(&row.id.step).or_default();
                *seen += 1;
                if *seen == 1 {
                    let mut counts = BTreeMap::new();
                    for task in all {
                        *counts.entry(task_words(task).1).or_insert(0) += 1;
                    }
                    let step = &row.id.step;
                    entries.push(StoryEntry::Summary { step, counts });
                }
                let needs_person = row.status == TaskStatus::Failed || waits_for_person(row);
                let listed = wrong.entry(&row.id.step).or_default();
                if needs_person && *listed < ITEMS_MAX {
                    *listed += 1;
                    entries.push(StoryEntry::Task(row));
                }
            }
            EventKind::Decided { .. } => entries.push(StoryEntry::Decision { event }),
            _ => {}
        }
    }
    entries
}

fn steps(story: &RunStory) -> Markup {
    let entries = entries(story);
    let skipped = entries.len().saturating_sub(LISTED_MAX);
    html! {
        @if skipped > 0 { p class="hint" { (skipped) " earlier steps are left out here; the API lists all." } }
        ol class="steps" {
            @for entry in entries.iter().skip(skipped) {
                @match entry {
                    StoryEntry::Task(task) => (task_entry(story, task)),
                    StoryEntry::Decision { event } => (decision_entry(story, event)),
                    StoryEntry::Summary { step, counts } => li data-step=(step.as_str()) {
                        strong dir="auto" { (line(&story.step_name(step))) } " "
                        span class="small muted" { @for (word, number) in counts { (number) " " (word) " " } }
                    },
                }
            }
        }
    }
}

fn task_entry(story: &RunStory, task: &TaskRow) -> Markup {
    let took = task
        .ended_ms
        .map(|ended| span(ended.saturating_sub(task.created_ms)));
    html! {
        li data-step=(task.id.step.as_str()) {
            div class="step" {
                (task_state(task))
                a dir="auto" href={ "/tasks/" (encoded(&task.id.to_string())) } { (line(&story.step_name(&task.id.step))) }
                span class="small muted num" {
                    @if let Some(item) = task.id.path.last() { "item " (item.index + 1) " · " }
                    @if task.id.visit > 1 { "visit " (task.id.visit) " · " }
                    @if let Some(took) = took { (took) }
                    @if task.attempt > 1 { " · " (task.attempt) " attempts" }
                    @if let Some(words) = spent(task.spent) { " · " (words) }
                    @if let Some(name) = &task.assignee { " · " (name) }
                }
            }
            @if let Some(hold) = &task.hold { p class="small why" dir="auto" { (line(&hold.reason)) } }
            @if let Some(failure) = task.failure.as_ref().filter(|_| task.status == TaskStatus::Failed) { p class="small why bad" dir="auto" { (failure.class.name()) ": " (line(&failure.message)) } }
            @if let Some(output) = &task.output {
                details { summary class="small muted" dir="auto" { (value_line(output)) } (value(output)) }
            }
        }
    }
}

/// A decision with every edge: its expression, what it came to and the values it read.
fn decision_entry(story: &RunStory, event: &RunEvent) -> Markup {
    let EventKind::Decided {
        decision,
        to,
        evaluated,
        ..
    } = &event.what
    else {
        return html! {};
    };
    let mut rest: Vec<&EvaluatedCondition> = evaluated.iter().collect();
    html! {
        li data-step=(decision.as_str()) {
            div class="step" {
                (state("ok", "decided"))
                strong dir="auto" { (line(&story.step_name(decision))) " → " (line(&story.step_name(to))) }
            }
            ul class="edges" {
                @for edge in story.workflow.outgoing(decision) {
                    @let condition = match &edge.when { EdgeCondition::Condition(condition) => Some(condition), _ => None };
                    @let at = rest.iter().position(|one| Some(&one.condition) == condition);
                    @let found = at.map(|at| rest.remove(at));
                    li class=[(edge.to == *to).then_some("taken")] {
                        code { (condition.map_or("default", String::as_str)) }
                        span class="muted" { " → " (line(&story.step_name(&edge.to))) }
                        @match found {
                            Some(one) => (verdict(one)),
                            None if edge.to == *to => { " " (state("ok", "taken: nothing before it was true")) },
                            None => span class="muted" { " · not asked" },
                        }
                    }
                }
            }
        }
    }
}

fn verdict(one: &EvaluatedCondition) -> Markup {
    html! {
        " "
        @if one.result { (state("ok", "true")) } @else { (state("idle", "false")) }
        @for (path, read) in &one.values { span class="small muted" { " · " code { (path) } " is " code { (line(&shown(read))) } } }
    }
}

fn result(story: &RunStory) -> Markup {
    let result = story.run.result.as_ref();
    let output = result.and_then(|id| story.tasks.iter().find(|task| task.id == *id));
    let output = output.and_then(|task| task.output.as_ref());
    html! {
        @if let Some(output) = output.filter(|_| story.run.status == RunStatus::Completed) {
            section class="card" data-live="result" { h2 { "Result" } (value(output)) }
        }
    }
}

/// Warnings and what people did, in order.
fn happened(story: &RunStory) -> Markup {
    let lines: Vec<(u64, String)> = story
        .events
        .iter()
        .filter_map(|event| {
            let words = match &event.what {
                EventKind::RunPaused { reason } => format!("paused: {reason}"),
                EventKind::RunResumed => "goes on".to_owned(),
                EventKind::RunReopened { task } => {
                    format!("runs again from {}", task.step.as_str())
                }
                EventKind::Signalled { name, .. } => format!("the signal {name} came"),
                EventKind::Warned { message, .. } => message.clone(),
                EventKind::Assigned { task, assignee } => {
                    let to = assignee.as_deref().unwrap_or("no one");
                    format!("{} is given to {to}", task.step.as_str())
                }
                _ => return None,
            };
            Some((event.at_ms.saturating_sub(story.run.created_ms), words))
        })
        .collect();
    html! {
        @if !lines.is_empty() {
            section class="card" data-live="happened" {
                h2 { "What else happened" }
                ul class="plain" { @for (at, words) in lines.iter().rev().take(30) { li class="small" dir="auto" { span class="muted num" { "+" (span(*at)) " " } (line(words)) } } }
            }
        }
    }
}
