//! A view as Landlock's list: hierarchies that may be written, hierarchies that may be read.
//!
//! Landlock adds rights up along a path and never takes one away, so an exception means not
//! granting the directory around it: its entries are granted one by one, and the directory itself
//! can only be listed. The command cannot create entries in it, nor read entries created later.
//!
//! The walk goes by descriptors, from each directory to its entries, without following a link, so
//! the granted files are the inspected ones.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::handles::{is_dir, open_place};
use super::view::{PlaceAccess, SandboxView, refused};
use crate::Error;

/// The most rules that one command's list may have.
pub(crate) const RULES_MAX: usize = 20_000;

/// The devices without which programs do not work. Not the terminals, which belong to the user,
/// and not the disks, on which everything can be read.
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom"];

/// A right on a hierarchy or a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LandlockRight {
    Write,
    Read,
    /// Names in it can be seen.
    List,
    /// Can be written and read, but neither created nor removed.
    Device,
}

/// Records a rule: the place, the right, and whether the place is a directory.
pub(crate) type RuleSink<'g> =
    dyn FnMut(BorrowedFd<'_>, LandlockRight, bool) -> Result<(), Error> + 'g;

/// Passes the rights that make up a view to `grant`.
pub(crate) fn carve(view: &SandboxView, grant: &mut RuleSink<'_>) -> Result<(), Error> {
    let root = open_place(Path::new("/"));
    let root = root.map_err(|error| refused(format!("`/` cannot be opened: {error}")))?;
    let mut carver = LandlockRules {
        view,
        grant,
        rules: 0,
    };
    carver.visit(&root, Path::new("/"), PlaceAccess::Read)
}

struct LandlockRules<'c, 'g> {
    view: &'c SandboxView,
    grant: &'c mut RuleSink<'g>,
    rules: usize,
}

impl LandlockRules<'_, '_> {
    fn visit(&mut self, place: &OwnedFd, path: &Path, access: PlaceAccess) -> Result<(), Error> {
        if path == Path::new("/dev") {
            for device in DEVICES {
                if let Ok(device) = open_entry(place, OsStr::new(device)) {
                    self.give(&device, LandlockRight::Device)?;
                }
            }
        }
        if path == Path::new("/dev") || access == PlaceAccess::Fresh {
            self.give(place, LandlockRight::List)?;
            return self.visit_named(path);
        }
        if !self.view.has_inside(path) && path != Path::new("/") {
            return match access {
                PlaceAccess::Write => self.give(place, LandlockRight::Write),
                PlaceAccess::Read => self.give(place, LandlockRight::Read),
                PlaceAccess::Hidden | PlaceAccess::Fresh => Ok(()),
            };
        }
        if access == PlaceAccess::Hidden {
            return Ok(());
        }
        self.give(place, LandlockRight::List)?;
        // A directory that this process cannot list is of no use to the command either.
        let Ok(entries) = list(place) else {
            return Ok(());
        };
        for entry in entries.flatten() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            // The target of a link has its own place in the list.
            if name == "." || name == ".." || entry.file_type() == FileType::Symlink {
                continue;
            }
            // An entry that vanished since it was listed, or is a link by now, needs no rule.
            let Ok(inner) = open_entry(place, name) else {
                continue;
            };
            let inner_path = path.join(name);
            let named = self.view.places.get(&inner_path);
            self.visit(&inner, &inner_path, named.map_or(access, |named| *named))?;
        }
        Ok(())
    }

    /// Grants the named places in a directory that is otherwise hidden.
    fn visit_named(&mut self, dir: &Path) -> Result<(), Error> {
        let view = self.view;
        let is_outermost = |path: &Path| {
            let mut between = path.ancestors().skip(1).take_while(|above| *above != dir);
            !between.any(|above| view.places.contains_key(above))
        };
        let named = view.places.iter();
        let inside = named.filter(|(path, _)| path.as_path() != dir && path.starts_with(dir));
        for (path, access) in inside.filter(|(path, _)| is_outermost(path)) {
            match open_place(path) {
                Ok(place) => self.visit(&place, path, *access)?,
                Err(Errno::LOOP) => {
                    return Err(refused(format!(
                        "`{}` was exchanged for a symbolic link while the sandbox was built; run the command again",
                        path.display()
                    )));
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn give(&mut self, place: &OwnedFd, right: LandlockRight) -> Result<(), Error> {
        if self.rules >= RULES_MAX {
            return Err(refused(format!(
                "a Landlock sandbox with these exceptions needs more than {RULES_MAX} rules (rules_max); hide less in large directories, or allow user namespaces"
            )));
        }
        self.rules += 1;
        (self.grant)(place.as_fd(), right, is_dir(place))
    }
}

/// An entry of a directory that is no link.
fn open_entry(dir: &OwnedFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let entry = rustix::fs::openat(dir, name, flags, Mode::empty())?;
    let about = rustix::fs::fstat(&entry)?;
    match FileType::from_raw_mode(about.st_mode) {
        FileType::Symlink => Err(Errno::LOOP),
        _ => Ok(entry),
    }
}

fn list(dir: &OwnedFd) -> rustix::io::Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Dir::read_from(rustix::fs::openat(dir, ".", flags, Mode::empty())?)
}
