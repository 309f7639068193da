//! The stages of a sandbox: this program, started again, builds a sandbox around itself.
//!
//! A user namespace can only be made by a process with one thread, and this program has many. So it
//! starts itself again under a reserved name. The first stage leaves the namespaces; the second is
//! the first process of the new ones: it builds the mounts, gives up its rights, starts the command
//! and reaps. Each stage dies with the one before it, and everything in a process namespace dies
//! with its first process, so nothing outlives the program that asked for the command.
//!
//! The command's environment travels in the message, and the stages do not get it: a variable such
//! as `LD_LIBRARY_PATH` must not decide which libraries this program loads outside the sandbox.

mod launch;
mod mounts;
mod network;
mod pipes;
mod status;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::OnceLock;

use nix::sched::CloneFlags;
use nix::sys::signal::SigSet;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;
use rustix::process::{DumpableBehavior, Pid, Resource, Rlimit, Signal, WaitOptions};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::filter;
use super::limits::limit_ourselves;
use super::message::{SandboxPlan, SandboxedCommand};

pub(crate) use launch::{fence_words, launch_command, open_stage_program, reaper_command};
pub(crate) use status::{StageEnd, StatusFile};

/// The name under which this program is a stage. No user types it.
const STAGE_NAME: &str = "drawloom:sandbox";
/// The program as the kernel knows it, even if its file was replaced meanwhile.
const THIS_PROGRAM: &str = "/proc/self/exe";
/// The exit code of a stage that could not build a sandbox.
const UNBUILT: i32 = 125;
/// First stage: leaves the namespaces.
const OUTER: &str = "outer";
/// Second stage: the first process of the new namespaces.
const INNER: &str = "inner";

/// The program that acts as a stage when it is started as one.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Enables the calling program to sandbox commands with namespaces. Must be called first in `main`:
/// if the program was started as a stage, this does the work of the stage and does not return.
pub fn serve_stages() {
    let mut words = std::env::args_os().peekable();
    let is_stage = words.next().is_some_and(|name| name == STAGE_NAME);
    if !is_stage && words.next_if(|word| word == STAGE_NAME).is_none() {
        PROGRAM.set(PathBuf::from(THIS_PROGRAM)).ok();
        return;
    }
    let words: Vec<OsString> = words.collect();
    let code = match words.split_first() {
        Some((stage, rest)) if stage == launch::LAUNCH => launch::launch(rest),
        Some((stage, rest)) if stage == launch::FENCE => launch::fence(rest),
        Some((stage, rest)) if stage == launch::REAPER => launch::reap(rest),
        // The status file, if there is one, tells the starting program why.
        _ => run_stage(&words).unwrap_or(UNBUILT),
    };
    std::process::exit(code);
}

/// Names another program that calls [`serve_stages`]; for tests, whose own program does not.
pub fn use_stages_of(program: impl Into<PathBuf>) {
    PROGRAM.set(program.into()).ok();
}

/// Returns the command that starts the first stage, or `None` if no program serves as one. Both
/// files must be inheritable.
pub(crate) fn start_stages(plan: &OwnedFd, status: &StatusFile) -> Option<Command> {
    let mut command = Command::new(PROGRAM.get()?);
    command
        .env_clear()
        .current_dir("/")
        .arg0(STAGE_NAME)
        .arg(OUTER)
        .arg(plan.as_raw_fd().to_string())
        .arg(status.as_raw_fd().to_string());
    Some(command)
}

fn run_stage(words: &[OsString]) -> io::Result<i32> {
    let words: Vec<String> = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let [stage, plan_fd, status_fd, rest @ ..] = words.as_slice() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut status = StatusFile::reopen(&inherited(status_fd))?;
    let Some(plan) = SandboxPlan::decode(&std::fs::read(inherited(plan_fd))?) else {
        status.tell(&StageEnd::Failed("the plan cannot be read".to_owned()));
        return Ok(UNBUILT);
    };
    let ended = match (stage.as_str(), rest) {
        (OUTER, []) => outer(&plan, &mut status, [plan_fd, status_fd]),
        (INNER, [alive]) => inner(&plan, &mut status, alive),
        _ => Err("the stage was started in an unknown way".to_owned()),
    };
    Ok(ended.unwrap_or_else(|why| {
        status.tell(&StageEnd::Failed(why));
        UNBUILT
    }))
}

