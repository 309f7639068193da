//! Running an invocation: start it, feed it, listen, end it.
//!
//! One thread and `poll`, so that no thread can be left waiting on a pipe that
//! a grandchild holds open.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use process_wrap::std::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::capture::Capture;
use crate::sandbox::{Cage, start};
use crate::{Error, ErrorKind, Invocation, Outcome, Status, Stream};

/// Between asking a command to end and ending it.
pub const KILL_GRACE: Duration = Duration::from_secs(2);
/// How long output is waited for after the command itself has ended.
pub const DRAIN_MAX: Duration = Duration::from_millis(500);
/// How long a killed command is waited for; the kernel may hold it.
pub const KILL_WAIT_MAX: Duration = Duration::from_secs(5);
/// A line handed to an observer is cut here.
pub const LINE_BYTES_MAX: usize = 64 * 1024;

/// How often a silent command is looked at.
const TICK_MAX: Duration = Duration::from_millis(20);
/// How soon a command that has closed its output is looked at.
const TICK_MIN: Duration = Duration::from_micros(50);
const READ_BYTES: usize = 64 * 1024;

/// Runs a command to its end. An error means that it did not run; whatever
/// became of one that did is in the [`Outcome`].
pub fn run(invocation: &Invocation) -> Result<Outcome, Error> {
    run_observed(invocation, &mut |_, _| {})
}

/// As [`run`], handing over each line as it comes, without its line feed.
pub fn run_observed(
    invocation: &Invocation,
    observer: &mut dyn FnMut(Stream, &str),
) -> Result<Outcome, Error> {
    check_cwd(invocation)?;
    let started = start(invocation)?;
    run_started(invocation, started, observer)
}

/// Follows a command that was started to its end.
pub(crate) fn run_started(
    invocation: &Invocation,
    (mut child, mut cage): (Box<dyn ChildWrapper>, Cage),
    observer: &mut dyn FnMut(Stream, &str),
) -> Result<Outcome, Error> {
    let program = invocation.program.to_string_lossy();
    let started = Instant::now();
    let mut talk = Talk::new(&mut *child, invocation, observer)
        .map_err(|source| Error::lost(&program, &source))?;
    let mut watch = Watch::new(&*child, invocation, started);
    let followed = follow(&mut talk, &mut watch);
    // Nothing in the group outlives the run. The child is not reaped yet, so
    // its number cannot belong to somebody else.
    watch.signal(Signal::KILL);
    let ended = if watch.gone || followed.is_err() {
        child.wait()
    } else {
        // The kernel holds it and may do so for ever; it is reaped when we end.
        Ok(ExitStatus::from_raw(Signal::KILL.as_raw()))
    };
    let ended = followed
        .and(ended)
        .map_err(|source| Error::lost(&program, &source))?;
    cage.end();
    let (stdout, stderr) = talk.finish();
    let outcome = Outcome {
        status: watch.status(ended),
        stdout_truncated: stdout.1,
        stderr_truncated: stderr.1,
        stdout: stdout.0,
        stderr: stderr.0,
        duration: started.elapsed(),
    };
    match cage.mishap(&program, &outcome) {
        Some(error) => Err(error),
        None => Ok(outcome),
    }
}

pub(crate) fn check_cwd(invocation: &Invocation) -> Result<(), Error> {
    match &invocation.cwd {
        // The system reports a missing directory as a missing program.
        Some(dir) if !dir.is_dir() => Err(Error::new(
            ErrorKind::NoDirectory,
            format!(
                "`{}` was not started: the directory `{}` does not exist; create it or name another one",
                invocation.program.to_string_lossy(),
                dir.display()
            ),
        )),
        _ => Ok(()),
    }
}

/// The command as the system wants it, within another one if there is a wrapper.
pub(crate) fn prepare(invocation: &Invocation, wrapper: Option<(&Path, &[OsString])>) -> Command {
    let mut command = match wrapper {
        Some((wrapper, args)) => {
            let mut command = Command::new(wrapper);
            command.args(args).arg(&invocation.program);
            command
        }
        None => Command::new(&invocation.program),
    };
    command.args(&invocation.args);
    connect(invocation, &mut command);
    invocation.env.apply(&mut command);
    if let Some(dir) = &invocation.cwd {
        command.current_dir(dir);
    }
    command
}

