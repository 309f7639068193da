//! Private files of a project: readable by their owner only, and never opened through a symlink.
//!
//! Drawloom's files in `.drawloom` (answers, the cost log, patches, keys) may quote source code and
//! secrets. A clone may bring `.drawloom/patches` as a link to somewhere else, so every level is
//! entered with `O_NOFOLLOW`; the umask may be wide, so files are made with mode 0600 and
//! directories with 0700.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{MetadataExt, PermissionsExt};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::descent::open_dir;
use crate::protected_paths::{PROGRAM_FOLDER, check_write};
use crate::{Error, RelPath, Root, WorkspaceErrorKind};

/// The most names tried for a temporary file.
const NAMES_MAX: u32 = 1_000;

/// The treatment of a file that exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingFile {
    Replace,
    /// Leave it unchanged.
    Keep,
}

impl Root {
    /// Writes a private file whole or not at all, with its directories. Returns true if it was
    /// written: with [`ExistingFile::Keep`] an existing file stays.
    pub fn write_private(
        &self,
        path: &RelPath,
        bytes: &[u8],
        existing: ExistingFile,
    ) -> Result<bool, Error> {
        let failed = |source: io::Error| Error::io("writing", path, source);
        let (dir, name) = self.enter_private(path)?;
        let (temporary, mut file) = create_beside(dir.as_fd(), name).map_err(failed)?;
        let written = file
            .write_all(bytes)
            .and_then(|()| file.sync_data())
            .and_then(|()| put(dir.as_fd(), &temporary, name, existing));
        if !matches!(written, Ok(true)) || existing == ExistingFile::Keep {
            rustix::fs::unlinkat(&dir, &temporary, AtFlags::empty()).ok();
        }
        written.map_err(failed)
    }

    /// Returns true if `path` is a file that only this user and root can read and write, as
    /// [`write_private`](Root::write_private) makes them. Git cannot bring such a file: it keeps no
    /// mode but that of programs.
    pub fn is_private(&self, path: &RelPath) -> Result<bool, Error> {
        let found = self.absent_or(path, self.dir().symlink_metadata(path))?;
        Ok(found.is_some_and(|found| {
            let user = rustix::process::geteuid().as_raw();
            let is_own = found.uid() == user || found.uid() == 0;
            found.is_file() && is_own && found.permissions().mode() & 0o077 == 0
        }))
    }

    /// Opens the directory of a private file, created if missing, and returns it with the file's
    /// name.
    pub(crate) fn enter_private<'p>(&self, path: &'p RelPath) -> Result<(OwnedFd, &'p str), Error> {
        check_write(path)?;
        let failed = |source: io::Error| match source.raw_os_error() {
            Some(errno) if is_link(errno) => Error::new(
                WorkspaceErrorKind::Conflict,
                format!(
                    "a directory on the way to `{path}` is a symlink; remove it, Drawloom makes its own"
                ),
            ),
            _ => Error::io("writing", path, source),
        };
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(failed(Errno::ISDIR.into()));
        };
        let mut dir = self.fd().try_clone_to_owned().map_err(failed)?;
        for level in parent.names() {
            dir = enter_or_make(dir.as_fd(), level).map_err(failed)?;
        }
        Ok((dir, name))
    }
}

/// `.drawloom` itself holds recipes that other users may read; everything below it is private.
fn enter_or_make(dir: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
    let mode = if name == PROGRAM_FOLDER { 0o755 } else { 0o700 };
    match rustix::fs::mkdirat(dir, name, Mode::from_raw_mode(mode)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(cause) => return Err(cause.into()),
    }
    let opened = open_dir(dir, name)?;
    if name != PROGRAM_FOLDER {
        // Narrows a directory that an earlier version made. One of another user cannot be changed;
        // creating the file in it then fails.
        rustix::fs::fchmod(&opened, Mode::from_raw_mode(mode)).ok();
    }
    Ok(opened)
}

fn create_beside(dir: BorrowedFd<'_>, name: &str) -> io::Result<(String, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for _ in 0..NAMES_MAX {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let temporary = format!(".{name}.{}-{number}", std::process::id());
        match rustix::fs::openat(dir, &temporary, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => return Ok((temporary, File::from(file))),
            Err(Errno::EXIST) => {}
            Err(cause) => return Err(cause.into()),
        }
    }
    Err(Errno::EXIST.into())
}

/// Moves the written file to its name; returns true if it took the place.
fn put(
    dir: BorrowedFd<'_>,
    temporary: &str,
    name: &str,
    existing: ExistingFile,
) -> io::Result<bool> {
    let put = match existing {
        ExistingFile::Replace => rustix::fs::renameat(dir, temporary, dir, name),
        ExistingFile::Keep => rustix::fs::linkat(dir, temporary, dir, name, AtFlags::empty()),
    };
    match put {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) if existing == ExistingFile::Keep => Ok(false),
        Err(cause) => Err(cause.into()),
    }
}

fn is_link(errno: i32) -> bool {
    [Errno::LOOP, Errno::NOTDIR, Errno::MLINK]
        .iter()
        .any(|link| link.raw_os_error() == errno)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    #[test]
    fn files_and_directories_are_their_owners_whatever_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let wide = folder.path().join(".drawloom/patches");
        std::fs::create_dir_all(&wide).unwrap();
        std::fs::set_permissions(&wide, std::fs::Permissions::from_mode(0o777)).unwrap();
        let root = Root::open(folder.path()).unwrap();
        let file = path(".drawloom/patches/a.patch");
        assert!(
            root.write_private(&file, b"x", ExistingFile::Replace)
                .unwrap()
        );
        assert!(
            root.write_private(&file, b"y", ExistingFile::Replace)
                .unwrap()
        );
        assert!(!root.write_private(&file, b"z", ExistingFile::Keep).unwrap());
        assert_eq!(root.read(&file).unwrap().unwrap(), b"y");
        let mode = |path: &str| {
            let found = std::fs::metadata(folder.path().join(path)).unwrap();
            found.permissions().mode() & 0o777
        };
        assert_eq!(mode(".drawloom/patches/a.patch"), 0o600);
        assert_eq!(mode(".drawloom/patches"), 0o700);
        assert_eq!(
            std::fs::read_dir(&wide).unwrap().count(),
            1,
            "nothing is left over"
        );
    }

    #[test]
    fn a_link_on_the_way_is_not_followed_and_one_in_its_place_is_replaced() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let home = folder.path().join(".drawloom");
        std::fs::create_dir(&home).unwrap();
        symlink(outside.path(), home.join("patches")).unwrap();
        std::fs::write(outside.path().join("key"), "theirs").unwrap();
        symlink(outside.path().join("key"), home.join("callback.key")).unwrap();
        let root = Root::open(folder.path()).unwrap();
        let refused = root.write_private(&path(".drawloom/patches/a"), b"x", ExistingFile::Replace);
        assert_eq!(refused.unwrap_err().kind(), WorkspaceErrorKind::Conflict);
        let key = path(".drawloom/callback.key");
        assert!(!root.write_private(&key, b"k", ExistingFile::Keep).unwrap());
        assert!(
            root.write_private(&key, b"k", ExistingFile::Replace)
                .unwrap()
        );
        assert_eq!(
            std::fs::read_to_string(outside.path().join("key")).unwrap(),
            "theirs"
        );
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    }
}
