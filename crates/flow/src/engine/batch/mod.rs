//! The row cache: several commands in one transaction read each row once and write it once.
//!
//! A batch is handed to [`decide`](crate::engine::decide) as its [`RowSource`]. A row that it lacks is
//! the error of the decision: read it, [`learn`](RowCache::learn) it, and decide again. That suits a
//! store whose lookups are asynchronous, and lets it read the missing rows of many commands in one
//! query.
//!
//! Example: 50 reports end 50 items of the foreach `r/E`. Each changes the counters of the group
//! row. The first decision reads that row and [`commit`](RowCache::commit)s its change into the cache,
//! the next 49 find it there, and [`flush`](RowCache::flush) returns it once, with all 50 changes.
//!
//! Between transactions the cache keeps the rows of work in progress ([`settle`](RowCache::settle))
//! and has to find out whether they are still valid ([`doubt`](RowCache::doubt)); the sibling modules
//! explain both.

mod evict;
mod isolation;
mod read_set;

pub use read_set::{endings, likely};

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use crate::engine::rows::{
    GroupRow, ItemRow, RowSource, RunRow, SlotKey, SlotRow, StepAddress, TaskRow, TimerRow,
};
use crate::engine::status::{RunStatus, TaskStatus};
use crate::engine::table::RowTable;
use crate::engine::{CallRow, Notice, RowChanges, RunEvent};
use crate::id::{ItemPath, RunId, TaskId};

/// A row, or a range of rows, that the cache lacks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowLookup {
    Run(RunId),
    Input(RunId),
    Task(TaskId),
    Visits(StepAddress),
    Completed(StepAddress),
    Group(TaskId),
    Item(TaskId, u32),
    Items(TaskId),
    Outputs(Vec<TaskId>),
    Active(RunId, ItemPath),
    ActiveWithin(RunId, ItemPath),
    Timer(RunId, String),
    /// The holders of a concurrency key, and those that wait for it.
    Slots(String),
}

/// The result of a lookup, in the shape its kind has in [`RowSource`].
#[derive(Clone, Debug, PartialEq)]
pub enum LookupResult {
    Run(Option<RunRow>),
    Input(Option<Value>),
    /// For `Task` and `Completed`.
    Task(Option<TaskRow>),
    Visits(u32),
    Group(Option<GroupRow>),
    Item(Option<ItemRow>),
    Items(Vec<ItemRow>),
    Outputs(Vec<Option<Value>>),
    /// For `Active` and `ActiveWithin`.
    Tasks(Vec<TaskRow>),
    Timer(Option<TimerRow>),
    Slots(Vec<SlotRow>),
}

/// Cached rows, and the changes of them that are not written yet.
#[derive(Clone, Debug, Default)]
pub struct RowCache {
    runs: RowTable<RunId, RunRow>,
    tasks: RowTable<TaskId, TaskRow>,
    groups: RowTable<TaskId, GroupRow>,
    items: RowTable<(TaskId, u32), ItemRow>,
    timers: RowTable<(RunId, String), TimerRow>,
    slots: RowTable<SlotKey, SlotRow>,
    inputs: HashMap<RunId, Option<Value>>,
    new_inputs: Vec<(RunId, Value)>,
    visits: HashMap<StepAddress, u32>,
    completed: HashMap<StepAddress, Option<TaskId>>,
    /// Outputs as they were stored when they were read.
    outputs: HashMap<TaskId, Option<Value>>,
    /// Ranges that were read: all their tasks are cached.
    ranges: HashSet<RowLookup>,
    all_items: HashSet<TaskId>,
    /// Runs cached by an earlier transaction and not checked since, with the number of the last
    /// event each had then.
    doubted: HashMap<RunId, u64>,
    /// Tasks that were claimed here and have not ended.
    held: HashSet<TaskId>,
    is_overtaken: bool,
    events: Vec<RunEvent>,
    calls: Vec<CallRow>,
    notices: Vec<Notice>,
}

impl RowCache {
    #[must_use]
    pub fn new() -> RowCache {
        RowCache::default()
    }

