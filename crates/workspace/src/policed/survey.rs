//! Going through every file that may be read, with several threads, by handle.
//!
//! One thread walks the tree in order and hands out files by the directory they are in. When many
//! wait, it calls for help and takes a share itself, so a small tree is done by one thread: a second
//! one would cost more than it gains. Nothing is looked up by path: a file is looked at and opened in
//! the very directory in which its name was judged.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use rustix::fs::Stat;

use super::links::{Census, Names, links_of};
use super::read::{on_kernel_filesystem, open_at};
use super::scan::{Filter, Tour};
use super::{Ignored, Workspace};
use crate::descent::{kind_of, stat};
use crate::policy::HardLinks;
use crate::{Entry, Error, ErrorKind, Kind, RelPath, Root};

/// The most threads; more wait for the disk and for each other.
const THREADS_MAX: usize = 8;
/// How many files one thread takes at a time.
const FILES_PER_BATCH: usize = 16;
/// How many batches may wait before another thread is called. Each may keep a directory open.
const BATCHES_WAITING_MAX: usize = 160;

/// A file that may be read by its name; not yet opened.
pub(crate) struct Candidate<'c> {
    pub(crate) path: RelPath,
    dir: &'c OwnedFd,
    space: &'c Workspace,
    /// The names of files with several, counted once when the first of them is met.
    census: &'c OnceLock<Option<Census>>,
}

impl Candidate<'_> {
    /// What the directory says about the file now.
    pub(crate) fn stat(&self) -> Option<Stat> {
        let name = self.path.file_name().unwrap_or_default();
        let found = stat(self.dir.as_fd(), name).ok().flatten()?;
        (kind_of(&found) == Kind::File).then_some(found)
    }

    /// Opens the file, judged by its handle; `None` when it may not be read or is gone.
    pub(crate) fn open(&self) -> Option<(File, Stat)> {
        let name = self.path.file_name().unwrap_or_default();
        let (file, stat) = open_at(self.dir.as_fd(), name).ok()?;
        if kind_of(&stat) != Kind::File {
            return None;
        }
        // Files claim to be empty on the kernel's file systems.
        if stat.st_size == 0 && on_kernel_filesystem(&file) {
            return None;
        }
        self.may_be_read(&file, &stat).then_some((file, stat))
    }

    /// Whether all names of the file may be read.
    fn may_be_read(&self, file: &File, stat: &Stat) -> bool {
        if links_of(stat) <= 1 || self.space.policy.hard_links() == HardLinks::Trusted {
            return true;
        }
        let census = self.census.get_or_init(|| self.space.census_settled().ok());
        match census.as_ref().map(|census| census.names_of(stat)) {
            Some(Names::Readable) => true,
            Some(Names::Changing) => matches!(self.space.check_links(file, stat), Ok(Ok(()))),
            Some(Names::ReadableOnly(_)) | None => false,
        }
    }
}

struct Batch {
    dir: Arc<OwnedFd>,
    files: Vec<RelPath>,
}

#[derive(Default)]
struct Waiting {
    batches: VecDeque<Batch>,
    /// How many threads wait for news: nobody is woken, which takes the kernel, where there is none.
    idle: usize,
    is_complete: bool,
}

#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    news: Condvar,
}

