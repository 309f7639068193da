//! Starts a command in its sandbox, and ends everything in it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{PoisonError, RwLock};
use std::thread::JoinHandle;

use process_wrap::std::ChildWrapper;

use super::bubblewrap::{self, BubblewrapPlan, BubblewrapProgress};
use super::guard::{LaunchReport, PlannedReaper};
use super::landlock::LandlockRestriction;
use super::namespaces::{self, NO_STAGES, StageReport, StageStart};
use super::placeholder::{MountPlaceholder, placeholders};
use super::stages::launch_command;
use super::view::{PlaceAccess, SandboxView, refused};
use super::{Sandbox, SandboxKind, SandboxRequirement};
use crate::run::{connect, prepare, spawn};
use crate::{CommandOutcome, Error, Invocation, which};

/// While one command gets files to inherit, no other may start, or it would inherit them too.
static STARTING: RwLock<()> = RwLock::new(());

/// Holds the resources of a caged command until it has ended, and then ends its remaining
/// processes.
#[derive(Default)]
pub(crate) struct Cage(CageParts);

#[derive(Default)]
struct CageParts {
    keeper: Option<KeeperThread>,
    progress: Option<BubblewrapProgress>,
    report: Option<StageReport>,
    launch: Option<LaunchReport>,
    /// Removed after everything that could write into it.
    _tmp: Option<tempfile::TempDir>,
    placeholders: Vec<MountPlaceholder>,
}

impl Cage {
    /// Ends every process in the cage. The command itself has been killed or has ended.
    pub(crate) fn end(&mut self) {
        let parts = &mut self.0;
        if let Some(keeper) = parts.keeper.take() {
            keeper.dismiss();
        }
        if let Some(progress) = &parts.progress {
            progress.wait_until_gone();
        }
        if let Some(report) = &parts.report {
            report.wait_until_gone();
        }
        parts.placeholders.clear();
    }

    /// Returns the reason why the command did not run at all, although the sandbox was started.
    pub(crate) fn mishap(&self, program: &str, outcome: &CommandOutcome) -> Option<Error> {
        if let Some(report) = &self.0.report {
            return report.mishap(program, outcome);
        }
        let launch = self.0.launch.as_ref();
        if let Some(error) = launch.and_then(|launch| launch.mishap(program)) {
            return Some(error);
        }
        let progress = self.0.progress.as_ref()?;
        let ended_by_itself = matches!(outcome.status, crate::CommandStatus::Exited(_));
        (ended_by_itself && !progress.has_run()).then(|| bubblewrap::mishap(program, outcome))
    }
}

/// Starts a command, in its sandbox if it has one.
pub(crate) fn start(invocation: &Invocation) -> Result<(Box<dyn ChildWrapper>, Cage), Error> {
    let Some(sandbox) = &invocation.sandbox else {
        return start_free(invocation);
    };
    match super::probed().choose(sandbox.requirement)? {
        SandboxKind::Namespaces => start_in_namespaces(invocation, sandbox),
        SandboxKind::Bubblewrap => start_in_bubblewrap(invocation, sandbox),
        SandboxKind::Landlock => start_in_landlock(invocation, sandbox),
        SandboxKind::None => start_free(invocation),
    }
}

/// Runs a command in the required kind of sandbox, without asking the probe.
pub(super) fn run_unprobed(invocation: &Invocation) -> Result<CommandOutcome, Error> {
    let Some(sandbox) = &invocation.sandbox else {
        return crate::run(invocation);
    };
    let started = match sandbox.requirement {
        SandboxRequirement::Bubblewrap => start_in_bubblewrap(invocation, sandbox)?,
        _ => start_in_namespaces(invocation, sandbox)?,
    };
    crate::run::run_started(invocation, started, &mut |_, _| {})
}

fn start_free(invocation: &Invocation) -> Result<(Box<dyn ChildWrapper>, Cage), Error> {
    let _shared = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    let child = spawn(prepare(invocation)).map_err(|source| unstarted(invocation, &source))?;
    Ok((child, Cage::default()))
}

