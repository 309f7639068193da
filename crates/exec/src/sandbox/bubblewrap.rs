//! Turns a view into arguments for `bwrap`, and probes whether `bwrap` works here.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::io::FdFlags;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::filter;
use super::landlock::{can_close_pipes, open_pipes};
use super::limits::limit_process;
use super::message::{MountStep, SandboxPlan};
use super::mountinfo::known_mounts;
use super::namespaces::{self, is_alive, memory_file, try_out, wait_until_gone};
use super::stages::{StatusFile, fence_words, open_stage_program};
use super::verify::{ExpectedMounts, READY};
use super::view::{SandboxView, refused};
use super::{NetworkAccess, ResourceLimits, Sandbox, SandboxAvailability, SandboxRequirement};
use crate::{CommandOutcome, Error, Invocation};

/// Directories that system packages install the program to. `PATH` is not searched: it may contain
/// a directory of the workspace.
const PROGRAM_DIRS: &[&str] = &[
    "/usr/bin",
    "/bin",
    "/usr/local/bin",
    "/run/wrappers/bin",
    "/run/current-system/sw/bin",
    "/nix/var/nix/profiles/default/bin",
    "/home/linuxbrew/.linuxbrew/bin",
];

/// The most bytes read of `bwrap`'s status; it is two short lines.
const PROGRESS_BYTES_MAX: usize = 4096;
/// Time limit of the trial start that finds out whether it works.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// Time that `bwrap` has to mount everything, and the pause between two checks.
const SETUP_MAX: Duration = Duration::from_secs(10);
const SETUP_TICK: Duration = Duration::from_micros(200);

/// A prepared start: the arguments, and the files whose descriptors they name.
pub(crate) struct BubblewrapPlan {
    program: &'static Path,
    args: Vec<OsString>,
    /// The stage that becomes the command, if there is one.
    fence: Vec<OsString>,
    /// Inherited by `bwrap`; closed here once it has started.
    inherited: Vec<OwnedFd>,
    progress: BubblewrapProgress,
    /// Writing to it lets the command begin.
    gate: OwnedFd,
    expected: ExpectedMounts,
    limits: ResourceLimits,
}

impl BubblewrapPlan {
    /// Must be called while no other command is being started: a child inherits the files opened
    /// here.
    pub(crate) fn new(
        invocation: &Invocation,
        sandbox: &Sandbox,
        view: &SandboxView,
        (cwd, launch): (&Path, &StatusFile),
    ) -> Result<Self, Error> {
        let program = program().ok_or_else(|| refused("`bwrap` is not installed".to_owned()))?;
        let plan = namespaces::plan(invocation, sandbox, view, cwd)?;
        let expected = ExpectedMounts::new(plan.mounts.clone()).map_err(refused)?;
        let unusable = |source: io::Error| refused(format!("no memory file: {source}"));
        let programs = filter::programs(plan.openings)
            .map_err(|error| refused(format!("the seccomp filter is wrong: {error}")))?;
        let filters = programs
            .iter()
            .map(|program| memory_file(&filter::bytes(program)))
            .collect::<io::Result<Vec<_>>>();
        let mut inherited = filters.map_err(unusable)?;
        let progress = BubblewrapProgress(memory_file(&[]).map_err(unusable)?);
        let (barrier, gate) = gate().map_err(unusable)?;
        let mut args = BubblewrapArgs::default();
        args.namespaces(sandbox, &plan);
        args.mounts(&plan);
        for filter in &inherited {
            args.words(["--add-seccomp-fd", &filter.as_raw_fd().to_string()]);
        }
        args.words(["--json-status-fd", &progress.0.as_raw_fd().to_string()]);
        args.words(["--block-fd", &barrier.as_raw_fd().to_string()]);
        args.environment(&plan.command.env);
        args.words(["--chdir"]);
        args.path(cwd);
        // Passed in a file, because other users can read a command line.
        let args = memory_file(&args.joined()).map_err(unusable)?;
        let words = ["--args".to_owned(), args.as_raw_fd().to_string()];
        inherited.extend([barrier, args]);
        let mut fence = Vec::new();
        if let Some(stage) = open_stage_program() {
            rustix::io::fcntl_setfd(&stage, FdFlags::empty())
                .map_err(|errno| unusable(errno.into()))?;
            fence = fence_words(&stage, launch, plan.writable());
            inherited.push(stage);
        }
        Ok(Self {
            program,
            args: words.map(OsString::from).to_vec(),
            fence,
            inherited,
            progress,
            gate,
            expected,
            limits: sandbox.limits,
        })
    }

