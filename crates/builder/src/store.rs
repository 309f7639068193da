//! The port that stores jobs, and its implementation in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use agent::{MemoryJournal, TurnJournal};

use crate::error::{BuildErrorKind, Error};
use crate::job::{BuildJob, JobChange, JobId};
use crate::progress::BuildProgress;
use crate::status::JobStatus;

/// The future of a store's read or write. Boxed, so that stores can be `dyn JobStore`.
pub type JobFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// Stores jobs, their progress and their conversations.
///
/// A write that returned `Ok` survives the death of the process.
pub trait JobStore: Send + Sync {
    /// Stores a new job. A second one with the same id is [`BuildErrorKind::Conflict`].
    fn create<'a>(&'a self, job: &'a BuildJob) -> JobFuture<'a, ()>;

    /// Returns the job, or [`BuildErrorKind::NotFound`].
    fn get<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, BuildJob>;

    /// The jobs of this status, or all, the newest first, at most `count`, beginning after `after`.
    fn list(
        &self,
        status: Option<JobStatus>,
        after: Option<JobId>,
        count: usize,
    ) -> JobFuture<'_, Vec<BuildJob>>;

    /// Stores the change if the job still has the change's status and revision; otherwise changes
    /// nothing and returns [`BuildErrorKind::Conflict`]. Atomic, also between processes. The stored files
    /// of a job that is settled by the change are removed.
    fn compare_and_set<'a>(&'a self, change: &'a JobChange) -> JobFuture<'a, ()>;

    /// Adds to the progress of a job.
    fn note<'a>(&'a self, progress: &'a BuildProgress) -> JobFuture<'a, ()>;

    /// The progress of a job, the oldest first.
    fn progress<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, Vec<BuildProgress>>;

    /// Opens a conversation of a job; it is empty the first time.
    fn conversation<'a>(
        &'a self,
        id: &'a JobId,
        talk: ConversationKind,
    ) -> JobFuture<'a, Box<dyn TurnJournal + 'a>>;

    /// Locks the job for this process, until the hold is dropped or the process dies. Returns
    /// [`BuildErrorKind::Held`] if another process has the lock.
    fn hold<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, JobLock>;

    /// Returns true if another machine may go on with a job. Then the files of a worktree are stored
    /// as well.
    fn is_shared(&self) -> bool;

    /// Stores files as a job has left them, in the place of what was stored of the same paths.
    fn keep_files<'a>(&'a self, id: &'a JobId, files: &'a [JobFile]) -> JobFuture<'a, ()>;

    /// The stored files of a job, by their paths.
    fn files<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, Vec<JobFile>>;

    /// Removes the stored files of a job.
    fn forget_files<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, ()>;
}

/// A file of a job's worktree that is not as it was at the beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFile {
    /// Its path from the project's folder in the worktree.
    pub path: String,
    /// Its content; `None` if the job has deleted it.
    pub content: Option<Vec<u8>>,
    /// True if it may be executed.
    pub is_executable: bool,
}

/// The conversations of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConversationKind {
    /// About the plan.
    Plan,
    /// About the files: generation and repairs are one conversation.
    Build,
}

impl ConversationKind {
    /// The name in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            ConversationKind::Plan => "plan",
            ConversationKind::Build => "build",
        }
    }
}

