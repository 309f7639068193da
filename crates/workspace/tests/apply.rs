//! Applying change sets: changes, refusals, and that a refusal changes nothing.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests build their own fixtures"
)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;
use workspace::{
    CHANGE_FILES_MAX, ChangeSet, Durability, PathChange, PathKind, RelPath, Root,
    WorkspaceErrorKind,
};

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn project(files: &[(&str, &str)]) -> (TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let file = dir.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
    }
    let root = Root::open(dir.path()).unwrap();
    (dir, root)
}

/// Every file with its content, and every empty directory.
fn listing(dir: &Path) -> String {
    let mut lines = Vec::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(at) = pending.pop() {
        let mut empty = true;
        for entry in std::fs::read_dir(&at).unwrap() {
            let entry = entry.unwrap().path();
            empty = false;
            if entry.is_dir() {
                pending.push(entry);
            } else {
                let name = entry.strip_prefix(dir).unwrap().display().to_string();
                lines.push(format!(
                    "{name}={}",
                    std::fs::read_to_string(&entry).unwrap()
                ));
            }
        }
        if empty && at != dir {
            lines.push(format!("{}/", at.strip_prefix(dir).unwrap().display()));
        }
    }
    lines.sort();
    lines.join(" ")
}

/// `+path` writes its own name, `-path` deletes, `--path` deletes a tree, `/path` makes a directory.
fn changes(words: &str) -> ChangeSet {
    let mut changes = ChangeSet::new();
    for word in words.split_whitespace() {
        if let Some(name) = word.strip_prefix('+') {
            changes.write(path(name), "new");
        } else if let Some(name) = word.strip_prefix("--") {
            changes.put(path(name), PathChange::DeleteTree);
        } else if let Some(name) = word.strip_prefix('-') {
            changes.put(path(name), PathChange::Delete);
        } else if let Some(name) = word.strip_prefix('/') {
            changes.put(path(name), PathChange::CreateDir);
        }
    }
    changes
}

#[track_caller]
fn check(words: &str, expected: Result<&str, (WorkspaceErrorKind, &str)>) {
    let (dir, root) = project(&[("a", "old"), ("d/b", "old"), ("d/e/c", "old")]);
    let before = listing(dir.path());
    match (root.apply(&changes(words)), expected) {
        (Ok(_), Ok(expected)) => assert_eq!(listing(dir.path()), expected, "{words}"),
        (Err(error), Err((kind, part))) => {
            assert_eq!(error.kind(), kind, "{words}: {error}");
            assert!(error.to_string().contains(part), "{words}: {error}");
            assert_eq!(listing(dir.path()), before, "{words}");
        }
        (found, expected) => panic!("{words}: {found:?}, expected {expected:?}"),
    }
}

#[test]
fn changes_end_as_they_say() {
    check("", Ok("a=old d/b=old d/e/c=old"));
    check("+a", Ok("a=new d/b=old d/e/c=old"));
    check("+z", Ok("a=old d/b=old d/e/c=old z=new"));
    check("+x/y/z", Ok("a=old d/b=old d/e/c=old x/y/z=new"));
    check("-a", Ok("d/b=old d/e/c=old"));
    check("-nothing --nothing/here", Ok("a=old d/b=old d/e/c=old"));
    check("--d", Ok("a=old"));
    check("/x", Ok("a=old d/b=old d/e/c=old x/"));
    check("/x/y /d", Ok("a=old d/b=old d/e/c=old x/y/"));
    check("+a +d/b +x/y", Ok("a=new d/b=new d/e/c=old x/y=new"));
    // A tree replaced by another, a file by a directory, a directory by a file.
    check("--d +d/n", Ok("a=old d/n=new"));
    check("--d -d/b --d/e +d/e/n", Ok("a=old d/e/n=new"));
    check("-a +a/b", Ok("a/b=new d/b=old d/e/c=old"));
    check("--d/e +z", Ok("a=old d/b=old z=new"));
    check(
        "+.drawloom/recipes/r.yml",
        Ok(".drawloom/recipes/r.yml=new a=old d/b=old d/e/c=old"),
    );
}

