//! The file without a name in which the stages report on the sandbox and the command, line by line.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// The most bytes read of the report; it is two short lines.
const BYTES_MAX: usize = 4096;

/// The stages' last report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StageEnd {
    /// The command ended by itself.
    Exited(i32),
    /// The command was ended by a signal.
    Signaled(i32),
    /// The command could not be started, with the system's error number.
    Unstarted(i32),
    /// The sandbox could not be built.
    Failed(String),
}

/// The file, shared by the stages and the starting program.
pub(crate) struct StatusFile(OwnedFd);

impl StatusFile {
    pub(crate) fn new(file: OwnedFd) -> Self {
        Self(file)
    }

    pub(super) fn reopen(path: &Path) -> rustix::io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CLOEXEC;
        rustix::fs::open(path, flags, Mode::empty()).map(Self)
    }

    /// Stops later children from inheriting it.
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

    /// Reports the number of the sandbox's first process, as seen from outside.
    pub(super) fn tell_process(&mut self, pid: u32) {
        self.write(&format!("process {pid}\n"));
    }

    fn write(&mut self, line: &str) {
        // A line is written at once. If that fails, there is no other channel to report it.
        rustix::io::write(&self.0, line.as_bytes()).ok();
    }

    pub(crate) fn process(&self) -> Option<u32> {
        self.value("process")?.parse().ok()
    }

    /// Returns the last report: a failure if there was one, otherwise the end of the command.
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
