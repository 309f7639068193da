//! The mounts of a sandbox, made of descriptors, so that each name is resolved only once.
//!
//! The new mount namespace begins as a copy of the one outside. Writable and shown places are
//! cloned first; then every mount becomes read-only; then the clones are attached over it, outer
//! ones first. Each mount point is opened without following a link, and its mount is made of the
//! same descriptor.

use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatVfsMountFlags, StatxFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags,
};

use super::super::handles::{identity, is_dir, open_place};
use super::super::message::{MountStep, SandboxPlan};
use super::super::mountinfo::{KnownMount, known_mounts};
use super::failed;

/// The devices without which programs do not work.
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom"];
/// Links of a device directory, beside the devices.
const LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
/// Covers in the device directory: mounted over hidden directories, and over hidden files.
const EMPTY_DIR: &str = ".hidden-directory";
const EMPTY_FILE: &str = ".hidden-file";

pub(super) fn build(plan: &SandboxPlan) -> Result<(), String> {
    rustix::mount::mount_change(
        "/",
        MountPropagationFlags::REC | MountPropagationFlags::PRIVATE,
    )
    .map_err(failed("separating the mounts"))?;
    mount_processes(plan)?;
    let mut clones = Vec::new();
    for (step, path) in &plan.mounts {
        if matches!(step, MountStep::Writable | MountStep::Shown) {
            clones.push((path.as_path(), clone_place(plan, *step, path)?));
        }
    }
    let devices = DEVICES.iter().filter_map(|name| {
        let device = open_place(&Path::new("/dev").join(name)).ok()?;
        Some((*name, clone(&device).ok()?))
    });
    let devices: Vec<(&str, OwnedFd)> = devices.collect();
    make_read_only(plan)?;
    let covers = mount_devices(plan, devices).map_err(failed("mounting /dev"))?;
    for (step, path) in &plan.mounts {
        let prepared = clones
            .iter()
            .position(|(cloned, _)| *cloned == path.as_path());
        let prepared = prepared.map(|index| clones.swap_remove(index).1);
        let mounted = mount_step(plan, *step, path, prepared, &covers);
        mounted.map_err(|error| match error {
            Errno::LOOP => format!(
                "`{}` was exchanged for a symbolic link while the sandbox was built; run the command again",
                path.display()
            ),
            _ => format!("mounting `{}` failed: {error}", path.display()),
        })?;
    }
    Ok(())
}

/// Mounts the processes of the new namespace, and no others, read-only.
fn mount_processes(plan: &SandboxPlan) -> Result<(), String> {
    let mounting = failed("mount proc");
    let proc = filesystem("proc", &[], MountAttrFlags::empty()).map_err(&mounting)?;
    let place = open_place(Path::new("/proc")).map_err(&mounting)?;
    attach(&proc, &place).map_err(&mounting)?;
    // Since Linux 6.14 a process namespace has its own limit, which also holds for administrators.
    // It counts processes, because numbers are reused.
    const PID_MAX_MIN: u64 = 301;
    let bound = plan.limits.processes_max.clamp(PID_MAX_MIN, 4_194_304);
    std::fs::write("/proc/sys/kernel/pid_max", bound.to_string()).ok();
    let flags = MountFlags::RDONLY | MountFlags::NOEXEC;
    remount(&proc, flags).map_err(mounting)
}

/// Clones a writable or shown place from outside, to be attached later.
fn clone_place(
    plan: &SandboxPlan,
    step: MountStep,
    path: &Path,
) -> Result<Option<OwnedFd>, String> {
    let opened = match open_place(path) {
        Ok(opened) => opened,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) if step == MountStep::Shown => {
            return Ok(None);
        }
        Err(error) => return Err(format!("`{}` cannot be opened: {error}", path.display())),
    };
    let found = identity(&opened).map_err(failed("looking at the workspace"))?;
    if path == plan.workspace && found != plan.identity {
        return Err(format!(
            "`{}` was exchanged for another directory while the sandbox was built",
            path.display()
        ));
    }
    let cloned = clone(&opened).map_err(failed(&format!("cloning `{}`", path.display())))?;
    Ok(Some(cloned))
}

