//! Working off what a command has set in motion, and noticing what is over by it.

use serde_json::Value;

use crate::engine::Stop;
use crate::engine::action::{Action, NoticeKind, TaskChange, What};
use crate::engine::ledger::{Ledger, Todo};
use crate::engine::route::Origin;
use crate::engine::rows::{ChildEnd, Hold, HoldKind, Pause, Rows, RunRow, TaskKind, TaskRow};
use crate::engine::status::{ItemStatus, Move, RunStatus, TaskStatus};
use crate::engine::view::Viewpoint;
use crate::id::{Path, group_of};

impl<R: Rows> Ledger<'_, R> {
    /// Goes on until nothing is to be done. Scopes are looked at last and the innermost first, so
    /// that nothing seems over while something is on its way.
    pub(crate) fn work_off(&mut self) -> Result<(), Stop<R::Error>> {
        loop {
            while let Some(todo) = self.todo.pop_front() {
                match todo {
                    Todo::Enter(enter) => self.enter(&enter)?,
                    Todo::Advance(group) => self.advance(&group)?,
                    Todo::Weigh(join) => self.weigh(&join, false)?,
                    Todo::Conclude { task, output } => self.conclude(&task, output)?,
                }
            }
            match self.next_unsettled() {
                Some(path) => self.settle(&path)?,
                None => return self.pause_if_stuck(),
            }
        }
    }

    /// Pauses a run in which nothing is left but tasks whose time is over.
    fn pause_if_stuck(&mut self) -> Result<(), Stop<R::Error>> {
        let run = self.run.clone();
        let is_overdue = |run: &RunRow| run.overdue > 0 && run.status == RunStatus::Running;
        if !self.find_run(&run)?.is_some_and(|run| is_overdue(&run)) {
            return Ok(());
        }
        let active = self.active_within(&Path::default())?;
        if active.iter().any(|row| goes_on(row)) {
            return Ok(());
        }
        let oldest = active.iter().filter(|row| row.is_overdue());
        let oldest = oldest.min_by_key(|row| (row.created_ms, row.id.clone()));
        match oldest {
            Some(row) => {
                let reason = row.hold.as_ref().map(|hold| hold.reason.clone());
                self.pause(Pause::Task(row.id.clone()), reason.unwrap_or_default())
            }
            None => Ok(()),
        }
    }

    fn settle(&mut self, path: &Path) -> Result<(), Stop<R::Error>> {
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

    /// A foreach, a join or a subflow is done: it ends with this output, and its path goes on.
    fn conclude(&mut self, task: &crate::id::TaskId, output: Value) -> Result<(), Stop<R::Error>> {
        let row = self.the_task(task)?;
        if row.status != TaskStatus::Waiting {
            return Ok(());
        }
        self.complete(&row, output, (Move::Finish, Move::HoldWaiting))
    }

    /// Ends a task well by the first move and goes on behind it; where no way on can be found, the
    /// second move puts it on hold with its output.
    pub(crate) fn complete(
        &mut self,
        row: &TaskRow,
        output: Value,
        (end, hold): (Move, Move),
    ) -> Result<(), Stop<R::Error>> {
        let step = self.the_step(&row.id.step)?;
        let sealed = self.is_sealed(&row.id.path)?;
        let ways = match row.kind {
            _ if sealed => Vec::new(),
            TaskKind::Foreach => self.way_out(step),
            _ => self.next(&step.id),
        };
        let is_end = ways.is_empty();
        let view = Viewpoint::after(row, &output);
        let planned = self.plan(ways, &view, Some(&row.id))?;
        self.keep_output(&row.id, Some(output))?;
        let plan = match planned {
            Ok(plan) => plan,
            Err(reason) => {
                let kind = HoldKind::Routing;
                return self.hold(&row.id, hold, Hold { kind, reason });
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
            &Origin {
                path: row.id.path.clone(),
                from: Some(row.id.clone()),
                failed: false,
                passed,
            },
        )
    }

    fn clear_marks(&mut self, row: &TaskRow) -> Result<(), Stop<R::Error>> {
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

    /// Whether a foreach around a path is over, so that what ends there leads nowhere.
    pub(crate) fn is_sealed(&mut self, path: &Path) -> Result<bool, Stop<R::Error>> {
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

    /// A path has ended with this task: its output is the item's or the run's.
    fn end_of_path(&mut self, row: &TaskRow) -> Result<(), Stop<R::Error>> {
        match row.id.group() {
            Some((group, index)) => {
                let item = self.the_item(&group, index)?;
                if item.result.is_some() || item.status.is_terminal() {
                    return Ok(());
                }
                self.act(Action::SetItemResult {
                    group,
                    index,
                    result: row.id.clone(),
                })
            }
            None => self.act(Action::SetRunResult {
                run: self.run.clone(),
                result: row.id.clone(),
            }),
        }
    }

    /// Ends the run, and tells the run above.
    pub(crate) fn end_run(
        &mut self,
        status: RunStatus,
        reason: Option<String>,
    ) -> Result<(), Stop<R::Error>> {
        let word = reason.clone().unwrap_or_default();
        if status != RunStatus::Completed {
            for row in self.active_within(&Path::default())? {
                self.cancel_task(&row, &word)?;
            }
        }
        self.drop_todo();
        self.act(Action::SetRun {
            run: self.run.clone(),
            status,
            reason: reason.clone(),
            pause: None,
        })?;
        self.tell(What::RunEnded { status, reason })?;
        let (kind, message) = match status {
            RunStatus::Completed => (NoticeKind::RunCompleted, "The run is completed.".to_owned()),
            RunStatus::Cancelled => (NoticeKind::RunCancelled, word.clone()),
            _ => (NoticeKind::RunFailed, word.clone()),
        };
        self.notify(kind, None, message)?;
        self.tell_parent(status, word)
    }

    fn tell_parent(&mut self, status: RunStatus, message: String) -> Result<(), Stop<R::Error>> {
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

/// Whether something of a task happens without anybody looking after the run: by a worker, a person's
/// ordinary answer, a child run or a timer.
fn goes_on(row: &TaskRow) -> bool {
    let hold = row.hold.as_ref().map(|hold| hold.kind);
    match row.status {
        TaskStatus::Pending | TaskStatus::InProgress => true,
        TaskStatus::Waiting => !matches!(row.kind, TaskKind::Foreach | TaskKind::Join),
        TaskStatus::OnHold => matches!(hold, Some(HoldKind::Asked | HoldKind::Review)),
        TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled => false,
    }
}
