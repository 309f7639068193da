//! Every point of an apply is interrupted once: by a crash, by a bad disk, and
//! by a crash while recovering. The project must be as before or as after.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::PathChange;

/// The fault that a test's probe injects from its point on.
#[derive(Clone, Copy, PartialEq)]
enum Trouble {
    None,
    Crash,
    FailOnce,
    FailForever,
}

struct At {
    point: usize,
    trouble: Trouble,
    reached: Cell<usize>,
}

impl At {
    fn new(point: usize, trouble: Trouble) -> Self {
        Self {
            point,
            trouble,
            reached: Cell::new(0),
        }
    }
}

impl FailPoint for At {
    fn reached(&self) -> std::io::Result<()> {
        let point = self.reached.get();
        self.reached.set(point + 1);
        match self.trouble {
            // Unwinding without the panic hook: no message, no clean-up, handles closed.
            Trouble::Crash if point == self.point => resume_unwind(Box::new("crash")),
            Trouble::FailOnce if point == self.point => Err(std::io::Error::other("bad disk")),
            Trouble::FailForever if point >= self.point => Err(std::io::Error::other("bad disk")),
            _ => Ok(()),
        }
    }
}

type Tree = BTreeMap<String, (u32, Vec<u8>)>;

fn tree(dir: &Path) -> Tree {
    fn visit(top: &Path, dir: &Path, tree: &mut Tree) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let content = if metadata.is_dir() {
                visit(top, &path, tree);
                Vec::new()
            } else if metadata.is_symlink() {
                path.read_link()
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes()
            } else {
                std::fs::read(&path).unwrap()
            };
            let name = path.strip_prefix(top).unwrap().to_str().unwrap().to_owned();
            tree.insert(name, (metadata.permissions().mode(), content));
        }
    }
    let mut found = Tree::new();
    visit(dir, dir, &mut found);
    found
}

fn project() -> TempDir {
    let project = tempfile::tempdir().unwrap();
    let dir = project.path();
    for (path, content) in [
        ("a.txt", "old a"),
        ("dir/b.txt", "old b"),
        ("dir/deep/c.txt", "old c"),
        ("gone.txt", "old gone"),
        ("old/x.txt", "old x"),
        ("old/y/z.txt", "old z"),
        ("run.sh", "old run"),
    ] {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    std::fs::set_permissions(dir.join("run.sh"), PermissionsExt::from_mode(0o750)).unwrap();
    symlink("dir/b.txt", dir.join("link")).unwrap();
    project
}

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn changes() -> ChangeSet {
    let mut changes = ChangeSet::new();
    for file in [
        "a.txt",
        "link",
        "new/d/e.txt",
        "new/f.txt",
        "old/fresh.txt",
        "run.sh",
    ] {
        changes.write(path(file), format!("new {file}"));
    }
    changes.put(path("gone.txt"), PathChange::Delete);
    changes.put(path("old"), PathChange::DeleteTree);
    changes.put(path("empty/dir"), PathChange::CreateDir);
    changes
}

fn crashes<T>(work: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(work)).is_err()
}

fn apply_at(dir: &Path, probe: &At) -> Result<ApplyReport, Error> {
    let root = Root::open(dir).unwrap();
    apply(&root, &changes(), &NoGuard, Durability::Kill, probe)
}

/// The tree before, the tree after, and how many points an apply has.
fn before_after_points() -> (Tree, Tree, usize) {
    let project = project();
    let before = tree(project.path());
    let counter = At::new(0, Trouble::None);
    apply_at(project.path(), &counter).unwrap();
    (before, tree(project.path()), counter.reached.get())
}

