//! Commands that try to get out of their sandbox, in every kind of sandbox this machine has.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests build their own fixtures"
)]

mod test_sandbox;

mod calls;
mod limits;
mod network;
mod ordinary;
mod probing;
mod processes;
mod programs;
mod races;
mod reading;
mod writing;
