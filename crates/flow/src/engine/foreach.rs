//! A foreach: its items begin a few at a time, end once each, and are counted, never listed, until
//! the foreach is over.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::config::{OnTimeout, Policy, StepType};
use crate::engine::Stop;
use crate::engine::action::{Action, TaskChange, What};
use crate::engine::ledger::{Enter, Ledger, Todo};
use crate::engine::route::Origin;
use crate::engine::rows::{
    Failure, FailureClass, GroupRow, Hold, HoldKind, ItemRow, Rows, TaskKind, TaskRow,
};
use crate::engine::status::{ItemStatus, Move, TaskStatus};
use crate::engine::view::{Output, Viewpoint};
use crate::engine::wait::timed_out;
use crate::expression;
use crate::id::{Path, TaskId};
use crate::workflow::Step;

/// What a join makes of what has ended so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Wait,
    Fire,
    Fail,
}

/// How many there are and how they ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) total: u32,
    pub(crate) succeeded: u32,
    /// Nothing more is to come.
    pub(crate) over: bool,
}

/// Judges a tally by the settings of a join, or of a foreach without one.
pub(crate) fn verdict(step: &Step, tally: Tally) -> Verdict {
    let policy = step.config.policy.unwrap_or_default();
    let need = needed(step, tally.total);
    let early = matches!(policy, Policy::Any | Policy::Quorum) && tally.total > 0;
    match tally.succeeded >= need {
        true if tally.over || early => Verdict::Fire,
        false if tally.over => Verdict::Fail,
        _ => Verdict::Wait,
    }
}

/// How many of so many have to succeed for a join to be content.
pub(crate) fn needed(step: &Step, total: u32) -> u32 {
    let policy = step.config.policy.unwrap_or_default();
    let percent = step.config.min_success_percent.map(|percent| {
        let share = f64::from(total) * percent / 100.0;
        share.ceil() as u32
    });
    let given = step.config.min_count.or(percent);
    match policy {
        // Where there is nothing, nothing is missing.
        _ if total == 0 => 0,
        Policy::All => given.unwrap_or(total),
        Policy::Any => 1,
        Policy::Quorum => given.unwrap_or(total / 2 + 1),
        Policy::AllTerminal => 0,
    }
}

impl<'a, R: Rows> Ledger<'a, R> {
    /// Reads the items of a new foreach and opens it.
    pub(crate) fn open(&mut self, step: &Step, row: &TaskRow) -> Result<(), Stop<R::Error>> {
        let items = match self.read_items(step, row)? {
            Ok(items) => items,
            Err(failure) => return self.fail_waiting(&row.id, failure),
        };
        let total = u32::try_from(items.len()).unwrap_or(u32::MAX);
        let judge = self.judge(step)?;
        let need = needed(judge, total);
        if need > total {
            let failure = Failure {
                class: FailureClass::Limit,
                message: format!(
                    "`minCount` = {need} of `{}` is more than the {total} items of `{}`; none was begun.",
                    judge.id, step.id
                ),
            };
            return self.fail_waiting(&row.id, failure);
        }
        self.act(Action::OpenGroup {
            group: row.id.clone(),
            items,
        })?;
        self.tell(What::GroupOpened {
            group: row.id.clone(),
            total,
        })?;
        self.arm_timeout(judge, &row.id)?;
        self.todo.push_back(Todo::Advance(row.id.clone()));
        Ok(())
    }

    fn read_items(
        &mut self,
        step: &Step,
        row: &TaskRow,
    ) -> Result<Result<Vec<Value>, Failure>, Stop<R::Error>> {
        let path = step.config.items_path.as_deref().unwrap_or("output");
        let state = self.state(&Viewpoint::of(row), &expression::reads(path))?;
        let wrong = |class, message: String| Ok(Err(Failure { class, message }));
        let items = match expression::value(path, &state) {
            Ok(Some(Value::Array(items))) => items,
            Ok(Some(other)) => {
                let kind = kind_of(&other);
                let message = format!(
                    "`itemsPath` of `{}`: `{path}` is {kind}, not an array.",
                    step.id
                );
                return wrong(FailureClass::Invalid, message);
            }
            Ok(None) => {
                let message = format!("`itemsPath` of `{}`: there is no `{path}`.", step.id);
                return wrong(FailureClass::Invalid, message);
            }
            Err(error) => {
                let message = format!("`itemsPath` of `{}`: {}", step.id, error.message());
                return wrong(FailureClass::Invalid, message);
            }
        };
        let max = step.items_max();
        if items.len() > max as usize {
            let message = format!(
                "`{path}` has {} items, more than maxItems = {max} of `{}`; none was begun.",
                items.len(),
                step.id
            );
            return wrong(FailureClass::Limit, message);
        }
        Ok(Ok(items))
    }

