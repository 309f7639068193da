//! Attempts to get at refused files through a workspace, to leave it, or to hang it.
//!
//! Every attack goes through [`Scene::attack`], which tries all there is to try
//! with one path and asserts what must never happen: a secret in any answer, a
//! changed byte outside or in a refused file, a call that does not come back.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests build their own fixtures"
)]

use std::ffi::OsStr;
use std::fmt::Debug;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use workspace::{
    AccessPolicy, ChangeSet, ContentQuery, Durability, Error, HardLinks, IgnoredFiles, Limits,
    PathChange, PolicySettings, RelPath, WalkOptions, Workspace, WorkspaceErrorKind,
};

const SECRET: &str = "hunter2";
/// Generous: a busy machine is slow, a hang is for ever.
const ATTACK_TIME_MAX: Duration = Duration::from_secs(60);

/// A project `p` with secrets of its own, beside an outside directory `o`.
struct Scene {
    top: TempDir,
    space: Workspace,
}

/// Paths that an attack must never change.
const PROTECTED: [&str; 5] = [
    "o/secret",
    "p/.env",
    "p/.git/config",
    "p/id_rsa",
    "p/sub/.env",
];

impl Scene {
    fn new() -> Self {
        Self::with(AccessPolicy::default())
    }

    fn with(policy: AccessPolicy) -> Self {
        let top = tempfile::tempdir().unwrap();
        for dir in ["o/deep", "p/.git/hooks", "p/sub", "p/src"] {
            std::fs::create_dir_all(top.path().join(dir)).unwrap();
        }
        for name in PROTECTED {
            std::fs::write(top.path().join(name), format!("password={SECRET}\n")).unwrap();
        }
        std::fs::write(top.path().join("p/src/main.rs"), "fn main() {}\n").unwrap();
        let space = Workspace::open(&top.path().join("p"), policy, Limits::default()).unwrap();
        Self { top, space }
    }

    fn project(&self) -> PathBuf {
        self.top.path().join("p")
    }

    /// Tries everything with one path, and says how reading it ended.
    #[track_caller]
    fn attack(&self, target: &str) -> Option<WorkspaceErrorKind> {
        let started = Instant::now();
        let target = path(target);
        let read = self.space.read(&target);
        let kind = read.as_ref().err().map(Error::kind);
        silent(&read.map(|bytes| bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())));
        silent(&self.space.read_text(&target));
        silent(&self.space.reader(&target).map(|reader| {
            let mut bytes = Vec::new();
            reader.map(|reader| reader.take(1000).read_to_end(&mut bytes).ok());
            String::from_utf8_lossy(&bytes).into_owned()
        }));
        silent(
            &self
                .space
                .read_staged(&ChangeSet::new(), &target)
                .map(|bytes| bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())),
        );
        silent(&self.space.list(&target));
        silent(&self.space.walk(&WalkOptions::new(target.clone())));
        self.search(target.clone());
        self.search(RelPath::root());
        self.change(&target);
        self.assert_protected();
        assert!(
            started.elapsed() < ATTACK_TIME_MAX,
            "{target} took too long"
        );
        kind
    }

    #[track_caller]
    fn search(&self, target: RelPath) {
        for ignored in [IgnoredFiles::LeftOut, IgnoredFiles::Included] {
            let query = ContentQuery {
                path: target.clone(),
                ignored,
                ..ContentQuery::new(SECRET)
            };
            silent(&self.space.search(&query));
        }
    }

    /// Every change that could reach the target or something below it.
    #[track_caller]
    fn change(&self, target: &RelPath) {
        let write = || PathChange::Write {
            bytes: b"overwritten".to_vec(),
            executable: true,
        };
        let below = target.join(&path("secret"));
        let targets = [Some(target.clone()), below.ok()];
        for target in targets.iter().flatten() {
            for change in [
                write(),
                PathChange::Delete,
                PathChange::DeleteTree,
                PathChange::CreateDir,
            ] {
                let mut changes = ChangeSet::new();
                let staged = self.space.stage(&mut changes, target, change.clone());
                assert_eq!(staged.is_err(), changes.is_empty(), "{target}");
                // Also without having been staged: applying judges for itself.
                changes.put(target.clone(), change);
                silent(&self.space.apply_surviving(&changes, Durability::Kill));
                self.assert_protected();
            }
        }
    }

    #[track_caller]
    fn assert_protected(&self) {
        for name in PROTECTED {
            let bytes = std::fs::read(self.top.path().join(name)).expect(name);
            assert_eq!(bytes, format!("password={SECRET}\n").as_bytes(), "{name}");
        }
        let outside = std::fs::read_dir(self.top.path().join("o")).unwrap();
        assert_eq!(outside.count(), 2, "something was put outside");
        let hooks = std::fs::read_dir(self.top.path().join("p/.git/hooks")).unwrap();
        assert_eq!(hooks.count(), 0, "something was put among git's hooks");
    }
}

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

