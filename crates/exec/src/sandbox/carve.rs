//! A view as Landlock's list: hierarchies that may be written, hierarchies that may be read.
//!
//! Landlock adds rights up along a path and never takes one away, so an exception is made by not
//! granting the directory around it: its entries are granted one by one instead, and the directory
//! itself can only be listed. New entries in it cannot be made or, later, read.

use std::path::{Path, PathBuf};

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

/// The rights that make up a view.
pub(crate) fn carve(view: &View) -> Result<Vec<(PathBuf, Right)>, Error> {
    let mut rights = Vec::new();
    grant(Path::new("/"), Access::Read, view, &mut rights)?;
    Ok(rights)
}

fn grant(
    path: &Path,
    access: Access,
    view: &View,
    rights: &mut Vec<(PathBuf, Right)>,
) -> Result<(), Error> {
    if rights.len() >= RULES_MAX {
        return Err(refused(format!(
            "a Landlock sandbox with these exceptions needs more than {RULES_MAX} rules (rules_max); hide less in large directories, or install bubblewrap"
        )));
    }
    if path == Path::new("/dev") {
        let devices = DEVICES.iter().map(|name| path.join(name));
        rights.extend(devices.map(|device| (device, Right::Device)));
    }
    if path == Path::new("/dev") || access == Access::Fresh {
        rights.push((path.to_owned(), Right::List));
        return grant_named(path, view, rights);
    }
    if !view.has_inside(path) && path != Path::new("/") {
        match access {
            Access::Write => rights.push((path.to_owned(), Right::Write)),
            Access::Read => rights.push((path.to_owned(), Right::Read)),
            Access::Hidden | Access::Fresh => {}
        }
        return Ok(());
    }
    if access == Access::Hidden {
        return Ok(());
    }
    rights.push((path.to_owned(), Right::List));
    // A directory that cannot be listed by us cannot be used by the command either.
    let Ok(entries) = std::fs::read_dir(path) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        // What a link leads to has its own place in the list.
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            continue;
        }
        let inner = entry.path();
        let inner_access = view.places.get(&inner).map_or(access, |named| *named);
        grant(&inner, inner_access, view, rights)?;
    }
    Ok(())
}

/// Grants what is named in a directory of which nothing else is shown.
fn grant_named(dir: &Path, view: &View, rights: &mut Vec<(PathBuf, Right)>) -> Result<(), Error> {
    let is_outermost = |path: &Path| {
        let mut between = path.ancestors().skip(1).take_while(|above| *above != dir);
        !between.any(|above| view.places.contains_key(above))
    };
    let named = view.places.iter();
    for (path, access) in named.filter(|(path, _)| path.as_path() != dir && path.starts_with(dir)) {
        if is_outermost(path) {
            grant(path, *access, view, rights)?;
        }
    }
    Ok(())
}
