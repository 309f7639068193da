//! Users and schedules in the database: one suite over their ports, failures as well as successes.

#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures and fail by panicking"
)]

mod place;

mod schedules;
mod users;
