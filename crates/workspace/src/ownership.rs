//! Ownership: detects files that another user of the machine could have put where Drawloom would
//! obey them.
//!
//! The model is git's `safe.directory`: a file is obeyed if it and its folder belong to the user
//! who runs the program, to the user who called `sudo`, or to root, and if they are not writable
//! for all users. A folder with the sticky bit, such as `/tmp`, is fine as long as the file in it
//! has the right owner.

use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Error;

const ROOT_UID: u32 = 0;
const EVERYBODY_WRITES: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// The users whose files are obeyed, beside root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileOwners {
    /// The user this process acts as.
    pub user: u32,
    /// The user who called `sudo`, if the process runs as root.
    pub sudo_user: Option<u32>,
}

/// The reason why a file is not obeyed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsafeFile {
    /// The file or folder in question.
    pub file: PathBuf,
    /// The unsafe path: the file itself, its folder, or a link's target.
    pub culprit: PathBuf,
    pub reason: UnsafeReason,
}

/// The reason why a file or folder is unsafe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnsafeReason {
    /// It belongs to this user.
    ForeignOwner(u32),
    /// All users may write it; its mode.
    EverybodyWrites(u32),
    /// Its owner cannot be read.
    Unreadable,
}

/// Tells folders apart beyond their path: one that is removed and made again is another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderIdentity {
    owner: u32,
    inode: u64,
    /// Its creation time, if the file system has it.
    born_ns: Option<u64>,
}

impl FolderIdentity {
    pub fn of(folder: &Path) -> Result<Self, Error> {
        let found = std::fs::metadata(folder)
            .map_err(|source| Error::io("reading", &folder.display(), source))?;
        let born = found.created().ok();
        let born = born.and_then(|born| born.duration_since(std::time::UNIX_EPOCH).ok());
        Ok(Self {
            owner: found.uid(),
            inode: found.ino(),
            born_ns: born.and_then(|born| u64::try_from(born.as_nanos()).ok()),
        })
    }
}

impl FileOwners {
    /// The owners for this process; `sudo_uid` is the variable `SUDO_UID`, which counts for root only.
    #[must_use]
    pub fn of_process(sudo_uid: Option<&str>) -> Self {
        let user = rustix::process::geteuid().as_raw();
        let sudo_user = sudo_uid.and_then(|text| text.parse().ok());
        Self {
            user,
            sudo_user: sudo_user.filter(|_| user == ROOT_UID),
        }
    }

    /// Refuses `file` if another user could have put it there. A file that does not exist is fine.
    pub fn check(&self, file: &Path) -> Result<(), UnsafeFile> {
        let Ok(found) = std::fs::symlink_metadata(file) else {
            return Ok(());
        };
        self.check_one(file, file, &found)?;
        self.check_folder_of(file, file)?;
        if found.is_symlink() {
            // A link is as safe as its target, and the target as safe as its folder.
            let Ok(target) = std::fs::canonicalize(file) else {
                return Ok(());
            };
            self.check_path(file, &target)?;
            self.check_folder_of(file, &target)?;
        }
        Ok(())
    }

    fn check_folder_of(&self, file: &Path, path: &Path) -> Result<(), UnsafeFile> {
        match path.parent() {
            Some(folder) if folder.as_os_str().is_empty() => self.check_path(file, Path::new(".")),
            Some(folder) => self.check_path(file, folder),
            None => Ok(()),
        }
    }

    fn check_path(&self, file: &Path, path: &Path) -> Result<(), UnsafeFile> {
        match std::fs::metadata(path) {
            Ok(found) => self.check_one(file, path, &found),
            Err(_) => Err(refused(file, path, UnsafeReason::Unreadable)),
        }
    }

    fn check_one(&self, file: &Path, path: &Path, found: &Metadata) -> Result<(), UnsafeFile> {
        let owner = found.uid();
        if owner != ROOT_UID && owner != self.user && Some(owner) != self.sudo_user {
            return Err(refused(file, path, UnsafeReason::ForeignOwner(owner)));
        }
        let mode = found.mode();
        let is_shared_folder = found.is_dir() && mode & STICKY != 0;
        // The mode of a link itself means nothing: it is always 0777.
        if mode & EVERYBODY_WRITES != 0 && !is_shared_folder && !found.is_symlink() {
            let reason = UnsafeReason::EverybodyWrites(mode & 0o7777);
            return Err(refused(file, path, reason));
        }
        Ok(())
    }
}

