//! Workflows with the real binary, a scripted model over real HTTP, and real commands.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, start the binary as a user would, and fail by panicking"
)]

#[allow(
    dead_code,
    reason = "these tests need less of it than those it was written for"
)]
#[path = "../cli/project.rs"]
mod project;

#[allow(
    dead_code,
    reason = "these tests need less of it than those it was written for"
)]
#[path = "../tasks/model.rs"]
mod model;

mod weave;

mod answering;
mod calling;
mod ends;
mod exchanging;
mod killing;
mod wrong;
