//! Visits every readable file, with several threads, by handle.
//!
//! One thread walks the tree in order and hands out files by directory. If many wait, it starts
//! helpers and takes a share itself, so one thread does a small tree alone: a second one would cost
//! more than it gains. No file is opened by its path: each is inspected
//! and opened in the same directory handle in which its name was judged.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use rustix::buffer::spare_capacity;
use rustix::fs::Stat;
use rustix::io::Errno;

use super::hard_links::{LinkCensus, LinkNames, links_of};
use super::read::{on_kernel_filesystem, open_at};
use super::scan::{ScanFilter, TreeWalk};
use super::{IgnoredFiles, Workspace};
use crate::descent::{kind_of, stat};
use crate::policy::HardLinks;
use crate::{Error, PathKind, RelPath, TreeEntry, WorkspaceErrorKind};

/// The most threads; more wait for the disk and for each other.
const THREADS_MAX: usize = 8;
/// Files that one thread takes at a time.
const FILES_PER_BATCH: usize = 16;
/// The most batches that wait before another thread is started. Each may keep a directory open.
const BATCHES_WAITING_MAX: usize = 160;

/// A file that may be read by its name; not yet opened.
pub struct ReadCandidate<'c> {
    /// Its path in the project.
    pub path: RelPath,
    dir: &'c OwnedFd,
    space: &'c Workspace,
    /// The names of files with several, counted once, at the first such file.
    census: &'c OnceLock<Option<LinkCensus>>,
}

impl ReadCandidate<'_> {
    /// Reads the present status of the file from its directory.
    #[must_use]
    pub fn stat(&self) -> Option<Stat> {
        let name = self.path.file_name().unwrap_or_default();
        let found = stat(self.dir.as_fd(), name).ok().flatten()?;
        (kind_of(&found) == PathKind::File).then_some(found)
    }

    /// Opens the file and judges it by its handle; `None` if it may not be read or is gone.
    #[must_use]
    pub fn open(&self) -> Option<ReadableFile> {
        let name = self.path.file_name().unwrap_or_default();
        let (file, stat) = open_at(self.dir.as_fd(), name).ok()?;
        if kind_of(&stat) != PathKind::File {
            return None;
        }
        // Files claim to be empty on the kernel's file systems.
        if stat.st_size == 0 && on_kernel_filesystem(&file) {
            return None;
        }
        let may_be_read = self.may_be_read(&file, &stat);
        may_be_read.then_some(ReadableFile { file, stat })
    }

    /// Returns true if all names of the file may be read.
    fn may_be_read(&self, file: &File, stat: &Stat) -> bool {
        if links_of(stat) <= 1 || self.space.policy.hard_links() == HardLinks::Trusted {
            return true;
        }
        let census = self.census.get_or_init(|| self.space.census_settled().ok());
        match census.as_ref().map(|census| census.names_of(stat)) {
            Some(LinkNames::Readable) => true,
            Some(LinkNames::Changing) => matches!(self.space.check_links(file, stat), Ok(Ok(()))),
            Some(LinkNames::ReadableOnly(_)) | None => false,
        }
    }
}

/// An open file that the policy allows to read.
pub struct ReadableFile {
    file: File,
    stat: Stat,
}

impl ReadableFile {
    /// Its status when it was opened.
    #[must_use]
    pub fn stat(&self) -> &Stat {
        &self.stat
    }

    /// Reads the whole file into the buffer. Returns false if it is or becomes larger than
    /// `bytes_max`, or the disk refuses. The buffer is not zeroed first, which would cost a pass
    /// over every file.
    #[must_use]
    pub fn read_whole(&self, bytes_max: u64, buffer: &mut Vec<u8>) -> bool {
        buffer.clear();
        let size = usize::try_from(self.stat.st_size).unwrap_or(0);
        if size as u64 > bytes_max {
            return false;
        }
        // Room for one more byte than expected: an empty read then shows that the end was reached.
        buffer.reserve(size + 1);
        while buffer.len() as u64 <= bytes_max {
            if buffer.len() == buffer.capacity() {
                buffer.reserve(buffer.len());
            }
            match rustix::io::read(&self.file, spare_capacity(buffer)) {
                Ok(0) => return true,
                // A file gives all it has at once, so less than there is room for is its end.
                Ok(_) if buffer.len() == size => return true,
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        false
    }
}

struct FileBatch {
    dir: Arc<OwnedFd>,
    files: Vec<RelPath>,
}

#[derive(Default)]
struct QueuedBatches {
    batches: VecDeque<FileBatch>,
    /// Number of threads that wait for work. If it is zero, no wake-up is sent, which saves a
    /// system call.
    idle: usize,
    is_complete: bool,
}

#[derive(Default)]
struct BatchQueue {
    waiting: Mutex<QueuedBatches>,
    news: Condvar,
}

impl Workspace {
    /// Calls `visit` for every readable file of the project that is not ignored, in no particular
    /// order, each with a `state` that belongs to one thread. Returns the states, and the number of
    /// entries with names that no path can spell.
    pub fn visit_readable<H: Send>(
        &self,
        stack_bytes: usize,
        hand: impl Fn() -> H + Sync,
        visit: impl Fn(&mut H, ReadCandidate<'_>) + Sync,
    ) -> Result<(Vec<H>, usize), Error> {
        let queue = BatchQueue::default();
        let census = OnceLock::new();
        let perform = |hand: &mut H, batch: FileBatch| {
            for path in batch.files {
                visit(
                    hand,
                    ReadCandidate {
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
            // The threads get a set stack size, because parsers recurse as deeply as texts are
            // nested.
            let builder = || thread::Builder::new().stack_size(stack_bytes);
            let (queue, perform, work, made) = (&queue, &perform, &work, &hand);
            let walk = move || {
                let (mut walker, mut helpers) = (made(), Vec::new());
                let walked = self.hand_out(queue, |batch| {
                    if helpers.len() < helpers_max {
                        let helper = builder().spawn_scoped(scope, move || work(made()));
                        // If no helper can be started, the walker does the work alone.
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

    /// Walks the tree and puts its files into the queue; passes batches that do not fit to `help`.
    /// Returns the number of entries skipped for their names.
    fn hand_out(
        &self,
        queue: &BatchQueue,
        mut help: impl FnMut(FileBatch),
    ) -> Result<usize, Error> {
        let root = RelPath::root();
        let tour = TreeWalk {
            start: &root,
            depth_max: usize::MAX,
            entries_max: self.limits.walk_entries_max,
        };
        let unnameable = AtomicUsize::new(0);
        let filter = ScanFilter::new(&self.policy, IgnoredFiles::LeftOut).counting(&unnameable);
        let mut pending: Option<(Option<RelPath>, FileBatch)> = None;
        let mut failed = None;
        tour.go(&self.root, &filter, |fd, entry: &TreeEntry| {
            if entry.kind != PathKind::File {
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
                            let next = (parent, FileBatch { dir, files });
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

impl BatchQueue {
    /// Adds a batch, or gives it back if enough wait already.
    fn offer(&self, batch: FileBatch) -> Option<FileBatch> {
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

    /// Takes the next batch; `None` if no more will come.
    fn next(&self) -> Option<FileBatch> {
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

    fn lock(&self) -> MutexGuard<'_, QueuedBatches> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn gave_up() -> Error {
    Error::new(
        WorkspaceErrorKind::Io,
        "reading the project failed: a parser gave up; please report the file it was reading",
    )
}