impl Workspace {
    /// The root without the policy, for what is kept about the project itself.
    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    /// Shows every file of the project that may be read and is not ignored to `visit`, in no
    /// particular order, each with a `hand` that belongs to one thread; gives the hands back, and how
    /// many entries have names that no path can spell.
    pub(crate) fn survey<H: Send>(
        &self,
        stack_bytes: usize,
        hand: impl Fn() -> H + Sync,
        visit: impl Fn(&mut H, Candidate<'_>) + Sync,
    ) -> Result<(Vec<H>, usize), Error> {
        let queue = Queue::default();
        let census = OnceLock::new();
        let perform = |hand: &mut H, batch: Batch| {
            for path in batch.files {
                visit(
                    hand,
                    Candidate {
                        path,
                        dir: &batch.dir,
                        space: self,
                        census: &census,
                    },
                );
            }
        };
        let work = |mut hand: H| {
            while let Some(batch) = queue.next() {
                perform(&mut hand, batch);
            }
            hand
        };
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let helpers_max = threads.min(THREADS_MAX) - 1;
        thread::scope(|scope| {
            // Threads of a given size: parsers recurse as deeply as texts are nested.
            let builder = || thread::Builder::new().stack_size(stack_bytes);
            let (queue, perform, work, made) = (&queue, &perform, &work, &hand);
            let walk = move || {
                let (mut walker, mut helpers) = (made(), Vec::new());
                let walked = self.hand_out(queue, |batch| {
                    if helpers.len() < helpers_max {
                        let helper = builder().spawn_scoped(scope, move || work(made()));
                        // What nobody can be found to help with, the walker does alone.
                        helpers.extend(helper.ok());
                    }
                    perform(&mut walker, batch);
                });
                queue.complete();
                let mut hands = vec![work(walker)];
                for helper in helpers {
                    hands.push(helper.join().map_err(|_| gave_up())?);
                }
                walked.map(|unnameable| (hands, unnameable))
            };
            let walker = builder().spawn_scoped(scope, walk);
            let walker = walker
                .map_err(|source| Error::io("starting a thread for", &"the index", source))?;
            walker.join().unwrap_or_else(|_| Err(gave_up()))
        })
    }

    /// Walks the tree and puts its files into the queue; what finds no room there, `help` does.
    /// Returns how many entries were passed over for their names.
    fn hand_out(&self, queue: &Queue, mut help: impl FnMut(Batch)) -> Result<usize, Error> {
        let root = RelPath::root();
        let tour = Tour {
            start: &root,
            depth_max: usize::MAX,
            entries_max: self.limits.walk_entries_max,
        };
        let unnameable = AtomicUsize::new(0);
        let filter = Filter::new(&self.policy, Ignored::LeftOut).counting(&unnameable);
        let mut pending: Option<(Option<RelPath>, Batch)> = None;
        let mut failed = None;
        tour.go(&self.root, &filter, |fd, entry: &Entry| {
            if entry.kind != Kind::File {
                return ControlFlow::Continue(());
            }
            let parent = entry.path.parent();
            match &mut pending {
                Some((dir, batch)) if *dir == parent && batch.files.len() < FILES_PER_BATCH => {
                    batch.files.push(entry.path.clone());
                }
                _ => {
                    // The next batch of the same directory shares its handle.
                    let shared = pending.as_ref().filter(|(dir, _)| *dir == parent);
                    let dir = match shared {
                        Some((_, batch)) => Ok(Arc::clone(&batch.dir)),
                        None => fd.try_clone_to_owned().map(Arc::new),
                    };
                    match dir {
                        Ok(dir) => {
                            let files = vec![entry.path.clone()];
                            let next = (parent, Batch { dir, files });
                            if let Some((_, full)) = pending.replace(next)
                                && let Some(left) = queue.offer(full)
                            {
                                help(left);
                            }
                        }
                        Err(source) => {
                            failed = Some(Error::io("reading", &entry.path, source));
                            return ControlFlow::Break(());
                        }
                    }
                }
            }
            ControlFlow::Continue(())
        })?;
        if let Some((_, last)) = pending
            && let Some(left) = queue.offer(last)
        {
            help(left);
        }
        failed.map_or(Ok(unnameable.into_inner()), Err)
    }
}

impl Queue {
    /// Takes a batch in, or gives it back when enough wait already.
    fn offer(&self, batch: Batch) -> Option<Batch> {
        let mut waiting = self.lock();
        if waiting.batches.len() >= BATCHES_WAITING_MAX {
            return Some(batch);
        }
        waiting.batches.push_back(batch);
        let is_awaited = waiting.idle > 0;
        drop(waiting);
        if is_awaited {
            self.news.notify_one();
        }
        None
    }

    /// The next batch; `None` when no more will come.
    fn next(&self) -> Option<Batch> {
        let mut waiting = self.lock();
        loop {
            if let Some(batch) = waiting.batches.pop_front() {
                return Some(batch);
            }
            if waiting.is_complete {
                return None;
            }
            waiting.idle += 1;
            waiting = self
                .news
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
            waiting.idle -= 1;
        }
    }

    fn complete(&self) {
        self.lock().is_complete = true;
        self.news.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn gave_up() -> Error {
    Error::new(
        ErrorKind::Io,
        "reading the project failed: a parser gave up; please report the file it was reading",
    )
}
