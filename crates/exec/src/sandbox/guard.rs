//! The guard of a command under Landlock: a process that ends everything when this program is
//! killed, and a report of the stage that becomes the command.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;

use process_wrap::std::ChildWrapper;
use rustix::io::FdFlags;
use rustix::pipe::PipeFlags;

use super::landlock::enter_outer_domain;
use super::namespaces::memory_file;
use super::stages::{StageEnd, StatusFile, reaper_command};
use super::view::refused;
use crate::Error;
use crate::run::spawn;

/// The file in which the stage reports why it did not become the command.
pub(super) struct LaunchReport(StatusFile);

impl LaunchReport {
    /// Makes the file, which is inherited until [`LaunchReport::keep_to_ourselves`].
    pub(super) fn new() -> Result<Self, Error> {
        let file = memory_file(&[]).map_err(unusable)?;
        Ok(Self(StatusFile::new(file)))
    }

    pub(super) fn file(&self) -> &StatusFile {
        &self.0
    }

    pub(super) fn keep_to_ourselves(self) -> Self {
        self.0.keep_to_ourselves();
        self
    }

    /// Returns why the command did not run at all, although the stage was started.
    pub(super) fn mishap(&self, program: &str) -> Option<Error> {
        match self.0.end()? {
            StageEnd::Unstarted(errno) => Some(Error::unstarted(
                program,
                &io::Error::from_raw_os_error(errno),
            )),
            StageEnd::Failed(why) => Some(refused(format!(
                "the sandbox for `{program}` could not be built: {why}"
            ))),
            StageEnd::Exited(_) | StageEnd::Signaled(_) => None,
        }
    }
}

/// A reaper that is about to be started by the thread that will start the command.
pub(super) struct PlannedReaper {
    command: Command,
    alive: OwnedFd,
}

impl PlannedReaper {
    /// Returns the plan, and the end of the pipe that has to stay open until the reaper has
    /// started; `None` if no program serves as a stage.
    pub(super) fn new(tmp: &Path) -> Result<Option<(Self, OwnedFd)>, Error> {
        let pipe = rustix::pipe::pipe_with(PipeFlags::CLOEXEC);
        let (theirs, alive) = pipe.map_err(|errno| unusable(errno.into()))?;
        rustix::io::fcntl_setfd(&theirs, FdFlags::empty())
            .map_err(|errno| unusable(errno.into()))?;
        Ok(reaper_command(&theirs, tmp).map(|command| (Self { command, alive }, theirs)))
    }

    /// Restricts the calling thread to a domain in which the reaper may kill every process, and
    /// starts the reaper there. An older kernel has no such domain; the probe lists that among its
    /// limits.
    pub(super) fn start(self) -> Result<Option<ReaperProcess>, Error> {
        if !enter_outer_domain()? {
            return Ok(None);
        }
        let child = spawn(self.command)
            .map_err(|source| refused(format!("no process to end the command with: {source}")))?;
        Ok(Some(ReaperProcess {
            alive: Some(self.alive),
            child,
        }))
    }
}

/// A process that kills everything a command has started as soon as the pipe to it is closed.
pub(super) struct ReaperProcess {
    alive: Option<OwnedFd>,
    child: Box<dyn ChildWrapper>,
}

impl Drop for ReaperProcess {
    fn drop(&mut self) {
        drop(self.alive.take());
        self.child.wait().ok();
    }
}

fn unusable(source: io::Error) -> Error {
    refused(format!("no memory file or pipe: {source}"))
}
