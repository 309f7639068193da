//! Carrying out a plan: one task after the other, in the order of their dependencies.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::journal::{PlanJournal, TaskFingerprint, TaskRecord, TaskState};
use super::{TaskNode, TaskPlan};
use crate::error::Error;
use crate::handlers::{
    self, EarlierResult, HandlerContext, TaskEvent, TaskFailure, TaskInput, TaskObserver,
};
use crate::task::{Task, TaskName};

/// The outcome of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanOutcome {
    /// All in all.
    pub status: PlanStatus,
    /// The outcome of each task, in the order they were run.
    pub tasks: Vec<PlanTaskEnd>,
    /// The reason the run ended before its last task, if it did. Finished tasks are recorded;
    /// resume to continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<TaskFailure>,
}

/// All in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Every task is done.
    Completed,
    /// A task failed, or was skipped because another failed.
    Failed,
    /// The run ended before its last task.
    Stopped,
}

/// The outcome of a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanTaskEnd {
    /// The task.
    pub subtask_id: TaskName,
    /// Words for people.
    pub name: String,
    /// Its state.
    #[serde(flatten)]
    pub standing: TaskState,
    /// True if an earlier run finished it, so that it was not repeated.
    pub kept: bool,
}

/// Carries out a plan. Tasks that the journal knows to be done are not done again, and one that
/// was under way goes on where it stopped. A task that fails takes those that depend on it with
/// it; the others go on.
///
/// The error is a journal that cannot keep what was done.
pub async fn run(
    bench: &HandlerContext<'_>,
    plan: &TaskPlan,
    journal: &mut dyn PlanJournal,
    observer: &mut dyn TaskObserver,
) -> Result<PlanOutcome, Error> {
    let keys = keys(plan);
    let records = journal.load().await?.into_iter();
    let mut known: BTreeMap<TaskFingerprint, TaskState> = records
        .map(|record| (record.key, record.standing))
        .collect();
    let mut ends: Vec<PlanTaskEnd> = Vec::new();
    let mut stopped = None;
    for (node, task) in in_order(plan) {
        let key = &keys[&node.id];
        let before = known.remove(key);
        let kept = matches!(before, Some(TaskState::Completed { .. }));
        let standing = match before {
            _ if stopped.is_some() => before.unwrap_or(TaskState::Pending),
            Some(done @ TaskState::Completed { .. }) => {
                observer.notice_task(&TaskEvent::TaskKept { task: &node.id });
                done
            }
            _ => {
                let at_ms = bench.clock.now_ms();
                let mut turn = TaskTurn {
                    bench,
                    journal,
                    observer,
                    at_ms,
                };
                turn.take(key, task, (node, &ends)).await?
            }
        };
        if let TaskState::Failed { failure } = &standing
            && failure.kind.ends_the_plan()
            && stopped.is_none()
        {
            stopped = Some((**failure).clone());
        }
        ends.push(PlanTaskEnd {
            subtask_id: node.id.clone(),
            name: node.title.clone(),
            standing,
            kept,
        });
    }
    Ok(PlanOutcome {
        status: status(&ends, stopped.is_some()),
        tasks: ends,
        stopped,
    })
}

/// Returns the keys under which a plan's tasks are recorded.
pub fn keys(plan: &TaskPlan) -> BTreeMap<TaskName, TaskFingerprint> {
    let mut keys: BTreeMap<TaskName, TaskFingerprint> = BTreeMap::new();
    for (node, task) in in_order(plan) {
        let mut hash = Sha256::new();
        let mut definition = task.clone();
        // The layout of a task's file is no part of its definition.
        definition.raw_text = None;
        hash.update(serde_json::to_string(&definition).unwrap_or_default());
        for first in &node.after {
            hash.update(keys[first].fingerprint.as_bytes());
        }
        let bytes = hash.finalize();
        let fingerprint = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let id = node.id.clone();
        keys.insert(id.clone(), TaskFingerprint { id, fingerprint });
    }
    keys
}

fn in_order(plan: &TaskPlan) -> impl Iterator<Item = (&TaskNode, &Task)> {
    let nodes = plan.graph.nodes().iter();
    nodes.filter_map(|node| plan.task(&node.id).map(|task| (node, task)))
}

fn status(ends: &[PlanTaskEnd], stopped: bool) -> PlanStatus {
    let done = |end: &PlanTaskEnd| matches!(end.standing, TaskState::Completed { .. });
    if stopped {
        PlanStatus::Stopped
    } else if ends.iter().all(done) {
        PlanStatus::Completed
    } else {
        PlanStatus::Failed
    }
}

/// One task's turn.
struct TaskTurn<'a, 'b> {
    bench: &'a HandlerContext<'b>,
    journal: &'a mut dyn PlanJournal,
    observer: &'a mut dyn TaskObserver,
    at_ms: u64,
}

impl TaskTurn<'_, '_> {
    async fn take(
        &mut self,
        key: &TaskFingerprint,
        task: &Task,
        (node, ends): (&TaskNode, &[PlanTaskEnd]),
    ) -> Result<TaskState, Error> {
        let needed = |end: &&PlanTaskEnd| node.after.contains(&end.subtask_id);
        let is_done = |end: &&PlanTaskEnd| matches!(end.standing, TaskState::Completed { .. });
        let missing = ends.iter().filter(needed).filter(|end| !is_done(end));
        let because: Vec<TaskName> = missing.map(|end| end.subtask_id.clone()).collect();
        if !because.is_empty() {
            let (task, because) = (&node.id, because);
            let event = TaskEvent::TaskSkipped {
                task,
                because: &because,
            };
            self.observer.notice_task(&event);
            return self.keep(key, TaskState::Skipped { because }).await;
        }
        self.keep(key, TaskState::Running).await?;
        let earlier: Vec<EarlierResult> = ends.iter().filter(needed).filter_map(earlier).collect();
        let order = TaskInput {
            task,
            earlier: &earlier,
        };
        let mut conversation = self.journal.conversation(key).await?;
        let ended = handlers::run(self.bench, order, conversation.as_mut(), self.observer).await;
        drop(conversation);
        self.at_ms = self.bench.clock.now_ms();
        match ended {
            Ok(result) => {
                let result = Box::new(result);
                self.keep(key, TaskState::Completed { result }).await
            }
            // It stays under way, to be gone on with.
            Err(failure) if failure.kind.ends_the_plan() => Ok(TaskState::Failed {
                failure: Box::new(failure),
            }),
            Err(failure) => {
                let failure = Box::new(failure);
                self.keep(key, TaskState::Failed { failure }).await
            }
        }
    }

    async fn keep(
        &mut self,
        key: &TaskFingerprint,
        standing: TaskState,
    ) -> Result<TaskState, Error> {
        let record = TaskRecord {
            key: key.clone(),
            standing,
            at_ms: self.at_ms,
        };
        self.journal.keep(&record).await?;
        Ok(record.standing)
    }
}

/// Returns the text a later task gets about one that is done.
fn earlier(end: &PlanTaskEnd) -> Option<EarlierResult> {
    let TaskState::Completed { result } = &end.standing else {
        return None;
    };
    let content = result.report.ai_result.as_ref()?.content.clone();
    Some(EarlierResult {
        task: end.subtask_id.clone(),
        name: end.name.clone(),
        content,
    })
}
