//! Processes that decide several commands in one transaction, and remember what they know from one to
//! the next while others go on writing.

use std::sync::Arc;

use flow::engine::{
    AttemptReport, DecisionStop, EngineAction, EngineCommand, RowCache, RowChanges, RowLookup,
    RowSource as _, TaskRow, TaskStatus, decide,
};
use flow::{MemoryRows, RunId};

use crate::actors::{Actor, Held};
use crate::world::{LEASE_MS, World};

/// The cache of a process, and the tasks that it works on.
#[derive(Default)]
pub(crate) struct Desk {
    known: RowCache,
    held: Vec<Held>,
}

impl World {
    /// Several commands in one transaction, through a batch: all of it is committed, or nothing.
    pub(crate) fn grouped(&mut self) {
        let at = usize::try_from(self.chance.up_to(self.desks.len() as u64)).unwrap();
        let mut desk = std::mem::take(&mut self.desks[at]);
        if self.chance.one_in(40) {
            // It dies, and what it knew with it.
            return;
        }
        let commands = self.commands(&mut desk);
        desk.known.doubt();
        self.look_again(&mut desk.known);
        let decided = self.decide_through(&mut desk.known, &commands);
        let changes = desk.known.flush();
        let mut fresh = RowCache::new();
        self.decide_through(&mut fresh, &commands);
        assert_eq!(
            told(&changes),
            told(&fresh.changes()),
            "what is remembered is not so"
        );
        if self.chance.one_in(20) {
            // The cache must not keep rows that were not committed.
            desk.known = RowCache::new();
            self.desks[at] = desk;
            return;
        }
        for row in &changes.tasks {
            if row.status == TaskStatus::InProgress {
                let (task, fence) = (row.id.clone(), row.fence);
                let held = Held { task, fence };
                match self.chance.one_in(40) {
                    // The task is claimed here, and another actor reports it later.
                    true => self.actors.push(Actor::holding(held)),
                    false => desk.held.push(held),
                }
            }
        }
        self.memory.commit(changes);
        desk.known.settle();
        self.desks[at] = desk;
        for (command, actions) in decided {
            self.law.watch(&command, &actions);
            self.law.begin(&command, &actions, self.now_ms);
        }
        let runs: Vec<RunId> = self.memory.runs.keys().cloned().collect();
        for run in runs {
            self.law.hold_together(&self.memory, &run, &mut self.chance);
        }
    }

    /// Returns the reports and claims of a process.
    fn commands(&mut self, desk: &mut Desk) -> Vec<EngineCommand> {
        let mut commands = Vec::new();
        let mut done = match self.chance.one_in(20) {
            true => self.put_down(),
            false => Vec::new(),
        };
        for held in std::mem::take(&mut desk.held) {
            match self.chance.one_in(2) {
                true => desk.held.push(held),
                false => done.push(held),
            }
        }
        for held in done {
            let outcome = match self.chance.one_in(8) {
                true => self.outcome(),
                false => self.good(),
            };
            commands.push(EngineCommand::Report {
                task: held.task,
                fence: held.fence,
                report: AttemptReport::of(outcome),
            });
        }
        let max = 1 + self.chance.up_to(4);
        let ready = self
            .memory
            .ready(self.now_ms, usize::try_from(max).unwrap());
        commands.extend(ready.into_iter().map(|task| EngineCommand::Claim {
            task,
            worker: "b".to_owned(),
            lease_ms: LEASE_MS,
            rates: self.rates.clone(),
        }));
        commands
    }

    /// Finds out how far the runs have come. The rows still cached then are valid.
    fn look_again(&mut self, known: &mut RowCache) {
        let runs: Vec<RunId> = self.memory.runs.keys().cloned().collect();
        for run in runs {
            self.memory.teach(known, RowLookup::Run(run));
        }
        let kept = known_tasks(known, &self.memory);
        if known.was_overtaken() && kept.iter().any(|row| row.status == TaskStatus::InProgress) {
            self.met.insert("kept while others went on".to_owned());
        }
        is_so(known, &mut self.memory);
    }

    fn decide_through(
        &mut self,
        batch: &mut RowCache,
        commands: &[EngineCommand],
    ) -> Vec<(EngineCommand, Vec<EngineAction>)> {
        let mut decided = Vec::new();
        for command in commands {
            let workflow = self.workflow_of(command);
            loop {
                match decide(&workflow, batch, command, self.now_ms) {
                    Ok(decision) => {
                        decided.push((command.clone(), decision.actions.clone()));
                        batch.commit(decision);
                        break;
                    }
                    Err(DecisionStop::Refused(_)) => break,
                    Err(DecisionStop::Rows(lookup)) => self.memory.teach(batch, lookup),
                }
            }
        }
        decided
    }
}

/// All of it but how quiet it was: that depends on who decides.
pub(crate) fn told(changes: &RowChanges) -> RowChanges {
    let mut changes = changes.clone();
    for row in &mut changes.runs {
        Arc::make_mut(row).quiet_since = None;
    }
    changes
}

fn known_tasks(known: &mut RowCache, memory: &MemoryRows) -> Vec<Arc<TaskRow>> {
    let tasks = memory.tasks.keys();
    let known = tasks.filter_map(|task| known.task(task).ok().flatten());
    known.collect()
}

/// Checks that a cache equals the store, except for leases, which are renewed without an event.
fn is_so(known: &mut RowCache, memory: &mut MemoryRows) {
    let bare = |row: &Arc<TaskRow>| TaskRow {
        lease: None,
        ..TaskRow::clone(row)
    };
    for row in known_tasks(known, memory) {
        assert_eq!(bare(&row), bare(&memory.tasks[&row.id]), "of a task");
    }
    for (group, row) in &memory.groups {
        if let Ok(known) = known.group(group) {
            assert_eq!(known.as_ref(), Some(row), "of a foreach");
        }
    }
    for ((group, index), row) in &memory.items {
        if let Ok(known) = known.item(group, *index) {
            assert_eq!(known.as_ref(), Some(row), "of an item");
        }
    }
    let places: Vec<_> = memory.tasks.keys().map(flow::TaskId::place).collect();
    for place in places {
        if let Ok(visits) = known.visits(&place) {
            assert_eq!(Ok(visits), memory.visits(&place), "of visits");
        }
        if let Ok(completed) = known.completed(&place) {
            let stored = memory.completed(&place).unwrap();
            let task = |row: Option<Arc<TaskRow>>| row.map(|row| row.id.clone());
            assert_eq!(task(completed), task(stored), "of what was completed");
        }
    }
}
