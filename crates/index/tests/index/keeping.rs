//! The cache: used when it fits, ignored when it does not, and never a reason for another answer.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use index::{IndexCache, SourceIndex};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::project::{Files, edges, folder, lines, open, write};

const FILE: &str = ".drawloom/cache/index";
const FOLDER: &str = "DRAWLOOM_TEST_INDEX_DIR";

const PROJECT: Files<'_> = &[
    ("a.ts", "import './b'; export const a = 1;\n"),
    ("b.ts", "export * from './c';\n"),
    ("c.ts", "export const c = 1;\n"),
    ("README.md", "# Title\n"),
];

/// Late enough for every file of a test to have settled: a tick of the clock is waited for in truth,
/// the rest of the time is made up.
fn later() -> IndexCache {
    std::thread::sleep(Duration::from_millis(20));
    IndexCache::at(SystemTime::now() + Duration::from_secs(60))
}

fn said(index: &SourceIndex) -> (Vec<String>, Vec<String>) {
    (lines(index), edges(index))
}

/// Checks that the index with this cache equals the one without.
#[track_caller]
fn check(dir: &Path, cache: &IndexCache) {
    let space = open(dir);
    let cached = SourceIndex::build(&space, cache).unwrap();
    let fresh = SourceIndex::build(&space, &IndexCache::none()).unwrap();
    assert_eq!(said(&cached), said(&fresh));
    assert_eq!(cached.files(), fresh.files());
}

fn kept() -> TempDir {
    let dir = folder(PROJECT);
    check(dir.path(), &later());
    assert!(dir.path().join(FILE).exists());
    dir
}

#[test]
fn a_cache_is_kept_out_of_git_and_not_written_again_when_nothing_changed() {
    let dir = kept();
    let ignored = std::fs::read_to_string(dir.path().join(".drawloom/cache/.gitignore")).unwrap();
    assert_eq!(ignored, "*\n");
    let modified = |dir: &Path| {
        std::fs::metadata(dir.join(FILE))
            .unwrap()
            .modified()
            .unwrap()
    };
    let before = modified(dir.path());
    check(dir.path(), &later());
    assert_eq!(modified(dir.path()), before);
}

#[test]
fn no_cache_writes_nothing() {
    let dir = folder(PROJECT);
    check(dir.path(), &IndexCache::none());
    assert!(!dir.path().join(".drawloom").exists());
}

#[test]
fn a_second_index_is_equal_and_leaves_the_cache_alone() {
    let dir = folder(PROJECT);
    let cache = later();
    let before = SourceIndex::build(&open(dir.path()), &cache).unwrap();
    let file = dir.path().join(FILE);
    let kept = std::fs::read(&file).unwrap();
    assert!(kept.starts_with(b"drawloom index "));
    let again = SourceIndex::build(&open(dir.path()), &cache).unwrap();
    assert_eq!(said(&before), said(&again));
    assert_eq!(std::fs::read(&file).unwrap(), kept);
}

#[test]
fn changes_are_seen() {
    let dir = kept();
    write(dir.path(), &[("c.ts", "export const d = 1;\n")]);
    check(dir.path(), &later());
    write(dir.path(), &[("new/e.ts", "import '../a';\n")]);
    check(dir.path(), &later());
    std::fs::remove_file(dir.path().join("c.ts")).unwrap();
    check(dir.path(), &later());
    std::fs::rename(dir.path().join("a.ts"), dir.path().join("z.ts")).unwrap();
    check(dir.path(), &later());
}

#[test]
fn a_change_within_one_tick_of_the_clock_is_seen() {
    let dir = folder(PROJECT);
    // The cache is made at the very time of the files: their times tell nothing yet.
    check(dir.path(), &IndexCache::at(SystemTime::now()));
    write(dir.path(), &[("c.ts", "export const x = 1;\n")]);
    check(dir.path(), &IndexCache::at(SystemTime::now()));
}

