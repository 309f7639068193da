//! What commands are going to ask for, so that a store fetches it for many of them in one query.

use std::collections::{BTreeMap, HashSet};

use super::{Batch, Lookup};
use crate::config::StepType;
use crate::engine::Command;
use crate::engine::rows::Place;
use crate::id::{Path, StepId, TaskId, group_of};
use crate::workflow::{Step, Workflow};

/// How far ahead of a claimed task it is looked, in steps.
const WAYS_MAX: usize = 64;

/// For how many turns, if they are like this one, items are looked up.
const TURNS_AHEAD: u32 = 4;

/// What a command is going to ask for, as far as it can be told before: a store that fetches it for
/// many commands in one query saves the turns in which each asks for it.
#[must_use]
pub fn likely(workflow: &Workflow, command: &Command) -> Vec<Lookup> {
    let mut lookups = vec![Lookup::Run(command.run().clone())];
    let (Command::Claim { task, .. }
    | Command::Heartbeat { task, .. }
    | Command::Report { task, .. }
    | Command::LeaseLost { task, .. }
    | Command::Answer { task, .. }) = command
    else {
        return lookups;
    };
    lookups.push(Lookup::Task(task.clone()));
    if matches!(command, Command::Claim { .. } | Command::Heartbeat { .. }) {
        match (group_of(&task.run, &task.path), command) {
            (Some((group, index)), _) => lookups.push(Lookup::Item(group, index)),
            (None, Command::Claim { .. }) => lookups.extend(ways_on(workflow, task)),
            (None, _) => {}
        }
        return lookups;
    }
    for depth in (1..=task.path.items().len()).rev() {
        if let Some((group, index)) = group_of(&task.run, &task.path.outer(depth)) {
            lookups.push(Lookup::Group(group.clone()));
            lookups.push(Lookup::Task(group.clone()));
            lookups.push(Lookup::Item(group, index));
        }
    }
    for step in followers(workflow, &task.step) {
        let scope = step.scope.len().max(task.path.items().len());
        if step.scope.len() == scope {
            lookups.push(Lookup::Visits(Place {
                run: task.run.clone(),
                path: task.path.clone(),
                step: step.id.clone(),
            }));
        }
    }
    lookups
}

/// How often the steps were visited that a task can lead to, near or far, outside of every foreach:
/// whoever has claimed it goes on there, and need not ask again.
fn ways_on(workflow: &Workflow, task: &TaskId) -> Vec<Lookup> {
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
    let places = steps.map(|step| Place {
        run: task.run.clone(),
        path: Path::default(),
        step: step.id.clone(),
    });
    places.map(Lookup::Visits).collect()
}

/// The steps after one, decisions looked through.
fn followers<'w>(workflow: &'w Workflow, from: &StepId) -> Vec<&'w Step> {
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

/// How many words there are about items of each foreach.
#[must_use]
pub fn endings(commands: &[&Command]) -> BTreeMap<TaskId, u32> {
    let mut endings: BTreeMap<TaskId, u32> = BTreeMap::new();
    for command in commands {
        if let Command::Report { task, .. } = command
            && let Some((group, _)) = group_of(&task.run, &task.path)
        {
            *endings.entry(group).or_default() += 1;
        }
    }
    endings
}

impl Batch {
    /// What several words about items of foreach steps are going to ask for, once what is
    /// [`likely`] is known: as many items may begin as end.
    #[must_use]
    pub fn ahead(&self, workflow: &Workflow, commands: &[&Command]) -> Vec<Lookup> {
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
            let is_known = |index| self.knows(&Lookup::Item(group.clone(), index));
            if row.pristine && (row.next..until(count)).all(is_known) {
                continue;
            }
            for index in row.next..until(count.saturating_mul(TURNS_AHEAD)) {
                lookups.push(Lookup::Item(group.clone(), index));
                if row.pristine {
                    continue;
                }
                let places = first.iter().map(|step| Place {
                    run: group.run.clone(),
                    path: group.path.item(&group, index),
                    step: step.id.clone(),
                });
                lookups.extend(places.map(Lookup::Visits));
            }
        }
        lookups
    }
}