fn mount_step(
    plan: &SandboxPlan,
    step: MountStep,
    path: &Path,
    prepared: Option<Option<OwnedFd>>,
    covers: &CoverFiles,
) -> rustix::io::Result<()> {
    let prepared = prepared.flatten();
    let place = match open_place(path) {
        Ok(place) => place,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => match &prepared {
            Some(cloned) if is_in_fresh(plan, path) => make_place(path, is_dir(cloned))?,
            // A path that does not exist needs no cover, and neither does one this process cannot
            // reach: the command cannot either.
            _ => return Ok(()),
        },
        Err(error) => return Err(error),
    };
    match step {
        MountStep::Fresh => {
            let size = plan.tmp_bytes_max.to_string();
            let options = [("mode", "1777"), ("size", size.as_str())];
            let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
            attach(&filesystem("tmpfs", &options, flags)?, &place)
        }
        MountStep::Writable | MountStep::Shown => {
            let Some(cloned) = prepared else {
                return Ok(());
            };
            attach(&cloned, &place)?;
            remount(&cloned, read_only_if(step == MountStep::Shown))
        }
        MountStep::Pinned | MountStep::Held => {
            let cloned = clone(&place)?;
            attach(&cloned, &place)?;
            remount(&cloned, read_only_if(step == MountStep::Held))
        }
        MountStep::Hidden => attach(&covers.clone_for(&place)?, &place),
    }
}

fn read_only_if(read_only: bool) -> MountFlags {
    match read_only {
        true => MountFlags::RDONLY,
        false => MountFlags::empty(),
    }
}

fn is_in_fresh(plan: &SandboxPlan, path: &Path) -> bool {
    let mut fresh = plan.mounts.iter();
    fresh.any(|(step, dir)| *step == MountStep::Fresh && path != dir && path.starts_with(dir))
}

/// Creates a mount point in a directory that only this process sees yet.
fn make_place(path: &Path, as_dir: bool) -> rustix::io::Result<OwnedFd> {
    let io = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    match path.parent() {
        Some(above) if !as_dir => std::fs::create_dir_all(above).map_err(io)?,
        _ => std::fs::create_dir_all(path).map_err(io)?,
    }
    if !as_dir {
        let new = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        rustix::fs::open(path, new, Mode::RUSR)?;
    }
    open_place(path)
}

/// The empty directory and file that are mounted over hidden places.
struct CoverFiles {
    dir: OwnedFd,
    file: OwnedFd,
}

impl CoverFiles {
    fn clone_for(&self, place: &OwnedFd) -> rustix::io::Result<OwnedFd> {
        clone(if is_dir(place) { &self.dir } else { &self.file })
    }
}

/// Makes a device directory with the harmless devices, and with its own terminals and shared
/// memory.
fn mount_devices(
    plan: &SandboxPlan,
    devices: Vec<(&str, OwnedFd)>,
) -> rustix::io::Result<CoverFiles> {
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID;
    let dev = filesystem("tmpfs", &[("mode", "755"), ("size", "1m")], flags)?;
    let dir_mode = Mode::from_raw_mode(0o755);
    for name in ["shm", "pts", EMPTY_DIR] {
        rustix::fs::mkdirat(&dev, name, dir_mode)?;
    }
    for (name, target) in LINKS {
        rustix::fs::symlinkat(*target, &dev, *name)?;
    }
    let new = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::openat(&dev, EMPTY_FILE, new, Mode::empty())?;
    for (name, _) in &devices {
        rustix::fs::openat(&dev, *name, new, Mode::RUSR)?;
    }
    attach(&dev, &open_place(Path::new("/dev"))?)?;
    let inside = |name: &str| {
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        rustix::fs::openat(&dev, name, flags, Mode::empty())
    };
    for (name, device) in &devices {
        attach(device, &inside(name)?)?;
    }
    let size = plan.tmp_bytes_max.to_string();
    let private = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let shared = filesystem("tmpfs", &[("mode", "1777"), ("size", &size)], private)?;
    attach(&shared, &inside("shm")?)?;
    // Programs that need a terminal are rare; most containers have none either.
    let options = [("ptmxmode", "0666"), ("mode", "620")];
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    if let Ok(terminals) = filesystem("devpts", &options, flags) {
        attach(&terminals, &inside("pts")?)?;
    }
    remount(&dev, MountFlags::RDONLY)?;
    Ok(CoverFiles {
        dir: inside(EMPTY_DIR)?,
        file: inside(EMPTY_FILE)?,
    })
}

