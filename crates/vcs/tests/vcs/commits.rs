//! Commits: their content, their author, and refusals.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use vcs::{
    CommitSigning, GitProgram, NewCommit, PathSelection, Repository, VcsErrorKind, Worktree,
    WorktreeFolder,
};

use crate::fixture::{TestRepository, git, make_executable, message, new_commit, write};

/// Makes changes, commits them, and compares the commit's entry of each file.
#[track_caller]
fn check(change: impl Fn(&Path), paths: PathSelection, expected: &[&str]) {
    let stage = TestRepository::clean();
    let worktree = stage.worktree("j1");
    change(worktree.path());
    let tree = worktree.tree_hash(&paths).unwrap();
    let commit = worktree.commit(&new_commit("change", paths)).unwrap();
    let project = stage.project();
    let format = ["show", "--format=", "--raw", "--abbrev=4", "--find-renames"];
    let shown = git(&project, &[&format[..], &[commit.as_str()]].concat());
    let shown: Vec<String> = shown.lines().map(brief).collect();
    assert_eq!(shown, expected);
    let committed = git(&project, &["rev-parse", &format!("{commit}^{{tree}}")]);
    assert_eq!(
        tree.as_str(),
        committed,
        "the hash is that of what is committed"
    );
    assert_eq!(worktree.head_commit().unwrap(), commit);
}

/// `:100644 100755 1234 5678 M\tpath` as `M 100755 path`.
fn brief(line: &str) -> String {
    let (head, paths) = line.split_once('\t').unwrap();
    let fields: Vec<&str> = head.split(' ').collect();
    format!("{} {} {}", fields[4], fields[1], paths.replace('\t', " > "))
}

fn only(paths: &[&str]) -> PathSelection {
    PathSelection::Only(paths.iter().map(PathBuf::from).collect())
}

#[test]
fn everything_that_changed_is_committed() {
    check(
        |dir| {
            write(&dir.join("src/new.rs"), "new\n");
            write(&dir.join("README.md"), "changed\n");
            fs::remove_file(dir.join("src/gone.rs")).unwrap();
            fs::rename(dir.join("src/main.rs"), dir.join("src/app.rs")).unwrap();
            make_executable(&dir.join("logo.bin"));
            write(&dir.join("debug.log"), "ignored\n");
            write(&dir.join("ünï cödé\n\"\\ .txt"), "odd name\n");
        },
        PathSelection::All,
        &[
            "M 100644 README.md",
            "M 100755 logo.bin",
            "R100 100644 src/main.rs > src/app.rs",
            "D 000000 src/gone.rs",
            "A 100644 src/new.rs",
            "A 100644 \"\\303\\274n\\303\\257 c\\303\\266d\\303\\251\\n\\\"\\\\ .txt\"",
        ],
    );
}

#[test]
fn only_the_paths_named_are_committed_ignored_or_not() {
    check(
        |dir| {
            write(&dir.join("src/new.rs"), "new\n");
            write(&dir.join("src/other.rs"), "not planned\n");
            write(&dir.join("README.md"), "not planned\n");
            write(&dir.join("ignored/planned.txt"), "planned\n");
            write(&dir.join("ignored/other.txt"), "not planned\n");
            write(&dir.join("docs/a/b.md"), "in a folder\n");
            write(&dir.join("*.rs"), "a name that looks like a pattern\n");
            fs::remove_file(dir.join("src/gone.rs")).unwrap();
        },
        only(&[
            "src/new.rs",
            "./src/gone.rs",
            "ignored/planned.txt",
            "docs",
            "*.rs",
            "never/made.rs",
            "run.sh",
        ]),
        &[
            "A 100644 *.rs",
            "A 100644 docs/a/b.md",
            "A 100644 ignored/planned.txt",
            "D 000000 src/gone.rs",
            "A 100644 src/new.rs",
        ],
    );
}

#[test]
fn files_directories_and_links_change_places() {
    let every = &[
        "src",
        "src/gone.rs",
        "src/main.rs",
        "README.md",
        "README.md/inside.txt",
        "link",
    ];
    for paths in [PathSelection::All, only(every)] {
        check_places(paths);
    }
}

