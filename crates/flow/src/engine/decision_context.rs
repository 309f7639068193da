//! The context of one decision: reads rows through a cache, records actions, and applies them at
//! once, so that later reads see them.
// tidy: allow long-file, because it is one overlay over all rows of a decision

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use crate::engine::action::{
    EngineAction, EventKind, NewTask, Notice, NoticeKind, RunEvent, TaskChange,
};
use crate::engine::call::{CallRow, ModelCall};
use crate::engine::command::{CommandRefusal, RefusalKind};
use crate::engine::rows::{
    BudgetScope, FailureClass, GroupRow, ItemRow, PauseCause, RowSource, RunRow, SlotKey, SlotRow,
    SpentAmount, StepAddress, TaskHold, TaskRow, TimerRow,
};
use crate::engine::status::{ItemStatus, RunStatus, StatusMove};
use crate::engine::table::RowTable;
use crate::engine::{DecisionStop, EngineDecision, RowChanges};
use crate::id::{ItemPath, RunId, StepId, TaskId, group_of};
use crate::workflow::{Workflow, WorkflowStep};

/// Work that this decision still has to do.
#[derive(Clone, Debug)]
pub(crate) enum DeferredWork {
    /// A path reaches a step.
    Enter(StepEntry),
    /// Items of a foreach may begin, or the foreach may end.
    Advance(TaskId),
    /// A join of branches may fire.
    Weigh(TaskId),
    /// A foreach, a join or a subflow has got its results.
    Conclude { task: TaskId, output: Value },
}

/// A path that reaches a step.
#[derive(Clone, Debug)]
pub(crate) struct StepEntry {
    pub(crate) step: StepId,
    pub(crate) path: ItemPath,
    pub(crate) from: Option<TaskId>,
    pub(crate) failed: bool,
    pub(crate) passed: Vec<(StepId, u32)>,
}

/// The rows, actions and remaining work of one decision.
pub(crate) struct DecisionContext<'a, R: RowSource> {
    pub(crate) workflow: &'a Workflow,
    pub(crate) rows: &'a mut R,
    pub(crate) run: RunId,
    pub(crate) now_ms: u64,
    pub(crate) todo: VecDeque<DeferredWork>,
    /// The scopes in which a task ended, checked after all other work of this decision. The
    /// innermost comes first.
    unsettled: BTreeSet<(Reverse<usize>, ItemPath)>,
    pub(crate) input: Option<Value>,
    pub(crate) runs: RowTable<RunId, RunRow>,
    pub(crate) tasks: RowTable<TaskId, TaskRow>,
    pub(crate) groups: RowTable<TaskId, GroupRow>,
    pub(crate) items: RowTable<(TaskId, u32), ItemRow>,
    pub(crate) timers: RowTable<(RunId, String), TimerRow>,
    pub(crate) slots: RowTable<SlotKey, SlotRow>,
    pub(crate) visits: HashMap<StepAddress, u32>,
    pub(crate) completed: HashMap<StepAddress, TaskId>,
    actions: Vec<EngineAction>,
    /// The attempt that the next status change of a task ends.
    pub(crate) ending: AttemptEnding,
}

/// The failure and spending of an attempt that ends.
#[derive(Default)]
pub(crate) struct AttemptEnding {
    pub(crate) class: Option<FailureClass>,
    pub(crate) spent: SpentAmount,
    pub(crate) budget: Option<BudgetScope>,
}

/// The result of a part of a decision.
pub(crate) type DecisionResult<R, T = ()> = Result<T, DecisionStop<<R as RowSource>::Error>>;

