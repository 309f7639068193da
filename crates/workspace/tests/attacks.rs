//! Attempts to get out of a root, to hang it, or to write in forbidden places.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests build their own fixtures"
)]

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;
use workspace::{ChangeSet, Durability, PathChange, PathKind, RelPath, Root, WorkspaceErrorKind};

/// A project `p` beside an outside directory `o` with a secret in it.
struct Scene {
    top: TempDir,
    root: Root,
}

impl Scene {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        std::fs::create_dir(top.path().join("o")).unwrap();
        std::fs::write(top.path().join("o/secret"), "secret").unwrap();
        let root = Root::create(&top.path().join("p")).unwrap();
        Self { top, root }
    }

    fn project(&self) -> &Path {
        self.root.path()
    }

    /// Applies one change and says how it was refused.
    fn refused(&self, target: &str, change: PathChange) -> (WorkspaceErrorKind, String) {
        let changes: ChangeSet = [(path(target), change)].into_iter().collect();
        let error = self.root.apply(&changes).expect_err(target);
        self.assert_outside_untouched();
        assert!(
            !self.project().join(".drawloom").exists(),
            "staging is cleared away"
        );
        (error.kind(), error.to_string())
    }

    fn assert_outside_untouched(&self) {
        let outside = self.top.path().join("o");
        let names: Vec<_> = std::fs::read_dir(&outside)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["secret"]);
        assert_eq!(std::fs::read(outside.join("secret")).unwrap(), b"secret");
    }
}

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn write() -> PathChange {
    PathChange::Write {
        bytes: b"new".to_vec(),
        executable: false,
    }
}

#[test]
fn a_symlink_out_is_refused_and_named() {
    let scene = Scene::new();
    let outside = scene.top.path().join("o");
    symlink(&outside, scene.project().join("abs")).unwrap();
    symlink("../o", scene.project().join("rel")).unwrap();
    symlink(outside.join("secret"), scene.project().join("file")).unwrap();
    symlink("../o/not-there", scene.project().join("dangling")).unwrap();
    std::fs::create_dir(scene.project().join("d")).unwrap();
    symlink("../rel/secret", scene.project().join("d/chain")).unwrap();
    for (target, link, leads_to) in [
        ("abs/x", "abs", outside.to_str().unwrap()),
        ("abs/secret", "abs", outside.to_str().unwrap()),
        ("rel/x", "rel", "../o"),
        ("rel/new/deep/x", "rel", "../o"),
        ("file", "file", "secret"),
        ("dangling", "dangling", "../o/not-there"),
        ("d/chain", "rel", "../o"),
    ] {
        let (kind, message) = scene.refused(target, write());
        assert_eq!(kind, WorkspaceErrorKind::Escape, "{message}");
        assert!(message.contains(&format!("`{link}`")), "{message}");
        assert!(message.contains(leads_to), "{message}");
    }
    for target in ["abs/secret", "rel/secret", "file", "d/chain"] {
        let error = scene.root.read(&path(target)).unwrap_err();
        assert_eq!(error.kind(), WorkspaceErrorKind::Escape, "{error}");
    }
    assert_eq!(
        scene.root.kind(&path("file")).unwrap(),
        Some(PathKind::Symlink)
    );
    assert!(scene.root.list(&path("abs")).is_err());
    assert!(scene.root.exists(&path("file")).is_err());
}

#[test]
fn deleting_a_symlink_out_removes_the_link_only() {
    let scene = Scene::new();
    symlink("../o", scene.project().join("rel")).unwrap();
    let delete: ChangeSet = [(path("rel"), PathChange::DeleteTree)]
        .into_iter()
        .collect();
    scene.root.apply(&delete).unwrap();
    scene.assert_outside_untouched();
    assert_eq!(scene.root.kind(&path("rel")).unwrap(), None);
    // A tree with such a link in it goes without following it.
    std::fs::create_dir(scene.project().join("tree")).unwrap();
    symlink("../../o", scene.project().join("tree/rel")).unwrap();
    let delete: ChangeSet = [(path("tree"), PathChange::DeleteTree)]
        .into_iter()
        .collect();
    scene.root.apply(&delete).unwrap();
    scene.assert_outside_untouched();
}

#[test]
fn a_symlink_inside_is_written_through() {
    let scene = Scene::new();
    let dir = scene.project();
    std::fs::create_dir(dir.join("real")).unwrap();
    std::fs::write(dir.join("real/f"), "old").unwrap();
    symlink("real", dir.join("alias")).unwrap();
    symlink("real/f", dir.join("link")).unwrap();
    symlink("real/later/g", dir.join("dangling")).unwrap();
    let mut changes = ChangeSet::new();
    changes.write(path("link"), "through the link");
    changes.write(path("alias/new"), "through the directory");
    changes.write(path("dangling"), "made");
    scene.root.apply(&changes).unwrap();
    let read = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap();
    assert_eq!(read("real/f"), "through the link");
    assert_eq!(read("real/new"), "through the directory");
    assert_eq!(read("real/later/g"), "made");
    assert!(dir.join("link").symlink_metadata().unwrap().is_symlink());
}

#[test]
fn one_file_under_two_names_is_a_conflict() {
    let scene = Scene::new();
    std::fs::create_dir(scene.project().join("real")).unwrap();
    symlink("real", scene.project().join("alias")).unwrap();
    let mut changes = ChangeSet::new();
    changes.write(path("alias/f"), "one");
    changes.write(path("real/f"), "two");
    let error = scene.root.apply(&changes).unwrap_err();
    assert_eq!(error.kind(), WorkspaceErrorKind::Conflict);
    assert!(
        error.to_string().contains("`alias/f` and `real/f`"),
        "{error}"
    );
}