    /// Adds the result of a lookup. A row that is cached already stays, because it may have been
    /// changed here.
    pub fn learn(&mut self, lookup: RowLookup, found: LookupResult) {
        match (lookup, found) {
            (RowLookup::Run(run), LookupResult::Run(row)) => {
                if let Some(seq) = self.doubted.remove(&run) {
                    self.catch_up(&run, seq, row.as_ref());
                }
                self.runs.learn(run, row.map(Arc::new));
            }
            (RowLookup::Input(run), LookupResult::Input(input)) => {
                self.inputs.entry(run).or_insert(input);
            }
            (RowLookup::Task(task), LookupResult::Task(row)) => {
                self.tasks.learn(task, row.map(Arc::new))
            }
            (RowLookup::Visits(place), LookupResult::Visits(visits)) => {
                self.visits.entry(place).or_insert(visits);
            }
            (RowLookup::Completed(place), LookupResult::Task(row)) => {
                let stored = row.as_ref().map(|row| row.id.clone());
                if let Some(row) = row {
                    self.tasks.learn(row.id.clone(), Some(Arc::new(row)));
                }
                // A task that was completed in this batch is not stored yet, and the lookup cannot
                // have seen it.
                let ours =
                    self.tasks.iter().map(|(_, row)| row).filter(|row| {
                        row.status == TaskStatus::Completed && row.id.place() == place
                    });
                let ours = ours.map(|row| row.id.clone());
                let last = ours.chain(stored).max_by_key(|task| task.visit);
                if self.latest(&place).is_none() {
                    self.completed.insert(place, last);
                }
            }
            (RowLookup::Group(group), LookupResult::Group(row)) => {
                self.groups.learn(group, row.map(Arc::new));
            }
            (RowLookup::Item(group, index), LookupResult::Item(row)) => {
                self.items.learn((group, index), row.map(Arc::new));
            }
            (RowLookup::Items(group), LookupResult::Items(rows)) => {
                for row in rows {
                    self.items
                        .learn((group.clone(), row.index), Some(Arc::new(row)));
                }
                self.all_items.insert(group);
            }
            (RowLookup::Outputs(tasks), LookupResult::Outputs(outputs)) => {
                self.outputs.extend(tasks.into_iter().zip(outputs));
            }
            (
                range @ (RowLookup::Active(..) | RowLookup::ActiveWithin(..)),
                LookupResult::Tasks(rows),
            ) => {
                for row in rows {
                    self.tasks.learn(row.id.clone(), Some(Arc::new(row)));
                }
                self.ranges.insert(range);
            }
            (RowLookup::Timer(run, key), LookupResult::Timer(row)) => {
                self.timers.learn((run, key), row.map(Arc::new));
            }
            (RowLookup::Slots(key), LookupResult::Slots(rows)) => {
                for row in rows {
                    self.slots.learn(row.id(), Some(Arc::new(row)));
                }
                self.ranges.insert(RowLookup::Slots(key));
            }
            _ => {}
        }
    }

    /// Tells whether a lookup would bring nothing new.
    #[must_use]
    pub fn knows(&self, lookup: &RowLookup) -> bool {
        match lookup {
            RowLookup::Run(run) => self.runs.get(run).is_some(),
            RowLookup::Input(run) => self.inputs.contains_key(run),
            RowLookup::Task(task) => self.tasks.get(task).is_some(),
            RowLookup::Visits(place) => self.visits.contains_key(place),
            RowLookup::Completed(place) => self.latest(place).is_some(),
            RowLookup::Group(group) => self.groups.get(group).is_some(),
            RowLookup::Item(group, index) => self.items.get(&(group.clone(), *index)).is_some(),
            RowLookup::Items(group) => self.all_items.contains(group),
            RowLookup::Outputs(tasks) => tasks.iter().all(|task| self.outputs.contains_key(task)),
            RowLookup::Active(..) | RowLookup::ActiveWithin(..) | RowLookup::Slots(_) => {
                self.ranges.contains(lookup)
            }
            RowLookup::Timer(run, key) => self.timers.get(&(run.clone(), key.clone())).is_some(),
        }
    }

    /// Returns the cached tasks that may be claimed now, of running runs, the longest waiting
    /// first. A store claims these without writing them first.
    #[must_use]
    pub fn ready(&self, now_ms: u64) -> Vec<&Arc<TaskRow>> {
        let is_running = |run: &RunId| {
            let row = self.runs.get(run).flatten();
            row.is_some_and(|row| row.status == RunStatus::Running)
        };
        let mut ready: Vec<&Arc<TaskRow>> = self
            .tasks
            .iter()
            .map(|(_, row)| row)
            .filter(|row| row.is_claimable() && row.ready_ms <= now_ms && is_running(&row.id.run))
            .collect();
        ready.sort_by_key(|row| (Reverse(row.priority), row.ready_ms, &row.id));
        ready
    }

    /// Tells whether a decision was added whose changes were not handed out yet.
    #[must_use]
    pub fn has_news(&self) -> bool {
        !self.events.is_empty()
    }

