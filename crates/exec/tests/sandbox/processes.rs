//! The effects of a sandboxed command on other processes, and the processes it leaves behind.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use exec::sandbox::SandboxRequirement;
use exec::{CommandCancel, CommandSession, CommandStatus, Invocation, SessionEvent, run, shell};

use crate::test_sandbox::{SECRET, TestSandbox, holds_signals, kinds};

/// A process outside the sandbox.
struct Bystander(Child);

impl Bystander {
    fn new() -> Self {
        let mut command = Command::new("sleep");
        command.arg("60").env("BYSTANDER", SECRET);
        Self(command.stdin(Stdio::null()).spawn().unwrap())
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Counts the processes with this argument, anywhere.
fn count(argument: &str) -> usize {
    count_commands(|words| words.contains(&argument.as_bytes()))
}

/// Counts running `sleep ARGUMENT`s, without the programs that are about to become one: `setsid` forks
/// before it does, so for a moment there are two of it.
fn count_sleeping(argument: &str) -> usize {
    count_commands(|words| words.starts_with(&[b"sleep", argument.as_bytes()]))
}

/// Counts the processes of which `matches` takes the words of the command line.
fn count_commands(matches: impl Fn(&[&[u8]]) -> bool) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            matches(&words)
        })
        .count()
}

/// An argument for `sleep` that no other test uses.
fn unique(kind: SandboxRequirement, number: u32) -> String {
    format!("61.{}{}{number}", std::process::id(), kind as u32)
}

#[track_caller]
fn check_gone(argument: &str, what: &str) {
    let until = Instant::now() + Duration::from_secs(2);
    while count(argument) > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(count(argument), 0, "{what}");
}

/// Counts ended children of this process that were not reaped.
fn zombies() -> usize {
    let stats = std::fs::read_dir("/proc").unwrap().flatten();
    let ours = format!(" {} ", std::process::id());
    stats
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
        .filter_map(|stat| stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned()))
        .filter(|rest| rest.starts_with(&format!("Z{ours}")))
        .count()
}

#[test]
fn other_processes_are_out_of_reach() {
    for kind in kinds() {
        // If signals are not refused, these calls would end more than the test.
        if !holds_signals(kind) {
            continue;
        }
        let field = TestSandbox::new();
        let mut bystander = Bystander::new();
        let (pid, ours) = (bystander.0.id(), std::process::id());
        for script in [
            format!("kill -9 {pid}"),
            format!("kill -STOP {ours}; kill -9 {ours}"),
            "kill -9 $PPID".to_owned(),
            "kill -9 -1; true".to_owned(),
            format!(
                "python3 -c 'import os, signal; f = os.pidfd_open({pid}); signal.pidfd_send_signal(f, 9)'"
            ),
            format!("cat /proc/{pid}/environ /proc/{pid}/mem"),
            format!("ls -l /proc/{pid}/fd/ && cat /proc/{pid}/maps"),
            format!(
                "echo 1000 > /proc/{pid}/oom_score_adj && echo SECRET | sed s/SECRET/{SECRET}/"
            ),
        ] {
            let outcome = field.run(&field.sandbox(kind), &script);
            assert!(bystander.is_alive(), "{kind}: {script}");
            assert!(!outcome.stdout_text().contains(SECRET), "{kind}: {script}");
        }
    }
}

#[test]
fn refused_calls_are_refused() {
    // Numbers of x86-64; the name, the number and its arguments.
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let bystander = Bystander::new();
    let pid = bystander.0.id();
    let calls = [
        ("ptrace", format!("101, 16, {pid}, 0, 0")),
        (
            "ptrace by its x32 number",
            format!("0x40000000 | 521, 16, {pid}, 0, 0"),
        ),
        ("process_vm_readv", format!("310, {pid}, 0, 0, 0, 0, 0")),
        ("unshare", "272, 0x10000000".to_owned()),
        (
            "clone into a user namespace",
            "56, 0x10000011, 0, 0, 0, 0".to_owned(),
        ),
        ("mount", "165, 0, 0, 0, 0, 0".to_owned()),
        ("umount2", "166, 0, 0".to_owned()),
        ("open_by_handle_at", "304, -1, 0, 0".to_owned()),
        ("bpf", "321, 0, 0, 0".to_owned()),
        ("perf_event_open", "298, 0, 0, -1, -1, 0".to_owned()),
        ("userfaultfd", "323, 1".to_owned()),
        ("io_uring_setup", "425, 1, 0".to_owned()),
        ("keyctl", "250, 0, -3, 0".to_owned()),
        ("add_key", "248, 0, 0, 0, 0, 0".to_owned()),
        ("setns", "308, -1, 0".to_owned()),
        ("TIOCSTI", "16, 0, 0x5412, 0".to_owned()),
    ];
    let tried: Vec<String> = calls
        .iter()
        .map(|(name, arguments)| format!("attempt('{name}', {arguments})"))
        .collect();
    let script = format!(
        "python3 - <<'END'\nimport ctypes, errno\nlibc = ctypes.CDLL(None, use_errno=True)\n\
         def attempt(name, number, *arguments):\n    ctypes.set_errno(0)\n    \
         result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in arguments])\n    \
         if result != -1 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS):\n        \
         print(name, result, ctypes.get_errno())\n{}\nEND\n",
        tried.join("\n")
    );
    for kind in kinds() {
        let field = TestSandbox::new();
        let outcome = field.run(&field.sandbox(kind), &script);
        assert_eq!(outcome.stdout_text(), "", "{kind}: {outcome:?}");
        assert!(outcome.is_success(), "{kind}: {outcome:?}");
    }
}

