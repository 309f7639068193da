//! Users, schedules, views and tokens in the database: one suite over their ports and both engines,
//! failures as well as successes.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures and fail by panicking"
)]

mod place;

mod attempts;
mod audit;
mod backup;
mod credentials;
mod details;
mod growth;
mod idempotency;
mod interrupted;
mod logs;
mod outbox;
mod queries;
mod reading;
mod schedules;
mod sessions;
mod stream;
mod sweeping;
mod tokens;
mod triggers;
mod users;
mod versions;
mod views;
mod watching;
mod webhooks;

use testkit::cluster;