/// No answer holds the secret, be it a success or an error.
#[track_caller]
fn silent<T: Debug, E: Debug + ToString>(answer: &Result<T, E>) {
    let shown = match answer {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("{error:?} {}", error.to_string()),
    };
    assert!(!shown.contains(SECRET), "the secret got out: {shown}");
}

#[test]
fn paths_that_leave_by_spelling_do_not_exist() {
    for text in [
        "/etc/passwd",
        "../o/secret",
        "src/../../o/secret",
        "..",
        "src/..",
        "~/.ssh/id_rsa",
        "C:\\windows",
        "\\\\server\\share",
        "..\\o\\secret",
        "a\0b",
        "src/\u{1}",
        "",
    ] {
        let error = RelPath::parse(text).unwrap_err();
        assert_eq!(
            error.kind(),
            WorkspaceErrorKind::InvalidPath,
            "{text:?}: {error}"
        );
    }
    let long = "x".repeat(256);
    assert!(RelPath::parse(&long).is_err());
    assert!(RelPath::parse(&"x/".repeat(3000)).is_err());
}

#[test]
fn refused_files_stay_refused_under_their_own_names() {
    let scene = Scene::new();
    for target in [
        ".env",
        "sub/.env",
        ".git",
        ".git/config",
        ".git/hooks",
        "id_rsa",
        ".git/hooks/pre-commit",
    ] {
        assert_eq!(
            scene.attack(target),
            Some(WorkspaceErrorKind::Denied),
            "{target}"
        );
    }
}

#[test]
fn spellings_that_other_filesystems_take_for_refused_names_are_refused() {
    let scene = Scene::new();
    for target in [
        ".ENV",
        ".Env",
        ".env.",
        ".env ",
        "SUB/.ENV",
        ".Git/config",
        ".GIT",
        "ID_RSA",
        "id_rsa.",
        "\u{ff0e}env",
        ".e\u{200d}nv",
        "ENV~1",
        ".git::$INDEX_ALLOCATION/config",
    ] {
        assert_eq!(
            scene.attack(target),
            Some(WorkspaceErrorKind::Denied),
            "{target:?}"
        );
    }
}

#[test]
fn symlinks_are_judged_by_where_they_lead() {
    let scene = Scene::new();
    let dir = scene.project();
    let outside = dir.parent().unwrap().join("o");
    for (link, target) in [
        ("abs", outside.to_str().unwrap()),
        ("abs-file", "/etc/passwd"),
        ("rel", "../o"),
        ("rel-file", "../o/secret"),
        ("src/up", "../../o/secret"),
        ("dangling-out", "../o/not-there"),
        ("proc", "/proc/self/root"),
    ] {
        symlink(target, dir.join(link)).unwrap();
        assert_eq!(
            scene.attack(link),
            Some(WorkspaceErrorKind::Escape),
            "{link}"
        );
    }
    for (link, target) in [
        ("notes.txt", ".env"),
        ("src/notes.txt", "../sub/.env"),
        ("tree", ".git"),
        ("config.txt", ".git/config"),
        ("chain", "notes.txt"),
        ("src/key", "../id_rsa"),
        ("dangling.txt", ".env.later"),
        ("hook", ".git/hooks/pre-commit"),
    ] {
        symlink(target, dir.join(link)).unwrap();
        let kind = scene.attack(link);
        assert_eq!(kind, Some(WorkspaceErrorKind::Denied), "{link}");
        // The attack may have removed the link, which is no secret.
        std::fs::remove_file(dir.join(link))
            .or_else(|_| std::fs::remove_dir_all(dir.join(link)))
            .ok();
        symlink(target, dir.join(link)).unwrap();
    }
    let error = scene.space.read(&path("chain")).unwrap_err();
    let denial = error.denial().unwrap();
    assert_eq!(denial.leads_to().unwrap().as_str(), ".env");
    assert!(error.to_string().contains("through a symlink"), "{error}");
}

