//! Isolation: when several processes work on one run, each on tasks it has claimed, a process may
//! keep its cached rows of its own tasks although the others have changed the run.
//!
//! A decision is quiet if it claims waiting tasks or continues from tasks that were claimed here,
//! and changes no other existing task, and no item except those around such tasks and items that
//! waited. So no quiet decision touches a task that another process holds, or an item in which such
//! a task is the only active one. [`RunRow::quiet_since`] is the event after which every decision
//! was quiet.
//!
//! Example: process P has claimed `r/E[0]/A` and cached it when `r` was at event 41. Process Q
//! claims and finishes `r/E[1]/A`: quiet, so `r` is now at event 47 with `quiet_since` 41 or less.
//! P reads the run row, sees 47 instead of 41, and sees that everything after 41 was quiet. It
//! keeps its own task and item 0, and drops only the shared rows (groups, ranges, the tasks of
//! others). Had Q cancelled the run, that decision would not be quiet, `quiet_since` would be gone,
//! and P would drop everything.

use std::collections::HashSet;

use super::{RowCache, RowChanges};
use crate::engine::rows::{RunRow, TaskRow};
use crate::engine::status::{ItemStatus, TaskStatus};
use crate::id::{ItemPath, RunId};

impl RowCache {
    /// Tells whether a decision that is not added yet is quiet.
    pub(super) fn is_quiet(&self, decided: &RowChanges) -> bool {
        let mut around = HashSet::new();
        for row in &decided.tasks {
            let Some(before) = self.tasks.get(&row.id).flatten() else {
                continue;
            };
            if !self.held.contains(&row.id) && !is_claim(before, row) {
                return false;
            }
            around.extend(row.id.group());
        }
        decided.items.iter().all(|row| {
            let key = (row.group.clone(), row.index);
            let before = self.items.get(&key).flatten();
            let waited = before.is_none_or(|before| before.status == ItemStatus::Waiting);
            waited || around.contains(&key)
        })
    }

    /// Remembers the tasks that were claimed here and have not ended. A heartbeat does not count:
    /// another process may have claimed that task.
    pub(super) fn hold(&mut self, row: &TaskRow) {
        let before = self.tasks.get(&row.id).flatten();
        if before.is_some_and(|before| is_claim(before, row)) {
            self.held.insert(row.id.clone());
        } else if row.status != TaskStatus::InProgress {
            self.held.remove(&row.id);
        }
    }

    /// Handles a run that another process has changed, now that its row is read: keeps the rows
    /// that cannot have changed.
    pub(super) fn catch_up(&mut self, run: &RunId, seq: u64, found: Option<&RunRow>) {
        if found.is_some_and(|row| row.seq == seq) {
            return;
        }
        self.is_overtaken = true;
        match found {
            Some(row) if row.quiet_since.is_some_and(|since| since <= seq) => {
                self.forget_others(run);
            }
            _ => self.forget(run),
        }
    }

    /// Tells whether a run had more events than the cache knew, since the last call.
    pub fn was_overtaken(&mut self) -> bool {
        std::mem::take(&mut self.is_overtaken)
    }

    fn forget_others(&mut self, run: &RunId) {
        let alone = self.alone(run);
        let is_own = |id: &RunId, path: &ItemPath| id != run || alone.contains(path);
        self.visits
            .retain(|place, _| is_own(&place.run, &place.path));
        self.completed
            .retain(|place, _| is_own(&place.run, &place.path));
        self.items
            .retain(|(group, index), _| is_own(&group.run, &group.path.item(group, *index)));
        let held = &self.held;
        self.tasks.retain(|task, row| {
            let is_free =
                |row: &TaskRow| matches!(row.status, TaskStatus::Pending | TaskStatus::InProgress);
            task.run != *run || held.contains(task) || row.is_some_and(|row| !is_free(row))
        });
        self.groups.retain(|group, _| group.run != *run);
        self.outputs.retain(|task, _| task.run != *run);
        self.forget_ranges(run);
    }

    /// Returns the items of a run in which a task held here is the only active one: no other
    /// process changes them.
    fn alone(&self, run: &RunId) -> HashSet<ItemPath> {
        let held = self.held.iter().filter(|task| task.run == *run);
        let alone = held.filter(|task| {
            let item = task.group().and_then(|key| self.items.get(&key).flatten());
            item.is_some_and(|item| item.active == 1)
        });
        alone.map(|task| task.path.clone()).collect()
    }
}

