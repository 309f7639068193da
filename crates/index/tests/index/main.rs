//! The index and the import graph: small projects as literals, the facts found in them, and
//! failures.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests build their own fixtures and processes"
)]

mod project;

mod budget;
mod edges;
mod exports;
mod impact;
mod keeping;
mod oracle;
mod readers;
mod refusing;