#[test]
fn a_listing_shows_refused_names_and_a_walk_does_not() {
    let scene = Scene::new();
    symlink(".env", scene.project().join("notes.txt")).unwrap();
    let listing = scene.space.list(&RelPath::root()).unwrap();
    let shown: Vec<(&str, &str)> = listing
        .entries
        .iter()
        .map(|entry| {
            let code = entry
                .denial
                .as_ref()
                .map_or("-", |denial| denial.rule().code());
            (entry.path.as_str(), code)
        })
        .collect();
    assert_eq!(
        shown,
        [
            (".env", "environment"),
            (".git", "git"),
            ("id_rsa", "credential"),
            ("notes.txt", "environment"),
            ("src", "-"),
            ("sub", "-"),
        ]
    );
    let tree = scene
        .space
        .walk(&WalkOptions::new(RelPath::root()))
        .unwrap();
    let names: Vec<&str> = tree
        .entries
        .iter()
        .map(|entry| entry.path.as_str())
        .collect();
    assert_eq!(names, ["notes.txt", "src", "src/main.rs", "sub"]);
}

#[test]
fn a_hard_link_is_as_secret_as_the_file() {
    let scene = Scene::new();
    let dir = scene.project();
    for (from, to) in [
        ("o/secret", "p/src/outside.txt"),
        ("p/.env", "p/src/inside.txt"),
        ("p/.git/config", "p/settings.txt"),
    ] {
        std::fs::hard_link(scene.top.path().join(from), scene.top.path().join(to)).unwrap();
    }
    for target in ["src/outside.txt", "src/inside.txt", "settings.txt"] {
        let error = scene.space.read(&path(target)).unwrap_err();
        assert_eq!(
            error.denial().unwrap().rule().code(),
            "hard_link",
            "{error}"
        );
        assert_eq!(
            scene.attack(target),
            Some(WorkspaceErrorKind::Denied),
            "{target}"
        );
        // Written or deleted, it was the name only: the secret is where it was.
    }
    // Two names that may both be read are no secret.
    std::fs::write(dir.join("src/a.txt"), "shared").unwrap();
    std::fs::hard_link(dir.join("src/a.txt"), dir.join("b.txt")).unwrap();
    let read = scene.space.read_text(&path("b.txt")).unwrap();
    assert_eq!(read.as_deref(), Some("shared"));
    let found = scene.space.search(&ContentQuery::new("shared")).unwrap();
    assert_eq!(found.matches, 2);
    // A further name in a refused place makes it a refused file.
    std::fs::hard_link(dir.join("b.txt"), dir.join(".git/b")).unwrap();
    assert!(scene.space.read(&path("b.txt")).is_err());
    let found = scene.space.search(&ContentQuery::new("shared")).unwrap();
    assert_eq!((found.matches, found.skipped.len()), (0, 2));
}

#[test]
fn the_other_names_of_a_secret_are_found() {
    let scene = Scene::new();
    let project = scene.project();
    std::fs::hard_link(project.join(".env"), project.join("src/notes")).unwrap();
    std::fs::hard_link(project.join("src/main.rs"), project.join("src/copy.rs")).unwrap();
    let secrets = [path(".env"), path("id_rsa"), path("sub"), path("gone")];
    let names = scene.space.other_names(&secrets).unwrap();
    assert_eq!(names, [path("src/notes")]);
    assert_eq!(scene.space.other_names(&secrets[1..]).unwrap(), []);
}

