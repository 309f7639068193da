//! Commands in a cage: what they may write, read and reach, held by the kernel.
//!
//! A [`Sandbox`] says what is allowed; [`Invocation::sandbox`](crate::Invocation::sandbox) puts a
//! command into it. Two kinds can hold it, and [`probe`] finds out by starting them:
//!
//! - **bubblewrap**: a view of the file system made of mounts (everything read-only, the workspace
//!   writable, what is hidden covered), with process, IPC and network namespaces of its own.
//! - **Landlock with seccomp**, where namespaces are not permitted: the kernel checks every path
//!   against an allow-list and refuses system calls. The list knows hierarchies only, so a
//!   directory with an exception in it cannot get new entries; see [`Probe::explain`].
//!
//! When neither holds, a command is refused. It runs without a sandbox only where
//! [`Requirement::None`] says so.
//!
//! In both kinds: no new privileges; no UNIX sockets (a socket such as Docker's is a way out)
//! unless [`UnixSockets::On`], while `socketpair` works; no `ptrace`, no mounts, no namespaces, no
//! kernel keys, no BPF, no `io_uring`; everything that was started ends with the command,
//! daemons included.
//!
//! A command whose time is up, or that is cancelled, is not asked to tidy up in bubblewrap, and one
//! ended by a signal is reported there as by a shell: with the code 128 and the signal's number.
//!
//! The directories above whatever is held or hidden stay where they are. In bubblewrap they are
//! mounts, so that a file moved out of one is copied, and programs that cannot do that say `EXDEV`.
//!
//! What is not held back: processor time, memory and disk space up to the command's timeout; a
//! hidden file that has another name already (a hard link, a second mount) is hidden under the given
//! name only; in bubblewrap, a named pipe outside that the user may write and somebody reads, and a
//! placeholder that another process of ours takes away too early.

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
