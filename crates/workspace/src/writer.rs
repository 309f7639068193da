//! The writer lock of a project: one process at a time changes it, the others wait their turn.
//!
//! [`Root::apply`] makes one change set atomic. A run does more: it reads files, decides, applies
//! and runs commands, and two runs that decide on the same old text would each write over the
//! other's line. The lock spans all of that. It is a file that the kernel unlocks when its holder
//! dies, so a killed process blocks no other, and its text names the holder.
//!
//! A command of a run may start drawloom again. The child gets the holder's token in its environment
//! and takes the lock one level below, so that it neither waits for its own parent nor races with
//! its siblings.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::apply::make_dir;
use crate::protected_paths::{PROGRAM_FOLDER, STAGING};
use crate::{Error, Root, WorkspaceErrorKind};

/// Time that a writer waits for the one before it, unless it sets another limit.
pub const WRITER_WAIT_MAX: Duration = Duration::from_secs(300);
/// The most nested runs: runs inside commands of runs.
pub(crate) const WRITER_LEVELS_MAX: u32 = 16;

const POLL_FIRST: Duration = Duration::from_millis(1);
const POLL_MAX: Duration = Duration::from_millis(50);
/// More than any command line that is worth showing.
const INFO_BYTES_MAX: usize = 16 * 1024;

/// A request for the lock, with its time limit.
#[derive(Debug, Clone)]
pub struct WriterRequest {
    /// Shown to waiting processes, such as the command line.
    pub command: String,
    /// The token of the writer whose command started this process.
    pub inside: Option<String>,
    pub wait_max: Duration,
}

impl Default for WriterRequest {
    fn default() -> Self {
        Self {
            command: "drawloom".to_owned(),
            inside: None,
            wait_max: WRITER_WAIT_MAX,
        }
    }
}

/// The holder of the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriterInfo {
    pub token: String,
    pub pid: u32,
    pub command: String,
}

/// The lock, held until it is dropped.
#[derive(Debug)]
pub struct WriterLock<'r> {
    root: &'r Root,
    home: OwnedFd,
    /// True if `.drawloom` was made for this lock.
    home_is_ours: bool,
    dir: OwnedFd,
    file: OwnedFd,
    level: u32,
    token: String,
}

impl Root {
    /// Waits until no other process writes to the project, then locks the others out.
    ///
    /// Calls `waiting` with the holder each time the lock is not free; `Break` gives up.
    pub fn lock_writer(
        &self,
        request: &WriterRequest,
        waiting: &mut dyn FnMut(Option<&WriterInfo>) -> ControlFlow<()>,
    ) -> Result<WriterLock<'_>, Error> {
        let level = self.level_below(request.inside.as_deref())?;
        let started = Instant::now();
        let mut poll = POLL_FIRST;
        let mut home_is_ours = false;
        loop {
            let attempt = try_lock(self, level, &mut home_is_ours)
                .map_err(|source| Error::io("locking", &place(level), source))?;
            if let Some(lock) = attempt {
                lock.sign(&request.command)
                    .map_err(|source| Error::io("writing", &place(level), source))?;
                return Ok(lock);
            }
            let holder = self.writer_at(level);
            if waiting(holder.as_ref()).is_break() {
                return Err(Error::new(
                    WorkspaceErrorKind::Locked,
                    "stopped while waiting",
                ));
            }
            if started.elapsed() >= request.wait_max {
                return Err(self.busy(holder.as_ref(), request.wait_max));
            }
            thread::sleep(poll);
            poll = (poll * 2).min(POLL_MAX);
        }
    }

    /// Returns true if the process that got this token still holds the lock.
    #[must_use]
    pub fn is_writing(&self, token: &str) -> bool {
        let Some(level) = level_of(token) else {
            return false;
        };
        let named = self
            .writer_at(level)
            .is_some_and(|info| info.token == token);
        named && is_held(self, level)
    }

    /// Returns the level below the writer that started this process, if that one is still at work;
    /// otherwise the first.
    fn level_below(&self, inside: Option<&str>) -> Result<u32, Error> {
        let parent = inside.filter(|token| self.is_writing(token));
        match parent.and_then(level_of) {
            None => Ok(1),
            Some(level) if level < WRITER_LEVELS_MAX => Ok(level + 1),
            Some(_) => Err(Error::new(
                WorkspaceErrorKind::Limit,
                format!(
                    "commands of runs start runs, more than WRITER_LEVELS_MAX ({WRITER_LEVELS_MAX}) \
                     deep; look for a recipe whose command runs itself"
                ),
            )),
        }
    }

    fn writer_at(&self, level: u32) -> Option<WriterInfo> {
        let path = crate::RelPath::parse(&place(level)).ok()?;
        let bytes = self.read_at_most(&path, INFO_BYTES_MAX as u64).ok()??;
        serde_json::from_slice(&bytes).ok()
    }

    fn busy(&self, holder: Option<&WriterInfo>, waited: Duration) -> Error {
        let who = holder.map_or_else(
            || "another process".to_owned(),
            |info| format!("`{}` (process {})", info.command, info.pid),
        );
        Error::new(
            WorkspaceErrorKind::Locked,
            format!(
                "{who} has been writing to `{}` for longer than run.wait_ms_max ({} ms); wait for it \
                 or end it, then run again",
                self.path().display(),
                waited.as_millis()
            ),
        )
    }
}