#[test]
fn hard_links_are_read_where_the_project_trusts_them() {
    let settings = PolicySettings {
        hard_links: HardLinks::Trusted,
        ..PolicySettings::default()
    };
    let scene = Scene::with(AccessPolicy::new(&settings).unwrap());
    std::fs::write(scene.top.path().join("o/deep/plain"), "plain").unwrap();
    std::fs::hard_link(
        scene.top.path().join("o/deep/plain"),
        scene.project().join("plain"),
    )
    .unwrap();
    let read = scene.space.read_text(&path("plain")).unwrap();
    assert_eq!(read.as_deref(), Some("plain"));
}

#[test]
fn writing_a_hard_link_leaves_its_other_names_alone() {
    let scene = Scene::new();
    std::fs::hard_link(
        scene.project().join(".env"),
        scene.project().join("copy.txt"),
    )
    .unwrap();
    let mut changes = ChangeSet::new();
    changes.write(path("copy.txt"), "new");
    changes.write(path("other.txt"), "new");
    scene.space.apply(&changes).unwrap();
    scene.assert_protected();
    let read = scene.space.read_text(&path("copy.txt")).unwrap();
    assert_eq!(read.as_deref(), Some("new"));
}

#[test]
fn refused_files_are_not_moved_in_or_out_or_taken_with_a_tree() {
    let scene = Scene::new();
    let refused = |changes: &[(&str, PathChange)]| {
        let set: ChangeSet = changes
            .iter()
            .map(|(target, change)| (path(target), change.clone()))
            .collect();
        let error = scene.space.apply(&set).unwrap_err();
        scene.assert_protected();
        assert_eq!(error.kind(), WorkspaceErrorKind::Denied, "{error}");
        error.to_string()
    };
    let write = |text: &str| PathChange::Write {
        bytes: text.into(),
        executable: false,
    };
    refused(&[(".env", PathChange::Delete), ("plain.txt", write("x"))]);
    refused(&[
        ("src/main.rs", PathChange::Delete),
        (".env.local", write("x")),
    ]);
    let message = refused(&[("sub", PathChange::DeleteTree)]);
    assert!(message.contains("it contains `sub/.env`"), "{message}");
    refused(&[(".", PathChange::DeleteTree)]);
    refused(&[("new/.git/hooks", PathChange::CreateDir)]);
    assert!(
        !scene.project().join("plain.txt").exists(),
        "all or nothing"
    );
    assert!(scene.project().join("src/main.rs").exists());
    // Not even to be read back from a set that was never judged.
    let mut unjudged = ChangeSet::new();
    unjudged.write(path("x"), "y");
    assert!(scene.space.read_staged(&unjudged, &path(".env")).is_err());
    let staged = scene.space.read_staged(&unjudged, &path("x")).unwrap();
    assert_eq!(staged.as_deref(), Some(&b"y"[..]));
}

#[test]
fn special_files_neither_hang_nor_change() {
    let scene = Scene::new();
    let dir = scene.project();
    let made = std::process::Command::new("mkfifo")
        .arg(dir.join("fifo"))
        .status();
    assert!(made.unwrap().success());
    let _socket = UnixListener::bind(dir.join("socket")).unwrap();
    symlink("fifo", dir.join("to-fifo")).unwrap();
    for target in ["to-fifo", "socket", "fifo"] {
        assert_eq!(
            scene.attack(target),
            Some(WorkspaceErrorKind::SpecialFile),
            "{target}"
        );
    }
    for (root, target) in [
        ("/dev", "zero"),
        ("/dev", "null"),
        ("/proc/self", "status"),
        ("/proc/self", "environ"),
        ("/proc", "kmsg"),
    ] {
        let space =
            Workspace::open(Path::new(root), AccessPolicy::default(), Limits::default()).unwrap();
        let error = space.read(&path(target)).unwrap_err();
        let expected = [
            WorkspaceErrorKind::SpecialFile,
            WorkspaceErrorKind::ReadOnly,
        ];
        assert!(expected.contains(&error.kind()), "{root}/{target}: {error}");
    }
    let proc = Workspace::open(
        Path::new("/proc/self"),
        AccessPolicy::default(),
        Limits::default(),
    )
    .unwrap();
    for target in ["root", "cwd", "exe", "fd/0"] {
        assert!(proc.read(&path(target)).is_err(), "{target}");
    }
    let query = ContentQuery {
        path: path("net"),
        ..ContentQuery::new(".")
    };
    assert_eq!(proc.search(&query).unwrap().matches, 0);
}

