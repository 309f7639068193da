//! A run as a page shows it, in as many queries for a large run as for a small one.

use std::collections::HashMap;
use std::sync::Arc;

use flow::engine::{
    EvaluatedCondition, EventKind, GroupRow, ItemRow, ItemStatus, RunRow, StepAddress, TaskRow,
};
use flow::{RunId, StepId, StepType, TaskId, Workflow};
use serde_json::Value;
use store::TaskFilter;

use super::UseCases;
use super::access::Permission;
use crate::Error;
use crate::people::explained;

/// Number of the newest events that are searched for decisions.
const EVENTS_MAX: u64 = 2_000;
/// How many tasks that wait for a person are listed.
const WAITING_MAX: usize = 50;
/// The most items of a foreach on one page.
pub const ITEMS_PAGE_MAX: usize = 100;
/// Number of items that are read for one page of a status.
const ITEMS_SCAN_MAX: usize = 2_000;

/// Everything about a run that fits on a page.
#[derive(Clone, Debug)]
pub struct RunView {
    pub run: RunRow,
    pub input: Value,
    /// The workflow that the run is pinned to.
    pub workflow: Arc<Workflow>,
    /// All steps of the diagram that are outside of a foreach, in its order.
    pub steps: Vec<StepView>,
    /// The newest decision of each step that decides, with the values that its conditions read.
    pub decisions: Vec<DecisionView>,
    /// Tasks that wait for a person.
    pub waiting: Vec<TaskRow>,
}

/// A step of a run.
#[derive(Clone, Debug)]
pub struct StepView {
    pub step: StepId,
    /// Its name in the diagram.
    pub name: String,
    /// The newest visit; its number says how many there were. Nothing before the first.
    pub newest: Option<TaskRow>,
    /// For a foreach: how many items there are, run, succeeded and failed.
    pub group: Option<GroupRow>,
}

/// A decision that was taken.
#[derive(Clone, Debug)]
pub struct DecisionView {
    pub at_ms: u64,
    pub decision: StepId,
    /// The step that the run went to.
    pub to: StepId,
    /// The task before it.
    pub after: Option<TaskId>,
    /// The conditions up to the one that held.
    pub evaluated: Vec<EvaluatedCondition>,
}

/// A page of items of a foreach that is wanted.
#[derive(Clone, Debug)]
pub struct ItemsRequest {
    /// The task of the foreach.
    pub foreach: TaskId,
    /// Only items of this status.
    pub status: Option<ItemStatus>,
    /// The index of the last item of the page before.
    pub after: Option<u32>,
    /// At most [`ITEMS_PAGE_MAX`].
    pub max: usize,
}

/// A page of items of a foreach.
#[derive(Clone, Debug)]
pub struct ItemsPage {
    pub items: Vec<ItemView>,
    /// The index that the next page begins behind; nothing behind the last one.
    pub next: Option<u32>,
}

/// An item of a foreach.
#[derive(Clone, Debug)]
pub struct ItemView {
    pub item: ItemRow,
    /// The newest visits of the steps inside, in the order of the diagram.
    pub steps: Vec<TaskRow>,
}

impl UseCases {
    /// Returns a run as a page shows it.
    pub async fn run_view(&self, run: &RunId) -> Result<RunView, Error> {
        let run = self.find(run.as_str()).await?;
        let workflow = self.workflow(&run).await?;
        let outside = workflow.steps().iter().filter(|step| step.scope.is_empty());
        let places = outside.map(|step| StepAddress {
            run: run.id.clone(),
            path: flow::ItemPath::default(),
            step: step.id.clone(),
        });
        let places: Vec<StepAddress> = places.collect();
        let ports = self.app().ports();
        let newest = ports.newest_visits(&places).await.map_err(explained)?;
        let mut newest: HashMap<StepId, TaskRow> = newest
            .into_iter()
            .map(|task| (task.id.step.clone(), task))
            .collect();
        let mut groups = self.groups_of(&workflow, newest.values()).await?;
        let steps = workflow.steps().iter().filter(|step| step.scope.is_empty());
        let steps = steps.map(|step| {
            let newest = newest.remove(&step.id);
            StepView {
                step: step.id.clone(),
                name: step.name.clone(),
                group: newest.as_ref().and_then(|task| groups.remove(&task.id)),
                newest,
            }
        });
        let steps = steps.collect();
        let waiting = TaskFilter {
            run: Some(run.id.clone()),
            is_waiting: true,
            ..TaskFilter::default()
        };
        Ok(RunView {
            input: self.input(&run.id).await?,
            decisions: self.decisions(&run).await?,
            waiting: self.list_tasks(&waiting, WAITING_MAX).await?,
            workflow,
            steps,
            run,
        })
    }

