//! Real toolchains in every kind of sandbox, for root and for an ordinary user: the commands people use
//! work, write what they usually write, and reach nothing else.
//!
//! Tools of the registries are installed once and kept in the target folder.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, start the binary as a user would, and fail by panicking"
)]

#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../tasks/model.rs"]
mod model;
#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../cli/project.rs"]
mod project;
#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../tasks/task_fixture.rs"]
mod task_fixture;

mod installed;
mod user;

mod building;
mod matrix;
#[cfg(feature = "matrix")]
mod maven;
#[cfg(feature = "matrix")]
mod public;