    /// Adds a decision: later commands see it, and [`changes`](RowCache::changes) contains it.
    pub fn commit(&mut self, decided: impl Into<RowChanges>) {
        let decided = decided.into();
        let is_quiet = self.is_quiet(&decided);
        let RowChanges {
            runs,
            inputs,
            tasks,
            taken: _,
            groups,
            items,
            timers,
            slots,
            events,
            calls,
            notices,
        } = decided;
        for row in runs {
            self.take_run(row, is_quiet);
        }
        for (run, input) in inputs {
            self.inputs.insert(run.clone(), Some(input.clone()));
            self.new_inputs.push((run, input));
        }
        for row in tasks {
            self.take_task(row);
        }
        for row in groups {
            self.groups.set(row.id.clone(), Some(row));
        }
        for row in items {
            self.items.set((row.group.clone(), row.index), Some(row));
        }
        for (key, row) in timers {
            self.timers.set(key, row);
        }
        for (key, row) in slots {
            self.slots.set(key, row);
        }
        self.events.extend(events);
        self.calls.extend(calls);
        self.notices.extend(notices);
    }

    fn take_run(&mut self, mut row: Arc<RunRow>, is_quiet: bool) {
        if is_quiet && let Some(before) = self.runs.get(&row.id).flatten() {
            let since = before.quiet_since.unwrap_or(before.seq);
            Arc::make_mut(&mut row).quiet_since = Some(since);
        }
        self.runs.set(row.id.clone(), Some(row));
    }

    fn take_task(&mut self, row: Arc<TaskRow>) {
        self.hold(&row);
        let place = row.id.place();
        // An unknown count stays unknown: the store may have later visits.
        if let Some(known) = self.visits.get_mut(&place) {
            *known = (*known).max(row.id.visit);
        }
        if let Some(known) = self.completed.get_mut(&place)
            && row.status == TaskStatus::Completed
            && known
                .as_ref()
                .is_none_or(|known| known.visit < row.id.visit)
        {
            *known = Some(row.id.clone());
        }
        self.tasks.set(row.id.clone(), Some(row));
    }

    /// Returns every row to write, once, as it is after the last command.
    #[must_use]
    pub fn changes(&self) -> RowChanges {
        fn rows<K: Ord + Clone, T: Clone + PartialEq>(table: &RowTable<K, T>) -> Vec<Arc<T>> {
            let changed = table.changed().into_iter();
            changed.filter_map(|(_, row)| row).collect()
        }
        RowChanges {
            runs: rows(&self.runs),
            inputs: self.new_inputs.clone(),
            taken: self.tasks.ceased(TaskRow::is_claimable),
            tasks: rows(&self.tasks),
            groups: rows(&self.groups),
            items: rows(&self.items),
            timers: self.timers.changed(),
            slots: self.slots.changed(),
            events: self.events.clone(),
            calls: self.calls.clone(),
            notices: self.notices.clone(),
        }
    }

    /// Returns the same as [`changes`](RowCache::changes), for a store that writes now and continues
    /// the same transaction: no change is handed out twice.
    pub fn flush(&mut self) -> RowChanges {
        fn rows<K: Ord + Clone, T: Clone + PartialEq>(table: &mut RowTable<K, T>) -> Vec<Arc<T>> {
            let changed = table.flush().into_iter();
            changed.filter_map(|(_, row)| row).collect()
        }
        RowChanges {
            runs: rows(&mut self.runs),
            inputs: std::mem::take(&mut self.new_inputs),
            taken: self.tasks.ceased(TaskRow::is_claimable),
            tasks: rows(&mut self.tasks),
            groups: rows(&mut self.groups),
            items: rows(&mut self.items),
            timers: self.timers.flush(),
            slots: self.slots.flush(),
            events: std::mem::take(&mut self.events),
            calls: std::mem::take(&mut self.calls),
            notices: std::mem::take(&mut self.notices),
        }
    }

    /// Refuses to answer for a run that is not checked yet, by naming the lookup that checks it.
    fn trust(&self, run: &RunId) -> Result<(), RowLookup> {
        match self.doubted.contains_key(run) {
            true => Err(RowLookup::Run(run.clone())),
            false => Ok(()),
        }
    }

    /// Returns the task completed last at a place, if the cache knows it.
    fn latest(&self, place: &StepAddress) -> Option<Option<&Arc<TaskRow>>> {
        match self.completed.get(place)? {
            None => Some(None),
            Some(task) => self.tasks.get(task),
        }
    }

    fn ranged(
        &self,
        range: &RowLookup,
        is_there: impl Fn(&TaskId) -> bool,
    ) -> Result<Vec<Arc<TaskRow>>, RowLookup> {
        if !self.ranges.contains(range) {
            return Err(range.clone());
        }
        // The lookup added the stored tasks, and decisions added the changes since.
        let rows = self.tasks.iter().map(|(_, row)| row);
        let active = rows.filter(|row| !row.status.is_terminal() && is_there(&row.id));
        Ok(active.cloned().collect())
    }
}

