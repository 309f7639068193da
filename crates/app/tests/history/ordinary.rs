//! The same for an ordinary user, where the tests run as root.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{KINDS, PLACE, STAGES, kinds, stages};

/// A number that no user has.
const USER: u32 = 54_321;

/// A directory that every user can reach and that is not private in a sandbox.
fn reachable_dir() -> tempfile::TempDir {
    let is_open = |path: &Path| {
        let mut above = path.ancestors();
        above.all(|dir| std::fs::metadata(dir).is_ok_and(|about| about.mode() & 0o001 != 0))
    };
    let places = [env!("CARGO_TARGET_TMPDIR"), "/srv", "/opt"].map(PathBuf::from);
    let place = places.iter().find(|place| is_open(place)).unwrap();
    let dir = tempfile::tempdir_in(place).unwrap();
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    dir
}

#[test]
fn everything_holds_for_an_ordinary_user() {
    let folder = tempfile::tempdir().unwrap();
    let is_root = std::fs::metadata(folder.path()).unwrap().uid() == 0;
    if !is_root {
        return;
    }
    let dir = reachable_dir();
    let place = dir.path().join("fields");
    std::fs::create_dir(&place).unwrap();
    chown(&place, Some(USER), Some(USER)).unwrap();
    let copy = |from: &Path, name: &str| {
        let to = dir.path().join(name);
        std::fs::copy(from, &to).unwrap();
        to
    };
    let held = kinds().len();
    let tests = copy(&std::env::current_exe().unwrap(), "tests");
    let mut command = Command::new(tests);
    if stages().exists() {
        command.env(STAGES, copy(&stages(), "stages"));
    }
    command
        .args(["--skip", "ordinary::", "--test-threads=2"])
        .current_dir("/")
        .env(PLACE, &place)
        .env(KINDS, held.to_string())
        .env("HOME", &place)
        .uid(USER)
        .gid(USER);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{why}");
    assert!(!said.contains(" 0 passed"), "nothing was tried: {said}");
}
