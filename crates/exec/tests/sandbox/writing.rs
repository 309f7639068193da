//! The files that a sandboxed command can and cannot write.

use std::path::Path;

use exec::sandbox::{GitAccess, SandboxRequirement};
use exec::{CommandStatus, ExecErrorKind, run, shell};
use rustix::fs::{CWD, FileType, Mode, OFlags};

use crate::test_sandbox::{TestSandbox, holds_pipes, kinds, kinds_with_mounts, snapshot};

/// Nothing outside changes, whatever the script does.
#[track_caller]
fn check_outside(script: &str) {
    for kind in kinds() {
        let field = TestSandbox::new();
        let before = field.world();
        let outcome = field.run(&field.sandbox(kind), script);
        assert_eq!(field.world(), before, "{kind}: {script}: {outcome:?}");
    }
}

/// An attack that fails without a sandbox too would prove nothing.
#[track_caller]
fn check_teeth(script: &str) {
    let field = TestSandbox::new();
    let before = field.world();
    let outcome = field.run(&field.sandbox(SandboxRequirement::None), script);
    assert_ne!(field.world(), before, "{script}: {outcome:?}");
}

#[test]
fn nothing_outside_is_written() {
    for script in [
        "echo x > $OUT/victim",
        "echo x >> $OUT/victim",
        "echo x > $OUT/new",
        "echo x > ../../outside/new",
        "cd .. && cd .. && echo x > outside/new",
        "mkdir $OUT/dir",
        "ln -s /etc $OUT/link",
        "mkfifo $OUT/fifo",
        "rm $OUT/victim",
        "mv $OUT/victim taken",
        "mv $OUT/victim $OUT/renamed",
        "truncate -s 0 $OUT/victim",
        "dd if=/dev/zero of=$OUT/victim count=1 conv=notrunc",
        "cp /etc/passwd $OUT/victim",
        "rm -rf $OUT",
        "mv $OUT $OUT.gone",
        "exec 9<>$OUT/victim && echo x >&9",
    ] {
        check_teeth(script);
        check_outside(script);
    }
}

#[test]
fn detours_lead_nowhere() {
    for script in [
        "ln -s $OUT link; echo x > link/new; echo x > link/victim",
        "ln -s $OUT/victim file; echo x > file",
        "ln $OUT/victim hard && echo x > hard",
        "ln -s $OUT/victim soft; ln -L soft hard && echo x > hard",
        "echo x > /proc/self/root$OUT/new",
        "echo x > /proc/1/root$OUT/new",
        "echo x > /proc/$PPID/root$OUT/new",
        "echo x > /proc/self/cwd/../../outside/new",
        "for p in /proc/[0-9]*; do echo x > $p/root$OUT/new; echo x > $p/cwd/../../outside/new; done",
        "exec 9<$OUT; echo x > /proc/self/fd/9/new",
        "exec 9<$OUT/victim; echo x > /proc/self/fd/9",
        "unshare -Urm sh -c 'mount -o remount,rw,bind / ; echo x > $OUT/new'",
        "mkdir m; mount --bind $OUT m; echo x > m/new",
        "chroot / sh -c 'echo x > $OUT/new'",
        "setsid sh -c 'echo x > $OUT/new'",
    ] {
        check_outside(script);
    }
}

#[test]
fn shared_places_are_private_or_refused() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let name = field.workspace.parent().unwrap().file_name().unwrap();
        for place in ["/tmp", "/dev/shm", "/var/tmp", "/run", "/etc", "/dev", "/"] {
            let path = Path::new(place).join(name);
            field.run(
                &field.sandbox(kind),
                &format!("echo x > {}", path.display()),
            );
            assert!(!path.exists(), "{kind}: {}", path.display());
        }
    }
}

/// Runs a script beside a pipe that a program outside reads. Returns what the script said, and what the
/// program was told.
fn told_outside(kind: SandboxRequirement, script: &str) -> (String, Vec<u8>) {
    let field = TestSandbox::new();
    let pipe = field.outside.join("pipe");
    let mode = Mode::RWXU;
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, mode, 0).unwrap();
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let reader = rustix::fs::open(&pipe, flags, Mode::empty()).unwrap();
    let outcome = field.run(&field.sandbox(kind), script);
    let mut told = vec![0; 64];
    let count = rustix::io::read(&reader, &mut told).unwrap();
    told.truncate(count);
    (outcome.stdout_text().into_owned(), told)
}

