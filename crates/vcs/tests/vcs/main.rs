//! The crate against real git, a real HTTP remote, an emulated GitHub and scripted servers.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, and what fails in setting up fails the test"
)]

mod fixture;
mod peer;
mod scripted;
#[allow(dead_code, reason = "tests of other crates use the rest")]
mod stateful;

mod alike;
mod branches;
mod commits;
mod crashes;
mod emulator;
mod facts;
mod forge;
mod forges;
mod patches;
mod pushing;
mod remembering;
mod uncommitted;
mod worktrees;