#[test]
fn a_file_of_ten_gigabytes_is_refused_at_once() {
    let scene = Scene::new();
    for (name, first) in [("zeros.bin", &b""[..]), ("text.log", b"hunter2\n")] {
        std::fs::write(scene.project().join(name), first).unwrap();
        let file = std::fs::File::options()
            .write(true)
            .open(scene.project().join(name));
        file.unwrap().set_len(10 << 30).unwrap();
        let started = Instant::now();
        let error = scene.space.read(&path(name)).unwrap_err();
        assert_eq!(error.kind(), WorkspaceErrorKind::Limit);
        assert!(error.to_string().contains("read_bytes_max"), "{error}");
        let found = scene.space.search(&ContentQuery::new(SECRET)).unwrap();
        assert_eq!(found.matches, 0);
        assert!(
            found
                .skipped
                .iter()
                .any(|skipped| skipped.path == path(name))
        );
        assert!(started.elapsed() < Duration::from_secs(10));
        // Its beginning can be read all the same.
        let mut reader = scene.space.reader(&path(name)).unwrap().unwrap();
        assert_eq!(reader.size_bytes(), 10 << 30);
        let mut start = [0_u8; 4];
        reader.read_exact(&mut start).unwrap();
    }
}

#[test]
fn files_and_directories_in_each_others_way_are_conflicts() {
    let scene = Scene::new();
    assert_eq!(
        scene.space.read(&path("src")).unwrap_err().kind(),
        WorkspaceErrorKind::Conflict
    );
    assert_eq!(
        scene.space.list(&path("src/main.rs")).unwrap_err().kind(),
        WorkspaceErrorKind::Conflict
    );
    for (target, change) in [
        (
            "src",
            PathChange::Write {
                bytes: b"x".to_vec(),
                executable: false,
            },
        ),
        ("src", PathChange::Delete),
        (
            "src/main.rs/below",
            PathChange::Write {
                bytes: b"x".to_vec(),
                executable: false,
            },
        ),
        ("src/main.rs", PathChange::CreateDir),
    ] {
        let changes: ChangeSet = [(path(target), change)].into_iter().collect();
        let error = scene.space.apply(&changes).unwrap_err();
        assert_eq!(
            error.kind(),
            WorkspaceErrorKind::Conflict,
            "{target}: {error}"
        );
    }
    assert_eq!(scene.space.read(&path("nope/deep")).unwrap(), None);
    assert_eq!(
        scene.space.list(&path("nope")).unwrap_err().kind(),
        WorkspaceErrorKind::NotFound
    );
}

#[test]
fn loops_of_symlinks_end() {
    let scene = Scene::new();
    let dir = scene.project();
    for (link, target) in [
        ("a", "b"),
        ("b", "a"),
        ("self", "self"),
        ("src/back", ".."),
        ("src/dot", "."),
    ] {
        symlink(target, dir.join(link)).unwrap();
    }
    for target in ["b/x", "self", "a"] {
        assert_eq!(
            scene.attack(target),
            Some(WorkspaceErrorKind::Limit),
            "{target}"
        );
    }
    assert_eq!(
        scene.attack("src/back/src/back/src/back/.env"),
        Some(WorkspaceErrorKind::Denied)
    );
    assert_eq!(scene.attack("src/dot/dot/dot/main.rs"), None);
}

