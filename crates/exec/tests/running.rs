//! Real processes, well-behaved and not.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests build their own fixtures"
)]

use std::ffi::OsStr;
use std::time::{Duration, Instant};

use exec::{
    AGENT_MARKERS, ChildEnvironment, CommandCancel, CommandOutcome, CommandStatus, ExecErrorKind,
    InheritedVariables, Invocation, OutputStream, run, run_observed, shell, which,
};

#[track_caller]
fn check(
    invocation: &Invocation,
    status: CommandStatus,
    stdout: &str,
    stderr: &str,
) -> CommandOutcome {
    let outcome = run(invocation).unwrap();
    assert_eq!(outcome.status, status, "{outcome:?}");
    assert_eq!(outcome.stdout_text(), stdout);
    assert_eq!(outcome.stderr_text(), stderr);
    assert!(!outcome.stdout_truncated && !outcome.stderr_truncated);
    outcome
}

#[test]
fn every_way_to_end_is_recognised() {
    check(
        &shell("echo out; echo err >&2"),
        CommandStatus::Exited(0),
        "out\n",
        "err\n",
    );
    check(&shell("exit 3"), CommandStatus::Exited(3), "", "");
    check(&shell("kill -9 $$"), CommandStatus::Signaled(9), "", "");
    check(&shell("kill -TERM $$"), CommandStatus::Signaled(15), "", "");
    check(
        &Invocation::new("echo").arg("a b").arg("$HOME"),
        CommandStatus::Exited(0),
        "a b $HOME\n",
        "",
    );
    assert!(run(&shell("true")).unwrap().is_success());
    assert_eq!(CommandStatus::Exited(3).to_string(), "exited with code 3");
    assert_eq!(CommandStatus::TimedOut.code(), None);
}

#[track_caller]
fn check_error(invocation: &Invocation, kind: ExecErrorKind, part: &str) {
    let error = run(invocation).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(part), "{error}");
}

#[test]
fn a_failed_start_gives_the_reason() {
    check_error(
        &Invocation::new("no-such-program-here"),
        ExecErrorKind::ProgramNotFound,
        "`no-such-program-here` was not found; install it",
    );
    check_error(
        &Invocation::new("/etc/passwd"),
        ExecErrorKind::NotExecutable,
        "chmod +x",
    );
    check_error(
        &shell("true").cwd("/no/such/dir"),
        ExecErrorKind::NoDirectory,
        "`/no/such/dir` does not exist",
    );
    check_error(
        &Invocation::new("echo").arg("a\0b"),
        ExecErrorKind::InvalidArgument,
        "NUL",
    );
    let long = "x".repeat(200_000);
    check_error(
        &Invocation::new("echo").args(vec![long; 20]),
        ExecErrorKind::InvalidArgument,
        "longer than the system allows",
    );
}

#[test]
fn the_directory_is_the_one_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    check(
        &shell("pwd").cwd(dir.path()),
        CommandStatus::Exited(0),
        &format!("{}\n", real.display()),
        "",
    );
}

#[test]
fn time_is_up_for_the_whole_group() {
    let dir = tempfile::tempdir().unwrap();
    let started = Instant::now();
    // A child and a grandchild, the latter deaf to polite requests.
    let script = "echo first; (trap '' TERM; while :; do sleep 0.1; echo x >> alive; done) & wait";
    let outcome = run(&shell(script)
        .cwd(dir.path())
        .timeout(Duration::from_millis(300)))
    .unwrap();
    assert_eq!(outcome.status, CommandStatus::TimedOut);
    assert_eq!(outcome.stdout, b"first\n");
    assert!(
        started.elapsed() < Duration::from_secs(4),
        "{:?}",
        started.elapsed()
    );
    let size = || std::fs::metadata(dir.path().join("alive")).map_or(0, |found| found.len());
    std::thread::sleep(Duration::from_millis(200));
    let before = size();
    std::thread::sleep(Duration::from_millis(400));
    assert_eq!(size(), before, "the grandchild is still at work");
}

