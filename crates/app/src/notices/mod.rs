//! Readers of the outbox: they tell people and programs about events of runs.
//!
//! A [`NoticeReader`] delivers notices in its own way: by running a command, or by starting a
//! workflow that waits for the end of another. Every notice goes to all readers that want it, and
//! leaves the outbox when each has delivered it. A failed delivery is tried again, to all of them:
//! a notice has a number by which a reader recognises it.

mod command;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use flow::WorkflowStore;
use flow::engine::{HoldKind, Notice, NoticeKind};
use serde_json::{Value, json};
use store::{Outbox, StoredNotice};

use crate::triggers::EndReader;
use crate::{Error, ProcessEnvironment, Project};
use command::CommandReader;

/// Number of notices that are leased at a time, and the time of the lease: if this process dies,
/// others deliver them then.
const NOTICES_MAX: usize = 10;
const LEASE_MS: u64 = 10 * 60 * 1_000;
/// Limit on attempts to deliver a notice; then it stays in the outbox, and `drawloom notices` shows
/// it.
const TRIES_MAX: u64 = 5;
/// Pause after the first failure, in milliseconds; each further pause is four times as long.
const TRY_MS: u64 = 5_000;

/// A notice, as readers get it.
#[derive(Clone, Debug)]
pub(crate) struct NoticeMessage {
    /// The same whenever it is delivered.
    pub(crate) id: u64,
    pub(crate) occasions: BTreeSet<&'static str>,
    /// Name of the run's workflow.
    pub(crate) workflow: String,
    pub(crate) notice: Notice,
}

impl NoticeMessage {
    pub(crate) fn to_json(&self) -> Value {
        let Notice {
            run,
            task,
            message,
            assignee,
            ..
        } = &self.notice;
        json!({
            "id": self.id, "on": self.occasions, "workflow": self.workflow, "run": run,
            "task": task, "assignee": assignee, "message": message,
        })
    }
}

/// The future of a delivery; the error is a sentence that says why it failed.
pub(crate) type DeliveryFuture<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// Delivers messages. Webhooks and mail are readers beside those there are.
pub(crate) trait NoticeReader: Send + Sync {
    fn wants(&self, message: &NoticeMessage) -> bool;

    fn deliver<'a>(&'a self, message: &'a NoticeMessage) -> DeliveryFuture<'a>;
}

/// The readers that the settings name.
pub(crate) struct NoticeReaders {
    readers: Vec<Box<dyn NoticeReader>>,
    /// Starts workflows that wait for the end of others.
    ends: Arc<EndReader>,
}

impl NoticeReaders {
    /// Fails when the project's settings name commands that the user has not trusted.
    pub(crate) fn of(
        project: &Arc<Project>,
        surroundings: &ProcessEnvironment,
        store: &Arc<dyn WorkflowStore>,
    ) -> Result<NoticeReaders, Error> {
        project.trust.require_settings(&["notify."])?;
        let rules = project.settings.workflows.notify.values();
        let readers = rules.map(|rule| {
            let reader = CommandReader::new(rule.clone(), project, surroundings);
            Box::new(reader) as Box<dyn NoticeReader>
        });
        Ok(NoticeReaders {
            readers: readers.collect(),
            ends: Arc::new(EndReader::new(Arc::clone(project), Arc::clone(store))),
        })
    }

    /// Delivers due notices. Returns their number, delivered or not.
    pub(crate) async fn deliver_due(
        &self,
        outbox: &dyn Outbox,
        store: &Arc<dyn WorkflowStore>,
        now_ms: u64,
    ) -> Result<usize, Error> {
        let due = outbox.claim_notices(now_ms, LEASE_MS, NOTICES_MAX).await?;
        let count = due.len();
        let mut done = Vec::new();
        for kept in due {
            match self.deliver(store, &kept).await? {
                true => done.push(kept.id),
                false => {
                    let tries = kept.tries + 1;
                    let wait_ms = TRY_MS << (2 * kept.tries.min(8));
                    let due_ms = (tries < TRIES_MAX).then(|| now_ms.saturating_add(wait_ms));
                    outbox.postpone_notice(kept.id, due_ms).await?;
                }
            }
        }
        if !done.is_empty() {
            outbox.acknowledge_notices(&done).await?;
        }
        Ok(count)
    }

    /// Delivers a notice; returns true if every reader that wants it has it.
    async fn deliver(
        &self,
        store: &Arc<dyn WorkflowStore>,
        kept: &StoredNotice,
    ) -> Result<bool, Error> {
        let has_ends = self.ends.has_any();
        if self.readers.is_empty() && !has_ends {
            return Ok(true);
        }
        let message = message(&**store, kept).await?;
        let mut is_delivered = true;
        for reader in self.readers.iter().filter(|reader| reader.wants(&message)) {
            is_delivered &= reader.deliver(&message).await.is_ok();
        }
        if has_ends && self.ends.wants(&message) {
            is_delivered &= self.ends.deliver(&message).await.is_ok();
        }
        Ok(is_delivered)
    }
}

async fn message(store: &dyn WorkflowStore, kept: &StoredNotice) -> Result<NoticeMessage, Error> {
    let notice = kept.notice.clone();
    let run = store.run(&notice.run).await?;
    let hold = match (&notice.kind, &notice.task) {
        (NoticeKind::OnHold, Some(task)) => store.task(task).await?.and_then(|row| row.hold),
        _ => None,
    };
    Ok(NoticeMessage {
        id: kept.id,
        occasions: occasions(notice.kind, hold.map(|hold| hold.kind)),
        workflow: run.and_then(|run| run.name).unwrap_or_default(),
        notice,
    })
}

/// Returns the words by which a rule's `on` may name a notice.
fn occasions(kind: NoticeKind, hold: Option<HoldKind>) -> BTreeSet<&'static str> {
    let more = match hold {
        Some(HoldKind::Timeout) => Some("overdue"),
        Some(HoldKind::Budget) => Some("budget"),
        _ => None,
    };
    let word = match kind {
        NoticeKind::TaskForYou => "asked",
        NoticeKind::Reminder | NoticeKind::Escalated => "overdue",
        NoticeKind::OnHold => "on_hold",
        NoticeKind::RunPaused => "paused",
        NoticeKind::RunFailed => "failed",
        NoticeKind::RunCompleted | NoticeKind::RunCancelled => "finished",
    };
    BTreeSet::from_iter([Some(word), more].into_iter().flatten())
}
