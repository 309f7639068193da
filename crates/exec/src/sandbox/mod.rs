//! Sandboxed commands: the kernel restricts the paths they write and read and the network they
//! reach.
//!
//! A [`Sandbox`] lists the permissions; [`Invocation::sandbox`](crate::Invocation::sandbox) puts a
//! command into it. There are three kinds, and [`probe`] starts each to find out whether it works:
//!
//! - **namespaces**: the program re-executes itself in user, mount, process, IPC, network and UTS
//!   namespaces of its own and changes the mounts there: everything read-only, the workspace
//!   writable, hidden files covered. No program has to be installed for it.
//! - **bubblewrap**: the same view, made by `bwrap`, if the system refuses namespaces to this
//!   program.
//! - **Landlock with seccomp**, if no namespaces are permitted: the kernel checks every path
//!   against an allow-list and refuses system calls. The list knows hierarchies only, so a
//!   directory with an exception in it cannot get new entries; see [`SandboxProbe::explain`]. Root gets it
//!   only when asked for by name.
//!
//! If none works, a command is refused. It runs without a sandbox only with [`SandboxRequirement::None`].
//!
//! **Every path is a descriptor before it is a rule.** `handles` opens each allowed, hidden or
//! mounted path once, beneath the workspace's own handle and without following links, and the
//! descriptor is mounted or granted. A command that renames directories while another one starts
//! therefore cannot change the other one's permissions.
//!
//! In all kinds: no new privileges; no UNIX sockets (a socket such as Docker's is a way out) unless
//! [`UnixSockets::On`], while `socketpair` works; no `ptrace`, no mounts, no namespaces, no kernel
//! keys, no BPF, no `io_uring`; every process it started ends with the command, daemons included.
//!
//! With mounts (the first two kinds), a command whose time is up gets no time to clean up; one
//! ended by a signal is reported like in a shell, with the code 128 and the signal's number; and
//! the directories above a held or hidden file are mount points, so that moving a file out of one
//! means copying it, and programs that cannot do that say `EXDEV`.
//!
//! Limits on processes, memory and the size of files hold in all kinds ([`ResourceLimits`]), and
//! everything ends with the program that asked for the command, also when that is killed.
//!
//! Not restricted: processor time, and disk space of the workspace, up to the command's timeout;
//! processes of root under bubblewrap and Landlock, which the kernel does not count; a hidden file
//! that has another name already (a hard link, a second mount), which is hidden under the given
//! name only; with mounts, a named pipe outside that the user may write and another process reads.

mod cause;
mod probe;
mod spec;

#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod cage;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod guard;
#[cfg(target_os = "linux")]
mod handles;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod landlock_rules;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod message;
#[cfg(target_os = "linux")]
mod mountinfo;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod placeholder;
#[cfg(target_os = "linux")]
mod stages;
#[cfg(target_os = "linux")]
mod verify;
#[cfg(target_os = "linux")]
mod view;

#[cfg(not(target_os = "linux"))]
mod unsupported;

pub use cause::likely_cause;
pub use probe::{SandboxAvailability, SandboxProbe, probe, probed};
pub use spec::{
    GitAccess, NetworkAccess, ResourceLimits, Sandbox, SandboxKind, SandboxRequirement,
    TMP_BYTES_MAX, UnixSockets, UnknownRequirement,
};

#[cfg(target_os = "linux")]
pub use stages::{serve_stages, use_stages_of};
#[cfg(not(target_os = "linux"))]
pub use unsupported::{serve_stages, use_stages_of};

#[cfg(target_os = "linux")]
pub(crate) use cage::{Cage, start};
#[cfg(not(target_os = "linux"))]
pub(crate) use unsupported::{UnsandboxedCage as Cage, start};