fn known<T>(
    found: Option<Option<&Arc<T>>>,
    lookup: impl FnOnce() -> RowLookup,
) -> Result<Option<Arc<T>>, RowLookup> {
    match found {
        Some(row) => Ok(row.cloned()),
        None => Err(lookup()),
    }
}

impl RowSource for RowCache {
    type Error = RowLookup;

    fn run(&mut self, run: &RunId) -> Result<Option<Arc<RunRow>>, RowLookup> {
        known(self.runs.get(run), || RowLookup::Run(run.clone()))
    }

    fn input(&mut self, run: &RunId) -> Result<Option<Value>, RowLookup> {
        self.trust(run)?;
        let input = self.inputs.get(run).cloned();
        input.ok_or_else(|| RowLookup::Input(run.clone()))
    }

    fn task(&mut self, task: &TaskId) -> Result<Option<Arc<TaskRow>>, RowLookup> {
        self.trust(&task.run)?;
        known(self.tasks.get(task), || RowLookup::Task(task.clone()))
    }

    fn visits(&mut self, place: &StepAddress) -> Result<u32, RowLookup> {
        self.trust(&place.run)?;
        let visits = self.visits.get(place).copied();
        visits.ok_or_else(|| RowLookup::Visits(place.clone()))
    }

    fn completed(&mut self, place: &StepAddress) -> Result<Option<Arc<TaskRow>>, RowLookup> {
        self.trust(&place.run)?;
        known(self.latest(place), || RowLookup::Completed(place.clone()))
    }

    fn group(&mut self, group: &TaskId) -> Result<Option<Arc<GroupRow>>, RowLookup> {
        self.trust(&group.run)?;
        known(self.groups.get(group), || RowLookup::Group(group.clone()))
    }

    fn item(&mut self, group: &TaskId, index: u32) -> Result<Option<Arc<ItemRow>>, RowLookup> {
        self.trust(&group.run)?;
        let key = (group.clone(), index);
        known(self.items.get(&key), || {
            RowLookup::Item(group.clone(), index)
        })
    }

    fn items(&mut self, group: &TaskId) -> Result<Vec<Arc<ItemRow>>, RowLookup> {
        self.trust(&group.run)?;
        if !self.all_items.contains(group) {
            return Err(RowLookup::Items(group.clone()));
        }
        let all = self.items.iter().filter(|((of, _), _)| of == group);
        Ok(all.map(|(_, row)| row.clone()).collect())
    }

    fn outputs(&mut self, tasks: &[TaskId]) -> Result<Vec<Option<Value>>, RowLookup> {
        for task in tasks {
            self.trust(&task.run)?;
        }
        let output = |task: &TaskId| match self.tasks.get(task) {
            Some(row) => Some(row.and_then(|row| row.output.clone())),
            None => self.outputs.get(task).cloned(),
        };
        let outputs: Vec<Option<Option<Value>>> = tasks.iter().map(output).collect();
        let missing = tasks
            .iter()
            .zip(&outputs)
            .filter(|(_, output)| output.is_none());
        let missing: Vec<TaskId> = missing.map(|(task, _)| task.clone()).collect();
        match missing.is_empty() {
            true => Ok(outputs.into_iter().map(Option::flatten).collect()),
            false => Err(RowLookup::Outputs(missing)),
        }
    }

    fn active(&mut self, run: &RunId, path: &ItemPath) -> Result<Vec<Arc<TaskRow>>, RowLookup> {
        self.trust(run)?;
        let range = RowLookup::Active(run.clone(), path.clone());
        self.ranged(&range, |task| task.run == *run && task.path == *path)
    }

    fn active_within(
        &mut self,
        run: &RunId,
        path: &ItemPath,
    ) -> Result<Vec<Arc<TaskRow>>, RowLookup> {
        self.trust(run)?;
        let range = RowLookup::ActiveWithin(run.clone(), path.clone());
        self.ranged(&range, |task| task.run == *run && task.path.is_within(path))
    }

    fn timer(&mut self, run: &RunId, key: &str) -> Result<Option<Arc<TimerRow>>, RowLookup> {
        self.trust(run)?;
        let id = (run.clone(), key.to_owned());
        known(self.timers.get(&id), || {
            RowLookup::Timer(id.0.clone(), id.1.clone())
        })
    }

    fn slots(&mut self, key: &str) -> Result<Vec<Arc<SlotRow>>, RowLookup> {
        let range = RowLookup::Slots(key.to_owned());
        if !self.ranges.contains(&range) {
            return Err(range);
        }
        let rows = self.slots.iter().map(|(_, row)| row);
        Ok(rows.filter(|row| row.key == key).cloned().collect())
    }
}
