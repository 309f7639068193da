//! Several threads walk one tree: a stack of jobs, from which each idle thread takes the next.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Instant;

use grep_matcher::LineTerminator;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use rustix::fs::Stat;

use super::pattern::SearchPattern;
use super::results::{ContentMatches, MatchCollector, SearchStop};
use super::sink::MatchSink;
use super::{CONTEXT_LINES_MAX, ContentQuery};
use crate::descent::{Descent, kind_of, open_dir};
use crate::policed::Workspace;
use crate::policed::hard_links::{LinkCensus, LinkNames, links_of};
use crate::policed::ignored::IgnoreRules;
use crate::policed::read::{on_kernel_filesystem, open_at, size_of};
use crate::policed::scan::ScanFilter;
use crate::policy::HardLinks;
use crate::{Error, PathKind, RelPath, TreeEntry, WorkspaceErrorKind};

/// The most threads of one search; more wait for the disk and for each other.
const THREADS_MAX: usize = 8;
/// Files of a large directory that one thread takes at a time.
const FILES_PER_JOB: usize = 64;
/// Files up to this size are read at once, larger ones piece by piece.
const WHOLE_BYTES_MAX: u64 = 1024 * 1024;

/// The start of a search; a path without symlinks.
pub(super) enum SearchStart {
    Dir(RelPath),
    File(RelPath),
}

enum SearchJob {
    Dir {
        above: Arc<OwnedFd>,
        path: RelPath,
        ignores: IgnoreRules,
    },
    Files {
        dir: Arc<OwnedFd>,
        files: Vec<RelPath>,
    },
}

#[derive(Default)]
struct SearchQueue {
    /// The next one in tree order on top.
    stack: Vec<SearchJob>,
    /// Number of threads at work; they may add jobs.
    working: usize,
}

/// The state that the threads of one search share.
pub(super) struct SearchPool<'s> {
    space: &'s Workspace,
    query: &'s ContentQuery,
    pattern: &'s SearchPattern,
    filter: ScanFilter<'s>,
    deadline: Instant,
    device: Option<u64>,
    jobs: Mutex<SearchQueue>,
    news: Condvar,
    collector: Mutex<MatchCollector>,
    is_bounded: AtomicBool,
    census: OnceLock<Option<LinkCensus>>,
    stop: AtomicU8,
    entries: AtomicUsize,
    searched: AtomicUsize,
    bytes: AtomicU64,
}

/// The state of one thread.
struct SearchThread {
    searcher: Searcher,
    buffer: Vec<u8>,
}

