//! Stages for a command without namespaces of our own: one limits itself and becomes the command, one
//! stays and kills everything when the program that asked for the command is gone. In a sandbox of
//! `bwrap`, another closes the pipes of other programs and becomes the command.

use std::ffi::OsString;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::SigSet;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;

use super::super::landlock::kill_domain;
use super::super::limits::limit_ourselves;
use super::super::spec::ResourceLimits;
use super::pipes::close_pipes_outside;
use super::{
    PROGRAM, STAGE_NAME, StageEnd, StatusFile, UNBUILT, die_with_parent, failed, inherited,
};

/// The stage that becomes the command.
pub(super) const LAUNCH: &str = "launch";
/// The stage that outlives the program that asked for the command.
pub(super) const REAPER: &str = "reaper";

/// The stage that becomes the command in a sandbox of `bwrap`.
pub(super) const FENCE: &str = "fence";

/// Returns the words that stand before the command in a sandbox of `bwrap`. Both files must be
/// inheritable.
pub(crate) fn fence_words<'p>(
    program: &OwnedFd,
    status: &StatusFile,
    writable: impl Iterator<Item = &'p Path>,
) -> Vec<OsString> {
    let places: Vec<OsString> = writable.map(|path| path.as_os_str().to_owned()).collect();
    let mut words = vec![
        inherited(&program.as_raw_fd().to_string()).into_os_string(),
        // `bwrap` starts no program under another name, so the name follows.
        STAGE_NAME.into(),
        FENCE.into(),
        status.as_raw_fd().to_string().into(),
        places.len().to_string().into(),
    ];
    words.extend(places);
    words
}

/// Returns the beginning of the command that starts [`LAUNCH`], to which the caller adds the
/// program and its arguments; `None` if no program serves as a stage. The file must be inheritable.
pub(crate) fn launch_command(limits: &ResourceLimits, status: &StatusFile) -> Option<Command> {
    let mut command = Command::new(PROGRAM.get()?);
    command.arg0(STAGE_NAME).arg(LAUNCH);
    let numbers = [
        status.as_raw_fd().unsigned_abs().into(),
        u64::from(std::process::id()),
        limits.processes_max,
        limits.memory_bytes_max,
        limits.file_bytes_max,
    ];
    command.args(numbers.map(|number| number.to_string()));
    Some(command)
}

/// Returns the command that starts [`REAPER`]. It acts when the other end of `alive`, which must be
/// inheritable, is closed, and then removes `tmp` if this program did not live to do so.
pub(crate) fn reaper_command(alive: &OwnedFd, tmp: &Path) -> Option<Command> {
    let mut command = Command::new(PROGRAM.get()?);
    command
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .arg0(STAGE_NAME)
        .arg(REAPER)
        .arg(alive.as_raw_fd().to_string())
        .arg(std::process::id().to_string())
        .arg(tmp);
    Some(command)
}

/// Opens the program that serves as a stage, so that a sandbox can allow it to be run.
pub(crate) fn open_stage_program() -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::open(PROGRAM.get()?, flags, Mode::empty()).ok()
}

/// Limits this process and becomes the command. Returns only if it cannot.
pub(super) fn launch(words: &[OsString]) -> i32 {
    let Some((numbers, [program, args @ ..])) = words.split_at_checked(5) else {
        return UNBUILT;
    };
    let numbers: Vec<u64> = numbers
        .iter()
        .filter_map(|word| word.to_str()?.parse().ok())
        .collect();
    let [
        status,
        parent,
        processes_max,
        memory_bytes_max,
        file_bytes_max,
    ] = numbers[..]
    else {
        return UNBUILT;
    };
    let Ok(status) = StatusFile::reopen(&inherited(&status.to_string())) else {
        return UNBUILT;
    };
    let limits = ResourceLimits {
        processes_max,
        memory_bytes_max,
        file_bytes_max,
    };
    become_command(status, prepare(&limits, parent), (program, args))
}

/// Keeps this process from the pipes of other programs and becomes the command. Returns only if it
/// cannot.
pub(super) fn fence(words: &[OsString]) -> i32 {
    let [status, count, rest @ ..] = words else {
        return UNBUILT;
    };
    let number: Option<usize> = count.to_str().and_then(|count| count.parse().ok());
    let split = number.and_then(|number| rest.split_at_checked(number));
    let (Some((writable, [program, args @ ..])), Ok(status)) = (
        split,
        StatusFile::reopen(&inherited(&status.to_string_lossy())),
    ) else {
        return UNBUILT;
    };
    let closed = close_pipes_outside(writable.iter().map(Path::new));
    close_fds::set_fds_cloexec(3, &[]);
    become_command(status, closed, (program, args))
}

/// Becomes the command, or reports why not.
fn become_command(
    mut status: StatusFile,
    prepared: Result<(), String>,
    (program, args): (&OsString, &[OsString]),
) -> i32 {
    let end = match prepared {
        Err(why) => StageEnd::Failed(why),
        Ok(()) => {
            let error = Command::new(program).args(args).exec();
            StageEnd::Unstarted(error.raw_os_error().unwrap_or_default())
        }
    };
    status.tell(&end);
    UNBUILT
}

fn prepare(limits: &ResourceLimits, parent: u64) -> Result<(), String> {
    die_with_parent()?;
    if !is_child_of(parent) {
        return Err("the program that asked for the command has ended".to_owned());
    }
    limit_ourselves(limits).map_err(failed("setting limits"))?;
    // The command inherits its three pipes only.
    close_fds::set_fds_cloexec(3, &[]);
    Ok(())
}

/// Waits until the program that asked for the command has closed its end of the pipe, because it or
/// the command has ended, and kills the remaining processes of the command.
pub(super) fn reap(words: &[OsString]) -> i32 {
    let [alive, parent, tmp] = words else {
        return UNBUILT;
    };
    SigSet::all().thread_block().ok();
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let pipe = inherited(&alive.to_string_lossy());
    let Ok(pipe) = rustix::fs::open(pipe, flags, Mode::empty()) else {
        return UNBUILT;
    };
    while let Ok(0) | Err(rustix::io::Errno::INTR) =
        rustix::event::poll(&mut [PollFd::new(&pipe, PollFlags::HUP)], None)
    {}
    kill_domain();
    let parent = parent.to_str().and_then(|parent| parent.parse().ok());
    if !parent.is_some_and(is_child_of) {
        std::fs::remove_dir_all(PathBuf::from(tmp)).ok();
    }
    0
}

fn is_child_of(parent: u64) -> bool {
    let known = rustix::process::getppid().map(Pid::as_raw_nonzero);
    known.is_some_and(|known| u64::from(known.get().unsigned_abs()) == parent)
}