fn inherited(number: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{number}"))
}

/// Leaves the namespaces, starts the second stage and ends as the command does.
fn outer(plan: &SandboxPlan, status: &mut StatusFile, files: [&String; 2]) -> Result<i32, String> {
    // Signals that ask the command to end go to its process group, which includes this process. It
    // continues, so that the command can clean up. The next stage blocks no signals.
    SigSet::all()
        .thread_block()
        .map_err(failed("blocking signals"))?;
    leave_namespaces(plan)?;
    die_with_parent()?;
    let parent = rustix::process::getppid().map(Pid::as_raw_nonzero);
    if parent.is_none_or(|parent| parent.get().unsigned_abs() != plan.parent) {
        return Err("the program that asked for the command has ended".to_owned());
    }
    let pipe = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
    let (theirs, ours) = pipe.map_err(failed("making a pipe"))?;
    rustix::io::fcntl_setfd(&theirs, FdFlags::empty()).map_err(failed("sharing a pipe"))?;
    let child = Command::new(THIS_PROGRAM)
        .arg0(STAGE_NAME)
        .arg(INNER)
        .args(files)
        .arg(theirs.as_raw_fd().to_string())
        .spawn()
        .map_err(failed("starting the first process of the sandbox"))?;
    drop(theirs);
    status.tell_process(child.id());
    let ended = wait_for(child);
    drop(ours);
    ended.map_err(failed("waiting for the sandbox"))?;
    match status.end() {
        Some(StageEnd::Exited(code)) => Ok(code),
        Some(StageEnd::Signaled(signal)) => Ok(die_of(signal)),
        _ => Ok(UNBUILT),
    }
}

fn leave_namespaces(plan: &SandboxPlan) -> Result<(), String> {
    let mut flags = CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS;
    if plan.network_namespace {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    if plan.user_namespace {
        nix::sched::unshare(CloneFlags::CLONE_NEWUSER)
            .map_err(failed("making a user namespace"))?;
        let write = |name: &str, text: String| {
            std::fs::write(format!("/proc/self/{name}"), text)
                .map_err(failed(&format!("writing {name}")))
        };
        write("setgroups", "deny".to_owned())?;
        write("uid_map", format!("{0} {0} 1", user.as_raw()))?;
        write("gid_map", format!("{0} {0} 1", group.as_raw()))?;
    }
    nix::sched::unshare(flags).map_err(failed("making namespaces"))?;
    hand_on_rights().map_err(failed("handing on capabilities"))
}

/// Starting another program would end the rights of the new namespaces, except for root. The next
/// stage needs two of them, and drops them before it starts the command.
fn hand_on_rights() -> rustix::io::Result<()> {
    let mut sets = rustix::thread::capabilities(None)?;
    let needed = [CapabilitySet::SYS_ADMIN, CapabilitySet::NET_ADMIN];
    let handed_on = needed
        .into_iter()
        .filter(|right| sets.permitted.contains(*right));
    let handed_on: Vec<CapabilitySet> = handed_on.collect();
    sets.inheritable = handed_on.iter().copied().collect();
    rustix::thread::set_capabilities(None, sets)?;
    for right in handed_on {
        rustix::thread::configure_capability_in_ambient_set(right, true)?;
    }
    Ok(())
}

/// Has the kernel kill this process when the one that started it dies.
fn die_with_parent() -> Result<(), String> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(failed("asking to die with the parent"))
}

fn wait_for(mut child: Child) -> io::Result<()> {
    loop {
        match child.wait() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            ended => return ended.map(drop),
        }
    }
}

