//! Landlock and seccomp on one thread, from which the command is then started.
//!
//! Both restrict the calling thread and what it starts, not the process. So a separate thread
//! restricts itself and starts the command; the rest of the program stays unrestricted. The thread
//! starts a stage, which sets the limits and then becomes the command.
//!
//! The thread enters two domains. The outer one only restricts signals, and a reaper starts in it:
//! the reaper may kill every process of the inner domain, and none of them can reach it.

use std::path::Path;

use ::landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus,
    PathBeneath, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr,
    RulesetStatus, Scope,
};
use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use rustix::thread::{CapabilitySet, CapabilitySets};
use seccompiler::BpfProgram;

use super::filter::{self, FilterOpenings};
use super::handles::open_place;
use super::landlock_rules::{LandlockRight, carve};
use super::namespaces::NO_STAGES;
use super::stages::open_stage_program;
use super::view::{SandboxView, refused};
use super::{NetworkAccess, Sandbox, SandboxAvailability};
use crate::Error;

/// The oldest kernel interface that keeps a sandbox's promises: before it, a file could be
/// truncated without being opened for writing.
const ABI_MIN: ABI = ABI::V3;
/// Since this one, a domain can allow files to be moved to other directories.
const ABI_MOVES: ABI = ABI::V2;
/// Since this one, signals stay inside.
const ABI_SIGNALS: ABI = ABI::V6;
/// Since this one, devices are not controlled.
const ABI_DEVICES: ABI = ABI::V5;

/// Everything that has to be looked up before the thread loses its rights.
pub(crate) struct LandlockRestriction {
    ruleset: RulesetCreated,
    programs: [BpfProgram; 2],
    signals: bool,
}

impl LandlockRestriction {
    pub(crate) fn new(sandbox: &Sandbox, view: &SandboxView) -> Result<Self, Error> {
        let signals = newest_abi() >= ABI_SIGNALS;
        Ok(Self {
            ruleset: ruleset(sandbox, view, signals)?,
            programs: filter::programs(FilterOpenings::without_namespaces(sandbox, signals))
                .map_err(|error| refused(format!("the seccomp filter is wrong: {error}")))?,
            signals,
        })
    }

    /// Restricts the calling thread for good.
    pub(crate) fn enter(self) -> Result<LandlockDomain, Error> {
        let failed = |what: &str, error: String| refused(format!("{what} did not hold: {error}"));
        drop_capabilities().map_err(|error| failed("dropping capabilities", error.to_string()))?;
        let status = self
            .ruleset
            .restrict_self()
            .map_err(|error| failed("Landlock", error.to_string()))?;
        if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
            return Err(failed("Landlock", format!("{status:?}")));
        }
        for program in &self.programs {
            seccompiler::apply_filter(program)
                .map_err(|error| failed("seccomp", error.to_string()))?;
        }
        Ok(LandlockDomain {
            signals: self.signals,
        })
    }
}

/// The domain of the calling thread and of every process it started.
pub(crate) struct LandlockDomain {
    signals: bool,
}

impl LandlockDomain {
    /// Kills every process that the calling thread started, directly or through others, daemons
    /// included.
    pub(crate) fn kill_all(&self) {
        if self.signals {
            kill_domain();
        }
    }
}

/// Kills every process of the calling thread's domain and of those inside it.
///
/// `kill(-1)` reaches every process the thread may signal, and the kernel lets it signal its own
/// domain only. The ruleset demands that as a hard requirement, and this function tests it before
/// it relies on it.
pub(super) fn kill_domain() {
    let outside = rustix::process::getppid();
    let held =
        outside.is_none_or(|parent| rustix::process::test_kill_process(parent) == Err(Errno::PERM));
    if held {
        // For the kernel, group 1 means every process. An error means that no process is left,
        // which is fine.
        rustix::process::kill_process_group(Pid::INIT, Signal::KILL).ok();
    }
}

