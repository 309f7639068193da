//! Whether bubblewrap has mounted what it was told to, and nothing else.
//!
//! `bwrap` is told names, and a command that runs at the same time can exchange a name for a link
//! while `bwrap` uses it. So the command is held back until the kernel's list of what is mounted has
//! been compared with the plan: a mount that can be written and was not asked for, or a cover that is
//! not where it should be, ends the sandbox before the command begins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, StatxFlags};
use rustix::io::Errno;

use super::handles::open_place;
use super::message::MountStep;
use super::mountinfo::{KnownMount, known_mounts};

/// A mount that is made last, so that it is known when the others are there.
pub(super) const READY: &str = "/dev/.drawloom-ready";

/// What has to be mounted, taken down before `bwrap` is started.
pub(super) struct ExpectedMounts {
    steps: Vec<(MountStep, PathBuf)>,
    /// What is mounted where outside.
    outside: Vec<KnownMount>,
    /// The file system and the directory or file in it that each place is.
    sources: BTreeMap<PathBuf, (String, PathBuf)>,
}

impl ExpectedMounts {
    pub(super) fn new(steps: Vec<(MountStep, PathBuf)>) -> Result<Self, String> {
        let outside = known_mounts("self")?;
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
            sources,
        })
    }

    /// Whether everything is mounted that will be.
    pub(super) fn are_complete(inside: &[KnownMount]) -> bool {
        let count = |point: &str| {
            let mounts = inside.iter();
            mounts
                .filter(|mount| mount.point == Path::new(point))
                .count()
        };
        // While `bwrap` goes over to the new root, the old one is there as well.
        count(READY) == 1 && count("/") == 1
    }

    /// Compares what a process sees with what was planned.
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
        // A mount inside the workspace comes with it, as it is outside.
        let mut roots = self.steps.iter();
        let in_writable =
            roots.any(|(step, dir)| *step == MountStep::Writable && point.starts_with(dir));
        in_writable
            && self.outside.iter().any(|known| {
                known.point == *point && known.device == mount.device && known.root == mount.root
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

/// Which file system a place is on, and where in it.
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
