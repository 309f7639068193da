//! Opening a database of either engine: of every version there was, of one there will be, killed on
//! the way, and over TLS.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, start themselves as victims, and fail by panicking"
)]

#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../store/support.rs"]
mod support;

mod database;
mod parts;
mod reading;
mod schemas;
mod server;
mod work;

mod killed;
mod old;
mod strange;
mod tls;

use testkit::cluster;