fn start_in_namespaces(
    invocation: &Invocation,
    sandbox: &Sandbox,
) -> Result<(Box<dyn ChildWrapper>, Cage), Error> {
    let view = SandboxView::of(sandbox)?;
    let cwd = directory(invocation, &view)?;
    check_program(invocation, &cwd)?;
    let placeholders = placeholders(&view)?;
    let plan = namespaces::plan(invocation, sandbox, &view, &cwd)?;
    let _alone = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    // Closes files that this process inherited and never meant to pass on.
    close_fds::set_fds_cloexec_threadsafe(3, &[]);
    let mut start = StageStart::new(&plan)?;
    connect(invocation, &mut start.command);
    let command = std::mem::replace(&mut start.command, Command::new("true"));
    // The kernel ends the first stage with the thread that started it, so the thread must stay.
    let name = invocation.program.to_string_lossy().into_owned();
    let (child, keeper) = KeeperThread::hire(name, command, || Ok(()), |()| {})?;
    Ok((
        child,
        Cage(CageParts {
            keeper: Some(keeper),
            report: Some(start.into_report()),
            placeholders,
            ..CageParts::default()
        }),
    ))
}

fn start_in_bubblewrap(
    invocation: &Invocation,
    sandbox: &Sandbox,
) -> Result<(Box<dyn ChildWrapper>, Cage), Error> {
    let view = SandboxView::of(sandbox)?;
    let cwd = directory(invocation, &view)?;
    check_program(invocation, &cwd)?;
    let placeholders = placeholders(&view)?;
    let _alone = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    // Closes files that this process inherited and never meant to pass on.
    close_fds::set_fds_cloexec_threadsafe(3, &[]);
    let launch = LaunchReport::new()?;
    let plan = BubblewrapPlan::new(invocation, sandbox, &view, (&cwd, launch.file()))?;
    let mut command = plan.command(invocation);
    connect(invocation, &mut command);
    // The kernel ends `bwrap` with the thread that started it, so the thread must stay.
    let name = invocation.program.to_string_lossy().into_owned();
    let (mut child, keeper) = KeeperThread::hire(name, command, || Ok(()), |()| {})?;
    let progress = plan.release(child.id()).inspect_err(|_| {
        child.kill().ok();
    })?;
    Ok((
        child,
        Cage(CageParts {
            keeper: Some(keeper),
            progress: Some(progress),
            launch: Some(launch.keep_to_ourselves()),
            placeholders,
            ..CageParts::default()
        }),
    ))
}

fn start_in_landlock(
    invocation: &Invocation,
    sandbox: &Sandbox,
) -> Result<(Box<dyn ChildWrapper>, Cage), Error> {
    let mut view = SandboxView::of(sandbox)?;
    let cwd = directory(invocation, &view)?;
    check_program(invocation, &cwd)?;
    let tmp = tempfile::Builder::new()
        .prefix("drawloom-")
        .tempdir()
        .map_err(|source| refused(format!("no directory for temporary files: {source}")))?;
    if let Ok(real) = tmp.path().canonicalize() {
        view.add(real, PlaceAccess::Write);
    }
    let restriction = LandlockRestriction::new(sandbox, &view)?;
    let name = invocation.program.to_string_lossy().into_owned();
    let _alone = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    // Closes files that this process inherited and never meant to pass on.
    close_fds::set_fds_cloexec_threadsafe(3, &[]);
    let launch = LaunchReport::new()?;
    let limits = sandbox.limits.beside_other_programs();
    let no_stages = || refused(NO_STAGES.to_owned());
    let mut command = launch_command(&limits, launch.file()).ok_or_else(no_stages)?;
    command.arg(&invocation.program).args(&invocation.args);
    connect(invocation, &mut command);
    invocation.env.apply(&mut command);
    command.current_dir(&cwd);
    temporary_files_in(&mut command, tmp.path());
    let (reaper, theirs) = PlannedReaper::new(tmp.path())?.ok_or_else(no_stages)?;
    let (child, keeper) = KeeperThread::hire(
        name,
        command,
        move || {
            let reaper = reaper.start()?;
            Ok((restriction.enter()?, reaper))
        },
        |(domain, reaper)| {
            domain.kill_all();
            drop(reaper);
        },
    )?;
    drop(theirs);
    Ok((
        child,
        Cage(CageParts {
            keeper: Some(keeper),
            launch: Some(launch.keep_to_ourselves()),
            _tmp: Some(tmp),
            ..CageParts::default()
        }),
    ))
}