impl<'s> SearchPool<'s> {
    pub(super) fn new(
        space: &'s Workspace,
        query: &'s ContentQuery,
        pattern: &'s SearchPattern,
        deadline: Instant,
    ) -> Self {
        let root = rustix::fs::fstat(space.root.fd());
        Self {
            space,
            query,
            pattern,
            filter: ScanFilter::new(&space.policy, query.ignored),
            deadline,
            device: root.ok().map(|stat| device_of(&stat)),
            jobs: Mutex::default(),
            news: Condvar::new(),
            collector: Mutex::new(MatchCollector::new(query.results_max)),
            is_bounded: AtomicBool::new(false),
            census: OnceLock::new(),
            stop: AtomicU8::new(0),
            entries: AtomicUsize::new(0),
            searched: AtomicUsize::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    pub(super) fn run(self, start: SearchStart) -> Result<ContentMatches, Error> {
        let mut hand = self.hand();
        self.begin(start, &mut hand)?;
        // A small tree is done before a second thread could start.
        if !lock(&self.jobs).stack.is_empty() {
            let threads = thread::available_parallelism().map_or(1, usize::from);
            thread::scope(|scope| {
                for _ in 1..threads.min(THREADS_MAX) {
                    scope.spawn(|| self.work(&mut self.hand()));
                }
                self.work(&mut hand);
            });
        }
        let stop = stop_of(self.stop.load(Ordering::Relaxed));
        let searched = self.searched.load(Ordering::Relaxed);
        let collector = self.collector.into_inner();
        let collector = collector.unwrap_or_else(PoisonError::into_inner);
        Ok(collector.finish(searched, stop))
    }

    fn hand(&self) -> SearchThread {
        let context = self.query.context_lines.min(CONTEXT_LINES_MAX);
        let heap_max = usize::try_from(self.space.limits.read_bytes_max).unwrap_or(usize::MAX);
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(context)
            .after_context(context)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(heap_max.saturating_add(1)))
            .build();
        SearchThread {
            searcher,
            buffer: Vec::new(),
        }
    }

    fn begin(&self, start: SearchStart, hand: &mut SearchThread) -> Result<(), Error> {
        let (SearchStart::Dir(path) | SearchStart::File(path)) = &start;
        let failed = |source| Error::io("searching", path, source);
        let mut descent = Descent::new(self.space.root.fd());
        match &start {
            SearchStart::Dir(path) => {
                let fd = descent.enter(path).map_err(failed)?;
                let dir = fd.try_clone_to_owned().map_err(failed)?;
                let ignores = self.filter.ignores_above(&self.space.root, path);
                self.open(Arc::new(dir), path, &ignores, hand);
            }
            SearchStart::File(path) => {
                let (fd, _) = descent.enter_parent(path).map_err(failed)?;
                let dir = fd.try_clone_to_owned().map_err(failed)?;
                self.search(&dir, path, hand);
            }
        }
        Ok(())
    }

    fn work(&self, hand: &mut SearchThread) {
        while let Some(job) = self.next() {
            if self.stop.load(Ordering::Relaxed) == 0 {
                self.perform(job, hand);
            }
            let mut jobs = lock(&self.jobs);
            jobs.working -= 1;
            if jobs.working == 0 && jobs.stack.is_empty() {
                self.news.notify_all();
            }
        }
    }

    /// Takes the next job; `None` if no thread can add one any more.
    fn next(&self) -> Option<SearchJob> {
        let mut jobs = lock(&self.jobs);
        loop {
            if let Some(job) = jobs.stack.pop() {
                jobs.working += 1;
                return Some(job);
            }
            if jobs.working == 0 {
                return None;
            }
            jobs = self.news.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn perform(&self, job: SearchJob, hand: &mut SearchThread) {
        match job {
            SearchJob::Dir { above, path, .. } if self.is_unwanted(&path) => drop((above, path)),
            SearchJob::Dir {
                above,
                path,
                ignores,
            } => match open_dir(above.as_fd(), path.file_name().unwrap_or_default()) {
                Ok(dir) => self.open(Arc::new(dir), &path, &ignores, hand),
                Err(source) => self.skip(&path, &source),
            },
            SearchJob::Files { dir, files } => {
                for file in &files {
                    self.search(&dir, file, hand);
                }
            }
        }
    }

    /// Reads a directory: its subdirectories become jobs, its files too if they are many.
    fn open(
        &self,
        dir: Arc<OwnedFd>,
        path: &RelPath,
        ignores: &IgnoreRules,
        hand: &mut SearchThread,
    ) {
        let entries_max = self.space.limits.walk_entries_max;
        let left = entries_max.saturating_sub(self.entries.load(Ordering::Relaxed));
        let (entries, ignores) = match self.filter.read(dir.as_fd(), path, ignores, left) {
            Ok(read) => read,
            Err(error) if error.kind() == WorkspaceErrorKind::Limit => {
                return self.end(SearchStop::Entries);
            }
            Err(error) => return lock(&self.collector).skip(path.clone(), error.to_string()),
        };
        self.entries.fetch_add(entries.len(), Ordering::Relaxed);
        let is_wanted_file =
            |entry: &TreeEntry| entry.kind == PathKind::File && self.pattern.takes(&entry.path);
        let (mut files, mut dirs) = (Vec::new(), Vec::new());
        for entry in entries {
            if entry.kind == PathKind::Dir {
                dirs.push(entry.path);
            } else if is_wanted_file(&entry) {
                files.push(entry.path);
            }
        }
        let here = files.split_off(files.len().saturating_sub(files.len() % FILES_PER_JOB));
        let batches = files.chunks(FILES_PER_JOB).map(|files| SearchJob::Files {
            dir: Arc::clone(&dir),
            files: files.to_vec(),
        });
        let below = dirs.into_iter().map(|path| SearchJob::Dir {
            above: Arc::clone(&dir),
            path,
            ignores: ignores.clone(),
        });
        let mut jobs: Vec<SearchJob> = batches.chain(below).collect();
        jobs.reverse();
        self.add(jobs);
        for file in &here {
            self.search(&dir, file, hand);
        }
    }

    fn add(&self, more: Vec<SearchJob>) {
        let several = more.len() > 1;
        if more.is_empty() {
            return;
        }
        lock(&self.jobs).stack.extend(more);
        if several {
            self.news.notify_all();
        } else {
            self.news.notify_one();
        }
    }

    fn search(&self, dir: &OwnedFd, path: &RelPath, hand: &mut SearchThread) {
        if self.stop.load(Ordering::Relaxed) != 0 || self.is_unwanted(path) {
            return;
        }
        if Instant::now() >= self.deadline {
            return self.end(SearchStop::Time);
        }
        let name = path.file_name().unwrap_or_default();
        let (file, stat) = match open_at(dir.as_fd(), name) {
            Ok(opened) => opened,
            Err(source) => return self.skip(path, &source),
        };
        if let Some(why) = self.refusal(&file, &stat) {
            return lock(&self.collector).skip(path.clone(), why);
        }
        let size = size_of(&stat);
        let before = self.bytes.fetch_add(size, Ordering::Relaxed);
        if before.saturating_add(size) > self.space.limits.search_bytes_max {
            return self.end(SearchStop::Bytes);
        }
        self.searched.fetch_add(1, Ordering::Relaxed);
        let line_bytes_max = self.space.limits.search_line_bytes_max;
        let matches_max = self.query.results_max.saturating_add(1);
        let mut lines = MatchSink::new(&self.pattern.matcher, line_bytes_max, matches_max);
        match self.read(file, size, hand, &mut lines) {
            Ok(()) if lines.is_binary || lines.lines.is_empty() => {}
            Ok(()) => match self.space.check_found(path) {
                Ok(()) => self.collect(path, lines),
                Err(denied) => lock(&self.collector).skip(path.clone(), denied.to_string()),
            },
            Err(source) if source.kind() == io::ErrorKind::TimedOut => self.end(SearchStop::Time),
            Err(source) => self.skip(path, &source),
        }
    }

    fn read(
        &self,
        file: File,
        size: u64,
        hand: &mut SearchThread,
        lines: &mut MatchSink<'_>,
    ) -> io::Result<()> {
        let matcher = &self.pattern.matcher;
        if size > WHOLE_BYTES_MAX {
            let limited = file.take(self.space.limits.read_bytes_max);
            let timed = DeadlineReader {
                reader: limited,
                deadline: self.deadline,
            };
            return hand.searcher.search_reader(matcher, timed, lines);
        }
        hand.buffer.clear();
        file.take(WHOLE_BYTES_MAX).read_to_end(&mut hand.buffer)?;
        hand.searcher.search_slice(matcher, &hand.buffer, lines)
    }

    fn collect(&self, path: &RelPath, lines: MatchSink<'_>) {
        let mut collector = lock(&self.collector);
        collector.add(path.clone(), lines.lines);
        if collector.bound().is_some() {
            self.is_bounded.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the reason to skip an opened file, if there is one.
    fn refusal(&self, file: &File, stat: &Stat) -> Option<String> {
        let limits = &self.space.limits;
        if kind_of(stat) != PathKind::File {
            return Some("it is no regular file".to_owned());
        }
        if size_of(stat) > limits.read_bytes_max {
            return Some(format!(
                "it has {} bytes, more than read_bytes_max ({})",
                size_of(stat),
                limits.read_bytes_max
            ));
        }
        // Files claim to be empty there, and a root may consist of such files only.
        let elsewhere = self.device != Some(device_of(stat));
        if (elsewhere || stat.st_size == 0) && on_kernel_filesystem(file) {
            return Some("it is a file of the kernel's".to_owned());
        }
        let names = links_of(stat);
        if names <= 1 || self.space.policy.hard_links() == HardLinks::Trusted {
            return None;
        }
        let census = self.census.get_or_init(|| self.space.census_settled().ok());
        let known = census.as_ref().map(|census| census.names_of(stat));
        match known.unwrap_or(LinkNames::ReadableOnly(0)) {
            LinkNames::Readable => None,
            LinkNames::ReadableOnly(readable) => Some(format!(
                "it is a hard link with {names} names, of which {readable} may be read in this project"
            )),
            LinkNames::Changing => Some("its names change while it is searched".to_owned()),
        }
    }

    /// Returns true if there are enough results before `path`.
    fn is_unwanted(&self, path: &RelPath) -> bool {
        self.is_bounded.load(Ordering::Relaxed)
            && lock(&self.collector)
                .bound()
                .is_some_and(|bound| path > bound)
    }

    fn skip(&self, path: &RelPath, source: &io::Error) {
        // A file that vanished meanwhile is not reported.
        if source.kind() != io::ErrorKind::NotFound {
            lock(&self.collector).skip(path.clone(), source.to_string());
        }
    }

    fn end(&self, stop: SearchStop) {
        let code = code_of(stop);
        let first = self
            .stop
            .compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed);
        // Only the first reason is kept; its thread wakes the waiting ones, so that they see it.
        if first.is_ok() {
            self.news.notify_all();
        }
    }
}

/// A reader that gives up at the deadline.
struct DeadlineReader<R> {
    reader: R,
    deadline: Instant,
}

impl<R: Read> Read for DeadlineReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if Instant::now() >= self.deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.reader.read(buffer)
    }
}

const STOPS: [SearchStop; 4] = [
    SearchStop::Results,
    SearchStop::Bytes,
    SearchStop::Time,
    SearchStop::Entries,
];

fn code_of(stop: SearchStop) -> u8 {
    let index = STOPS.iter().position(|known| *known == stop).unwrap_or(0);
    u8::try_from(index + 1).unwrap_or(1)
}

fn stop_of(code: u8) -> Option<SearchStop> {
    STOPS.get(usize::from(code).checked_sub(1)?).copied()
}

#[allow(
    clippy::unnecessary_cast,
    clippy::cast_sign_loss,
    reason = "the field's type differs between operating systems"
)]
fn device_of(stat: &Stat) -> u64 {
    stat.st_dev as u64
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
