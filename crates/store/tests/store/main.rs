//! The database on real disks: what is kept, what survives, who may hold what, what is refused.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, start themselves as victims, and fail by panicking"
)]

mod place;
mod support;

mod builds;
mod conformance;
mod crash;
mod full;
mod holding;
mod leases;
mod opening;

use testkit::cluster;
