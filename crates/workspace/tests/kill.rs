//! Real `kill -9`, again and again, at random moments.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests build their own fixtures and processes"
)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use workspace::{ChangeSet, Durability, PathChange, RelPath, Root};

const FOLDER: &str = "DRAWLOOM_TEST_KILL_DIR";
const TIME_MAX: Duration = Duration::from_secs(5);
const FILES: usize = 30;

/// Generation `n` of the project: every file says `n`; half of them exist only
/// in even generations, and a whole directory only in odd ones.
fn generation(n: usize) -> ChangeSet {
    let mut changes = ChangeSet::new();
    let path = |text: String| RelPath::parse(&text).unwrap();
    for file in 0..FILES {
        let at = path(format!("d{}/sub/f{file}", file % 3));
        if file % 2 == 0 || n.is_multiple_of(2) {
            changes.write(at, n.to_string());
        } else {
            changes.put(at, PathChange::Delete);
        }
    }
    if n.is_multiple_of(2) {
        changes.put(path("odd".to_owned()), PathChange::DeleteTree);
    } else {
        changes.write(path("odd/x/y".to_owned()), n.to_string());
        changes.write(path("odd/z".to_owned()), n.to_string());
    }
    changes
}

/// Returns the generation of the project; panics if it is between two.
fn generation_of(root: &Root) -> Option<usize> {
    let files = root.walk(&RelPath::root()).unwrap();
    let mut contents = BTreeSet::new();
    for file in &files {
        contents.insert(root.read_text(&file.path).unwrap().unwrap());
    }
    assert!(contents.len() <= 1, "between generations: {contents:?}");
    let n: usize = contents.first()?.parse().unwrap();
    let expected = if n.is_multiple_of(2) {
        FILES
    } else {
        FILES / 2 + 2
    };
    assert_eq!(files.len(), expected, "generation {n}: {files:#?}");
    let mut folders = root.list(&RelPath::root()).unwrap();
    // After a kill right after making it, no record is left that this program made it.
    folders.retain(|entry| entry.path.as_str() != ".drawloom");
    let expected = if n.is_multiple_of(2) { 3 } else { 4 };
    assert_eq!(
        folders.len(),
        expected,
        "no directory is left over: {folders:?}"
    );
    Some(n)
}

/// The process that gets killed.
#[test]
#[ignore = "child: killed_at_any_moment_the_project_is_whole starts it"]
fn apply_for_ever() {
    let dir = std::env::var(FOLDER).unwrap();
    let root = Root::open(Path::new(&dir)).unwrap();
    root.recover().unwrap();
    // One file only: another process may be between two generations right now.
    let first = RelPath::parse("d0/sub/f0").unwrap();
    let found = root.read_text(&first).unwrap();
    let mut n: usize = found.map_or(0, |text| text.parse::<usize>().unwrap() + 1);
    loop {
        root.apply_surviving(&generation(n), Durability::Kill)
            .unwrap();
        n += 1;
    }
}

fn start(dir: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "apply_for_ever", "--ignored", "--nocapture"])
        .env(FOLDER, dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn killed_at_any_moment_the_project_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::open(dir.path()).unwrap();
    let started = Instant::now();
    let (mut kills, mut recoveries, mut random) = (0, 0, 12_345_u64);
    while started.elapsed() < TIME_MAX {
        let mut child = start(dir.path());
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        std::thread::sleep(Duration::from_micros(8_000 + (random >> 33) % 20_000));
        child.kill().unwrap();
        child.wait().unwrap();
        recoveries += usize::from(root.recover().unwrap().is_some());
        generation_of(&root);
        assert!(!dir.path().join(".drawloom/apply").exists());
        kills += 1;
    }
    assert!(
        kills > 20 && recoveries > 3,
        "{kills} kills, {recoveries} recoveries"
    );
}

#[test]
fn two_processes_and_a_killer_leave_the_project_whole() {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::open(dir.path()).unwrap();
    for _ in 0..8 {
        let mut children = [start(dir.path()), start(dir.path())];
        std::thread::sleep(Duration::from_millis(60));
        for child in &mut children {
            // Neither may have stopped because the other was at work.
            assert!(
                child.try_wait().unwrap().is_none(),
                "a process ended by itself"
            );
            child.kill().unwrap();
        }
        for child in &mut children {
            child.wait().unwrap();
        }
        root.recover().unwrap();
        generation_of(&root);
    }
}
