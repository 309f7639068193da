//! Readers of the outbox: who is told what happens to runs.
//!
//! A [`NoticeReader`] delivers notices in its own way; today there is one, which runs a command. Every
//! notice goes to all readers that want it, and leaves the outbox when each has delivered it. What fails
//! is tried again, to all of them: a notice has a number by which a reader knows it again.

mod command;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use flow::Store;
use flow::engine::{HoldKind, Notice, NoticeKind};
use serde_json::{Value, json};
use store::{KeptNotice, Outbox};

use crate::{Error, Project, Surroundings};
use command::CommandReader;

/// How many notices are taken at a time, and for how long: if this process dies, others deliver them then.
const NOTICES_MAX: usize = 10;
const LEASE_MS: u64 = 10 * 60 * 1_000;
/// How often a notice is tried; then it stays in the outbox, and `drawloom notices` shows it.
const TRIES_MAX: u64 = 5;
/// How long is waited after the first failure, in milliseconds; then four times as long each time.
const TRY_MS: u64 = 5_000;

/// Something that happened, as readers are told.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// The same whenever it is delivered.
    pub(crate) id: u64,
    pub(crate) occasions: BTreeSet<&'static str>,
    /// What the run's workflow is called.
    pub(crate) workflow: String,
    pub(crate) notice: Notice,
}

impl Message {
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

/// What a delivery comes to: the sentence says why it failed.
pub(crate) type Delivery<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// Delivers messages. Webhooks and mail are readers beside the one there is.
pub(crate) trait NoticeReader: Send + Sync {
    fn wants(&self, message: &Message) -> bool;

    fn deliver<'a>(&'a self, message: &'a Message) -> Delivery<'a>;
}

/// The readers that the settings name.
pub(crate) struct NoticeReaders {
    readers: Vec<Box<dyn NoticeReader>>,
}

impl NoticeReaders {
    /// Fails when the project's settings name commands that the user has not trusted.
    pub(crate) fn of(
        project: &Project,
        surroundings: &Surroundings,
    ) -> Result<NoticeReaders, Error> {
        project.trust.require_settings(&["notify."])?;
        let rules = project.settings.workflows.notify.values();
        let readers = rules.map(|rule| {
            let reader = CommandReader::new(rule.clone(), project, surroundings);
            Box::new(reader) as Box<dyn NoticeReader>
        });
        Ok(NoticeReaders {
            readers: readers.collect(),
        })
    }

    /// Delivers what is due. Gives how much it was, delivered or not.
    pub(crate) async fn deliver_due(
        &self,
        outbox: &dyn Outbox,
        store: &Arc<dyn Store>,
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

    /// Whether every reader that wants it has it.
    async fn deliver(&self, store: &Arc<dyn Store>, kept: &KeptNotice) -> Result<bool, Error> {
        if self.readers.is_empty() {
            return Ok(true);
        }
        let message = message(&**store, kept).await?;
        let mut is_delivered = true;
        for reader in self.readers.iter().filter(|reader| reader.wants(&message)) {
            is_delivered &= reader.deliver(&message).await.is_ok();
        }
        Ok(is_delivered)
    }
}

async fn message(store: &dyn Store, kept: &KeptNotice) -> Result<Message, Error> {
    let notice = kept.notice.clone();
    let run = store.run(&notice.run).await?;
    let hold = match (&notice.kind, &notice.task) {
        (NoticeKind::OnHold, Some(task)) => store.task(task).await?.and_then(|row| row.hold),
        _ => None,
    };
    Ok(Message {
        id: kept.id,
        occasions: occasions(notice.kind, hold.map(|hold| hold.kind)),
        workflow: run.and_then(|run| run.name).unwrap_or_default(),
        notice,
    })
}

/// The words that a rule's `on` may name a notice by.
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