#[track_caller]
fn check_places(paths: PathSelection) {
    check(
        |dir| {
            fs::remove_dir_all(dir.join("src")).unwrap();
            symlink("/tmp", dir.join("src")).unwrap();
            fs::remove_file(dir.join("README.md")).unwrap();
            write(&dir.join("README.md/inside.txt"), "now a folder\n");
            fs::remove_file(dir.join("link")).unwrap();
            write(&dir.join("link"), "now a file\n");
        },
        paths,
        &[
            "D 000000 README.md",
            "A 100644 README.md/inside.txt",
            "T 100644 link",
            "A 120000 src",
            "D 000000 src/gone.rs",
            "D 000000 src/main.rs",
        ],
    );
}

#[test]
fn many_paths_are_no_problem() {
    let names: Vec<String> = (0..3000).map(|n| format!("many/{n:0>60}.txt")).collect();
    let stage = TestRepository::clean();
    let worktree = stage.worktree("j1");
    for name in &names {
        write(&worktree.path().join(name), name);
    }
    let paths = PathSelection::Only(names.iter().map(PathBuf::from).collect());
    let commit = worktree.commit(&new_commit("many", paths)).unwrap();
    let files = git(
        &stage.project(),
        &["show", "--format=", "--name-only", commit.as_str()],
    );
    assert_eq!(files.lines().count(), names.len());
}

#[test]
fn nothing_to_commit_is_its_own_kind() {
    let stage = TestRepository::clean();
    let worktree = stage.worktree("j1");
    write(&worktree.path().join("README.md"), "changed\n");
    for paths in [only(&["run.sh"]), only(&[]), only(&["nope"])] {
        let error = worktree.commit(&new_commit("x", paths)).unwrap_err();
        assert_eq!(error.kind(), VcsErrorKind::NothingToCommit, "{error}");
    }
    assert_eq!(&worktree.head_commit().unwrap(), worktree.base());
}

#[test]
fn paths_that_lead_elsewhere_are_refused() {
    let stage = TestRepository::clean();
    let worktree = stage.worktree("j1");
    for path in [
        "",
        ".",
        "..",
        "../x",
        "a/../../x",
        "/etc/passwd",
        ".git",
        ".git/config",
        "sub/.GIT/x",
    ] {
        let error = worktree
            .commit(&new_commit("x", only(&[path])))
            .unwrap_err();
        assert_eq!(error.kind(), VcsErrorKind::BadPath, "{path:?}: {error}");
    }
}

#[test]
fn a_path_in_a_nested_repository_is_an_error() {
    let stage = TestRepository::clean();
    let worktree = stage.worktree("j1");
    git(worktree.path(), &["init", "--quiet", "sub"]);
    write(&worktree.path().join("sub/file.txt"), "x\n");
    let new = new_commit("x", only(&["sub"]));
    let error = worktree.commit(&new).unwrap_err();
    assert_eq!(error.kind(), VcsErrorKind::NestedRepository, "{error}");
    assert!(error.to_string().contains("`sub/`"), "{error}");
}

#[test]
fn a_changed_index_hides_no_change() {
    let stage = TestRepository::clean();
    let worktree = stage.worktree("j1");
    let at = worktree.path();
    git(at, &["update-index", "--assume-unchanged", "README.md"]);
    git(at, &["update-index", "--skip-worktree", "run.sh"]);
    write(&at.join("README.md"), "hidden\n");
    write(&at.join("run.sh"), "#!/bin/sh\nhidden\n");
    write(&at.join("half.txt"), "staged\n");
    git(at, &["add", "half.txt"]);
    write(&at.join("half.txt"), "then changed\n");
    let changes = worktree.changes(&PathSelection::All).unwrap();
    let changed: Vec<_> = changes.iter().filter_map(|c| c.path.to_str()).collect();
    assert_eq!(changed, ["README.md", "half.txt", "run.sh"]);
    let commit = worktree
        .commit(&new_commit("x", PathSelection::All))
        .unwrap();
    let text = git(at, &["show", &format!("{commit}:half.txt")]);
    assert_eq!(text, "then changed");
}

