//! Fixtures that the tests of several crates share: real servers with scripted answers, peers that are
//! programs, PostgreSQL clusters, and random choices that follow from a seed.
//!
//! Only a dev-dependency. What a single crate's tests need stays beside them.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "fixtures start the servers they describe, and fail the test by panicking"
)]

pub mod certificate;
pub mod chance;
#[cfg(feature = "cluster")]
pub mod cluster;
pub mod peer;
pub mod scripted_forge;
#[cfg(feature = "model")]
pub mod scripted_model;
pub mod stateful_forge;
