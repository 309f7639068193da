//! Runs from beginning to end, as data: a workflow, the commands it gets, and the expected tasks.
//! One file for each row of the table that defines workflows.
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
mod limits;
mod loops;
mod moving;
mod parallel;
mod people;
mod rates;
mod reruns;
mod review;
mod script;
mod sight;
mod steering;
mod subflows;
mod waits;
