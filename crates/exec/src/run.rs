//! Runs an invocation: starts it, writes its input, reads its output, ends it.
//!
//! One thread and `poll`, so that no thread can be left waiting on a pipe that
//! a grandchild holds open.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use process_wrap::std::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::capture::OutputCapture;
use crate::sandbox::{Cage, start};
use crate::{CommandOutcome, CommandStatus, Error, ExecErrorKind, Invocation, OutputStream};

/// Pause between asking a command to end and killing it.
pub const KILL_GRACE: Duration = Duration::from_secs(2);
/// Time to wait for output after the command itself has ended.
pub const DRAIN_MAX: Duration = Duration::from_millis(500);
/// Time to wait for a killed command; the kernel may hold it.
pub(crate) const KILL_WAIT_MAX: Duration = Duration::from_secs(5);
/// Longer lines are cut before an observer gets them.
pub const LINE_BYTES_MAX: usize = 64 * 1024;

/// Longest pause between two checks of a silent command.
const TICK_MAX: Duration = Duration::from_millis(20);
/// First pause between checks of a command that has closed its output.
const TICK_MIN: Duration = Duration::from_micros(50);
const READ_BYTES: usize = 64 * 1024;

/// Runs a command to its end. An error means that it did not run; the [`CommandOutcome`] tells how one
/// that ran has ended.
pub fn run(invocation: &Invocation) -> Result<CommandOutcome, Error> {
    run_observed(invocation, &mut |_, _| {})
}

/// Works like [`run`], and passes each line to the observer as it comes, without its line feed.
pub fn run_observed(
    invocation: &Invocation,
    observer: &mut dyn FnMut(OutputStream, &str),
) -> Result<CommandOutcome, Error> {
    check_cwd(invocation)?;
    let started = start(invocation)?;
    run_started(invocation, started, observer)
}

/// Follows a command that was started to its end.
pub(crate) fn run_started(
    invocation: &Invocation,
    (mut child, mut cage): (Box<dyn ChildWrapper>, Cage),
    observer: &mut dyn FnMut(OutputStream, &str),
) -> Result<CommandOutcome, Error> {
    let program = invocation.program.to_string_lossy();
    let started = Instant::now();
    let mut talk = ChildPipes::new(&mut *child, invocation, observer)
        .map_err(|source| Error::lost(&program, &source))?;
    let mut watch = ProcessWatch::new(&*child, invocation, started);
    let followed = follow(&mut talk, &mut watch);
    // Nothing in the group outlives the run. The child is not reaped yet, so no other process can
    // have its number.
    watch.signal(Signal::KILL);
    let ended = if watch.gone || followed.is_err() {
        child.wait()
    } else {
        // The kernel holds it and may do so for ever; it is reaped when this process ends.
        Ok(ExitStatus::from_raw(Signal::KILL.as_raw()))
    };
    let ended = followed
        .and(ended)
        .map_err(|source| Error::lost(&program, &source))?;
    cage.end();
    let (stdout, stderr) = talk.finish();
    let outcome = CommandOutcome {
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
            ExecErrorKind::NoDirectory,
            format!(
                "`{}` was not started: the directory `{}` does not exist; create it or name another one",
                invocation.program.to_string_lossy(),
                dir.display()
            ),
        )),
        _ => Ok(()),
    }
}