#[test]
fn the_fixture_makes_the_listed_changes() {
    let (before, after, points) = before_after_points();
    assert!(points > 20, "{points}");
    assert!(before.contains_key("old/y/z.txt") && !after.contains_key("old/y"));
    assert_eq!(after["dir/b.txt"].1, b"new link");
    assert_eq!(after["run.sh"].0 & 0o777, 0o750);
    assert_eq!(after["link"], before["link"]);
    assert!(after.contains_key("empty/dir") && !after.contains_key("gone.txt"));
    assert!(!after.keys().any(|name| name.starts_with(".drawloom")));
}

#[test]
fn after_a_crash_at_any_point_recovery_finishes_or_undoes() {
    let (before, after, points) = before_after_points();
    let mut ends = [0, 0];
    for point in 0..points {
        let project = project();
        assert!(crashes(|| apply_at(
            project.path(),
            &At::new(point, Trouble::Crash)
        )));
        let recovered = Root::open(project.path()).unwrap().recover().unwrap();
        let now = tree(project.path());
        let finished = now == after;
        assert!(finished || now == before, "point {point}: {now:#?}");
        if let Some(recovered) = recovered {
            assert!(recovered.kept.is_empty(), "point {point}");
            // After the journal is closed there is nothing left to recover.
            let said = recovered.outcome == RecoverOutcome::Finished;
            assert!(!said || finished, "point {point}");
        }
        ends[usize::from(finished)] += 1;
    }
    assert!(ends[0] > 5 && ends[1] > 5, "{ends:?}");
}

#[test]
fn a_crash_while_recovering_is_recovered_too() {
    let (before, after, points) = before_after_points();
    for point in 0..points {
        for again in 0.. {
            let project = project();
            assert!(crashes(|| apply_at(
                project.path(),
                &At::new(point, Trouble::Crash)
            )));
            let root = Root::open(project.path()).unwrap();
            let probe = At::new(again, Trouble::Crash);
            let crashed = crashes(|| recover(&root, &probe).unwrap());
            root.recover().unwrap();
            let now = tree(project.path());
            assert!(
                now == after || now == before,
                "points {point}, {again}: {now:#?}"
            );
            if !crashed {
                break;
            }
        }
    }
}

#[test]
fn an_error_at_any_point_puts_everything_back() {
    let (before, after, points) = before_after_points();
    for point in 0..points {
        let project = project();
        let result = apply_at(project.path(), &At::new(point, Trouble::FailOnce));
        let now = tree(project.path());
        match result {
            Err(error) => {
                assert!(error.to_string().contains("bad disk"), "{error}");
                assert_eq!(now, before, "point {point}");
            }
            // A failure during the cleanup does not undo the work.
            Ok(_) => {
                Root::open(project.path()).unwrap().recover().unwrap();
                assert_eq!(tree(project.path()), after, "point {point}");
            }
        }
    }
}

#[test]
fn a_disk_that_stays_bad_keeps_the_files_that_recovery_needs() {
    let (before, after, points) = before_after_points();
    for point in 0..points {
        let project = project();
        let result = apply_at(project.path(), &At::new(point, Trouble::FailForever));
        Root::open(project.path()).unwrap().recover().unwrap();
        let now = tree(project.path());
        let expected = if result.is_ok() { &after } else { &before };
        assert_eq!(now, *expected, "point {point}");
    }
}

#[test]
fn a_crash_while_undoing_goes_on_undoing() {
    let (before, after, points) = before_after_points();
    for point in 0..points {
        for later in (point + 1..points + 20).step_by(3) {
            struct FailThenCrash(At, At);
            impl FailPoint for FailThenCrash {
                fn reached(&self) -> std::io::Result<()> {
                    self.1.reached()?;
                    self.0.reached()
                }
            }
            let project = project();
            let root = Root::open(project.path()).unwrap();
            let probe = FailThenCrash(
                At::new(point, Trouble::FailOnce),
                At::new(later, Trouble::Crash),
            );
            let crashed = catch_unwind(AssertUnwindSafe(|| {
                apply(&root, &changes(), &NoGuard, Durability::Kill, &probe)
            }));
            match crashed {
                Ok(_) => break,
                Err(_) => {
                    root.recover().unwrap();
                    let now = tree(project.path());
                    // A failure during the cleanup comes after the end, so the state is "after".
                    let whole = now == before || now == after;
                    assert!(whole, "points {point}, {later}: {now:#?}");
                }
            }
        }
    }
}

