//! Verifies that bubblewrap has mounted exactly what it was told to.
//!
//! `bwrap` takes names, and a command that runs at the same time can replace a name by a link while
//! `bwrap` uses it. So the command waits until the kernel's list of mounts has been compared with
//! the plan: an unplanned writable mount, or a cover in the wrong place, ends the sandbox before
//! the command begins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags};
use rustix::io::Errno;

use super::handles::open_place;
use super::message::MountStep;
use super::mountinfo::{KnownMount, known_mounts};

/// A mount that is made last; when it is there, all others are.
pub(super) const READY: &str = "/dev/.drawloom-ready";

/// The mounts that are required, recorded before `bwrap` starts.
pub(super) struct ExpectedMounts {
    steps: Vec<(MountStep, PathBuf)>,
    /// The mounts outside the sandbox.
    outside: Vec<KnownMount>,
    /// The ids of those that this user cannot get to, such as a container's below `/var/lib/docker`.
    /// `bwrap` cannot make them read-only, and the command cannot get to them either.
    unreachable: Vec<u64>,
    /// The file system and the directory or file in it that each place is.
    sources: BTreeMap<PathBuf, (String, PathBuf)>,
}

impl ExpectedMounts {
    pub(super) fn new(steps: Vec<(MountStep, PathBuf)>) -> Result<Self, String> {
        let outside = known_mounts("self")?;
        let unreachable = outside.iter().filter(|mount| is_unreachable(mount));
        let unreachable = unreachable.map(|mount| mount.id).collect();
        let mut sources = BTreeMap::new();
        for (step, path) in &steps {
            if matches!(step, MountStep::Fresh | MountStep::Hidden) {
                continue;
            }
            match source(path, &outside) {
                Ok(source) => sources.insert(path.clone(), source),
                Err(error) => return Err(format!("`{}`: {error}", path.display())),
            };
        }
        Ok(Self {
            steps,
            outside,
            unreachable,
            sources,
        })
    }

    /// Returns true if all mounts have been made.
    pub(super) fn are_complete(inside: &[KnownMount]) -> bool {
        let count = |point: &str| {
            let mounts = inside.iter();
            mounts
                .filter(|mount| mount.point == Path::new(point))
                .count()
        };
        // While `bwrap` moves to the new root, the old one is mounted as well.
        count(READY) == 1 && count("/") == 1
    }

    /// Compares the mounts a process sees with the plan.
    pub(super) fn check(&self, inside: &[KnownMount]) -> Result<(), String> {
        let changed = |path: &Path| {
            format!(
                "`{}` was exchanged for something else while the sandbox was built; run the command again",
                path.display()
            )
        };
        let writable = inside.iter().filter(|mount| !mount.is_read_only);
        for mount in writable {
            if !self.may_be_written(mount) {
                return Err(changed(&mount.point));
            }
        }
        for (step, path) in &self.steps {
            let top = inside.iter().rfind(|mount| mount.point == *path);
            if !top.is_some_and(|top| self.is_planned(*step, path, top)) {
                return Err(changed(path));
            }
        }
        Ok(())
    }

    fn may_be_written(&self, mount: &KnownMount) -> bool {
        let point = &mount.point;
        if point.starts_with("/dev") || point.starts_with("/proc") {
            return true;
        }
        let mut steps = self.steps.iter();
        if let Some((step, _)) = steps.find(|(_, path)| path == point) {
            return self.is_planned(*step, point, mount);
        }
        // A mount inside the workspace comes with it, unchanged.
        let mut roots = self.steps.iter();
        let in_writable =
            roots.any(|(step, dir)| *step == MountStep::Writable && point.starts_with(dir));
        self.outside.iter().any(|known| {
            known.point == *point
                && known.device == mount.device
                && known.root == mount.root
                && (in_writable || self.unreachable.contains(&known.id))
        })
    }

    fn is_planned(&self, step: MountStep, path: &Path, mount: &KnownMount) -> bool {
        let is_source = || {
            let source = self.sources.get(path);
            source.is_some_and(|(device, root)| *device == mount.device && *root == mount.root)
        };
        match step {
            MountStep::Fresh => mount.filesystem == "tmpfs" && mount.root == Path::new("/"),
            MountStep::Writable | MountStep::Pinned => is_source(),
            MountStep::Shown | MountStep::Held => is_source() && mount.is_read_only,
            MountStep::Hidden => {
                let is_empty = mount.filesystem == "tmpfs" && mount.root == Path::new("/");
                (is_empty || mount.root.ends_with("null")) && mount.is_read_only
            }
        }
    }
}

/// Returns true if a directory above the mount is closed to this user.
fn is_unreachable(mount: &KnownMount) -> bool {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let found = rustix::fs::statx(CWD, &mount.point, flags, StatxFlags::MNT_ID);
    found.is_err_and(|error| error == Errno::ACCESS)
}

/// Returns the file system of a place, and the path in it.
fn source(path: &Path, mounts: &[KnownMount]) -> Result<(String, PathBuf), Errno> {
    let place = open_place(path)?;
    let about = rustix::fs::statx(&place, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?;
    let mount = mounts.iter().find(|mount| mount.id == about.stx_mnt_id);
    let mount = mount.ok_or(Errno::NOENT)?;
    let below = path.strip_prefix(&mount.point).map_err(|_| Errno::NOENT)?;
    let root = match below.as_os_str().is_empty() {
        true => mount.root.clone(),
        false => mount.root.join(below),
    };
    Ok((mount.device.clone(), root))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTAINER: &str = "/var/lib/docker/overlay2/1/merged";

    fn container_mount(id: u64) -> KnownMount {
        KnownMount {
            id,
            device: "0:52".to_owned(),
            root: PathBuf::from("/"),
            point: PathBuf::from(CONTAINER),
            is_read_only: false,
            filesystem: "overlay".to_owned(),
        }
    }

    #[track_caller]
    fn check_writable_mount(unreachable: &[u64], is_accepted: bool) {
        let expected = ExpectedMounts {
            steps: Vec::new(),
            outside: vec![container_mount(7)],
            unreachable: unreachable.to_vec(),
            sources: BTreeMap::new(),
        };
        // A namespace numbers its mounts anew.
        let checked = expected.check(&[container_mount(107)]);
        assert_eq!(checked.is_ok(), is_accepted, "{checked:?}");
    }

    #[test]
    fn a_writable_mount_that_the_user_cannot_get_to_is_accepted() {
        check_writable_mount(&[7], true);
    }

    #[test]
    fn a_writable_mount_that_the_user_can_get_to_is_refused() {
        check_writable_mount(&[], false);
    }
}