#[test]
fn names_that_cannot_be_spelled_are_counted_and_passed_over() {
    let scene = Scene::new();
    let dir = scene.project().join("odd");
    std::fs::create_dir(&dir).unwrap();
    for name in [&b"bad\xff"[..], b"back\\slash", b"new\nline"] {
        std::fs::write(dir.join(OsStr::from_bytes(name)), "findme").unwrap();
    }
    std::fs::write(dir.join("x".repeat(255)), "findme").unwrap();
    let listing = scene.space.list(&path("odd")).unwrap();
    assert_eq!((listing.entries.len(), listing.unnameable.len()), (1, 3));
    assert_eq!(
        scene
            .space
            .search(&ContentQuery::new("findme"))
            .unwrap()
            .matches,
        1
    );
}

#[test]
fn a_directory_with_a_hundred_thousand_entries_is_bounded() {
    let scene = Scene::new();
    let dir = scene.project().join("many");
    std::fs::create_dir(&dir).unwrap();
    for index in 0..100_000 {
        std::fs::File::create(dir.join(format!("{index:06}"))).unwrap();
    }
    let listing = scene.space.list(&path("many")).unwrap();
    assert_eq!(listing.entries.len(), 100_000);
    let options = WalkOptions {
        entries_max: 10,
        ..WalkOptions::new(RelPath::root())
    };
    let tree = scene.space.walk(&options).unwrap();
    assert!(tree.more && tree.entries.len() == 10);
    let found = scene.space.search(&ContentQuery::new("nothing")).unwrap();
    assert_eq!((found.matches, found.stop), (0, None));

    let limits = Limits {
        walk_entries_max: 1000,
        ..Limits::default()
    };
    let small = Workspace::open(&scene.project(), AccessPolicy::default(), limits).unwrap();
    let error = small.list(&path("many")).unwrap_err();
    assert_eq!(error.kind(), WorkspaceErrorKind::Limit);
    assert!(
        error.to_string().contains("walk_entries_max (1000)"),
        "{error}"
    );
    let error = small.walk(&WalkOptions::new(RelPath::root())).unwrap_err();
    assert!(
        error.to_string().contains("walk_entries_max (1000)"),
        "{error}"
    );
    let found = small.search(&ContentQuery::new("nothing")).unwrap();
    assert_eq!(found.stop.unwrap().limit(), "walk_entries_max");
}

/// Number of runs of a race: as many as finish in reasonable time, since a reader waits for names
/// to settle.
const RACES: usize = 3_000;
const RACES_WAITING: usize = 150;

/// One thread swaps names as fast as it can while the other uses them.
fn race(scene: &Scene, flips: &[(&str, &str)], attempt: impl FnMut()) {
    race_often(RACES, scene, flips, attempt);
}

fn race_often(races: usize, scene: &Scene, flips: &[(&str, &str)], mut attempt: impl FnMut()) {
    let dir = scene.project();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _ended = Raised(&done);
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for (from, to) in flips {
                    let moved = std::fs::rename(dir.join(from), dir.join(to));
                    // The writer made its own directory while it was missing.
                    if moved.is_err() && *from == "aside" && dir.join("aside").is_dir() {
                        std::fs::remove_dir_all(dir.join(to)).ok();
                        std::fs::rename(dir.join(from), dir.join(to)).ok();
                    }
                }
            }
        });
        for _ in 0..races {
            attempt();
        }
    });
    scene.assert_protected();
}