/// Ends this process by the signal that ended the command; a number if it does not.
fn die_of(signal: i32) -> i32 {
    SigSet::empty().thread_set_mask().ok();
    if let Some(known) = Signal::from_named_raw(signal) {
        rustix::process::setrlimit(Resource::Core, NOTHING).ok();
        rustix::process::kill_process(rustix::process::getpid(), known).ok();
    }
    128 + signal
}

const NOTHING: Rlimit = Rlimit {
    current: Some(0),
    maximum: Some(0),
};

/// Builds the sandbox, starts the command in it, and reaps until the command has ended.
fn inner(plan: &SandboxPlan, status: &mut StatusFile, alive: &str) -> Result<i32, String> {
    SigSet::empty()
        .thread_set_mask()
        .map_err(failed("unblocking signals"))?;
    die_with_parent()?;
    check_alive(alive)?;
    mounts::build(plan)?;
    if plan.network_namespace {
        network::raise_loopback().map_err(failed("raising the loopback"))?;
    }
    let cwd = super::handles::open_place(&plan.command.cwd);
    let cwd = cwd.and_then(rustix::process::fchdir);
    cwd.map_err(failed(&format!(
        "entering `{}`",
        plan.command.cwd.display()
    )))?;
    limit_ourselves(&plan.limits).map_err(failed("setting limits"))?;
    give_up_rights(plan)?;
    pipes::close_pipes_outside(plan.writable())?;
    // The command inherits no open files.
    close_fds::set_fds_cloexec(3, &[]);
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(failed("closing the memory of the first process"))?;
    let programs = filter::programs(plan.openings)?;
    for program in &programs {
        seccompiler::apply_filter(program).map_err(failed("seccomp"))?;
    }
    let end = run(&plan.command);
    status.tell(&end);
    Ok(0)
}

/// Ends this stage if the first one was killed before this one could ask to die with it.
fn check_alive(alive: &str) -> Result<(), String> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let pipe = rustix::fs::open(inherited(alive), flags, Mode::empty());
    let pipe = pipe.map_err(failed("opening the pipe"))?;
    let mut ready = [PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::HUP)];
    let now = Timespec::default();
    match rustix::event::poll(&mut ready, Some(&now)) {
        Ok(0) => Ok(()),
        _ => Err("the first stage has ended".to_owned()),
    }
}

/// Drops all rights, except, if requested, the one that lets an administrator write another user's
/// files.
fn give_up_rights(plan: &SandboxPlan) -> Result<(), String> {
    let kept = match plan.user_namespace {
        true => CapabilitySet::empty(),
        false => CapabilitySet::DAC_OVERRIDE,
    };
    let held = rustix::thread::capabilities(None).map_err(failed("reading capabilities"))?;
    rustix::thread::clear_ambient_capability_set().map_err(failed("clearing capabilities"))?;
    let sets = CapabilitySets {
        effective: held.permitted & kept,
        permitted: held.permitted & kept,
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, sets).map_err(failed("dropping capabilities"))?;
    rustix::thread::set_no_new_privs(true).map_err(failed("forbidding new privileges"))
}

fn run(command: &SandboxedCommand) -> StageEnd {
    let started = Command::new(&command.program)
        .args(&command.args)
        .env_clear()
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .spawn();
    let child = match started {
        Ok(child) => child.id(),
        Err(error) => return StageEnd::Unstarted(error.raw_os_error().unwrap_or_default()),
    };
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, ended))) if pid.as_raw_nonzero().get().unsigned_abs() == child => {
                return match (ended.exit_status(), ended.terminating_signal()) {
                    (Some(code), _) => StageEnd::Exited(code),
                    (None, signal) => StageEnd::Signaled(signal.unwrap_or_default()),
                };
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return StageEnd::Failed(format!("waiting failed: {error}")),
        }
    }
}

/// The error for a failed step.
fn failed<E: std::fmt::Display>(what: &str) -> impl Fn(E) -> String {
    let what = what.to_owned();
    move |error| format!("{what} failed: {error}")
}
