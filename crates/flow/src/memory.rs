//! Runs kept in memory: the port [`Rows`] over plain maps, for tests, for the simulation and for
//! running a diagram without a database. It is what a store has to do, said as simply as it can be.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use serde_json::Value;

use crate::engine::{
    Batch, CallRow, Changes, Command, Decision, Event, GroupRow, ItemRow, Notice, Place, Refusal,
    Rows, RunRow, RunStatus, Stop, TaskRow, TaskStatus, TimerRow, decide,
};
use crate::id::{Path, RunId, TaskId};
use crate::workflow::Workflow;

/// All rows there are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    pub runs: BTreeMap<RunId, Arc<RunRow>>,
    pub inputs: BTreeMap<RunId, Value>,
    pub tasks: BTreeMap<TaskId, Arc<TaskRow>>,
    pub groups: BTreeMap<TaskId, Arc<GroupRow>>,
    pub items: BTreeMap<(TaskId, u32), Arc<ItemRow>>,
    pub timers: BTreeMap<(RunId, String), Arc<TimerRow>>,
    pub events: BTreeMap<RunId, Vec<Event>>,
    /// What was said in attempts, in order.
    pub calls: Vec<CallRow>,
    pub outbox: Vec<Notice>,
    /// The tasks a worker may claim, by the time they are ready. Kept by [`Memory::commit`].
    ready: BTreeMap<(u64, TaskId), ()>,
    /// The tasks that have not ended.
    active: BTreeMap<TaskId, ()>,
}

impl Memory {
    #[must_use]
    pub fn new() -> Memory {
        Memory::default()
    }

    /// Decides and commits in one go.
    ///
    /// # Errors
    ///
    /// The refusal, and nothing has changed.
    pub fn execute(
        &mut self,
        workflow: &Workflow,
        command: &Command,
        now_ms: u64,
    ) -> Result<Decision, Refusal> {
        match decide(workflow, self, command, now_ms) {
            Ok(decision) => {
                self.commit(decision.changes.clone());
                Ok(decision)
            }
            Err(Stop::Refused(refusal)) => Err(refusal),
            Err(Stop::Rows(never)) => match never {},
        }
    }

    /// Writes the rows of a decision, or of a whole [`Batch`].
    pub fn commit(&mut self, changes: Changes) {
        for (run, input) in changes.inputs {
            self.inputs.insert(run, input);
        }
        for row in changes.runs {
            self.runs.insert(row.id.clone(), row);
        }
        for row in changes.tasks {
            self.put_task(row);
        }
        for row in changes.groups {
            self.groups.insert(row.id.clone(), row);
        }
        for row in changes.items {
            self.items.insert((row.group.clone(), row.index), row);
        }
        for (key, row) in changes.timers {
            match row {
                Some(row) => self.timers.insert(key, row),
                None => self.timers.remove(&key),
            };
        }
        for event in changes.events {
            self.events
                .entry(event.run.clone())
                .or_default()
                .push(event);
        }
        self.calls.extend(changes.calls);
        self.outbox.extend(changes.notices);
    }

    fn put_task(&mut self, row: Arc<TaskRow>) {
        if let Some(old) = self.tasks.get(&row.id) {
            self.ready.remove(&(old.ready_ms, old.id.clone()));
        }
        if row.is_claimable() {
            self.ready.insert((row.ready_ms, row.id.clone()), ());
        }
        match row.status.is_terminal() {
            true => self.active.remove(&row.id),
            false => self.active.insert(row.id.clone(), ()),
        };
        self.tasks.insert(row.id.clone(), row);
    }

    /// The tasks a worker may claim now, the longest waiting first.
    #[must_use]
    pub fn ready(&self, now_ms: u64, max: usize) -> Vec<TaskId> {
        let ready = self
            .ready
            .keys()
            .take_while(|(ready_ms, _)| *ready_ms <= now_ms);
        let running = ready.filter(|(_, task)| {
            let run = self.runs.get(&task.run);
            run.is_some_and(|run| run.status == RunStatus::Running)
        });
        running.take(max).map(|(_, task)| task.clone()).collect()
    }

    /// The timers that are due.
    #[must_use]
    pub fn due(&self, now_ms: u64) -> Vec<TimerRow> {
        let timers = self.timers.values();
        let due = timers.filter(|timer| timer.at_ms <= now_ms);
        due.map(|timer| TimerRow::clone(timer)).collect()
    }

    /// The tasks whose lease has ended.
    #[must_use]
    pub fn expired(&self, now_ms: u64) -> Vec<(TaskId, u64)> {
        let active = self.active.keys().filter_map(|task| self.tasks.get(task));
        let expired = active.filter(|row| {
            let lease = row.lease.as_ref();
            row.status == TaskStatus::InProgress
                && lease.is_some_and(|lease| lease.until_ms <= now_ms)
        });
        expired.map(|row| (row.id.clone(), row.fence)).collect()
    }

