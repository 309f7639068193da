//! The user who is attacked: a home and folders of their own, and drawloom run as them.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use tempfile::TempDir;

/// The number of an ordinary user, and of the one who attacks. Neither needs an account.
pub(crate) const ORDINARY: u32 = 54_321;
pub(crate) const ATTACKER: u32 = 54_322;

/// A user with a scratch folder that holds everything of the test.
pub(crate) struct VictimProject {
    folder: TempDir,
    /// Another user than the one who runs the tests.
    uid: Option<u32>,
}

/// What a command did.
pub(crate) struct AttackOutcome {
    pub(crate) exit: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `attack` for the user who runs the tests and, where that is root, for an ordinary user.
pub(crate) fn for_every_user(attack: impl Fn(&VictimProject)) {
    attack(&VictimProject::new(None));
    if is_root() {
        attack(&VictimProject::new(Some(ORDINARY)));
    }
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

impl VictimProject {
    fn new(uid: Option<u32>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let victim = Self { folder, uid };
        victim.set_mode("", 0o755);
        victim.give("");
        for name in ["home", "project"] {
            victim.make_dir(name);
        }
        victim
    }

    /// A path below the scratch folder; `""` is the folder itself.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        match path {
            "" => self.folder.path().to_owned(),
            path => self.folder.path().join(path),
        }
    }

    pub(crate) fn uid(&self) -> u32 {
        self.uid
            .unwrap_or_else(|| rustix::process::geteuid().as_raw())
    }

    pub(crate) fn make_dir(&self, path: &str) {
        let mut made = PathBuf::new();
        for part in Path::new(path) {
            made.push(part);
            let full = self.folder.path().join(&made);
            if !full.exists() {
                std::fs::create_dir(&full).unwrap();
                self.give(made.to_str().unwrap());
            }
        }
    }

    /// Writes a file of the victim's own.
    pub(crate) fn write(&self, path: &str, text: &str) {
        if let Some(parent) = Path::new(path).parent() {
            self.make_dir(parent.to_str().unwrap());
        }
        std::fs::write(self.path(path), text).unwrap();
        self.give(path);
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    #[track_caller]
    pub(crate) fn read(&self, path: &str) -> String {
        let read = std::fs::read_to_string(self.path(path));
        read.unwrap_or_else(|cause| panic!("{path}: {cause}"))
    }

    pub(crate) fn mode(&self, path: &str) -> u32 {
        let found = self.path(path).symlink_metadata().unwrap();
        found.permissions().mode() & 0o7777
    }

    pub(crate) fn set_mode(&self, path: &str, mode: u32) {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(self.path(path), mode).unwrap();
    }

    /// Gives a file or folder to the attacker; only root can.
    pub(crate) fn give_to_attacker(&self, path: &str) {
        chown(self.path(path), Some(ATTACKER), Some(ATTACKER)).unwrap();
    }

    fn give(&self, path: &str) {
        if let Some(uid) = self.uid {
            chown(self.path(path), Some(uid), Some(uid)).unwrap();
        }
    }

    /// The binary with this command line, quoted as for a shell, in this folder.
    pub(crate) fn command(&self, folder: &str, line: &str) -> Command {
        let mut command = Command::new(program(self.uid.is_some()));
        command
            .args(shlex::split(line).unwrap())
            .current_dir(self.path(folder));
        command.env_clear().stdin(Stdio::null());
        command
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("LC_ALL", "C");
        if let Some(uid) = self.uid {
            command.uid(uid).gid(uid);
        }
        command
    }

    pub(crate) fn run(&self, folder: &str, line: &str) -> AttackOutcome {
        AttackOutcome::of(self.command(folder, line).output().unwrap())
    }

    /// Runs the command line in `folder`, which must end with this exit code and say these pieces.
    #[track_caller]
    pub(crate) fn check(
        &self,
        folder: &str,
        line: &str,
        exit: i32,
        says: &[&str],
    ) -> AttackOutcome {
        let ran = self.run(folder, line);
        let context = format!(
            "uid {}: drawloom {line}\n--- stdout\n{}\n--- stderr\n{}",
            self.uid(),
            ran.out,
            ran.err
        );
        assert_eq!(ran.exit, exit, "exit code of {context}");
        for piece in says {
            let said = ran.out.contains(piece) || ran.err.contains(piece);
            assert!(said, "lacks {piece:?}: {context}");
        }
        ran
    }
}

impl AttackOutcome {
    fn of(output: Output) -> Self {
        Self {
            exit: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// A folder that other users can reach; only root needs it, to run tests as an ordinary user.
const OPEN_FOLDER: &str = "/var/lib/drawloom-tests/programs";
/// How long the copy of an earlier build stays, because another test run may still use it.
const COPY_KEPT: Duration = Duration::from_secs(6 * 60 * 60);

/// The binary where the user can run it: a build below root's home is out of reach for others.
pub(crate) fn program(for_another: bool) -> PathBuf {
    let built = PathBuf::from(assert_cmd::cargo::cargo_bin!("drawloom"));
    let is_open = |path: &Path| {
        let found = path.metadata();
        found.is_ok_and(|found| found.permissions().mode() & 0o005 == 0o005)
    };
    if !for_another || built.ancestors().all(is_open) {
        return built;
    }
    static COPY: OnceLock<PathBuf> = OnceLock::new();
    COPY.get_or_init(|| copy_for_everybody(&built)).clone()
}

/// Copies the binary once for all test processes of a build: it is large, and a copy for each of them
/// fills the disk. Copies of earlier builds are removed after a while.
fn copy_for_everybody(built: &Path) -> PathBuf {
    let metadata = built.metadata().unwrap();
    let name = format!("{}-{}", metadata.len(), metadata.mtime_nsec());
    let folder = Path::new(OPEN_FOLDER);
    let copy = folder.join(&name);
    if copy.exists() {
        return copy;
    }
    std::fs::create_dir_all(folder).unwrap();
    for earlier in std::fs::read_dir(folder).unwrap().flatten() {
        let made = earlier.metadata().and_then(|found| found.modified());
        let age = made.map(|made| made.elapsed().unwrap_or_default());
        if age.is_ok_and(|age| age > COPY_KEPT) {
            std::fs::remove_file(earlier.path()).ok();
        }
    }
    let unfinished = folder.join(format!("{name}.{}", std::process::id()));
    std::fs::copy(built, &unfinished).unwrap();
    std::fs::rename(&unfinished, &copy).unwrap();
    copy
}