/// A thread that starts a command and stays until the command has ended.
struct KeeperThread {
    stay: Sender<()>,
    thread: JoinHandle<()>,
}

impl KeeperThread {
    /// Starts a thread that enters its restrictions, starts the command, and calls `leave` when it
    /// is dismissed.
    fn hire<D: 'static>(
        program: String,
        command: Command,
        enter: impl FnOnce() -> Result<D, Error> + Send + 'static,
        leave: impl FnOnce(D) + Send + 'static,
    ) -> Result<(Box<dyn ChildWrapper>, KeeperThread), Error> {
        let (stay, dismissed) = channel::<()>();
        let (tell, told) = channel();
        let work = move || {
            let inside = match enter() {
                Ok(inside) => inside,
                Err(error) => return tell.send(Err(error)).unwrap_or_default(),
            };
            let child = spawn(command).map_err(|source| Error::unstarted(&program, &source));
            let has_started = child.is_ok();
            tell.send(child).ok();
            if has_started {
                wait(&dismissed);
                leave(inside);
            }
        };
        let thread = std::thread::Builder::new()
            .name("sandbox".to_owned())
            .spawn(work)
            .map_err(|source| refused(format!("no thread for the sandbox: {source}")))?;
        match told.recv() {
            Ok(child) => Ok((child?, KeeperThread { stay, thread })),
            Err(_) => Err(refused("the thread of the sandbox died".to_owned())),
        }
    }

    fn dismiss(self) {
        drop(self.stay);
        self.thread.join().ok();
    }
}

/// Waits until the other side hangs up.
fn wait(dismissed: &Receiver<()>) {
    while dismissed.recv().is_ok() {}
}

/// Returns the directory to run in; the workspace by default.
fn directory(invocation: &Invocation, view: &SandboxView) -> Result<PathBuf, Error> {
    let Some(dir) = &invocation.cwd else {
        return Ok(view.workspace.clone());
    };
    dir.canonicalize().map_err(|source| {
        refused(format!(
            "the directory `{}` cannot be used: {source}",
            dir.display()
        ))
    })
}

/// Finds a missing program first, because `bwrap` would report it as a failed command.
fn check_program(invocation: &Invocation, cwd: &Path) -> Result<(), Error> {
    let name = invocation.program.to_string_lossy();
    let found = if name.contains('/') {
        cwd.join(&invocation.program).exists()
    } else {
        let path = invocation.env.value_of("PATH").unwrap_or_default();
        which(&name, &path).is_some()
    };
    if found {
        return Ok(());
    }
    Err(Error::unstarted(
        &name,
        &std::io::ErrorKind::NotFound.into(),
    ))
}

/// The variables that tell programs the directory for temporary files.
pub(super) const TMP_VARIABLES: [&str; 3] = ["TMPDIR", "TMP", "TEMP"];

fn temporary_files_in(command: &mut Command, dir: &Path) {
    for name in TMP_VARIABLES {
        command.env(name, dir);
    }
}

fn unstarted(invocation: &Invocation, source: &std::io::Error) -> Error {
    Error::unstarted(&invocation.program.to_string_lossy(), source)
}

impl Drop for Cage {
    fn drop(&mut self) {
        self.end();
    }
}