    /// Builds the command that starts `bwrap`, without the command's environment: those variables
    /// must not decide which libraries `bwrap` itself loads.
    pub(crate) fn command(&self, invocation: &Invocation) -> Command {
        let mut command = Command::new(self.program);
        command
            .args(&self.args)
            .arg("--")
            .args(&self.fence)
            .arg(&invocation.program)
            .args(&invocation.args)
            .env_clear()
            .current_dir("/");
        command
    }

    /// Lets the command begin once everything is mounted as planned. The returned progress outlives
    /// the start.
    ///
    /// `bwrap` also continues when the gate is closed without a word. If the command must not
    /// begin, `bwrap` is therefore killed while the gate is still open.
    pub(crate) fn release(mut self, child: u32) -> Result<BubblewrapProgress, Error> {
        self.inherited.clear();
        rustix::io::fcntl_setfd(&self.progress.0, FdFlags::CLOEXEC).ok();
        let pid = i32::try_from(child).ok().and_then(Pid::from_raw);
        let is_mounted = self.await_mounts(pid);
        if matches!(is_mounted, Ok(true)) {
            rustix::io::write(&self.gate, b"1").ok();
            return Ok(self.progress);
        }
        let Self { progress, gate, .. } = self;
        if let Some(pid) = pid.filter(|pid| is_running(*pid)) {
            progress.kill_with(pid);
        }
        progress.wait_until_gone();
        if progress.first().is_some_and(is_alive) {
            // Whatever still waits there must not go on: the gate stays as it is until this program ends.
            std::mem::forget(gate);
        }
        is_mounted?;
        // `bwrap` gave up, and its standard error says why.
        Ok(progress)
    }

    /// Waits until everything is mounted, and compares it with the plan. Returns false if `bwrap`
    /// has given up, or takes longer than `SETUP_MAX`.
    fn await_mounts(&self, pid: Option<Pid>) -> Result<bool, Error> {
        let until = Instant::now() + SETUP_MAX;
        while Instant::now() < until && pid.is_some_and(is_running) {
            let inside = self.progress.child().map(|inside| known_mounts(&inside));
            match inside {
                Some(Ok(inside)) if ExpectedMounts::are_complete(&inside) => {
                    self.expected.check(&inside).map_err(refused)?;
                    self.limit()?;
                    return Ok(true);
                }
                _ => std::thread::sleep(SETUP_TICK),
            }
        }
        Ok(false)
    }
}

impl BubblewrapPlan {
    /// Limits the first process of the sandbox, from which the command will be started.
    fn limit(&self) -> Result<(), Error> {
        let first = self.progress.first();
        let limited = first.map(|first| limit_process(first, &self.limits));
        match limited {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(refused(format!("setting limits failed: {error}"))),
            None => Err(refused("`bwrap` does not tell what it started".to_owned())),
        }
    }
}

/// Makes a pipe of which the child inherits the reading end only.
fn gate() -> io::Result<(OwnedFd, OwnedFd)> {
    let (barrier, gate) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    rustix::io::fcntl_setfd(&barrier, FdFlags::empty())?;
    Ok((barrier, gate))
}

/// Returns true if a child has not ended; does not reap it.
fn is_running(pid: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(
        rustix::process::waitid(WaitId::Pid(pid), options),
        Ok(None) | Err(rustix::io::Errno::INTR)
    )
}