/// Converts the invocation to the system's command.
pub(crate) fn prepare(invocation: &Invocation) -> Command {
    let mut command = Command::new(&invocation.program);
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

/// Starts a command in a new session.
pub(crate) fn spawn(command: Command) -> io::Result<Box<dyn ChildWrapper>> {
    let mut command = CommandWrap::from(command);
    command.wrap(ProcessSession);
    command.spawn()
}

/// Exchanges data and watches until the child and its output have ended, or waiting makes no sense
/// any more.
fn follow(talk: &mut ChildPipes<'_>, watch: &mut ProcessWatch<'_>) -> io::Result<()> {
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

/// The three pipes of the child.
struct ChildPipes<'i> {
    stdin: Option<OwnedFd>,
    to_write: &'i [u8],
    outputs: [OutputPipe; 2],
    observer: &'i mut dyn FnMut(OutputStream, &str),
}

struct OutputPipe {
    stream: OutputStream,
    pipe: Option<OwnedFd>,
    capture: OutputCapture,
    line: Vec<u8>,
}

impl<'i> ChildPipes<'i> {
    fn new(
        child: &mut dyn ChildWrapper,
        invocation: &'i Invocation,
        observer: &'i mut dyn FnMut(OutputStream, &str),
    ) -> io::Result<Self> {
        let stdin = child.stdin().take().map(OwnedFd::from);
        let stdout = child.stdout().take().map(OwnedFd::from);
        let stderr = child.stderr().take().map(OwnedFd::from);
        for pipe in [&stdin, &stdout, &stderr].into_iter().flatten() {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        let output = |stream, pipe| OutputPipe {
            stream,
            pipe,
            capture: OutputCapture::new(invocation.output_bytes_max),
            line: Vec::new(),
        };
        Ok(Self {
            stdin,
            to_write: invocation.stdin.as_deref().unwrap_or_default(),
            outputs: [
                output(OutputStream::Stdout, stdout),
                output(OutputStream::Stderr, stderr),
            ],
            observer,
        })
    }

    /// Bytes printed by the busier of the two outputs.
    fn bytes(&self) -> u64 {
        let totals = self.outputs.iter().map(|output| output.capture.total());
        totals.max().unwrap_or(0)
    }

    /// Returns true if both outputs have ended.
    fn is_silent(&self) -> bool {
        self.outputs.iter().all(|output| output.pipe.is_none())
    }

    /// Waits up to `wait` for a ready pipe, then reads and writes as much as possible.
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
            // The command stopped reading its input, which is its right.
            Err(Errno::PIPE) => self.to_write = &[],
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    fn finish(self) -> ((Vec<u8>, bool), (Vec<u8>, bool)) {
        let [stdout, stderr] = self.outputs;
        let finish = |mut output: OutputPipe, observer: &mut dyn FnMut(OutputStream, &str)| {
            output.tell(observer);
            output.capture.finish()
        };
        let stdout = finish(stdout, self.observer);
        (stdout, finish(stderr, self.observer))
    }
}

impl OutputPipe {
    /// Reads the available bytes, up to one buffer: the other pipes need their turn.
    fn read(&mut self, observer: &mut dyn FnMut(OutputStream, &str)) -> io::Result<()> {
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

    fn split_lines(&mut self, bytes: &[u8], observer: &mut dyn FnMut(OutputStream, &str)) {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") || self.line.len() >= LINE_BYTES_MAX {
                self.tell(observer);
            }
        }
    }

    fn tell(&mut self, observer: &mut dyn FnMut(OutputStream, &str)) {
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
struct ProcessWatch<'i> {
    invocation: &'i Invocation,
    group: Option<Pid>,
    started: Instant,
    /// The reason for ending it, and the time.
    stopped: Option<(CommandStatus, Instant)>,
    /// It has printed more than it may.
    flooded: bool,
    killed: bool,
    gone: bool,
    gone_since: Option<Instant>,
}

impl<'i> ProcessWatch<'i> {
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
        let reason = if cancelled.is_some_and(crate::CommandCancel::is_cancelled) {
            Some(CommandStatus::Cancelled)
        } else if now.duration_since(self.started) >= self.invocation.timeout {
            Some(CommandStatus::TimedOut)
        } else if self.flooded {
            Some(CommandStatus::Flooded)
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

    /// Returns true if there is nothing left to wait for.
    fn is_over(&self, silent: bool) -> bool {
        match (self.gone_since, self.stopped) {
            (Some(since), _) => silent || since.elapsed() >= DRAIN_MAX,
            (None, Some((_, since))) => since.elapsed() >= KILL_GRACE + KILL_WAIT_MAX,
            (None, None) => false,
        }
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

    /// Signals the child and every process it started that stayed in its group.
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Fails if the group is empty, which is the goal.
            rustix::process::kill_process_group(group, signal).ok();
        }
    }

    fn status(&self, ended: ExitStatus) -> CommandStatus {
        match (self.stopped, ended.code()) {
            (Some((reason, _)), _) => reason,
            (None, Some(code)) => CommandStatus::Exited(code),
            (None, None) => CommandStatus::Signaled(ended.signal().unwrap_or_default()),
        }
    }
}