/// A read-only mount does not hold that back: the pipe's file stays as it is.
#[test]
fn named_pipes_of_other_programs_are_not_written() {
    let script = "echo order > $OUT/pipe; ln -s $OUT/pipe link; echo order > link; echo order >> ../../outside/pipe";
    let (_, without) = told_outside(SandboxRequirement::None, script);
    assert_ne!(without, b"", "the attack has no teeth");
    for kind in kinds().into_iter().filter(|kind| holds_pipes(*kind)) {
        assert_eq!(told_outside(kind, script).1, b"", "{kind}");
        // Those of the command's own work, and so does everything else that is written.
        let own = "mkfifo own && (echo one > own &) && cat own; mkfifo $TMPDIR/p && (echo two > $TMPDIR/p &) && \
                   cat $TMPDIR/p; echo three > /dev/stdout; echo > /dev/null && mkdir a b && echo four > a/f && \
                   mv a/f b/f && ln b/f a/g && cat a/g; sh -c 'cat <<END\nfive\nEND'";
        let (said, _) = told_outside(kind, own);
        assert_eq!(said, "one\ntwo\nthree\nfour\nfive\n", "{kind}");
    }
}

#[test]
fn disks_and_terminals_cannot_be_opened() {
    let script = "for d in /dev/*; do [ -b $d ] || [ -t $d ] || continue; \
                  head -c 1 $d >/dev/null 2>&1 && echo read $d; done; \
                  for d in /dev/pts/[0-9]* /dev/tty[0-9]* /dev/kmsg /dev/mem; do \
                  [ -e $d ] && echo > $d && echo written $d; done 2>/dev/null; true";
    for kind in kinds() {
        let field = TestSandbox::new();
        let outcome = field.run(&field.sandbox(kind), script);
        assert_eq!(outcome.stdout_text(), "", "{kind}");
        assert_eq!(
            outcome.status,
            CommandStatus::Exited(0),
            "{kind}: {outcome:?}"
        );
    }
}

#[test]
fn the_settings_of_the_kernel_cannot_be_opened() {
    // Opened and not written: where it does not hold, the machine is left as it was.
    for place in [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/vm/overcommit_memory",
        "/proc/irq/default_smp_affinity",
        "/proc/sysrq-trigger",
        "/sys/kernel/uevent_helper",
        "/sys/power/state",
    ] {
        for kind in kinds() {
            let field = TestSandbox::new();
            let script = format!("[ -e {place} ] && (: >> {place}) && echo opened");
            let outcome = field.run(&field.sandbox(kind), &script);
            assert_eq!(outcome.stdout_text(), "", "{kind}: {place}");
        }
    }
}

#[test]
fn the_workspace_is_written() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let script = "echo new > made && mkdir -p a/b && mv made a/b/ && echo more >> ../notes && \
                      ln a/b/made hard && ln -s hard soft && cat soft && chmod 700 hard && \
                      mv a ../conf/moved && rm hard && echo $TMPDIR > $TMPDIR/t && mktemp >/dev/null";
        let outcome = field.run(&field.sandbox(kind), script);
        assert!(outcome.is_success(), "{kind}: {outcome:?}");
        assert_eq!(outcome.stdout_text(), "new\n");
        let read = |path: &str| std::fs::read_to_string(field.workspace.join(path)).unwrap();
        assert_eq!(read("conf/moved/b/made"), "new\n");
        assert_eq!(read("notes"), "notes\nmore\n");
    }
}

#[test]
fn directories_added_are_written_and_made() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let cache = field.outside.join("cache/deep");
        let sandbox = field.sandbox(kind).writable(&cache).writable("target");
        let outcome = field.run(
            &sandbox,
            "echo x > $OUT/cache/deep/f && echo x > ../target/f",
        );
        assert!(outcome.is_success(), "{kind}: {outcome:?}");
        assert!(cache.join("f").is_file());
        let outcome = field.run(&sandbox, "echo x > $OUT/cache/f");
        assert!(!outcome.is_success(), "{kind}: {outcome:?}");
    }
}

#[test]
fn a_writable_directory_swapped_for_a_link_is_refused() {
    for kind in kinds() {
        let field = TestSandbox::new();
        std::os::unix::fs::symlink(&field.outside, field.workspace.join("target")).unwrap();
        let sandbox = field.sandbox(kind).writable("target");
        let error = run(&shell("true").sandbox(sandbox)).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::InvalidSandbox);
        assert!(
            error
                .to_string()
                .contains("`target` leads out of the workspace"),
            "{error}"
        );
    }
}

