//! Every AI mode from the command line, against real HTTP, real programs and a real terminal.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, start the binary as a user would, and fail by panicking"
)]

#[path = "../cli/project.rs"]
#[allow(
    dead_code,
    reason = "shared with the other tests, which use more of it"
)]
mod project;

mod scripted;
mod test_project;

mod asking;
mod faults;
mod keeping;
mod ledger;
mod real;
mod refused;
mod same;
mod seed;
mod steps;
mod tapes;
mod terminal;
mod waiting;