#[test]
fn a_command_deaf_to_requests_is_killed() {
    let started = Instant::now();
    let outcome =
        run(&shell("trap '' TERM; while :; do sleep 0.05; done")
            .timeout(Duration::from_millis(100)))
        .unwrap();
    assert_eq!(outcome.status, CommandStatus::TimedOut);
    let took = started.elapsed();
    assert!(
        took >= exec::KILL_GRACE && took < exec::KILL_GRACE + Duration::from_secs(3),
        "{took:?}"
    );
}

#[test]
fn a_command_may_tidy_up_when_its_time_is_up() {
    let script = "trap 'echo tidied; exit 7' TERM; while :; do sleep 0.05; done";
    let outcome = run(&shell(script).timeout(Duration::from_millis(200))).unwrap();
    assert_eq!(outcome.status, CommandStatus::TimedOut);
    assert_eq!(outcome.stdout_text(), "tidied\n");
}

#[test]
fn a_grandchild_holding_the_pipe_is_not_waited_for() {
    for script in ["sleep 60 & echo done", "setsid sleep 3 & echo done"] {
        let started = Instant::now();
        check(&shell(script), CommandStatus::Exited(0), "done\n", "");
        assert!(
            started.elapsed() < Duration::from_secs(2),
            "{script}: {:?}",
            started.elapsed()
        );
    }
}

#[test]
fn nothing_in_the_group_outlives_the_run() {
    let outcome = run(&shell("sleep 60 >/dev/null 2>&1 & echo $!")).unwrap();
    let pid: i32 = outcome.stdout_text().trim().parse().unwrap();
    let gone = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        // A zombie waiting for init has ended too.
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        !state.is_ok_and(|state| !state.contains(") Z "))
    });
    assert!(gone, "process {pid} is still there");
}

#[test]
fn fifty_megabytes_are_drained_and_shortened() {
    let invocation = shell("yes 0123456789abcdef | head -c 50000000; echo; echo the end")
        .output_bytes_max(10_000);
    let outcome = run(&invocation).unwrap();
    assert_eq!(outcome.status, CommandStatus::Exited(0));
    assert!(outcome.stdout_truncated && !outcome.stderr_truncated);
    assert!(outcome.stdout.len() < 10_100, "{}", outcome.stdout.len());
    let text = outcome.stdout_text();
    assert!(text.starts_with("0123456789abcdef\n"));
    assert!(text.ends_with("the end\n"));
    assert!(
        text.contains("bytes left out: the limit is 10000"),
        "{text}"
    );
}

#[test]
fn large_input_and_output_at_once_do_not_deadlock() {
    let bytes = b"0123456789abcde\n".repeat(200_000);
    let invocation = Invocation::new("cat")
        .stdin(bytes.clone())
        .output_bytes_max(10_000_000);
    let outcome = run(&invocation.timeout(Duration::from_secs(30))).unwrap();
    assert_eq!(outcome.status, CommandStatus::Exited(0));
    assert!(outcome.stdout == bytes);
}

#[test]
fn input_that_is_not_read_is_no_error() {
    let bytes = vec![b'x'; 5_000_000];
    check(
        &shell("exit 0").stdin(bytes.clone()),
        CommandStatus::Exited(0),
        "",
        "",
    );
    check(
        &shell("head -c 3").stdin(bytes),
        CommandStatus::Exited(0),
        "xxx",
        "",
    );
    check(&shell("cat").stdin(""), CommandStatus::Exited(0), "", "");
    // Without input there is an end of file, not a terminal.
    check(
        &shell("cat; [ -t 0 ] || echo none"),
        CommandStatus::Exited(0),
        "none\n",
        "",
    );
}

#[test]
fn a_child_has_no_terminal_to_ask_on() {
    let outcome = run(&shell("exec 3</dev/tty && echo reachable")).unwrap();
    assert!(!outcome.is_success());
    assert_eq!(outcome.stdout_text(), "");
}

