//! The files that a sandboxed command can and cannot read.

use exec::sandbox::SandboxRequirement;
use exec::{run, shell};

use crate::test_sandbox::{SECRET, TestSandbox, kinds, snapshot};

/// Checks that the secret is neither in a script's output nor in the files it leaves in the
/// workspace.
#[track_caller]
fn check(script: &str) {
    for kind in kinds() {
        assert_eq!(leaks(kind, script), None, "{kind}: {script}");
    }
    // An attack that fails without a sandbox too would prove nothing. Namespaces may be forbidden.
    if !script.starts_with("unshare") {
        let without = leaks(SandboxRequirement::None, script);
        assert!(without.is_some(), "{script} has no teeth");
    }
}

/// Returns the place to which the secret leaked.
fn leaks(kind: SandboxRequirement, script: &str) -> Option<String> {
    let field = TestSandbox::new();
    let sandbox = field.with_secrets(field.sandbox(kind));
    let outcome = field.run(&sandbox, script);
    let said = format!("{}{}", outcome.stdout_text(), outcome.stderr_text());
    let holds_it = |text: &str| text.contains(SECRET);
    if holds_it(&said) {
        return Some(said);
    }
    let files = snapshot(&field.workspace).into_iter();
    files
        .filter(|(path, _)| !path.ends_with(".env"))
        .find(|(_, (contents, ..))| holds_it(&String::from_utf8_lossy(contents)))
        .map(|(path, _)| path.display().to_string())
}

#[test]
fn hidden_files_are_not_read() {
    for script in [
        "cat ../.env ../conf/.env $OUT/keys/id $OUT/keys/*",
        "cat < ../.env",
        "ln -s ../.env l; cat l; ln -s $OUT/keys k; cat k/id",
        "ln ../.env h; cat h",
        "ln ../conf/.env ../conf/h; cat ../conf/h",
        "ln $OUT/keys/id h; cat h",
        "cp ../.env copy; cp -r $OUT/keys copies",
        "mv ../.env moved; cat moved",
        "mv ../conf ../conf2; cat ../conf2/.env",
        "mv ../conf moved; cat moved/.env",
        "mv $OUT/keys moved; cat moved/id",
        "cat /proc/self/root$WS/.env /proc/1/root$WS/.env /proc/$PPID/root$WS/.env",
        "cat /proc/self/cwd/../.env; exec 9<..; cat /proc/self/fd/9/.env",
        "for p in /proc/[0-9]*; do cat $p/root$WS/.env $p/cwd/.env $p/cwd/../.env; done",
        "tar c .. ; tar c $OUT",
        "grep -r . .. $OUT",
        "dd if=../.env",
        "umount ../.env; umount $OUT/keys; cat ../.env $OUT/keys/id",
        "unshare -Urm sh -c 'umount ../.env; cat ../.env'",
        "unshare -Urm sh -c \"umount -l $OUT/keys; cat $OUT/keys/id\"",
        "chmod 777 ../.env; cat ../.env",
        "python3 -c 'print(open(\"../.env\").read())'",
        "python3 -c 'import os; print(os.read(os.open(\"../.env\", os.O_RDWR), 99))'",
    ] {
        check(script);
    }
}

#[test]
fn hiding_a_link_hides_its_target() {
    for kind in kinds() {
        let field = TestSandbox::new();
        field.put("outside/plain", SECRET);
        std::os::unix::fs::symlink(field.outside.join("plain"), field.workspace.join("link"))
            .unwrap();
        let outcome = field.run(&field.sandbox(kind).hide("link"), "cat ../link $OUT/plain");
        assert_eq!(outcome.stdout_text(), "", "{kind}");
        assert!(!outcome.is_success());
    }
}

#[test]
fn everything_else_is_read() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let sandbox = field.with_secrets(field.sandbox(kind));
        let script = "cat ../notes ../.git/HEAD $OUT/victim && cat /etc/passwd >/dev/null && \
                      ls .. ../conf / /usr >/dev/null && echo x > /dev/null && head -c 4 /dev/urandom | wc -c";
        let outcome = field.run(&sandbox, script);
        assert_eq!(
            outcome.stdout_text(),
            "notes\nref: refs/heads/main\noriginal\n4\n",
            "{kind}: {outcome:?}"
        );
    }
}

#[test]
fn others_temporary_files_are_not_seen() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let theirs = tempfile::NamedTempFile::new_in("/tmp").unwrap();
        std::fs::write(theirs.path(), SECRET).unwrap();
        let script = format!("cat {}", theirs.path().display());
        let outcome = field.run(&field.sandbox(kind), &script);
        assert_eq!(outcome.stdout_text(), "", "{kind}");
    }
}

#[test]
fn a_workspace_among_temporary_files_works() {
    for kind in kinds() {
        let dir = tempfile::tempdir_in("/tmp").unwrap();
        let sandbox = exec::sandbox::Sandbox::new(dir.path()).requirement(kind);
        let outcome = run(&shell("echo made > file && cat file").sandbox(sandbox)).unwrap();
        assert_eq!(outcome.stdout_text(), "made\n", "{kind}: {outcome:?}");
        assert!(dir.path().join("file").is_file());
    }
}

#[test]
fn files_we_hold_open_are_not_handed_on() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let outcome = field.run(
            &field.sandbox(kind),
            "ls /proc/self/fd | wc -l; ls -l /proc/self/fd",
        );
        // Three streams and the listing itself.
        assert!(
            outcome.stdout_text().starts_with("4\n"),
            "{kind}: {}",
            outcome.stdout_text()
        );
    }
}

#[test]
fn a_hidden_path_cannot_be_moved_out_of_sight() {
    for kind in kinds() {
        for script in [
            "mv ../conf ../elsewhere",
            "mkdir -p ../node_modules; mv ../conf ../node_modules/conf",
            "mv ../conf '../a\\b'",
            "cp -r ../conf ../copy",
            "ln ../conf/.env ../copy",
        ] {
            let field = TestSandbox::new();
            let sandbox = field.with_secrets(field.sandbox(kind));
            field.run(&sandbox, script);
            // The next command finds it where it was, and hides it there.
            assert!(
                field.workspace.join("conf/.env").exists(),
                "{kind}: {script}"
            );
            let outcome = field.run(&sandbox, "cat ../*/.env ../*/*/.env ../copy");
            assert!(!outcome.stdout_text().contains(SECRET), "{kind}: {script}");
        }
    }
}