    /// The step whose policy and timeout count: the join, or the foreach where it has none.
    pub(crate) fn judge(&self, step: &Step) -> Result<&'a Step, Stop<R::Error>> {
        let workflow = self.workflow;
        let join = step.join.as_ref().and_then(|join| workflow.step(join));
        match join {
            Some(join) => Ok(join),
            None => self.the_step(&step.id),
        }
    }

    /// Ends the foreach if it is over, and begins as many items as may be under way.
    pub(crate) fn advance(&mut self, group: &TaskId) -> Result<(), Stop<R::Error>> {
        let mut row = self.the_group(group)?;
        let task = self.the_task(group)?;
        if row.closed || task.status.is_terminal() {
            return Ok(());
        }
        let step = self.workflow.step(&group.step);
        let Some(step) = step else {
            return self.the_step(&group.step).map(|_| ());
        };
        let ended = row.succeeded + row.failed;
        let tally = Tally {
            total: row.total,
            succeeded: row.succeeded,
            over: ended >= row.total,
        };
        let verdict = verdict(self.judge(step)?, tally);
        if verdict != Verdict::Wait {
            return self.close(&task, &row, verdict);
        }
        while row.running < step.concurrency() && row.next < row.total {
            let index = row.next;
            if self.the_item(group, index)?.status == ItemStatus::Waiting {
                self.start_item(step, &task, index)?;
                row = self.the_group(group)?;
            } else {
                Arc::make_mut(&mut row).next += 1;
            }
        }
        Ok(())
    }

    fn start_item(
        &mut self,
        step: &Step,
        task: &TaskRow,
        index: u32,
    ) -> Result<(), Stop<R::Error>> {
        let group = &task.id;
        self.act(Action::StartItem {
            group: group.clone(),
            index,
        })?;
        self.tell(What::ItemStarted {
            group: group.clone(),
            index,
        })?;
        let path = group.path.item(group, index);
        self.unsettle(&path);
        let origin = Origin {
            path: path.clone(),
            from: task.from.clone(),
            failed: false,
            passed: Vec::new(),
        };
        if step.has_work() {
            self.todo.push_back(Todo::Enter(Enter {
                step: step.id.clone(),
                path,
                from: task.from.clone(),
                failed: false,
                passed: Vec::new(),
            }));
            return Ok(());
        }
        let view = Viewpoint {
            path,
            output: task.from.clone().map_or(Output::None, Output::Of),
            fresh: None,
            assignee: None,
        };
        match self.plan(self.next(&step.id), &view, None)? {
            Ok(plan) => self.follow(plan, &origin),
            Err(message) => self.act(Action::SetItemFailure {
                group: group.clone(),
                index,
                failure: Failure {
                    class: FailureClass::Invalid,
                    message,
                },
            }),
        }
    }

    /// A path of an item has come to the join.
    pub(crate) fn reach_end_of_item(&mut self, enter: &Enter) -> Result<(), Stop<R::Error>> {
        let group = crate::id::group_of(&self.run, &enter.path);
        let Some((group, index)) = group else {
            return Ok(());
        };
        self.unsettle(&enter.path);
        // Where an item has nothing to do, what led to the foreach is no result of the item.
        let own = enter.from.as_ref().filter(|from| from.path == enter.path);
        if let Some(result) = own {
            self.act(Action::SetItemResult {
                group: group.clone(),
                index,
                result: result.clone(),
            })?;
        }
        if enter.failed && self.the_item(&group, index)?.failure.is_none() {
            let error = match own {
                Some(from) => self.the_task(from)?.failure.clone(),
                None => None,
            };
            if let Some(failure) = error {
                self.act(Action::SetItemFailure {
                    group,
                    index,
                    failure,
                })?;
            }
        }
        Ok(())
    }

    /// Nothing of an item is active any more: it ends, once.
    pub(crate) fn end_item(&mut self, group: &TaskId, index: u32) -> Result<(), Stop<R::Error>> {
        let over = self.of_task(group, |row| row.status.is_terminal())?;
        let closed = over || self.the_group(group)?.closed;
        let item = self.the_item(group, index)?;
        let status = match (closed, &item.failure) {
            (true, _) => ItemStatus::Skipped,
            (false, Some(_)) => ItemStatus::Failed,
            (false, None) => ItemStatus::Succeeded,
        };
        self.act(Action::EndItem {
            group: group.clone(),
            index,
            status,
        })?;
        self.tell(What::ItemEnded {
            group: group.clone(),
            index,
            status,
        })?;
        if closed {
            // The foreach has gone on without it: only the run may still wait for its end.
            self.unsettle(&Path::default());
            return Ok(());
        }
        self.todo.push_back(Todo::Advance(group.clone()));
        Ok(())
    }

    fn close(
        &mut self,
        task: &TaskRow,
        row: &GroupRow,
        verdict: Verdict,
    ) -> Result<(), Stop<R::Error>> {
        if task.status == TaskStatus::OnHold {
            // Its time was over, but the items went on and are now all there.
            self.unpause(&task.id)?;
            let change = TaskChange {
                hold: Some(None),
                ..TaskChange::default()
            };
            self.change(&task.id, change)?;
            self.shift(&task.id, Move::WaitAgain, None)?;
        }
        self.seal(&task.id)?;
        if verdict == Verdict::Fire {
            let output = self.gathered(&task.id)?;
            self.todo.push_back(Todo::Conclude {
                task: task.id.clone(),
                output,
            });
            return Ok(());
        }
        let output = self.gathered(&task.id)?;
        self.keep_output(&task.id, Some(output))?;
        let failure = Failure {
            class: FailureClass::Child,
            message: format!(
                "{} of {} items of `{}` failed.",
                row.failed, row.total, task.id.step
            ),
        };
        self.fail_waiting(&task.id, failure)
    }

    /// Closes a foreach: items that have not begun never will, and what is not under way stops.
    pub(crate) fn seal(&mut self, group: &TaskId) -> Result<(), Stop<R::Error>> {
        self.act(Action::CloseGroup {
            group: group.clone(),
        })?;
        self.tell(What::GroupClosed {
            group: group.clone(),
        })?;
        self.disarm_of(group)?;
        if self.the_group(group)?.running == 0 {
            return Ok(());
        }
        for row in self.active_in_items(group)? {
            if row.status != TaskStatus::InProgress {
                self.unpause(&row.id)?;
                self.cancel_task(&row, "The foreach around it is over.")?;
            }
        }
        Ok(())
    }

    pub(crate) fn active_in_items(
        &mut self,
        group: &TaskId,
    ) -> Result<Vec<Arc<TaskRow>>, Stop<R::Error>> {
        let depth = group.path.items().len();
        let mut rows = self.active_within(&group.path)?;
        rows.retain(|row| {
            let item = row.id.path.items().get(depth);
            item.is_some_and(|item| item.foreach == group.step && item.visit == group.visit)
        });
        Ok(rows)
    }

    /// The results of a foreach, in the order of its items.
    pub(crate) fn gathered(&mut self, group: &TaskId) -> Result<Value, Stop<R::Error>> {
        let items = self.all_items(group)?;
        let done = |item: &&Arc<ItemRow>| item.status == ItemStatus::Succeeded;
        let tasks: Vec<TaskId> = items
            .iter()
            .filter(done)
            .filter_map(|item| item.result.clone())
            .collect();
        let mut outputs = self.outputs(&tasks)?.into_iter();
        let mut results = Vec::new();
        let mut failed = Vec::new();
        let mut skipped = 0_u32;
        for item in items {
            match item.status {
                // An item that had nothing to do is its own result.
                ItemStatus::Succeeded if item.result.is_none() => results.push(item.value.clone()),
                ItemStatus::Succeeded => results.push(outputs.next().flatten().unwrap_or_default()),
                ItemStatus::Failed => failed.push(json!({
                    "index": item.index,
                    "item": item.value,
                    "error": item.failure.as_ref().map(|failure| &failure.message),
                })),
                _ => skipped += 1,
            }
        }
        let counts = json!({
            "total": results.len() + failed.len() + skipped as usize,
            "succeeded": results.len(),
            "failed": failed.len(),
            "skipped": skipped,
        });
        Ok(json!({ "results": results, "failed": failed, "counts": counts }))
    }

    /// The time of a foreach or a join is over.
    pub(crate) fn out_of_time(
        &mut self,
        row: &TaskRow,
        on_timeout: OnTimeout,
    ) -> Result<(), Stop<R::Error>> {
        let reason = format!("`{}` has waited longer than its timeout.", row.id.step);
        let failure = Failure {
            class: FailureClass::Timeout,
            message: reason.clone(),
        };
        match on_timeout {
            OnTimeout::Hold => {
                let hold = Hold {
                    kind: HoldKind::Timeout,
                    reason,
                };
                self.hold(&row.id, Move::HoldWaiting, hold)
            }
            OnTimeout::Fail => {
                let output = self.seal_and_gather(row)?;
                self.keep_output(&row.id, output)?;
                self.fail_waiting(&row.id, failure)
            }
            OnTimeout::Continue => {
                let output = match row.kind {
                    TaskKind::Wait => timed_out(),
                    _ => self.seal_and_gather(row)?.unwrap_or_default(),
                };
                self.todo.push_back(Todo::Conclude {
                    task: row.id.clone(),
                    output,
                });
                Ok(())
            }
        }
    }

    /// The step to go on with when a task has failed for good. The edge of a foreach or of its join
    /// is for the foreach as a whole: an item that fails counts as failed.
    pub(crate) fn error_way(&self, row: &TaskRow, step: &Step) -> Option<crate::id::StepId> {
        if step.step_type == StepType::Foreach && row.kind == TaskKind::Work {
            return None;
        }
        let own = self.next_on_error(&step.id);
        let join = step.join.as_ref();
        own.or_else(|| join.and_then(|join| self.next_on_error(join)))
    }

    /// The path that a step's own outgoing edges lead into.
    pub(crate) fn way_out(&self, step: &Step) -> Vec<crate::id::StepId> {
        match &step.join {
            Some(join) => vec![join.clone()],
            None => Vec::new(),
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
