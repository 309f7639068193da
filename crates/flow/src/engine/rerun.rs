//! Runs a part of a run again: earlier results stay as history, tasks in progress that follow from
//! the part are cancelled, and unrelated tasks keep their results.
//!
//! The tasks that follow from a task are found by the origins stored with tasks, not by the
//! diagram: in a loop every step lies behind every other, and a branch beside the repeated one must
//! not be lost.
//!
//! No task leaves a terminal status. A step inside a foreach that has ended is therefore run again
//! in a new visit of the foreach, which continues the old one: the other items keep their results,
//! and the item resumes from that step. The join and the steps behind it are then run again as
//! well.

use std::collections::HashSet;
use std::sync::Arc;

use crate::config::StepType;
use crate::engine::DecisionStop;
use crate::engine::action::{EngineAction, EventKind, TaskChange};
use crate::engine::command::{CommandRefusal, RefusalKind};
use crate::engine::decision_context::{DecisionContext, DecisionResult, DeferredWork, StepEntry};
use crate::engine::rows::{
    ItemRow, JoinArrival, PauseCause, RowSource, StepAddress, TaskRow, WorkflowTaskKind,
};
use crate::engine::status::{ItemStatus, RunStatus, StatusMove, TaskStatus};
use crate::id::{ItemPath, StepId, TaskId, group_of};
use crate::workflow::WorkflowStep;

/// The tasks that are run again, and the known descendants of theirs.
struct TaskLineage {
    roots: HashSet<TaskId>,
    /// Tasks that descend from no root.
    strangers: HashSet<TaskId>,
}

