//! Applies actions to rows: the only place where rows change.

use crate::engine::action::{EngineAction, NewTask};
use crate::engine::decision_context::{DecisionContext, DecisionResult, broken, no_run, no_task};
use crate::engine::rows::{GroupRow, ItemRow, RowSource, RunRow, SpentAmount, TaskRow};
use crate::engine::status::{ItemStatus, StatusMove, TaskStatus};
use crate::id::TaskId;

impl<R: RowSource> DecisionContext<'_, R> {
    pub(crate) fn apply(&mut self, action: &EngineAction) -> DecisionResult<R> {
        match action {
            EngineAction::CreateRun { row, input } => {
                self.runs.put(row.id.clone(), (**row).clone());
                self.input = Some(input.clone());
            }
            EngineAction::CreateTask(task) => self.apply_create(task)?,
            EngineAction::MoveTask { task, by } => self.apply_move(task, *by)?,
            EngineAction::SetTask { task, change } => {
                self.edit_task(task, |row| change.put_on(row))?;
                let spent = change.spent;
                if spent != SpentAmount::default() {
                    self.edit_run(|run| run.spent = added(run.spent, spent))?;
                }
            }
            EngineAction::Arrive { join, arrival } => {
                self.edit_task(join, |row| row.arrivals.push(arrival.clone()))?;
            }
            EngineAction::SetRun {
                status,
                reason,
                pause,
                ..
            } => {
                let ended = status.is_terminal().then_some(self.now_ms);
                self.edit_run(|run| {
                    run.status = *status;
                    run.reason.clone_from(reason);
                    run.pause.clone_from(pause);
                    run.ended_ms = ended;
                })?;
            }
            EngineAction::SetWorkflow { workflow, .. } => {
                self.edit_run(|run| run.workflow = workflow.clone())?;
            }
            EngineAction::SetSlot {
                slot, is_queued, ..
            } => self.edit_run(|run| {
                run.slot = Some(slot.clone());
                run.is_queued = *is_queued;
            })?,
            EngineAction::SetSignals { signals, .. } => {
                self.edit_run(|run| run.signals.clone_from(signals))?;
            }
            EngineAction::SetRunResult { result, .. } => {
                self.edit_run(|run| run.result = Some(result.clone()))?;
            }
            EngineAction::Append(event) => self.edit_run(|run| {
                run.seq = event.seq;
                run.quiet_since = None;
            })?,
            EngineAction::Arm(timer) => {
                let key = (timer.run.clone(), timer.key.clone());
                self.timers.put(key, timer.clone());
            }
            EngineAction::Disarm { run, key } => {
                self.find_timer(run, key)?;
                self.timers.set((run.clone(), key.clone()), None);
            }
            EngineAction::Notify(_) | EngineAction::KeepCall(_) => {}
            grouped => self.apply_to_group(grouped)?,
        }
        Ok(())
    }

    fn apply_create(&mut self, task: &NewTask) -> DecisionResult<R> {
        // A database refuses a second task with this key anyway; this finds the mistake earlier.
        if self.tasks.get(&task.id).flatten().is_some() {
            return Err(broken(format!("the task `{}` exists already", task.id)));
        }
        let visits = self.visits(&task.id.place())?;
        self.visits
            .insert(task.id.place(), visits.max(task.id.visit));
        self.tasks.put(task.id.clone(), task.row());
        self.edit_run(|run| run.active += 1)?;
        self.edit_item_of(&task.id, |item| item.active += 1)
    }

    fn apply_move(&mut self, task: &TaskId, by: StatusMove) -> DecisionResult<R> {
        let before = self.of_task(task, |row| row.status)?;
        if before != by.from() {
            let (is, from) = (before.name(), by.from().name());
            return Err(broken(format!("the task `{task}` is {is} and not {from}")));
        }
        let now_ms = self.now_ms;
        self.edit_task(task, |row| {
            row.status = by.to();
            row.lease = row.lease.take().filter(|_| by == StatusMove::Claim);
            row.ended_ms = by.to().is_terminal().then_some(now_ms);
            if matches!(by, StatusMove::CancelInProgress) {
                // The new fence refuses the reports of the worker that has the task now.
                row.fence += 1;
            }
        })?;
        if by == StatusMove::Claim || by.from() == TaskStatus::InProgress {
            self.hold_slot(task, by == StatusMove::Claim)?;
        }
        if matches!(by, StatusMove::Complete | StatusMove::Finish) {
            self.completed.insert(task.place(), task.clone());
        }
        if by.to().is_terminal() {
            self.edit_run(|run| run.active = run.active.saturating_sub(1))?;
            self.edit_item_of(task, |item| item.active = item.active.saturating_sub(1))?;
        }
        Ok(())
    }

    fn apply_to_group(&mut self, action: &EngineAction) -> DecisionResult<R> {
        match action {
            EngineAction::OpenGroup { group, items } => {
                let total = u32::try_from(items.len()).unwrap_or(u32::MAX);
                self.groups.put(group.clone(), GroupRow::open(group, total));
                for (index, value) in (0_u32..).zip(items) {
                    let item = ItemRow::waiting(group, index, value.clone());
                    self.items.put((group.clone(), index), item);
                }
            }
            EngineAction::ContinueGroup { group, of, items } => {
                self.groups
                    .put(group.clone(), GroupRow::continued(group, of, items));
                for item in items {
                    self.items.put((group.clone(), item.index), item.clone());
                }
            }
            EngineAction::CloseGroup { group } => {
                self.edit_group(group, |row| row.closed = true)?
            }
            EngineAction::ReopenGroup { group } => self.edit_group(group, |row| {
                row.closed = false;
                row.pristine = false;
                row.next = 0;
            })?,
            item => self.apply_to_item(item)?,
        }
        Ok(())
    }

    fn apply_to_item(&mut self, action: &EngineAction) -> DecisionResult<R> {
        match action {
            EngineAction::StartItem { group, index } => {
                self.edit_item(group, *index, |item| item.status = ItemStatus::Running)?;
                self.edit_group(group, |row| {
                    row.next = row.next.max(index + 1);
                    row.running += 1;
                })?;
            }
            EngineAction::ResumeItem { group, index } => {
                self.edit_item(group, *index, |item| item.status = ItemStatus::Running)?;
                self.edit_group(group, |row| row.running += 1)?;
            }
            EngineAction::SetItemResult {
                group,
                index,
                result,
            } => {
                self.edit_item(group, *index, |item| item.result = Some(result.clone()))?;
            }
            EngineAction::SetItemFailure {
                group,
                index,
                failure,
            } => {
                self.edit_item(group, *index, |item| item.failure = Some(failure.clone()))?;
            }
            EngineAction::EndItem {
                group,
                index,
                status,
            } => {
                self.edit_item(group, *index, |item| item.status = *status)?;
                self.edit_group(group, |row| {
                    row.running = row.running.saturating_sub(1);
                    match status {
                        ItemStatus::Succeeded => row.succeeded += 1,
                        ItemStatus::Failed => row.failed += 1,
                        _ => {}
                    }
                })?;
            }
            EngineAction::ReopenItem { group, index } => {
                let was = self.the_item(group, *index)?.status;
                self.edit_item(group, *index, |item| {
                    item.status = ItemStatus::Waiting;
                    item.failure = None;
                    item.result = None;
                })?;
                self.edit_group(group, |row| {
                    row.pristine = false;
                    match was {
                        ItemStatus::Succeeded => row.succeeded = row.succeeded.saturating_sub(1),
                        ItemStatus::Failed => row.failed = row.failed.saturating_sub(1),
                        _ => {}
                    }
                })?;
            }
            _ => {}
        }
        Ok(())
    }

    fn edit_run(&mut self, edit: impl FnOnce(&mut RunRow)) -> DecisionResult<R> {
        let run = self.run.clone();
        self.load_run(&run)?;
        match self.runs.get_mut(&run) {
            Some(row) => edit(row),
            None => return Err(no_run(&run)),
        }
        Ok(())
    }

    fn edit_task(&mut self, task: &TaskId, edit: impl FnOnce(&mut TaskRow)) -> DecisionResult<R> {
        self.load_task(task)?;
        let Some(row) = self.tasks.get_mut(task) else {
            return Err(no_task(task));
        };
        let before = row.is_overdue();
        edit(row);
        match (before, row.is_overdue()) {
            (false, true) => self.edit_run(|run| run.overdue += 1),
            (true, false) => self.edit_run(|run| run.overdue = run.overdue.saturating_sub(1)),
            _ => Ok(()),
        }
    }

    fn edit_group(
        &mut self,
        group: &TaskId,
        edit: impl FnOnce(&mut GroupRow),
    ) -> DecisionResult<R> {
        self.the_group(group)?;
        if let Some(row) = self.groups.get_mut(group) {
            edit(row);
        }
        Ok(())
    }

    fn edit_item(
        &mut self,
        group: &TaskId,
        index: u32,
        edit: impl FnOnce(&mut ItemRow),
    ) -> DecisionResult<R> {
        self.the_item(group, index)?;
        if let Some(row) = self.items.get_mut(&(group.clone(), index)) {
            edit(row);
        }
        Ok(())
    }

    fn edit_item_of(
        &mut self,
        task: &TaskId,
        edit: impl FnOnce(&mut ItemRow),
    ) -> DecisionResult<R> {
        match task.group() {
            Some((group, index)) => self.edit_item(&group, index, edit),
            None => Ok(()),
        }
    }
}

fn added(left: SpentAmount, right: SpentAmount) -> SpentAmount {
    SpentAmount {
        tokens: left.tokens.saturating_add(right.tokens),
        micros: left.micros.saturating_add(right.micros),
    }
}
