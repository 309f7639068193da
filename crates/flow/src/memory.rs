//! Runs in memory: the port [`RowSource`] over plain maps, for tests, for the simulation and for running
//! a diagram without a database. It is the simplest correct store, and so the specification of one.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use serde_json::Value;

use crate::engine::{
    CallRow, CommandRefusal, DecisionStop, EngineCommand, EngineDecision, GroupRow, ItemRow,
    LookupResult, Notice, RowCache, RowChanges, RowLookup, RowSource, RunEvent, RunRow, RunStatus,
    SlotKey, SlotRow, StepAddress, TaskRow, TaskStatus, TimerRow, decide,
};
use crate::id::{ItemPath, RunId, TaskId};
use crate::limits::OnLimit;
use crate::workflow::Workflow;

/// All rows of all runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryRows {
    pub runs: BTreeMap<RunId, Arc<RunRow>>,
    pub inputs: BTreeMap<RunId, Value>,
    pub tasks: BTreeMap<TaskId, Arc<TaskRow>>,
    pub groups: BTreeMap<TaskId, Arc<GroupRow>>,
    pub items: BTreeMap<(TaskId, u32), Arc<ItemRow>>,
    pub timers: BTreeMap<(RunId, String), Arc<TimerRow>>,
    /// The holders of concurrency slots, and those that wait for one.
    pub slots: BTreeMap<SlotKey, Arc<SlotRow>>,
    pub events: BTreeMap<RunId, Vec<RunEvent>>,
    /// The model calls of attempts, in order.
    pub calls: Vec<CallRow>,
    pub outbox: Vec<Notice>,
    /// The tasks a worker may claim, in the order of claiming. [`MemoryRows::commit`] maintains it.
    ready: BTreeMap<(Reverse<i32>, u64, TaskId), ()>,
    /// The tasks that have not ended.
    active: BTreeMap<TaskId, ()>,
}

impl MemoryRows {
    #[must_use]
    pub fn new() -> MemoryRows {
        MemoryRows::default()
    }

    /// Decides a command and commits the decision.
    ///
    /// # Errors
    ///
    /// The refusal; nothing has changed.
    pub fn execute(
        &mut self,
        workflow: &Workflow,
        command: &EngineCommand,
        now_ms: u64,
    ) -> Result<EngineDecision, CommandRefusal> {
        match decide(workflow, self, command, now_ms) {
            Ok(decision) => {
                self.commit(decision.changes.clone());
                Ok(decision)
            }
            Err(DecisionStop::Refused(refusal)) => Err(refusal),
            Err(DecisionStop::Rows(never)) => match never {},
        }
    }

