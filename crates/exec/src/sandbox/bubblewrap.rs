//! A view as arguments for `bwrap`, and whether `bwrap` may do its work here.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, Mode, OFlags};

use super::filter::{self, Openings};
use super::view::{Access, View, refused};
use super::{Availability, Network, Requirement, Sandbox};
use crate::{Error, Outcome};

/// Where system packages put the program. `PATH` is not searched: a directory of the workspace may
/// be in it.
const PROGRAM_DIRS: &[&str] = &[
    "/usr/bin",
    "/bin",
    "/usr/local/bin",
    "/run/wrappers/bin",
    "/run/current-system/sw/bin",
    "/nix/var/nix/profiles/default/bin",
    "/home/linuxbrew/.linuxbrew/bin",
];

/// How long the last process of a killed sandbox is waited for.
const GONE_WAIT_MAX: Duration = Duration::from_secs(2);
/// How much `bwrap` tells about itself; it is two short lines.
const PROGRESS_BYTES_MAX: usize = 4096;
/// How long the attempt may take that finds out whether it works.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// A prepared start: the arguments, and the files whose numbers are among them.
pub(crate) struct Plan {
    pub(crate) program: &'static Path,
    pub(crate) args: Vec<OsString>,
    /// Inherited by `bwrap`; to be closed by us once it has started.
    filters: Vec<OwnedFd>,
    pub(crate) progress: Progress,
    /// What was made to cover what is not there.
    placeholders: Vec<Placeholder>,
}

impl Plan {
    /// Only while nothing else is being started: what is opened here is inherited.
    pub(crate) fn new(sandbox: &Sandbox, view: &View, cwd: &Path) -> Result<Self, Error> {
        let program = program().ok_or_else(|| refused("`bwrap` is not installed".to_owned()))?;
        if let Some(link) = view.links.first() {
            return Err(refused(format!(
                "`{}` is a symbolic link, which bubblewrap cannot keep from being replaced; put what it leads to in its place",
                link.display()
            )));
        }
        let inherited = |source: io::Error| refused(format!("no memory file: {source}"));
        let programs = filter::programs(Openings::with_namespaces(sandbox))
            .map_err(|error| refused(format!("the seccomp filter is wrong: {error}")))?;
        let filters = programs
            .iter()
            .map(|program| memory_file(&filter::bytes(program)))
            .collect::<io::Result<Vec<_>>>()
            .map_err(inherited)?;
        let progress = Progress(memory_file(&[]).map_err(inherited)?);
        let placeholders = placeholders(view)?;
        let mut args = Args::default();
        args.namespaces(sandbox, view);
        args.places(sandbox, view);
        if let Some(git) = &view.git_missing {
            args.cover_directory(git);
        }
        for file in &view.reserved {
            args.bind("--ro-bind", file);
        }
        for filter in &filters {
            args.words(["--add-seccomp-fd", &filter.as_raw_fd().to_string()]);
        }
        args.words(["--json-status-fd", &progress.0.as_raw_fd().to_string()]);
        args.words(["--chdir"]);
        args.path(cwd);
        args.words(["--"]);
        Ok(Self {
            program,
            args: args.0,
            filters,
            progress,
            placeholders,
        })
    }

    /// What outlives the start.
    pub(crate) fn into_rest(self) -> (Progress, Vec<Placeholder>) {
        drop(self.filters);
        (self.progress, self.placeholders)
    }
}

/// What `bwrap` tells about itself while it works.
pub(crate) struct Progress(OwnedFd);

impl Progress {
    /// From now on nobody inherits it.
    pub(crate) fn keep_to_ourselves(&self) {
        rustix::io::fcntl_setfd(&self.0, rustix::io::FdFlags::CLOEXEC).ok();
    }

    /// Whether the command itself ran to an end. When not, `bwrap` gave up before.
    pub(crate) fn has_run(&self) -> bool {
        self.text().contains("\"exit-code\"")
    }

