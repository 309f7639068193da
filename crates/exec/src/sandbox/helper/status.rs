//! How the helper says what became of the sandbox and the command: lines in a file without a name.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;

/// How much the helper says; it is two short lines.
const BYTES_MAX: usize = 4096;

/// What the helper says at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HelperEnd {
    /// The command ended by itself.
    Exited(i32),
    /// The command was ended by a signal.
    Signaled(i32),
    /// The command could not be started; the system's number says why.
    Unstarted(i32),
    /// The sandbox could not be built.
    Failed(String),
}

/// The file, shared by the helper and the one who asked.
pub(crate) struct StatusFile(File);

impl StatusFile {
    pub(crate) fn new(file: OwnedFd) -> Self {
        Self(file.into())
    }

    pub(super) fn reopen(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).append(true).open(path)?;
        Ok(Self(file))
    }

    /// From now on nobody inherits it.
    pub(crate) fn keep_to_ourselves(&self) {
        rustix::io::fcntl_setfd(&self.0, rustix::io::FdFlags::CLOEXEC).ok();
    }

    pub(super) fn tell(&mut self, end: &HelperEnd) {
        let line = match end {
            HelperEnd::Exited(code) => format!("exited {code}\n"),
            HelperEnd::Signaled(signal) => format!("signaled {signal}\n"),
            HelperEnd::Unstarted(errno) => format!("unstarted {errno}\n"),
            HelperEnd::Failed(why) => format!("failed {}\n", why.replace('\n', " ")),
        };
        // There is nobody else to tell.
        self.0.write_all(line.as_bytes()).ok();
    }

    /// Tells the number of the first process of the sandbox, as it is known outside.
    pub(super) fn tell_process(&mut self, pid: u32) {
        self.0.write_all(format!("process {pid}\n").as_bytes()).ok();
    }

    pub(crate) fn process(&self) -> Option<u32> {
        self.value("process")?.parse().ok()
    }

    /// What was said at the end: a failure, if one was, else what became of the command.
    pub(crate) fn end(&self) -> Option<HelperEnd> {
        let number = |name: &str| self.value(name)?.parse().ok();
        let failed = self.value("failed").map(HelperEnd::Failed);
        failed
            .or_else(|| number("unstarted").map(HelperEnd::Unstarted))
            .or_else(|| number("exited").map(HelperEnd::Exited))
            .or_else(|| number("signaled").map(HelperEnd::Signaled))
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