/// The status that `bwrap` reports while it works.
pub(crate) struct BubblewrapProgress(OwnedFd);

impl BubblewrapProgress {
    /// Returns true if the command itself ran to an end. If not, `bwrap` gave up before.
    pub(crate) fn has_run(&self) -> bool {
        self.text().contains("\"exit-code\"")
    }

    /// Waits until the first process of the sandbox is gone; all others end with it.
    pub(crate) fn wait_until_gone(&self) {
        if let Some(first) = self.first() {
            wait_until_gone(first);
        }
    }

    /// Kills the sandbox while its first process waits at the gate. `bwrap` dies with its parent, but that
    /// process has not asked the kernel for it yet, so the end of `bwrap` alone would leave it waiting.
    fn kill_with(&self, bwrap: Pid) {
        for process in self.first().into_iter().chain([bwrap]) {
            rustix::process::kill_process(process, Signal::KILL).ok();
        }
        rustix::process::kill_process_group(bwrap, Signal::KILL).ok();
    }

    /// The sandbox's first process, as seen from outside.
    fn first(&self) -> Option<Pid> {
        Pid::from_raw(self.child()?.parse().ok()?)
    }

    /// The number of the sandbox's first process.
    fn child(&self) -> Option<String> {
        let text = self.text();
        let (_, rest) = text.split_once("\"child-pid\": ")?;
        let pid = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        (!pid.is_empty()).then(|| pid.to_owned())
    }

    fn text(&self) -> String {
        let mut bytes = vec![0; PROGRESS_BYTES_MAX];
        let count = rustix::io::pread(&self.0, &mut bytes, 0).unwrap_or_default();
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    }
}

#[derive(Default)]
struct BubblewrapArgs(Vec<OsString>);

impl BubblewrapArgs {
    fn words<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    fn path(&mut self, path: &Path) {
        self.0.push(path.as_os_str().to_owned());
    }

    fn joined(self) -> Vec<u8> {
        let words = self.0.into_iter().map(OsString::into_encoded_bytes);
        words
            .flat_map(|mut word| {
                word.push(0);
                word
            })
            .collect()
    }

    fn environment(&mut self, variables: &[(OsString, OsString)]) {
        self.words(["--clearenv"]);
        for (name, value) in variables {
            self.words(["--setenv"]);
            self.0.extend([name.clone(), value.clone()]);
        }
    }

    fn namespaces(&mut self, sandbox: &Sandbox, plan: &SandboxPlan) {
        // No `--new-session`: `run` already starts the command in a new session.
        self.words(["--die-with-parent", "--unshare-pid", "--unshare-ipc"]);
        self.words(["--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL"]);
        if plan.user_namespace {
            self.words(["--unshare-user-try"]);
        } else {
            // The administrator writes another user's files here, and needs this capability for it.
            // A user namespace would not do: there the files would belong to the overflow user.
            self.words(["--cap-add", "CAP_DAC_OVERRIDE"]);
        }
        if sandbox.network == NetworkAccess::Off {
            self.words(["--unshare-net"]);
        }
    }

