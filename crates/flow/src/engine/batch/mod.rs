//! Several commands in one transaction: rows that are known are not asked for again, and a row that
//! changes many times is written once.
//!
//! A batch is handed to [`decide`](crate::engine::decide) as its [`Rows`]. What it does not know is
//! the error: fetch it, [`learn`](Batch::learn) it, and decide again. That suits a store whose
//! lookups are asynchronous, and lets it fetch what many commands lack in one query.

mod likely;
mod quiet;
mod remember;

pub use likely::{endings, likely};

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use crate::engine::rows::{GroupRow, ItemRow, Place, Rows, RunRow, TaskRow, TimerRow};
use crate::engine::status::{RunStatus, TaskStatus};
use crate::engine::table::Table;
use crate::engine::{CallRow, Changes, Event, Notice};
use crate::id::{Path, RunId, TaskId};

/// Something a batch does not know yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lookup {
    Run(RunId),
    Input(RunId),
    Task(TaskId),
    Visits(Place),
    Completed(Place),
    Group(TaskId),
    Item(TaskId, u32),
    Items(TaskId),
    Outputs(Vec<TaskId>),
    Active(RunId, Path),
    ActiveWithin(RunId, Path),
    Timer(RunId, String),
}

/// What a lookup found, in the shape its kind has in [`Rows`].
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
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
}

/// Rows that are known, and those that are to be written.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    runs: Table<RunId, RunRow>,
    tasks: Table<TaskId, TaskRow>,
    groups: Table<TaskId, GroupRow>,
    items: Table<(TaskId, u32), ItemRow>,
    timers: Table<(RunId, String), TimerRow>,
    inputs: HashMap<RunId, Option<Value>>,
    new_inputs: Vec<(RunId, Value)>,
    visits: HashMap<Place, u32>,
    completed: HashMap<Place, Option<TaskId>>,
    /// Outputs as they were stored when they were asked for.
    outputs: HashMap<TaskId, Option<Value>>,
    /// Ranges that were asked for: all their tasks are here.
    ranges: HashSet<Lookup>,
    all_items: HashSet<TaskId>,
    /// Runs of an earlier transaction, by the number of the last event each had then.
    doubted: HashMap<RunId, u64>,
    /// The tasks that were claimed here and have not ended.
    held: HashSet<TaskId>,
    is_overtaken: bool,
    events: Vec<Event>,
    calls: Vec<CallRow>,
    notices: Vec<Notice>,
}

impl Batch {
    #[must_use]
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Takes in what a lookup found. What is known better already stays.
    pub fn learn(&mut self, lookup: Lookup, found: Found) {
        match (lookup, found) {
            (Lookup::Run(run), Found::Run(row)) => {
                if let Some(seq) = self.doubted.remove(&run) {
                    self.catch_up(&run, seq, row.as_ref());
                }
                self.runs.learn(run, row.map(Arc::new));
            }
            (Lookup::Input(run), Found::Input(input)) => {
                self.inputs.entry(run).or_insert(input);
            }
            (Lookup::Task(task), Found::Task(row)) => self.tasks.learn(task, row.map(Arc::new)),
            (Lookup::Visits(place), Found::Visits(visits)) => {
                self.visits.entry(place).or_insert(visits);
            }
            (Lookup::Completed(place), Found::Task(row)) => {
                let stored = row.as_ref().map(|row| row.id.clone());
                if let Some(row) = row {
                    self.tasks.learn(row.id.clone(), Some(Arc::new(row)));
                }
                // What was completed in this batch is not stored yet.
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
            (Lookup::Group(group), Found::Group(row)) => {
                self.groups.learn(group, row.map(Arc::new));
            }
            (Lookup::Item(group, index), Found::Item(row)) => {
                self.items.learn((group, index), row.map(Arc::new));
            }
            (Lookup::Items(group), Found::Items(rows)) => {
                for row in rows {
                    self.items
                        .learn((group.clone(), row.index), Some(Arc::new(row)));
                }
                self.all_items.insert(group);
            }
            (Lookup::Outputs(tasks), Found::Outputs(outputs)) => {
                self.outputs.extend(tasks.into_iter().zip(outputs));
            }
            (range @ (Lookup::Active(..) | Lookup::ActiveWithin(..)), Found::Tasks(rows)) => {
                for row in rows {
                    self.tasks.learn(row.id.clone(), Some(Arc::new(row)));
                }
                self.ranges.insert(range);
            }
            (Lookup::Timer(run, key), Found::Timer(row)) => {
                self.timers.learn((run, key), row.map(Arc::new));
            }
            _ => {}
        }
    }

    /// Whether a lookup would tell anything new.
    #[must_use]
    pub fn knows(&self, lookup: &Lookup) -> bool {
        match lookup {
            Lookup::Run(run) => self.runs.get(run).is_some(),
            Lookup::Input(run) => self.inputs.contains_key(run),
            Lookup::Task(task) => self.tasks.get(task).is_some(),
            Lookup::Visits(place) => self.visits.contains_key(place),
            Lookup::Completed(place) => self.latest(place).is_some(),
            Lookup::Group(group) => self.groups.get(group).is_some(),
            Lookup::Item(group, index) => self.items.get(&(group.clone(), *index)).is_some(),
            Lookup::Items(group) => self.all_items.contains(group),
            Lookup::Outputs(tasks) => tasks.iter().all(|task| self.outputs.contains_key(task)),
            Lookup::Active(..) | Lookup::ActiveWithin(..) => self.ranges.contains(lookup),
            Lookup::Timer(run, key) => self.timers.get(&(run.clone(), key.clone())).is_some(),
        }
    }

    /// The tasks of running runs that are known here and may be claimed now, the longest waiting
    /// first: a store need not write what it goes on to claim.
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
        ready.sort_by_key(|row| (row.ready_ms, &row.id));
        ready
    }

