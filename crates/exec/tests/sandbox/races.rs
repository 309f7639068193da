//! Names that are exchanged while sandboxes are built: a rename must not change the permissions.
//!
//! A command in a sandbox can exchange a directory that it made for a symbolic link, as often as it
//! likes, while another command is started. The sandbox of that one must not follow.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use exec::sandbox::{Sandbox, SandboxRequirement};
use exec::{ExecErrorKind, run, shell};
use rustix::fs::{CWD, RenameFlags};

use crate::test_sandbox::{SECRET, TestSandbox, kinds};

/// Number of sandboxes built while names are exchanged.
const TRIES: usize = 100;
/// The most attempts, if the two do not meet because the machine is busy.
const TRIES_MAX: usize = 10_000;
/// Number of exchanges and of sandboxes that make it a race.
const EXCHANGES_MIN: u64 = 20;

/// Exchanges names for as long as it lives.
struct Swapper<'s> {
    stop: &'s AtomicBool,
}

impl Drop for Swapper<'_> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn swap_while(stop: &AtomicBool, swaps: &AtomicU64, pairs: &[(PathBuf, PathBuf)]) {
    while !stop.load(Ordering::Relaxed) {
        // Long enough for a sandbox to be built, and short enough to catch it in between.
        for pause_us in [300, 2000] {
            for (one, other) in pairs {
                rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
            std::thread::sleep(std::time::Duration::from_micros(pause_us));
        }
    }
}

/// Builds sandboxes while `pairs` are exchanged. Nothing outside changes, no secret is read, and
/// every refusal has a reason.
#[track_caller]
fn check(field: &TestSandbox, sandbox: &Sandbox, pairs: &[(PathBuf, PathBuf)], tries: usize) {
    let before = field.world();
    let (stop, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut started = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| swap_while(&stop, &swaps, pairs));
        let _swapper = Swapper { stop: &stop };
        for number in 0..TRIES_MAX {
            let is_race = started > 0 && swaps.load(Ordering::Relaxed) > EXCHANGES_MIN;
            if number >= tries && is_race {
                break;
            }
            let script = format!(
                "echo x > {out}/pwned-{number}; echo x > {out}/keys/pwned; cat {out}/keys/id .env src/*/id src/*/keys/id",
                out = field.outside.display()
            );
            match run(&shell(&script).sandbox(sandbox.clone())) {
                Ok(outcome) => {
                    started += 1;
                    let said = outcome.stdout_text();
                    assert!(!said.contains(SECRET), "try {number}: {outcome:?}");
                }
                Err(error) => {
                    assert_eq!(error.kind(), ExecErrorKind::InvalidSandbox, "{error}");
                }
            }
            let victims = field.outside.join(format!("pwned-{number}"));
            assert!(!victims.exists(), "try {number} got out");
        }
    });
    let mut after = field.world();
    if sandbox_is(sandbox, SandboxRequirement::Bubblewrap) {
        // `bwrap` makes an empty place to mount on before it can be stopped; its limits say so.
        after.retain(|path, (contents, ..)| before.contains_key(path) || !contents.is_empty());
    }
    assert_eq!(after, before);
    let swaps = swaps.load(Ordering::Relaxed);
    assert!(swaps > EXCHANGES_MIN, "only {swaps} exchanges");
    assert!(started > 0, "no sandbox was built at all");
}

fn sandbox_is(sandbox: &Sandbox, kind: SandboxRequirement) -> bool {
    *sandbox == sandbox.clone().requirement(kind)
}

/// A directory that was made by a command, with a file in it that has to be hidden, and a link to
/// exchange it for.
fn prepare(field: &TestSandbox, name: &str, leads_to: &Path) -> (PathBuf, PathBuf) {
    let dir = field.workspace.join("src").join(name);
    let link = dir.with_extension("link");
    std::fs::create_dir_all(dir.join("keys")).unwrap();
    for file in [".env", "package.json", "keys/id"] {
        std::fs::write(dir.join(file), "A=1\n").unwrap();
    }
    std::os::unix::fs::symlink(leads_to, &link).unwrap();
    (dir, link)
}

fn race(kind: SandboxRequirement, tries: usize) {
    let field = TestSandbox::new();
    let sandbox = field.with_secrets(field.sandbox(kind));
    std::fs::write(field.outside.join(".env"), "theirs\n").unwrap();
    std::fs::write(field.outside.join("package.json"), "theirs\n").unwrap();
    let pairs = [
        // By a relative name and by an absolute one, to a readable target and to a hidden one.
        prepare(&field, "one", Path::new("../../outside")),
        prepare(&field, "two", &field.outside),
        prepare(&field, "three", &field.outside.join("keys")),
    ];
    let sandbox = sandbox
        .hide("src/one/.env")
        .read_only("src/one/package.json")
        .hide("src/two/.env")
        .read_only("src/two/keys")
        .hide("src/three/.env")
        .read_only("src/three/id");
    check(&field, &sandbox, &pairs, tries);
    // A directory that may be written, by a relative and by an absolute name.
    let field = TestSandbox::new();
    let pairs = [prepare(&field, "one", &field.outside)];
    for writable in [PathBuf::from("src/one"), field.workspace.join("src/one")] {
        let sandbox = field.with_secrets(field.sandbox(kind)).writable(writable);
        check(&field, &sandbox, &pairs, tries / 2);
    }
}

/// `cargo xtask soak races` does it for as long as there is time.
#[test]
fn exchanged_names_lead_nowhere() {
    for kind in kinds() {
        race(kind, TRIES);
        println!("soak tries={}", 2 * TRIES);
    }
}
