//! Decisions in the making: rows are read through here, actions are written down and take effect
//! on what is read next.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use crate::engine::action::{Action, Event, NewTask, Notice, NoticeKind, TaskChange, What};
use crate::engine::call::{CallRow, ModelCall};
use crate::engine::command::{Refusal, RefusalKind};
use crate::engine::rows::{
    FailureClass, GroupRow, Hold, ItemRow, Pause, Place, Rows, RunRow, Spent, TaskRow, TimerRow,
};
use crate::engine::status::{ItemStatus, Move, RunStatus};
use crate::engine::table::Table;
use crate::engine::{Changes, Decision, Stop};
use crate::id::{Path, RunId, StepId, TaskId, group_of};
use crate::workflow::{Step, Workflow};

/// Something that is still to be done in this decision.
#[derive(Clone, Debug)]
pub(crate) enum Todo {
    /// A path comes to a step.
    Enter(Enter),
    /// Items of a foreach may begin, or the foreach may end.
    Advance(TaskId),
    /// A join of branches may fire.
    Weigh(TaskId),
    /// A foreach, a join or a subflow has what it waited for.
    Conclude { task: TaskId, output: Value },
}

#[derive(Clone, Debug)]
pub(crate) struct Enter {
    pub(crate) step: StepId,
    pub(crate) path: Path,
    pub(crate) from: Option<TaskId>,
    pub(crate) failed: bool,
    pub(crate) passed: Vec<(StepId, u32)>,
}

pub(crate) struct Ledger<'a, R: Rows> {
    pub(crate) workflow: &'a Workflow,
    pub(crate) rows: &'a mut R,
    pub(crate) run: RunId,
    pub(crate) now_ms: u64,
    pub(crate) todo: VecDeque<Todo>,
    /// The scopes in which something ended, to be looked at when nothing else is to be done.
    /// The innermost first.
    unsettled: BTreeSet<(Reverse<usize>, Path)>,
    pub(crate) input: Option<Value>,
    pub(crate) runs: Table<RunId, RunRow>,
    pub(crate) tasks: Table<TaskId, TaskRow>,
    pub(crate) groups: Table<TaskId, GroupRow>,
    pub(crate) items: Table<(TaskId, u32), ItemRow>,
    pub(crate) timers: Table<(RunId, String), TimerRow>,
    pub(crate) visits: HashMap<Place, u32>,
    pub(crate) completed: HashMap<Place, TaskId>,
    actions: Vec<Action>,
    /// What the next move of a task ends.
    pub(crate) ending: Ending,
}

/// What is said of an attempt when it ends.
#[derive(Default)]
pub(crate) struct Ending {
    pub(crate) class: Option<FailureClass>,
    pub(crate) spent: Spent,
}

pub(crate) type Done<R, T = ()> = Result<T, Stop<<R as Rows>::Error>>;

