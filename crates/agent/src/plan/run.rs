//! Carrying out a plan: one task after the other, in the order of their dependencies.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::journal::{PlanJournal, Standing, TaskKey, TaskRecord};
use super::{Node, Plan};
use crate::error::Error;
use crate::handlers::{self, Bench, Earlier, Order, TaskEvent, TaskFailure, TaskObserver};
use crate::task::{Task, TaskId};

/// What became of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanOutcome {
    /// All in all.
    pub status: PlanStatus,
    /// What became of each task, in the order they are run.
    pub tasks: Vec<TaskEnd>,
    /// Why the run ended before its last task, if so. What is done is kept; resume to go on.
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

/// What became of a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskEnd {
    /// The task.
    pub subtask_id: TaskId,
    /// Words for people.
    pub name: String,
    /// What became of it.
    #[serde(flatten)]
    pub standing: Standing,
    /// Whether that was in an earlier run, which was not repeated.
    pub kept: bool,
}

/// Carries out a plan. Tasks that the journal knows to be done are not done again, and one that
/// was under way goes on where it stopped. A task that fails takes those that depend on it with
/// it; the others go on.
///
/// The error is a journal that cannot keep what was done.
pub async fn run(
    bench: &Bench<'_>,
    plan: &Plan,
    journal: &mut dyn PlanJournal,
    observer: &mut dyn TaskObserver,
) -> Result<PlanOutcome, Error> {
    let keys = keys(plan);
    let records = journal.load().await?.into_iter();
    let mut known: BTreeMap<TaskKey, Standing> = records
        .map(|record| (record.key, record.standing))
        .collect();
    let mut ends: Vec<TaskEnd> = Vec::new();
    let mut stopped = None;
    for (node, task) in in_order(plan) {
        let key = &keys[&node.id];
        let before = known.remove(key);
        let kept = matches!(before, Some(Standing::Completed { .. }));
        let standing = match before {
            _ if stopped.is_some() => before.unwrap_or(Standing::Pending),
            Some(done @ Standing::Completed { .. }) => {
                observer.notice_task(&TaskEvent::TaskKept { task: &node.id });
                done
            }
            _ => {
                let at_ms = bench.clock.now_ms();
                let mut turn = Turn {
                    bench,
                    journal,
                    observer,
                    at_ms,
                };
                turn.take(key, task, (node, &ends)).await?
            }
        };
        if let Standing::Failed { failure } = &standing
            && failure.kind.ends_the_plan()
            && stopped.is_none()
        {
            stopped = Some((**failure).clone());
        }
        ends.push(TaskEnd {
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

/// The keys under which a plan's tasks are recorded.
pub fn keys(plan: &Plan) -> BTreeMap<TaskId, TaskKey> {
    let mut keys: BTreeMap<TaskId, TaskKey> = BTreeMap::new();
    for (node, task) in in_order(plan) {
        let mut hash = Sha256::new();
        let mut definition = task.clone();
        // How it is laid out in its file says nothing about what it is.
        definition.raw_text = None;
        hash.update(serde_json::to_string(&definition).unwrap_or_default());
        for first in &node.after {
            hash.update(keys[first].fingerprint.as_bytes());
        }
        let bytes = hash.finalize();
        let fingerprint = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let id = node.id.clone();
        keys.insert(id.clone(), TaskKey { id, fingerprint });
    }
    keys
}

fn in_order(plan: &Plan) -> impl Iterator<Item = (&Node, &Task)> {
    let nodes = plan.graph.nodes().iter();
    nodes.filter_map(|node| plan.task(&node.id).map(|task| (node, task)))
}

fn status(ends: &[TaskEnd], stopped: bool) -> PlanStatus {
    let done = |end: &TaskEnd| matches!(end.standing, Standing::Completed { .. });
    if stopped {
        PlanStatus::Stopped
    } else if ends.iter().all(done) {
        PlanStatus::Completed
    } else {
        PlanStatus::Failed
    }
}

/// One task's turn.
struct Turn<'a, 'b> {
    bench: &'a Bench<'b>,
    journal: &'a mut dyn PlanJournal,
    observer: &'a mut dyn TaskObserver,
    at_ms: u64,
}

impl Turn<'_, '_> {
    async fn take(
        &mut self,
        key: &TaskKey,
        task: &Task,
        (node, ends): (&Node, &[TaskEnd]),
    ) -> Result<Standing, Error> {
        let needed = |end: &&TaskEnd| node.after.contains(&end.subtask_id);
        let is_done = |end: &&TaskEnd| matches!(end.standing, Standing::Completed { .. });
        let missing = ends.iter().filter(needed).filter(|end| !is_done(end));
        let because: Vec<TaskId> = missing.map(|end| end.subtask_id.clone()).collect();
        if !because.is_empty() {
            let (task, because) = (&node.id, because);
            let event = TaskEvent::TaskSkipped {
                task,
                because: &because,
            };
            self.observer.notice_task(&event);
            return self.keep(key, Standing::Skipped { because }).await;
        }
        self.keep(key, Standing::Running).await?;
        let earlier: Vec<Earlier> = ends.iter().filter(needed).filter_map(earlier).collect();
        let order = Order {
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
                self.keep(key, Standing::Completed { result }).await
            }
            // It stays under way, to be gone on with.
            Err(failure) if failure.kind.ends_the_plan() => Ok(Standing::Failed {
                failure: Box::new(failure),
            }),
            Err(failure) => {
                let failure = Box::new(failure);
                self.keep(key, Standing::Failed { failure }).await
            }
        }
    }

    async fn keep(&mut self, key: &TaskKey, standing: Standing) -> Result<Standing, Error> {
        let record = TaskRecord {
            key: key.clone(),
            standing,
            at_ms: self.at_ms,
        };
        self.journal.keep(&record).await?;
        Ok(record.standing)
    }
}

/// What a later task is told about one that is done.
fn earlier(end: &TaskEnd) -> Option<Earlier> {
    let Standing::Completed { result } = &end.standing else {
        return None;
    };
    let content = result.report.ai_result.as_ref()?.content.clone();
    Some(Earlier {
        task: end.subtask_id.clone(),
        name: end.name.clone(),
        content,
    })
}
