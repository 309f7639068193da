//! The port behind which jobs are kept, and the store that keeps them in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use agent::{Journal, Memory};

use crate::error::{Error, Kind};
use crate::job::{Change, Job, JobId};
use crate::progress::Progress;
use crate::status::Status;

/// Something being kept or read. Boxed, so that stores can be `dyn Jobs`.
pub type Kept<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// Keeps jobs, their progress and their conversations.
///
/// What a call has returned `Ok` for survives the death of the process.
pub trait Jobs: Send + Sync {
    /// Keeps a new job. A second one of the same id is [`Kind::Conflict`].
    fn create<'a>(&'a self, job: &'a Job) -> Kept<'a, ()>;

    /// The job; [`Kind::NotFound`] if there is none.
    fn get<'a>(&'a self, id: &'a JobId) -> Kept<'a, Job>;

    /// The jobs of this status, or all, the newest first, at most `count`, beginning after `after`.
    fn list(
        &self,
        status: Option<Status>,
        after: Option<JobId>,
        count: usize,
    ) -> Kept<'_, Vec<Job>>;

    /// Keeps the change if the job still has the change's status and revision; else nothing
    /// happens and the error is [`Kind::Conflict`]. One step, also between processes.
    fn compare_and_set<'a>(&'a self, change: &'a Change) -> Kept<'a, ()>;

    /// Adds to the progress of a job.
    fn note<'a>(&'a self, progress: &'a Progress) -> Kept<'a, ()>;

    /// The progress of a job, the oldest first.
    fn progress<'a>(&'a self, id: &'a JobId) -> Kept<'a, Vec<Progress>>;

    /// A conversation of a job; one without turns the first time.
    fn conversation<'a>(&'a self, id: &'a JobId, talk: Talk) -> Kept<'a, Box<dyn Journal + 'a>>;

    /// Makes this process the one that works on the job, until the hold is dropped or the
    /// process dies. [`Kind::Held`] if another one does.
    fn hold<'a>(&'a self, id: &'a JobId) -> Kept<'a, Hold>;
}

/// The conversations of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Talk {
    /// About the plan.
    Plan,
    /// About the files: generation and repairs are one conversation.
    Build,
}

impl Talk {
    /// The word in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Talk::Plan => "plan",
            Talk::Build => "build",
        }
    }
}

/// Whoever has it works on the job. Let go when dropped.
pub struct Hold(#[expect(dead_code, reason = "it exists to be dropped")] Box<dyn Send + Sync>);

impl Hold {
    /// A hold that this value's drop lets go.
    pub fn new(guard: impl Send + Sync + 'static) -> Hold {
        Hold(Box::new(guard))
    }
}

/// Jobs in memory. Clones share them, as if they were the same file.
#[derive(Clone, Debug, Default)]
pub struct MemoryJobs(Arc<Mutex<Shelf>>);

#[derive(Debug, Default)]
struct Shelf {
    jobs: BTreeMap<JobId, Job>,
    progress: Vec<Progress>,
    talks: BTreeMap<(JobId, Talk), Memory>,
    held: BTreeSet<JobId>,
}

impl MemoryJobs {
    fn with<T>(&self, act: impl FnOnce(&mut Shelf) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct Held {
    jobs: MemoryJobs,
    id: JobId,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.jobs.with(|shelf| shelf.held.remove(&self.id));
    }
}

impl Jobs for MemoryJobs {
    fn create<'a>(&'a self, job: &'a Job) -> Kept<'a, ()> {
        ready(self.with(|shelf| {
            if shelf.jobs.contains_key(&job.id) {
                return Err(twice(&job.id));
            }
            shelf.jobs.insert(job.id.clone(), job.clone());
            Ok(())
        }))
    }

    fn get<'a>(&'a self, id: &'a JobId) -> Kept<'a, Job> {
        ready(self.with(|shelf| shelf.jobs.get(id).cloned().ok_or_else(|| unknown(id))))
    }

    fn list(
        &self,
        status: Option<Status>,
        after: Option<JobId>,
        count: usize,
    ) -> Kept<'_, Vec<Job>> {
        ready(self.with(|shelf| {
            let jobs = shelf.jobs.values().rev();
            let jobs = jobs.filter(|job| status.is_none_or(|status| job.status() == status));
            let jobs = jobs.filter(|job| after.as_ref().is_none_or(|after| job.id < *after));
            Ok(jobs.take(count).cloned().collect())
        }))
    }

    fn compare_and_set<'a>(&'a self, change: &'a Change) -> Kept<'a, ()> {
        ready(self.with(|shelf| {
            let id = &change.job().id;
            let job = shelf.jobs.get_mut(id).ok_or_else(|| unknown(id))?;
            let expected = (change.transition().from(), change.revision());
            if (job.status(), job.revision()) != expected {
                return Err(moved_on(id, job.status()));
            }
            *job = change.job().clone();
            Ok(())
        }))
    }

    fn note<'a>(&'a self, progress: &'a Progress) -> Kept<'a, ()> {
        self.with(|shelf| shelf.progress.push(progress.clone()));
        ready(Ok(()))
    }

    fn progress<'a>(&'a self, id: &'a JobId) -> Kept<'a, Vec<Progress>> {
        ready(self.with(|shelf| {
            let progress = shelf.progress.iter();
            Ok(progress.filter(|one| one.job_id == *id).cloned().collect())
        }))
    }

    fn conversation<'a>(&'a self, id: &'a JobId, talk: Talk) -> Kept<'a, Box<dyn Journal + 'a>> {
        let key = (id.clone(), talk);
        let memory = self.with(|shelf| shelf.talks.entry(key).or_default().clone());
        let journal: Box<dyn Journal + 'a> = Box::new(memory);
        ready(Ok(journal))
    }

    fn hold<'a>(&'a self, id: &'a JobId) -> Kept<'a, Hold> {
        let taken = self.with(|shelf| shelf.held.insert(id.clone()));
        ready(if taken {
            Ok(Hold::new(Held {
                jobs: self.clone(),
                id: id.clone(),
            }))
        } else {
            Err(held(id))
        })
    }
}

/// The error of a job that is not there, for every store.
pub fn unknown(id: &JobId) -> Error {
    let message = format!("there is no build `{id}`; `drawloom builds list` shows those there are");
    Error::new(Kind::NotFound, message)
}

/// The error of an id that is taken, for every store.
pub fn twice(id: &JobId) -> Error {
    let message = format!("there is a build `{id}` already; ask again");
    Error::new(Kind::Conflict, message)
}

/// The error of a change that came too late, for every store.
pub fn moved_on(id: &JobId, status: Status) -> Error {
    let message = format!(
        "the build `{id}` was changed meanwhile and is `{status}` now; look at it and decide again"
    );
    Error::new(Kind::Conflict, message)
}

/// The error of a job that another process works on, for every store.
pub fn held(id: &JobId) -> Error {
    let message = format!(
        "another process works on the build `{id}`; wait for it, or cancel the build with \
         `drawloom builds cancel {id}`"
    );
    Error::new(Kind::Held, message)
}

fn ready<'a, T: Send + 'a>(value: Result<T, Error>) -> Kept<'a, T> {
    Box::pin(std::future::ready(value))
}
