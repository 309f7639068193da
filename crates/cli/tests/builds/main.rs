//! Builds with the real binary: a scripted model, real git, a real remote and an emulated GitHub.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, start the binary as a user would, and fail by panicking"
)]

#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../mcp/client.rs"]
mod mcp_client;
#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../tasks/model.rs"]
mod model;
#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../cli/project.rs"]
mod project;
#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../postgres/server.rs"]
mod server;
#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../tasks/task_fixture.rs"]
mod task_fixture;

mod agents;
mod build_fixture;

mod deciding;
mod elsewhere;
mod failing;
mod forges;
mod going_on;
mod interrupted;
mod looking;
mod outside;
mod publishing;
mod serving;
mod terminal;
mod untouched;
mod wrong;

use testkit::{cluster, peer, stateful_forge as stateful};
