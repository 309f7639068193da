//! The crate against real servers: scripted ones over TCP, aimock, and a small model.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests start the servers they talk to, and what fails in setting up fails the test"
)]

mod peer;
mod scripted;
mod support;

mod aimock;
mod faults;
mod listing;
mod sent;
mod smollm;
mod wire;
mod wrappers;