#[track_caller]
fn check_git(script: &str) {
    for kind in kinds() {
        let field = TestSandbox::new();
        let git = field.workspace.join(".git");
        let before = snapshot(&git);
        let outcome = field.run(&field.sandbox(kind), script);
        assert!(git.is_dir() && !git.is_symlink(), "{kind}: {script}");
        let after = snapshot(&git);
        // Landlock does not know permissions.
        let mode = |kind| {
            if kind == SandboxRequirement::Landlock {
                0
            } else {
                u32::MAX
            }
        };
        let without = |found: &std::collections::BTreeMap<_, (Vec<u8>, u32, u32)>| {
            let files = found.iter();
            files
                .map(|(path, (bytes, bits, _))| {
                    (
                        std::path::PathBuf::clone(path),
                        bytes.clone(),
                        bits & mode(kind),
                    )
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(
            without(&after),
            without(&before),
            "{kind}: {script}: {outcome:?}"
        );
    }
}

#[test]
fn the_repository_cannot_be_changed() {
    for script in [
        "echo x > ../.git/config",
        "echo x >> ../.git/HEAD",
        "echo x > ../.git/hooks/post-commit",
        "ln -s $WS/notes ../.git/hooks/post-commit",
        "ln ../notes ../.git/hooks/post-commit",
        "mv ../notes ../.git/hooks/post-commit",
        "rm -rf ../.git",
        "mv ../.git ../.git.old; mkdir ../.git; echo x > ../.git/config",
        "mv ../.git mine; echo x > mine/config; mv mine ../.git",
        "ln -s ../.git g; echo x > g/config",
        "ln ../.git/config c && echo x > c",
        "git -C .. config core.fsmonitor /bin/true",
        "mkdir ../.git/objects",
        "chmod 777 ../.git/config",
    ] {
        check_git(script);
    }
}

#[test]
fn a_repository_may_be_left_writable() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let sandbox = field.sandbox(kind).git(GitAccess::Writable);
        let outcome = field.run(&sandbox, "echo x > ../.git/config && echo x > ../new");
        assert!(outcome.is_success(), "{kind}: {outcome:?}");
    }
}

#[test]
fn a_worktrees_pointer_and_its_repository_are_held() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let git = |args: &str| {
            let line =
                format!("git -c user.name=a -c user.email=a@b -c init.defaultBranch=main {args}");
            let outcome = run(&shell(&line).cwd(&field.outside)).unwrap();
            assert!(outcome.is_success(), "{args}: {outcome:?}");
        };
        git("init -q repo");
        git("-C repo commit -q --allow-empty -m one");
        git("-C repo worktree add -q ../tree");
        let tree = field.outside.join("tree");
        std::fs::create_dir(tree.join("src")).unwrap();
        // The repository lies in a writable directory, and the tree beside it.
        let sandbox = exec::sandbox::Sandbox::new(&tree)
            .requirement(kind)
            .writable(&field.outside);
        let before = (
            snapshot(&field.outside.join("repo/.git")),
            std::fs::read(tree.join(".git")).unwrap(),
        );
        for script in [
            "echo 'gitdir: /tmp/x' > .git",
            "rm .git",
            "mv .git old",
            "echo x > ../repo/.git/config",
            "echo x > ../repo/.git/worktrees/tree/config.worktree",
            "mv ../repo/.git ../repo/old",
        ] {
            run(&shell(script).cwd(&tree).sandbox(sandbox.clone())).unwrap();
            let after = (
                snapshot(&field.outside.join("repo/.git")),
                std::fs::read(tree.join(".git")).unwrap(),
            );
            assert!(after == before, "{kind}: {script}");
        }
        let status = run(&shell("git status --short && git log --oneline")
            .cwd(&tree)
            .sandbox(sandbox))
        .unwrap();
        assert!(status.is_success(), "{kind}: {status:?}");
    }
}

#[test]
fn no_repository_can_be_planted_in_a_plain_folder() {
    for kind in kinds_with_mounts() {
        check_planting(kind);
    }
}

#[track_caller]
fn check_planting(kind: SandboxRequirement) {
    let field = TestSandbox::new();
    let git = field.workspace.join(".git");
    std::fs::remove_dir_all(&git).unwrap();
    let sandbox = field.sandbox(kind);
    for script in [
        "mkdir -p ../.git/hooks && echo x > ../.git/hooks/post-commit",
        "git init -q ..",
        "rmdir ../.git; mkdir ../.git && echo x > ../.git/config",
        "mv ../.git ../old",
    ] {
        field.run(&sandbox, script);
        assert!(!git.exists(), "{kind}: {script}");
    }
    assert!(field.run(&sandbox, "echo x > ../top").is_success());
    // The end of one command does not uncover what another one still runs in.
    std::thread::scope(|scope| {
        let (field, sandbox) = (&field, &sandbox);
        let script = "sleep 0.6; mkdir -p ../.git/hooks";
        let long = scope.spawn(move || field.run(sandbox, script));
        for _ in 0..3 {
            std::thread::sleep(std::time::Duration::from_millis(100));
            assert!(field.run(sandbox, "true").is_success());
        }
        assert!(!long.join().unwrap().is_success(), "{kind}");
    });
    assert!(!git.exists(), "{kind}");
}

