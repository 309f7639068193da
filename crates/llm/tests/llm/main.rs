//! The crate against real servers: scripted ones over TCP, aimock, and a small model.

#![allow(
    clippy::disallowed_methods,
    reason = "tests start the servers they talk to"
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
