//! Attacks that once worked, one file a finding of the security review: each must fail, for root and
//! for an ordinary user, with the default settings.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, and fail by panicking"
)]

mod victim;

mod finding_03_kits;
mod finding_04_settings;