#[test]
fn no_privilege_is_gained() {
    let script = "grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status; \
                  grep CapEff /proc/self/status | grep -vE '(0000000000000000|0000000000000002)$'; true";
    for kind in kinds() {
        let field = TestSandbox::new();
        let outcome = field.run(&field.sandbox(kind), script);
        assert_eq!(
            outcome.stdout_text(),
            "NoNewPrivs:\t1\nSeccomp:\t2\n",
            "{kind}"
        );
    }
}

#[test]
fn own_processes_are_managed() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let script = "sleep 60 & kill $! && wait $!; echo $?; timeout 0.1 sleep 60; echo $?; \
                      setsid sh -c 'echo led'; echo pipe | cat";
        let outcome = field.run(&field.sandbox(kind), script);
        assert_eq!(
            outcome.stdout_text(),
            "143\n124\nled\npipe\n",
            "{kind}: {outcome:?}"
        );
    }
}

#[test]
fn a_grandchild_holding_the_pipe_is_not_waited_for() {
    for kind in kinds() {
        let field = TestSandbox::new();
        for (number, start) in [(0, ""), (1, "setsid "), (2, "setsid setsid ")] {
            let sleep = unique(kind, number);
            let started = Instant::now();
            let outcome = field.run(
                &field.sandbox(kind),
                &format!("{start}sleep {sleep} & echo done"),
            );
            assert_eq!(outcome.stdout_text(), "done\n", "{kind}: {outcome:?}");
            assert_eq!(outcome.status, CommandStatus::Exited(0));
            assert!(
                started.elapsed() < Duration::from_secs(3),
                "{kind}: {start}"
            );
            check_gone(&sleep, &format!("{kind}: {start}"));
        }
    }
}

#[test]
fn time_is_up_for_daemons_too() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let sleep = unique(kind, 3);
        let script = format!(
            "setsid sh -c 'trap \"\" TERM HUP; setsid sleep {sleep} >/dev/null 2>&1 & sleep {sleep}' & \
             sleep {sleep} & echo up; wait"
        );
        let invocation = shell(&script)
            .timeout(Duration::from_millis(500))
            .sandbox(field.sandbox(kind));
        let outcome = run(&invocation).unwrap();
        assert_eq!(
            outcome.status,
            CommandStatus::TimedOut,
            "{kind}: {outcome:?}"
        );
        assert_eq!(outcome.stdout_text(), "up\n", "{kind}");
        check_gone(&sleep, &kind.to_string());
        assert_eq!(zombies(), 0, "{kind}");
    }
}

#[test]
fn cancelling_ends_everything() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let sleep = unique(kind, 4);
        let cancel = CommandCancel::default();
        let invocation = shell(&format!("setsid sleep {sleep} & sleep {sleep}"))
            .cancel(cancel.clone())
            .sandbox(field.sandbox(kind));
        let outcome = std::thread::scope(|scope| {
            let running = scope.spawn(|| run(&invocation).unwrap());
            std::thread::sleep(Duration::from_millis(300));
            cancel.cancel();
            running.join().unwrap()
        });
        assert_eq!(outcome.status, CommandStatus::Cancelled, "{kind}");
        check_gone(&sleep, &kind.to_string());
    }
}

/// Processes that start others and go on elsewhere, faster than they can be listed.
#[test]
fn a_storm_of_processes_ends_with_its_time() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let sleep = unique(kind, 5);
        let script = format!(
            "hop() {{ [ $1 -gt 0 ] && (sleep {sleep} & hop $(($1 - 1)) & hop $(($1 - 1)) &); }}; hop 6; sleep {sleep}"
        );
        let invocation = shell(&script)
            .timeout(Duration::from_millis(800))
            .sandbox(field.sandbox(kind));
        let outcome = run(&invocation).unwrap();
        assert_eq!(
            outcome.status,
            CommandStatus::TimedOut,
            "{kind}: {outcome:?}"
        );
        check_gone(&sleep, &kind.to_string());
        assert_eq!(zombies(), 0, "{kind}");
    }
}