    /// Writes the rows of a decision, or of a whole [`RowCache`].
    pub fn commit(&mut self, changes: RowChanges) {
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
        for (key, row) in changes.slots {
            match row {
                Some(row) => self.slots.insert(key, row),
                None => self.slots.remove(&key),
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
            self.ready.remove(&place_in_line(old));
        }
        if row.is_claimable() {
            self.ready.insert(place_in_line(&row), ());
        }
        match row.status.is_terminal() {
            true => self.active.remove(&row.id),
            false => self.active.insert(row.id.clone(), ()),
        };
        self.tasks.insert(row.id.clone(), row);
    }

    /// Returns the tasks a worker may claim now, the longest waiting first.
    #[must_use]
    pub fn ready(&self, now_ms: u64, max: usize) -> Vec<TaskId> {
        let ready = self.ready.keys();
        let ready = ready.filter(|(_, ready_ms, _)| *ready_ms <= now_ms);
        let running = ready.filter(|(_, _, task)| {
            let run = self.runs.get(&task.run);
            run.is_some_and(|run| run.status == RunStatus::Running) && self.has_room(task)
        });
        running.take(max).map(|(_, _, task)| task.clone()).collect()
    }

    /// Tells whether the task's concurrency limit has a free slot.
    fn has_room(&self, task: &TaskId) -> bool {
        let wish = self.tasks.get(task).and_then(|row| row.slot.as_deref());
        let Some(wish) = wish.filter(|wish| wish.on_limit == OnLimit::Queue) else {
            return true;
        };
        let held = self
            .slots
            .values()
            .filter(|row| row.key == wish.key && row.is_held);
        held.count() < wish.max as usize
    }

    /// Returns the timers that are due.
    #[must_use]
    pub fn due(&self, now_ms: u64) -> Vec<TimerRow> {
        let timers = self.timers.values();
        let due = timers.filter(|timer| timer.at_ms <= now_ms);
        due.map(|timer| TimerRow::clone(timer)).collect()
    }

    /// Returns the tasks whose lease has ended, with their fences.
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

    /// Adds the result of a lookup to a cache, as a store does.
    pub fn teach(&mut self, cache: &mut RowCache, lookup: RowLookup) {
        let found = self.look_up(&lookup);
        cache.learn(lookup, found);
    }

    /// Returns the result of a lookup.
    pub fn look_up(&mut self, lookup: &RowLookup) -> LookupResult {
        match lookup {
            RowLookup::Run(run) => LookupResult::Run(copy(self.runs.get(run))),
            RowLookup::Input(run) => LookupResult::Input(self.inputs.get(run).cloned()),
            RowLookup::Task(task) => LookupResult::Task(copy(self.tasks.get(task))),
            RowLookup::Visits(place) => LookupResult::Visits(self.visits(place).unwrap_or(0)),
            RowLookup::Completed(place) => {
                LookupResult::Task(copy(self.completed(place).unwrap_or(None).as_ref()))
            }
            RowLookup::Group(group) => LookupResult::Group(copy(self.groups.get(group))),
            RowLookup::Item(group, index) => {
                LookupResult::Item(copy(self.items.get(&(group.clone(), *index))))
            }
            RowLookup::Items(group) => LookupResult::Items(copies(self.items(group))),
            RowLookup::Outputs(tasks) => {
                LookupResult::Outputs(self.outputs(tasks).unwrap_or_default())
            }
            RowLookup::Active(run, path) => LookupResult::Tasks(copies(self.active(run, path))),
            RowLookup::ActiveWithin(run, path) => {
                LookupResult::Tasks(copies(self.active_within(run, path)))
            }
            RowLookup::Slots(key) => LookupResult::Slots(copies(self.slots(key))),
            RowLookup::Timer(run, key) => {
                LookupResult::Timer(copy(self.timers.get(&(run.clone(), key.clone()))))
            }
        }
    }

    /// Returns the visits of a step under a path, the first first.
    fn visited(&self, place: &StepAddress) -> impl DoubleEndedIterator<Item = &Arc<TaskRow>> {
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

/// Returns the position of a claimable task in the queue.
fn place_in_line(row: &TaskRow) -> (Reverse<i32>, u64, TaskId) {
    (Reverse(row.priority), row.ready_ms, row.id.clone())
}

fn copy<T: Clone>(row: Option<&Arc<T>>) -> Option<T> {
    row.map(|row| T::clone(row))
}

fn copies<T: Clone>(rows: Result<Vec<Arc<T>>, Infallible>) -> Vec<T> {
    let rows = rows.unwrap_or_default().into_iter();
    rows.map(Arc::unwrap_or_clone).collect()
}

impl RowSource for MemoryRows {
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

    fn visits(&mut self, place: &StepAddress) -> Result<u32, Infallible> {
        Ok(self
            .visited(place)
            .next_back()
            .map_or(0, |row| row.id.visit))
    }

    fn completed(&mut self, place: &StepAddress) -> Result<Option<Arc<TaskRow>>, Infallible> {
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

    fn active(&mut self, run: &RunId, path: &ItemPath) -> Result<Vec<Arc<TaskRow>>, Infallible> {
        let mut rows = self.active_within(run, path)?;
        rows.retain(|row| row.id.path == *path);
        Ok(rows)
    }

    fn active_within(
        &mut self,
        run: &RunId,
        path: &ItemPath,
    ) -> Result<Vec<Arc<TaskRow>>, Infallible> {
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

    fn slots(&mut self, key: &str) -> Result<Vec<Arc<SlotRow>>, Infallible> {
        let of_key = self.slots.values().filter(|row| row.key == key);
        Ok(of_key.cloned().collect())
    }
}
