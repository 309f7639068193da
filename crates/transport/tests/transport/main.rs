//! Every mode against real programs, real HTTP and a scripted person.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests build their own fixtures"
)]

mod support;

mod api;
mod cancel;
mod choosing;
mod command;
mod off;
mod peers;
mod same;
mod stdio;
mod tapes;