#[test]
fn conflicts_are_found_before_anything_is_written() {
    use WorkspaceErrorKind::{Conflict, Denied};
    check("+d", Err((Conflict, "`d` is a directory")));
    check("+z +d", Err((Conflict, "`d` is a directory")));
    check("+a/b", Err((Conflict, "needs `a` to be a directory")));
    check("+a/b/c/d", Err((Conflict, "needs `a` to be a directory")));
    check("/a", Err((Conflict, "`a` is a file")));
    check("-d", Err((Conflict, "`d` is a directory")));
    check("+x +x/y", Err((Conflict, "file and a directory at once")));
    check("+x /x", Ok("a=old d/b=old d/e/c=old x/"));
    check("+x /x/y", Err((Conflict, "file and a directory at once")));
    check("+z +.git/config", Err((Denied, "`.git/config`")));
}

#[test]
fn the_report_lists_the_changes() {
    let (_dir, root) = project(&[("a", "old"), ("gone", "old"), ("tree/x", "old")]);
    let applied = root
        .apply(&changes("+a +n/b -gone --tree -absent /e"))
        .unwrap();
    assert_eq!(applied.replaced, [path("a")]);
    assert_eq!(applied.created, [path("n/b")]);
    assert_eq!(applied.deleted, [path("gone"), path("tree")]);
    assert_eq!(applied.directories, [path("e"), path("n")]);
    assert_eq!(root.recover().unwrap(), None);
}

#[test]
fn an_existing_drawloom_directory_stays() {
    let (dir, root) = project(&[]);
    std::fs::create_dir(dir.path().join(".drawloom")).unwrap();
    root.apply(&changes("+a +b/c")).unwrap();
    assert_eq!(listing(dir.path()), ".drawloom/ a=new b/c=new");
}

#[test]
fn permissions_are_kept_and_execution_is_only_added() {
    let (dir, root) = project(&[("kept", "old"), ("run", "old"), ("plain", "old")]);
    let mode = |name: &str| {
        let found = std::fs::metadata(dir.path().join(name)).unwrap();
        found.permissions().mode() & 0o777
    };
    for (name, wanted) in [("kept", 0o750), ("run", 0o640), ("plain", 0o600)] {
        let permissions = std::fs::Permissions::from_mode(wanted);
        std::fs::set_permissions(dir.path().join(name), permissions).unwrap();
    }
    let executable = |executable| PathChange::Write {
        bytes: b"new".to_vec(),
        executable,
    };
    let set: ChangeSet = [
        (path("kept"), executable(false)),
        (path("run"), executable(true)),
        (path("plain"), executable(false)),
        (path("fresh.sh"), executable(true)),
        (path("fresh.txt"), executable(false)),
    ]
    .into_iter()
    .collect();
    root.apply(&set).unwrap();
    assert_eq!(mode("kept"), 0o750);
    assert_eq!(mode("run"), 0o750);
    assert_eq!(mode("plain"), 0o600);
    assert_eq!(mode("fresh.sh") & 0o100, 0o100);
    assert_eq!(mode("fresh.txt") & 0o111, 0);
    assert!(root.is_executable(&path("fresh.sh")).unwrap());
}

#[test]
fn a_read_only_file_is_refused() {
    let (dir, root) = project(&[("locked", "old"), ("free", "old")]);
    let permissions = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(dir.path().join("locked"), permissions).unwrap();
    let error = root.apply(&changes("+free +locked")).unwrap_err();
    assert_eq!(error.kind(), WorkspaceErrorKind::ReadOnly);
    assert!(error.to_string().contains("chmod u+w"), "{error}");
    assert_eq!(listing(dir.path()), "free=old locked=old");
}

#[test]
fn too_many_changes_are_refused_by_name() {
    let (dir, root) = project(&[]);
    let set: ChangeSet = (0..=CHANGE_FILES_MAX)
        .map(|n| (path(&format!("f{n}")), PathChange::CreateDir))
        .collect();
    let error = root.apply(&set).unwrap_err();
    assert_eq!(error.kind(), WorkspaceErrorKind::Limit);
    assert!(error.to_string().contains("CHANGE_FILES_MAX"), "{error}");
    assert_eq!(listing(dir.path()), "");
}