impl<'a, R: RowSource> DecisionContext<'a, R> {
    pub(crate) fn new(
        workflow: &'a Workflow,
        rows: &'a mut R,
        run: RunId,
        now_ms: u64,
    ) -> DecisionContext<'a, R> {
        DecisionContext {
            workflow,
            rows,
            run,
            now_ms,
            todo: VecDeque::new(),
            unsettled: BTreeSet::new(),
            input: None,
            runs: RowTable::default(),
            tasks: RowTable::default(),
            groups: RowTable::default(),
            items: RowTable::default(),
            timers: RowTable::default(),
            slots: RowTable::default(),
            visits: HashMap::new(),
            completed: HashMap::new(),
            actions: Vec::new(),
            ending: AttemptEnding::default(),
        }
    }

    pub(crate) fn finish(self) -> EngineDecision {
        let mut changes = RowChanges {
            runs: values(self.runs.changed()),
            tasks: values(self.tasks.changed()),
            taken: self.tasks.ceased(TaskRow::is_claimable),
            groups: values(self.groups.changed()),
            items: values(self.items.changed()),
            timers: self.timers.changed().into_iter().collect(),
            slots: self.slots.changed(),
            ..RowChanges::default()
        };
        for action in &self.actions {
            match action {
                EngineAction::CreateRun { row, input } => {
                    changes.inputs.push((row.id.clone(), input.clone()));
                }
                EngineAction::Append(event) => changes.events.push(event.clone()),
                EngineAction::Notify(notice) => changes.notices.push(notice.clone()),
                EngineAction::KeepCall(call) => changes.calls.push((**call).clone()),
                _ => {}
            }
        }
        EngineDecision {
            actions: self.actions,
            changes,
        }
    }

    // Reading: rows changed by this decision come from here, all others from the store.

    pub(crate) fn find_run(&mut self, run: &RunId) -> DecisionResult<R, Option<Arc<RunRow>>> {
        self.load_run(run)?;
        Ok(self.runs.get(run).flatten().cloned())
    }

    pub(crate) fn load_run(&mut self, run: &RunId) -> DecisionResult<R> {
        if self.runs.get(run).is_none() {
            let found = self.rows.run(run).map_err(DecisionStop::Rows)?;
            self.runs.learn(run.clone(), found);
        }
        Ok(())
    }

    /// Reads something of the command's run, without copying the whole row.
    pub(crate) fn of_run<T>(&mut self, read: impl FnOnce(&RunRow) -> T) -> DecisionResult<R, T> {
        let run = self.run.clone();
        self.load_run(&run)?;
        match self.runs.get(&run).flatten() {
            Some(row) => Ok(read(row)),
            None => Err(no_run(&run)),
        }
    }

    /// Returns the command's run.
    pub(crate) fn the_run(&mut self) -> DecisionResult<R, Arc<RunRow>> {
        let run = self.run.clone();
        let found = self.find_run(&run)?;
        found.ok_or_else(|| no_run(&run))
    }

    /// Returns the input of the run.
    pub(crate) fn input(&mut self) -> DecisionResult<R, Value> {
        if self.input.is_none() {
            self.input = self.rows.input(&self.run).map_err(DecisionStop::Rows)?;
        }
        Ok(self.input.clone().unwrap_or_default())
    }

    pub(crate) fn find_task(&mut self, task: &TaskId) -> DecisionResult<R, Option<Arc<TaskRow>>> {
        self.load_task(task)?;
        Ok(self.tasks.get(task).flatten().cloned())
    }

    pub(crate) fn load_task(&mut self, task: &TaskId) -> DecisionResult<R> {
        if self.tasks.get(task).is_none() {
            let found = self.rows.task(task).map_err(DecisionStop::Rows)?;
            self.tasks.learn(task.clone(), found);
        }
        Ok(())
    }

    /// Reads something of a task, without copying the whole row.
    pub(crate) fn of_task<T>(
        &mut self,
        task: &TaskId,
        read: impl FnOnce(&TaskRow) -> T,
    ) -> DecisionResult<R, T> {
        self.load_task(task)?;
        match self.tasks.get(task).flatten() {
            Some(row) => Ok(read(row)),
            None => Err(no_task(task)),
        }
    }

    pub(crate) fn the_task(&mut self, task: &TaskId) -> DecisionResult<R, Arc<TaskRow>> {
        let found = self.find_task(task)?;
        found.ok_or_else(|| no_task(task))
    }

    pub(crate) fn the_group(&mut self, group: &TaskId) -> DecisionResult<R, Arc<GroupRow>> {
        if self.groups.get(group).is_none() {
            let found = self.rows.group(group).map_err(DecisionStop::Rows)?;
            self.groups.learn(group.clone(), found);
        }
        let found = self.groups.get(group).flatten().cloned();
        found.ok_or_else(|| broken(format!("the foreach `{group}` has no items")))
    }

    /// Tells whether a foreach has got its items.
    pub(crate) fn is_opened(&mut self, group: &TaskId) -> DecisionResult<R, bool> {
        if self.groups.get(group).is_none() {
            let found = self.rows.group(group).map_err(DecisionStop::Rows)?;
            self.groups.learn(group.clone(), found);
        }
        Ok(self.groups.get(group).flatten().is_some())
    }

    pub(crate) fn the_item(
        &mut self,
        group: &TaskId,
        index: u32,
    ) -> DecisionResult<R, Arc<ItemRow>> {
        let key = (group.clone(), index);
        if self.items.get(&key).is_none() {
            let found = self.rows.item(group, index).map_err(DecisionStop::Rows)?;
            self.items.learn(key.clone(), found);
        }
        let found = self.items.get(&key).flatten().cloned();
        found.ok_or_else(|| broken(format!("the foreach `{group}` has no item {index}")))
    }

    pub(crate) fn all_items(&mut self, group: &TaskId) -> DecisionResult<R, Vec<Arc<ItemRow>>> {
        let stored = self.rows.items(group).map_err(DecisionStop::Rows)?;
        let mut items: BTreeMap<u32, Arc<ItemRow>> =
            stored.into_iter().map(|item| (item.index, item)).collect();
        let ours = self.items.iter().filter(|((of, _), _)| of == group);
        items.extend(ours.map(|((_, index), item)| (*index, item.clone())));
        Ok(items.into_values().collect())
    }

    /// Returns the outputs of some tasks, in their order.
    pub(crate) fn outputs(&mut self, tasks: &[TaskId]) -> DecisionResult<R, Vec<Option<Value>>> {
        let stored = self.rows.outputs(tasks).map_err(DecisionStop::Rows)?;
        let outputs = tasks
            .iter()
            .zip(stored)
            .map(|(task, stored)| match self.tasks.get(task) {
                Some(Some(row)) => row.output.clone(),
                _ => stored,
            });
        Ok(outputs.collect())
    }

    pub(crate) fn visits(&mut self, place: &StepAddress) -> DecisionResult<R, u32> {
        if let Some(visits) = self.visits.get(place) {
            return Ok(*visits);
        }
        let around = group_of(&place.run, &place.path);
        let visits = match around.is_some_and(|(group, index)| self.is_untrodden(group, index)) {
            true => 0,
            false => self.rows.visits(place).map_err(DecisionStop::Rows)?,
        };
        self.visits.insert(place.clone(), visits);
        Ok(visits)
    }

    /// Tells whether no task can have existed inside an item before this decision.
    fn is_untrodden(&self, group: TaskId, index: u32) -> bool {
        if self.groups.is_new(&group) {
            return true;
        }
        let is_pristine = |row: &Arc<GroupRow>| row.pristine;
        let was_waiting = |row: &ItemRow| row.status == ItemStatus::Waiting;
        self.groups.get(&group).flatten().is_some_and(is_pristine)
            && self.items.was(&(group, index)).is_some_and(was_waiting)
    }

    /// Returns the last completed visit of a step under a path.
    pub(crate) fn completed(
        &mut self,
        place: &StepAddress,
    ) -> DecisionResult<R, Option<Arc<TaskRow>>> {
        match self.completed.get(place).cloned() {
            Some(task) => self.find_task(&task),
            None => self.rows.completed(place).map_err(DecisionStop::Rows),
        }
    }

    /// Returns the tasks directly under a path that have not ended.
    pub(crate) fn active(&mut self, path: &ItemPath) -> DecisionResult<R, Vec<Arc<TaskRow>>> {
        let stored = self
            .rows
            .active(&self.run, path)
            .map_err(DecisionStop::Rows)?;
        Ok(self.merged(stored, |task| task.path == *path))
    }

    /// Returns the tasks under a path and inside its items that have not ended.
    pub(crate) fn active_within(
        &mut self,
        path: &ItemPath,
    ) -> DecisionResult<R, Vec<Arc<TaskRow>>> {
        let stored = self
            .rows
            .active_within(&self.run, path)
            .map_err(DecisionStop::Rows)?;
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

    pub(crate) fn find_timer(
        &mut self,
        run: &RunId,
        key: &str,
    ) -> DecisionResult<R, Option<Arc<TimerRow>>> {
        let id = (run.clone(), key.to_owned());
        if self.timers.get(&id).is_none() {
            let found = self.rows.timer(run, key).map_err(DecisionStop::Rows)?;
            self.timers.learn(id.clone(), found);
        }
        Ok(self.timers.get(&id).flatten().cloned())
    }

    pub(crate) fn the_step(&self, id: &StepId) -> DecisionResult<R, &'a WorkflowStep> {
        self.workflow.step(id).ok_or_else(|| {
            let message =
                format!("The workflow has no step `{id}`: it is not the one of this run.");
            DecisionStop::Refused(CommandRefusal::new(RefusalKind::WrongWorkflow, message))
        })
    }

    // Work that is left for this decision.

    /// Checks a scope again when no other work is left.
    pub(crate) fn unsettle(&mut self, path: &ItemPath) {
        let depth = Reverse(path.items().len());
        self.unsettled.insert((depth, path.clone()));
    }

    pub(crate) fn next_unsettled(&mut self) -> Option<ItemPath> {
        self.unsettled.pop_first().map(|(_, path)| path)
    }

    /// Drops all remaining work: the run has ended.
    pub(crate) fn drop_todo(&mut self) {
        self.todo.clear();
        self.unsettled.clear();
    }

    // Writing.

    pub(crate) fn act(&mut self, action: EngineAction) -> DecisionResult<R> {
        self.apply(&action)?;
        self.actions.push(action);
        Ok(())
    }

    /// Appends an event with the run's next number.
    pub(crate) fn tell(&mut self, what: EventKind) -> DecisionResult<R> {
        let event = RunEvent {
            run: self.run.clone(),
            seq: self.of_run(|run| run.seq)? + 1,
            at_ms: self.now_ms,
            what,
        };
        self.act(EngineAction::Append(event))
    }

    pub(crate) fn notify(
        &mut self,
        kind: NoticeKind,
        task: Option<&TaskRow>,
        message: impl Into<String>,
    ) -> DecisionResult<R> {
        let notice = Notice {
            run: self.run.clone(),
            task: task.map(|task| task.id.clone()),
            kind,
            message: message.into(),
            assignee: task.and_then(|task| task.assignee.clone()),
        };
        self.act(EngineAction::Notify(notice))
    }

    /// Records the model call of an attempt that is about to end.
    pub(crate) fn keep_call(&mut self, task: &TaskId, call: &ModelCall) -> DecisionResult<R> {
        let row = CallRow {
            task: task.clone(),
            seq: self.of_run(|run| run.seq)? + 1,
            attempt: self.of_task(task, |row| row.attempt)?,
            call: call.clone(),
        };
        self.act(EngineAction::KeepCall(Box::new(row)))
    }

    pub(crate) fn create(&mut self, task: NewTask) -> DecisionResult<R> {
        let what = EventKind::TaskCreated {
            task: task.id.clone(),
            kind: task.kind,
            begin: task.begin,
            from: task.from.clone(),
        };
        self.act(EngineAction::CreateTask(Box::new(task)))?;
        self.tell(what)
    }

    pub(crate) fn change(&mut self, task: &TaskId, change: TaskChange) -> DecisionResult<R> {
        self.act(EngineAction::SetTask {
            task: task.clone(),
            change: Box::new(change),
        })
    }

    /// Changes a task's status, and records the event.
    pub(crate) fn shift(
        &mut self,
        task: &TaskId,
        by: StatusMove,
        why: Option<String>,
    ) -> DecisionResult<R> {
        self.act(EngineAction::MoveTask {
            task: task.clone(),
            by,
        })?;
        let attempt = self.of_task(task, |row| row.attempt)?;
        if by.to().is_terminal() {
            self.unsettle(&task.path);
        }
        let AttemptEnding {
            class,
            spent,
            budget,
        } = std::mem::take(&mut self.ending);
        self.tell(EventKind::TaskMoved {
            task: task.clone(),
            by,
            attempt,
            why,
            class,
            spent: (spent != SpentAmount::default()).then_some(spent),
            budget,
        })
    }

    /// Puts a task on hold, and pauses the run if the reason requires it.
    pub(crate) fn hold(
        &mut self,
        task: &TaskId,
        by: StatusMove,
        hold: TaskHold,
    ) -> DecisionResult<R> {
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
            self.pause(PauseCause::Task(task.clone()), hold.reason)?;
        }
        Ok(())
    }

    pub(crate) fn pause(&mut self, by: PauseCause, reason: String) -> DecisionResult<R> {
        let run = self.the_run()?;
        if run.status != RunStatus::Running {
            return Ok(());
        }
        self.act(EngineAction::SetRun {
            run: run.id.clone(),
            status: RunStatus::Paused,
            reason: Some(reason.clone()),
            pause: Some(by),
        })?;
        self.tell(EventKind::RunPaused {
            reason: reason.clone(),
        })?;
        self.notify(NoticeKind::RunPaused, None, reason)?;
        self.tell_parent_of_pause(&run)
    }
}

fn values<K, T>(rows: Vec<(K, Option<T>)>) -> Vec<T> {
    rows.into_iter().filter_map(|(_, row)| row).collect()
}

pub(crate) fn no_run<E>(run: &RunId) -> DecisionStop<E> {
    let message = format!("There is no run `{run}`.");
    DecisionStop::Refused(CommandRefusal::new(RefusalKind::NoSuchRun, message))
}

pub(crate) fn no_task<E>(task: &TaskId) -> DecisionStop<E> {
    let message = format!("There is no task `{task}`.");
    DecisionStop::Refused(CommandRefusal::new(RefusalKind::NoSuchTask, message))
}

/// The error for rows that contradict each other, which only a faulty store returns.
pub(crate) fn broken<E>(what: String) -> DecisionStop<E> {
    let message = format!("The stored run is broken: {what}.");
    DecisionStop::Refused(CommandRefusal::new(RefusalKind::Broken, message))
}
