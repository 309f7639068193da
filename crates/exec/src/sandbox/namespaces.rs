//! Starts a command in new namespaces: makes the plan that the stages carry out, and probes whether
//! the system permits it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::MemfdFlags;
use rustix::process::Pid;

use super::filter::FilterOpenings;
use super::landlock::{can_close_pipes, open_pipes};
use super::message::{MountStep, SandboxPlan, SandboxedCommand};
use super::stages::{StageEnd, StatusFile, start_stages};
use super::view::{PlaceAccess, SandboxView, TMP, refused};
use super::{NetworkAccess, Sandbox, SandboxAvailability, SandboxRequirement};
use crate::{CommandOutcome, Error, Invocation};

/// Time to wait for the last process of a killed sandbox.
const GONE_WAIT_MAX: Duration = Duration::from_secs(2);
/// Time limit of the trial start that finds out whether it works.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// A prepared start: the first stage, and the files it inherits.
pub(crate) struct StageStart {
    pub(crate) command: Command,
    plan: OwnedFd,
    status: StatusFile,
}

impl StageStart {
    /// Must be called while no other command is being started: a child inherits the files opened
    /// here.
    pub(crate) fn new(plan: &SandboxPlan) -> Result<Self, Error> {
        let unusable = |source: io::Error| refused(format!("no memory file: {source}"));
        let status = StatusFile::new(memory_file(&[]).map_err(unusable)?);
        let plan = memory_file(&plan.encode()).map_err(unusable)?;
        let command = start_stages(&plan, &status);
        let command = command.ok_or_else(|| refused(NO_STAGES.to_owned()))?;
        Ok(Self {
            command,
            plan,
            status,
        })
    }

    /// Returns the part that outlives the start.
    pub(crate) fn into_report(self) -> StageReport {
        drop(self.plan);
        self.status.keep_to_ourselves();
        StageReport(self.status)
    }
}

pub(super) const NO_STAGES: &str = "this program does not serve the stages of a sandbox";

/// The stages' report about the sandbox and the command.
pub(crate) struct StageReport(StatusFile);

impl StageReport {
    /// Waits until the first process of the sandbox is gone; all others end with it.
    pub(crate) fn wait_until_gone(&self) {
        let process = self.0.process().and_then(|pid| i32::try_from(pid).ok());
        if let Some(pid) = process.and_then(Pid::from_raw) {
            wait_until_gone(pid);
        }
    }

    /// Why the command did not run at all, although the first stage was started.
    pub(crate) fn mishap(&self, program: &str, outcome: &CommandOutcome) -> Option<Error> {
        match self.0.end() {
            Some(StageEnd::Exited(_) | StageEnd::Signaled(_)) => None,
            Some(StageEnd::Unstarted(errno)) => Some(Error::unstarted(
                program,
                &io::Error::from_raw_os_error(errno),
            )),
            Some(StageEnd::Failed(why)) => Some(refused(format!(
                "the sandbox for `{program}` could not be built: {why}"
            ))),
            // It was killed, by this program or by the command itself.
            None if !matches!(outcome.status, crate::CommandStatus::Exited(_)) => None,
            None => Some(refused(format!(
                "the sandbox for `{program}` ended before the command began: {}",
                outcome.stderr_text().trim_end()
            ))),
        }
    }
}