#[test]
fn a_pending_change_is_read_before_the_disk() {
    let (_dir, root) = project(&[("a", "disk"), ("d/b", "disk"), ("d/c", "disk")]);
    let mut set = changes("-a --d /made");
    set.write(path("d/c"), "pending");
    set.write(path("new/file"), "pending");
    let read = |name: &str| set.read_text(&root, &path(name)).unwrap();
    assert_eq!(read("a"), None);
    assert_eq!(read("d/b"), None);
    assert_eq!(read("d/c").as_deref(), Some("pending"));
    assert_eq!(read("new/file").as_deref(), Some("pending"));
    assert_eq!(read("new/other"), None);
    assert_eq!(
        ChangeSet::new()
            .read_text(&root, &path("a"))
            .unwrap()
            .as_deref(),
        Some("disk")
    );
    let kind = |name: &str| set.kind(&root, &path(name)).unwrap();
    assert_eq!(kind("a"), None);
    assert_eq!(kind("d"), Some(PathKind::Dir));
    assert_eq!(kind("made"), Some(PathKind::Dir));
    assert_eq!(kind("new"), Some(PathKind::Dir));
    assert_eq!(kind("new/file"), Some(PathKind::File));
    assert!(set.read(&root, &path("made")).is_err());
    // Taking a change back uncovers the disk.
    set.forget(&path("a"));
    assert_eq!(
        set.read_text(&root, &path("a")).unwrap().as_deref(),
        Some("disk")
    );
}

#[test]
fn a_tree_is_taken_over_whole() {
    let (source_dir, source) = project(&[("kit.yml", "k"), ("r/t.jig", "t"), (".git/config", "g")]);
    let run = source_dir.path().join("r/run.sh");
    std::fs::write(&run, "r").unwrap();
    std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (dir, root) = project(&[]);
    let mut set = ChangeSet::new();
    let at = path(".drawloom/kits/k");
    let count = set
        .put_tree(&at, &source, &RelPath::root(), |entry| {
            entry.path.file_name() != Some(".git")
        })
        .unwrap();
    assert_eq!(count, 3);
    root.apply(&set).unwrap();
    assert_eq!(
        listing(dir.path()),
        ".drawloom/kits/k/kit.yml=k .drawloom/kits/k/r/run.sh=r .drawloom/kits/k/r/t.jig=t"
    );
    assert!(
        root.is_executable(&path(".drawloom/kits/k/r/run.sh"))
            .unwrap()
    );
    std::os::unix::fs::symlink("/etc/passwd", source_dir.path().join("evil")).unwrap();
    let error = ChangeSet::new()
        .put_tree(&at, &source, &RelPath::root(), |_| true)
        .unwrap_err();
    assert_eq!(error.kind(), WorkspaceErrorKind::Escape);
}

#[test]
fn many_threads_apply_one_after_another() {
    let (dir, _root) = project(&[]);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let top = dir.path();
            scope.spawn(move || {
                for round in 0..10 {
                    let root = Root::open(top).unwrap();
                    let content = format!("{thread}.{round}");
                    let set: ChangeSet = (0..5)
                        .map(|n| {
                            let bytes = content.clone().into_bytes();
                            let executable = false;
                            (
                                path(&format!("d/f{n}")),
                                PathChange::Write { bytes, executable },
                            )
                        })
                        .collect();
                    root.apply_surviving(&set, Durability::Kill).unwrap();
                }
            });
        }
    });
    let contents: std::collections::BTreeSet<_> = (0..5)
        .map(|n| std::fs::read(dir.path().join(format!("d/f{n}"))).unwrap())
        .collect();
    assert_eq!(
        contents.len(),
        1,
        "the files are of one apply: {contents:?}"
    );
    assert!(!dir.path().join(".drawloom/apply").exists());
}
