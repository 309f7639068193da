//! The same for an ordinary user, where the tests run as root.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::test_sandbox::{KINDS, PLACE, STAGES, is_root, kinds};

/// A number that no user has.
const USER: u32 = 54_321;
/// Tests that need the user's toolchain, or that test root.
const LEFT_OUT: [&str; 3] = ["ordinary::", "programs::cargo", "an_administrator"];

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
    if !is_root() {
        return;
    }
    let dir = reachable_dir();
    let place = dir.path().join("fields");
    std::fs::create_dir(&place).unwrap();
    std::os::unix::fs::chown(&place, Some(USER), Some(USER)).unwrap();
    let copy = |from: &Path, name: &str| {
        let to = dir.path().join(name);
        std::fs::copy(from, &to).unwrap();
        to
    };
    let tests = copy(&std::env::current_exe().unwrap(), "tests");
    let stages = copy(Path::new(env!("CARGO_BIN_EXE_sandbox-stages")), "stages");
    let mut command = Command::new(tests);
    command
        .args(LEFT_OUT.iter().flat_map(|name| ["--skip", name]))
        .arg("--test-threads=1")
        .current_dir("/")
        .env(PLACE, &place)
        .env(KINDS, kinds().len().to_string())
        .env(STAGES, stages)
        .env("HOME", &place)
        .uid(USER)
        .gid(USER);
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
