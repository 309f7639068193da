//! Workflows in a database: runs from begin to end through the port, as workers do it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, start themselves as victims, and fail by panicking"
)]

mod cut;
mod place;
mod stage;
mod working;

mod conformance;
mod full;
mod rates;
mod server;
mod sharing;
mod throughput;
mod trips;
mod whole_runs;

use testkit::cluster;
