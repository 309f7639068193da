//! Moves a paused run to another text: checks whether the tasks it has done still fit.

use std::collections::BTreeMap;

use crate::config::StepType;
use crate::engine::{TaskRow, TaskStatus, WorkflowTaskKind};
use crate::id::StepId;
use crate::workflow::{EdgeCondition, Workflow, WorkflowEdge, WorkflowStep};

/// The consequences of moving a run to another text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MovePlan {
    /// Steps that only the new text has.
    pub added: Vec<StepId>,
    /// Steps that only the old text has.
    pub removed: Vec<StepId>,
    /// Steps whose settings, name or edges differ.
    pub changed: Vec<StepId>,
    /// The reasons why the run cannot continue with the new text, a sentence each.
    pub misfits: Vec<String>,
}

/// Compares two texts, and checks the tasks of a run against the new one.
#[must_use]
pub fn plan_move(from: &Workflow, to: &Workflow, tasks: &[TaskRow]) -> MovePlan {
    let ids = |workflow: &Workflow, other: &Workflow| {
        let steps = workflow.steps().iter();
        let alone = steps.filter(|step| other.step(&step.id).is_none());
        alone.map(|step| step.id.clone()).collect()
    };
    let both = from.steps().iter().filter_map(|old| {
        let new = to.step(&old.id)?;
        (!is_same(old, new) || ways(from, &old.id) != ways(to, &old.id)).then(|| old.id.clone())
    });
    let mut misfits: BTreeMap<&StepId, String> = BTreeMap::new();
    for row in tasks {
        let ends_elsewhere = || is_open(row) && is_joined_elsewhere(from, to, &row.id.step);
        let misfit = misfit(to, row).or_else(|| {
            ends_elsewhere().then(|| {
                format!(
                    "The foreach `{}` is under way and ends at another join in the new text.",
                    row.id.step
                )
            })
        });
        if let Some(misfit) = misfit {
            misfits.entry(&row.id.step).or_insert(misfit);
        }
    }
    MovePlan {
        added: ids(to, from),
        removed: ids(from, to),
        changed: both.collect(),
        misfits: misfits.into_values().collect(),
    }
}

/// Returns why a task does not fit another text. Failed and cancelled tasks always fit, because
/// nothing follows from them.
pub(crate) fn misfit(to: &Workflow, row: &TaskRow) -> Option<String> {
    if matches!(row.status, TaskStatus::Failed | TaskStatus::Cancelled) {
        return None;
    }
    let (id, is) = (&row.id.step, row.status.name());
    let Some(step) = to.step(id) else {
        return Some(format!("`{id}` is {is}, and is no step of the new text."));
    };
    if !is_of_kind(step, row) {
        let kind = step.step_type.name();
        return Some(format!(
            "`{id}` is {is} as something else than a {kind}, which it is in the new text."
        ));
    }
    if is_open(row) && row.execution != step.execution && step.has_work() {
        return Some(format!(
            "`{id}` is {is}, and is done by a person in one text and by a worker in the other."
        ));
    }
    None
}

fn is_open(row: &TaskRow) -> bool {
    !row.status.is_terminal()
}

fn is_joined_elsewhere(from: &Workflow, to: &Workflow, foreach: &StepId) -> bool {
    let join = |workflow: &Workflow| workflow.step(foreach).and_then(|step| step.join.clone());
    join(from) != join(to)
}

/// Tells whether a task of this kind, inside of these items, can be an execution of the step.
fn is_of_kind(step: &WorkflowStep, row: &TaskRow) -> bool {
    let is_item = step.step_type == StepType::Foreach && row.kind == WorkflowTaskKind::Work;
    let around = step.scope.iter().chain(is_item.then_some(&step.id));
    let items = row.id.path.items().iter().map(|item| &item.foreach);
    let fits = match row.kind {
        WorkflowTaskKind::Work => matches!(step.step_type, StepType::Task | StepType::Foreach),
        WorkflowTaskKind::Foreach => step.step_type == StepType::Foreach,
        WorkflowTaskKind::Join => {
            step.step_type == StepType::Join && step.awaits.is_some() == row.from.is_some()
        }
        WorkflowTaskKind::Subflow => step.step_type == StepType::Subflow,
        WorkflowTaskKind::Wait => step.step_type == StepType::Wait,
    };
    fits && around.eq(items)
}

fn is_same(old: &WorkflowStep, new: &WorkflowStep) -> bool {
    old.name == new.name
        && old.step_type == new.step_type
        && old.execution == new.execution
        && old.config == new.config
        && old.scope == new.scope
}

fn ways<'w>(workflow: &'w Workflow, step: &StepId) -> Vec<(&'w StepId, &'w EdgeCondition)> {
    let edges = workflow.outgoing(step);
    edges
        .map(|WorkflowEdge { to, when, .. }| (to, when))
        .collect()
}
