//! A join of branches waits exactly as long as some path may still reach it.
//!
//! The diagram does not say how many paths will arrive, because decisions drop some of them. But
//! the active tasks show whether any of them can still lead here. When none can, every path has
//! arrived.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::DecisionStop;
use crate::engine::action::{EngineAction, EventKind, TaskChange};
use crate::engine::decision_context::{DecisionContext, DeferredWork, StepEntry};
use crate::engine::foreach::{JoinTally, JoinVerdict, needed, verdict};
use crate::engine::rows::{
    AttemptFailure, FailureClass, JoinArrival, RowSource, StepAddress, TaskRow, WorkflowTaskKind,
};
use crate::engine::status::{StatusMove, TaskStatus};
use crate::id::TaskId;
use crate::workflow::WorkflowStep;

impl<R: RowSource> DecisionContext<'_, R> {
    /// Handles a path that reaches a join of branches.
    pub(crate) fn arrive(
        &mut self,
        step: &WorkflowStep,
        enter: &StepEntry,
    ) -> Result<(), DecisionStop<R::Error>> {
        self.unsettle(&enter.path);
        let place = StepAddress {
            run: self.run.clone(),
            path: enter.path.clone(),
            step: step.id.clone(),
        };
        let visit = self.visits(&place)?;
        let last = TaskId {
            run: place.run,
            path: place.path,
            step: place.step,
            visit,
        };
        let last = match visit {
            0 => None,
            _ => self.find_task(&last)?,
        };
        let join = match last {
            Some(row) if waits(&row) => row.id.clone(),
            Some(row) if came_late(&row, enter) => {
                return match &enter.from {
                    Some(from) => self.tell(EventKind::CameLate {
                        join: row.id.clone(),
                        from: from.clone(),
                    }),
                    None => Ok(()),
                };
            }
            _ => {
                let nobody = StepEntry {
                    from: None,
                    ..enter.clone()
                };
                let created = self.visit(step, &nobody)?;
                let join = TaskId {
                    run: self.run.clone(),
                    path: enter.path.clone(),
                    step: step.id.clone(),
                    visit: visit + 1,
                };
                if created.is_some() {
                    self.arm_timeout(step, &join)?;
                }
                join
            }
        };
        if let Some(from) = &enter.from {
            self.act(EngineAction::Arrive {
                join: join.clone(),
                arrival: JoinArrival {
                    from: from.clone(),
                    failed: enter.failed,
                },
            })?;
            self.tell(EventKind::Arrived {
                join: join.clone(),
                from: from.clone(),
            })?;
        }
        self.todo.push_back(DeferredWork::Weigh(join));
        Ok(())
    }

    /// Fires a join that need not wait for more, or cannot get more.
    pub(crate) fn weigh(
        &mut self,
        join: &TaskId,
        over: bool,
    ) -> Result<(), DecisionStop<R::Error>> {
        let row = self.the_task(join)?;
        if row.status != TaskStatus::Waiting && !row.is_overdue() {
            return Ok(());
        }
        let step = self.the_step(&join.step)?;
        let came = u32::try_from(row.arrivals.len()).unwrap_or(u32::MAX);
        let failed = row.arrivals.iter().filter(|arrival| arrival.failed).count();
        let failed = u32::try_from(failed).unwrap_or(u32::MAX);
        let drawn = self
            .workflow
            .edges()
            .iter()
            .filter(|edge| edge.to == join.step);
        let drawn = u32::try_from(drawn.count()).unwrap_or(u32::MAX);
        let tally = JoinTally {
            total: if over { came } else { drawn.max(came) },
            succeeded: came - failed,
            over,
        };
        let verdict = verdict(step, tally);
        if verdict == JoinVerdict::Wait {
            return Ok(());
        }
        self.take_off_overdue(&row)?;
        if verdict == JoinVerdict::Fire {
            return self.fire_join(step, &row, over);
        }
        let output = self.joined(&row)?;
        self.keep_output(join, Some(output))?;
        let needed = needed(step, tally.total);
        let message = match needed > came {
            true => format!(
                "`{}` wants {needed} branches to succeed, and only {came} came.",
                join.step
            ),
            false => format!("{failed} of {came} branches of `{}` failed.", join.step),
        };
        self.disarm_of(join)?;
        let class = FailureClass::Child;
        self.fail_waiting(join, AttemptFailure { class, message })
    }

    /// Releases an overdue join whose missing path has arrived after all: it waits again until the
    /// end of this decision.
    fn take_off_overdue(&mut self, row: &TaskRow) -> Result<(), DecisionStop<R::Error>> {
        if !row.is_overdue() {
            return Ok(());
        }
        self.unpause(&row.id)?;
        let change = TaskChange {
            hold: Some(None),
            ..TaskChange::default()
        };
        self.change(&row.id, change)?;
        self.shift(&row.id, StatusMove::WaitAgain, None)
    }

    fn fire_join(
        &mut self,
        step: &WorkflowStep,
        row: &TaskRow,
        over: bool,
    ) -> Result<(), DecisionStop<R::Error>> {
        let output = self.joined(row)?;
        self.disarm_of(&row.id)?;
        if !over {
            self.mark_passed(row)?;
        }
        if step.has_work() {
            self.keep_output(&row.id, Some(output))?;
            self.shift(&row.id, StatusMove::Release, None)?;
            return self.offer(step, row);
        }
        self.todo.push_back(DeferredWork::Conclude {
            task: row.id.clone(),
            output,
        });
        Ok(())
    }

    /// Notes on the join's task that its path has gone through the join. The tasks behind it
    /// inherit the note; a path that reaches the join again without the note is late.
    fn mark_passed(&mut self, row: &TaskRow) -> Result<(), DecisionStop<R::Error>> {
        let mut passed = row.passed.clone();
        passed.retain(|(step, _)| *step != row.id.step);
        passed.push((row.id.step.clone(), row.id.visit));
        self.change(
            &row.id,
            TaskChange {
                passed: Some(passed),
                ..TaskChange::default()
            },
        )
    }

    /// Returns the joined results, in the order of the branches at the fork; `steps` names the step
    /// that gave each result.
    pub(crate) fn joined(&mut self, row: &TaskRow) -> Result<Value, DecisionStop<R::Error>> {
        let workflow = self.workflow;
        let mut arrivals = row.arrivals.clone();
        arrivals.sort_by_cached_key(|arrival| {
            let from = &arrival.from;
            (workflow.branch_rank(&from.step), from.visit)
        });
        let (mut results, mut steps, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        for arrival in &arrivals {
            let from = self.the_task(&arrival.from)?;
            if arrival.failed {
                failed.push(json!({
                    "step": from.id.step,
                    "error": from.failure.as_ref().map(|failure| &failure.message),
                }));
            } else {
                results.push(from.output.clone().unwrap_or_default());
                steps.push(json!(from.id.step));
            }
        }
        let counts = json!({
            "total": arrivals.len(), "succeeded": results.len(), "failed": failed.len(), "skipped": 0,
        });
        Ok(json!({ "results": results, "steps": steps, "failed": failed, "counts": counts }))
    }

    /// Ends the waiting of a foreach or a join, and returns the results it has.
    pub(crate) fn seal_and_gather(
        &mut self,
        row: &TaskRow,
    ) -> Result<Option<Value>, DecisionStop<R::Error>> {
        match row.kind {
            WorkflowTaskKind::Foreach if self.is_opened(&row.id)? => {
                self.seal(&row.id)?;
                self.gathered(&row.id).map(Some)
            }
            WorkflowTaskKind::Join => match &row.from {
                Some(from) => Ok(self.the_task(from)?.output.clone()),
                None => {
                    self.mark_passed(row)?;
                    self.joined(row).map(Some)
                }
            },
            _ => Ok(None),
        }
    }

    /// Fires the joins under a path that no active task can reach any more. Tells whether one
    /// fired.
    pub(crate) fn settle_joins(
        &mut self,
        path: &crate::id::ItemPath,
    ) -> Result<bool, DecisionStop<R::Error>> {
        if !self.workflow.joins_branches(path.items().len()) {
            return Ok(false);
        }
        let active = self.active(path)?;
        let waiting = |row: &&Arc<TaskRow>| {
            let step = self.workflow.step(&row.id.step);
            row.kind == WorkflowTaskKind::Join
                && (row.status == TaskStatus::Waiting || row.is_overdue())
                && step.is_some_and(|step| step.awaits.is_none())
        };
        let joins: Vec<&Arc<TaskRow>> = active.iter().filter(waiting).collect();
        let settled = joins.iter().find(|join| {
            let mut others = active.iter().filter(|other| other.id != join.id);
            !others.any(|other| self.workflow.leads_to(&other.id.step, &join.id.step))
        });
        // Joins that wait only for each other would wait for ever: the oldest fires first.
        let stuck = (active.len() == joins.len()).then(|| {
            let age = |join: &&&Arc<TaskRow>| (join.created_ms, join.id.clone());
            joins.iter().min_by_key(age)
        });
        let Some(join) = settled.or(stuck.flatten()).map(|join| join.id.clone()) else {
            return Ok(false);
        };
        self.weigh(&join, true)?;
        Ok(true)
    }
}

fn waits(row: &TaskRow) -> bool {
    // A join on hold still accepts arriving paths.
    matches!(row.status, TaskStatus::Waiting | TaskStatus::OnHold)
}

/// Tells whether a join has fired without this path, and the path has not gone through it since.
fn came_late(row: &TaskRow, enter: &StepEntry) -> bool {
    let fired_early = row
        .passed
        .iter()
        .any(|(step, visit)| *step == row.id.step && *visit == row.id.visit);
    let went_through = enter
        .passed
        .iter()
        .any(|(step, visit)| *step == row.id.step && *visit >= row.id.visit);
    fired_early && !went_through
}
