//! Commands that take more than they may: each limit is hit in each kind of sandbox.

use exec::sandbox::{ResourceLimits, Sandbox, SandboxRequirement};
use exec::{CommandStatus, run, shell};

use crate::test_sandbox::{TestSandbox, is_root, kinds, kinds_with_mounts};

const MB: u64 = 1024 * 1024;

/// Starts up to 400 processes and says how many there were when the system refused another one.
const FORKS: &str = "python3 - <<'END'
import os, time
started = 0
try:
    while started < 400:
        if os.fork() == 0:
            time.sleep(60)
        started += 1
except OSError as error:
    print(started, error.strerror)
END
kill -9 0";

/// Runs a script with these limits; what it says has to contain `said`.
#[track_caller]
fn check(kind: SandboxRequirement, limit: impl Fn(Sandbox) -> Sandbox, script: &str, said: &str) {
    let field = TestSandbox::new();
    let outcome = field.run(&limit(field.sandbox(kind)), script);
    let text = format!("{}{}", outcome.stdout_text(), outcome.stderr_text());
    assert!(text.contains(said), "{kind}: {outcome:?}");
}

fn limited(change: impl Fn(&mut ResourceLimits)) -> impl Fn(Sandbox) -> Sandbox {
    move |sandbox| {
        let mut limits = ResourceLimits::default();
        change(&mut limits);
        sandbox.limits(limits)
    }
}

#[test]
fn memory_is_limited() {
    for kind in kinds() {
        let limit = limited(|limits| limits.memory_bytes_max = 256 * MB);
        let script = |bytes: u64| format!("python3 -c 'print(len(bytearray({bytes})))'");
        check(kind, &limit, &script(400 * MB), "MemoryError");
        check(kind, &limit, &script(100 * MB), "104857600");
        // Nor by a process that it starts, nor after raising what can be raised.
        let again = format!("ulimit -d unlimited; sh -c \"{}\"", script(400 * MB));
        check(kind, &limit, &again, "MemoryError");
    }
}

#[test]
fn files_are_limited() {
    for kind in kinds() {
        let limit = limited(|limits| limits.file_bytes_max = MB);
        let script = "trap '' XFSZ; head -c 3000000 /dev/zero > big; wc -c < big; \
                      truncate -s 3000000 sparse; head -c 3000000 /dev/zero > $TMPDIR/big; wc -c < $TMPDIR/big";
        check(kind, &limit, script, "1048576\n1048576\n");
    }
}

#[test]
fn temporary_files_are_limited() {
    for kind in kinds_with_mounts() {
        for dir in ["/tmp", "/var/tmp", "/dev/shm"] {
            let script = format!("head -c 3000000 /dev/zero > {dir}/big; wc -c < {dir}/big");
            let limit = |sandbox: Sandbox| sandbox.tmp_bytes_max(MB);
            check(kind, limit, &script, "No space left on device");
        }
        // The device directory offers no memory either.
        let script = "echo x > /dev/big; mkdir /dev/dir; ls /dev/big /dev/dir";
        check(kind, |sandbox| sandbox, script, "cannot access '/dev/big'");
    }
}

#[test]
fn processes_are_limited() {
    for kind in kinds() {
        let limit = limited(|limits| limits.processes_max = 40);
        if !is_root() {
            check(kind, limit, FORKS, "Resource temporarily unavailable");
            continue;
        }
        // The kernel does not count those of root, but the numbers in a namespace can be bounded, from
        // 301 upwards (Linux 6.14).
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        let parts = release.split(['.', '-']).take(2);
        let version: Vec<u32> = parts.map(|part| part.parse().unwrap()).collect();
        let has_bound = version >= vec![6, 14];
        if kind == SandboxRequirement::Namespaces && has_bound {
            check(kind, limit, FORKS, "Resource temporarily unavailable");
        }
    }
}

#[test]
fn output_is_limited() {
    for kind in kinds() {
        let field = TestSandbox::new();
        let invocation = shell("yes; echo never").output_bytes_stop(MB);
        let outcome = run(&invocation.sandbox(field.sandbox(kind))).unwrap();
        assert_eq!(outcome.status, CommandStatus::Flooded, "{kind}");
        assert!(outcome.stdout_truncated, "{kind}");
    }
}

/// No limit can be raised again, by any of the calls that could.
#[test]
fn limits_cannot_be_raised() {
    for kind in kinds() {
        let limit = limited(|limits| limits.file_bytes_max = MB);
        let script = "python3 - <<'END'\nimport resource\n\
                      for which in (resource.RLIMIT_FSIZE, resource.RLIMIT_DATA, resource.RLIMIT_NPROC):\n    \
                      try:\n        resource.setrlimit(which, (resource.RLIM_INFINITY,) * 2)\n        print('raised', which)\n    \
                      except (ValueError, OSError): print('refused')\nEND\n";
        check(kind, limit, script, "refused\nrefused\nrefused\n");
    }
}