/// A new file system that is mounted nowhere yet.
fn filesystem(
    kind: &str,
    options: &[(&str, &str)],
    flags: MountAttrFlags,
) -> rustix::io::Result<OwnedFd> {
    let opened = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        rustix::mount::fsconfig_set_string(opened.as_fd(), *name, *value)?;
    }
    rustix::mount::fsconfig_create(opened.as_fd())?;
    rustix::mount::fsmount(opened.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags)
}

/// Clones a place, with everything mounted inside it, as a new mount.
fn clone(place: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    rustix::mount::open_tree(place, "", flags)
}

fn attach(mount: &OwnedFd, place: &OwnedFd) -> rustix::io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(mount, "", place, "", flags)
}

/// Adds restrictions to an attached mount. Existing ones stay: the kernel does not let a namespace
/// remove flags set outside.
fn remount(mount: &OwnedFd, flags: MountFlags) -> rustix::io::Result<()> {
    let known = rustix::fs::fstatvfs(mount)?.f_flag;
    let mut flags = flags | MountFlags::BIND | MountFlags::NOSUID | MountFlags::NODEV;
    if known.contains(StatVfsMountFlags::RDONLY) {
        flags |= MountFlags::RDONLY;
    }
    if known.contains(StatVfsMountFlags::NOEXEC) {
        flags |= MountFlags::NOEXEC;
    }
    let place = format!("/proc/self/fd/{}", mount.as_raw_fd());
    rustix::mount::mount_remount(place, flags, c"")
}

/// Makes every inherited mount read-only, and verifies it.
fn make_read_only(plan: &SandboxPlan) -> Result<(), String> {
    let is_ours = |mount: &KnownMount| {
        // These are covered before the command starts.
        let mut writable = plan
            .mounts
            .iter()
            .filter(|(step, _)| *step == MountStep::Writable);
        mount.point.starts_with("/proc") || writable.any(|(_, dir)| mount.point.starts_with(dir))
    };
    for mount in known_mounts("self")?.iter().filter(|mount| !is_ours(mount)) {
        if let Ok(place) = open_mount(&mount.point) {
            remount(&place, MountFlags::RDONLY).ok();
        }
    }
    let left = known_mounts("self")?;
    let left = left.iter().filter(|mount| !is_ours(mount));
    match left
        .into_iter()
        .find(|mount| !mount.is_read_only && is_reachable(mount))
    {
        Some(mount) => Err(format!(
            "the mount `{}` cannot be made read-only",
            mount.point.display()
        )),
        None => Ok(()),
    }
}

/// Opens the root of a mount. Unlike other places, a command cannot replace a mount point.
fn open_mount(point: &Path) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(
        point,
        OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW,
        Mode::empty(),
    )
}

/// Returns true if the mount's path leads to it, so that no other mount covers it.
fn is_reachable(mount: &KnownMount) -> bool {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let found = rustix::fs::statx(CWD, &mount.point, flags, StatxFlags::MNT_ID);
    found.is_ok_and(|found| found.stx_mnt_id == mount.id)
}