    /// Whether something was decided that is not handed out yet.
    #[must_use]
    pub fn has_news(&self) -> bool {
        !self.events.is_empty()
    }

    /// Takes in a decision: later commands see it, and [`changes`](Batch::changes) has it.
    pub fn commit(&mut self, decided: impl Into<Changes>) {
        let decided = decided.into();
        let is_quiet = self.is_quiet(&decided);
        let Changes {
            runs,
            inputs,
            tasks,
            taken: _,
            groups,
            items,
            timers,
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
        // What is not known stays so: there may be later visits in the store.
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

    /// Every row that is to be written, once, as it is after the last command.
    #[must_use]
    pub fn changes(&self) -> Changes {
        fn rows<K: Ord + Clone, T: Clone + PartialEq>(table: &Table<K, T>) -> Vec<Arc<T>> {
            let changed = table.changed().into_iter();
            changed.filter_map(|(_, row)| row).collect()
        }
        Changes {
            runs: rows(&self.runs),
            inputs: self.new_inputs.clone(),
            taken: self.tasks.ceased(TaskRow::is_claimable),
            tasks: rows(&self.tasks),
            groups: rows(&self.groups),
            items: rows(&self.items),
            timers: self.timers.changed(),
            events: self.events.clone(),
            calls: self.calls.clone(),
            notices: self.notices.clone(),
        }
    }

    /// As [`changes`](Batch::changes), for a store that writes now and goes on with the same
    /// transaction: what was handed out once is not handed out again.
    pub fn flush(&mut self) -> Changes {
        fn rows<K: Ord + Clone, T: Clone + PartialEq>(table: &mut Table<K, T>) -> Vec<Arc<T>> {
            let changed = table.flush().into_iter();
            changed.filter_map(|(_, row)| row).collect()
        }
        Changes {
            runs: rows(&mut self.runs),
            inputs: std::mem::take(&mut self.new_inputs),
            taken: self.tasks.ceased(TaskRow::is_claimable),
            tasks: rows(&mut self.tasks),
            groups: rows(&mut self.groups),
            items: rows(&mut self.items),
            timers: self.timers.flush(),
            events: std::mem::take(&mut self.events),
            calls: std::mem::take(&mut self.calls),
            notices: std::mem::take(&mut self.notices),
        }
    }

    /// Nothing counts of a run that is in doubt.
    fn trust(&self, run: &RunId) -> Result<(), Lookup> {
        match self.doubted.contains_key(run) {
            true => Err(Lookup::Run(run.clone())),
            false => Ok(()),
        }
    }

    /// What was completed last at a place, if that is known.
    fn latest(&self, place: &Place) -> Option<Option<&Arc<TaskRow>>> {
        match self.completed.get(place)? {
            None => Some(None),
            Some(task) => self.tasks.get(task),
        }
    }

    fn ranged(
        &self,
        range: &Lookup,
        is_there: impl Fn(&TaskId) -> bool,
    ) -> Result<Vec<Arc<TaskRow>>, Lookup> {
        if !self.ranges.contains(range) {
            return Err(range.clone());
        }
        // The stored ones were learned; whatever changed since is here too.
        let rows = self.tasks.iter().map(|(_, row)| row);
        let active = rows.filter(|row| !row.status.is_terminal() && is_there(&row.id));
        Ok(active.cloned().collect())
    }
}

fn known<T>(
    found: Option<Option<&Arc<T>>>,
    lookup: impl FnOnce() -> Lookup,
) -> Result<Option<Arc<T>>, Lookup> {
    match found {
        Some(row) => Ok(row.cloned()),
        None => Err(lookup()),
    }
}

impl Rows for Batch {
    type Error = Lookup;

    fn run(&mut self, run: &RunId) -> Result<Option<Arc<RunRow>>, Lookup> {
        known(self.runs.get(run), || Lookup::Run(run.clone()))
    }

    fn input(&mut self, run: &RunId) -> Result<Option<Value>, Lookup> {
        self.trust(run)?;
        let input = self.inputs.get(run).cloned();
        input.ok_or_else(|| Lookup::Input(run.clone()))
    }

    fn task(&mut self, task: &TaskId) -> Result<Option<Arc<TaskRow>>, Lookup> {
        self.trust(&task.run)?;
        known(self.tasks.get(task), || Lookup::Task(task.clone()))
    }

    fn visits(&mut self, place: &Place) -> Result<u32, Lookup> {
        self.trust(&place.run)?;
        let visits = self.visits.get(place).copied();
        visits.ok_or_else(|| Lookup::Visits(place.clone()))
    }

    fn completed(&mut self, place: &Place) -> Result<Option<Arc<TaskRow>>, Lookup> {
        self.trust(&place.run)?;
        known(self.latest(place), || Lookup::Completed(place.clone()))
    }

    fn group(&mut self, group: &TaskId) -> Result<Option<Arc<GroupRow>>, Lookup> {
        self.trust(&group.run)?;
        known(self.groups.get(group), || Lookup::Group(group.clone()))
    }

    fn item(&mut self, group: &TaskId, index: u32) -> Result<Option<Arc<ItemRow>>, Lookup> {
        self.trust(&group.run)?;
        let key = (group.clone(), index);
        known(self.items.get(&key), || Lookup::Item(group.clone(), index))
    }

    fn items(&mut self, group: &TaskId) -> Result<Vec<Arc<ItemRow>>, Lookup> {
        self.trust(&group.run)?;
        if !self.all_items.contains(group) {
            return Err(Lookup::Items(group.clone()));
        }
        let all = self.items.iter().filter(|((of, _), _)| of == group);
        Ok(all.map(|(_, row)| row.clone()).collect())
    }

    fn outputs(&mut self, tasks: &[TaskId]) -> Result<Vec<Option<Value>>, Lookup> {
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
            false => Err(Lookup::Outputs(missing)),
        }
    }

    fn active(&mut self, run: &RunId, path: &Path) -> Result<Vec<Arc<TaskRow>>, Lookup> {
        self.trust(run)?;
        let range = Lookup::Active(run.clone(), path.clone());
        self.ranged(&range, |task| task.run == *run && task.path == *path)
    }

    fn active_within(&mut self, run: &RunId, path: &Path) -> Result<Vec<Arc<TaskRow>>, Lookup> {
        self.trust(run)?;
        let range = Lookup::ActiveWithin(run.clone(), path.clone());
        self.ranged(&range, |task| task.run == *run && task.path.is_within(path))
    }

    fn timer(&mut self, run: &RunId, key: &str) -> Result<Option<Arc<TimerRow>>, Lookup> {
        self.trust(run)?;
        let id = (run.clone(), key.to_owned());
        known(self.timers.get(&id), || {
            Lookup::Timer(id.0.clone(), id.1.clone())
        })
    }
}
