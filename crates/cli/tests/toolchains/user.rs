//! Who runs the binary: the user of the tests, or an ordinary one where the tests run as root.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::installed::sh;

/// A number that no user has.
const STRANGER: u32 = 54_321;

/// The user that runs the binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunAs {
    /// The user of the tests.
    Same,
    /// One without any rights on the machine.
    Ordinary,
}

/// Returns whether the tests may become another user.
pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Returns whether every user can look into a directory.
pub(crate) fn is_open(path: &Path) -> bool {
    let mut above = path.ancestors();
    above.all(|dir| std::fs::metadata(dir).is_ok_and(|about| about.mode() & 0o001 != 0))
}

/// A directory of this user's, with the binary beside it where the user cannot reach ours.
pub(crate) struct UserPlace {
    dir: TempDir,
    pub(crate) user: RunAs,
    pub(crate) binary: PathBuf,
}

impl UserPlace {
    /// Below `folder` if the user can reach it, else where every user can.
    pub(crate) fn new(folder: &Path, user: RunAs) -> UserPlace {
        let binary = PathBuf::from(env!("CARGO_BIN_EXE_drawloom"));
        if user == RunAs::Same {
            let dir = tempfile::tempdir_in(folder).unwrap();
            return UserPlace { dir, user, binary };
        }
        let places = [folder, Path::new("/srv"), Path::new("/opt")];
        let folder = places.iter().find(|place| is_open(place)).unwrap();
        let dir = tempfile::tempdir_in(folder).unwrap();
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(dir.path(), mode).unwrap();
        let copy = dir.path().join("drawloom");
        std::fs::copy(&binary, &copy).unwrap();
        UserPlace {
            dir,
            user,
            binary: copy,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A directory in it that belongs to the user.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        self.give(&path);
        path
    }

    /// Makes a directory the user's, with all directories in it and its files. Installed files are links
    /// to those that are kept, and stay as they are.
    pub(crate) fn give(&self, path: &Path) {
        if self.user == RunAs::Ordinary {
            let line = format!(
                "find . \\( -type d -o -type f -links 1 \\) -exec chown {STRANGER}:{STRANGER} {{}} +"
            );
            sh(path, &line);
        }
    }

    /// The binary, or another program, as the user runs it: nothing of the tests' own environment, and a
    /// home of its own.
    pub(crate) fn command(&self, program: &Path, search_path: &[PathBuf]) -> Command {
        let home = self.folder("home");
        let system = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
        let path = std::env::join_paths(search_path.iter().chain(&system)).unwrap();
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", path)
            .env("HOME", home)
            .env("LC_ALL", "C.UTF-8");
        if self.user == RunAs::Ordinary {
            command.uid(STRANGER).gid(STRANGER);
        }
        command
    }
}
