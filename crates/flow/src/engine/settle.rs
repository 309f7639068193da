//! Works through the consequences of a command, and ends the scopes that have nothing active any
//! more.

use serde_json::Value;

use crate::engine::DecisionStop;
use crate::engine::action::{EngineAction, EventKind, NoticeKind, TaskChange};
use crate::engine::decision_context::{DecisionContext, DeferredWork};
use crate::engine::eval_scope::EvalScope;
use crate::engine::route::RouteOrigin;
use crate::engine::rows::{
    ChildEnd, HoldKind, PauseCause, RowSource, RunRow, TaskHold, TaskRow, WorkflowTaskKind,
};
use crate::engine::status::{ItemStatus, RunStatus, StatusMove, TaskStatus};
use crate::id::{ItemPath, group_of};

impl<R: RowSource> DecisionContext<'_, R> {
    /// Works until nothing is left. Scopes come last, the innermost first, so that no scope seems
    /// to have ended while a path is still on its way.
    pub(crate) fn work_off(&mut self) -> Result<(), DecisionStop<R::Error>> {
        loop {
            while let Some(todo) = self.todo.pop_front() {
                match todo {
                    DeferredWork::Enter(enter) => self.enter(&enter)?,
                    DeferredWork::Advance(group) => self.advance(&group)?,
                    DeferredWork::Weigh(join) => self.weigh(&join, false)?,
                    DeferredWork::Conclude { task, output } => self.conclude(&task, output)?,
                }
            }
            match self.next_unsettled() {
                Some(path) => self.settle(&path)?,
                None => return self.pause_if_stuck(),
            }
        }
    }

    /// Pauses a run in which only overdue tasks are left.
    fn pause_if_stuck(&mut self) -> Result<(), DecisionStop<R::Error>> {
        let run = self.run.clone();
        let is_overdue = |run: &RunRow| run.overdue > 0 && run.status == RunStatus::Running;
        if !self.find_run(&run)?.is_some_and(|run| is_overdue(&run)) {
            return Ok(());
        }
        let active = self.active_within(&ItemPath::default())?;
        if active.iter().any(|row| goes_on(row)) {
            return Ok(());
        }
        let oldest = active.iter().filter(|row| row.is_overdue());
        let oldest = oldest.min_by_key(|row| (row.created_ms, row.id.clone()));
        match oldest {
            Some(row) => {
                let reason = row.hold.as_ref().map(|hold| hold.reason.clone());
                self.pause(PauseCause::Task(row.id.clone()), reason.unwrap_or_default())
            }
            None => Ok(()),
        }
    }

    fn settle(&mut self, path: &ItemPath) -> Result<(), DecisionStop<R::Error>> {
        if self.of_run(|run| run.status.is_terminal())? {
            return Ok(());
        }
        if self.settle_joins(path)? {
            self.unsettle(path);
            return Ok(());
        }
        match group_of(&self.run, path) {
            Some((group, index)) => {
                let item = self.the_item(&group, index)?;
                if item.active == 0 && item.status == ItemStatus::Running {
                    self.end_item(&group, index)?;
                }
                Ok(())
            }
            None if self.of_run(|run| run.active)? == 0 => self.end_run(RunStatus::Completed, None),
            None => Ok(()),
        }
    }

    /// Completes a foreach, a join or a subflow with this output, and continues behind it.
    fn conclude(
        &mut self,
        task: &crate::id::TaskId,
        output: Value,
    ) -> Result<(), DecisionStop<R::Error>> {
        let row = self.the_task(task)?;
        if row.status != TaskStatus::Waiting {
            return Ok(());
        }
        self.complete(&row, output, (StatusMove::Finish, StatusMove::HoldWaiting))
    }

    /// Completes a task by the first move and continues behind it. If no next step can be found,
    /// the second move puts it on hold with its output.
    pub(crate) fn complete(
        &mut self,
        row: &TaskRow,
        output: Value,
        (end, hold): (StatusMove, StatusMove),
    ) -> Result<(), DecisionStop<R::Error>> {
        let step = self.the_step(&row.id.step)?;
        let sealed = self.is_sealed(&row.id.path)?;
        let ways = match row.kind {
            _ if sealed => Vec::new(),
            WorkflowTaskKind::Foreach => self.way_out(step),
            _ => self.next(&step.id),
        };
        let is_end = ways.is_empty();
        let view = EvalScope::after(row, &output);
        let planned = self.plan(ways, &view, Some(&row.id))?;
        self.keep_output(&row.id, Some(output))?;
        let plan = match planned {
            Ok(plan) => plan,
            Err(reason) => {
                let kind = HoldKind::Routing;
                return self.hold(&row.id, hold, TaskHold { kind, reason });
            }
        };
        self.clear_marks(row)?;
        self.disarm_of(&row.id)?;
        self.shift(&row.id, end, None)?;
        if is_end {
            self.end_of_path(row)?;
        }
        let passed = self.of_task(&row.id, |row| row.passed.clone())?;
        self.follow(
            plan,
            &RouteOrigin {
                path: row.id.path.clone(),
                from: Some(row.id.clone()),
                failed: false,
                passed,
            },
        )
    }

    fn clear_marks(&mut self, row: &TaskRow) -> Result<(), DecisionStop<R::Error>> {
        if row.hold.is_none() && row.failure.is_none() && row.note.is_none() {
            return Ok(());
        }
        self.change(
            &row.id,
            TaskChange {
                hold: Some(None),
                failure: Some(None),
                note: Some(None),
                ..TaskChange::default()
            },
        )
    }

    /// Tells whether a foreach around a path has ended, so that a task that ends there leads
    /// nowhere.
    pub(crate) fn is_sealed(&mut self, path: &ItemPath) -> Result<bool, DecisionStop<R::Error>> {
        for depth in 1..=path.items().len() {
            let Some((group, _)) = group_of(&self.run, &path.outer(depth)) else {
                continue;
            };
            if self.the_group(&group)?.closed
                || self.of_task(&group, |row| row.status.is_terminal())?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Ends a path with this task: its output becomes the item's or the run's.
    fn end_of_path(&mut self, row: &TaskRow) -> Result<(), DecisionStop<R::Error>> {
        match row.id.group() {
            Some((group, index)) => {
                let item = self.the_item(&group, index)?;
                if item.result.is_some() || item.status.is_terminal() {
                    return Ok(());
                }
                self.act(EngineAction::SetItemResult {
                    group,
                    index,
                    result: row.id.clone(),
                })
            }
            None => self.act(EngineAction::SetRunResult {
                run: self.run.clone(),
                result: row.id.clone(),
            }),
        }
    }

    /// Ends the run, and tells the parent run.
    pub(crate) fn end_run(
        &mut self,
        status: RunStatus,
        reason: Option<String>,
    ) -> Result<(), DecisionStop<R::Error>> {
        let word = reason.clone().unwrap_or_default();
        if status != RunStatus::Completed {
            for row in self.active_within(&ItemPath::default())? {
                self.cancel_task(&row, &word)?;
            }
        }
        self.drop_todo();
        self.leave_slot()?;
        self.act(EngineAction::SetRun {
            run: self.run.clone(),
            status,
            reason: reason.clone(),
            pause: None,
        })?;
        self.tell(EventKind::RunEnded { status, reason })?;
        let (kind, message) = match status {
            RunStatus::Completed => (NoticeKind::RunCompleted, "The run is completed.".to_owned()),
            RunStatus::Cancelled => (NoticeKind::RunCancelled, word.clone()),
            _ => (NoticeKind::RunFailed, word.clone()),
        };
        self.notify(kind, None, message)?;
        self.tell_parent(status, word)
    }

    fn tell_parent(
        &mut self,
        status: RunStatus,
        message: String,
    ) -> Result<(), DecisionStop<R::Error>> {
        let run = self.the_run()?;
        if run.parent.is_none() {
            return Ok(());
        }
        let end = match status {
            RunStatus::Completed => {
                let result = match &run.result {
                    Some(task) => self.the_task(task)?.output.clone(),
                    None => None,
                };
                ChildEnd::Completed {
                    output: result.unwrap_or_default(),
                }
            }
            RunStatus::Cancelled => ChildEnd::Cancelled { message },
            _ => ChildEnd::Failed {
                message,
                class: None,
            },
        };
        self.tell_parent_of_end(&run, end)
    }
}

/// Tells whether a task can make progress without a person looking after the run: by a worker, a
/// person's ordinary answer, a child run or a timer.
fn goes_on(row: &TaskRow) -> bool {
    let hold = row.hold.as_ref().map(|hold| hold.kind);
    match row.status {
        TaskStatus::Pending | TaskStatus::InProgress => true,
        TaskStatus::Waiting => {
            !matches!(row.kind, WorkflowTaskKind::Foreach | WorkflowTaskKind::Join)
        }
        TaskStatus::OnHold => matches!(hold, Some(HoldKind::Asked | HoldKind::Review)),
        TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled => false,
    }
}
