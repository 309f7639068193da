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

use testkit::{peer, scripted_forge as scripted, stateful_forge as stateful};