    /// Returns a page of items of a foreach, with the tasks inside of each.
    pub async fn run_items(&self, request: &ItemsRequest) -> Result<ItemsPage, Error> {
        self.permit(Permission::Look)?;
        let foreach = &request.foreach;
        let max = request.max.clamp(1, ITEMS_PAGE_MAX);
        let (items, next) = self.find_items(request, max).await?;
        let run = self.find(foreach.run.as_str()).await?;
        let workflow = self.workflow(&run).await?;
        let depth = foreach.path.items().len() + 1;
        let is_inside = |step: &&flow::WorkflowStep| {
            step.scope.len() == depth && step.scope.last() == Some(&foreach.step)
        };
        let inside: Vec<&StepId> = workflow
            .steps()
            .iter()
            .filter(is_inside)
            .map(|step| &step.id)
            .collect();
        let places = items.iter().flat_map(|item| {
            let path = foreach.path.item(foreach, item.index);
            let run = &run.id;
            inside.iter().map(move |step| StepAddress {
                run: run.clone(),
                path: path.clone(),
                step: (*step).clone(),
            })
        });
        let places: Vec<StepAddress> = places.collect();
        let visits = self.app().ports().newest_visits(&places).await;
        let mut visits = visits.map_err(explained)?;
        let items = items.into_iter().map(|item| {
            let path = foreach.path.item(foreach, item.index);
            let (steps, others) = visits.drain(..).partition(|task| task.id.path == path);
            visits = others;
            ItemView { item, steps }
        });
        Ok(ItemsPage {
            items: items.collect(),
            next,
        })
    }

    /// Looks for items of a status, in no more than [`ITEMS_SCAN_MAX`] of them.
    async fn find_items(
        &self,
        request: &ItemsRequest,
        max: usize,
    ) -> Result<(Vec<ItemRow>, Option<u32>), Error> {
        let ports = self.app().ports();
        let scanned_max = match request.status {
            Some(_) => ITEMS_SCAN_MAX,
            None => max,
        };
        let found = ports.items(&request.foreach, request.after, scanned_max);
        let scanned = found.await.map_err(explained)?;
        let end = scanned.last().filter(|_| scanned.len() == scanned_max);
        let end = end.map(|item| item.index);
        let fits = |item: &ItemRow| request.status.is_none_or(|status| item.status == status);
        let mut items: Vec<ItemRow> = scanned.into_iter().filter(fits).collect();
        if items.len() <= max {
            return Ok((items, end));
        }
        items.truncate(max);
        let next = items.last().map(|item| item.index);
        Ok((items, next))
    }

    async fn groups_of(
        &self,
        workflow: &Workflow,
        tasks: impl Iterator<Item = &TaskRow>,
    ) -> Result<HashMap<TaskId, GroupRow>, Error> {
        let is_foreach = |task: &&TaskRow| {
            let step = workflow.step(&task.id.step);
            step.is_some_and(|step| step.step_type == StepType::Foreach)
        };
        let ids: Vec<TaskId> = tasks
            .filter(is_foreach)
            .map(|task| task.id.clone())
            .collect();
        let groups = self.app().ports().groups(&ids).await.map_err(explained)?;
        Ok(groups
            .into_iter()
            .map(|group| (group.id.clone(), group))
            .collect())
    }

    async fn decisions(&self, run: &RunRow) -> Result<Vec<DecisionView>, Error> {
        let after = run.seq.saturating_sub(EVENTS_MAX);
        let max = usize::try_from(EVENTS_MAX).unwrap_or(usize::MAX);
        let mut decisions: Vec<DecisionView> = Vec::new();
        for event in self.events_after(&run.id, after, max).await? {
            let EventKind::Decided {
                decision,
                after,
                to,
                evaluated,
            } = event.what
            else {
                continue;
            };
            decisions.retain(|earlier| earlier.decision != decision);
            decisions.push(DecisionView {
                at_ms: event.at_ms,
                decision,
                to,
                after,
                evaluated,
            });
        }
        Ok(decisions)
    }
}
