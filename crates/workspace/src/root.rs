//! `Root`: a directory whose content can be read and changed, and nothing outside it.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions, OpenOptionsExt, PermissionsExt};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::descent::{LastLink, PathResolver};
use crate::{Error, RelPath, WorkspaceErrorKind};

/// The largest file [`Root::read`] takes into memory.
pub const READ_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The kind of a path, without following a symlink in last place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symlink, wherever it points.
    Symlink,
    /// A device, FIFO or socket.
    Other,
}

/// A handle on a directory. No path given to it leads outside: not by spelling ([`RelPath`]), not
/// by symlink (the kernel resolves beneath the handle), not by moving the directory (the handle
/// moves with it).
#[derive(Debug)]
pub struct Root {
    dir: Dir,
    path: PathBuf,
}

impl Root {
    /// Opens an existing directory.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        let path = std::fs::canonicalize(dir).map_err(|source| unopened(dir, source))?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority())
            .map_err(|source| unopened(dir, source))?;
        Ok(Self { dir, path })
    }

    /// Creates the directory and the missing ones above it, then opens it.
    pub fn create(dir: &Path) -> Result<Self, Error> {
        std::fs::create_dir_all(dir)
            .map_err(|source| Error::io("creating the directory", &dir.display(), source))?;
        Self::open(dir)
    }

    /// The path of the root when it was opened: absolute, without symlinks. For messages and for
    /// the working directory of commands.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the content of a file, or `None` if it does not exist. Directories, special files
    /// and files over [`READ_BYTES_MAX`] are errors.
    pub fn read(&self, path: &RelPath) -> Result<Option<Vec<u8>>, Error> {
        self.read_at_most(path, READ_BYTES_MAX)
    }

    /// Works like [`Root::read`], with the caller's own limit.
    pub fn read_at_most(&self, path: &RelPath, bytes_max: u64) -> Result<Option<Vec<u8>>, Error> {
        // Without O_NONBLOCK, opening a FIFO waits for a writer that may never come.
        let mut options = OpenOptions::new();
        options
            .read(true)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        let opened = self.dir.open_with(path, &options);
        let Some(file) = self.absent_or(path, opened)? else {
            return Ok(None);
        };
        let metadata = file
            .metadata()
            .map_err(|source| Error::io("reading", path, source))?;
        if metadata.is_dir() {
            return Err(Error::new(
                WorkspaceErrorKind::Conflict,
                format!("`{path}` is a directory, and a file was expected"),
            ));
        }
        if !metadata.is_file() {
            return Err(special(path));
        }
        let too_large = |size: u64| {
            Error::new(
                WorkspaceErrorKind::Limit,
                format!("`{path}` has {size} bytes, more than READ_BYTES_MAX ({bytes_max})"),
            )
        };
        if metadata.len() > bytes_max {
            return Err(too_large(metadata.len()));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
        // The file may grow while it is read, so checking its size is not enough.
        file.into_std()
            .take(bytes_max + 1)
            .read_to_end(&mut bytes)
            .map_err(|source| Error::io("reading", path, source))?;
        if bytes.len() as u64 > bytes_max {
            return Err(too_large(bytes.len() as u64));
        }
        Ok(Some(bytes))
    }

    /// Returns the content of a text file, or `None` if it does not exist.
    pub fn read_text(&self, path: &RelPath) -> Result<Option<String>, Error> {
        self.read(path)?.map(|bytes| text(bytes, path)).transpose()
    }

    /// Returns the kind of `path` itself, or `None` if it does not exist.
    pub fn kind(&self, path: &RelPath) -> Result<Option<PathKind>, Error> {
        let metadata = self.absent_or(path, self.dir.symlink_metadata(path))?;
        Ok(metadata.map(|metadata| kind(&metadata)))
    }

    /// Returns true if a file or directory exists, symlinks inside the root followed.
    pub fn exists(&self, path: &RelPath) -> Result<bool, Error> {
        Ok(self.absent_or(path, self.dir.metadata(path))?.is_some())
    }

    /// Returns true if a directory exists, symlinks inside the root followed.
    pub fn is_dir(&self, path: &RelPath) -> Result<bool, Error> {
        let metadata = self.absent_or(path, self.dir.metadata(path))?;
        Ok(metadata.is_some_and(|metadata| metadata.is_dir()))
    }

    /// Returns true if a file exists that its owner may execute.
    pub fn is_executable(&self, path: &RelPath) -> Result<bool, Error> {
        let metadata = self.absent_or(path, self.dir.metadata(path))?;
        Ok(metadata.is_some_and(|metadata| {
            metadata.is_file() && metadata.permissions().mode() & 0o100 != 0
        }))
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// Turns a missing path into `None`, and names the symlink behind an escape.
    pub(crate) fn absent_or<T>(
        &self,
        path: &RelPath,
        result: io::Result<T>,
    ) -> Result<Option<T>, Error> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(source) if is_absent(&source) => Ok(None),
            Err(source) => {
                let refused = source.kind() == io::ErrorKind::PermissionDenied
                    || source.raw_os_error() == Some(Errno::LOOP.raw_os_error());
                if refused {
                    // Only the wording depends on this: the path is refused in any case.
                    let nothing = std::collections::BTreeSet::new();
                    PathResolver::new(self.fd(), &nothing).resolve(path, LastLink::Follow)?;
                }
                Err(Error::io("reading", path, source))
            }
        }
    }
}

pub(crate) fn kind(metadata: &Metadata) -> PathKind {
    if metadata.is_file() {
        PathKind::File
    } else if metadata.is_dir() {
        PathKind::Dir
    } else if metadata.is_symlink() {
        PathKind::Symlink
    } else {
        PathKind::Other
    }
}

pub(crate) fn text(bytes: Vec<u8>, place: &dyn std::fmt::Display) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|error| {
        Error::new(
            WorkspaceErrorKind::NotText,
            format!(
                "`{place}` is not UTF-8 text (first bad byte at offset {}); save it as UTF-8",
                error.utf8_error().valid_up_to()
            ),
        )
    })
}

pub(crate) fn special(path: &dyn std::fmt::Display) -> Error {
    Error::new(
        WorkspaceErrorKind::SpecialFile,
        format!("`{path}` is a device, FIFO or socket; only regular files are read and written"),
    )
}

/// A path below a file counts as missing, like a path below a missing directory.
fn is_absent(source: &io::Error) -> bool {
    matches!(
        source.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn unopened(dir: &Path, source: io::Error) -> Error {
    let place = dir.display();
    match source.kind() {
        io::ErrorKind::NotFound => Error::new(
            WorkspaceErrorKind::NotFound,
            format!("the directory `{place}` does not exist; create it or name another one"),
        ),
        io::ErrorKind::NotADirectory => Error::new(
            WorkspaceErrorKind::Conflict,
            format!("`{place}` is not a directory; name the directory it is in"),
        ),
        _ => Error::io("opening the directory", &place, source),
    }
}
