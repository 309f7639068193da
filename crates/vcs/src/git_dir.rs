//! Reads and removes files of git without git: git does not repair what a killed git leaves behind,
//! and does not remove a worktree that was tampered with.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "these are git's own files and the worktrees we made, not the project's files"
)]

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::{Error, VcsErrorKind};

/// The most that is read of a file with one line.
const LINE_BYTES_MAX: u64 = 16 * 1024;
/// The most that is read of a file of references.
const SMALL_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Attempts to remove a directory while another process still writes in it, and the pause between
/// them.
const REMOVE_ATTEMPTS_MAX: u32 = 40;
const REMOVE_PAUSE: Duration = Duration::from_millis(50);

/// Lists the directories in a directory, in order; empty if it does not exist.
pub(crate) fn folders(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("read", dir, &error)),
    };
    let mut found: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    Ok(found)
}

/// Reads the first line of a small regular file. Other file types are refused: a command in a
/// worktree could have put a pipe there, and reading it would never end.
pub(crate) fn first_line(path: &Path) -> Option<Vec<u8>> {
    if !fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).ok()?;
    file.take(LINE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    Some(line.to_owned())
}

/// Reads a file that is small by its nature; `None` if it does not exist.
pub(crate) fn read_small(path: &Path) -> Option<Vec<u8>> {
    if !fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).ok()?;
    file.take(SMALL_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The length of a file and when it was written, as a text that changes with them.
pub(crate) fn stamp(path: &Path) -> Option<String> {
    let found = fs::symlink_metadata(path).ok()?;
    let (seconds, nanos) = (found.mtime(), found.mtime_nsec());
    Some(format!("{} {seconds}.{nanos} {}", found.len(), found.ino()))
}

/// The files in a directory, in order.
pub(crate) fn files_in(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    let entries = entries.filter_map(Result::ok);
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut found: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// The files below a directory, in order; links are not followed.
pub(crate) fn files_below(dir: &Path) -> Vec<PathBuf> {
    let (mut found, mut pending) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(dir) = pending.pop() {
        let entries = fs::read_dir(&dir).into_iter().flatten();
        for entry in entries.filter_map(Result::ok) {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(entry.path()),
                Ok(_) => found.push(entry.path()),
                Err(_) => {}
            }
        }
    }
    found.sort();
    found
}

/// Creates a directory that only its owner can read, with those above it.
pub(crate) fn make_private_folder(dir: &Path) -> Result<(), Error> {
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir);
    made.map_err(|error| failed("make", dir, &error))
}

/// Creates a directory with a unique name, which is removed unless the caller keeps it.
pub(crate) fn temporary_folder(dir: &Path) -> Result<tempfile::TempDir, Error> {
    let made = tempfile::Builder::new().prefix(".new-").tempdir_in(dir);
    made.map_err(|error| failed("write", dir, &error))
}

/// Gives a finished directory its name. That another process was quicker is fine: both made the same.
pub(crate) fn persist_folder(made: tempfile::TempDir, place: &Path) -> Result<(), Error> {
    match fs::rename(made.path(), place) {
        Ok(()) => {
            // The directory got another name, so there is nothing left to remove.
            drop(made.keep());
            Ok(())
        }
        Err(_) if is_there(place) => Ok(()),
        Err(error) => Err(failed("make", place, &error)),
    }
}

/// Parses a path as git writes it into its files; a relative one is relative to `from`. Follows no
/// link: it could lead out of the worktree, and the caller might remove its target.
pub(crate) fn path_from(bytes: &[u8], from: &Path) -> PathBuf {
    let mut path = PathBuf::new();
    for component in from.join(OsStr::from_bytes(bytes)).components() {
        match component {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}

/// Returns true if two paths are the same place.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// Writes a file as a whole or not at all.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(path);
    let written = tempfile::NamedTempFile::new_in(folder).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)
    });
    match written {
        Ok(_) => Ok(()),
        Err(error) => Err(failed("write", path, &error)),
    }
}

/// Removes a file; a missing one is fine.
pub(crate) fn remove_file(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed("remove", path, &error))
        }
        _ => Ok(()),
    }
}

/// Removes a directory with everything in it, even if a program removed the permission to, or is
/// still writing for a moment. Links are removed, never followed; a missing directory is fine.
pub(crate) fn remove_folder(path: &Path) -> Result<(), Error> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let error = match fs::remove_dir_all(path) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        match error.kind() {
            io::ErrorKind::NotFound if !is_there(path) => return Ok(()),
            _ if attempts >= REMOVE_ATTEMPTS_MAX => return Err(failed("remove", path, &error)),
            io::ErrorKind::PermissionDenied => make_writable(path),
            // A git whose parent was killed continues until it is done.
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotFound => {
                thread::sleep(REMOVE_PAUSE);
            }
            _ => return Err(failed("remove", path, &error)),
        }
    }
}

/// Removes a directory if it is empty.
pub(crate) fn remove_if_empty(path: &Path) {
    let _ = fs::remove_dir(path);
}

/// Returns true if the path exists, without following a link.
pub(crate) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn make_writable(dir: &Path) {
    let _ = fs::set_permissions(dir, fs::Permissions::from_mode(0o700));
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}

fn failed(what: &str, path: &Path, error: &io::Error) -> Error {
    let message = format!(
        "cannot {what} `{}`: {error}; check its permissions",
        path.display()
    );
    Error::new(VcsErrorKind::Failed, message)
}
