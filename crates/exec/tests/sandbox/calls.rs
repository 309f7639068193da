//! System calls that reach other processes, or lend the user's rights: each is tried on a process
//! outside, and the test then checks that the call changed nothing.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use crate::test_sandbox::{TestSandbox, kinds};

/// Prints `NAME refused`, or `NAME` with the result of the call. The numbers are those of x86-64.
const ATTEMPT: &str = "import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, number, *arguments):
    ctypes.set_errno(0)
    arguments = [a if not isinstance(a, int) else ctypes.c_long(a) for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *arguments)
    closed = result == -1 and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS, errno.ESRCH)
    print(name, 'refused' if closed else f'{result} {ctypes.get_errno()}')
limit = (ctypes.c_ulong * 2)(0, 0)
old = (ctypes.c_ulong * 2)(0, 0)
mask = (ctypes.c_ulong * 16)(1)
number = ctypes.c_int(0)
attributes = (ctypes.c_uint32 * 12)(48)
";

/// A call by its name, its number and its arguments; `PID` is a process outside.
type Attempt = (&'static str, &'static str);

/// On another process, by its number.
const ON_OTHERS: &[Attempt] = &[
    ("prlimit64 cpu", "302, PID, 0, limit, None"),
    ("prlimit64 core", "302, PID, 4, limit, old"),
    ("prlimit64 high bits", "302, PID | (1 << 32), 4, limit, old"),
    ("setpriority process", "141, 0, PID, 19"),
    ("setpriority user", "141, 2, 0, 19"),
    ("setpriority group", "141, 1, PID, 19"),
    ("sched_setaffinity", "203, PID, 8, mask"),
    ("sched_setscheduler", "144, PID, 3, ctypes.byref(number)"),
    ("sched_setparam", "142, PID, ctypes.byref(number)"),
    ("sched_setattr", "314, PID, attributes, 0"),
    ("ioprio_set process", "251, 1, PID, (3 << 13)"),
    ("ioprio_set user", "251, 3, os.getuid(), (3 << 13)"),
    ("migrate_pages", "256, PID, 64, mask, mask"),
    ("move_pages", "279, PID, 0, None, None, None, 0"),
    ("process_madvise", "440, -1, None, 0, 0, 0"),
    ("pidfd_getfd", "438, 0, 0, 0"),
    ("kcmp", "312, PID, PID, 0, 0, 0"),
    ("ptrace attach", "101, 16, PID, None, None"),
];

/// Memory, messages and semaphores that all programs of a user share. With namespaces they are the
/// sandbox's own, and harmless.
const SHARED: &[Attempt] = &[
    ("shmget", "29, 0x4d2, 4096, 0o1600"),
    ("shmat", "30, 0, None, 0"),
    ("shmctl", "31, 0, 2, None"),
    ("msgget", "68, 0x4d2, 0o1600"),
    ("msgsnd", "69, 0, None, 0, 0o4000"),
    ("msgrcv", "70, 0, None, 0, 0, 0o4000"),
    ("msgctl", "71, 0, 2, None"),
    ("semget", "64, 0x4d2, 1, 0o1600"),
    ("semop", "65, 0, None, 0"),
    ("semtimedop", "220, 0, None, 0, None"),
    ("semctl", "66, 0, 0, 2, None"),
    ("mq_open", "240, b'drawloom', 0o102, 0o600, None"),
    ("mq_unlink", "241, b'drawloom'"),
];

/// Setuid files: by changing a file and by making one.
const RIGHTS: &[Attempt] = &[
    ("chmod", "90, b'file', 0o4755"),
    ("fchmod", "91, fd, 0o4755"),
    ("fchmodat", "268, -100, b'file', 0o4755"),
    ("fchmodat2", "452, -100, b'file', 0o4755, 0"),
    ("chmod high bits", "90, b'file', 0o4755 | (1 << 40)"),
    ("open", "2, b'made', 0o101, 0o4755"),
    ("openat", "257, -100, b'made', 0o101, 0o4755"),
    ("creat", "85, b'made', 0o4755"),
    ("mknod", "133, b'made', 0o104755, 0"),
    ("mknodat", "259, -100, b'made', 0o104755, 0"),
    ("openat2", "437, -100, b'made', how, 24"),
    ("an unnamed file", "257, -100, b'.', 0o20200001, 0o4755"),
];

/// A process outside, with its limits and its priority as they are when nothing has touched it.
struct Bystander(Child);

impl Bystander {
    fn new() -> Self {
        let mut command = Command::new("sleep");
        Self(command.arg("60").stdin(Stdio::null()).spawn().unwrap())
    }

