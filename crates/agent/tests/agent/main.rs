//! The loop and the tools against a scripted model over real HTTP, in all three wire formats.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build the projects and servers they work with"
)]

mod agent_fixture;

mod limits;
mod mcp;
mod mcp_http;
mod resume;
mod smollm;
mod tools;
mod turns;

use testkit::scripted_model as scripted;
