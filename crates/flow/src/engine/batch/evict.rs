//! Eviction: chooses the cached rows that survive a transaction, and marks those whose validity is
//! unknown.
//!
//! Example: worker W has claimed `r/B`, and `r/A` is completed. After the commit, [`RowCache::settle`]
//! keeps run `r`, task `r/B`, the result of `r/A` and the visit counts beside them, because W's
//! report of `r/B` will need exactly these. Timers, outputs and runs without a task in progress are
//! dropped. Before the next transaction on a shared database, [`RowCache::doubt`] puts `r` aside with
//! the number of its last event; the next lookup of `r` compares numbers, and equal numbers make
//! the rest of the run valid again.

use std::collections::HashSet;

use serde_json::Value;

use super::{RowCache, RowLookup};
use crate::engine::rows::StepAddress;
use crate::engine::status::{ItemStatus, TaskStatus};
use crate::engine::table::RowTable;
use crate::id::{RunId, TaskId};

/// Limits the items that have not begun and stay cached between transactions.
const WAITING_MAX: usize = 10_000;
/// Limits the runs that stay cached although another process may have changed them.
const DOUBTED_MAX: usize = 1_000;
/// Limits the values of items that stay cached: their characters, and their parts.
const CHARACTERS_MAX: usize = 200;
const PARTS_MAX: usize = 8;

impl RowCache {
    /// Prepares the cache for the next transaction, after everything is on the disk: keeps the rows
    /// that belong to work in progress, because the next transaction is likely to read those.
    pub fn settle(&mut self) {
        if self.doubted.len() >= DOUBTED_MAX {
            let doubted: Vec<RunId> = self.doubted.keys().cloned().collect();
            doubted.iter().for_each(|run| self.forget(run));
        }
        let mut runs = HashSet::new();
        let mut scopes = HashSet::new();
        for (task, row) in self.tasks.iter() {
            if row.status == TaskStatus::InProgress {
                runs.insert(task.run.clone());
                scopes.insert((task.run.clone(), task.path.clone()));
            }
        }
        let is_near = |place: &StepAddress| {
            let is_root = place.path.items().is_empty() && runs.contains(&place.run);
            is_root || scopes.contains(&(place.run.clone(), place.path.clone()))
        };
        self.visits.retain(|place, _| is_near(place));
        self.completed.retain(|place, _| is_near(place));
        let results: HashSet<&TaskId> = self.completed.values().flatten().collect();
        self.tasks.retain(|task, row| {
            let is_going = row.is_some_and(|row| !row.status.is_terminal());
            runs.contains(&task.run) && (is_going || results.contains(task))
        });
        let mut waiting = 0;
        self.items.retain(|(group, _), row| {
            let Some(row) = row.filter(|_| runs.contains(&group.run)) else {
                return false;
            };
            match row.status {
                ItemStatus::Running => true,
                // These items begin soon.
                ItemStatus::Waiting if waiting < WAITING_MAX && is_small(&row.value) => {
                    waiting += 1;
                    true
                }
                _ => false,
            }
        });
        self.groups.retain(|group, _| runs.contains(&group.run));
        self.inputs.retain(|run, _| runs.contains(run));
        self.runs.retain(|run, _| runs.contains(run));
        self.doubted.retain(|run, _| runs.contains(run));
        self.timers = RowTable::default();
        self.slots = RowTable::default();
        self.outputs.clear();
        self.ranges.clear();
        self.all_items.clear();
    }

    /// Marks every cached run as unchecked, because other processes may have written. The cached
    /// rows of a run count again once its row was read and has the same last event.
    pub fn doubt(&mut self) {
        let runs = std::mem::take(&mut self.runs);
        let known = runs.iter().map(|(run, row)| (run.clone(), row.seq));
        self.doubted.extend(known);
    }

    /// Returns the cached runs with the number of the last event of each.
    #[must_use]
    pub fn runs(&self) -> Vec<(RunId, u64)> {
        let runs = self.runs.iter();
        runs.map(|(run, row)| (run.clone(), row.seq)).collect()
    }

    /// Drops every cached row of a run, except for timers: those in the cache were set in this
    /// transaction, and timers never survive one.
    pub fn forget(&mut self, run: &RunId) {
        self.doubted.remove(run);
        self.runs.retain(|id, _| id != run);
        self.inputs.remove(run);
        self.tasks.retain(|task, _| task.run != *run);
        self.groups.retain(|group, _| group.run != *run);
        self.items.retain(|(group, _), _| group.run != *run);
        self.visits.retain(|place, _| place.run != *run);
        self.completed.retain(|place, _| place.run != *run);
        self.outputs.retain(|task, _| task.run != *run);
        self.held.retain(|task| task.run != *run);
        self.forget_ranges(run);
    }

    pub(super) fn forget_ranges(&mut self, run: &RunId) {
        self.ranges.retain(|range| match range {
            RowLookup::Active(id, _) | RowLookup::ActiveWithin(id, _) => id != run,
            RowLookup::Slots(_) => true,
            _ => false,
        });
        self.all_items.retain(|group| group.run != *run);
    }
}

fn is_small(value: &Value) -> bool {
    let is_plain = |value: &Value| match value {
        Value::String(text) => text.len() <= CHARACTERS_MAX,
        Value::Array(_) | Value::Object(_) => false,
        _ => true,
    };
    match value {
        Value::Array(parts) => parts.len() <= PARTS_MAX && parts.iter().all(is_plain),
        Value::Object(parts) => parts.len() <= PARTS_MAX && parts.values().all(is_plain),
        plain => is_plain(plain),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::{EngineCommand, RunStart, decide};
    use crate::memory::MemoryRows;

    /// A worker can lose its task without a message: its run is then never read again.
    #[test]
    fn runs_that_are_not_used_again_are_evicted() {
        let workflow = crate::parse("graph TD\n  A[Work]\n").unwrap();
        let mut batch = RowCache::new();
        let mut memory = MemoryRows::new();
        for number in 0..DOUBTED_MAX + 10 {
            let run = format!("r{number}");
            let start = RunStart::new(run.as_str(), json!({}));
            memory
                .execute(&workflow, &EngineCommand::Start(start), 1)
                .unwrap();
            let claim = EngineCommand::Claim {
                task: format!("{run}/A").parse().unwrap(),
                worker: "w".to_owned(),
                lease_ms: 1,
                rates: Vec::new(),
            };
            batch.doubt();
            let decision = loop {
                match decide(&workflow, &mut batch, &claim, 1) {
                    Ok(decision) => break decision,
                    Err(crate::engine::DecisionStop::Rows(lookup)) => {
                        memory.teach(&mut batch, lookup)
                    }
                    Err(refused) => panic!("{refused:?}"),
                }
            };
            batch.commit(decision);
            memory.commit(batch.flush());
            batch.settle();
        }
        assert!(batch.tasks.iter().count() <= DOUBTED_MAX);
    }
}