#[test]
fn symlink_loops_end() {
    let scene = Scene::new();
    symlink("b", scene.project().join("a")).unwrap();
    symlink("a", scene.project().join("b")).unwrap();
    let (kind, message) = scene.refused("a/x", write());
    assert_eq!(kind, WorkspaceErrorKind::Limit, "{message}");
    assert!(message.contains("SYMLINK_HOPS_MAX"), "{message}");
    let error = scene.root.read(&path("a")).unwrap_err();
    assert_eq!(error.kind(), WorkspaceErrorKind::Limit, "{error}");
}

#[test]
fn a_symlink_to_git_is_no_way_in() {
    let scene = Scene::new();
    std::fs::create_dir_all(scene.project().join(".git/hooks")).unwrap();
    symlink(".git", scene.project().join("g")).unwrap();
    symlink(".git/config", scene.project().join("c")).unwrap();
    for target in [
        "g/hooks/pre-commit",
        "c",
        ".git/config",
        ".GIT/config",
        "sub/.Git/x",
    ] {
        let (kind, message) = scene.refused(target, write());
        assert_eq!(kind, WorkspaceErrorKind::Denied, "{message}");
    }
    let (kind, _) = scene.refused(".git", PathChange::DeleteTree);
    assert_eq!(kind, WorkspaceErrorKind::Denied);
    let (kind, _) = scene.refused("g/new", PathChange::CreateDir);
    assert_eq!(kind, WorkspaceErrorKind::Denied);
}

#[test]
fn our_own_directory_is_not_pulled_away() {
    let scene = Scene::new();
    for (target, change) in [
        (".drawloom/apply/journal", write()),
        (".drawloom/apply", PathChange::CreateDir),
        (".", PathChange::DeleteTree),
        (".drawloom", PathChange::DeleteTree),
        (".drawloom", write()),
    ] {
        let (kind, message) = scene.refused(target, change);
        let expected = [WorkspaceErrorKind::Denied, WorkspaceErrorKind::Conflict];
        assert!(expected.contains(&kind), "{target}: {message}");
    }
}

#[test]
fn fifos_sockets_and_devices_neither_hang_nor_get_replaced() {
    let scene = Scene::new();
    let dir = scene.project();
    let fifo = std::process::Command::new("mkfifo")
        .arg(dir.join("fifo"))
        .status();
    assert!(fifo.unwrap().success());
    let _socket = UnixListener::bind(dir.join("socket")).unwrap();
    for name in ["fifo", "socket"] {
        assert_eq!(scene.root.kind(&path(name)).unwrap(), Some(PathKind::Other));
        let (kind, message) = scene.refused(name, write());
        assert_eq!(kind, WorkspaceErrorKind::SpecialFile, "{message}");
    }
    let error = scene.root.read(&path("fifo")).unwrap_err();
    assert_eq!(error.kind(), WorkspaceErrorKind::SpecialFile, "{error}");
    assert!(scene.root.read(&path("socket")).is_err());
    let error = workspace::fs::read(&dir.join("fifo")).unwrap_err();
    assert_eq!(error.kind(), WorkspaceErrorKind::SpecialFile, "{error}");
    let dev = Root::open(Path::new("/dev")).unwrap();
    let error = dev.read(&path("zero")).unwrap_err();
    assert_eq!(error.kind(), WorkspaceErrorKind::SpecialFile, "{error}");
    // A walk names them and does not open them.
    let kinds: Vec<_> = scene.root.walk(&RelPath::root()).unwrap();
    assert!(kinds.iter().all(|entry| entry.kind == PathKind::Other));
}

#[test]
fn a_huge_file_is_refused_before_it_is_read() {
    let scene = Scene::new();
    let huge = std::fs::File::create(scene.project().join("huge")).unwrap();
    huge.set_len(10 * 1024 * 1024 * 1024).unwrap();
    let error = scene.root.read(&path("huge")).unwrap_err();
    assert_eq!(error.kind(), WorkspaceErrorKind::Limit);
    assert!(error.to_string().contains("READ_BYTES_MAX"), "{error}");
    let error = workspace::fs::read(&scene.project().join("huge")).unwrap_err();
    assert_eq!(error.kind(), WorkspaceErrorKind::Limit);
}

#[test]
fn a_hard_link_to_the_outside_is_replaced_and_not_written_through() {
    let scene = Scene::new();
    std::fs::hard_link(
        scene.top.path().join("o/secret"),
        scene.project().join("hard"),
    )
    .unwrap();
    let mut changes = ChangeSet::new();
    changes.write(path("hard"), "new");
    changes.write(path("other"), "new");
    scene.root.apply(&changes).unwrap();
    scene.assert_outside_untouched();
    assert_eq!(std::fs::read(scene.project().join("hard")).unwrap(), b"new");
}

const ROUNDS: usize = 300;

/// One thread swaps a directory for a symlink to the outside and back while
/// another applies: every apply ends inside or in an error.
#[test]
fn a_symlink_swapped_in_while_applying_leads_nowhere() {
    let scene = Scene::new();
    let dir = scene.project().to_owned();
    std::fs::create_dir(dir.join("d")).unwrap();
    symlink("../o", dir.join("evil")).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for (from, to) in [("d", "aside"), ("evil", "d"), ("d", "evil"), ("aside", "d")] {
                    std::fs::rename(dir.join(from), dir.join(to)).ok();
                }
            }
        });
        let mut changes = ChangeSet::new();
        for name in ["d/x", "d/y", "d/sub/z"] {
            changes.write(path(name), "new");
        }
        for _ in 0..ROUNDS {
            // Refused or applied inside: which of them is a matter of timing.
            let _ = scene.root.apply_surviving(&changes, Durability::Kill);
        }
        done.store(true, Ordering::Relaxed);
    });
    scene.assert_outside_untouched();
}
