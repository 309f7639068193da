//! How the stages say what became of the sandbox and the command: lines in a file without a name.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// How much the stages say; it is two short lines.
const BYTES_MAX: usize = 4096;

/// What the stages say at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StageEnd {
    /// The command ended by itself.
    Exited(i32),
    /// The command was ended by a signal.
    Signaled(i32),
    /// The command could not be started; the system's number says why.
    Unstarted(i32),
    /// The sandbox could not be built.
    Failed(String),
}

/// The file, shared by the stages and the one who asked.
pub(crate) struct StatusFile(OwnedFd);

impl StatusFile {
    pub(crate) fn new(file: OwnedFd) -> Self {
        Self(file)
    }

    pub(super) fn reopen(path: &Path) -> rustix::io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CLOEXEC;
        rustix::fs::open(path, flags, Mode::empty()).map(Self)
    }

    /// From now on nobody inherits it.
    pub(crate) fn keep_to_ourselves(&self) {
        rustix::io::fcntl_setfd(&self.0, rustix::io::FdFlags::CLOEXEC).ok();
    }

    pub(super) fn tell(&mut self, end: &StageEnd) {
        let line = match end {
            StageEnd::Exited(code) => format!("exited {code}\n"),
            StageEnd::Signaled(signal) => format!("signaled {signal}\n"),
            StageEnd::Unstarted(errno) => format!("unstarted {errno}\n"),
            StageEnd::Failed(why) => format!("failed {}\n", why.replace('\n', " ")),
        };
        self.write(&line);
    }

    /// Tells the number of the first process of the sandbox, as it is known outside.
    pub(super) fn tell_process(&mut self, pid: u32) {
        self.write(&format!("process {pid}\n"));
    }

    fn write(&mut self, line: &str) {
        // A line is written at once. Where that fails, there is nobody else to tell.
        rustix::io::write(&self.0, line.as_bytes()).ok();
    }

    pub(crate) fn process(&self) -> Option<u32> {
        self.value("process")?.parse().ok()
    }

    /// What was said at the end: a failure, if one was, else what became of the command.
    pub(crate) fn end(&self) -> Option<StageEnd> {
        let number = |name: &str| self.value(name)?.parse().ok();
        let failed = self.value("failed").map(StageEnd::Failed);
        failed
            .or_else(|| number("unstarted").map(StageEnd::Unstarted))
            .or_else(|| number("exited").map(StageEnd::Exited))
            .or_else(|| number("signaled").map(StageEnd::Signaled))
    }

    fn value(&self, name: &str) -> Option<String> {
        let mut bytes = vec![0; BYTES_MAX];
        let count = rustix::io::pread(&self.0, &mut bytes, 0).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.to_owned())
    }
}

impl AsRawFd for StatusFile {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
