//! Git in sandboxed commands: no verb prints a version of a file that the policy refuses.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, and fail by panicking"
)]

mod ordinary;

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use agent::tools::{CommandSettings, GitFilter};
use app::tasks::HistoryFilter;
use exec::sandbox::{SandboxRequirement, probed};
use workspace::{AccessPolicy, Limits, Workspace};

/// Where repositories are, what builds sandboxes, and how many kinds must work, for another user.
const PLACE: &str = "DRAWLOOM_TEST_PLACE";
const STAGES: &str = "DRAWLOOM_TEST_STAGES";
const KINDS: &str = "DRAWLOOM_TEST_KINDS";

/// In every version of every refused file.
const SECRET: &str = "CANARY-tracked-secret";

/// Verbs that print content, and ways around them. `$COMMON` is the repository's own directory.
const VERBS: &[&str] = &[
    "git show HEAD:.env",
    "git show HEAD~1:.env",
    "git show main:cfg/.env.production",
    "git show :.env.local",
    "git show stash@{0}:cfg/.env.production",
    "git show --stat -p",
    "git log -p --all",
    "git log -p -g",
    "git log -p --all -S CANARY",
    "git whatchanged -p --all",
    "git grep CANARY HEAD",
    "git grep CANARY $(git rev-list --all)",
    "git grep --cached CANARY",
    "git grep --no-index CANARY",
    "git cat-file -p HEAD:.env",
    "git cat-file --batch-all-objects --batch",
    "git archive HEAD | tar -xO",
    "git archive --format=tar HEAD~1 | tar -xO",
    "git diff HEAD~1",
    "git diff --cached",
    "git diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904 HEAD",
    "git diff-tree -p --root HEAD",
    "git blame .env",
    "git blame HEAD -- cfg/.env.production",
    "git annotate server.key",
    "git stash list -p",
    "git stash show -p",
    "git reflog show -p",
    "git format-patch --root --stdout HEAD",
    "git fast-export --all",
    "git bundle create - --all | strings",
    "git checkout-index --all --prefix=out/ && cat out/.env out/cfg/.env.production",
    "git ls-files -s | cut -d' ' -f2 | git cat-file --batch",
    "git rev-list --objects --all | cut -d' ' -f1 | git cat-file --batch",
    "git fsck --lost-found; cat .git/lost-found/other/*",
    "git notes show; git tag -l --format='%(contents)'",
    "git show keep:.env",
    "git worktree list | cut -d' ' -f1 | xargs -I{} cat {}/.env",
    "git range-diff HEAD~1..HEAD HEAD~1..HEAD",
    "git merge-file -p .env .env .env",
    "git --git-dir=$COMMON show HEAD:.env",
    "env -u GIT_DIR -u GIT_WORK_TREE git show HEAD:.env",
    "env -u GIT_DIR -u GIT_WORK_TREE git log -p --all",
    "GIT_DIR=$COMMON git log -p --all",
    "GIT_OBJECT_DIRECTORY=$COMMON/objects git cat-file --batch-all-objects --batch",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES=$COMMON/objects git cat-file --batch-all-objects --batch",
    "env -u GIT_DIR -u GIT_WORK_TREE git clone -q $COMMON $TMPDIR/c && git -C $TMPDIR/c log -p --all",
    "env -u GIT_DIR git -C $TMPDIR init -q x; cp -r $COMMON/objects $TMPDIR/x/.git/",
    "cat $COMMON/config $COMMON/logs/HEAD $COMMON/packed-refs",
    "find $COMMON -type f -exec cat {} +",
    "git config --list; git remote -v",
    "git submodule foreach git log -p",
];

/// What still has to work.
const WORKING: &[(&str, &str)] = &[
    ("git status --porcelain", " M src/a.txt"),
    ("git log --format=%s", "second"),
    ("git diff -- src/a.txt", "+changed"),
    ("git rev-parse --abbrev-ref HEAD", ""),
    ("git ls-files", "src/a.txt"),
    ("git show HEAD:src/a.txt", "first"),
    ("git blame src/a.txt", "changed"),
];

