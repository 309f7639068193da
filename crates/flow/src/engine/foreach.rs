//! A foreach: its items begin a few at a time, each ends once, and they are counted, never listed,
//! until the foreach ends.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::config::{JoinPolicy, OnTimeout, StepType};
use crate::engine::DecisionStop;
use crate::engine::action::{EngineAction, EventKind, TaskChange};
use crate::engine::decision_context::{DecisionContext, DeferredWork, StepEntry};
use crate::engine::eval_scope::{EvalScope, OutputSource};
use crate::engine::route::RouteOrigin;
use crate::engine::rows::{
    AttemptFailure, FailureClass, GroupRow, HoldKind, ItemRow, RowSource, TaskHold, TaskRow,
    WorkflowTaskKind,
};
use crate::engine::status::{ItemStatus, StatusMove, TaskStatus};
use crate::engine::wait::timed_out;
use crate::expression;
use crate::id::{ItemPath, TaskId};
use crate::workflow::WorkflowStep;

/// A join's decision about the results that have arrived so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JoinVerdict {
    Wait,
    Fire,
    Fail,
}

/// The counts of results that a join has and expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JoinTally {
    pub(crate) total: u32,
    pub(crate) succeeded: u32,
    /// Says that no more results will arrive.
    pub(crate) over: bool,
}

/// Decides by the counts and the settings of a join, or of a foreach without one.
pub(crate) fn verdict(step: &WorkflowStep, tally: JoinTally) -> JoinVerdict {
    let policy = step.config.policy.unwrap_or_default();
    let need = needed(step, tally.total);
    let early = matches!(policy, JoinPolicy::Any | JoinPolicy::Quorum) && tally.total > 0;
    match tally.succeeded >= need {
        true if tally.over || early => JoinVerdict::Fire,
        false if tally.over => JoinVerdict::Fail,
        _ => JoinVerdict::Wait,
    }
}

/// Returns how many of `total` results must succeed for a join to succeed.
pub(crate) fn needed(step: &WorkflowStep, total: u32) -> u32 {
    let policy = step.config.policy.unwrap_or_default();
    let percent = step.config.min_success_percent.map(|percent| {
        let share = f64::from(total) * percent / 100.0;
        share.ceil() as u32
    });
    let given = step.config.min_count.or(percent);
    match policy {
        // Without items, the join succeeds at once.
        _ if total == 0 => 0,
        JoinPolicy::All => given.unwrap_or(total),
        JoinPolicy::Any => 1,
        JoinPolicy::Quorum => given.unwrap_or(total / 2 + 1),
        JoinPolicy::AllTerminal => 0,
    }
}

impl<'a, R: RowSource> DecisionContext<'a, R> {
    /// Reads the items of a new foreach and opens it.
    pub(crate) fn open(
        &mut self,
        step: &WorkflowStep,
        row: &TaskRow,
    ) -> Result<(), DecisionStop<R::Error>> {
        let items = match self.read_items(step, row)? {
            Ok(items) => items,
            Err(failure) => return self.fail_waiting(&row.id, failure),
        };
        let total = u32::try_from(items.len()).unwrap_or(u32::MAX);
        let judge = self.judge(step)?;
        let need = needed(judge, total);
        if need > total {
            let failure = AttemptFailure {
                class: FailureClass::Limit,
                message: format!(
                    "`minCount` = {need} of `{}` is more than the {total} items of `{}`; none was started.",
                    judge.id, step.id
                ),
            };
            return self.fail_waiting(&row.id, failure);
        }
        self.act(EngineAction::OpenGroup {
            group: row.id.clone(),
            items,
        })?;
        self.tell(EventKind::GroupOpened {
            group: row.id.clone(),
            total,
        })?;
        self.arm_timeout(judge, &row.id)?;
        self.todo.push_back(DeferredWork::Advance(row.id.clone()));
        Ok(())
    }

