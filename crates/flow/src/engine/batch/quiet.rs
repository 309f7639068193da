//! Several processes go on with one run, each with tasks that it holds. While that is all that
//! happens, what a process knows of its own tasks stays so, and need not be read again when the run
//! has come further.
//!
//! A decision is quiet if it claims tasks that waited, or goes on from tasks that were claimed here,
//! and changes no other task that was there before, and no item but the one around such a task and
//! those that waited. So nothing quiet touches a task that somebody else holds, or an item in which
//! such a task is alone. [`RunRow::quiet_since`] says since when there was nothing else.

use std::collections::HashSet;

use super::{Batch, Changes};
use crate::engine::rows::{RunRow, TaskRow};
use crate::engine::status::{ItemStatus, TaskStatus};
use crate::id::{Path, RunId};

impl Batch {
    /// Whether a decision that is not taken in yet is quiet.
    pub(super) fn is_quiet(&self, decided: &Changes) -> bool {
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

    /// Remembers which tasks were claimed here and have not ended: whoever else keeps one has not
    /// claimed it.
    pub(super) fn hold(&mut self, row: &TaskRow) {
        let before = self.tasks.get(&row.id).flatten();
        if before.is_some_and(|before| is_claim(before, row)) {
            self.held.insert(row.id.clone());
        } else if row.status != TaskStatus::InProgress {
            self.held.remove(&row.id);
        }
    }

    /// A run has come further than is known, and is found now. Keeps what is still so.
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

    /// Whether a run was found to have come further than was known, since this was last asked.
    pub fn was_overtaken(&mut self) -> bool {
        std::mem::take(&mut self.is_overtaken)
    }

    fn forget_others(&mut self, run: &RunId) {
        let alone = self.alone(run);
        let is_own = |id: &RunId, path: &Path| id != run || alone.contains(path);
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

    /// Where in a run nobody else does anything: the items in which a task that is held is alone.
    fn alone(&self, run: &RunId) -> HashSet<Path> {
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

    use super::super::Lookup;
    use super::*;
    use crate::engine::{Command, Outcome, Report, Start, Stop, decide};
    use crate::id::TaskId;
    use crate::memory::Memory;
    use crate::workflow::Workflow;

    /// Two processes with one store.
    struct Stage {
        workflow: Workflow,
        memory: Memory,
        known: [Batch; 2],
    }

    fn task(name: &str) -> TaskId {
        format!("r/{name}").parse().unwrap()
    }

    fn claim(name: &str) -> Command {
        Command::Claim {
            task: task(name),
            worker: "w".to_owned(),
            lease_ms: 1_000,
        }
    }

    fn done(name: &str) -> Command {
        let output = json!({});
        let partial = false;
        Command::Report {
            task: task(name),
            fence: 1,
            report: Report::of(Outcome::Completed { output, partial }),
        }
    }

    impl Stage {
        fn new(source: &str) -> Stage {
            let workflow = crate::parse(source).unwrap();
            let mut memory = Memory::new();
            let start = Command::Start(Start::new("r", json!({ "list": [1, 2, 3] })));
            memory.execute(&workflow, &start, 1).unwrap();
            Stage {
                workflow,
                memory,
                known: Default::default(),
            }
        }

        fn decided(&mut self, batch: &mut Batch, commands: &[Command]) -> (Changes, Vec<Lookup>) {
            let mut asked = Vec::new();
            for command in commands {
                loop {
                    match decide(&self.workflow, batch, command, 1) {
                        Ok(decision) => break batch.commit(decision),
                        Err(Stop::Rows(lookup)) => {
                            asked.push(lookup.clone());
                            self.memory.teach(batch, lookup);
                        }
                        Err(Stop::Refused(refusal)) => panic!("{refusal}"),
                    }
                }
            }
            (batch.flush(), asked)
        }

        /// One of them decides what somebody who knows nothing would decide, too. What it asked for.
        fn does(&mut self, process: usize, commands: &[Command]) -> Vec<Lookup> {
            let mut known = std::mem::take(&mut self.known[process]);
            known.doubt();
            let (changes, asked) = self.decided(&mut known, commands);
            let (mut expected, _) = self.decided(&mut Batch::new(), commands);
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
        assert_eq!(asked.remove(0), Lookup::Run(RunId::new("r")));
        let is_own = |lookup: &Lookup| match lookup {
            Lookup::Task(id) => *id == task("E[2]/A"),
            Lookup::Item(_, index) => *index == 2,
            Lookup::Visits(place) => *place == task("E[2]/A").place(),
            _ => false,
        };
        assert!(!asked.iter().any(is_own), "{asked:?}");
    }

    #[test]
    fn an_item_in_which_others_work_too_is_looked_up_again() {
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
    fn what_others_visited_outside_of_items_is_looked_up_again() {
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
    fn nothing_is_known_once_somebody_has_done_more() {
        let mut stage = Stage::new(ITEMS);
        stage.does(0, &[claim("E[0]/A"), claim("E[1]/A")]);
        // It was claimed elsewhere: whoever did so does not know of this.
        let beat = Command::Heartbeat {
            task: task("E[0]/A"),
            fence: 1,
            lease_ms: 1,
        };
        stage.does(1, &[beat]);
        stage.does(1, &[done("E[0]/A")]);
        let asked = stage.does(0, &[done("E[1]/A")]);
        assert!(asked.contains(&Lookup::Task(task("E[1]/A"))), "{asked:?}");
    }
}
