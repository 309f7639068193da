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

#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../builds/build_fixture.rs"]
mod build_fixture;
#[allow(
    dead_code,
    reason = "these tests need less of it than those it was written for"
)]
#[path = "../tasks/model.rs"]
mod model;
#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../tasks/task_fixture.rs"]
mod task_fixture;

mod workflow_fixture;

mod answering;
mod any_kind;
mod budgets;
mod building;
mod calling;
mod ends;
mod exchanging;
mod forms;
mod idle;
mod keeping;
mod killing;
mod limits;
mod listing;
mod many;
mod mending;
mod notifying;
mod replies;
mod sharing;
mod showing;
mod triggering;
mod wrong;

use testkit::peer;
