//! The API as programs use it: requests in, responses out, on a scratch database of each engine.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures and fail by panicking"
)]

mod access;
mod acts;
mod attacks;
mod builds;
mod conventions;
mod document;
mod faults;
mod hostile_input;
mod mcp;
mod more_acts;
mod oidc;
mod operators;
mod people;
mod postgres;
mod recipes;
mod roles;
mod runs;
mod stream;
mod telemetry;
mod test_server;
mod webhooks;
mod workflows;

use testkit::{certificate, cluster};
