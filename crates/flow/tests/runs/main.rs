//! Runs from their begin to their end, as data: a workflow, what happens to it, and what becomes of
//! it. One file for each row of the table of what workflows mean.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::too_many_lines,
    reason = "a test fails by panicking, and its tables are long"
)]

mod decisions;
mod failures;
mod foreach;
mod gathering;
mod joins;
mod keeping;
mod loops;
mod parallel;
mod people;
mod reruns;
mod review;
mod script;
mod sight;
mod steering;
mod subflows;
mod waits;
