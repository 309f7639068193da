//! Reads one file: judged as spelled, as resolved, and by the opened handle.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::Errno;

use super::Workspace;
use crate::descent::{Descent, LastLink, PathResolver, ResolvedPath, kind_of};
use crate::root::{special, text};
use crate::{
    ChangeSet, Denial, Error, PathAccess, PathKind, RelPath, SECRET_SCAN_BYTES_MAX,
    WorkspaceErrorKind,
};

/// A file opened for reading, at most `read_bytes_max` bytes of it.
#[derive(Debug)]
pub struct BoundedReader {
    file: io::Take<File>,
    size_bytes: u64,
}

impl BoundedReader {
    /// Size of the file in bytes when it was opened.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }
}

impl Read for BoundedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

impl Workspace {
    /// Returns the content of a file, or `None` if it does not exist. A file over `read_bytes_max`
    /// is an error and is not read.
    pub fn read(&self, path: &RelPath) -> Result<Option<Vec<u8>>, Error> {
        self.read_at_most(path, self.limits.read_bytes_max)
    }

    /// Works like [`Workspace::read`], with the caller's own smaller limit.
    pub fn read_at_most(&self, path: &RelPath, bytes_max: u64) -> Result<Option<Vec<u8>>, Error> {
        let Some((file, stat)) = self.open_file(path)? else {
            return Ok(None);
        };
        let bytes_max = bytes_max.min(self.limits.read_bytes_max);
        let too_large = |size: u64| {
            Error::new(
                WorkspaceErrorKind::Limit,
                format!(
                    "`{path}` has {size} bytes, more than read_bytes_max ({bytes_max}); read a part of it, or search it"
                ),
            )
        };
        let size = size_of(&stat);
        if size > bytes_max {
            return Err(too_large(size));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        // The file may grow while it is read, so checking its size is not enough.
        file.take(bytes_max + 1)
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

    /// Works like [`Workspace::read`], with `changes` applied.
    pub fn read_staged(
        &self,
        changes: &ChangeSet,
        path: &RelPath,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.policy.check_read(path)?;
        changes.read_over(path, || self.read(path))
    }

    /// Opens a file to read a part of it. At most `read_bytes_max` bytes can be read, however large
    /// it is.
    pub fn reader(&self, path: &RelPath) -> Result<Option<BoundedReader>, Error> {
        let opened = self.open_file(path)?;
        Ok(opened.map(|(file, stat)| BoundedReader {
            file: file.take(self.limits.read_bytes_max),
            size_bytes: size_of(&stat),
        }))
    }

    /// Returns the kind of `path`, symlinks in it followed; `None` if it does not exist.
    pub fn kind(&self, path: &RelPath) -> Result<Option<PathKind>, Error> {
        let place = self.locate(path)?;
        Ok(place.found.as_ref().map(kind_of))
    }

    /// Resolves `path`, and judges both the spelled and the resolved path.
    pub(super) fn locate(&self, path: &RelPath) -> Result<ResolvedPath, Error> {
        self.policy.check_read(path)?;
        let nothing = BTreeSet::new();
        let place = PathResolver::new(self.root.fd(), &nothing).resolve(path, LastLink::Follow)?;
        self.policy
            .check_read(&place.path)
            .map_err(|denial| denial.asked_as(path))?;
        Ok(place)
    }

    fn open_file(&self, path: &RelPath) -> Result<Option<(File, Stat)>, Error> {
        let place = self.locate(path)?;
        match place.found.as_ref().map(kind_of) {
            None => return Ok(None),
            Some(PathKind::File) => {}
            Some(PathKind::Dir) => return Err(is_a_dir(path)),
            // Not even opened: opening a device may already do something.
            Some(PathKind::Other | PathKind::Symlink) => return Err(special(path)),
        }
        let mut descent = Descent::new(self.root.fd());
        let opened = descent
            .enter_parent(&place.path)
            .and_then(|(dir, name)| open_at(dir, name));
        let (file, stat) = match opened {
            Ok(opened) => opened,
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(changed_or(path, source)),
        };
        match kind_of(&stat) {
            PathKind::File => {}
            PathKind::Dir => return Err(is_a_dir(path)),
            PathKind::Other | PathKind::Symlink => return Err(special(path)),
        }
        if on_kernel_filesystem(&file) {
            return Err(special(path));
        }
        match self.check_links(&file, &stat)? {
            Ok(()) => {
                self.check_content(path, &file)?;
                Ok(Some((file, stat)))
            }
            Err(rule) => {
                let name = path.file_name().unwrap_or_default();
                Err(Denial::new(path, PathAccess::Read, rule, name).into())
            }
        }
    }
}

impl Workspace {
    /// Refuses a file with a search hit, if it holds a secret.
    pub(super) fn check_found(&self, path: &RelPath) -> Result<(), Error> {
        self.open_file(path).map(drop)
    }

    /// Refuses an opened file that holds a secret; keeps the file's position.
    pub(super) fn check_content(&self, path: &RelPath, file: &File) -> Result<(), Error> {
        let mut content = vec![0; SECRET_SCAN_BYTES_MAX];
        let mut filled = 0;
        while filled < content.len() {
            let read = file.read_at(&mut content[filled..], filled as u64);
            match read.map_err(|source| Error::io("reading", path, source))? {
                0 => break,
                read => filled += read,
            }
        }
        Ok(self.policy.check_content(path, &content[..filled])?)
    }
}

/// Opens `name` in `dir` itself: no symlink is followed, no FIFO waited for.
pub(super) fn open_at(dir: BorrowedFd<'_>, name: &str) -> io::Result<(File, Stat)> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(dir, name, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&fd)?;
    Ok((File::from(fd), stat))
}

pub(super) fn size_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// Returns true if the file is one of `/proc` or `/sys`: such files say nothing about the project,
/// claim to be empty and may never end.
#[cfg(target_os = "linux")]
pub(super) fn on_kernel_filesystem(file: &File) -> bool {
    /// `proc`, `sysfs`, `debugfs`, `tracefs`, `securityfs`, `configfs`, `cgroup`, `cgroup2`, `bpf`.
    const MAGIC: [i64; 9] = [
        0x9fa0,
        0x6265_6572,
        0x6462_6720,
        0x7472_6163,
        0x7363_6673,
        0x6265_6570,
        0x0027_e0eb,
        0x6367_7270,
        0xcafe_4a11,
    ];
    #[allow(
        clippy::unnecessary_cast,
        reason = "the field's type differs between processors"
    )]
    let magic = |found: rustix::fs::StatFs| found.f_type as i64;
    rustix::fs::fstatfs(file).is_ok_and(|found| MAGIC.contains(&magic(found)))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn on_kernel_filesystem(_file: &File) -> bool {
    false
}

fn is_a_dir(path: &RelPath) -> Error {
    Error::new(
        WorkspaceErrorKind::Conflict,
        format!("`{path}` is a directory, and a file was expected; list it instead"),
    )
}

/// The error for a symlink or a file that has just replaced a directory.
fn changed_or(path: &RelPath, source: io::Error) -> Error {
    let swapped = [Errno::LOOP, Errno::NOTDIR, Errno::MLINK];
    let errno = source.raw_os_error();
    if swapped
        .iter()
        .any(|swap| errno == Some(swap.raw_os_error()))
    {
        return Error::new(
            WorkspaceErrorKind::Conflict,
            format!("`{path}` was replaced while it was being read; read it again"),
        );
    }
    Error::io("reading", path, source)
}