    /// Answers what a batch lacks, as a store does.
    pub fn teach(&mut self, batch: &mut Batch, lookup: crate::engine::Lookup) {
        use crate::engine::{Found, Lookup};
        let found = match &lookup {
            Lookup::Run(run) => Found::Run(copy(self.runs.get(run))),
            Lookup::Input(run) => Found::Input(self.inputs.get(run).cloned()),
            Lookup::Task(task) => Found::Task(copy(self.tasks.get(task))),
            Lookup::Visits(place) => Found::Visits(self.visits(place).unwrap_or(0)),
            Lookup::Completed(place) => {
                Found::Task(copy(self.completed(place).unwrap_or(None).as_ref()))
            }
            Lookup::Group(group) => Found::Group(copy(self.groups.get(group))),
            Lookup::Item(group, index) => {
                Found::Item(copy(self.items.get(&(group.clone(), *index))))
            }
            Lookup::Items(group) => Found::Items(copies(self.items(group))),
            Lookup::Outputs(tasks) => Found::Outputs(self.outputs(tasks).unwrap_or_default()),
            Lookup::Active(run, path) => Found::Tasks(copies(self.active(run, path))),
            Lookup::ActiveWithin(run, path) => Found::Tasks(copies(self.active_within(run, path))),
            Lookup::Timer(run, key) => {
                Found::Timer(copy(self.timers.get(&(run.clone(), key.clone()))))
            }
        };
        batch.learn(lookup, found);
    }

    /// The visits of a step under a path, the first first.
    fn visited(&self, place: &Place) -> impl DoubleEndedIterator<Item = &Arc<TaskRow>> {
        let visit = |visit| TaskId {
            run: place.run.clone(),
            path: place.path.clone(),
            step: place.step.clone(),
            visit,
        };
        self.tasks
            .range(visit(0)..=visit(u32::MAX))
            .map(|(_, row)| row)
    }
}

fn copy<T: Clone>(row: Option<&Arc<T>>) -> Option<T> {
    row.map(|row| T::clone(row))
}

fn copies<T: Clone>(rows: Result<Vec<Arc<T>>, Infallible>) -> Vec<T> {
    let rows = rows.unwrap_or_default().into_iter();
    rows.map(Arc::unwrap_or_clone).collect()
}

impl Rows for Memory {
    type Error = Infallible;

    fn run(&mut self, run: &RunId) -> Result<Option<Arc<RunRow>>, Infallible> {
        Ok(self.runs.get(run).cloned())
    }

    fn input(&mut self, run: &RunId) -> Result<Option<Value>, Infallible> {
        Ok(self.inputs.get(run).cloned())
    }

    fn task(&mut self, task: &TaskId) -> Result<Option<Arc<TaskRow>>, Infallible> {
        Ok(self.tasks.get(task).cloned())
    }

    fn visits(&mut self, place: &Place) -> Result<u32, Infallible> {
        Ok(self
            .visited(place)
            .next_back()
            .map_or(0, |row| row.id.visit))
    }

    fn completed(&mut self, place: &Place) -> Result<Option<Arc<TaskRow>>, Infallible> {
        let mut visits = self.visited(place).rev();
        Ok(visits
            .find(|row| row.status == TaskStatus::Completed)
            .cloned())
    }

    fn group(&mut self, group: &TaskId) -> Result<Option<Arc<GroupRow>>, Infallible> {
        Ok(self.groups.get(group).cloned())
    }

    fn item(&mut self, group: &TaskId, index: u32) -> Result<Option<Arc<ItemRow>>, Infallible> {
        Ok(self.items.get(&(group.clone(), index)).cloned())
    }

    fn items(&mut self, group: &TaskId) -> Result<Vec<Arc<ItemRow>>, Infallible> {
        let range = (group.clone(), 0)..=(group.clone(), u32::MAX);
        Ok(self
            .items
            .range(range)
            .map(|(_, row)| row.clone())
            .collect())
    }

    fn outputs(&mut self, tasks: &[TaskId]) -> Result<Vec<Option<Value>>, Infallible> {
        let outputs = tasks
            .iter()
            .map(|task| self.tasks.get(task)?.output.clone());
        Ok(outputs.collect())
    }

    fn active(&mut self, run: &RunId, path: &Path) -> Result<Vec<Arc<TaskRow>>, Infallible> {
        let mut rows = self.active_within(run, path)?;
        rows.retain(|row| row.id.path == *path);
        Ok(rows)
    }

    fn active_within(&mut self, run: &RunId, path: &Path) -> Result<Vec<Arc<TaskRow>>, Infallible> {
        let ids = self
            .active
            .keys()
            .filter(|task| task.run == *run && task.path.is_within(path));
        Ok(ids
            .filter_map(|task| self.tasks.get(task).cloned())
            .collect())
    }

    fn timer(&mut self, run: &RunId, key: &str) -> Result<Option<Arc<TimerRow>>, Infallible> {
        Ok(self.timers.get(&(run.clone(), key.to_owned())).cloned())
    }
}