impl<R: RowSource> DecisionContext<'_, R> {
    /// Runs a step once more, and the steps that follow.
    pub(crate) fn rerun(&mut self, task: &TaskId) -> DecisionResult<R> {
        let row = self.the_task(task)?;
        let over = self.over_at(&task.path)?;
        let around = over.and_then(|depth| group_of(&self.run, &task.path.outer(depth)));
        let first = around.map_or_else(|| task.clone(), |(foreach, _)| foreach);
        self.reopen_run(task)?;
        let passed = self.undo(&first)?;
        self.reopen_around(&first.path)?;
        let mut path = first.path.clone();
        let mut enter = StepEntry {
            step: task.step.clone(),
            path: path.clone(),
            from: row.from.clone(),
            failed: false,
            passed: row.passed.clone(),
        };
        for depth in over.unwrap_or(usize::MAX)..=task.path.items().len() {
            let Some((foreach, index)) = group_of(&self.run, &task.path.outer(depth)) else {
                continue;
            };
            let marks = if foreach == first {
                passed.as_slice()
            } else {
                &[]
            };
            let again = self.go_on_in(&foreach, index, &path, marks)?;
            path = path.item(&again, index);
        }
        if first == *task {
            mark(&mut enter.passed, &passed);
        }
        enter.path = path;
        let step = self.the_step(&task.step)?;
        if row.kind == WorkflowTaskKind::Join && step.awaits.is_none() {
            let join = self.gather_again(step, &enter, &row.arrivals)?;
            self.todo.push_back(DeferredWork::Weigh(join));
            return Ok(());
        }
        let again = self.revisit(step, &enter)?;
        self.begin(step, &again)
    }

    /// Returns the path that an item had in the foreach which this one continues.
    pub(crate) fn former(&mut self, path: &ItemPath) -> DecisionResult<R, Option<ItemPath>> {
        let Some((group, index)) = group_of(&self.run, path) else {
            return Ok(None);
        };
        let of = self.the_group(&group)?.of.clone();
        Ok(of.map(|of| of.path.item(&of, index)))
    }

    /// Returns the depth of the outermost foreach around a path that has ended.
    fn over_at(&mut self, path: &ItemPath) -> DecisionResult<R, Option<usize>> {
        for depth in 1..=path.items().len() {
            if let Some((group, _)) = group_of(&self.run, &path.outer(depth))
                && self.of_task(&group, |row| row.status.is_terminal())?
            {
                return Ok(Some(depth));
            }
        }
        Ok(None)
    }

    /// Cancels the active descendants of a task. Returns the joins that had fired because of it, so
    /// that a path that reaches one again does not count as late.
    fn undo(&mut self, first: &TaskId) -> DecisionResult<R, Vec<(StepId, u32)>> {
        let mut lineage = TaskLineage {
            roots: self.twins(first)?,
            strangers: HashSet::new(),
        };
        for active in self.active_within(&first.path)? {
            if self.came_of(&active.id, &mut lineage)? {
                self.cancel_task(&active, "An earlier step is run again.")?;
            }
        }
        self.restore_joins(&first.path, &mut lineage)
    }

    /// Returns a task and those that were run in its place already: they have the same origin.
    fn twins(&mut self, task: &TaskId) -> DecisionResult<R, HashSet<TaskId>> {
        let row = self.the_task(task)?;
        let came = |row: &TaskRow| {
            let from = row.arrivals.iter().map(|arrival| arrival.from.clone());
            from.collect::<HashSet<TaskId>>()
        };
        let mut twins = HashSet::from([task.clone()]);
        for visit in 1..=self.visits(&task.place())? {
            let other = TaskId {
                visit,
                ..task.clone()
            };
            if let Some(other) = self.find_task(&other)?
                && other.from == row.from
                && came(&other) == came(&row)
            {
                twins.insert(other.id.clone());
            }
        }
        Ok(twins)
    }

    fn came_of(&mut self, task: &TaskId, lineage: &mut TaskLineage) -> DecisionResult<R, bool> {
        let mut open = vec![task.clone()];
        let mut seen = HashSet::new();
        while let Some(id) = open.pop() {
            if lineage.roots.contains(&id) {
                return Ok(true);
            }
            if lineage.strangers.contains(&id) || !seen.insert(id.clone()) {
                continue;
            }
            open.extend(id.group().map(|(group, _)| group));
            if let Some(row) = self.find_task(&id)? {
                open.extend(row.from.clone());
                open.extend(row.arrivals.iter().map(|arrival| arrival.from.clone()));
            }
        }
        lineage.strangers.extend(seen);
        Ok(false)
    }

    /// Lets joins wait again that a repeated path had reached, with the arrivals of all other
    /// paths.
    fn restore_joins(
        &mut self,
        path: &ItemPath,
        lineage: &mut TaskLineage,
    ) -> DecisionResult<R, Vec<(StepId, u32)>> {
        let mut fired = Vec::new();
        let workflow = self.workflow;
        let here = workflow.steps().iter().filter(|step| {
            let around = path.items().iter().map(|item| &item.foreach);
            step.step_type == StepType::Join
                && step.awaits.is_none()
                && step.scope.iter().eq(around)
        });
        for join in here {
            let place = StepAddress {
                run: self.run.clone(),
                path: path.clone(),
                step: join.id.clone(),
            };
            let last = TaskId {
                run: place.run.clone(),
                path: place.path.clone(),
                step: place.step.clone(),
                visit: self.visits(&place)?,
            };
            if lineage.roots.contains(&last) || !self.came_of(&last, lineage)? {
                continue;
            }
            let Some(row) = self.find_task(&last)? else {
                continue;
            };
            let mut kept = Vec::new();
            for arrival in &row.arrivals {
                if !self.came_of(&arrival.from, lineage)? {
                    kept.push(arrival.clone());
                }
            }
            fired.push((join.id.clone(), last.visit));
            if !kept.is_empty() {
                let mut passed = row.passed.clone();
                passed.retain(|(step, _)| *step != join.id);
                let enter = StepEntry {
                    step: join.id.clone(),
                    path: path.clone(),
                    from: None,
                    failed: false,
                    passed,
                };
                self.gather_again(join, &enter, &kept)?;
            }
        }
        Ok(fired)
    }

    /// Creates a join of branches that waits again, with its earlier arrivals.
    fn gather_again(
        &mut self,
        step: &WorkflowStep,
        enter: &StepEntry,
        came: &[JoinArrival],
    ) -> DecisionResult<R, TaskId> {
        let join = self.revisit(step, enter)?;
        self.arm_timeout(step, &join)?;
        for arrival in came {
            self.act(EngineAction::Arrive {
                join: join.clone(),
                arrival: arrival.clone(),
            })?;
            self.tell(EventKind::Arrived {
                join: join.clone(),
                from: arrival.from.clone(),
            })?;
        }
        self.unsettle(&enter.path);
        Ok(join)
    }

    /// Reopens the items around a path, and a foreach that was on hold because of their results.
    fn reopen_around(&mut self, path: &ItemPath) -> DecisionResult<R> {
        for depth in 1..=path.items().len() {
            let Some((group, index)) = group_of(&self.run, &path.outer(depth)) else {
                continue;
            };
            if self.the_group(&group)?.closed {
                self.take_off_hold(&group)?;
                self.reopen_group(&group, &[ItemStatus::Skipped])?;
            }
            let status = self.the_item(&group, index)?.status;
            if status.is_terminal() {
                self.reopen_item(&group, index)?;
            }
            if status != ItemStatus::Running {
                self.resume_item(&group, index)?;
            }
        }
        Ok(())
    }

    fn take_off_hold(&mut self, group: &TaskId) -> DecisionResult<R> {
        if self.of_task(group, |row| row.status)? != TaskStatus::OnHold {
            return Ok(());
        }
        self.change(
            group,
            TaskChange {
                hold: Some(None),
                failure: Some(None),
                ..TaskChange::default()
            },
        )?;
        self.shift(group, StatusMove::WaitAgain, None)
    }

    fn resume_item(&mut self, group: &TaskId, index: u32) -> DecisionResult<R> {
        self.act(EngineAction::ResumeItem {
            group: group.clone(),
            index,
        })?;
        self.tell(EventKind::ItemStarted {
            group: group.clone(),
            index,
        })
    }

    /// Creates a new visit of a foreach under a path, in which one item resumes and the others keep
    /// their results.
    fn go_on_in(
        &mut self,
        foreach: &TaskId,
        index: u32,
        path: &ItemPath,
        passed: &[(StepId, u32)],
    ) -> DecisionResult<R, TaskId> {
        let of = self.newest(foreach, path)?;
        let row = self.the_task(&of)?;
        let step = self.the_step(&foreach.step)?;
        let mut enter = StepEntry {
            step: foreach.step.clone(),
            path: path.clone(),
            from: row.from.clone(),
            failed: false,
            passed: row.passed.clone(),
        };
        mark(&mut enter.passed, passed);
        let again = self.revisit(step, &enter)?;
        let items = self.all_items(&of)?.into_iter();
        let items = items.map(|item| ItemRow {
            group: again.clone(),
            ..match item.status {
                ItemStatus::Succeeded | ItemStatus::Failed if item.index != index => {
                    Arc::unwrap_or_clone(item)
                }
                _ => ItemRow::waiting(&again, item.index, item.value.clone()),
            }
        });
        self.act(EngineAction::ContinueGroup {
            group: again.clone(),
            of: of.clone(),
            items: items.collect(),
        })?;
        self.tell(EventKind::GroupContinued {
            group: again.clone(),
            of,
            index,
        })?;
        let judge = self.judge(step)?;
        self.arm_timeout(judge, &again)?;
        self.resume_item(&again, index)?;
        Ok(again)
    }

    /// Returns the last visit under a path that continues a foreach, or the foreach itself.
    fn newest(&mut self, foreach: &TaskId, path: &ItemPath) -> DecisionResult<R, TaskId> {
        for at in [path, &foreach.path] {
            let mut place = foreach.place();
            place.path = at.clone();
            for visit in (1..=self.visits(&place)?).rev() {
                let last = TaskId {
                    path: at.clone(),
                    visit,
                    ..foreach.clone()
                };
                if self.is_opened(&last)? && self.goes_back_to(&last, foreach)? {
                    return Ok(last);
                }
            }
        }
        Ok(foreach.clone())
    }

    fn goes_back_to(&mut self, group: &TaskId, first: &TaskId) -> DecisionResult<R, bool> {
        let mut at = Some(group.clone());
        while let Some(group) = at {
            if group == *first {
                return Ok(true);
            }
            at = self.the_group(&group)?.of.clone();
        }
        Ok(false)
    }

    fn reopen_run(&mut self, task: &TaskId) -> DecisionResult<R> {
        let run = self.the_run()?;
        match (run.status, &run.pause) {
            (RunStatus::Running, _) | (RunStatus::Paused, Some(PauseCause::Person)) => Ok(()),
            (RunStatus::Paused, _) => self.run_on(),
            _ => {
                if let Some(parent) = &run.parent {
                    let message = format!(
                        "The run belongs to the subflow `{parent}`, which has gone on: run that again."
                    );
                    return Err(DecisionStop::Refused(CommandRefusal::new(
                        RefusalKind::WrongStatus,
                        message,
                    )));
                }
                self.act(EngineAction::SetRun {
                    run: run.id.clone(),
                    status: RunStatus::Running,
                    reason: None,
                    pause: None,
                })?;
                self.tell(EventKind::RunReopened { task: task.clone() })
            }
        }
    }
}

/// Notes that a path is not late at these joins.
fn mark(passed: &mut Vec<(StepId, u32)>, joins: &[(StepId, u32)]) {
    passed.retain(|(step, _)| joins.iter().all(|(join, _)| join != step));
    passed.extend_from_slice(joins);
}
