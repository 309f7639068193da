//! Concurrency slots: tasks take one when they are claimed, runs when they begin.
//!
//! A slot is a row with a holder, counted by its key over all runs. A task returns its slot
//! whenever it leaves its worker, in every way it can, so that nothing has to be cleaned up after a
//! crash. A run without a free slot waits as a row behind the holders; the one that returns a slot
//! tells the first one that waits, by a timer that is due at once.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::engine::action::{EngineAction, EventKind, TaskChange};
use crate::engine::decision_context::{DecisionContext, DecisionResult};
use crate::engine::eval_scope::{EvalScope, OutputSource};
use crate::engine::rows::{
    AttemptFailure, FailureClass, RowSource, TaskRow, TimerPurpose, TimerRow,
};
use crate::engine::status::{RunStatus, StatusMove, TaskStatus};
use crate::engine::{CommandRefusal, DecisionStop, RefusalKind};
use crate::expression;
use crate::id::{ItemPath, RunId, TaskId};
use crate::limits::{ConcurrencyLimit, KEY_BYTES_MAX, OnLimit};
use crate::workflow::WorkflowStep;

/// The delay before a task that cancels another one for its slot checks again, in milliseconds.
const LOOK_AGAIN_MS: u64 = 250;

/// A holder of a concurrency slot, or one that waits for it. The key is `key` and `holder`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotRow {
    /// The key that slots are counted by.
    pub key: String,
    /// The run or the task.
    pub holder: String,
    /// The limit of holders, as this holder gives it.
    pub max: u32,
    /// The time since which it holds the slot or waits.
    pub since_ms: u64,
    /// Says that it holds the slot; otherwise it waits.
    pub is_held: bool,
}

/// The key of a slot row.
pub type SlotKey = (String, String);

/// The concurrency slot that a task or a run needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotRequest {
    /// The key that slots are counted by.
    pub key: String,
    /// The limit of holders.
    pub max: u32,
    /// The rule when all slots are taken.
    pub on_limit: OnLimit,
}

impl SlotRow {
    fn of(wish: &SlotRequest, holder: String, since_ms: u64, is_held: bool) -> SlotRow {
        SlotRow {
            key: wish.key.clone(),
            holder,
            max: wish.max,
            since_ms,
            is_held,
        }
    }

    /// Returns the key of the row.
    #[must_use]
    pub fn id(&self) -> SlotKey {
        (self.key.clone(), self.holder.clone())
    }
}

/// Tells whether all slots are taken.
fn is_full(rows: &[Arc<SlotRow>], wish: &SlotRequest) -> bool {
    let held = rows.iter().filter(|row| row.is_held).count();
    held >= usize::try_from(wish.max).unwrap_or(usize::MAX)
}

fn oldest(rows: &[Arc<SlotRow>]) -> Option<&Arc<SlotRow>> {
    let held = rows.iter().filter(|row| row.is_held);
    held.min_by_key(|row| (row.since_ms, row.holder.clone()))
}

