//! The system calls that a caged command is refused, as seccomp programs.
//!
//! Two programs, because a program has one answer: most calls are refused as not permitted, while
//! `clone3` and `openat2` are answered as unknown, so that libraries fall back to `clone` and `openat`,
//! whose arguments a filter can read.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::{NetworkAccess, Sandbox, UnixSockets};

/// Calls that reach into other processes, the kernel or the view of the file system.
const REFUSED: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // The view of the file system, and files past it.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    // The kernel.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    // The numbers that differ in the x32 way of calling.
    X32 | 521,
    X32 | 528,
    X32 | 539,
    X32 | 540,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

/// The same calls have a second set of numbers, which this bit marks.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;
#[cfg(target_arch = "x86_64")]
const X32_IOCTL: i64 = X32 | 514;

/// The calls that the filter allows or refuses beside the fixed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FilterOpenings {
    /// Allows sockets to other machines and to loopback.
    pub(crate) internet: bool,
    /// Allows UNIX sockets.
    pub(crate) unix: bool,
    /// Allows a process to leave the session it was started in.
    pub(crate) sessions: bool,
    /// True if every process the command can name is inside the sandbox.
    pub(crate) other_processes: bool,
}

impl FilterOpenings {
    /// For a command in its own network namespace: sockets are harmless there.
    pub(crate) fn with_namespaces(sandbox: &Sandbox) -> Self {
        Self {
            internet: true,
            unix: sandbox.unix_sockets == UnixSockets::On,
            sessions: true,
            other_processes: true,
        }
    }

    /// For a command that shares the machine's network.
    pub(crate) fn without_namespaces(sandbox: &Sandbox, sessions: bool) -> Self {
        Self {
            internet: sandbox.network == NetworkAccess::On,
            unix: sandbox.unix_sockets == UnixSockets::On,
            sessions,
            other_processes: false,
        }
    }
}

/// The programs, to be loaded in this order.
pub(crate) fn programs(openings: FilterOpenings) -> Result<[BpfProgram; 2], String> {
    let refused = rules(openings).map_err(|error| error.to_string())?;
    let unknown = BTreeMap::from([
        (libc::SYS_clone3, Vec::new()),
        (libc::SYS_openat2, Vec::new()),
    ]);
    Ok([
        compile(unknown, libc::ENOSYS)?,
        compile(refused, libc::EPERM)?,
    ])
}

/// A program as the bytes that `bwrap` reads.
pub(crate) fn bytes(program: &BpfProgram) -> Vec<u8> {
    let instruction = |step: &seccompiler::sock_filter| {
        let mut bytes = step.code.to_ne_bytes().to_vec();
        bytes.extend([step.jt, step.jf]);
        bytes.extend(step.k.to_ne_bytes());
        bytes
    };
    program.iter().flat_map(instruction).collect()
}

fn compile(mut rules: SyscallRules, errno: i32) -> Result<BpfProgram, String> {
    #[cfg(target_arch = "x86_64")]
    for (call, chain) in rules.clone() {
        rules.entry(call | X32).or_insert(chain);
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    let filter = SeccompFilter::new(
        std::mem::take(&mut rules),
        SeccompAction::Allow,
        SeccompAction::Errno(errno.unsigned_abs()),
        arch,
    );
    let program = filter.and_then(BpfProgram::try_from);
    program.map_err(|error| error.to_string())
}

type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

fn rules(openings: FilterOpenings) -> Result<SyscallRules, seccompiler::BackendError> {
    let refused = REFUSED.iter().chain(REFUSED_HERE);
    let mut rules: SyscallRules = refused.map(|call| (*call, Vec::new())).collect();
    if !openings.sessions {
        rules.insert(libc::SYS_setsid, Vec::new());
        rules.insert(libc::SYS_setpgid, Vec::new());
    }
    rules.insert(libc::SYS_clone, namespaces()?);
    rules.insert(libc::SYS_socket, sockets(openings)?);
    rules.insert(libc::SYS_socketpair, socket_pairs()?);
    rules.insert(libc::SYS_ioctl, terminals()?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(X32_IOCTL, terminals()?);
    for (call, argument) in MODES {
        rules.insert(*call, borrowed_rights(*argument, openings)?);
    }
    for (call, flags, mode) in OPENINGS {
        rules.insert(*call, new_files_with_rights(*flags, *mode)?);
    }
    if !openings.other_processes {
        rules.extend(SHARED_MEMORY.iter().map(|call| (*call, Vec::new())));
        for (call, conditions) in on_other_processes()? {
            rules.insert(call, conditions);
        }
    }
    Ok(rules)
}

/// Calls that set permissions, each with the number of the argument that holds them.
const MODES: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
];
/// Calls that may create a file, each with the numbers of the arguments for flags and permissions.
/// Permissions count only if the flags create a file.
const OPENINGS: &[(i64, u8, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
    (libc::SYS_openat, 2, 3),
];
/// Newer than the list of calls in `libc`.
const FCHMODAT2: i64 = 452;

/// Memory, messages and semaphores that all processes of a user share, inside the sandbox and
/// outside.
const SHARED_MEMORY: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Refuses the set-user-id bit: another user must not run a file with the rights of this one. The
/// set-group-id bit is common on directories; it is refused only if the command can reach files
/// outside.
fn borrowed_rights(
    argument: u8,
    openings: FilterOpenings,
) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    const USER: i32 = 0o4000;
    const GROUP: i32 = 0o2000;
    let bits: &[i32] = match openings.other_processes {
        true => &[USER],
        false => &[USER, GROUP],
    };
    let rule = |bit: &i32| SeccompRule::new(vec![has(argument, bit.unsigned_abs(), *bit)?]);
    bits.iter().map(rule).collect()
}

/// A file cannot be made with borrowed rights either.
fn new_files_with_rights(
    flags: u8,
    mode: u8,
) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    // `O_TMPFILE` without the bit that it shares with `O_DIRECTORY`.
    const UNNAMED: i32 = libc::O_TMPFILE & !libc::O_DIRECTORY;
    const RIGHTS: [i32; 2] = [0o4000, 0o2000];
    let mut rules = Vec::new();
    for how in [libc::O_CREAT, UNNAMED] {
        for bit in RIGHTS {
            rules.push(SeccompRule::new(vec![
                has(flags, how.unsigned_abs(), how)?,
                has(mode, bit.unsigned_abs(), bit)?,
            ])?);
        }
    }
    Ok(rules)
}

