//! A store that dies: after so many writes, or at certain words, nothing returns any more.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use agent::{ConversationTurn, JournalFuture, TurnHistory, TurnJournal, TurnNote};
use builder::{
    BuildJob, BuildProgress, ConversationKind, JobChange, JobFile, JobFuture, JobId, JobLock,
    JobStatus, JobStore, MemoryJobs,
};
use tokio::sync::Notify;

/// The point at which it dies.
#[derive(Clone, Debug, Default)]
pub(crate) enum Death {
    #[default]
    Never,
    /// After this has been said.
    At(JobStatus, &'static str),
    /// After so many writes.
    After(Arc<AtomicI64>),
}

#[derive(Clone, Default)]
pub(crate) struct Mortal {
    pub(crate) inner: MemoryJobs,
    death: Arc<Mutex<Death>>,
    pub(crate) bell: Arc<Notify>,
}

impl Mortal {
    pub(crate) fn die(&self, death: Death) {
        *self.death.lock().unwrap() = death;
    }

    /// Hangs for ever if this was the last write.
    async fn written(&self, progress: Option<&BuildProgress>) {
        let death = self.death.lock().unwrap().clone();
        let is_last = match &death {
            Death::Never => false,
            Death::At(status, words) => {
                progress.is_some_and(|said| said.status == *status && said.message.contains(words))
            }
            Death::After(left) => left.fetch_sub(1, Ordering::Relaxed) == 1,
        };
        if is_last {
            self.bell.notify_one();
            std::future::pending::<()>().await;
        }
    }
}

impl JobStore for Mortal {
    fn create<'a>(&'a self, job: &'a BuildJob) -> JobFuture<'a, ()> {
        self.inner.create(job)
    }

    fn get<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, BuildJob> {
        self.inner.get(id)
    }

    fn list(
        &self,
        status: Option<JobStatus>,
        after: Option<JobId>,
        count: usize,
    ) -> JobFuture<'_, Vec<BuildJob>> {
        self.inner.list(status, after, count)
    }

    fn compare_and_set<'a>(&'a self, change: &'a JobChange) -> JobFuture<'a, ()> {
        Box::pin(async move {
            let done = self.inner.compare_and_set(change).await;
            self.written(None).await;
            done
        })
    }

    fn note<'a>(&'a self, progress: &'a BuildProgress) -> JobFuture<'a, ()> {
        Box::pin(async move {
            let done = self.inner.note(progress).await;
            self.written(Some(progress)).await;
            done
        })
    }

    fn progress<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, Vec<BuildProgress>> {
        self.inner.progress(id)
    }

    fn conversation<'a>(
        &'a self,
        id: &'a JobId,
        talk: ConversationKind,
    ) -> JobFuture<'a, Box<dyn TurnJournal + 'a>> {
        Box::pin(async move {
            let inner = self.inner.conversation(id, talk).await?;
            let journal: Box<dyn TurnJournal + 'a> = Box::new(MortalJournal { inner, store: self });
            Ok(journal)
        })
    }

    fn hold<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, JobLock> {
        self.inner.hold(id)
    }

    fn is_shared(&self) -> bool {
        self.inner.is_shared()
    }

    fn keep_files<'a>(&'a self, id: &'a JobId, files: &'a [JobFile]) -> JobFuture<'a, ()> {
        Box::pin(async move {
            let done = self.inner.keep_files(id, files).await;
            self.written(None).await;
            done
        })
    }

    fn files<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, Vec<JobFile>> {
        self.inner.files(id)
    }

    fn forget_files<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, ()> {
        self.inner.forget_files(id)
    }
}

struct MortalJournal<'a> {
    inner: Box<dyn TurnJournal + 'a>,
    store: &'a Mortal,
}

impl TurnJournal for MortalJournal<'_> {
    fn load(&mut self) -> JournalFuture<'_, TurnHistory> {
        self.inner.load()
    }

    fn note<'a>(&'a mut self, note: &'a TurnNote) -> JournalFuture<'a, ()> {
        Box::pin(async move {
            let done = self.inner.note(note).await;
            self.store.written(None).await;
            done
        })
    }

    fn commit<'a>(&'a mut self, turn: &'a ConversationTurn) -> JournalFuture<'a, ()> {
        Box::pin(async move {
            let done = self.inner.commit(turn).await;
            self.store.written(None).await;
            done
        })
    }
}
