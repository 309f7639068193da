//! Commands in a cage: what they may write, read and reach, held by the kernel.
//!
//! A [`Sandbox`] says what is allowed; [`Invocation::sandbox`](crate::Invocation::sandbox) puts a
//! command into it. Three kinds can hold it, and [`probe`] finds out by starting them:
//!
//! - **namespaces**: the program re-executes itself in user, mount, process, IPC, network and UTS
//!   namespaces of its own and changes the mounts there: everything read-only, the workspace
//!   writable, hidden files covered. No program has to be installed for it.
//! - **bubblewrap**: the same view, made by `bwrap`, where namespaces of our own are refused.
//! - **Landlock with seccomp**, where no namespaces are permitted: the kernel checks every path
//!   against an allow-list and refuses system calls. The list knows hierarchies only, so a
//!   directory with an exception in it cannot get new entries; see [`Probe::explain`]. Root gets
//!   it only when asked for by name.
//!
//! When none holds, a command is refused. It runs without a sandbox only where
//! [`Requirement::None`] says so.
//!
//! **Every path is a descriptor before it is a rule.** `handles` opens each allowed, hidden or mounted
//! path once, beneath the workspace's own handle and without following links, and the descriptor is
//! what is mounted or granted. A command that renames directories while another one starts therefore
//! changes nothing about what that one may reach.
//!
//! In all kinds: no new privileges; no UNIX sockets (a socket such as Docker's is a way out)
//! unless [`UnixSockets::On`], while `socketpair` works; no `ptrace`, no mounts, no namespaces, no
//! kernel keys, no BPF, no `io_uring`; everything that was started ends with the command,
//! daemons included.
//!
//! With mounts (the first two kinds), a command whose time is up is not asked to tidy up; one ended by
//! a signal is reported as by a shell, with the code 128 and the signal's number; and the directories
//! above a held or hidden file are mount points, so that moving a file out of one means copying it, and
//! programs that cannot do that say `EXDEV`.
//!
//! What is not held back: processor time, and under bubblewrap and Landlock memory and disk space, up to
//! the command's timeout; a hidden file that has another name already (a hard link, a second mount) is
//! hidden under the given name only; with mounts, a named pipe outside that the user may write and
//! another process reads.

mod cause;
mod probe;
mod spec;

#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod cage;
#[cfg(target_os = "linux")]
mod carve;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod handles;
#[cfg(target_os = "linux")]
mod landlock;
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
mod nowhere;

pub use cause::likely_cause;
pub use probe::{Availability, Probe, probe, probed};
pub use spec::{
    Git, Kind, Network, Requirement, ResourceLimits, Sandbox, TMP_BYTES_MAX, UnixSockets,
    UnknownRequirement,
};

#[cfg(not(target_os = "linux"))]
pub use nowhere::{serve_stages, use_stages_of};
#[cfg(target_os = "linux")]
pub use stages::{serve_stages, use_stages_of};

#[cfg(target_os = "linux")]
pub(crate) use cage::{Cage, start};
#[cfg(not(target_os = "linux"))]
pub(crate) use nowhere::{Cage, start};
