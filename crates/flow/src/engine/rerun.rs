//! A part of a run is run again: what came of it before is kept as history, what is still under way
//! because of it is cancelled, and what it has nothing to do with counts as it did.
//!
//! What came of a task is told from where tasks came from, not from the diagram: in a loop every step
//! lies behind every other, and a branch beside the one that is run again must not be lost.
//!
//! Nothing leaves a status that is an end. A step inside of a foreach that is over is therefore run
//! again in a new visit of the foreach, which continues the old one: the other items are in it as they
//! ended, and the item goes on from that step. The join and what follows it are then run again as well.

use std::collections::HashSet;
use std::sync::Arc;

use crate::config::StepType;
use crate::engine::Stop;
use crate::engine::action::{Action, TaskChange, What};
use crate::engine::command::{Refusal, RefusalKind};
use crate::engine::ledger::{Done, Enter, Ledger, Todo};
use crate::engine::rows::{Arrival, ItemRow, Pause, Place, Rows, TaskKind, TaskRow};
use crate::engine::status::{ItemStatus, Move, RunStatus, TaskStatus};
use crate::id::{Path, StepId, TaskId, group_of};
use crate::workflow::Step;

/// The tasks that are run again, and what is known of what came of them.
struct Lineage {
    roots: HashSet<TaskId>,
    /// Tasks that came of none of the roots.
    strangers: HashSet<TaskId>,
}

