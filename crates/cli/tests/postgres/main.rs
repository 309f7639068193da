//! Several workers on one PostgreSQL, with the real binary and a real server: who leads, and how
//! runs end when workers, the server, the network or the disk fail.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, start the binary as a user would, and fail by panicking"
)]

#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../cli/project.rs"]
mod project;

mod server;
mod small;
mod storm;
mod test_cluster;

mod cut;
mod disks;
mod keys;
mod leading;
mod storms;

use testkit::{chance, cluster};
