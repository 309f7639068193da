//! A command that keeps running: lines go in and come out until one side ends it.
//!
//! As in `run`, one thread and `poll`: no wait is longer than its limit, whatever the command does
//! with its pipes.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use process_wrap::std::ChildWrapper;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::run::{DRAIN_MAX, KILL_GRACE, check_cwd};
use crate::sandbox::{Cage, start};
use crate::{CommandCancel, CommandStatus, Error, Invocation, OutputStream};

/// Pause between two checks of a silent command.
const TICK: Duration = Duration::from_millis(20);
const READ_BYTES: usize = 64 * 1024;

/// An event of a running command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionEvent {
    /// A line, without its line feed; bytes that are not UTF-8 are replaced.
    Line(OutputStream, String),
    /// A line longer than the limit on output; it is dropped to its end.
    Overlong(OutputStream),
    /// The command has ended, and all of its output was returned.
    Ended(CommandStatus),
    /// The time to listen is over.
    Nothing,
    /// The session was cancelled; the command runs until it is closed.
    Cancelled,
}

/// A running command. Dropping it kills the command and every process it started.
pub struct CommandSession {
    program: String,
    child: Box<dyn ChildWrapper>,
    /// Dropped with the session, after the command's end.
    cage: Cage,
    group: Option<Pid>,
    stdin: Option<OwnedFd>,
    to_write: VecDeque<u8>,
    outputs: [PipeLines; 2],
    heard: VecDeque<SessionEvent>,
    cancel: Option<CommandCancel>,
    gone_since: Option<Instant>,
    reaped: Option<ExitStatus>,
}

impl CommandSession {
    /// Starts a command. Its `timeout` is not used: every wait has its own. `output_bytes_max` is
    /// the longest line; bytes set as `stdin` are written first.
    pub fn start(invocation: &Invocation) -> Result<CommandSession, Error> {
        let program = invocation.program.to_string_lossy().into_owned();
        check_cwd(invocation)?;
        let first = invocation.stdin.clone().unwrap_or_default();
        let invocation = invocation.clone().stdin(Vec::new());
        let (mut child, cage) = start(&invocation)?;
        let stdin = child.stdin().take().map(OwnedFd::from);
        let stdout = child.stdout().take().map(OwnedFd::from);
        let stderr = child.stderr().take().map(OwnedFd::from);
        let lines = |stream, pipe| PipeLines {
            stream,
            pipe,
            line: Vec::new(),
            overlong: false,
            line_bytes_max: invocation.output_bytes_max,
        };
        let session = CommandSession {
            group: i32::try_from(child.id()).ok().and_then(Pid::from_raw),
            child,
            cage,
            stdin,
            to_write: first.into(),
            outputs: [
                lines(OutputStream::Stdout, stdout),
                lines(OutputStream::Stderr, stderr),
            ],
            heard: VecDeque::new(),
            cancel: invocation.cancel.clone(),
            gone_since: None,
            reaped: None,
            program,
        };
        session
            .set_nonblocking()
            .map_err(|source| session.lost(&source))?;
        Ok(session)
    }

    /// Queues a line, written as soon as the command reads. A command that has closed its input, or
    /// has ended, does not get it.
    pub fn say(&mut self, line: &str) {
        if self.stdin.is_some() {
            self.to_write.extend(line.as_bytes());
            self.to_write.push_back(b'\n');
        }
    }

