//! The API as programs use it: requests in, responses out, on a scratch database of each engine.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures and fail by panicking"
)]

#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../../../store/tests/workflows/cluster.rs"]
mod cluster;

mod access;
mod acts;
mod attacks;
mod builds;
mod certificate;
mod conventions;
mod document;
mod faults;
mod hostile_input;
mod mcp;
mod more_acts;
mod operators;
mod people;
mod postgres;
mod recipes;
mod roles;
mod runs;
mod stream;
mod test_server;
mod webhooks;
mod workflows;