/// The lock on a job: only its holder works on the job. Dropping it releases the lock.
pub struct JobLock(#[expect(dead_code, reason = "it exists to be dropped")] Box<dyn Send + Sync>);

impl JobLock {
    /// Wraps a guard that releases the lock when it is dropped.
    pub fn new(guard: impl Send + Sync + 'static) -> JobLock {
        JobLock(Box::new(guard))
    }
}

/// Stores jobs in memory. Clones share them, like one file.
#[derive(Clone, Debug, Default)]
pub struct MemoryJobs(Arc<Mutex<MemoryTables>>);

#[derive(Debug, Default)]
struct MemoryTables {
    is_shared: bool,
    jobs: BTreeMap<JobId, BuildJob>,
    progress: Vec<BuildProgress>,
    talks: BTreeMap<(JobId, ConversationKind), MemoryJournal>,
    files: BTreeMap<(JobId, String), JobFile>,
    held: BTreeSet<JobId>,
}

impl MemoryJobs {
    /// Creates a store that several machines share.
    pub fn on_server() -> MemoryJobs {
        let jobs = MemoryJobs::default();
        jobs.with(|shelf| shelf.is_shared = true);
        jobs
    }

    fn with<T>(&self, act: impl FnOnce(&mut MemoryTables) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct HeldJob {
    jobs: MemoryJobs,
    id: JobId,
}

impl Drop for HeldJob {
    fn drop(&mut self) {
        self.jobs.with(|shelf| shelf.held.remove(&self.id));
    }
}

impl JobStore for MemoryJobs {
    fn create<'a>(&'a self, job: &'a BuildJob) -> JobFuture<'a, ()> {
        ready(self.with(|shelf| {
            if shelf.jobs.contains_key(&job.id) {
                return Err(twice(&job.id));
            }
            shelf.jobs.insert(job.id.clone(), job.clone());
            Ok(())
        }))
    }

    fn get<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, BuildJob> {
        ready(self.with(|shelf| shelf.jobs.get(id).cloned().ok_or_else(|| unknown(id))))
    }

    fn list(
        &self,
        status: Option<JobStatus>,
        after: Option<JobId>,
        count: usize,
    ) -> JobFuture<'_, Vec<BuildJob>> {
        ready(self.with(|shelf| {
            let jobs = shelf.jobs.values().rev();
            let jobs = jobs.filter(|job| status.is_none_or(|status| job.status() == status));
            let jobs = jobs.filter(|job| after.as_ref().is_none_or(|after| job.id < *after));
            Ok(jobs.take(count).cloned().collect())
        }))
    }

    fn compare_and_set<'a>(&'a self, change: &'a JobChange) -> JobFuture<'a, ()> {
        ready(self.with(|shelf| {
            let id = &change.job().id;
            let job = shelf.jobs.get_mut(id).ok_or_else(|| unknown(id))?;
            let expected = (change.transition().from(), change.revision());
            if (job.status(), job.revision()) != expected {
                return Err(moved_on(id, job.status()));
            }
            *job = change.job().clone();
            if job.status().is_settled() {
                shelf.files.retain(|(job, _), _| job != id);
            }
            Ok(())
        }))
    }

    fn note<'a>(&'a self, progress: &'a BuildProgress) -> JobFuture<'a, ()> {
        self.with(|shelf| shelf.progress.push(progress.clone()));
        ready(Ok(()))
    }

    fn progress<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, Vec<BuildProgress>> {
        ready(self.with(|shelf| {
            let progress = shelf.progress.iter();
            Ok(progress.filter(|one| one.job_id == *id).cloned().collect())
        }))
    }

    fn conversation<'a>(
        &'a self,
        id: &'a JobId,
        talk: ConversationKind,
    ) -> JobFuture<'a, Box<dyn TurnJournal + 'a>> {
        let key = (id.clone(), talk);
        let memory = self.with(|shelf| shelf.talks.entry(key).or_default().clone());
        let journal: Box<dyn TurnJournal + 'a> = Box::new(memory);
        ready(Ok(journal))
    }

    fn hold<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, JobLock> {
        let taken = self.with(|shelf| shelf.held.insert(id.clone()));
        ready(if taken {
            Ok(JobLock::new(HeldJob {
                jobs: self.clone(),
                id: id.clone(),
            }))
        } else {
            Err(held(id))
        })
    }

    fn is_shared(&self) -> bool {
        self.with(|shelf| shelf.is_shared)
    }

    fn keep_files<'a>(&'a self, id: &'a JobId, files: &'a [JobFile]) -> JobFuture<'a, ()> {
        self.with(|shelf| {
            let files = files.iter().cloned();
            let named = files.map(|file| ((id.clone(), file.path.clone()), file));
            shelf.files.extend(named);
        });
        ready(Ok(()))
    }

    fn files<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, Vec<JobFile>> {
        ready(self.with(|shelf| {
            let own = shelf.files.iter().filter(|((job, _), _)| job == id);
            Ok(own.map(|(_, file)| file.clone()).collect())
        }))
    }

    fn forget_files<'a>(&'a self, id: &'a JobId) -> JobFuture<'a, ()> {
        self.with(|shelf| shelf.files.retain(|(job, _), _| job != id));
        ready(Ok(()))
    }
}

/// The error for a missing job, for every store.
pub fn unknown(id: &JobId) -> Error {
    let message = format!("there is no build `{id}`; `drawloom builds list` lists the builds");
    Error::new(BuildErrorKind::NotFound, message)
}

/// The error for an id that is taken, for every store.
pub fn twice(id: &JobId) -> Error {
    let message = format!("there is a build `{id}` already; ask again");
    Error::new(BuildErrorKind::Conflict, message)
}

/// The error for a change that came too late, for every store.
pub fn moved_on(id: &JobId, status: JobStatus) -> Error {
    let message = format!(
        "the build `{id}` was changed in the meantime and is `{status}` now; look at it and decide again"
    );
    Error::new(BuildErrorKind::Conflict, message)
}

/// The error for a job that another process works on, for every store.
pub fn held(id: &JobId) -> Error {
    let message = format!(
        "another process works on the build `{id}`; wait for it, or cancel the build with \
         `drawloom builds cancel {id}`"
    );
    Error::new(BuildErrorKind::Held, message)
}

fn ready<'a, T: Send + 'a>(value: Result<T, Error>) -> JobFuture<'a, T> {
    Box::pin(std::future::ready(value))
}