/// Restricts the calling thread, and every process it starts from now on, to signals among
/// themselves. A process started in it can then kill all processes of inner domains and cannot be
/// killed by them. Returns false if the kernel cannot do that.
pub(crate) fn enter_outer_domain() -> Result<bool, Error> {
    if newest_abi() < ABI_SIGNALS {
        return Ok(false);
    }
    // A domain without a rule about moving files to other directories forbids it.
    let everywhere = open_place(Path::new("/"));
    let everywhere =
        everywhere.map_err(|error| refused(format!("`/` cannot be opened: {error}")))?;
    let entered = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .scope(Scope::Signal)
        .and_then(|ruleset| ruleset.handle_access(AccessFs::Refer))
        .and_then(Ruleset::create)
        .and_then(|created| created.add_rule(PathBeneath::new(everywhere, AccessFs::Refer)))
        .and_then(RulesetCreated::restrict_self);
    match entered {
        Ok(status) if status.ruleset != RulesetStatus::NotEnforced => Ok(true),
        Ok(status) => Err(refused(format!("Landlock did not hold: {status:?}"))),
        Err(error) => Err(refused(format!("Landlock did not hold: {error}"))),
    }
}

/// Lists the limit of a sandbox of mounts that has no help of Landlock.
pub(super) fn open_pipes(are_closed: bool) -> Vec<String> {
    let limit = "named pipes of other programs can be written to, as far as you can write to them";
    let limits = (!are_closed).then(|| limit.to_owned());
    limits.into_iter().collect()
}

/// Returns whether Landlock can keep a command from writing where mounts do not.
pub(super) fn can_close_pipes() -> bool {
    newest_abi() >= ABI_MOVES
}

fn ruleset(sandbox: &Sandbox, view: &SandboxView, signals: bool) -> Result<RulesetCreated, Error> {
    let unusable =
        |error: ::landlock::RulesetError| refused(format!("Landlock cannot hold it: {error}"));
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI_MIN))
        .map_err(unusable)?;
    if signals {
        ruleset = ruleset
            .scope(Scope::from_all(ABI_SIGNALS))
            .map_err(unusable)?;
    }
    ruleset = ruleset.set_compatibility(CompatLevel::BestEffort);
    ruleset = ruleset
        .handle_access(AccessFs::from_all(ABI_DEVICES))
        .map_err(unusable)?;
    if sandbox.network == NetworkAccess::Off {
        ruleset = ruleset
            .handle_access(AccessNet::from_all(ABI::V4))
            .map_err(unusable)?;
    }
    let mut created = ruleset.create().map_err(unusable)?;
    carve(view, &mut |place, right, is_dir| {
        let mut access = access_of(right);
        if !is_dir {
            access &= AccessFs::from_file(ABI_DEVICES);
        }
        if access.is_empty() {
            return Ok(());
        }
        let added = (&mut created).add_rule(PathBeneath::new(place, access));
        added.map(drop).map_err(|error| refused(error.to_string()))
    })?;
    // A stage starts the command, and its program may lie where the command sees nothing.
    if let Some(program) = open_stage_program() {
        let access = AccessFs::ReadFile | AccessFs::Execute;
        let added = (&mut created).add_rule(PathBeneath::new(program, access));
        added.map_err(|error| refused(error.to_string()))?;
    }
    Ok(created)
}

fn access_of(right: LandlockRight) -> BitFlags<AccessFs> {
    match right {
        LandlockRight::Write => {
            AccessFs::from_all(ABI_DEVICES) & !(AccessFs::MakeChar | AccessFs::MakeBlock)
        }
        LandlockRight::Read => AccessFs::from_read(ABI_MIN),
        LandlockRight::List => AccessFs::ReadDir.into(),
        LandlockRight::Device => AccessFs::ReadFile | AccessFs::WriteFile,
    }
}

/// Keeps only the capability that lets an administrator write other users' files, where Landlock
/// allows it.
fn drop_capabilities() -> rustix::io::Result<()> {
    let kept = rustix::thread::capabilities(None)?.permitted & CapabilitySet::DAC_OVERRIDE;
    rustix::thread::clear_ambient_capability_set()?;
    rustix::thread::set_capabilities(
        None,
        CapabilitySets {
            effective: kept,
            permitted: kept,
            inheritable: CapabilitySet::empty(),
        },
    )
}

/// The interface of the running kernel, up to the newest one known to this program.
fn newest_abi() -> ABI {
    static NEWEST: std::sync::OnceLock<ABI> = std::sync::OnceLock::new();
    *NEWEST.get_or_init(|| match on_a_thread(restrict_nothing) {
        Some(LandlockStatus::Available { effective_abi, .. }) => effective_abi,
        _ => ABI::Unsupported,
    })
}