/// Limits, priorities and processors of other processes. A process names itself by 0; one that
/// names itself by its number is refused too, because a filter does not know the number.
fn on_other_processes() -> Result<SyscallRules, seccompiler::BackendError> {
    let others = |argument| SeccompRule::new(vec![is_not(argument, 0)?]);
    let new_limit = SeccompRule::new(vec![
        is_not(0, 0)?,
        SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?,
    ])?;
    const PRIO_USER: i32 = 2;
    const IOPRIO_WHO_USER: i32 = 3;
    let all_of_user = |kind| SeccompRule::new(vec![is(0, kind)?]);
    Ok(BTreeMap::from([
        (libc::SYS_prlimit64, vec![new_limit]),
        (libc::SYS_sched_setaffinity, vec![others(0)?]),
        (libc::SYS_sched_setscheduler, vec![others(0)?]),
        (libc::SYS_sched_setparam, vec![others(0)?]),
        (libc::SYS_sched_setattr, vec![others(0)?]),
        (libc::SYS_migrate_pages, vec![others(0)?]),
        (libc::SYS_move_pages, vec![others(0)?]),
        (
            libc::SYS_setpriority,
            vec![others(1)?, all_of_user(PRIO_USER)?],
        ),
        (
            libc::SYS_ioprio_set,
            vec![others(1)?, all_of_user(IOPRIO_WHO_USER)?],
        ),
    ]))
}

/// Refuses new namespaces: a process could be administrator in one.
fn namespaces() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let flags = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];
    let rule = |flag: i32| SeccompRule::new(vec![has(0, flag.unsigned_abs(), flag)?]);
    flags.into_iter().map(rule).collect()
}

fn sockets(openings: FilterOpenings) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    // Every program that resolves a name asks for the network interfaces.
    let mut families = vec![libc::AF_NETLINK];
    if openings.internet {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    if openings.unix {
        families.push(libc::AF_UNIX);
    }
    let others = families.into_iter().map(|family| is_not(0, family));
    Ok(vec![
        SeccompRule::new(others.collect::<Result<_, _>>()?)?,
        SeccompRule::new(vec![
            is(0, libc::AF_NETLINK)?,
            is_not(2, libc::NETLINK_ROUTE)?,
        ])?,
    ])
}

/// Allows stream pairs only: a pair of stream sockets reaches no other process, but a datagram
/// socket can be connected to another address later, even one of a pair.
fn socket_pairs() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    const TYPE_MASK: u32 = 0xf;
    Ok(vec![
        SeccompRule::new(vec![is_not(0, libc::AF_UNIX)?])?,
        SeccompRule::new(vec![has(1, TYPE_MASK, libc::SOCK_DGRAM)?])?,
        SeccompRule::new(vec![has(1, TYPE_MASK, libc::SOCK_RAW)?])?,
    ])
}

/// Refuses to type into a terminal in the user's name.
fn terminals() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    const TIOCSTI: i32 = 0x5412;
    const TIOCLINUX: i32 = 0x541c;
    [TIOCSTI, TIOCLINUX]
        .into_iter()
        .map(|request| SeccompRule::new(vec![is(1, request)?]))
        .collect()
}

fn is(argument: u8, value: i32) -> Result<SeccompCondition, seccompiler::BackendError> {
    compare(argument, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: i32) -> Result<SeccompCondition, seccompiler::BackendError> {
    compare(argument, SeccompCmpOp::Ne, value)
}

fn has(argument: u8, mask: u32, value: i32) -> Result<SeccompCondition, seccompiler::BackendError> {
    compare(argument, SeccompCmpOp::MaskedEq(mask.into()), value)
}

/// Compares the lower half of an argument, because the kernel reads only that half of these.
fn compare(
    argument: u8,
    operator: SeccompCmpOp,
    value: i32,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    let value = u64::from(value.cast_unsigned());
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}