/// A worktree of a repository whose git knows only these settings.
fn with_settings(stage: &TestRepository, settings: &[&str]) -> Worktree {
    let file = stage.dir.path().join("gitconfig");
    write(&file, "");
    for setting in settings {
        let (key, value) = setting.split_once('=').unwrap();
        git(
            stage.dir.path(),
            &["config", "--file", file.to_str().unwrap(), key, value],
        );
    }
    // `git` that reads this file and no other, as a program of its own.
    let program = stage.dir.path().join("git-alone");
    let script = format!(
        "#!/bin/sh\nunset EMAIL\nexport GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL='{}'\n\
         exec git \"$@\"\n",
        file.display()
    );
    write(&program, script);
    make_executable(&program);
    let git = GitProgram::at(stage.project()).program(program);
    let repository = Repository::open(&git).unwrap();
    let worktrees = WorktreeFolder::new(&repository, &stage.folder(), "tests").unwrap();
    let at = vcs::CheckoutTarget::Commit(stage.head());
    let worktree = worktrees.make("j1", &at).unwrap();
    write(&worktree.path().join("new.txt"), "new\n");
    worktree
}

#[test]
fn commits_have_the_users_name_or_the_fallback() {
    for (settings, author) in [
        (
            &["user.name=Ada", "user.email=ada@example.org"][..],
            "Ada <ada@example.org>",
        ),
        (&[], "Drawloom <drawloom@localhost>"),
        (&["user.name=Ada"], "Drawloom <drawloom@localhost>"),
    ] {
        let stage = TestRepository::clean();
        let worktree = with_settings(&stage, settings);
        let commit = worktree
            .commit(&new_commit("x", PathSelection::All))
            .unwrap();
        let format = ["show", "--no-patch", "--format=%an <%ae>%n%cn <%ce>"];
        let shown = git(
            &stage.project(),
            &[&format[..], &[commit.as_str()]].concat(),
        );
        assert_eq!(shown, format!("{author}\n{author}"));
    }
}

#[test]
fn signing_is_off_unless_asked_for_and_never_asks() {
    let stage = TestRepository::clean();
    let worktree = with_settings(
        &stage,
        &[
            "user.name=Ada",
            "user.email=ada@example.org",
            "commit.gpgSign=true",
            "gpg.format=ssh",
            "user.signingKey=/no/such/key",
        ],
    );
    let mut new = NewCommit {
        message: message("signed"),
        paths: PathSelection::All,
        signing: CommitSigning::AsConfigured,
    };
    let error = worktree.commit(&new).unwrap_err();
    assert_eq!(error.kind(), VcsErrorKind::SigningFailed, "{error}");
    assert_eq!(&worktree.head_commit().unwrap(), worktree.base());
    new.signing = CommitSigning::Off;
    let commit = worktree.commit(&new).unwrap();
    let shown = git(&stage.project(), &["cat-file", "-p", commit.as_str()]);
    assert!(!shown.contains("gpgsig"), "{shown}");
}

#[test]
fn messages_are_stored_unchanged() {
    let stage = TestRepository::clean();
    let worktree = stage.worktree("j1");
    write(&worktree.path().join("new.txt"), "new\n");
    let new = NewCommit {
        message: message("größer 加")
            .scope("api")
            .body("# not a comment\n\n- one\n- two")
            .trailer("Drawloom-Job", "j1"),
        paths: PathSelection::All,
        signing: CommitSigning::Off,
    };
    let commit = worktree.commit(&new).unwrap();
    let shown = git(
        &stage.project(),
        &["show", "--no-patch", "--format=%B", commit.as_str()],
    );
    assert_eq!(
        shown.trim_end(),
        "feat(api): größer 加\n\n# not a comment\n\n- one\n- two\n\nDrawloom-Job: j1"
    );
}

#[test]
fn hashing_a_tree_leaves_no_trace_and_knows_equal_states() {
    let stage = TestRepository::clean();
    let worktree = stage.worktree("j1");
    let at = worktree.path();
    let untouched = worktree.tree_hash(&PathSelection::All).unwrap();
    let head = git(&stage.project(), &["rev-parse", "HEAD^{tree}"]);
    assert_eq!(untouched.as_str(), head);
    write(&at.join("new.txt"), "new\n");
    let objects = crate::fixture::contents(&stage.project().join(".git"));
    let changed = worktree.tree_hash(&PathSelection::All).unwrap();
    assert_ne!(changed, untouched);
    assert_eq!(
        crate::fixture::contents(&stage.project().join(".git")),
        objects
    );
    fs::remove_file(at.join("new.txt")).unwrap();
    assert_eq!(worktree.tree_hash(&PathSelection::All).unwrap(), untouched);
    make_executable(&at.join("README.md"));
    assert_ne!(worktree.tree_hash(&PathSelection::All).unwrap(), untouched);
}