    /// Mounts outer places first, so that inner ones cover them.
    fn mounts(&mut self, plan: &SandboxPlan) {
        self.words(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
        let tmp_bytes_max = plan.tmp_bytes_max.to_string();
        self.words(["--size", &tmp_bytes_max, "--tmpfs", "/dev/shm"]);
        // The kernel's settings belong to the administrator, even to one without capabilities.
        self.words(["--remount-ro", "/proc"]);
        for (step, path) in &plan.mounts {
            match step {
                MountStep::Fresh => {
                    self.words(["--size", &tmp_bytes_max, "--tmpfs"]);
                    self.path(path);
                }
                MountStep::Writable | MountStep::Pinned => self.bind("--bind", path),
                MountStep::Shown | MountStep::Held => self.bind("--ro-bind", path),
                MountStep::Hidden if path.is_dir() => self.cover_directory(path),
                MountStep::Hidden => {
                    // A device does not work in a bound place, so the file is neither read nor written.
                    self.words(["--ro-bind", "/dev/null"]);
                    self.path(path);
                }
            }
        }
        // Nothing else may be created in the device directory: it would be memory without a limit.
        self.words(["--dir", READY, "--remount-ro", "/dev"]);
        self.words(["--size", "4096", "--tmpfs", READY]);
    }

    fn bind(&mut self, how: &str, path: &Path) {
        self.words([how]);
        self.path(path);
        self.path(path);
    }

    fn cover_directory(&mut self, path: &Path) {
        self.words(["--tmpfs"]);
        self.path(path);
        self.words(["--remount-ro"]);
        self.path(path);
    }
}

fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let programs = PROGRAM_DIRS.iter().map(|dir| format!("{dir}/bwrap"));
        programs
            .filter_map(|program| crate::which(&program, "".as_ref()))
            .next()
    };
    PROGRAM.get_or_init(find).as_deref()
}

/// The error for a sandbox that `bwrap` gave up on.
pub(crate) fn mishap(program: &str, outcome: &CommandOutcome) -> Error {
    refused(format!(
        "`{program}` could not be started in the bubblewrap sandbox: {}",
        outcome.stderr_text().trim_end()
    ))
}

/// Starts a command in a sandbox of each sort.
pub(super) fn probe() -> SandboxAvailability {
    let unavailable = |why: String| SandboxAvailability::Unavailable { why };
    let Some(program) = program() else {
        return unavailable(format!(
            "`bwrap` is in none of {}; install the package `bubblewrap`",
            PROGRAM_DIRS.join(", ")
        ));
    };
    match try_out(SandboxRequirement::Bubblewrap) {
        Ok(()) => SandboxAvailability::Held {
            what: format!("{}, {}, started", version(program), program.display()),
            limits: limits(),
        },
        Err(error) => unavailable(explain(&error)),
    }
}

fn limits() -> Vec<String> {
    let mut limits = vec![
        "when a command renames directories while another one starts, `bwrap` may leave an empty file behind before it is stopped".to_owned(),
    ];
    limits.extend(open_pipes(
        can_close_pipes() && open_stage_program().is_some(),
    ));
    limits
}

fn version(program: &Path) -> String {
    let asked = crate::run(
        &crate::Invocation::new(program)
            .arg("--version")
            .timeout(PROBE_TIMEOUT),
    );
    asked.map_or_else(
        |_| "bubblewrap".to_owned(),
        |outcome| outcome.stdout_text().trim_end().to_owned(),
    )
}

/// Explains an error message of `bwrap`, and what to do about it.
fn explain(error: &str) -> String {
    const MEANINGS: &[(&str, &str)] = &[
        (
            "No permissions to create",
            "user namespaces are forbidden here; allow them (`sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000`), or in a container start it with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`",
        ),
        (
            "setting up uid map",
            "the system's AppArmor forbids user namespaces to programs without a profile; add one for `bwrap`, or `sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
        ),
        (
            "Creating new namespace failed",
            "namespaces are forbidden or used up here; raise `user.max_user_namespaces`, or in a container start it with `--security-opt seccomp=unconfined`",
        ),
        (
            "mount proc",
            "the container hides parts of /proc, so that no other can be mounted; start it with `--security-opt systempaths=unconfined`",
        ),
        (
            "loopback",
            "network namespaces are forbidden here; a container may allow them with `--cap-add NET_ADMIN`",
        ),
        (
            "Unknown option",
            "`bwrap` is too old; version 0.8 or newer is needed",
        ),
        (
            "Operation not permitted",
            "mounts are forbidden here, as in most containers; start it with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`",
        ),
    ];
    let said = error.trim_end();
    match MEANINGS.iter().find(|(part, _)| said.contains(part)) {
        Some((_, meaning)) => format!("{said} ({meaning})"),
        None => said.to_owned(),
    }
}