/// Restricts a thread to nothing: there is no other way to learn the interface's version.
fn restrict_nothing() -> Option<LandlockStatus> {
    let ruleset = Ruleset::default().handle_access(AccessFs::Execute).ok()?;
    let created = ruleset.create().ok()?;
    let RestrictionStatus { landlock, .. } = created.restrict_self().ok()?;
    Some(landlock)
}

fn on_a_thread<T: Send>(work: impl FnOnce() -> Option<T> + Send) -> Option<T> {
    std::thread::scope(|scope| scope.spawn(work).join().ok().flatten())
}

/// Restricts a thread and tries forbidden actions.
pub(super) fn probe() -> SandboxAvailability {
    let unavailable = |why: String| SandboxAvailability::Unavailable { why };
    let abi = match on_a_thread(restrict_nothing) {
        Some(LandlockStatus::Available { effective_abi, .. }) => effective_abi,
        Some(LandlockStatus::NotEnabled) => {
            return unavailable(
                "the kernel has Landlock, but it was not enabled at boot; add `landlock` to the kernel parameter `lsm=`".to_owned(),
            );
        }
        _ => {
            return unavailable(
                "the kernel has no Landlock, or a container forbids its system calls; use Linux 6.2 or newer".to_owned(),
            );
        }
    };
    if abi < ABI_MIN {
        return unavailable(format!(
            "the kernel's Landlock is too old (version {abi}, needed: {ABI_MIN}); use Linux 6.2 or newer, or install bubblewrap"
        ));
    }
    if open_stage_program().is_none() {
        return unavailable(NO_STAGES.to_owned());
    }
    match try_out() {
        Ok(()) => SandboxAvailability::Held {
            what: format!("Landlock version {abi} with seccomp, tried"),
            limits: limits(abi),
        },
        Err(why) => unavailable(why),
    }
}

/// Restricts a thread to a directory and lets it try to get out.
fn try_out() -> Result<(), String> {
    let outside = tempfile::tempdir().map_err(|error| error.to_string())?;
    let inside = outside.path().join("inside");
    std::fs::create_dir(&inside).map_err(|error| error.to_string())?;
    let sandbox = Sandbox::new(&inside);
    let restricted = || -> Result<(), String> {
        let view = SandboxView::of(&sandbox).map_err(|error| error.to_string())?;
        let restriction =
            LandlockRestriction::new(&sandbox, &view).map_err(|error| error.to_string())?;
        restriction.enter().map_err(|error| error.to_string())?;
        std::fs::write(inside.join("file"), "")
            .map_err(|error| format!("the workspace could not be written: {error}"))?;
        if std::fs::write(outside.path().join("file"), "").is_ok() {
            return Err("a file outside the workspace could be written".to_owned());
        }
        if std::net::UdpSocket::bind("127.0.0.1:0").is_ok() {
            return Err("a socket could be made".to_owned());
        }
        Ok(())
    };
    on_a_thread(|| Some(restricted())).unwrap_or_else(|| Err("the attempt died".to_owned()))
}

fn limits(abi: ABI) -> Vec<String> {
    let mut limits = vec![
        "a directory with a protected or hidden entry in it, such as a workspace with `.git`, gets no new entries and loses none; add the directories that commands create (`target`, `node_modules`) as writable".to_owned(),
        "where there is no `.git` yet, a command can make one; look at it before you use git there".to_owned(),
        "the names, but not the contents, of hidden files can be seen".to_owned(),
        "the permissions (but not the setuid and setgid bits) and times, but not the contents, of your files outside can be changed".to_owned(),
        "System V shared memory, and changing the priority, processors or limits of a process by its number, are refused altogether".to_owned(),
        "the command lines of other processes can be seen".to_owned(),
        "temporary files are on the disk, where only `file_bytes_max` limits them".to_owned(),
    ];
    if abi < ABI_SIGNALS {
        limits.push("signals to your other processes are not held back (Linux 6.12 does), and processes cannot start sessions of their own".to_owned());
        limits.push("when Drawloom is killed, the command is killed with it, but not what the command has started".to_owned());
    }
    limits
}