    /// Waits until the first process of the sandbox is gone, with which all others are.
    pub(crate) fn wait_until_gone(&self) {
        let text = self.text();
        let Some(pid) = text
            .split_once("\"child-pid\": ")
            .and_then(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next())
        else {
            return;
        };
        let until = Instant::now() + GONE_WAIT_MAX;
        while is_alive(pid) && Instant::now() < until {
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    fn text(&self) -> String {
        let mut bytes = vec![0; PROGRESS_BYTES_MAX];
        let count = rustix::io::pread(&self.0, &mut bytes, 0).unwrap_or_default();
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    }
}

/// Whether a process exists that has not ended; one that waits to be reaped has.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the program's name, which is in brackets and may contain any.
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// Something empty to mount a cover on, such as a `.git`, taken away when the last command that needs
/// it has ended: with it the cover would go, also from under the others.
pub(crate) struct Placeholder(PathBuf, Shape);

#[derive(Clone, Copy)]
enum Shape {
    Dir,
    File,
}

fn placeholders(view: &View) -> Result<Vec<Placeholder>, Error> {
    let git = view.git_missing.iter().map(|git| (git, Shape::Dir));
    let files = view.reserved.iter().map(|file| (file, Shape::File));
    let made = git
        .chain(files)
        .map(|(path, shape)| Placeholder::new(path, shape));
    let made: Vec<Option<Placeholder>> = made.collect::<Result<_, _>>()?;
    Ok(made.into_iter().flatten().collect())
}

/// How many commands need each.
static PLACEHOLDERS: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());

impl Placeholder {
    fn new(path: &Path, shape: Shape) -> Result<Option<Self>, Error> {
        let mut placeholders = PLACEHOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
        if !placeholders.contains_key(path) {
            let made = match shape {
                Shape::Dir => std::fs::create_dir(path),
                Shape::File => empty_file(path),
            };
            match made {
                Ok(()) => {}
                // Somebody else's.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
                Err(error) => {
                    let path = path.display();
                    return Err(refused(format!("`{path}` cannot be covered: {error}")));
                }
            }
        }
        *placeholders.entry(path.to_owned()).or_default() += 1;
        Ok(Some(Self(path.to_owned(), shape)))
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        let mut placeholders = PLACEHOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
        let count = placeholders.entry(self.0.clone()).or_default();
        *count = count.saturating_sub(1);
        if *count == 0 {
            placeholders.remove(&self.0);
            // What is not empty is not ours; a directory that is not cannot be removed.
            let is_empty = |file: &Path| file.metadata().is_ok_and(|about| about.len() == 0);
            match self.1 {
                Shape::Dir => std::fs::remove_dir(&self.0).ok(),
                Shape::File if is_empty(&self.0) => std::fs::remove_file(&self.0).ok(),
                Shape::File => None,
            };
        }
    }
}

/// A new file; one that is there, or a link, is left alone.
fn empty_file(path: &Path) -> io::Result<()> {
    let new = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    rustix::fs::open(path, new, mode)?;
    Ok(())
}

#[derive(Default)]
struct Args(Vec<OsString>);

impl Args {
    fn words<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    fn path(&mut self, path: &Path) {
        self.0.push(path.as_os_str().to_owned());
    }

    fn namespaces(&mut self, sandbox: &Sandbox, view: &View) {
        // A session of its own it has already; see `run`.
        self.words(["--die-with-parent", "--unshare-pid", "--unshare-ipc"]);
        self.words(["--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL"]);
        if is_anothers(&view.workspace) {
            // In a namespace of users it would be the file of nobody.
            self.words(["--cap-add", "CAP_DAC_OVERRIDE"]);
        } else {
            self.words(["--unshare-user-try"]);
        }
        if sandbox.network == Network::Off {
            self.words(["--unshare-net"]);
        }
    }

    /// The deeper a place, the later it comes and covers what is above it.
    fn places(&mut self, sandbox: &Sandbox, view: &View) {
        self.words(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
        // The settings of the kernel are the administrator's, also of one without capabilities.
        self.words(["--remount-ro", "/proc"]);
        let places = view.places.iter();
        // Covered below instead.
        for (path, access) in places.filter(|(path, _)| Some(*path) != view.git_missing.as_ref()) {
            let above = view.access_above(path);
            match access {
                Access::Fresh => {
                    self.words(["--size", &sandbox.tmp_bytes_max.to_string(), "--tmpfs"]);
                    self.path(path);
                }
                Access::Write => self.bind("--bind", path),
                // The root can be read; what is under a fresh directory has to be put there.
                Access::Read if above == Access::Read => {}
                Access::Read => self.bind("--ro-bind", path),
                Access::Hidden if above == Access::Fresh => {}
                Access::Hidden if path.is_dir() => self.cover_directory(path),
                Access::Hidden => {
                    // Devices do not work in a bound place: it can be neither read nor written.
                    self.words(["--ro-bind", "/dev/null"]);
                    self.path(path);
                }
            }
        }
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

/// Whether we are the administrator and work on the files of another user.
fn is_anothers(workspace: &Path) -> bool {
    let owner = std::fs::metadata(workspace).map_or(0, |about| about.uid());
    rustix::process::geteuid().is_root() && owner != 0
}

/// A file without a name that the next program started inherits.
fn memory_file(bytes: &[u8]) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create("sandbox", MemfdFlags::empty())?;
    let mut written = 0;
    while written < bytes.len() {
        // Past its position, which stays at the beginning for the reader.
        written += rustix::io::pwrite(&file, &bytes[written..], written as u64)?;
    }
    Ok(file)
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

/// The words for a sandbox that `bwrap` gave up on.
pub(crate) fn mishap(program: &str, outcome: &Outcome) -> Error {
    refused(format!(
        "`{program}` could not be started in the bubblewrap sandbox: {}",
        outcome.stderr_text().trim_end()
    ))
}

/// Starts a command in a sandbox of each sort.
pub(super) fn probe() -> Availability {
    let unavailable = |why: String| Availability::Unavailable { why };
    let Some(program) = program() else {
        return unavailable(format!(
            "`bwrap` is in none of {}; install the package `bubblewrap`",
            PROGRAM_DIRS.join(", ")
        ));
    };
    match try_out() {
        Ok(()) => Availability::Held {
            what: format!("{}, {}, started", version(program), program.display()),
            limits: Vec::new(),
        },
        Err(error) => unavailable(explain(&error)),
    }
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

/// Runs a command in a real sandbox and looks at what it could do.
fn try_out() -> Result<(), String> {
    let outside = tempfile::tempdir().map_err(|error| error.to_string())?;
    let inside = outside.path().join("inside");
    std::fs::create_dir_all(inside.join(".git")).map_err(|error| error.to_string())?;
    let sandbox = Sandbox::new(&inside)
        .hide(inside.join(".git"))
        .requirement(Requirement::Bubblewrap);
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

/// What its messages mean and what to do about them.
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