    /// Everything that the calls would change.
    fn state(&mut self) -> String {
        assert!(self.0.try_wait().unwrap().is_none(), "it was ended");
        let pid = self.0.id();
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap();
        let stat = read("stat");
        let (_, stat) = stat.rsplit_once(") ").unwrap();
        let fields: Vec<&str> = stat.split(' ').collect();
        let status = read("status");
        let allowed = status.lines().find(|line| line.starts_with("Cpus_allowed"));
        // Priority, nice value, real-time priority and policy.
        let priorities = [fields[15], fields[16], fields[37], fields[38]].join(" ");
        format!("{}{priorities} {allowed:?}", read("limits"))
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Makes the calls in a sandbox of every kind. Returns those that were not refused, by kind.
fn tried(
    field: &TestSandbox,
    kind: exec::sandbox::SandboxRequirement,
    before: &str,
    calls: &[Attempt],
) -> Vec<String> {
    let calls: Vec<String> = calls
        .iter()
        .map(|(name, arguments)| format!("attempt('{name}', {arguments})"))
        .collect();
    let script = format!(
        "python3 - <<'END'\n{ATTEMPT}{before}\n{}\nEND\n",
        calls.join("\n")
    );
    let outcome = field.run(&field.sandbox(kind), &script);
    assert!(outcome.is_success(), "{kind}: {outcome:?}");
    let said = outcome.stdout_text();
    assert_eq!(said.lines().count(), calls.len(), "{kind}: {said}");
    let open = said.lines().filter(|line| !line.ends_with(" refused"));
    open.map(str::to_owned).collect()
}

#[test]
fn no_call_changes_another_process() {
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    for kind in kinds() {
        let (field, mut bystander) = (TestSandbox::new(), Bystander::new());
        let before = bystander.state();
        let pid = format!("PID = {}", bystander.0.id());
        let open = tried(&field, kind, &pid, ON_OTHERS);
        if kind == exec::sandbox::SandboxRequirement::Landlock {
            assert_eq!(open, Vec::<String>::new(), "{kind}");
        }
        assert_eq!(bystander.state(), before, "{kind}: {open:?}");
        // Calls that are refused on others are allowed on oneself.
        let own = "resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.nice(1); \
                   os.sched_setaffinity(0, os.sched_getaffinity(0)); print(1)";
        let own = format!("python3 -c 'import os, resource; {own}'");
        let outcome = field.run(&field.sandbox(kind), &own);
        assert_eq!(outcome.stdout_text(), "1\n", "{kind}: {outcome:?}");
    }
}

#[test]
fn nothing_is_shared_with_other_programs() {
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    // A segment of shared memory outside, under the number that the command asks for.
    let outside = "import ctypes\nlibc = ctypes.CDLL(None)\n\
                   print(libc.shmget(0x4d2, 4096, 0o1600), libc.semget(0x4d2, 1, 0o1600))";
    let python = |script: &str| {
        let output = Command::new("python3").args(["-c", script]).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let ids = python(outside);
    for kind in kinds() {
        let field = TestSandbox::new();
        if kind == exec::sandbox::SandboxRequirement::Landlock {
            let open = tried(&field, kind, "", SHARED);
            assert_eq!(open, Vec::<String>::new(), "{kind}");
            continue;
        }
        // With namespaces the number is free: there is no segment to attach.
        let script = "python3 -c \"import ctypes; print(ctypes.CDLL(None).shmget(0x4d2, 4096, 0o600))\"; ipcs -m | grep -c 0x000004d2";
        let outcome = field.run(&field.sandbox(kind), script);
        assert_eq!(outcome.stdout_text(), "-1\n0\n", "{kind}: {outcome:?}");
    }
    let words: Vec<&str> = ids.split_whitespace().collect();
    let [segment, semaphore] = words[..] else {
        panic!("{ids}");
    };
    python(&format!(
        "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.shmctl({segment}, 0, None)\nlibc.semctl({semaphore}, 0, 0)"
    ));
}

#[test]
fn no_file_lends_the_rights_of_its_owner() {
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let before = "how = (ctypes.c_uint64 * 3)(0o101, 0o4755, 0)\n\
                  fd = os.open('file', os.O_CREAT | os.O_WRONLY, 0o644)\nos.umask(0)";
    for kind in kinds() {
        let field = TestSandbox::new();
        let open = tried(&field, kind, before, RIGHTS);
        assert_eq!(open, Vec::<String>::new(), "{kind}");
        for name in ["file", "made"] {
            let about = std::fs::metadata(field.workspace.join("src").join(name));
            let mode = about.map_or(0, |about| about.permissions().mode());
            assert_eq!(mode & 0o6000, 0, "{kind}: {name}");
        }
        // Ordinary files and directories are made as ever.
        let script = "umask 0; : > plain; mkdir -m 2775 shared; install -m 755 plain tool; \
                      python3 -c \"import os; os.open('made-so', os.O_CREAT, 0o640)\"; \
                      stat -c %a plain tool made-so";
        let outcome = field.run(&field.sandbox(kind), script);
        assert_eq!(
            outcome.stdout_text(),
            "666\n755\n640\n",
            "{kind}: {outcome:?}"
        );
    }
}