impl<R: Rows> Ledger<'_, R> {
    /// Runs a step once more, and what follows from it.
    pub(crate) fn rerun(&mut self, task: &TaskId) -> Done<R> {
        let row = self.the_task(task)?;
        let over = self.over_at(&task.path)?;
        let around = over.and_then(|depth| group_of(&self.run, &task.path.outer(depth)));
        let first = around.map_or_else(|| task.clone(), |(foreach, _)| foreach);
        self.reopen_run(task)?;
        let passed = self.undo(&first)?;
        self.reopen_around(&first.path)?;
        let mut path = first.path.clone();
        let mut enter = Enter {
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
        if row.kind == TaskKind::Join && step.awaits.is_none() {
            let join = self.gather_again(step, &enter, &row.arrivals)?;
            self.todo.push_back(Todo::Weigh(join));
            return Ok(());
        }
        let again = self.revisit(step, &enter)?;
        self.begin(step, &again)
    }

    /// The path that an item had in the foreach which this one continues.
    pub(crate) fn former(&mut self, path: &Path) -> Done<R, Option<Path>> {
        let Some((group, index)) = group_of(&self.run, path) else {
            return Ok(None);
        };
        let of = self.the_group(&group)?.of.clone();
        Ok(of.map(|of| of.path.item(&of, index)))
    }

    /// How deep the outermost foreach around a path stands that has ended.
    fn over_at(&mut self, path: &Path) -> Done<R, Option<usize>> {
        for depth in 1..=path.items().len() {
            if let Some((group, _)) = group_of(&self.run, &path.outer(depth))
                && self.of_task(&group, |row| row.status.is_terminal())?
            {
                return Ok(Some(depth));
            }
        }
        Ok(None)
    }

    /// Cancels what came of a task and is still active. Gives the joins that had fired because of it,
    /// so that whoever comes to them again is not taken for a latecomer.
    fn undo(&mut self, first: &TaskId) -> Done<R, Vec<(StepId, u32)>> {
        let mut lineage = Lineage {
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

    /// A task and those that were run in its place already: they began with the same.
    fn twins(&mut self, task: &TaskId) -> Done<R, HashSet<TaskId>> {
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

    fn came_of(&mut self, task: &TaskId, lineage: &mut Lineage) -> Done<R, bool> {
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

    /// Joins of branches that something had come to which is now run again wait anew, with what came
    /// to them from elsewhere.
    fn restore_joins(&mut self, path: &Path, lineage: &mut Lineage) -> Done<R, Vec<(StepId, u32)>> {
        let mut fired = Vec::new();
        let workflow = self.workflow;
        let here = workflow.steps().iter().filter(|step| {
            let around = path.items().iter().map(|item| &item.foreach);
            step.step_type == StepType::Join
                && step.awaits.is_none()
                && step.scope.iter().eq(around)
        });
        for join in here {
            let place = Place {
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
                let enter = Enter {
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

    /// A join of branches waits anew, with what had come to it.
    fn gather_again(&mut self, step: &Step, enter: &Enter, came: &[Arrival]) -> Done<R, TaskId> {
        let join = self.revisit(step, enter)?;
        self.arm_timeout(step, &join)?;
        for arrival in came {
            self.act(Action::Arrive {
                join: join.clone(),
                arrival: arrival.clone(),
            })?;
            self.tell(What::Arrived {
                join: join.clone(),
                from: arrival.from.clone(),
            })?;
        }
        self.unsettle(&enter.path);
        Ok(join)
    }

    /// The items around a path go on, and so does a foreach that was on hold with what had become of
    /// them.
    fn reopen_around(&mut self, path: &Path) -> Done<R> {
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

    fn take_off_hold(&mut self, group: &TaskId) -> Done<R> {
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
        self.shift(group, Move::WaitAgain, None)
    }

    fn resume_item(&mut self, group: &TaskId, index: u32) -> Done<R> {
        self.act(Action::ResumeItem {
            group: group.clone(),
            index,
        })?;
        self.tell(What::ItemStarted {
            group: group.clone(),
            index,
        })
    }

    /// A new visit of a foreach under a path, in which one item goes on and the others are as they
    /// were.
    fn go_on_in(
        &mut self,
        foreach: &TaskId,
        index: u32,
        path: &Path,
        passed: &[(StepId, u32)],
    ) -> Done<R, TaskId> {
        let of = self.newest(foreach, path)?;
        let row = self.the_task(&of)?;
        let step = self.the_step(&foreach.step)?;
        let mut enter = Enter {
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
        self.act(Action::ContinueGroup {
            group: again.clone(),
            of: of.clone(),
            items: items.collect(),
        })?;
        self.tell(What::GroupContinued {
            group: again.clone(),
            of,
            index,
        })?;
        let judge = self.judge(step)?;
        self.arm_timeout(judge, &again)?;
        self.resume_item(&again, index)?;
        Ok(again)
    }

    /// The last visit under a path that continues a foreach; the foreach itself where none does.
    fn newest(&mut self, foreach: &TaskId, path: &Path) -> Done<R, TaskId> {
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

    fn goes_back_to(&mut self, group: &TaskId, first: &TaskId) -> Done<R, bool> {
        let mut at = Some(group.clone());
        while let Some(group) = at {
            if group == *first {
                return Ok(true);
            }
            at = self.the_group(&group)?.of.clone();
        }
        Ok(false)
    }

    fn reopen_run(&mut self, task: &TaskId) -> Done<R> {
        let run = self.the_run()?;
        match (run.status, &run.pause) {
            (RunStatus::Running, _) | (RunStatus::Paused, Some(Pause::Person)) => Ok(()),
            (RunStatus::Paused, _) => self.run_on(),
            _ => {
                if let Some(parent) = &run.parent {
                    let message = format!(
                        "The run belongs to the subflow `{parent}`, which has gone on: run that again."
                    );
                    return Err(Stop::Refused(Refusal::new(
                        RefusalKind::WrongStatus,
                        message,
                    )));
                }
                self.act(Action::SetRun {
                    run: run.id.clone(),
                    status: RunStatus::Running,
                    reason: None,
                    pause: None,
                })?;
                self.tell(What::RunReopened { task: task.clone() })
            }
        }
    }
}

/// Notes that a path is not late at these joins.
fn mark(passed: &mut Vec<(StepId, u32)>, joins: &[(StepId, u32)]) {
    passed.retain(|(step, _)| joins.iter().all(|(join, _)| join != step));
    passed.extend_from_slice(joins);
}
