//! Plain file functions for paths outside any root: a settings file, an answers file named on the
//! command line, scratch directories.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::root::{special, text};
use crate::{Error, READ_BYTES_MAX, WorkspaceErrorKind};

pub use tempfile::TempDir;

/// The most directories that [`find_upward`] searches.
pub const UPWARD_DEPTH_MAX: usize = 256;

/// Returns the content of a file, or `None` if it does not exist. Never waits on a FIFO, never
/// takes more than [`READ_BYTES_MAX`] into memory.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let place = path.display();
    let failed = |source| Error::io("reading", &place, source);
    // Checks before opening: opening a FIFO would wait for its writer.
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(source) if is_absent(&source) => return Ok(None),
        Err(source) => return Err(failed(source)),
    };
    if metadata.is_dir() {
        return Err(Error::new(
            WorkspaceErrorKind::Conflict,
            format!("`{place}` is a directory, and a file was expected"),
        ));
    }
    if !metadata.is_file() {
        return Err(special(&place));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(READ_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > READ_BYTES_MAX {
        return Err(Error::new(
            WorkspaceErrorKind::Limit,
            format!("`{place}` is larger than READ_BYTES_MAX ({READ_BYTES_MAX})"),
        ));
    }
    Ok(Some(bytes))
}

/// Returns the content of a text file, or `None` if it does not exist.
pub fn read_text(path: &Path) -> Result<Option<String>, Error> {
    let bytes = read(path)?;
    bytes.map(|bytes| text(bytes, &path.display())).transpose()
}

/// Works like [`read_text`], but reads a pipe such as `/dev/stdin` or `<(…)` to its end: for paths
/// that a person has named.
pub fn read_text_or_pipe(path: &Path) -> Result<Option<String>, Error> {
    use std::os::unix::fs::FileTypeExt;
    let kind = std::fs::metadata(path).ok().map(|found| found.file_type());
    if !kind.is_some_and(|kind| kind.is_fifo() || kind.is_char_device()) {
        return read_text(path);
    }
    let place = path.display();
    let failed = |source| Error::io("reading", &place, source);
    let mut bytes = Vec::new();
    let pipe = std::fs::File::open(path).map_err(failed)?;
    pipe.take(READ_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > READ_BYTES_MAX {
        return Err(Error::new(
            WorkspaceErrorKind::Limit,
            format!("`{place}` gives more than READ_BYTES_MAX ({READ_BYTES_MAX})"),
        ));
    }
    text(bytes, &place).map(Some)
}

/// Returns true if standard input is a pipe or a file, rather than a terminal or nothing.
#[must_use]
pub fn stdin_has_data() -> bool {
    let stdin = std::io::stdin();
    rustix::fs::fstat(&stdin).is_ok_and(|stat| {
        let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
        kind.is_fifo() || kind.is_file()
    })
}

/// Returns true if the path exists, symlinks followed.
#[must_use]
pub fn exists(path: &Path) -> bool {
    std::fs::metadata(path).is_ok()
}

/// Returns true if the path is a directory, symlinks followed.
#[must_use]
pub fn is_dir(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// The path made absolute and free of symlinks; it must exist.
pub fn canonical(path: &Path) -> Result<PathBuf, Error> {
    std::fs::canonicalize(path).map_err(|source| Error::io("resolving", &path.display(), source))
}

/// The nearest directory at or above `start` that contains `name`.
#[must_use]
pub fn find_upward(start: &Path, name: &str) -> Option<PathBuf> {
    let start = std::fs::canonicalize(start).ok()?;
    start
        .ancestors()
        .take(UPWARD_DEPTH_MAX)
        .find(|dir| exists(&dir.join(name)))
        .map(Path::to_owned)
}

/// Creates a directory in the system's place for temporary files; dropping it removes it with
/// everything in it.
pub fn scratch_dir() -> Result<TempDir, Error> {
    tempfile::Builder::new()
        .prefix("drawloom-")
        .tempdir()
        .map_err(|source| {
            let place = "the directory for temporary files";
            Error::io("making a directory in", &place, source)
        })
}

/// Writes one file whole or not at all, and creates its directory.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let place = path.display();
    let failed = |source| Error::io("writing", &place, source);
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(dir).map_err(failed)?;
    let mut builder = tempfile::Builder::new();
    let permissions = std::fs::metadata(path)
        .ok()
        .map(|found| found.permissions());
    builder.permissions(permissions.unwrap_or_else(|| {
        use std::os::unix::fs::PermissionsExt;
        // The umask removes permissions the user does not want to give.
        std::fs::Permissions::from_mode(0o666)
    }));
    let mut file = builder.tempfile_in(dir).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.as_file().sync_data().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Returns the time of a path's last change, in nanoseconds since 1970, or `None` if it does not
/// exist.
#[must_use]
pub fn changed_ns(path: &Path) -> Option<u128> {
    let changed = std::fs::metadata(path).ok()?.modified().ok()?;
    let since = changed.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(since.as_nanos())
}

/// Returns true if users beside the owner and the group of a file may read or write it.
#[must_use]
pub fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let found = std::fs::metadata(path);
    found.is_ok_and(|found| found.permissions().mode() & 0o006 != 0)
}

/// Writes one file whole or not at all, readable by its owner only from the first moment: the file
/// gets mode 0600, created directories 0700, whatever the umask is. A symlink in the file's place
/// is replaced, not followed.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let place = path.display();
    let failed = |source| Error::io("writing", &place, source);
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    create_private_dir(dir)?;
    let mut file = tempfile::Builder::new().tempfile_in(dir).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.as_file().sync_data().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Creates a directory and the missing ones above it, for their owner only.
pub fn create_private_dir(dir: &Path) -> Result<(), Error> {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = std::fs::DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(dir);
    made.map_err(|source| Error::io("making the directory", &dir.display(), source))
}

/// The files directly in a directory, by name.
pub fn files_in(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::io("reading", &dir.display(), source);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Removes a file; returns true if there was one.
pub fn remove_file(path: &Path) -> Result<bool, Error> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(source) if is_absent(&source) => Ok(false),
        Err(source) => Err(Error::io("removing", &path.display(), source)),
    }
}

/// Makes a symlink at `place` that leads to `target`, in an existing directory. If `place` exists
/// already, leaves it alone.
pub fn link(target: &Path, place: &Path) -> Result<(), Error> {
    match std::os::unix::fs::symlink(target, place) {
        Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
            Err(Error::io("linking", &place.display(), source))
        }
        _ => Ok(()),
    }
}

/// Removes a directory and everything in it; a missing one is fine. Symlinks inside are removed,
/// not followed.
pub fn remove_tree(path: &Path) -> Result<(), Error> {
    match std::fs::remove_dir_all(path) {
        Err(source) if !is_absent(&source) => Err(Error::io("removing", &path.display(), source)),
        _ => Ok(()),
    }
}

fn is_absent(source: &io::Error) -> bool {
    matches!(
        source.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
