//! Two runs side by side: which way each went, what each step gave, how long it took and what it cost.

use std::collections::BTreeMap;

use flow::engine::{EventKind, RunRow, TaskRow};
use maud::{Markup, html};
use store::TaskFilter;

use super::frame::{NavPage, page};
use super::parts::{
    count, line, run_state, short_id, span, spent, state, task_state, value_line, when,
};
use super::visit::{PageResult, PageVisit};
use crate::api::encoded;
use crate::problem::ApiProblem;

/// How many tasks of each run are compared.
const TASKS_MAX: usize = 500;
/// How many events of each run are read for its decisions.
const EVENTS_MAX: usize = 2_000;

/// One side of a comparison.
struct ComparedRun {
    run: RunRow,
    /// The last task of each step, and the way that each decision took.
    tasks: BTreeMap<String, TaskRow>,
    ways: BTreeMap<String, String>,
    names: Vec<(String, String)>,
}

impl ComparedRun {
    async fn of(visit: &PageVisit, id: &str) -> Result<ComparedRun, ApiProblem> {
        let use_cases = &visit.use_cases;
        let run = use_cases.find(id).await?;
        let filter = TaskFilter {
            run: Some(run.id.clone()),
            has_ended: true,
            ..TaskFilter::default()
        };
        let tasks = use_cases.list_tasks(&filter, TASKS_MAX).await?;
        let after = run.seq.saturating_sub(EVENTS_MAX as u64);
        let events = use_cases.events_after(&run.id, after, EVENTS_MAX).await?;
        let workflow = use_cases.workflow(&run).await?;
        let ways = events.into_iter().filter_map(|event| match event.what {
            EventKind::Decided { decision, to, .. } => {
                Some((decision.as_str().to_owned(), to.as_str().to_owned()))
            }
            _ => None,
        });
        let steps = workflow.steps().iter();
        Ok(ComparedRun {
            tasks: tasks
                .into_iter()
                .map(|task| (task.id.step.as_str().to_owned(), task))
                .collect(),
            ways: ways.collect(),
            names: steps
                .map(|step| (step.id.as_str().to_owned(), step.name.clone()))
                .collect(),
            run,
        })
    }

    /// Returns the parts of a step that are compared.
    fn about(&self, step: &str) -> (Option<String>, Option<String>) {
        let task = self.tasks.get(step);
        let gave = task.map(|task| {
            format!(
                "{} {}",
                task.status.name(),
                task.output
                    .as_ref()
                    .map(ToString::to_string)
                    .unwrap_or_default()
            )
        });
        (gave, self.ways.get(step).cloned())
    }

    fn cell(&self, step: &str) -> Markup {
        html! {
            @if let Some(task) = self.tasks.get(step) {
                (task_state(task)) " "
                @if let Some(ended) = task.ended_ms { span class="small muted num" { (span(ended.saturating_sub(task.created_ms))) " " } }
                @if let Some(words) = spent(task.spent) { span class="small muted num" { (words) " " } }
                @if let Some(output) = &task.output { br; code dir="auto" { (value_line(output)) } }
            }
            @if let Some(way) = self.ways.get(step) { "went to " strong { (way) } }
            @if !self.tasks.contains_key(step) && !self.ways.contains_key(step) { span class="muted" { "was not reached" } }
        }
    }

    fn head(&self, now_ms: u64) -> Markup {
        html! {
            a href={ "/runs/" (encoded(self.run.id.as_str())) } { (line(self.run.name.as_deref().unwrap_or("a run"))) " " code { (short_id(self.run.id.as_str())) } }
            br; (run_state(self.run.status)) " " span class="small muted" { (when(self.run.created_ms, now_ms)) @if let Some(words) = spent(self.run.spent) { " · " (words) } }
        }
    }
}

/// Shows two runs beside each other.
pub(super) async fn show(visit: PageVisit) -> PageResult {
    let one = ComparedRun::of(&visit, visit.path("run")).await?;
    let other = ComparedRun::of(&visit, visit.path("other")).await?;
    let mut steps = one.names.clone();
    steps.extend(
        other
            .names
            .iter()
            .filter(|(id, _)| !one.names.iter().any(|(known, _)| known == id))
            .cloned(),
    );
    let differs = |id: &str| one.about(id) != other.about(id);
    let number = steps.iter().filter(|(id, _)| differs(id)).count();
    let title = match number {
        0 => "Both runs went the same way".to_owned(),
        number => format!("The runs differ in {}", count(number, "step", "steps")),
    };
    let body = html! {
        div class="head" { div { p class="small muted" { a href="/runs" { "Runs" } } h1 { (title) } } }
        div class="scroll" { table class="table compare" {
            thead { tr { th scope="col" { "Step" } th scope="col" { (one.head(visit.now_ms)) } th scope="col" { (other.head(visit.now_ms)) } } }
            tbody { @for (id, name) in &steps { tr class=[differs(id).then_some("differs")] {
                th scope="row" { (line(name)) " " code { (id) } @if differs(id) { br; (state("hold", "differs")) } @else { br; (state("ok", "same")) } }
                td { (one.cell(id)) }
                td { (other.cell(id)) }
            } } }
        } }
    };
    Ok(page(&visit, NavPage::Runs, &title, &body).await)
}