/// Raises a flag when dropped, so that an attempt that panics ends the other thread, too.
struct Raised<'f>(&'f AtomicBool);

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_directory_swapped_for_a_symlink_while_reading_leads_nowhere() {
    let scene = Scene::new();
    let dir = scene.project();
    std::fs::create_dir(dir.join("d")).unwrap();
    std::fs::write(dir.join("d/secret"), "harmless").unwrap();
    symlink("../o", dir.join("out")).unwrap();
    symlink(".git", dir.join("git")).unwrap();
    std::fs::write(dir.join("d/config"), "harmless").unwrap();
    let mut read = 0;
    let flips = [
        ("d", "aside"),
        ("out", "d"),
        ("d", "out"),
        ("git", "d"),
        ("d", "git"),
        ("aside", "d"),
    ];
    race(&scene, &flips, || {
        for name in ["d/secret", "d/config"] {
            let answer = scene.space.read_text(&path(name));
            read += usize::from(answer.as_ref().is_ok_and(Option::is_some));
            silent(&answer);
        }
        silent(&scene.space.list(&path("d")));
        silent(&scene.space.search(&ContentQuery {
            path: path("d"),
            ..ContentQuery::new("password")
        }));
    });
    assert!(read > 0, "the race was never won by the reader");
}

#[test]
fn a_file_swapped_for_a_link_while_reading_leads_nowhere() {
    let scene = Scene::new();
    let dir = scene.project();
    std::fs::write(dir.join("f"), "harmless").unwrap();
    symlink("../o/secret", dir.join("out")).unwrap();
    symlink(".env", dir.join("soft")).unwrap();
    std::fs::hard_link(dir.join(".env"), dir.join("hard")).unwrap();
    let flips = [
        ("f", "aside"),
        ("out", "f"),
        ("f", "out"),
        ("soft", "f"),
        ("f", "soft"),
        ("hard", "f"),
        ("f", "hard"),
        ("aside", "f"),
    ];
    race_often(RACES_WAITING, &scene, &flips, || {
        silent(&scene.space.read_text(&path("f")));
        silent(&scene.space.search(&ContentQuery {
            path: path("f"),
            ..ContentQuery::new(SECRET)
        }));
    });
}

#[test]
fn a_hard_link_renamed_while_its_names_are_counted_is_not_counted_twice() {
    let scene = Scene::new();
    let dir = scene.project();
    std::fs::hard_link(dir.join(".env"), dir.join("a")).unwrap();
    race_often(RACES_WAITING, &scene, &[("a", "b"), ("b", "a")], || {
        for name in ["a", "b"] {
            silent(&scene.space.read_text(&path(name)));
        }
        silent(&scene.space.search(&ContentQuery::new(SECRET)));
    });
}

#[test]
fn a_directory_renamed_while_the_names_in_it_are_counted_is_not_counted_twice() {
    let scene = Scene::new();
    let dir = scene.project();
    std::fs::create_dir(dir.join("a")).unwrap();
    std::fs::hard_link(dir.join(".env"), dir.join("a/x")).unwrap();
    race_often(RACES_WAITING, &scene, &[("a", "b"), ("b", "a")], || {
        for name in ["a/x", "b/x"] {
            silent(&scene.space.read_text(&path(name)));
        }
        silent(&scene.space.search(&ContentQuery::new(SECRET)));
    });
}

#[test]
fn a_directory_swapped_for_a_symlink_while_writing_leads_nowhere() {
    let scene = Scene::new();
    let dir = scene.project();
    std::fs::create_dir(dir.join("d")).unwrap();
    symlink("../o", dir.join("out")).unwrap();
    symlink(".git/hooks", dir.join("git")).unwrap();
    let limits = Limits {
        job_bytes_max: u64::MAX,
        ..Limits::default()
    };
    let space = Workspace::open(&dir, AccessPolicy::default(), limits).unwrap();
    let mut changes = ChangeSet::new();
    for name in ["d/secret", "d/pre-commit", "d/new/x"] {
        changes.write(path(name), "written");
    }
    let mut written = 0;
    let flips = [
        ("d", "aside"),
        ("out", "d"),
        ("d", "out"),
        ("git", "d"),
        ("d", "git"),
        ("aside", "d"),
    ];
    race(&scene, &flips, || {
        let answer = space.apply_surviving(&changes, Durability::Kill);
        written += usize::from(answer.is_ok());
        silent(&answer);
    });
    assert!(written > 0, "the race was never won by the writer");
}