impl<R: RowSource> DecisionContext<'_, R> {
    // Tasks.

    /// Records on a worker's task which slot it will need.
    pub(crate) fn wish_slot(&mut self, step: &WorkflowStep, row: &TaskRow) -> DecisionResult<R> {
        let Some(limit) = &step.config.concurrency else {
            return Ok(());
        };
        let alone = format!("step:{}/{}", self.workflow_name()?, step.id);
        let view = EvalScope::of(row);
        let (key, warning) = self.slot_key(limit, &view, ("stepkey", alone))?;
        if let Some(message) = warning {
            let task = Some(row.id.clone());
            self.tell(EventKind::Warned { task, message })?;
        }
        let slot = SlotRequest {
            key,
            max: limit.max,
            on_limit: limit.on_limit,
        };
        let change = TaskChange {
            slot: Some(Some(Box::new(slot))),
            ..TaskChange::default()
        };
        self.change(&row.id, change)
    }

    /// Gets a slot for a task that is about to be claimed. Tells whether it can be claimed now.
    pub(crate) fn has_room(&mut self, row: &TaskRow) -> DecisionResult<R, bool> {
        let Some(wish) = row.slot.as_deref() else {
            return Ok(true);
        };
        let rows = self.slots(&wish.key)?;
        if !is_full(&rows, wish) {
            return Ok(true);
        }
        match wish.on_limit {
            OnLimit::Queue => {
                let message = format!(
                    "The task `{}` waits: {} with the key `{}` are under way.",
                    row.id, wish.max, wish.key
                );
                Err(DecisionStop::Refused(CommandRefusal::new(
                    RefusalKind::NoRoom,
                    message,
                )))
            }
            OnLimit::Skip => {
                let why = format!("There was no room for it: `{}`.", wish.key);
                self.shift(&row.id, StatusMove::Claim, Some(why))?;
                let row = self.the_task(&row.id)?;
                let ends = (StatusMove::Complete, StatusMove::Hold);
                self.complete(&row, json!({ "skipped": true }), ends)?;
                Ok(false)
            }
            OnLimit::CancelOldest => {
                self.take_room_from(oldest(&rows), row)?;
                let change = TaskChange {
                    ready_ms: Some(self.now_ms.saturating_add(LOOK_AGAIN_MS)),
                    ..TaskChange::default()
                };
                self.change(&row.id, change)?;
                Ok(false)
            }
        }
    }

    fn take_room_from(
        &mut self,
        oldest: Option<&Arc<SlotRow>>,
        row: &TaskRow,
    ) -> DecisionResult<R> {
        let task = oldest.and_then(|slot| slot.holder.parse::<TaskId>().ok());
        let Some(task) = task else {
            return Ok(());
        };
        self.act(EngineAction::Arm(TimerRow {
            run: task.run.clone(),
            key: format!("room:{task}"),
            at_ms: self.now_ms,
            due: TimerPurpose::MakeRoom {
                task,
                reason: format!("`{}` took its place.", row.id),
            },
        }))
    }

    /// Fails a task for good, because a newer one takes its slot.
    pub(crate) fn make_room(&mut self, task: &TaskId, reason: &str) -> DecisionResult<R> {
        let row = self.the_task(task)?;
        if row.status != TaskStatus::InProgress {
            return Ok(());
        }
        let failure = AttemptFailure {
            class: FailureClass::Cancelled,
            message: reason.to_owned(),
        };
        self.fail(&row, failure)
    }

    /// Takes or returns the slot of a task that a worker has claimed or left.
    pub(crate) fn hold_slot(&mut self, task: &TaskId, is_claimed: bool) -> DecisionResult<R> {
        let Some(wish) = self.of_task(task, |row| row.slot.clone())? else {
            return Ok(());
        };
        let holder = task.to_string();
        self.slots(&wish.key)?;
        let id = (wish.key.clone(), holder.clone());
        match is_claimed {
            true => {
                let slot = SlotRow::of(&wish, holder, self.now_ms, true);
                self.slots.put(id, slot);
            }
            false => self.slots.set(id, None),
        }
        Ok(())
    }

    // Runs.

    /// Gets a slot for a new run. Tells whether it can begin now.
    pub(crate) fn is_admitted(&mut self) -> DecisionResult<R, bool> {
        let Some(limit) = self.workflow.concurrency() else {
            return Ok(true);
        };
        let alone = format!("run:{}", self.workflow_name()?);
        let view = EvalScope {
            path: ItemPath::default(),
            output: OutputSource::None,
            fresh: None,
            assignee: None,
        };
        let (key, warning) = self.slot_key(limit, &view, ("runkey", alone))?;
        if let Some(message) = warning {
            self.tell(EventKind::Warned {
                task: None,
                message,
            })?;
        }
        let wish = SlotRequest {
            key,
            max: limit.max,
            on_limit: limit.on_limit,
        };
        let rows = self.slots(&wish.key)?;
        let has_queue = rows.iter().any(|row| !row.is_held);
        let is_full = is_full(&rows, &wish);
        let run = self.run.clone();
        if is_full && wish.on_limit == OnLimit::Skip {
            let reason = format!("There was no room for it: `{}`.", wish.key);
            self.end_run(RunStatus::Cancelled, Some(reason))?;
            return Ok(false);
        }
        if is_full && wish.on_limit == OnLimit::CancelOldest {
            self.cancel_holder(oldest(&rows))?;
        }
        let is_now = !is_full && !has_queue;
        let slot = SlotRow::of(&wish, run.to_string(), self.now_ms, is_now);
        self.slots.put(slot.id(), slot);
        self.act(EngineAction::SetSlot {
            run,
            slot: Box::new(wish.clone()),
            is_queued: !is_now,
        })?;
        if !is_now {
            self.tell(EventKind::RunQueued {
                key: wish.key.clone(),
            })?;
            if !is_full {
                self.call_next(&wish.key)?;
            }
        }
        Ok(is_now)
    }

    fn cancel_holder(&mut self, oldest: Option<&Arc<SlotRow>>) -> DecisionResult<R> {
        let Some(slot) = oldest else {
            return Ok(());
        };
        self.act(EngineAction::Arm(TimerRow {
            run: RunId::new(slot.holder.as_str()),
            key: "cancel".to_owned(),
            at_ms: self.now_ms,
            due: TimerPurpose::Cancel {
                reason: format!("The run `{}` took its place.", self.run),
            },
        }))
    }

    /// Starts a run that waits for a slot, if there is one now; otherwise it keeps waiting.
    pub(crate) fn admit(&mut self) -> DecisionResult<R> {
        let run = self.the_run()?;
        let Some(wish) = run.slot.as_deref().filter(|_| run.is_queued) else {
            return Ok(());
        };
        if run.status.is_terminal() || is_full(&self.slots(&wish.key)?, wish) {
            return Ok(());
        }
        let slot = SlotRow::of(wish, run.id.to_string(), self.now_ms, true);
        self.slots.put(slot.id(), slot);
        self.act(EngineAction::SetSlot {
            run: run.id.clone(),
            slot: Box::new(wish.clone()),
            is_queued: false,
        })?;
        self.tell(EventKind::RunAdmitted)?;
        if !is_full(&self.slots(&wish.key)?, wish) {
            self.call_next(&wish.key)?;
        }
        self.begin_steps()
    }

    /// Gives the slot of a run that has ended to the first one that waits.
    pub(crate) fn leave_slot(&mut self) -> DecisionResult<R> {
        let run = self.the_run()?;
        let Some(wish) = run.slot.as_deref() else {
            return Ok(());
        };
        self.slots(&wish.key)?;
        self.slots.set((wish.key.clone(), run.id.to_string()), None);
        self.call_next(&wish.key)
    }

    /// Tells the run that has waited for longest that a slot may be free.
    fn call_next(&mut self, key: &str) -> DecisionResult<R> {
        let rows = self.slots(key)?;
        let queued = rows.iter().filter(|row| !row.is_held);
        let first = queued.min_by_key(|row| (row.since_ms, row.holder.clone()));
        let Some(first) = first else {
            return Ok(());
        };
        self.act(EngineAction::Arm(TimerRow {
            run: RunId::new(first.holder.as_str()),
            key: "admit".to_owned(),
            at_ms: self.now_ms,
            due: TimerPurpose::Admit,
        }))
    }

    // Keys.

    /// Returns the holders of a key, and the runs that wait for it.
    pub(crate) fn slots(&mut self, key: &str) -> DecisionResult<R, Vec<Arc<SlotRow>>> {
        let stored = self.rows.slots(key).map_err(DecisionStop::Rows)?;
        for row in stored {
            self.slots.learn(row.id(), Some(row));
        }
        let rows = self.slots.iter().map(|(_, row)| row);
        Ok(rows.filter(|row| row.key == key).cloned().collect())
    }

    fn workflow_name(&mut self) -> DecisionResult<R, String> {
        let name = self.of_run(|run| run.name.clone())?;
        let titled = || self.workflow.name().map(str::to_owned);
        Ok(name
            .or_else(titled)
            .unwrap_or_else(|| self.workflow.hash().to_string()))
    }

    /// Returns the key of a limit, and a warning if a part of it is unknown.
    fn slot_key(
        &mut self,
        limit: &ConcurrencyLimit,
        view: &EvalScope,
        (kind, alone): (&str, String),
    ) -> DecisionResult<R, (String, Option<String>)> {
        let Some(text) = &limit.key else {
            return Ok((alone, None));
        };
        let state = self.state(view, &expression::text_reads(text))?;
        let (mut filled, warning) = match expression::fill(text, &state) {
            Ok(filled) if filled.unknown.is_empty() => (filled.text, None),
            Ok(filled) => {
                let unknown = filled.unknown.join("`, `");
                let warning = format!("`{unknown}` in the key `{text}` is not known.");
                (filled.text, Some(warning))
            }
            Err(error) => {
                let why = error.message().trim_end_matches('.').to_owned();
                (
                    text.clone(),
                    Some(format!("The key `{text}` cannot be filled in: {why}.")),
                )
            }
        };
        let end = filled.floor_char_boundary(KEY_BYTES_MAX);
        filled.truncate(end);
        Ok((format!("{kind}:{filled}"), warning))
    }
}
