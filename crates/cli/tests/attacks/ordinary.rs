//! The attacks on encoders and lists, again as an ordinary user where the tests run as root.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::project::PROGRAM;
use crate::victim::{ORDINARY, is_root, program};

/// The findings whose tests do not make their own users.
const FINDINGS: [&str; 6] = [
    "finding_02",
    "finding_05",
    "finding_07",
    "finding_08",
    "finding_12",
    "finding_16",
];

#[test]
fn everything_holds_for_an_ordinary_user() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).unwrap();
    let tests = folder.path().join("tests");
    std::fs::copy(std::env::current_exe().unwrap(), &tests).unwrap();
    let scratch = folder.path().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    chown(&scratch, Some(ORDINARY), Some(ORDINARY)).unwrap();
    let output = Command::new(tests)
        .args(FINDINGS)
        .current_dir(&scratch)
        .env("HOME", &scratch)
        .env("TMPDIR", &scratch)
        .env(PROGRAM, program(true))
        .uid(ORDINARY)
        .gid(ORDINARY)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!said.contains(" 0 passed"), "nothing was tried: {said}");
}