struct Field {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Field {
    /// Not in `/tmp`, which is private in a sandbox.
    fn new() -> Self {
        let place = std::env::var_os(PLACE);
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let place = place.map_or(dir, PathBuf::from);
        let dir = tempfile::tempdir_in(place).unwrap();
        let root = dir.path().canonicalize().unwrap();
        let field = Self { _dir: dir, root };
        field.write("project/src/a.txt", "first\n");
        field.git("project", &["init", "-q", "-b", "main"]);
        field
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.root.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn git(&self, dir: &str, args: &[&str]) {
        let run = Command::new("git")
            .args(["-c", "user.name=A", "-c", "user.email=a@b.c"])
            .args(["-c", "commit.gpgSign=false"])
            .args(args)
            .current_dir(self.root.join(dir))
            .output()
            .unwrap();
        assert!(run.status.success(), "{args:?} {run:?}");
    }

    fn commit(&self, words: &str) {
        self.git("project", &["add", "-A", "-f"]);
        self.git("project", &["commit", "-q", "-m", words]);
    }

    /// Secrets in two commits, a branch, a tag, a stash, a reflog, the index and a remote's address.
    fn with_secrets() -> Self {
        let field = Self::new();
        let secret = |path: &str, more: &str| {
            let text = format!("{SECRET}{more}\n");
            field.write(&format!("project/{path}"), &text);
        };
        secret(".env", "-1");
        secret("cfg/.env.production", "-1");
        secret("server.key", "-1");
        field.commit("first");
        field.git("project", &["branch", "keep"]);
        field.git("project", &["tag", "v1"]);
        secret(".env", "-2");
        field.commit("thrown away");
        field.git("project", &["reset", "-q", "--hard", "HEAD~1"]);
        secret("cfg/.env.production", "-stash");
        field.git("project", &["stash", "-q"]);
        std::fs::remove_file(field.root.join("project/server.key")).unwrap();
        field.commit("second");
        let address = format!("https://u:{SECRET}@example.invalid/x.git");
        field.git("project", &["remote", "add", "origin", &address]);
        field.git(
            "project",
            &["worktree", "add", "-q", "-b", "job", "../tree"],
        );
        secret(".env.local", "-index");
        field.git("project", &["add", "-f", ".env.local"]);
        for place in ["project", "tree"] {
            field.write(&format!("{place}/src/a.txt"), "changed\n");
        }
        field
    }

    fn run(&self, dir: &str, kind: SandboxRequirement, command: &str) -> exec::CommandOutcome {
        let policy = AccessPolicy::default();
        let space = Workspace::open(&self.root.join(dir), policy, Limits::default()).unwrap();
        let settings = CommandSettings {
            sandbox: kind,
            git: Some(Arc::new(self.filter())),
            ..CommandSettings::default()
        };
        let common = self.root.join("project/.git");
        let invocation = settings.invocation(&space, command).unwrap();
        exec::run(&invocation.variable("COMMON", common)).unwrap()
    }

    fn filter(&self) -> HistoryFilter {
        HistoryFilter::at(self.root.join("store"))
    }

    fn shown(&self) -> agent::tools::ShownHistory {
        let project = self.root.join("project");
        let space = Workspace::open(&project, AccessPolicy::default(), Limits::default()).unwrap();
        self.filter().shown(&space, &[])
    }
}

/// The kinds that hold commands here. Namespaces need a program that builds them; that of the tests of
/// `exec` is beside this one when all tests are built.
fn kinds() -> Vec<SandboxRequirement> {
    let stages = stages();
    if stages.exists() {
        exec::sandbox::use_stages_of(stages);
    }
    let named = SandboxRequirement::NAMES
        .iter()
        .map(|name| name.parse().unwrap());
    let kinds: Vec<SandboxRequirement> = named
        .filter(|kind| !matches!(kind, SandboxRequirement::Auto | SandboxRequirement::None))
        .filter(|kind| probed().choose(*kind).is_ok())
        .collect();
    assert!(!kinds.is_empty(), "no sandbox works here");
    if let Some(count) = std::env::var_os(KINDS) {
        assert_eq!(kinds.len().to_string(), count.to_string_lossy());
    }
    kinds
}

/// The program that builds sandboxes.
fn stages() -> PathBuf {
    let beside = || {
        let this = std::env::current_exe().unwrap();
        this.ancestors().nth(2).unwrap().join("sandbox-stages")
    };
    std::env::var_os(STAGES).map_or_else(beside, PathBuf::from)
}

#[test]
fn no_git_command_prints_a_refused_file() {
    let field = Field::with_secrets();
    for dir in ["project", "tree"] {
        for kind in kinds() {
            for verb in VERBS {
                let outcome = field.run(dir, kind, verb);
                let said = format!("{}{}", outcome.stdout_text(), outcome.stderr_text());
                assert!(!said.contains("CANARY-"), "{kind} {dir} {verb}: {said}");
            }
        }
    }
}

#[test]
fn git_still_tells_the_state_of_the_files() {
    let field = Field::with_secrets();
    for dir in ["project", "tree"] {
        for kind in kinds() {
            for (command, expected) in WORKING {
                let outcome = field.run(dir, kind, command);
                let said = outcome.stdout_text();
                assert!(outcome.is_success(), "{kind} {dir} {command}: {outcome:?}");
                assert!(said.contains(expected), "{kind} {dir} {command}: {said}");
            }
            let status = field.run(dir, kind, "git status --porcelain");
            assert!(!status.stdout_text().contains("D "), "{status:?}");
        }
    }
}

#[test]
fn a_history_without_secrets_is_shown_whole() {
    let field = Field::new();
    field.write("project/drawloom.toml", "[ai]\napi_key = \"$KEY\"\n");
    field.commit("first");
    field.commit_again("second");
    for kind in kinds() {
        let log = field.run("project", kind, "git log --format=%s");
        assert_eq!(log.stdout_text(), "second\nfirst\n", "{kind}");
    }
    assert_eq!(field.shown(), agent::tools::ShownHistory::default());
    // A secret that comes later is found, although the history before it was looked through.
    field.write("project/.env", SECRET);
    field.commit("third");
    assert!(field.shown().instead.is_some());
    field.git("project", &["reset", "-q", "--hard", "HEAD~1"]);
    assert!(field.shown().instead.is_some(), "the reflog still has it");
}

#[test]
fn a_key_in_our_settings_counts_as_a_secret() {
    let field = Field::new();
    field.write("project/drawloom.toml", "[ai]\napi_key = \"sk-1\"\n");
    field.commit("first");
    assert!(field.shown().instead.is_some());
}

#[test]
fn looking_through_a_repository_runs_nothing_that_it_names() {
    let field = Field::new();
    field.write("project/.gitattributes", "* filter=x diff=x\n");
    field.write("project/.env", SECRET);
    field.commit("first");
    let marker = field.root.join("ran");
    let run = format!("touch {}", marker.display());
    let settings = [
        "filter.x.clean",
        "filter.x.smudge",
        "diff.x.textconv",
        "diff.external",
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "gpg.program",
        "remote.origin.uploadpack",
        "alias.rev-list",
    ];
    for name in settings {
        let value = if name.starts_with("alias") {
            format!("!{run}")
        } else {
            run.clone()
        };
        field.git("project", &["config", name, &value]);
    }
    for (name, value) in [
        ("log.showSignature", "true"),
        ("commit.gpgSign", "true"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", "ssh://example.invalid/x"),
        ("remote.origin.promisor", "true"),
    ] {
        field.git("project", &["config", name, value]);
    }
    field.write(
        "project/.git/hooks/reference-transaction",
        "#!/bin/sh\ntouch ../ran\n",
    );
    assert!(field.shown().instead.is_some());
    // An object that is missing would be fetched.
    let objects = field.root.join("project/.git/objects");
    std::fs::rename(&objects, field.root.join("objects")).unwrap();
    std::fs::create_dir(&objects).unwrap();
    field.write("project/.git/index", "");
    field.shown();
    assert!(!marker.exists());
}

#[test]
fn an_unchanged_repository_is_judged_without_starting_git() {
    let field = Field::new();
    field.commit("first");
    field.shown();
    let start = Instant::now();
    for _ in 0..50 {
        field.shown();
    }
    // Fifty starts of git alone would take longer, optimised or not.
    assert!(start.elapsed().as_millis() < 1_000, "{:?}", start.elapsed());
}

#[test]
fn a_repository_that_cannot_be_read_is_not_shown() {
    let field = Field::new();
    field.commit("first");
    std::fs::remove_dir_all(field.root.join("project/.git/objects")).unwrap();
    let shown = field.shown();
    assert_eq!(shown.hidden, [field.root.join("project/.git")]);
    assert_eq!(shown.instead.unwrap().git_dir, shown.hidden[0]);
    for kind in kinds() {
        let log = field.run("project", kind, "git log");
        assert!(
            log.stderr_text().contains("not a git repository"),
            "{log:?}"
        );
    }
}

impl Field {
    fn commit_again(&self, words: &str) {
        self.write("project/src/a.txt", words);
        self.commit(words);
    }
}

/// Ways to print every object, named or not.
const ALL_OBJECTS: &[&str] = &[
    "git cat-file --batch-all-objects --batch",
    "git fsck --lost-found; git fsck --unreachable | cut -d' ' -f3 | git cat-file --batch",
    "git fsck --unreachable | cut -d' ' -f3 | xargs -n1 git cat-file -p",
    "for f in $(find .git -type f -path '*objects/??/*'); do python3 -c \"import sys, zlib; print(zlib.decompress(open(sys.argv[1], 'rb').read()))\" $f; done",
];

#[test]
fn versions_without_a_name_are_not_shown() {
    let field = Field::new();
    field.write("project/src/b.txt", "second\n");
    field.commit("first");
    assert_eq!(field.shown(), agent::tools::ShownHistory::default());
    // Staged and taken out again, and written by hand: nothing leads to them.
    field.write("project/.env", &format!("{SECRET}-staged\n"));
    field.git("project", &["add", "-f", ".env"]);
    field.git("project", &["rm", "-q", "--cached", ".env"]);
    field.write("project/note", &format!("{SECRET}-written\n"));
    field.git("project", &["hash-object", "-w", "note"]);
    std::fs::remove_file(field.root.join("project/note")).unwrap();
    let shown = field.shown();
    assert_eq!((shown.hidden.len(), shown.instead), (2, None));
    for kind in kinds() {
        for command in ALL_OBJECTS {
            let outcome = field.run("project", kind, command);
            let said = format!("{}{}", outcome.stdout_text(), outcome.stderr_text());
            assert!(!said.contains("CANARY-"), "{kind} {command}: {said}");
        }
        let log = field.run(
            "project",
            kind,
            "git log --format=%s && git show HEAD:src/b.txt",
        );
        assert_eq!(log.stdout_text(), "first\nsecond\n", "{kind}: {log:?}");
    }
    // An object that gets an ordinary name is shown again.
    field.write("project/note", &format!("{SECRET}-written\n"));
    field.git("project", &["add", "note"]);
    field.git("project", &["commit", "-q", "-m", "second"]);
    assert_eq!(field.shown().hidden.len(), 1);
    // In a pack they cannot be hidden one by one.
    field.git("project", &["gc", "-q", "--cruft"]);
    assert!(field.shown().instead.is_some());
}

#[test]
fn a_deleted_branch_is_judged_by_its_names() {
    let field = Field::new();
    field.commit("first");
    field.git("project", &["checkout", "-q", "-b", "gone"]);
    field.write("project/.env", &format!("{SECRET}-branch\n"));
    field.commit("secret");
    field.git("project", &["checkout", "-q", "main"]);
    field.git("project", &["branch", "-q", "-D", "gone"]);
    field.git("project", &["reflog", "expire", "--expire=now", "--all"]);
    assert!(field.shown().instead.is_some());
    // One without secrets is shown as it is.
    let field = Field::new();
    field.commit("first");
    field.git("project", &["checkout", "-q", "-b", "gone"]);
    field.write("project/src/c.txt", "third\n");
    field.commit("harmless");
    field.git("project", &["checkout", "-q", "main"]);
    field.git("project", &["branch", "-q", "-D", "gone"]);
    field.git("project", &["reflog", "expire", "--expire=now", "--all"]);
    assert_eq!(field.shown(), agent::tools::ShownHistory::default());
}

#[test]
fn repositories_in_the_project_show_nothing_refused_either() {
    let field = Field::new();
    let nested = |name: &str, secret: bool| {
        let dir = format!("project/{name}");
        field.write(&format!("{dir}/a.txt"), "nested\n");
        field.git(&dir, &["init", "-q", "-b", "main"]);
        if secret {
            field.write(&format!("{dir}/.env"), &format!("{SECRET}-{name}\n"));
        }
        field.git(&dir, &["add", "-A", "-f"]);
        field.git(&dir, &["commit", "-q", "-m", "first"]);
        std::fs::remove_file(field.root.join(&dir).join(".env")).ok();
    };
    nested("lib/open", false);
    nested("lib/closed", true);
    // A submodule, whose repository is in that of the project, and one that is not checked out.
    field.write("origin/.env", &format!("{SECRET}-module\n"));
    field.git("origin", &["init", "-q", "-b", "main"]);
    field.git("origin", &["add", "-A", "-f"]);
    field.git("origin", &["commit", "-q", "-m", "first"]);
    for name in ["sub", "deep/away"] {
        let add = [
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
        ];
        field.git("project", &[&add[..], &["../origin", name]].concat());
    }
    field.git("project", &["add", "src/a.txt"]);
    field.git("project", &["commit", "-q", "-m", "first"]);
    field.git(
        "project",
        &["submodule", "--quiet", "deinit", "-f", "deep/away"],
    );
    for kind in kinds() {
        for place in [".", "lib/closed", "sub"] {
            for verb in [
                "git log -p --all",
                "git cat-file --batch-all-objects --batch",
            ] {
                let command = format!("cd {place} && {verb}");
                let outcome = field.run("project", kind, &command);
                let said = format!("{}{}", outcome.stdout_text(), outcome.stderr_text());
                assert!(!said.contains("CANARY-"), "{kind} {command}: {said}");
            }
        }
        let away = "git --git-dir=.git/modules/deep/away log -p --all";
        let outcome = field.run("project", kind, away);
        assert!(
            !outcome.stdout_text().contains("CANARY-"),
            "{kind}: {outcome:?}"
        );
        let open = field.run("project", kind, "cd lib/open && git log --format=%s -p");
        assert!(open.stdout_text().contains("+nested"), "{kind}: {open:?}");
    }
}