/// Gives a command its three pipes.
pub(crate) fn connect(invocation: &Invocation, command: &mut Command) {
    command
        .stdin(match invocation.stdin {
            Some(_) => Stdio::piped(),
            None => Stdio::null(),
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
}

/// Starts a command in a session of its own.
pub(crate) fn spawn(command: Command) -> io::Result<Box<dyn ChildWrapper>> {
    let mut command = CommandWrap::from(command);
    command.wrap(ProcessSession);
    command.spawn()
}

/// Talks and watches until the child has ended and its output with it, or
/// until it makes no sense to wait.
fn follow(talk: &mut Talk<'_>, watch: &mut Watch<'_>) -> io::Result<()> {
    let mut tick = TICK_MIN;
    loop {
        talk.exchange(if talk.is_silent() { tick } else { TICK_MAX })?;
        watch.flooded = talk.bytes() > watch.invocation.output_bytes_stop;
        watch.look()?;
        if watch.is_over(talk.is_silent()) {
            return Ok(());
        }
        if talk.is_silent() {
            tick = (tick * 2).min(TICK_MAX);
        }
    }
}

/// The three pipes.
struct Talk<'i> {
    stdin: Option<OwnedFd>,
    to_write: &'i [u8],
    outputs: [Output; 2],
    observer: &'i mut dyn FnMut(Stream, &str),
}

struct Output {
    stream: Stream,
    pipe: Option<OwnedFd>,
    capture: Capture,
    line: Vec<u8>,
}

impl<'i> Talk<'i> {
    fn new(
        child: &mut dyn ChildWrapper,
        invocation: &'i Invocation,
        observer: &'i mut dyn FnMut(Stream, &str),
    ) -> io::Result<Self> {
        let stdin = child.stdin().take().map(OwnedFd::from);
        let stdout = child.stdout().take().map(OwnedFd::from);
        let stderr = child.stderr().take().map(OwnedFd::from);
        for pipe in [&stdin, &stdout, &stderr].into_iter().flatten() {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        let output = |stream, pipe| Output {
            stream,
            pipe,
            capture: Capture::new(invocation.output_bytes_max),
            line: Vec::new(),
        };
        Ok(Self {
            stdin,
            to_write: invocation.stdin.as_deref().unwrap_or_default(),
            outputs: [
                output(Stream::Stdout, stdout),
                output(Stream::Stderr, stderr),
            ],
            observer,
        })
    }

    /// How much the busier of the two outputs has printed.
    fn bytes(&self) -> u64 {
        let totals = self.outputs.iter().map(|output| output.capture.total());
        totals.max().unwrap_or(0)
    }

    /// Whether both outputs have ended.
    fn is_silent(&self) -> bool {
        self.outputs.iter().all(|output| output.pipe.is_none())
    }

    /// Waits up to `wait` for a pipe to be ready, then reads and writes what can be.
    fn exchange(&mut self, wait: Duration) -> io::Result<()> {
        if self.to_write.is_empty() {
            self.stdin = None;
        }
        let mut ready: Vec<PollFd<'_>> = Vec::with_capacity(3);
        let outputs = self
            .outputs
            .iter()
            .filter_map(|output| output.pipe.as_ref());
        ready.extend(outputs.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        ready.extend(
            self.stdin
                .iter()
                .map(|pipe| PollFd::new(pipe, PollFlags::OUT)),
        );
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
        for output in &mut self.outputs {
            output.read(self.observer)?;
        }
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        let Some(pipe) = &self.stdin else {
            return Ok(());
        };
        match rustix::io::write(pipe.as_fd(), self.to_write) {
            Ok(count) => self.to_write = &self.to_write[count..],
            Err(Errno::AGAIN | Errno::INTR) => {}
            // The command does not want to read it all, which is its right.
            Err(Errno::PIPE) => self.to_write = &[],
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    fn finish(self) -> ((Vec<u8>, bool), (Vec<u8>, bool)) {
        let [stdout, stderr] = self.outputs;
        let finish = |mut output: Output, observer: &mut dyn FnMut(Stream, &str)| {
            output.tell(observer);
            output.capture.finish()
        };
        let stdout = finish(stdout, self.observer);
        (stdout, finish(stderr, self.observer))
    }
}

impl Output {
    /// Reads what is there, up to one buffer: the other pipes want their turn.
    fn read(&mut self, observer: &mut dyn FnMut(Stream, &str)) -> io::Result<()> {
        let Some(pipe) = &self.pipe else {
            return Ok(());
        };
        let mut buffer = [0; READ_BYTES];
        match rustix::io::read(pipe, &mut buffer) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                self.capture.push(&buffer[..count]);
                self.split_lines(&buffer[..count], observer);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    fn split_lines(&mut self, bytes: &[u8], observer: &mut dyn FnMut(Stream, &str)) {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") || self.line.len() >= LINE_BYTES_MAX {
                self.tell(observer);
            }
        }
    }

    fn tell(&mut self, observer: &mut dyn FnMut(Stream, &str)) {
        if self.line.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(&self.line);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        observer(self.stream, text.strip_suffix('\r').unwrap_or(text));
        self.line.clear();
    }
}

/// The clock and the process.
struct Watch<'i> {
    invocation: &'i Invocation,
    group: Option<Pid>,
    started: Instant,
    /// Why it was asked to end, and when.
    stopped: Option<(Status, Instant)>,
    /// It has printed more than it may.
    flooded: bool,
    killed: bool,
    gone: bool,
    gone_since: Option<Instant>,
}

impl<'i> Watch<'i> {
    fn new(child: &dyn ChildWrapper, invocation: &'i Invocation, started: Instant) -> Self {
        Self {
            invocation,
            group: i32::try_from(child.id()).ok().and_then(Pid::from_raw),
            started,
            stopped: None,
            flooded: false,
            killed: false,
            gone: false,
            gone_since: None,
        }
    }

    /// Notices that the child has ended, and ends it when its time is up.
    fn look(&mut self) -> io::Result<()> {
        let now = Instant::now();
        if !self.gone && self.has_ended()? {
            self.gone = true;
            self.gone_since = Some(now);
        }
        let cancelled = self.invocation.cancel.as_ref();
        let reason = if cancelled.is_some_and(crate::Cancel::is_cancelled) {
            Some(Status::Cancelled)
        } else if now.duration_since(self.started) >= self.invocation.timeout {
            Some(Status::TimedOut)
        } else if self.flooded {
            Some(Status::Flooded)
        } else {
            None
        };
        match (self.stopped, reason) {
            (None, Some(reason)) if !self.gone => {
                self.stopped = Some((reason, now));
                self.signal(Signal::TERM);
            }
            (Some((_, since)), _) if !self.killed && now.duration_since(since) >= KILL_GRACE => {
                self.killed = true;
                self.signal(Signal::KILL);
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether there is nothing more to wait for.
    fn is_over(&self, silent: bool) -> bool {
        match (self.gone_since, self.stopped) {
            (Some(since), _) => silent || since.elapsed() >= DRAIN_MAX,
            (None, Some((_, since))) => since.elapsed() >= KILL_GRACE + KILL_WAIT_MAX,
            (None, None) => false,
        }
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

    /// Signals the child and all that it started and that did not move away.
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Fails when nobody is left, which is what was wanted.
            rustix::process::kill_process_group(group, signal).ok();
        }
    }

    fn status(&self, ended: ExitStatus) -> Status {
        match (self.stopped, ended.code()) {
            (Some((reason, _)), _) => reason,
            (None, Some(code)) => Status::Exited(code),
            (None, None) => Status::Signaled(ended.signal().unwrap_or_default()),
        }
    }
}
