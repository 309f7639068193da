//! Users, schedules, views and tokens in the database: one suite over their ports and both engines,
//! failures as well as successes.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures and fail by panicking"
)]

#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../workflows/cluster.rs"]
mod cluster;
mod place;

mod attempts;
mod growth;
mod interrupted;
mod outbox;
mod queries;
mod schedules;
mod sweeping;
mod tokens;
mod users;
mod views;
mod watching;
