//! A command that stays: lines go in and come out until one side has had enough.
//!
//! As in `run`, one thread and `poll`: nothing waits longer than it was told to, whatever the
//! command does with its pipes.

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
use crate::{Cancel, Error, Invocation, Status, Stream};

/// How often a silent command is looked at.
const TICK: Duration = Duration::from_millis(20);
const READ_BYTES: usize = 64 * 1024;

/// What was heard of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// A line, without its line feed; bytes that are not UTF-8 are replaced.
    Line(Stream, String),
    /// A line longer than the limit on output; it is dropped to its end.
    Overlong(Stream),
    /// The command has ended, and everything it said has been heard.
    Ended(Status),
    /// The time to listen is over.
    Nothing,
    /// Somebody asked for the end; the command is still there until it is closed.
    Cancelled,
}

/// A running command. It is ended with all that it started when this is dropped.
pub struct Session {
    program: String,
    child: Box<dyn ChildWrapper>,
    /// Dropped with the session, after its own end.
    cage: Cage,
    group: Option<Pid>,
    stdin: Option<OwnedFd>,
    to_write: VecDeque<u8>,
    outputs: [Lines; 2],
    heard: VecDeque<Heard>,
    cancel: Option<Cancel>,
    gone_since: Option<Instant>,
    reaped: Option<ExitStatus>,
}

impl Session {
    /// Starts a command. Its `timeout` is not used: every wait has its own. `output_bytes_max` is
    /// the longest line; bytes set as `stdin` are the first it reads.
    pub fn start(invocation: &Invocation) -> Result<Session, Error> {
        let program = invocation.program.to_string_lossy().into_owned();
        check_cwd(invocation)?;
        let first = invocation.stdin.clone().unwrap_or_default();
        let invocation = invocation.clone().stdin(Vec::new());
        let (mut child, cage) = start(&invocation)?;
        let stdin = child.stdin().take().map(OwnedFd::from);
        let stdout = child.stdout().take().map(OwnedFd::from);
        let stderr = child.stderr().take().map(OwnedFd::from);
        let lines = |stream, pipe| Lines {
            stream,
            pipe,
            line: Vec::new(),
            overlong: false,
            line_bytes_max: invocation.output_bytes_max,
        };
        let session = Session {
            group: i32::try_from(child.id()).ok().and_then(Pid::from_raw),
            child,
            cage,
            stdin,
            to_write: first.into(),
            outputs: [lines(Stream::Stdout, stdout), lines(Stream::Stderr, stderr)],
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

    /// Has a line written as soon as the command reads. A command that has closed its input, or
    /// has ended, does not hear it.
    pub fn say(&mut self, line: &str) {
        if self.stdin.is_some() {
            self.to_write.extend(line.as_bytes());
            self.to_write.push_back(b'\n');
        }
    }

    /// Listens for up to `wait`.
    pub fn hear(&mut self, wait: Duration) -> Result<Heard, Error> {
        let deadline = Instant::now() + wait;
        loop {
            if let Some(heard) = self.heard.pop_front() {
                return Ok(heard);
            }
            if self.cancel.as_ref().is_some_and(Cancel::is_cancelled) {
                return Ok(Heard::Cancelled);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            self.exchange(left.min(TICK))
                .map_err(|source| self.lost(&source))?;
            if self.heard.is_empty() && self.is_over().map_err(|source| self.lost(&source))? {
                self.outputs[0].flush(&mut self.heard);
                self.outputs[1].flush(&mut self.heard);
                let status = self.reap().map_err(|source| self.lost(&source))?;
                self.heard.push_back(Heard::Ended(status));
            } else if self.heard.is_empty() && left.is_zero() {
                return Ok(Heard::Nothing);
            }
        }
    }

    /// Closes the command's input once it has read what was said, waits for its end for up to
    /// `grace`, and ends it if it does not come. What it says meanwhile is dropped.
    pub fn close(mut self, grace: Duration) -> Result<Status, Error> {
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
                    // Dropping it kills what is left.
                    return Ok(Status::TimedOut);
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

    /// Waits up to `wait` for a pipe to be ready, then reads and writes what can be.
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
            // The command does not want to read any more, which is its right.
            Err(Errno::PIPE) => {
                self.to_write.clear();
                self.stdin = None;
            }
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    /// Whether the command has ended and its output with it, or as good as.
    fn is_over(&mut self) -> io::Result<bool> {
        if self.gone_since.is_none() && self.has_ended()? {
            self.gone_since = Some(Instant::now());
        }
        let silent = self.outputs.iter().all(|lines| lines.pipe.is_none());
        Ok(self
            .gone_since
            .is_some_and(|since| silent || since.elapsed() >= DRAIN_MAX))
    }

    /// Whether the child has ended; it stays unreaped, keeping its number.
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

    /// Ends what the child left behind, and takes its status. Asked again, it has the same.
    fn reap(&mut self) -> io::Result<Status> {
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
            Some(code) => Status::Exited(code),
            None => Status::Signaled(ended.signal().unwrap_or_default()),
        })
    }

    /// Signals the child and all that it started and that did not move away.
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Fails when nobody is left, which is what was wanted.
            rustix::process::kill_process_group(group, signal).ok();
        }
    }

    fn lost(&self, source: &io::Error) -> Error {
        Error::lost(&self.program, source)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.reaped.is_none() {
            self.signal(Signal::KILL);
            // Killed: it ends unless the kernel holds it, and then waiting would not end either.
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
struct Lines {
    stream: Stream,
    pipe: Option<OwnedFd>,
    line: Vec<u8>,
    /// The line was too long and is dropped to its end.
    overlong: bool,
    line_bytes_max: usize,
}

impl Lines {
    /// Reads what is there, up to one buffer: the other pipes want their turn.
    fn read(&mut self, heard: &mut VecDeque<Heard>) -> io::Result<()> {
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

    fn split(&mut self, bytes: &[u8], heard: &mut VecDeque<Heard>) {
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

    /// Hands over the line as far as it came.
    fn flush(&mut self, heard: &mut VecDeque<Heard>) {
        if std::mem::take(&mut self.overlong) {
            heard.push_back(Heard::Overlong(self.stream));
        } else if !self.line.is_empty() {
            let text = String::from_utf8_lossy(&self.line);
            let text = text.strip_suffix('\n').unwrap_or(&text);
            let text = text.strip_suffix('\r').unwrap_or(text);
            heard.push_back(Heard::Line(self.stream, text.to_owned()));
        }
        self.line.clear();
    }
}
