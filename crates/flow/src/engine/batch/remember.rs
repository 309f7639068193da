//! What a batch remembers from one transaction to the next, and what that is worth.

use std::collections::HashSet;

use serde_json::Value;

use super::{Batch, Lookup};
use crate::engine::rows::Place;
use crate::engine::status::{ItemStatus, TaskStatus};
use crate::engine::table::Table;
use crate::id::{RunId, TaskId};

/// How many items that have not begun are remembered from one transaction to the next.
const WAITING_MAX: usize = 10_000;
/// How many runs are remembered that may have come further.
const DOUBTED_MAX: usize = 1_000;
/// What is small enough to be remembered: so many characters, and so many such values in one.
const CHARACTERS_MAX: usize = 200;
const PARTS_MAX: usize = 8;

impl Batch {
    /// What is known is on the disk: keeps what the next transaction is likely to ask for, which is
    /// whatever belongs to work that is under way.
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
        let is_near = |place: &Place| {
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
                // Those whose turn comes soon.
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
        self.timers = Table::default();
        self.outputs.clear();
        self.ranges.clear();
        self.all_items.clear();
    }

    /// Others may have written since. What is known of a run counts again once the run was looked up
    /// and is found to have come no further.
    pub fn doubt(&mut self) {
        let runs = std::mem::take(&mut self.runs);
        let known = runs.iter().map(|(run, row)| (run.clone(), row.seq));
        self.doubted.extend(known);
    }

    /// The runs that are known, and how far each has come.
    #[must_use]
    pub fn runs(&self) -> Vec<(RunId, u64)> {
        let runs = self.runs.iter();
        runs.map(|(run, row)| (run.clone(), row.seq)).collect()
    }

    /// Nothing is known of a run any more, but for the timers that others have set for it in this
    /// transaction: timers are not remembered from one to the next.
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
            Lookup::Active(id, _) | Lookup::ActiveWithin(id, _) => id != run,
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
    use crate::engine::{Command, Start, decide};
    use crate::memory::Memory;

    /// A worker's task can be taken from it without a word: its run is then never asked for again.
    #[test]
    fn runs_that_nobody_asks_for_again_are_forgotten() {
        let workflow = crate::parse("graph TD\n  A[Work]\n").unwrap();
        let mut batch = Batch::new();
        let mut memory = Memory::new();
        for number in 0..DOUBTED_MAX + 10 {
            let run = format!("r{number}");
            let start = Start::new(run.as_str(), json!({}));
            memory
                .execute(&workflow, &Command::Start(start), 1)
                .unwrap();
            let claim = Command::Claim {
                task: format!("{run}/A").parse().unwrap(),
                worker: "w".to_owned(),
                lease_ms: 1,
            };
            batch.doubt();
            let decision = loop {
                match decide(&workflow, &mut batch, &claim, 1) {
                    Ok(decision) => break decision,
                    Err(crate::engine::Stop::Rows(lookup)) => memory.teach(&mut batch, lookup),
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