#[test]
fn changes_made_after_the_crash_are_kept() {
    let (_, after, points) = before_after_points();
    let mut kept_seen = 0;
    for point in 0..points {
        let project = project();
        assert!(crashes(|| apply_at(
            project.path(),
            &At::new(point, Trouble::Crash)
        )));
        std::fs::write(project.path().join("a.txt"), "edited by hand").unwrap();
        let recovered = Root::open(project.path()).unwrap().recover().unwrap();
        let now = tree(project.path());
        // Either the edit came after the replacement or it was kept; it is never lost.
        assert_eq!(now["a.txt"].1, b"edited by hand", "point {point}");
        if let Some(recovered) = recovered
            && !recovered.kept.is_empty()
        {
            assert_eq!(recovered.kept, [path("a.txt")]);
            assert_eq!(now["run.sh"], after["run.sh"]);
            kept_seen += 1;
        }
    }
    assert!(kept_seen > 0);
}

#[test]
fn the_next_apply_recovers_before_it_starts() {
    let (_, _, points) = before_after_points();
    for point in 0..points {
        let project = project();
        assert!(crashes(|| apply_at(
            project.path(),
            &At::new(point, Trouble::Crash)
        )));
        let root = Root::open(project.path()).unwrap();
        let mut next = ChangeSet::new();
        next.write(path("a.txt"), "third");
        root.apply(&next).unwrap();
        let now = tree(project.path());
        assert_eq!(now["a.txt"].1, b"third");
        assert_eq!(now.contains_key("new/f.txt"), !now.contains_key("gone.txt"));
        assert!(!now.keys().any(|name| name.starts_with(".drawloom")));
    }
}

#[test]
fn an_unreadable_journal_is_an_error_with_advice() {
    let project = project();
    let staging = project.path().join(".drawloom/apply");
    std::fs::create_dir_all(&staging).unwrap();
    for (content, expected) in [("", "EOF"), (r#"{"format":9,"steps":[]}"#, "format 9")] {
        std::fs::write(staging.join("journal"), content).unwrap();
        let error = Root::open(project.path()).unwrap().recover().unwrap_err();
        assert_eq!(error.kind(), WorkspaceErrorKind::Recovery);
        let message = error.to_string();
        assert!(message.contains(expected), "{message}");
        assert!(message.contains("remove `.drawloom/apply`"), "{message}");
    }
}

/// A journal is a file in the project, so an attacker may have forged it.
#[test]
fn a_forged_journal_cannot_write_outside() {
    let project = project();
    let outside = tempfile::tempdir().unwrap();
    let staging = project.path().join(".drawloom/apply");
    std::fs::create_dir_all(&staging).unwrap();
    symlink(outside.path(), project.path().join("out")).unwrap();
    std::fs::write(staging.join("0.new"), "evil").unwrap();
    std::fs::create_dir_all(project.path().join(".git/hooks")).unwrap();
    for target in ["../evil", "/tmp/evil", "out/evil", ".git/hooks/evil"] {
        let steps = format!(r#"[{{"Place":{{"path":"{target}","slot":0,"before":null}}}}]"#);
        std::fs::create_dir_all(&staging).unwrap();
        std::fs::write(staging.join("0.new"), "evil").unwrap();
        std::fs::write(
            staging.join("journal"),
            format!(r#"{{"format":1,"steps":{steps}}}"#),
        )
        .unwrap();
        let root = Root::open(project.path()).unwrap();
        // Refused or undone, but never followed.
        drop(root.recover());
        assert!(std::fs::read_dir(outside.path()).unwrap().next().is_none());
        assert!(!project.path().join(".git/hooks/evil").exists());
    }
}