/// Waits until a process has ended; one that waits to be reaped has.
pub(super) fn wait_until_gone(pid: Pid) {
    let until = Instant::now() + GONE_WAIT_MAX;
    while is_alive(pid) && Instant::now() < until {
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Returns true if a process has not ended, reaped or not.
pub(super) fn is_alive(pid: Pid) -> bool {
    let path = format!("/proc/{}/stat", pid.as_raw_nonzero());
    let stat = std::fs::read_to_string(path).unwrap_or_default();
    // The state follows the program's name, which is in brackets and may contain any.
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// The orders of the stages for one command.
pub(crate) fn plan(
    invocation: &Invocation,
    sandbox: &Sandbox,
    view: &SandboxView,
    cwd: &Path,
) -> Result<SandboxPlan, Error> {
    if let Some(link) = view.links.first() {
        return Err(refused(format!(
            "`{}` is a symbolic link, which a sandbox cannot keep from being replaced; put what it leads to in its place",
            link.display()
        )));
    }
    Ok(SandboxPlan {
        parent: std::process::id(),
        user_namespace: !is_anothers(&view.workspace),
        network_namespace: sandbox.network == NetworkAccess::Off,
        workspace: view.workspace.clone(),
        identity: view.identity,
        mounts: mounts(view),
        tmp_bytes_max: sandbox.tmp_bytes_max,
        limits: sandbox.limits,
        openings: FilterOpenings::with_namespaces(sandbox),
        command: SandboxedCommand {
            cwd: cwd.to_owned(),
            program: invocation.program.clone(),
            args: invocation.args.clone(),
            env: environment(invocation, view),
        },
    })
}

fn environment(
    invocation: &Invocation,
    view: &SandboxView,
) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    let mut env = invocation.env.clone();
    if view
        .places
        .values()
        .any(|access| *access == PlaceAccess::Fresh)
    {
        for name in super::cage::TMP_VARIABLES {
            env = env.set(name, TMP);
        }
    }
    env.variables()
}

/// Outer places first, so that inner ones cover them.
pub(super) fn mounts(view: &SandboxView) -> Vec<(MountStep, PathBuf)> {
    let step = |path: &Path, access: PlaceAccess| match (access, view.access_above(path)) {
        (PlaceAccess::Fresh, _) => Some(MountStep::Fresh),
        (PlaceAccess::Write, PlaceAccess::Write) => Some(MountStep::Pinned),
        (PlaceAccess::Write, _) => Some(MountStep::Writable),
        (PlaceAccess::Read, PlaceAccess::Write) => Some(MountStep::Held),
        (PlaceAccess::Read, PlaceAccess::Fresh) => Some(MountStep::Shown),
        // The root can be read.
        (PlaceAccess::Read, _) => None,
        // A fresh directory has nothing to hide.
        (PlaceAccess::Hidden, PlaceAccess::Fresh) => None,
        (PlaceAccess::Hidden, _) => Some(MountStep::Hidden),
    };
    let places = view.places.iter();
    // A repository that is not there is covered below.
    let places = places.filter(|(path, _)| Some(*path) != view.git_missing.as_ref());
    let places = places.filter_map(|(path, access)| Some((step(path, *access)?, path.clone())));
    let git = view.git_missing.iter();
    let git = git.map(|path| (MountStep::Hidden, path.clone()));
    let reserved = view.reserved.iter();
    let reserved = reserved.map(|path| (MountStep::Held, path.clone()));
    places.chain(git).chain(reserved).collect()
}

/// Returns true if this process is the administrator and the files belong to another user.
pub(super) fn is_anothers(workspace: &Path) -> bool {
    let owner = std::fs::metadata(workspace).map_or(0, |about| about.uid());
    rustix::process::geteuid().is_root() && owner != 0
}

/// A file without a name that the next program started inherits.
pub(super) fn memory_file(bytes: &[u8]) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create("sandbox", MemfdFlags::empty())?;
    let mut written = 0;
    while written < bytes.len() {
        // Past its position, which stays at the beginning for the reader.
        written += rustix::io::pwrite(&file, &bytes[written..], written as u64)?;
    }
    Ok(file)
}

/// Starts a command in a sandbox.
pub(super) fn probe() -> SandboxAvailability {
    match try_out(SandboxRequirement::Namespaces) {
        Ok(()) => SandboxAvailability::Held {
            what: "user, mount, process, IPC and network namespaces of our own, started".to_owned(),
            limits: open_pipes(can_close_pipes()),
        },
        Err(error) => SandboxAvailability::Unavailable {
            why: explain(&error),
        },
    }
}

/// Runs a command in a real sandbox and checks its abilities.
pub(super) fn try_out(kind: SandboxRequirement) -> Result<(), String> {
    let outside = tempfile::tempdir().map_err(|error| error.to_string())?;
    let inside = outside.path().join("inside");
    std::fs::create_dir_all(inside.join(".git")).map_err(|error| error.to_string())?;
    let sandbox = Sandbox::new(&inside)
        .hide(inside.join(".git"))
        .requirement(kind);
    let script = "echo > file && ! { echo > .git/file; } 2>/dev/null && ! { echo > /etc/drawloom-probe; } 2>/dev/null";
    let invocation = crate::shell(script).timeout(PROBE_TIMEOUT).sandbox(sandbox);
    let outcome = super::cage::run_unprobed(&invocation).map_err(|error| error.to_string())?;
    if !outcome.is_success() {
        return Err(format!(
            "the attempt {}: {}",
            outcome.status,
            outcome.stderr_text()
        ));
    }
    if !inside.join("file").is_file() {
        return Err("the workspace could not be written".to_owned());
    }
    Ok(())
}

/// Explains a message of the stages, and what to do about it.
fn explain(error: &str) -> String {
    const MEANINGS: &[(&str, &str)] = &[
        (
            "making a user namespace",
            "user namespaces are forbidden here; allow them (`sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000`), or in a container start it with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`",
        ),
        (
            "writing uid_map",
            "the system's AppArmor forbids user namespaces to programs without a profile; `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or install bubblewrap",
        ),
        (
            "making namespaces",
            "the system's AppArmor or a container forbids namespaces; `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, install bubblewrap, or start the container with `--security-opt seccomp=unconfined`",
        ),
        (
            "mount proc",
            "the container hides parts of /proc, so that no other can be mounted; start it with `--security-opt systempaths=unconfined`",
        ),
        (
            NO_STAGES,
            "the program has to call `serve_stages` first in its `main`",
        ),
        (
            "not permitted",
            "mounts are forbidden here, as in most containers; start it with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`",
        ),
    ];
    let said = error
        .trim_end()
        .trim_start_matches("the command was not started: ");
    match MEANINGS.iter().find(|(part, _)| said.contains(part)) {
        Some((_, meaning)) => format!("{said} ({meaning})"),
        None => said.to_owned(),
    }
}
