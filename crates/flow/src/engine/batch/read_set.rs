//! The read set of a command: the rows it will need, so that a store reads them for many commands
//! in one query.

use std::collections::{BTreeMap, HashSet};

use super::{RowCache, RowLookup};
use crate::config::StepType;
use crate::engine::EngineCommand;
use crate::engine::rows::StepAddress;
use crate::id::{ItemPath, StepId, TaskId, group_of};
use crate::workflow::{Workflow, WorkflowStep};

/// Limits how many steps behind a claimed task are considered.
const WAYS_MAX: usize = 64;

/// Reads the items for this many turns ahead, if the turns stay as large as this one.
const TURNS_AHEAD: u32 = 4;

/// Returns the rows that a command will need, as far as they can be told before it is decided. They
/// are a forecast: a missing one costs a query later, a superfluous one costs nothing but its
/// transfer.
#[must_use]
pub fn likely(workflow: &Workflow, command: &EngineCommand) -> Vec<RowLookup> {
    let mut lookups = vec![RowLookup::Run(command.run().clone())];
    let (EngineCommand::Claim { task, .. }
    | EngineCommand::Heartbeat { task, .. }
    | EngineCommand::Report { task, .. }
    | EngineCommand::LeaseLost { task, .. }
    | EngineCommand::Answer { task, .. }) = command
    else {
        return lookups;
    };
    lookups.push(RowLookup::Task(task.clone()));
    if matches!(
        command,
        EngineCommand::Claim { .. } | EngineCommand::Heartbeat { .. }
    ) {
        match (group_of(&task.run, &task.path), command) {
            (Some((group, index)), _) => lookups.push(RowLookup::Item(group, index)),
            (None, EngineCommand::Claim { .. }) => lookups.extend(ways_on(workflow, task)),
            (None, _) => {}
        }
        return lookups;
    }
    for depth in (1..=task.path.items().len()).rev() {
        if let Some((group, index)) = group_of(&task.run, &task.path.outer(depth)) {
            lookups.push(RowLookup::Group(group.clone()));
            lookups.push(RowLookup::Task(group.clone()));
            lookups.push(RowLookup::Item(group, index));
        }
    }
    for step in followers(workflow, &task.step) {
        let scope = step.scope.len().max(task.path.items().len());
        if step.scope.len() == scope {
            lookups.push(RowLookup::Visits(StepAddress {
                run: task.run.clone(),
                path: task.path.clone(),
                step: step.id.clone(),
            }));
        }
    }
    lookups
}

/// Returns the visit counts of all steps that a task can lead to outside of every foreach. The
/// worker that claims the task will report it and continue there, without another query.
fn ways_on(workflow: &Workflow, task: &TaskId) -> Vec<RowLookup> {
    let mut seen = HashSet::new();
    let mut open = vec![&task.step];
    while let Some(step) = open.pop() {
        if seen.len() >= WAYS_MAX {
            break;
        }
        if seen.insert(step) {
            open.extend(workflow.outgoing(step).map(|edge| &edge.to));
        }
    }
    let steps = seen.into_iter().filter_map(|step| workflow.step(step));
    let steps = steps.filter(|step| step.scope.is_empty() && step.step_type != StepType::Decision);
    let places = steps.map(|step| StepAddress {
        run: task.run.clone(),
        path: ItemPath::default(),
        step: step.id.clone(),
    });
    places.map(RowLookup::Visits).collect()
}

/// Returns the steps behind a step, looking through decisions.
fn followers<'w>(workflow: &'w Workflow, from: &StepId) -> Vec<&'w WorkflowStep> {
    let mut found = Vec::new();
    let mut open = vec![from.clone()];
    let mut seen = HashSet::new();
    while let Some(step) = open.pop() {
        for edge in workflow.outgoing(&step) {
            match workflow.step(&edge.to) {
                Some(next) if next.step_type != StepType::Decision => found.push(next),
                Some(next) if seen.insert(next.id.clone()) => open.push(next.id.clone()),
                _ => {}
            }
        }
    }
    found
}

/// Counts the reports about items of each foreach.
#[must_use]
pub fn endings(commands: &[&EngineCommand]) -> BTreeMap<TaskId, u32> {
    let mut endings: BTreeMap<TaskId, u32> = BTreeMap::new();
    for command in commands {
        if let EngineCommand::Report { task, .. } = command
            && let Some((group, _)) = group_of(&task.run, &task.path)
        {
            *endings.entry(group).or_default() += 1;
        }
    }
    endings
}

impl RowCache {
    /// Returns the second half of the read set of reports about items, once the first half
    /// ([`likely`]) is known: each item that ends lets another one begin.
    #[must_use]
    pub fn ahead(&self, workflow: &Workflow, commands: &[&EngineCommand]) -> Vec<RowLookup> {
        let mut lookups = Vec::new();
        for (group, count) in endings(commands) {
            let (Some(Some(row)), Some(step)) =
                (self.groups.get(&group), workflow.step(&group.step))
            else {
                continue;
            };
            let first = match step.has_work() {
                true => vec![step],
                false => followers(workflow, &step.id),
            };
            let until = |count: u32| row.total.min(row.next.saturating_add(count));
            let is_known = |index| self.knows(&RowLookup::Item(group.clone(), index));
            if row.pristine && (row.next..until(count)).all(is_known) {
                continue;
            }
            for index in row.next..until(count.saturating_mul(TURNS_AHEAD)) {
                lookups.push(RowLookup::Item(group.clone(), index));
                if row.pristine {
                    continue;
                }
                let places = first.iter().map(|step| StepAddress {
                    run: group.run.clone(),
                    path: group.path.item(&group, index),
                    step: step.id.clone(),
                });
                lookups.extend(places.map(RowLookup::Visits));
            }
        }
        lookups
    }
}