#[test]
fn the_child_gets_exactly_the_given_environment() {
    let print = |env: ChildEnvironment| {
        run(&shell("echo \"$HOME|$PATH|$EXTRA|$CARGO_MANIFEST_DIR\"").env(env)).unwrap()
    };
    let ours = |name: &str| std::env::var(name).unwrap_or_default();
    let all = print(ChildEnvironment::default().set("EXTRA", "1"));
    assert_eq!(
        all.stdout_text().trim_end(),
        format!(
            "{}|{}|1|{}",
            ours("HOME"),
            ours("PATH"),
            ours("CARGO_MANIFEST_DIR")
        )
    );
    let only = print(ChildEnvironment::inherit(InheritedVariables::Only(vec![
        "PATH".into(),
        "CARGO_MANIFEST_*".into(),
    ])));
    assert_eq!(
        only.stdout_text().trim_end(),
        format!("|{}||{}", ours("PATH"), ours("CARGO_MANIFEST_DIR"))
    );
    let removed = print(
        ChildEnvironment::default()
            .remove("HOME")
            .remove("CARGO_MANIFEST_DIR"),
    );
    assert_eq!(
        removed.stdout_text().trim_end(),
        format!("|{}||", ours("PATH"))
    );
    let marked = ChildEnvironment::default().set("CLAUDECODE", "1");
    let count =
        |env: ChildEnvironment| run(&shell("env | grep -c '^CLAUDECODE='").env(env)).unwrap();
    assert_eq!(count(marked.clone()).stdout_text().trim(), "1");
    assert_eq!(
        count(marked.remove_all(AGENT_MARKERS)).stdout_text().trim(),
        "0"
    );
    let nothing = run(&Invocation::new("/usr/bin/env")
        .env(ChildEnvironment::inherit(InheritedVariables::Nothing).set("A", "1")))
    .unwrap();
    assert_eq!(nothing.stdout_text(), "A=1\n");
}

#[test]
fn lines_are_handed_over_as_they_come() {
    let mut seen = Vec::new();
    let started = Instant::now();
    let script = "echo one; echo two >&2; sleep 0.3; printf 'a\\r\\nbare'";
    run_observed(&shell(script), &mut |stream, line| {
        seen.push((stream, line.to_owned(), started.elapsed()));
    })
    .unwrap();
    let lines: Vec<_> = seen
        .iter()
        .map(|(stream, line, _)| (*stream, line.as_str()))
        .collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(
        lines.contains(&(OutputStream::Stdout, "one"))
            && lines.contains(&(OutputStream::Stderr, "two"))
    );
    assert_eq!(
        &lines[2..],
        [(OutputStream::Stdout, "a"), (OutputStream::Stdout, "bare")]
    );
    assert!(
        seen[0].2 < Duration::from_millis(250),
        "the first line came late"
    );
}

#[test]
fn a_cancelled_command_ends_soon() {
    let cancel = CommandCancel::default();
    let started = Instant::now();
    let outcome = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&shell("sleep 60").cancel(cancel.clone())).unwrap());
        std::thread::sleep(Duration::from_millis(100));
        cancel.cancel();
        running.join().unwrap()
    });
    assert_eq!(outcome.status, CommandStatus::Cancelled);
    assert!(started.elapsed() < Duration::from_secs(2));
}

#[test]
fn short_commands_cost_little_waiting() {
    let started = Instant::now();
    for _ in 0..20 {
        assert!(run(&Invocation::new("true")).unwrap().is_success());
    }
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn programs_are_found_in_the_path_given() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("tool");
    std::fs::write(&program, "#!/bin/sh\n").unwrap();
    assert_eq!(
        which("tool", dir.path().as_os_str()),
        None,
        "not executable yet"
    );
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, permissions).unwrap();
    let path = std::env::join_paths(["/nonexistent".as_ref(), dir.path()]).unwrap();
    assert_eq!(which("tool", &path), Some(program.clone()));
    assert_eq!(
        which(program.to_str().unwrap(), OsStr::new("")),
        Some(program)
    );
    assert_eq!(which("tool", OsStr::new("/usr/bin:")), None);
    assert_eq!(which("", &path), None);
    assert_eq!(
        which("usr", OsStr::new("/")),
        None,
        "a directory is no program"
    );
}
