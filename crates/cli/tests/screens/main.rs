//! What people see of runs, with the real binary: on terminals of several sizes, and without one.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, start the binary as a user would, and fail by panicking"
)]

#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../cli/project.rs"]
mod project;

mod terminal;

mod asking;
mod choosing;
mod live;
mod stopping;
mod telling;

use project::CliProject;

/// A project without a model, in which commands run without a sandbox.
fn bare() -> CliProject {
    let settings = "[ai]\nmode = \"stdout\"\n\n[agent.sandbox]\nkind = \"none\"\n";
    CliProject::with(&[("drawloom.toml", settings)])
}
