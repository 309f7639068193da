//! The end of another workflow's run, as a reader of the outbox: a notice that cannot be handed on is
//! tried again, so that no end is missed.

use std::sync::Arc;

use flow::engine::{Notice, NoticeKind};
use flow::{RunEnd, TriggerCause, WorkflowStore};
use serde_json::json;

use super::{DEPTH_TAG, DeclaredTrigger, DeclaredTriggers, start_triggered};
use crate::notices::{DeliveryFuture, NoticeMessage, NoticeReader};
use crate::{Project, workflows};

/// Starts runs after others.
pub(crate) struct EndReader {
    project: Arc<Project>,
    store: Arc<dyn WorkflowStore>,
    declared: DeclaredTriggers,
}

impl EndReader {
    pub(crate) fn new(project: Arc<Project>, store: Arc<dyn WorkflowStore>) -> EndReader {
        EndReader {
            project,
            store,
            declared: DeclaredTriggers::default(),
        }
    }

    /// Tells whether any workflow waits for the end of another.
    pub(crate) fn has_any(&self) -> bool {
        let declared = self.declared.all(&self.project);
        declared
            .iter()
            .any(|one| matches!(one.trigger.cause, TriggerCause::After { .. }))
    }

    fn waiting_for(&self, message: &NoticeMessage) -> Vec<DeclaredTrigger> {
        let Some(end) = end_of(&message.notice) else {
            return Vec::new();
        };
        let all = self.declared.all(&self.project).into_iter();
        all.filter(|one| match &one.trigger.cause {
            TriggerCause::After { workflow, on } => {
                on.contains(&end) && self.is_called(workflow, &message.workflow)
            }
            _ => false,
        })
        .collect()
    }

    /// Tells whether a run of this name is of the workflow that a trigger names by its title or its file.
    fn is_called(&self, workflow: &str, run: &str) -> bool {
        if workflow == run {
            return true;
        }
        let text = workflows::text_of(&self.project, workflow).ok().flatten();
        let named = text.and_then(|text| flow::parse(&text).ok());
        named.is_some_and(|named| named.name() == Some(run))
    }
}

fn end_of(notice: &Notice) -> Option<RunEnd> {
    match notice.kind {
        NoticeKind::RunCompleted => Some(RunEnd::Completed),
        NoticeKind::RunFailed => Some(RunEnd::Failed),
        NoticeKind::RunCancelled => Some(RunEnd::Cancelled),
        _ => None,
    }
}

impl NoticeReader for EndReader {
    fn wants(&self, message: &NoticeMessage) -> bool {
        !self.waiting_for(message).is_empty()
    }

    fn deliver<'a>(&'a self, message: &'a NoticeMessage) -> DeliveryFuture<'a> {
        Box::pin(async move {
            let run = &message.notice.run;
            let row = self.store.run(run).await.map_err(|cause| cause.message)?;
            let Some(row) = row else {
                return Ok(());
            };
            let depth = row.tags.iter().find_map(|tag| tag.strip_prefix(DEPTH_TAG));
            let depth = depth.and_then(|depth| depth.parse().ok()).unwrap_or(0);
            let output = match &row.result {
                Some(task) => {
                    let task = self.store.task(task).await.map_err(|cause| cause.message)?;
                    task.and_then(|task| task.output)
                }
                None => None,
            };
            let mut problem = None;
            for one in self.waiting_for(message) {
                let cause = json!({
                    "run": run, "workflow": message.workflow, "status": row.status,
                    "output": output,
                });
                let id = format!("{} {run} {}", one.name(), row.seq);
                let started =
                    start_triggered((&self.project, &*self.store), &one, (&id, cause), depth).await;
                problem = started.err().map(|error| error.to_string()).or(problem);
            }
            problem.map_or(Ok(()), Err)
        })
    }
}