impl<'a, R: Rows> Ledger<'a, R> {
    pub(crate) fn new(
        workflow: &'a Workflow,
        rows: &'a mut R,
        run: RunId,
        now_ms: u64,
    ) -> Ledger<'a, R> {
        Ledger {
            workflow,
            rows,
            run,
            now_ms,
            todo: VecDeque::new(),
            unsettled: BTreeSet::new(),
            input: None,
            runs: Table::default(),
            tasks: Table::default(),
            groups: Table::default(),
            items: Table::default(),
            timers: Table::default(),
            visits: HashMap::new(),
            completed: HashMap::new(),
            actions: Vec::new(),
            ending: Ending::default(),
        }
    }

    pub(crate) fn finish(self) -> Decision {
        let mut changes = Changes {
            runs: values(self.runs.changed()),
            tasks: values(self.tasks.changed()),
            taken: self.tasks.ceased(TaskRow::is_claimable),
            groups: values(self.groups.changed()),
            items: values(self.items.changed()),
            timers: self.timers.changed().into_iter().collect(),
            ..Changes::default()
        };
        for action in &self.actions {
            match action {
                Action::CreateRun { row, input } => {
                    changes.inputs.push((row.id.clone(), input.clone()));
                }
                Action::Append(event) => changes.events.push(event.clone()),
                Action::Notify(notice) => changes.notices.push(notice.clone()),
                Action::KeepCall(call) => changes.calls.push((**call).clone()),
                _ => {}
            }
        }
        Decision {
            actions: self.actions,
            changes,
        }
    }

    // Reading: what this decision did is seen, what it did not touch comes from the store.

    pub(crate) fn find_run(&mut self, run: &RunId) -> Done<R, Option<Arc<RunRow>>> {
        self.load_run(run)?;
        Ok(self.runs.get(run).flatten().cloned())
    }

    pub(crate) fn load_run(&mut self, run: &RunId) -> Done<R> {
        if self.runs.get(run).is_none() {
            let found = self.rows.run(run).map_err(Stop::Rows)?;
            self.runs.learn(run.clone(), found);
        }
        Ok(())
    }

    /// Something about the run the command is about, without a copy of all of it.
    pub(crate) fn of_run<T>(&mut self, read: impl FnOnce(&RunRow) -> T) -> Done<R, T> {
        let run = self.run.clone();
        self.load_run(&run)?;
        match self.runs.get(&run).flatten() {
            Some(row) => Ok(read(row)),
            None => Err(no_run(&run)),
        }
    }

    /// The run the command is about.
    pub(crate) fn the_run(&mut self) -> Done<R, Arc<RunRow>> {
        let run = self.run.clone();
        let found = self.find_run(&run)?;
        found.ok_or_else(|| no_run(&run))
    }

    /// What the run was started with.
    pub(crate) fn input(&mut self) -> Done<R, Value> {
        if self.input.is_none() {
            self.input = self.rows.input(&self.run).map_err(Stop::Rows)?;
        }
        Ok(self.input.clone().unwrap_or_default())
    }

    pub(crate) fn find_task(&mut self, task: &TaskId) -> Done<R, Option<Arc<TaskRow>>> {
        self.load_task(task)?;
        Ok(self.tasks.get(task).flatten().cloned())
    }

    pub(crate) fn load_task(&mut self, task: &TaskId) -> Done<R> {
        if self.tasks.get(task).is_none() {
            let found = self.rows.task(task).map_err(Stop::Rows)?;
            self.tasks.learn(task.clone(), found);
        }
        Ok(())
    }

    /// Something about a task, without a copy of all of it.
    pub(crate) fn of_task<T>(
        &mut self,
        task: &TaskId,
        read: impl FnOnce(&TaskRow) -> T,
    ) -> Done<R, T> {
        self.load_task(task)?;
        match self.tasks.get(task).flatten() {
            Some(row) => Ok(read(row)),
            None => Err(no_task(task)),
        }
    }

    pub(crate) fn the_task(&mut self, task: &TaskId) -> Done<R, Arc<TaskRow>> {
        let found = self.find_task(task)?;
        found.ok_or_else(|| no_task(task))
    }

    pub(crate) fn the_group(&mut self, group: &TaskId) -> Done<R, Arc<GroupRow>> {
        if self.groups.get(group).is_none() {
            let found = self.rows.group(group).map_err(Stop::Rows)?;
            self.groups.learn(group.clone(), found);
        }
        let found = self.groups.get(group).flatten().cloned();
        found.ok_or_else(|| broken(format!("the foreach `{group}` has no items")))
    }

    /// Whether a foreach has got its items.
    pub(crate) fn is_opened(&mut self, group: &TaskId) -> Done<R, bool> {
        if self.groups.get(group).is_none() {
            let found = self.rows.group(group).map_err(Stop::Rows)?;
            self.groups.learn(group.clone(), found);
        }
        Ok(self.groups.get(group).flatten().is_some())
    }

    pub(crate) fn the_item(&mut self, group: &TaskId, index: u32) -> Done<R, Arc<ItemRow>> {
        let key = (group.clone(), index);
        if self.items.get(&key).is_none() {
            let found = self.rows.item(group, index).map_err(Stop::Rows)?;
            self.items.learn(key.clone(), found);
        }
        let found = self.items.get(&key).flatten().cloned();
        found.ok_or_else(|| broken(format!("the foreach `{group}` has no item {index}")))
    }

    pub(crate) fn all_items(&mut self, group: &TaskId) -> Done<R, Vec<Arc<ItemRow>>> {
        let stored = self.rows.items(group).map_err(Stop::Rows)?;
        let mut items: BTreeMap<u32, Arc<ItemRow>> =
            stored.into_iter().map(|item| (item.index, item)).collect();
        let ours = self.items.iter().filter(|((of, _), _)| of == group);
        items.extend(ours.map(|((_, index), item)| (*index, item.clone())));
        Ok(items.into_values().collect())
    }

    /// The outputs of some tasks, in their order.
    pub(crate) fn outputs(&mut self, tasks: &[TaskId]) -> Done<R, Vec<Option<Value>>> {
        let stored = self.rows.outputs(tasks).map_err(Stop::Rows)?;
        let outputs = tasks
            .iter()
            .zip(stored)
            .map(|(task, stored)| match self.tasks.get(task) {
                Some(Some(row)) => row.output.clone(),
                _ => stored,
            });
        Ok(outputs.collect())
    }

    pub(crate) fn visits(&mut self, place: &Place) -> Done<R, u32> {
        if let Some(visits) = self.visits.get(place) {
            return Ok(*visits);
        }
        let around = group_of(&place.run, &place.path);
        let visits = match around.is_some_and(|(group, index)| self.is_untrodden(group, index)) {
            true => 0,
            false => self.rows.visits(place).map_err(Stop::Rows)?,
        };
        self.visits.insert(place.clone(), visits);
        Ok(visits)
    }

    /// Whether nothing can have been inside an item before this decision.
    fn is_untrodden(&self, group: TaskId, index: u32) -> bool {
        if self.groups.is_new(&group) {
            return true;
        }
        let is_pristine = |row: &Arc<GroupRow>| row.pristine;
        let was_waiting = |row: &ItemRow| row.status == ItemStatus::Waiting;
        self.groups.get(&group).flatten().is_some_and(is_pristine)
            && self.items.was(&(group, index)).is_some_and(was_waiting)
    }

    /// What a step gave when it was last completed under a path.
    pub(crate) fn completed(&mut self, place: &Place) -> Done<R, Option<Arc<TaskRow>>> {
        match self.completed.get(place).cloned() {
            Some(task) => self.find_task(&task),
            None => self.rows.completed(place).map_err(Stop::Rows),
        }
    }

    /// The tasks right under a path that have not ended.
    pub(crate) fn active(&mut self, path: &Path) -> Done<R, Vec<Arc<TaskRow>>> {
        let stored = self.rows.active(&self.run, path).map_err(Stop::Rows)?;
        Ok(self.merged(stored, |task| task.path == *path))
    }

    /// The tasks under a path and inside of its items that have not ended.
    pub(crate) fn active_within(&mut self, path: &Path) -> Done<R, Vec<Arc<TaskRow>>> {
        let stored = self
            .rows
            .active_within(&self.run, path)
            .map_err(Stop::Rows)?;
        Ok(self.merged(stored, |task| task.path.is_within(path)))
    }

    fn merged(
        &mut self,
        stored: Vec<Arc<TaskRow>>,
        is_there: impl Fn(&TaskId) -> bool,
    ) -> Vec<Arc<TaskRow>> {
        for row in stored {
            self.tasks.learn(row.id.clone(), Some(row));
        }
        let rows = self.tasks.iter().map(|(_, row)| row);
        let there = rows.filter(|row| row.id.run == self.run && is_there(&row.id));
        there
            .filter(|row| !row.status.is_terminal())
            .cloned()
            .collect()
    }

    pub(crate) fn find_timer(&mut self, run: &RunId, key: &str) -> Done<R, Option<Arc<TimerRow>>> {
        let id = (run.clone(), key.to_owned());
        if self.timers.get(&id).is_none() {
            let found = self.rows.timer(run, key).map_err(Stop::Rows)?;
            self.timers.learn(id.clone(), found);
        }
        Ok(self.timers.get(&id).flatten().cloned())
    }

    pub(crate) fn the_step(&self, id: &StepId) -> Done<R, &'a Step> {
        self.workflow.step(id).ok_or_else(|| {
            let message =
                format!("The workflow has no step `{id}`: it is not the one of this run.");
            Stop::Refused(Refusal::new(RefusalKind::WrongWorkflow, message))
        })
    }

    // What is left to do.

    /// Looks at a scope again when nothing else is to be done.
    pub(crate) fn unsettle(&mut self, path: &Path) {
        let depth = Reverse(path.items().len());
        self.unsettled.insert((depth, path.clone()));
    }

    pub(crate) fn next_unsettled(&mut self) -> Option<Path> {
        self.unsettled.pop_first().map(|(_, path)| path)
    }

    /// Forgets what was to be done: the run is over.
    pub(crate) fn drop_todo(&mut self) {
        self.todo.clear();
        self.unsettled.clear();
    }

    // Writing.

    pub(crate) fn act(&mut self, action: Action) -> Done<R> {
        self.apply(&action)?;
        self.actions.push(action);
        Ok(())
    }

    /// Appends an event with the run's next number.
    pub(crate) fn tell(&mut self, what: What) -> Done<R> {
        let event = Event {
            run: self.run.clone(),
            seq: self.of_run(|run| run.seq)? + 1,
            at_ms: self.now_ms,
            what,
        };
        self.act(Action::Append(event))
    }

    pub(crate) fn notify(
        &mut self,
        kind: NoticeKind,
        task: Option<&TaskRow>,
        message: impl Into<String>,
    ) -> Done<R> {
        let notice = Notice {
            run: self.run.clone(),
            task: task.map(|task| task.id.clone()),
            kind,
            message: message.into(),
            assignee: task.and_then(|task| task.assignee.clone()),
        };
        self.act(Action::Notify(notice))
    }

    /// Keeps what was said in an attempt that is about to end.
    pub(crate) fn keep_call(&mut self, task: &TaskId, call: &ModelCall) -> Done<R> {
        let row = CallRow {
            task: task.clone(),
            seq: self.of_run(|run| run.seq)? + 1,
            attempt: self.of_task(task, |row| row.attempt)?,
            call: call.clone(),
        };
        self.act(Action::KeepCall(Box::new(row)))
    }

    pub(crate) fn create(&mut self, task: NewTask) -> Done<R> {
        let what = What::TaskCreated {
            task: task.id.clone(),
            kind: task.kind,
            begin: task.begin,
            from: task.from.clone(),
        };
        self.act(Action::CreateTask(Box::new(task)))?;
        self.tell(what)
    }

    pub(crate) fn change(&mut self, task: &TaskId, change: TaskChange) -> Done<R> {
        self.act(Action::SetTask {
            task: task.clone(),
            change: Box::new(change),
        })
    }

    /// Moves a task and says so.
    pub(crate) fn shift(&mut self, task: &TaskId, by: Move, why: Option<String>) -> Done<R> {
        self.act(Action::MoveTask {
            task: task.clone(),
            by,
        })?;
        let attempt = self.of_task(task, |row| row.attempt)?;
        if by.to().is_terminal() {
            self.unsettle(&task.path);
        }
        let Ending { class, spent } = std::mem::take(&mut self.ending);
        self.tell(What::TaskMoved {
            task: task.clone(),
            by,
            attempt,
            why,
            class,
            spent: (spent != Spent::default()).then_some(spent),
        })
    }

    /// Puts a task on hold, and the run on pause where the task is the reason for it.
    pub(crate) fn hold(&mut self, task: &TaskId, by: Move, hold: Hold) -> Done<R> {
        self.change(
            task,
            TaskChange {
                hold: Some(Some(hold.clone())),
                ..TaskChange::default()
            },
        )?;
        self.shift(task, by, Some(hold.reason.clone()))?;
        let row = self.the_task(task)?;
        self.notify(NoticeKind::OnHold, Some(&row), hold.reason.clone())?;
        if hold.kind.pauses() {
            self.pause(Pause::Task(task.clone()), hold.reason)?;
        }
        Ok(())
    }

    pub(crate) fn pause(&mut self, by: Pause, reason: String) -> Done<R> {
        let run = self.the_run()?;
        if run.status != RunStatus::Running {
            return Ok(());
        }
        self.act(Action::SetRun {
            run: run.id.clone(),
            status: RunStatus::Paused,
            reason: Some(reason.clone()),
            pause: Some(by),
        })?;
        self.tell(What::RunPaused {
            reason: reason.clone(),
        })?;
        self.notify(NoticeKind::RunPaused, None, reason)?;
        self.tell_parent_of_pause(&run)
    }
}

fn values<K, T>(rows: Vec<(K, Option<T>)>) -> Vec<T> {
    rows.into_iter().filter_map(|(_, row)| row).collect()
}

pub(crate) fn no_run<E>(run: &RunId) -> Stop<E> {
    let message = format!("There is no run `{run}`.");
    Stop::Refused(Refusal::new(RefusalKind::NoSuchRun, message))
}

pub(crate) fn no_task<E>(task: &TaskId) -> Stop<E> {
    let message = format!("There is no task `{task}`.");
    Stop::Refused(Refusal::new(RefusalKind::NoSuchTask, message))
}

/// What cannot be, unless a store hands out rows that do not fit together.
pub(crate) fn broken<E>(what: String) -> Stop<E> {
    let message = format!("The stored run is broken: {what}.");
    Stop::Refused(Refusal::new(RefusalKind::Broken, message))
}