    /// Waits up to `wait` for the next event.
    pub fn hear(&mut self, wait: Duration) -> Result<SessionEvent, Error> {
        let deadline = Instant::now() + wait;
        loop {
            if let Some(heard) = self.heard.pop_front() {
                return Ok(heard);
            }
            if self
                .cancel
                .as_ref()
                .is_some_and(CommandCancel::is_cancelled)
            {
                return Ok(SessionEvent::Cancelled);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            self.exchange(left.min(TICK))
                .map_err(|source| self.lost(&source))?;
            if self.heard.is_empty() && self.is_over().map_err(|source| self.lost(&source))? {
                self.outputs[0].flush(&mut self.heard);
                self.outputs[1].flush(&mut self.heard);
                let status = self.reap().map_err(|source| self.lost(&source))?;
                self.heard.push_back(SessionEvent::Ended(status));
            } else if self.heard.is_empty() && left.is_zero() {
                return Ok(SessionEvent::Nothing);
            }
        }
    }

    /// Closes the command's input after it has read every pending line, waits up to `grace` for its
    /// end, and then kills it. Drops its output meanwhile.
    pub fn close(mut self, grace: Duration) -> Result<CommandStatus, Error> {
        let deadline = Instant::now() + grace;
        let mut asked_to_end = None;
        loop {
            if self.to_write.is_empty() {
                self.stdin = None;
            }
            self.exchange(TICK).map_err(|source| self.lost(&source))?;
            self.heard.clear();
            if self.is_over().map_err(|source| self.lost(&source))? {
                return self.reap().map_err(|source| self.lost(&source));
            }
            match asked_to_end {
                None if Instant::now() >= deadline => {
                    self.signal(Signal::TERM);
                    asked_to_end = Some(Instant::now());
                }
                Some(since) if since.elapsed() >= KILL_GRACE => {
                    // Dropping the session kills the remaining processes.
                    return Ok(CommandStatus::TimedOut);
                }
                _ => {}
            }
        }
    }

    fn set_nonblocking(&self) -> io::Result<()> {
        let outputs = self.outputs.iter().filter_map(|lines| lines.pipe.as_ref());
        for pipe in outputs.chain(&self.stdin) {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        Ok(())
    }

    /// Waits up to `wait` for a ready pipe, then reads and writes as much as possible.
    fn exchange(&mut self, wait: Duration) -> io::Result<()> {
        let mut ready: Vec<PollFd<'_>> = Vec::with_capacity(3);
        let outputs = self.outputs.iter().filter_map(|lines| lines.pipe.as_ref());
        ready.extend(outputs.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        if !self.to_write.is_empty() {
            let stdin = self.stdin.iter();
            ready.extend(stdin.map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
        }
        let wait = Timespec {
            tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: wait.subsec_nanos().into(),
        };
        match rustix::event::poll(&mut ready, Some(&wait)) {
            Ok(0) | Err(Errno::INTR) => return Ok(()),
            Ok(_) => {}
            Err(errno) => return Err(errno.into()),
        }
        drop(ready);
        for lines in &mut self.outputs {
            lines.read(&mut self.heard)?;
        }
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        let (Some(pipe), (bytes, _)) = (&self.stdin, self.to_write.as_slices()) else {
            return Ok(());
        };
        if bytes.is_empty() {
            return Ok(());
        }
        match rustix::io::write(pipe.as_fd(), bytes) {
            Ok(count) => {
                self.to_write.drain(..count);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            // The command stopped reading its input, which is its right.
            Err(Errno::PIPE) => {
                self.to_write.clear();
                self.stdin = None;
            }
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    /// Returns true if the command has ended and its output too, or the wait for output is over.
    fn is_over(&mut self) -> io::Result<bool> {
        if self.gone_since.is_none() && self.has_ended()? {
            self.gone_since = Some(Instant::now());
        }
        let silent = self.outputs.iter().all(|lines| lines.pipe.is_none());
        Ok(self
            .gone_since
            .is_some_and(|since| silent || since.elapsed() >= DRAIN_MAX))
    }

    /// Returns true if the child has ended; it stays unreaped, which keeps its number reserved.
    fn has_ended(&self) -> io::Result<bool> {
        let Some(pid) = self.group else {
            return Ok(true);
        };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match rustix::process::waitid(WaitId::Pid(pid), options) {
            Ok(ended) => Ok(ended.is_some()),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Kills the processes the child left behind, and returns its status. A second call returns the
    /// same.
    fn reap(&mut self) -> io::Result<CommandStatus> {
        let ended = match self.reaped {
            Some(ended) => ended,
            None => {
                self.signal(Signal::KILL);
                self.group = None;
                let ended = self.child.wait();
                self.cage.end();
                ended?
            }
        };
        self.reaped = Some(ended);
        Ok(match ended.code() {
            Some(code) => CommandStatus::Exited(code),
            None => CommandStatus::Signaled(ended.signal().unwrap_or_default()),
        })
    }

    /// Signals the child and every process it started that stayed in its group.
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Fails if the group is empty, which is the goal.
            rustix::process::kill_process_group(group, signal).ok();
        }
    }

    fn lost(&self, source: &io::Error) -> Error {
        Error::lost(&self.program, source)
    }
}

impl Drop for CommandSession {
    fn drop(&mut self) {
        if self.reaped.is_none() {
            self.signal(Signal::KILL);
            // A killed process ends unless the kernel holds it, and then waiting would never end
            // either.
            let until = Instant::now() + KILL_GRACE;
            while Instant::now() < until {
                match self.has_ended() {
                    Ok(false) => std::thread::sleep(TICK / 4),
                    Ok(true) => {
                        self.child.wait().ok();
                        return;
                    }
                    Err(_) => return,
                }
            }
        }
    }
}

/// One output of the command, line by line.
struct PipeLines {
    stream: OutputStream,
    pipe: Option<OwnedFd>,
    line: Vec<u8>,
    /// The line was too long and is dropped to its end.
    overlong: bool,
    line_bytes_max: usize,
}

impl PipeLines {
    /// Reads the available bytes, up to one buffer: the other pipes need their turn.
    fn read(&mut self, heard: &mut VecDeque<SessionEvent>) -> io::Result<()> {
        let Some(pipe) = &self.pipe else {
            return Ok(());
        };
        let mut buffer = [0; READ_BYTES];
        match rustix::io::read(pipe, &mut buffer) {
            Ok(0) => {
                self.pipe = None;
                self.flush(heard);
            }
            Ok(count) => self.split(&buffer[..count], heard),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    fn split(&mut self, bytes: &[u8], heard: &mut VecDeque<SessionEvent>) {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            if self.line.len() + part.len() > self.line_bytes_max {
                self.line.clear();
                self.overlong = true;
            }
            if !self.overlong {
                self.line.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                self.flush(heard);
            }
        }
    }

    /// Returns the line received so far.
    fn flush(&mut self, heard: &mut VecDeque<SessionEvent>) {
        if std::mem::take(&mut self.overlong) {
            heard.push_back(SessionEvent::Overlong(self.stream));
        } else if !self.line.is_empty() {
            let text = String::from_utf8_lossy(&self.line);
            let text = text.strip_suffix('\n').unwrap_or(&text);
            let text = text.strip_suffix('\r').unwrap_or(text);
            heard.push_back(SessionEvent::Line(self.stream, text.to_owned()));
        }
        self.line.clear();
    }
}