fn is_claim(before: &TaskRow, now: &TaskRow) -> bool {
    before.is_claimable() && now.status == TaskStatus::InProgress
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::RowLookup;
    use super::*;
    use crate::engine::{
        AttemptOutcome, AttemptReport, DecisionStop, EngineCommand, RunStart, decide,
    };
    use crate::id::TaskId;
    use crate::memory::MemoryRows;
    use crate::workflow::Workflow;

    /// Two processes with one store.
    struct Stage {
        workflow: Workflow,
        memory: MemoryRows,
        known: [RowCache; 2],
    }

    fn task(name: &str) -> TaskId {
        format!("r/{name}").parse().unwrap()
    }

    fn claim(name: &str) -> EngineCommand {
        EngineCommand::Claim {
            task: task(name),
            worker: "w".to_owned(),
            lease_ms: 1_000,
            rates: Vec::new(),
        }
    }

    fn done(name: &str) -> EngineCommand {
        let output = json!({});
        let partial = false;
        EngineCommand::Report {
            task: task(name),
            fence: 1,
            report: AttemptReport::of(AttemptOutcome::Completed { output, partial }),
        }
    }

    impl Stage {
        fn new(source: &str) -> Stage {
            let workflow = crate::parse(source).unwrap();
            let mut memory = MemoryRows::new();
            let start = EngineCommand::Start(RunStart::new("r", json!({ "list": [1, 2, 3] })));
            memory.execute(&workflow, &start, 1).unwrap();
            Stage {
                workflow,
                memory,
                known: Default::default(),
            }
        }

        fn decided(
            &mut self,
            batch: &mut RowCache,
            commands: &[EngineCommand],
        ) -> (RowChanges, Vec<RowLookup>) {
            let mut asked = Vec::new();
            for command in commands {
                loop {
                    match decide(&self.workflow, batch, command, 1) {
                        Ok(decision) => break batch.commit(decision),
                        Err(DecisionStop::Rows(lookup)) => {
                            asked.push(lookup.clone());
                            self.memory.teach(batch, lookup);
                        }
                        Err(DecisionStop::Refused(refusal)) => panic!("{refusal}"),
                    }
                }
            }
            (batch.flush(), asked)
        }

        /// Lets one process decide commands, and compares with a process that has no cache. Returns
        /// its lookups.
        fn does(&mut self, process: usize, commands: &[EngineCommand]) -> Vec<RowLookup> {
            let mut known = std::mem::take(&mut self.known[process]);
            known.doubt();
            let (changes, asked) = self.decided(&mut known, commands);
            let (mut expected, _) = self.decided(&mut RowCache::new(), commands);
            for (row, ours) in expected.runs.iter_mut().zip(&changes.runs) {
                std::sync::Arc::make_mut(row).quiet_since = ours.quiet_since;
            }
            assert_eq!(changes, expected, "{commands:?}");
            self.memory.commit(changes);
            known.settle();
            self.known[process] = known;
            asked
        }
    }

    const ITEMS: &str = "graph TD\n E[[Each: x]] --> A[Work] --> J[Join]\n\
        %% === WORKFLOW_CONFIG ===\n\
        %% @E: { \"itemsPath\": \"input.list\", \"maxConcurrency\": 2 }\n\
        %% === END_CONFIG ===\n";

    #[test]
    fn an_own_task_is_known_while_others_go_on_with_theirs() {
        let mut stage = Stage::new(ITEMS);
        stage.does(0, &[claim("E[0]/A")]);
        stage.does(0, &[done("E[0]/A"), claim("E[2]/A")]);
        stage.does(1, &[claim("E[1]/A")]);
        stage.does(1, &[done("E[1]/A")]);
        let mut asked = stage.does(0, &[done("E[2]/A")]);
        assert_eq!(asked.remove(0), RowLookup::Run(RunId::new("r")));
        let is_own = |lookup: &RowLookup| match lookup {
            RowLookup::Task(id) => *id == task("E[2]/A"),
            RowLookup::Item(_, index) => *index == 2,
            RowLookup::Visits(place) => *place == task("E[2]/A").place(),
            _ => false,
        };
        assert!(!asked.iter().any(is_own), "{asked:?}");
    }

    #[test]
    fn an_item_shared_with_others_is_read_again() {
        let mut stage = Stage::new(
            "graph TD\n E[[Each: x]] --> A[Work] --> C[More] --> J[Join]\n\
             A --> D[Else] --> J\n E --> B[Other] --> J\n\
             %% === WORKFLOW_CONFIG ===\n%% @E: { \"itemsPath\": \"input.list\" }\n\
             %% @J: { \"awaitStepId\": \"E\" }\n%% === END_CONFIG ===\n",
        );
        stage.does(0, &[claim("E[0]/A"), claim("E[0]/B")]);
        stage.does(0, &[done("E[0]/A"), claim("E[0]/C")]);
        stage.does(1, &[claim("E[0]/D")]);
        stage.does(1, &[done("E[0]/D")]);
        stage.does(0, &[done("E[0]/C")]);
        stage.does(0, &[done("E[0]/B")]);
    }

    #[test]
    fn steps_that_others_visited_outside_of_items_are_read_again() {
        let mut stage =
            Stage::new("graph TD\n A[One] --> X[Next]\n B[Two] --> X\n C[Three] --> X\n");
        stage.does(0, &[claim("A")]);
        stage.does(0, &[claim("C")]);
        stage.does(1, &[claim("B")]);
        stage.does(0, &[done("A")]);
        stage.does(1, &[done("B")]);
        stage.does(0, &[done("C")]);
        assert!(stage.memory.tasks.contains_key(&task("X~3")));
    }

    #[test]
    fn a_cached_run_is_stale_once_another_process_has_done_more() {
        let mut stage = Stage::new(ITEMS);
        stage.does(0, &[claim("E[0]/A"), claim("E[1]/A")]);
        // The other process claimed this task, so that this one's cache does not count it as its
        // own.
        let beat = EngineCommand::Heartbeat {
            task: task("E[0]/A"),
            fence: 1,
            lease_ms: 1,
        };
        stage.does(1, &[beat]);
        stage.does(1, &[done("E[0]/A")]);
        let asked = stage.does(0, &[done("E[1]/A")]);
        assert!(
            asked.contains(&RowLookup::Task(task("E[1]/A"))),
            "{asked:?}"
        );
    }
}