#[test]
fn a_change_that_hides_its_time_is_seen() {
    let dir = kept();
    let file = dir.path().join("c.ts");
    let modified = std::fs::metadata(&file).unwrap().modified().unwrap();
    std::fs::write(&file, "export const x = 1;\n").unwrap();
    let opened = std::fs::File::options().write(true).open(&file).unwrap();
    opened.set_modified(modified).unwrap();
    check(dir.path(), &later());
}

#[test]
fn a_damaged_cache_is_ignored() {
    let dir = kept();
    let file = dir.path().join(FILE);
    let whole = std::fs::read(&file).unwrap();
    let mut damaged: Vec<Vec<u8>> = vec![Vec::new(), b"{}".to_vec(), vec![0xff; 4096]];
    damaged.extend((0..whole.len()).step_by(7).map(|end| whole[..end].to_vec()));
    for place in (0..whole.len()).step_by(5) {
        let mut flipped = whole.clone();
        flipped[place] ^= 0x55;
        damaged.push(flipped);
    }
    let text = String::from_utf8_lossy(&whole[..16]).into_owned();
    damaged.push([text.replace("index ", "index 9").as_bytes(), &whole[16..]].concat());
    for bytes in damaged {
        std::fs::write(&file, bytes).unwrap();
        check(dir.path(), &later());
    }
}

#[test]
fn a_cache_that_cannot_be_written_is_no_error() {
    let outside = tempfile::tempdir().unwrap();
    let dir = folder(PROJECT);
    symlink(outside.path(), dir.path().join(".drawloom")).unwrap();
    check(dir.path(), &later());
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);

    let dir = folder(PROJECT);
    write(dir.path(), &[(".drawloom", "a file")]);
    check(dir.path(), &later());

    let dir = folder(PROJECT);
    std::fs::create_dir_all(dir.path().join(FILE)).unwrap();
    check(dir.path(), &later());
}

/// The process that gets killed.
#[test]
#[ignore = "child: a_killed_index_leaves_a_cache_that_fits_or_none starts it"]
fn index_for_ever() {
    let dir = std::env::var(FOLDER).unwrap();
    let dir = Path::new(&dir);
    for n in 0_u64.. {
        let text = format!("export const c{n} = {n};\n");
        std::fs::write(dir.join("c.ts"), text).unwrap();
        SourceIndex::build(&open(dir), &later()).unwrap();
    }
}

#[test]
fn a_killed_index_leaves_a_cache_that_fits_or_none() {
    let dir = folder(PROJECT);
    for round in 0..12 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "keeping::index_for_ever",
                "--exact",
                "--ignored",
                "--nocapture",
            ])
            .env(FOLDER, dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(60 + 17 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        check(dir.path(), &later());
    }
}

/// A text of one file: exports, and imports of some of the others.
fn text() -> impl Strategy<Value = String> {
    let statement = prop_oneof![
        (0..6_u8).prop_map(|n| format!("import './f{n}';\n")),
        (0..6_u8).prop_map(|n| format!("export * from './f{n}.js';\n")),
        (0..6_u8).prop_map(|n| format!("export const name{n} = 1;\n")),
        (0..6_u8).prop_map(|n| format!("export {{ a as b{n} }} from './f{n}';\n")),
        Just("<<<<<<<\n".to_owned()),
        Just("export default {\n".to_owned()),
    ];
    proptest::collection::vec(statement, 0..6).prop_map(|lines| lines.concat())
}

/// Steps of a project's history: files written (`Some`) and removed (`None`).
fn steps() -> impl Strategy<Value = Vec<Vec<(u8, Option<String>)>>> {
    let step = proptest::collection::vec((0..6_u8, proptest::option::weighted(0.8, text())), 1..5);
    proptest::collection::vec(step, 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn with_and_without_a_cache_the_index_is_the_same(steps in steps()) {
        let dir = tempfile::tempdir().unwrap();
        for step in steps {
            for (file, text) in step {
                let file = dir.path().join(format!("f{file}.ts"));
                match text {
                    Some(text) => std::fs::write(file, text).unwrap(),
                    None => { std::fs::remove_file(file).ok(); }
                }
            }
            check(dir.path(), &IndexCache::at(SystemTime::now()));
            check(dir.path(), &later());
        }
    }
}