#[test]
fn an_administrator_works_in_the_workspace_of_another_user() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let other = std::os::unix::fs::chown(field.workspace.join("src"), Some(1234), Some(1234))
            .and_then(|()| std::os::unix::fs::chown(&field.workspace, Some(1234), Some(1234)));
        // Only an administrator can give files away, and only one has this need.
        if other.is_err() {
            return;
        }
        let before = field.world();
        let sandbox = field.with_secrets(field.sandbox(kind));
        let script = "echo made > made && cat made; echo x > $OUT/victim; cat ../.env; echo x > ../.git/config";
        let outcome = field.run(&sandbox, script);
        assert_eq!(outcome.stdout_text(), "made\n", "{kind}: {outcome:?}");
        let victim = field.outside.join("victim");
        assert_eq!(field.world().get(&victim), before.get(&victim));
    }
}

#[test]
fn a_list_too_long_for_landlock_is_refused() {
    if !kinds().contains(&SandboxRequirement::Landlock) {
        return;
    }
    let field = TestSandbox::new();
    for number in 0..20_001 {
        std::fs::File::create(field.outside.join(number.to_string())).unwrap();
    }
    let sandbox = field
        .sandbox(SandboxRequirement::Landlock)
        .hide(field.outside.join("victim"));
    let error = run(&shell("true").sandbox(sandbox)).unwrap_err();
    assert_eq!(error.kind(), ExecErrorKind::InvalidSandbox);
    assert!(
        error
            .to_string()
            .contains("more than 20000 rules (rules_max)"),
        "{error}"
    );
}

#[test]
fn files_we_act_on_can_be_held() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let sandbox = field.sandbox(kind).read_only("notes").read_only("missing");
        for script in [
            "echo x > ../notes",
            "rm ../notes",
            "mv ../notes old",
            "mv new ../notes",
        ] {
            field.run(&sandbox, &format!("echo x > new; {script}"));
            let notes = std::fs::read_to_string(field.workspace.join("notes"));
            assert_eq!(notes.unwrap(), "notes\n", "{kind}: {script}");
        }
    }
}

#[test]
fn files_we_would_follow_cannot_be_made() {
    for kind in kinds_with_mounts() {
        check_reserved(kind);
    }
}

#[track_caller]
fn check_reserved(kind: SandboxRequirement) {
    let field = TestSandbox::new();
    let sandbox = field.sandbox(kind).reserve("ours.toml");
    let ours = field.workspace.join("ours.toml");
    let attacks = [
        "echo x > ../ours.toml",
        "rm -f ../ours.toml; echo x > ../ours.toml",
        "echo x > new; mv -f new ../ours.toml",
        "ln -sf notes ../ours.toml",
    ];
    for script in attacks {
        field.run(&sandbox, script);
        assert!(!ours.exists(), "{kind}: {script}");
    }
    // An existing file, empty or not, stays unchanged.
    for text in ["", "kept\n"] {
        std::fs::write(&ours, text).unwrap();
        for script in attacks {
            field.run(&sandbox, script);
            assert_eq!(
                std::fs::read_to_string(&ours).unwrap(),
                text,
                "{kind}: {script}"
            );
        }
    }
}

#[test]
fn a_link_to_a_protected_path_cannot_be_replaced() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let link = field.workspace.join("link");
        std::os::unix::fs::symlink("notes", &link).unwrap();
        let sandbox = field.sandbox(kind).read_only("link");
        let script = "rm -f ../link; echo x > ../link";
        let ran = run(&shell(script)
            .cwd(field.workspace.join("src"))
            .sandbox(sandbox));
        assert_eq!(std::fs::read_link(&link).unwrap().to_str(), Some("notes"));
        let notes = std::fs::read_to_string(field.workspace.join("notes"));
        assert_eq!(notes.unwrap(), "notes\n", "{kind}: {ran:?}");
    }
}

#[test]
fn a_sandbox_that_cannot_be_made_is_refused() {
    let check = |sandbox: exec::sandbox::Sandbox, part: &str| {
        let error = run(&shell("true").sandbox(sandbox)).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::InvalidSandbox, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    };
    for kind in kinds() {
        let field = TestSandbox::new();
        let sandbox = |dir: &Path| exec::sandbox::Sandbox::new(dir).requirement(kind);
        check(sandbox(Path::new("/no/such/dir")), "`/no/such/dir`");
        check(sandbox(Path::new("/")), "the whole file system");
        check(sandbox(Path::new("/etc/passwd")), "is not a directory");
        check(field.sandbox(kind).hide(&field.workspace), "hide less");
        check(field.sandbox(kind).hide("/"), "hide less");
        check(field.sandbox(kind).writable("notes/x"), "cannot be created");
    }
}
