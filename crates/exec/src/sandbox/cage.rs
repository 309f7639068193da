//! Starting a command in its sandbox, and ending all that is in it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{PoisonError, RwLock};
use std::thread::JoinHandle;

use process_wrap::std::ChildWrapper;

use super::bubblewrap::{self, Plan, Progress};
use super::landlock::Restriction;
use super::namespaces::{self, StageReport, StageStart};
use super::placeholder::{Placeholder, placeholders};
use super::view::{Access, View, refused};
use super::{Kind, Requirement, Sandbox};
use crate::run::{connect, prepare, spawn};
use crate::{Error, Invocation, Outcome, which};

/// While a command is given files to inherit, no other is started, or it would inherit them too.
static STARTING: RwLock<()> = RwLock::new(());

/// What has to be there until a caged command has ended, and what ends the rest of it then.
#[derive(Default)]
pub(crate) struct Cage(CageParts);

#[derive(Default)]
struct CageParts {
    keeper: Option<Keeper>,
    progress: Option<Progress>,
    report: Option<StageReport>,
    /// Taken away after everything that could write into it.
    _tmp: Option<tempfile::TempDir>,
    placeholders: Vec<Placeholder>,
}

impl Cage {
    /// Ends everything in the cage. The command itself has been killed or has ended.
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

    /// Why the command did not run at all, although the sandbox was started.
    pub(crate) fn mishap(&self, program: &str, outcome: &Outcome) -> Option<Error> {
        if let Some(report) = &self.0.report {
            return report.mishap(program, outcome);
        }
        let progress = self.0.progress.as_ref()?;
        let ended_by_itself = matches!(outcome.status, crate::Status::Exited(_));
        (ended_by_itself && !progress.has_run()).then(|| bubblewrap::mishap(program, outcome))
    }
}

/// Starts a command, in its sandbox if it has one.
pub(crate) fn start(invocation: &Invocation) -> Result<(Box<dyn ChildWrapper>, Cage), Error> {
    let Some(sandbox) = &invocation.sandbox else {
        return start_free(invocation);
    };
    match super::probed().choose(sandbox.requirement)? {
        Kind::Namespaces => start_in_namespaces(invocation, sandbox),
        Kind::Bubblewrap => start_in_bubblewrap(invocation, sandbox),
        Kind::Landlock => start_in_landlock(invocation, sandbox),
        Kind::None => start_free(invocation),
    }
}

/// Runs a command in the kind of sandbox it asks for, whatever is known about that kind.
pub(super) fn run_unprobed(invocation: &Invocation) -> Result<Outcome, Error> {
    let Some(sandbox) = &invocation.sandbox else {
        return crate::run(invocation);
    };
    let started = match sandbox.requirement {
        Requirement::Bubblewrap => start_in_bubblewrap(invocation, sandbox)?,
        _ => start_in_namespaces(invocation, sandbox)?,
    };
    crate::run::run_started(invocation, started, &mut |_, _| {})
}

fn start_free(invocation: &Invocation) -> Result<(Box<dyn ChildWrapper>, Cage), Error> {
    let _shared = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    let child =
        spawn(prepare(invocation, None)).map_err(|source| unstarted(invocation, &source))?;
    Ok((child, Cage::default()))
}

fn start_in_namespaces(
    invocation: &Invocation,
    sandbox: &Sandbox,
) -> Result<(Box<dyn ChildWrapper>, Cage), Error> {
    let view = View::of(sandbox)?;
    let cwd = directory(invocation, &view)?;
    check_program(invocation, &cwd)?;
    let placeholders = placeholders(&view)?;
    let plan = namespaces::plan(invocation, sandbox, &view, &cwd)?;
    let _alone = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    // What we were started with and never meant to hand on.
    close_fds::set_fds_cloexec_threadsafe(3, &[]);
    let mut start = StageStart::new(&plan)?;
    connect(invocation, &mut start.command);
    let command = std::mem::replace(&mut start.command, Command::new("true"));
    // The kernel ends the first stage with the thread that started it: one that stays is needed.
    let name = invocation.program.to_string_lossy().into_owned();
    let (child, keeper) = Keeper::hire(name, command, || Ok(()), |()| {})?;
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
    let view = View::of(sandbox)?;
    let cwd = directory(invocation, &view)?;
    check_program(invocation, &cwd)?;
    let placeholders = placeholders(&view)?;
    let _alone = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    // What we were started with and never meant to hand on.
    close_fds::set_fds_cloexec_threadsafe(3, &[]);
    let plan = Plan::new(invocation, sandbox, &view, &cwd)?;
    let mut command = plan.command(invocation);
    connect(invocation, &mut command);
    // The kernel ends `bwrap` with the thread that started it: one that stays is needed.
    let name = invocation.program.to_string_lossy().into_owned();
    let (mut child, keeper) = Keeper::hire(name, command, || Ok(()), |()| {})?;
    let progress = plan.release(child.id()).inspect_err(|_| {
        child.kill().ok();
    })?;
    Ok((
        child,
        Cage(CageParts {
            keeper: Some(keeper),
            progress: Some(progress),
            placeholders,
            ..CageParts::default()
        }),
    ))
}

fn start_in_landlock(
    invocation: &Invocation,
    sandbox: &Sandbox,
) -> Result<(Box<dyn ChildWrapper>, Cage), Error> {
    let mut view = View::of(sandbox)?;
    let cwd = directory(invocation, &view)?;
    check_program(invocation, &cwd)?;
    let tmp = tempfile::Builder::new()
        .prefix("drawloom-")
        .tempdir()
        .map_err(|source| refused(format!("no directory for temporary files: {source}")))?;
    if let Ok(real) = tmp.path().canonicalize() {
        view.add(real, Access::Write);
    }
    let restriction = Restriction::new(sandbox, &view)?;
    let mut command = prepare(invocation, None);
    command.current_dir(&cwd);
    temporary_files_in(&mut command, tmp.path());
    let name = invocation.program.to_string_lossy().into_owned();
    let _shared = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    close_fds::set_fds_cloexec_threadsafe(3, &[]);
    let (child, keeper) = Keeper::hire(
        name,
        command,
        || restriction.enter(),
        |domain| domain.kill_all(),
    )?;
    Ok((
        child,
        Cage(CageParts {
            keeper: Some(keeper),
            _tmp: Some(tmp),
            ..CageParts::default()
        }),
    ))
}

/// A thread that starts a command and stays until the command has ended.
struct Keeper {
    stay: Sender<()>,
    thread: JoinHandle<()>,
}

impl Keeper {
    /// The thread first enters what it shall be in, then starts the command, and leaves as it is
    /// told to when it is dismissed.
    fn hire<D: 'static>(
        program: String,
        command: Command,
        enter: impl FnOnce() -> Result<D, Error> + Send + 'static,
        leave: impl FnOnce(D) + Send + 'static,
    ) -> Result<(Box<dyn ChildWrapper>, Keeper), Error> {
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
            Ok(child) => Ok((child?, Keeper { stay, thread })),
            Err(_) => Err(refused("the thread of the sandbox died".to_owned())),
        }
    }

    fn dismiss(self) {
        drop(self.stay);
        self.thread.join().ok();
    }
}

/// Until the other side hangs up.
fn wait(dismissed: &Receiver<()>) {
    while dismissed.recv().is_ok() {}
}

/// The directory to run in: the workspace when not said.
fn directory(invocation: &Invocation, view: &View) -> Result<PathBuf, Error> {
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

/// `bwrap` would report a missing program as a failed command.
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

/// Where programs learn which directory is for temporary files.
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
