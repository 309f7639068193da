//! Plain file functions for what lies outside any root: a settings file, an
//! answers file named on the command line, scratch directories.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::root::{special, text};
use crate::{Error, ErrorKind, READ_BYTES_MAX};

pub use tempfile::TempDir;

/// The most directories [`find_upward`] looks into.
pub const UPWARD_DEPTH_MAX: usize = 256;

/// The content of a file, `None` when there is none. Never waits on a FIFO,
/// never takes more than [`READ_BYTES_MAX`] into memory.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let place = path.display();
    let failed = |source| Error::io("reading", &place, source);
    // Looking before opening: opening a FIFO would wait for its writer.
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(source) if is_absent(&source) => return Ok(None),
        Err(source) => return Err(failed(source)),
    };
    if metadata.is_dir() {
        return Err(Error::new(
            ErrorKind::Conflict,
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
            ErrorKind::Limit,
            format!("`{place}` is larger than READ_BYTES_MAX ({READ_BYTES_MAX})"),
        ));
    }
    Ok(Some(bytes))
}

/// The content of a text file, `None` when there is none.
pub fn read_text(path: &Path) -> Result<Option<String>, Error> {
    let bytes = read(path)?;
    bytes.map(|bytes| text(bytes, &path.display())).transpose()
}

/// As [`read_text`], for a path that a person has named: a pipe such as `/dev/stdin` or `<(…)` is read
/// to its end, because that is what was asked for.
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
            ErrorKind::Limit,
            format!("`{place}` gives more than READ_BYTES_MAX ({READ_BYTES_MAX})"),
        ));
    }
    text(bytes, &place).map(Some)
}

/// Whether a pipe or a file is behind standard input, rather than a terminal or nothing.
#[must_use]
pub fn stdin_has_data() -> bool {
    let stdin = std::io::stdin();
    rustix::fs::fstat(&stdin).is_ok_and(|stat| {
        let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
        kind.is_fifo() || kind.is_file()
    })
}

/// Whether anything is there, symlinks followed.
#[must_use]
pub fn exists(path: &Path) -> bool {
    std::fs::metadata(path).is_ok()
}

/// Whether a directory is there, symlinks followed.
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

/// A new directory of our own in the system's place for temporary files,
/// removed with everything in it when dropped.
pub fn scratch_dir() -> Result<TempDir, Error> {
    tempfile::Builder::new()
        .prefix("drawloom-")
        .tempdir()
        .map_err(|source| {
            let place = "the directory for temporary files";
            Error::io("making a directory in", &place, source)
        })
}

/// Writes one file whole or not at all, making the directory it is in.
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
        // The umask takes from these what the user does not want given.
        std::fs::Permissions::from_mode(0o666)
    }));
    let mut file = builder.tempfile_in(dir).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.as_file().sync_data().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// When a file or directory was last changed, in nanoseconds since 1970; `None` when nothing is there.
#[must_use]
pub fn changed_ns(path: &Path) -> Option<u128> {
    let changed = std::fs::metadata(path).ok()?.modified().ok()?;
    let since = changed.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(since.as_nanos())
}

/// Writes one file whole or not at all, for its owner's eyes only from the first moment: the file gets
/// mode 0600, the directories that are made 0700, whatever the umask says. A symlink in the file's
/// place is replaced, not followed.
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

/// Makes a directory and those above it where they are missing, for their owner only.
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

/// Removes a file; whether there was one.
pub fn remove_file(path: &Path) -> Result<bool, Error> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(source) if is_absent(&source) => Ok(false),
        Err(source) => Err(Error::io("removing", &path.display(), source)),
    }
}

/// Makes a symlink at `place` that leads to `target`, in a directory that is there. Whatever is at
/// `place` already is left alone.
pub fn link(target: &Path, place: &Path) -> Result<(), Error> {
    match std::os::unix::fs::symlink(target, place) {
        Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
            Err(Error::io("linking", &place.display(), source))
        }
        _ => Ok(()),
    }
}

/// Removes a directory and all in it; nothing there is fine. Symlinks inside
/// are removed, not followed.
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