impl WriterLock<'_> {
    /// Names this holder, for the environment of the commands it runs.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    fn sign(&self, command: &str) -> io::Result<()> {
        let command: String = command.chars().take(INFO_BYTES_MAX / 8).collect();
        let info = WriterInfo {
            token: self.token.clone(),
            pid: std::process::id(),
            command,
        };
        let text = serde_json::to_vec(&info).map_err(io::Error::other)?;
        rustix::fs::ftruncate(&self.file, 0)?;
        rustix::io::pwrite(&self.file, &text, 0)?;
        Ok(())
    }
}

impl Drop for WriterLock<'_> {
    /// Removes the file before the lock, so that a lock counts only while the file has its name.
    fn drop(&mut self) {
        rustix::fs::unlinkat(&self.dir, name(self.level), AtFlags::empty()).ok();
        // Both fail, as they should, while other files are there.
        let gone = rustix::fs::unlinkat(&self.home, STAGING, AtFlags::REMOVEDIR).is_ok();
        if gone && self.home_is_ours {
            rustix::fs::unlinkat(self.root.fd(), PROGRAM_FOLDER, AtFlags::REMOVEDIR).ok();
        }
        // A command that is being started may share the handle, so closing it is not enough.
        rustix::fs::flock(&self.file, FlockOperation::Unlock).ok();
    }
}

/// The name of a level's lock file in the staging area.
fn name(level: u32) -> String {
    format!("{PREFIX}{level}")
}

const PREFIX: &str = "writer-";

/// Returns true if a name in the staging area is a writer lock, which no apply may remove.
pub(crate) fn is_writer_lock(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(PREFIX))
}

fn place(level: u32) -> String {
    format!("{PROGRAM_FOLDER}/{STAGING}/{}", name(level))
}

/// Tokens are `level-process-inode`.
fn level_of(token: &str) -> Option<u32> {
    token.split('-').next()?.parse().ok()
}

/// Tries once; returns `None` if another process holds the lock, or has just removed it.
fn try_lock<'r>(
    root: &'r Root,
    level: u32,
    home_is_ours: &mut bool,
) -> io::Result<Option<WriterLock<'r>>> {
    let Some((home, home_made)) = make_dir(root.fd(), PROGRAM_FOLDER)? else {
        return Ok(None);
    };
    *home_is_ours |= home_made;
    let Some((dir, _)) = make_dir(home.as_fd(), STAGING)? else {
        return Ok(None);
    };
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(&dir, name(level), flags, Mode::from_raw_mode(0o644)) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    if !is_locked_by_us(&file)? {
        return Ok(None);
    }
    let held = rustix::fs::fstat(&file)?;
    let named = match rustix::fs::statat(&dir, name(level), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(named) => named,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    if (held.st_dev, held.st_ino) != (named.st_dev, named.st_ino) {
        return Ok(None);
    }
    let token = format!("{level}-{}-{}", std::process::id(), held.st_ino);
    Ok(Some(WriterLock {
        root,
        home,
        home_is_ours: *home_is_ours,
        dir,
        file,
        level,
        token,
    }))
}