fn refused(file: &Path, culprit: &Path, reason: UnsafeReason) -> UnsafeFile {
    UnsafeFile {
        file: file.to_owned(),
        culprit: culprit.to_owned(),
        reason,
    }
}

impl UnsafeFile {
    /// Advice for the user.
    #[must_use]
    pub fn fix(&self) -> String {
        let place = shlex_quoted(&self.culprit);
        match self.reason {
            UnsafeReason::ForeignOwner(_) => format!(
                "if it is yours, run `chown \"$(id -un)\" {place}`; otherwise run drawloom as its owner"
            ),
            UnsafeReason::EverybodyWrites(_) => format!("run `chmod o-w {place}`"),
            UnsafeReason::Unreadable => format!("check the permissions of {place}"),
        }
    }
}

/// Quotes a path as one word of a shell.
fn shlex_quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%".contains(c);
    match text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

impl fmt::Display for UnsafeFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, culprit) = (self.file.display(), self.culprit.display());
        let whose = match self.file == self.culprit {
            true => "it".to_owned(),
            false => format!("`{culprit}`"),
        };
        write!(f, "`{file}` is not read: ")?;
        match self.reason {
            UnsafeReason::ForeignOwner(uid) => {
                write!(f, "{whose} belongs to another user (uid {uid})")
            }
            UnsafeReason::EverybodyWrites(mode) => {
                write!(f, "every user may write {whose} (mode {mode:04o})")
            }
            UnsafeReason::Unreadable => write!(f, "the owner of {whose} cannot be told"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const STRANGER: u32 = 54_321;

    /// Checks `drawloom.toml` in a folder with these modes, as the user who made them or as a stranger.
    #[track_caller]
    fn check(folder_mode: u32, file_mode: u32, me: bool, expected: Option<UnsafeReason>) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("drawloom.toml");
        std::fs::write(&file, "").unwrap();
        for (path, mode) in [(file.as_path(), file_mode), (folder.path(), folder_mode)] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        // Files of root are obeyed by all users, so give them away if the tests run as root.
        let maker = FileOwners::of_process(None).user;
        if maker == ROOT_UID {
            for path in [file.as_path(), folder.path()] {
                std::os::unix::fs::chown(path, Some(STRANGER - 1), None).unwrap();
            }
        }
        let maker = if maker == ROOT_UID {
            STRANGER - 1
        } else {
            maker
        };
        let owners = FileOwners {
            user: if me { maker } else { STRANGER },
            sudo_user: None,
        };
        let found = owners.check(&file).err().map(|refused| refused.reason);
        let found = found.map(|reason| match reason {
            UnsafeReason::ForeignOwner(_) => UnsafeReason::ForeignOwner(0),
            other => other,
        });
        assert_eq!(found, expected, "{folder_mode:o} {file_mode:o} {me}");
    }

    #[test]
    fn a_file_is_trusted_if_no_other_user_could_have_written_it() {
        check(0o755, 0o644, true, None);
        check(0o775, 0o664, true, None);
        check(0o1777, 0o644, true, None);
        let foreign = Some(UnsafeReason::ForeignOwner(0));
        check(0o755, 0o644, false, foreign);
        check(0o1777, 0o644, false, foreign);
        check(
            0o777,
            0o644,
            true,
            Some(UnsafeReason::EverybodyWrites(0o777)),
        );
        check(
            0o755,
            0o666,
            true,
            Some(UnsafeReason::EverybodyWrites(0o666)),
        );
    }

    #[test]
    fn a_link_is_as_good_as_the_place_it_leads_to() {
        let (open, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(open.path().join("settings"), "").unwrap();
        let mode = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(open.path(), mode).unwrap();
        let link = own.path().join("drawloom.toml");
        symlink(open.path().join("settings"), &link).unwrap();
        let refused = FileOwners::of_process(None).check(&link).unwrap_err();
        assert_eq!(refused.reason, UnsafeReason::EverybodyWrites(0o777));
        assert!(
            refused.fix().starts_with("run `chmod o-w "),
            "{}",
            refused.fix()
        );
    }

    #[test]
    fn the_user_behind_sudo_counts_for_root_only() {
        let root = FileOwners::of_process(Some("1000"));
        assert_eq!(root.sudo_user.is_some(), root.user == ROOT_UID);
    }

    #[test]
    fn a_missing_file_is_fine() {
        let owners = FileOwners::of_process(None);
        assert_eq!(owners.check(Path::new("/nowhere/drawloom.toml")), Ok(()));
    }
}