#[test]
fn huge_output_is_bounded() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let invocation = shell("yes 0123456789abcdef | head -c 20000000; echo; echo the end")
            .output_bytes_max(10_000)
            .sandbox(field.sandbox(kind));
        let outcome = run(&invocation).unwrap();
        assert!(outcome.is_success(), "{kind}");
        assert!(outcome.stdout_truncated && outcome.stdout.len() < 10_100);
        assert!(outcome.stdout_text().ends_with("the end\n"));
    }
}

#[test]
fn ends_are_reported_as_without_a_sandbox() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let status = |script: &str| field.run(&field.sandbox(kind), script).status;
        assert_eq!(status("exit 0"), CommandStatus::Exited(0), "{kind}");
        assert_eq!(status("exit 3"), CommandStatus::Exited(3), "{kind}");
        assert_eq!(status("exit 1"), CommandStatus::Exited(1), "{kind}");
        // Bubblewrap reports a signal as a shell does.
        let killed = [CommandStatus::Signaled(9), CommandStatus::Exited(137)];
        assert!(killed.contains(&status("kill -9 $$")), "{kind}");
        let input = run(&Invocation::new("cat")
            .stdin("said\n")
            .sandbox(field.sandbox(kind)))
        .unwrap();
        assert_eq!(input.stdout_text(), "said\n", "{kind}");
        let pwd = run(&shell("pwd").sandbox(field.sandbox(kind))).unwrap();
        let workspace = field.workspace.display();
        assert_eq!(pwd.stdout_text(), format!("{workspace}\n"), "{kind}");
    }
}

#[test]
fn a_failed_start_gives_the_reason() {
    for kind in kinds() {
        let field = TestSandbox::new();
        for (program, part) in [
            ("no-such-program-here", "was not found"),
            ("./no-such-file", "was not found"),
            ("/etc/passwd", "Permission denied"),
        ] {
            let invocation = Invocation::new(program).sandbox(field.sandbox(kind));
            let error = run(&invocation).unwrap_err().to_string();
            let known = error.contains(part) || error.contains("may not be executed");
            assert!(known, "{kind}: {error}");
        }
    }
}

#[test]
fn a_session_outlives_the_thread_that_started_it() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let sleep = unique(kind, 6);
        let script = format!("setsid sleep {sleep} & while read line; do echo heard $line; done");
        let invocation = shell(&script).sandbox(field.sandbox(kind));
        let mut session = std::thread::spawn(move || CommandSession::start(&invocation).unwrap())
            .join()
            .unwrap();
        std::thread::sleep(Duration::from_millis(100));
        session.say("one");
        let heard = session.hear(Duration::from_secs(5)).unwrap();
        assert_eq!(
            heard,
            SessionEvent::Line(exec::OutputStream::Stdout, "heard one".to_owned()),
            "{kind}"
        );
        session.close(Duration::from_secs(1)).unwrap();
        check_gone(&sleep, &kind.to_string());
        assert_eq!(zombies(), 0, "{kind}");
    }
}

#[test]
fn many_at_once_do_not_disturb_each_other() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let sandbox = field.sandbox(kind);
        std::thread::scope(|scope| {
            let field = &field;
            let running: Vec<_> = (0..8)
                .map(|number| {
                    let sandbox = sandbox.clone();
                    let script = format!("echo {number} > f{number}; ls /proc/self/fd | wc -l; sleep 0.2; cat f{number}");
                    scope.spawn(move || field.run(&sandbox, &script))
                })
                .collect();
            for (number, running) in running.into_iter().enumerate() {
                let outcome = running.join().unwrap();
                assert_eq!(
                    outcome.stdout_text(),
                    format!("4\n{number}\n"),
                    "{kind}: {outcome:?}"
                );
            }
        });
    }
}

/// The script of a command that runs when this process is killed: set when a test runs itself as a
/// victim.
const VICTIM: &str = "DRAWLOOM_TEST_VICTIM";

#[test]
fn a_killed_program_takes_its_commands_with_it() {
    if let Some(orders) = std::env::var_os(VICTIM) {
        let orders = orders.into_string().unwrap();
        let (kind, sleep) = orders.split_once(' ').unwrap();
        let field = TestSandbox::new();
        let script =
            format!("setsid sleep {sleep} & (setsid setsid sleep {sleep} &); sleep {sleep}");
        field.run(&field.sandbox(kind.parse().unwrap()), &script);
        return;
    }
    for kind in kinds() {
        if !holds_signals(kind) {
            continue;
        }
        let sleep = unique(kind, 7);
        let test = "processes::a_killed_program_takes_its_commands_with_it";
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test])
            .env(VICTIM, format!("{kind} {sleep}"))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        while count_sleeping(&sleep) < 3 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(count_sleeping(&sleep), 3, "{kind}: it did not start");
        victim.kill().unwrap();
        victim.wait().unwrap();
        check_gone(&sleep, &kind.to_string());
    }
}