fn is_locked_by_us(file: &OwnedFd) -> io::Result<bool> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Returns true if a process holds the level's lock. The check takes a shared lock for a moment.
fn is_held(root: &Root, level: u32) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::openat(root.fd(), place(level), flags, Mode::empty()) else {
        return false;
    };
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn patient() -> impl FnMut(Option<&WriterInfo>) -> ControlFlow<()> {
        |_| ControlFlow::Continue(())
    }

    #[test]
    fn one_writer_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let inside = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    let root = Root::open(folder.path()).unwrap();
                    for _ in 0..20 {
                        let lock = root.lock_writer(&WriterRequest::default(), &mut patient());
                        let lock = lock.unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
        // The directories made for the lock alone are gone.
        assert!(!folder.path().join(".drawloom/apply").exists());
    }

    #[test]
    fn the_holder_is_named_and_waiting_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::open(folder.path()).unwrap();
        let request = WriterRequest {
            command: "drawloom run model Order".to_owned(),
            inside: None,
            wait_max: Duration::from_millis(30),
        };
        let held = root.lock_writer(&request, &mut patient()).unwrap();
        let mut seen = Vec::new();
        let error = root
            .lock_writer(&request, &mut |holder| {
                seen.push(holder.cloned());
                ControlFlow::Continue(())
            })
            .unwrap_err();
        assert_eq!(error.kind(), WorkspaceErrorKind::Locked);
        let text = error.to_string();
        assert!(
            text.contains("`drawloom run model Order` (process "),
            "{text}"
        );
        assert!(text.contains("run.wait_ms_max (30 ms)"), "{text}");
        let first = seen.first().unwrap().as_ref().unwrap();
        assert_eq!(first.token, held.token());
        let stopped = root.lock_writer(&request, &mut |_| ControlFlow::Break(()));
        assert_eq!(stopped.unwrap_err().to_string(), "stopped while waiting");
    }

    #[test]
    fn a_run_inside_a_command_takes_the_level_below() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::open(folder.path()).unwrap();
        let outer = root
            .lock_writer(&WriterRequest::default(), &mut patient())
            .unwrap();
        assert!(root.is_writing(outer.token()));
        let request = WriterRequest {
            inside: Some(outer.token().to_owned()),
            wait_max: Duration::ZERO,
            ..WriterRequest::default()
        };
        let inner = root.lock_writer(&request, &mut patient()).unwrap();
        // Siblings of the inner one wait for it.
        let sibling = root.lock_writer(&request, &mut patient());
        assert_eq!(sibling.unwrap_err().kind(), WorkspaceErrorKind::Locked);
        let token = outer.token().to_owned();
        drop((inner, outer));
        // A token that outlived its holder is invalid.
        assert!(!root.is_writing(&token));
        let later = root.lock_writer(&request, &mut patient()).unwrap();
        assert!(later.token().starts_with("1-"));
    }

    #[test]
    fn an_apply_leaves_the_lock_alone() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::open(folder.path()).unwrap();
        let lock = root
            .lock_writer(&WriterRequest::default(), &mut patient())
            .unwrap();
        let path = crate::RelPath::parse("a.txt").unwrap();
        let mut changes = crate::ChangeSet::new();
        changes.write(path, "a");
        root.apply(&changes).unwrap();
        assert_eq!(root.recover().unwrap(), None);
        assert!(root.is_writing(lock.token()));
    }
}
