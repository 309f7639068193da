//! Tasks and plans with the real binary and a scripted model over real HTTP, in all three formats.

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

mod model;
mod task_fixture;

mod doctor;
mod killing;
mod live;
mod mcp;
mod outside;
mod plans;
mod schemas;
mod tasks;
mod wrong;
