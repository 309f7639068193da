//! Workflows in a database: runs from begin to end through the port, as workers do it.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests build their own fixtures and fail by panicking"
)]

mod place;
mod working;

mod whole_runs;
