//! A view as Landlock's list: hierarchies that may be written, hierarchies that may be read.
//!
//! Landlock adds rights up along a path and never takes one away, so an exception is made by not
//! granting the directory around it: its entries are granted one by one instead, and the directory
//! itself can only be listed. New entries in it cannot be made or, later, read.
//!
//! The tree is walked by descriptors, from each directory to its entries, without following a link:
//! what is granted is what was looked at.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::handles::{is_dir, open_place};
use super::view::{Access, View, refused};
use crate::Error;

/// How many places one command's list may name.
pub(crate) const RULES_MAX: usize = 20_000;

/// The devices without which programs do not work. Not the terminals, which belong to the user,
/// and not the disks, on which everything can be read.
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom"];

/// A right on a hierarchy or a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Right {
    Write,
    Read,
    /// Names in it can be seen.
    List,
    /// Written and read, and neither created nor removed.
    Device,
}

/// Takes a right down: the place, the right, and whether the place is a directory.
pub(crate) type Grant<'g> = dyn FnMut(BorrowedFd<'_>, Right, bool) -> Result<(), Error> + 'g;

/// Hands over the rights that make up a view.
pub(crate) fn carve(view: &View, grant: &mut Grant<'_>) -> Result<(), Error> {
    let root = open_place(Path::new("/"));
    let root = root.map_err(|error| refused(format!("`/` cannot be opened: {error}")))?;
    let mut carver = Carver {
        view,
        grant,
        rules: 0,
    };
    carver.visit(&root, Path::new("/"), Access::Read)
}

struct Carver<'c, 'g> {
    view: &'c View,
    grant: &'c mut Grant<'g>,
    rules: usize,
}

impl Carver<'_, '_> {
    fn visit(&mut self, place: &OwnedFd, path: &Path, access: Access) -> Result<(), Error> {
        if path == Path::new("/dev") {
            for device in DEVICES {
                if let Ok(device) = open_entry(place, OsStr::new(device)) {
                    self.give(&device, Right::Device)?;
                }
            }
        }
        if path == Path::new("/dev") || access == Access::Fresh {
            self.give(place, Right::List)?;
            return self.visit_named(path);
        }
        if !self.view.has_inside(path) && path != Path::new("/") {
            return match access {
                Access::Write => self.give(place, Right::Write),
                Access::Read => self.give(place, Right::Read),
                Access::Hidden | Access::Fresh => Ok(()),
            };
        }
        if access == Access::Hidden {
            return Ok(());
        }
        self.give(place, Right::List)?;
        // A directory that cannot be listed by us cannot be used by the command either.
        let Ok(entries) = list(place) else {
            return Ok(());
        };
        for entry in entries.flatten() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            // What a link leads to has its own place in the list.
            if name == "." || name == ".." || entry.file_type() == FileType::Symlink {
                continue;
            }
            // What went away since it was listed, or is a link by now, needs no rule.
            let Ok(inner) = open_entry(place, name) else {
                continue;
            };
            let inner_path = path.join(name);
            let named = self.view.places.get(&inner_path);
            self.visit(&inner, &inner_path, named.map_or(access, |named| *named))?;
        }
        Ok(())
    }

    /// Grants what is named in a directory of which nothing else is shown.
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

    fn give(&mut self, place: &OwnedFd, right: Right) -> Result<(), Error> {
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