    fn read_items(
        &mut self,
        step: &WorkflowStep,
        row: &TaskRow,
    ) -> Result<Result<Vec<Value>, AttemptFailure>, DecisionStop<R::Error>> {
        let path = step.config.items_path.as_deref().unwrap_or("output");
        let state = self.state(&EvalScope::of(row), &expression::reads(path))?;
        let wrong = |class, message: String| Ok(Err(AttemptFailure { class, message }));
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
                "`{path}` has {} items, more than maxItems = {max} of `{}`; none was started.",
                items.len(),
                step.id
            );
            return wrong(FailureClass::Limit, message);
        }
        Ok(Ok(items))
    }

    /// Returns the step whose policy and timeout count: the join, or the foreach if it has no join.
    pub(crate) fn judge(
        &self,
        step: &WorkflowStep,
    ) -> Result<&'a WorkflowStep, DecisionStop<R::Error>> {
        let workflow = self.workflow;
        let join = step.join.as_ref().and_then(|join| workflow.step(join));
        match join {
            Some(join) => Ok(join),
            None => self.the_step(&step.id),
        }
    }

    /// Ends the foreach if it can end, and otherwise starts as many items as the limit allows.
    pub(crate) fn advance(&mut self, group: &TaskId) -> Result<(), DecisionStop<R::Error>> {
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
        let tally = JoinTally {
            total: row.total,
            succeeded: row.succeeded,
            over: ended >= row.total,
        };
        let verdict = verdict(self.judge(step)?, tally);
        if verdict != JoinVerdict::Wait {
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
        step: &WorkflowStep,
        task: &TaskRow,
        index: u32,
    ) -> Result<(), DecisionStop<R::Error>> {
        let group = &task.id;
        self.act(EngineAction::StartItem {
            group: group.clone(),
            index,
        })?;
        self.tell(EventKind::ItemStarted {
            group: group.clone(),
            index,
        })?;
        let path = group.path.item(group, index);
        self.unsettle(&path);
        let origin = RouteOrigin {
            path: path.clone(),
            from: task.from.clone(),
            failed: false,
            passed: Vec::new(),
        };
        if step.has_work() {
            self.todo.push_back(DeferredWork::Enter(StepEntry {
                step: step.id.clone(),
                path,
                from: task.from.clone(),
                failed: false,
                passed: Vec::new(),
            }));
            return Ok(());
        }
        let view = EvalScope {
            path,
            output: task
                .from
                .clone()
                .map_or(OutputSource::None, OutputSource::Of),
            fresh: None,
            assignee: None,
        };
        match self.plan(self.next(&step.id), &view, None)? {
            Ok(plan) => self.follow(plan, &origin),
            Err(message) => self.act(EngineAction::SetItemFailure {
                group: group.clone(),
                index,
                failure: AttemptFailure {
                    class: FailureClass::Invalid,
                    message,
                },
            }),
        }
    }

    /// Handles a path of an item that has reached the join.
    pub(crate) fn reach_end_of_item(
        &mut self,
        enter: &StepEntry,
    ) -> Result<(), DecisionStop<R::Error>> {
        let group = crate::id::group_of(&self.run, &enter.path);
        let Some((group, index)) = group else {
            return Ok(());
        };
        self.unsettle(&enter.path);
        // An item without steps has no result of its own; the output that led to the foreach is not
        // its result.
        let own = enter.from.as_ref().filter(|from| from.path == enter.path);
        if let Some(result) = own {
            self.act(EngineAction::SetItemResult {
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
                self.act(EngineAction::SetItemFailure {
                    group,
                    index,
                    failure,
                })?;
            }
        }
        Ok(())
    }

    /// Ends an item that has no active task any more; happens once per item.
    pub(crate) fn end_item(
        &mut self,
        group: &TaskId,
        index: u32,
    ) -> Result<(), DecisionStop<R::Error>> {
        let over = self.of_task(group, |row| row.status.is_terminal())?;
        let closed = over || self.the_group(group)?.closed;
        let item = self.the_item(group, index)?;
        let status = match (closed, &item.failure) {
            (true, _) => ItemStatus::Skipped,
            (false, Some(_)) => ItemStatus::Failed,
            (false, None) => ItemStatus::Succeeded,
        };
        self.act(EngineAction::EndItem {
            group: group.clone(),
            index,
            status,
        })?;
        self.tell(EventKind::ItemEnded {
            group: group.clone(),
            index,
            status,
        })?;
        if closed {
            // The foreach has continued without this item: only the run may still wait for its end.
            self.unsettle(&ItemPath::default());
            return Ok(());
        }
        self.todo.push_back(DeferredWork::Advance(group.clone()));
        Ok(())
    }

    fn close(
        &mut self,
        task: &TaskRow,
        row: &GroupRow,
        verdict: JoinVerdict,
    ) -> Result<(), DecisionStop<R::Error>> {
        if task.status == TaskStatus::OnHold {
            // It was on hold because of its timeout, but now all items have ended.
            self.unpause(&task.id)?;
            let change = TaskChange {
                hold: Some(None),
                ..TaskChange::default()
            };
            self.change(&task.id, change)?;
            self.shift(&task.id, StatusMove::WaitAgain, None)?;
        }
        self.seal(&task.id)?;
        if verdict == JoinVerdict::Fire {
            let output = self.gathered(&task.id)?;
            self.todo.push_back(DeferredWork::Conclude {
                task: task.id.clone(),
                output,
            });
            return Ok(());
        }
        let output = self.gathered(&task.id)?;
        self.keep_output(&task.id, Some(output))?;
        let failure = AttemptFailure {
            class: FailureClass::Child,
            message: format!(
                "{} of {} items of `{}` failed.",
                row.failed, row.total, task.id.step
            ),
        };
        self.fail_waiting(&task.id, failure)
    }

    /// Closes a foreach: items that have not begun never will, and tasks that no worker has are
    /// cancelled.
    pub(crate) fn seal(&mut self, group: &TaskId) -> Result<(), DecisionStop<R::Error>> {
        self.act(EngineAction::CloseGroup {
            group: group.clone(),
        })?;
        self.tell(EventKind::GroupClosed {
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
    ) -> Result<Vec<Arc<TaskRow>>, DecisionStop<R::Error>> {
        let depth = group.path.items().len();
        let mut rows = self.active_within(&group.path)?;
        rows.retain(|row| {
            let item = row.id.path.items().get(depth);
            item.is_some_and(|item| item.foreach == group.step && item.visit == group.visit)
        });
        Ok(rows)
    }

    /// Returns the results of a foreach, in the order of its items.
    pub(crate) fn gathered(&mut self, group: &TaskId) -> Result<Value, DecisionStop<R::Error>> {
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
                // The result of an item without work is the item itself.
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

    /// Handles the timeout of a foreach or a join.
    pub(crate) fn out_of_time(
        &mut self,
        row: &TaskRow,
        on_timeout: OnTimeout,
    ) -> Result<(), DecisionStop<R::Error>> {
        let reason = format!("`{}` has waited longer than its timeout.", row.id.step);
        let failure = AttemptFailure {
            class: FailureClass::Timeout,
            message: reason.clone(),
        };
        match on_timeout {
            OnTimeout::Hold => {
                let hold = TaskHold {
                    kind: HoldKind::Timeout,
                    reason,
                };
                self.hold(&row.id, StatusMove::HoldWaiting, hold)
            }
            OnTimeout::Fail => {
                let output = self.seal_and_gather(row)?;
                self.keep_output(&row.id, output)?;
                self.fail_waiting(&row.id, failure)
            }
            OnTimeout::Continue => {
                let output = match row.kind {
                    WorkflowTaskKind::Wait => timed_out(),
                    _ => self.seal_and_gather(row)?.unwrap_or_default(),
                };
                self.todo.push_back(DeferredWork::Conclude {
                    task: row.id.clone(),
                    output,
                });
                Ok(())
            }
        }
    }

    /// Returns the step that follows when a task has failed for good. The edge of a foreach or of
    /// its join applies to the foreach as a whole: an item that fails counts as failed.
    pub(crate) fn error_way(
        &self,
        row: &TaskRow,
        step: &WorkflowStep,
    ) -> Option<crate::id::StepId> {
        if step.step_type == StepType::Foreach && row.kind == WorkflowTaskKind::Work {
            return None;
        }
        let own = self.next_on_error(&step.id);
        let join = step.join.as_ref();
        own.or_else(|| join.and_then(|join| self.next_on_error(join)))
    }

    /// Returns the join of a foreach, the step behind all its items.
    pub(crate) fn way_out(&self, step: &WorkflowStep) -> Vec<crate::id::StepId> {
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
