//! Users, agents and schedules with the real binary, in a file and on a server.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, start the binary as a user would, and fail by panicking"
)]

#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../cli/project.rs"]
mod project;

#[path = "../postgres/small.rs"]
mod small;

mod added;
mod agents;
mod attempts;
mod encrypted;
mod operating;
mod outside;
mod schedules;
mod server;
mod serving;
mod users;

use project::{CliProject, ExpectedRun, ExpectedText, ProgramOutput, check};
use serde_json::Value;
use testkit::{certificate, cluster};

/// A command line that must succeed, and the document it prints.
#[track_caller]
fn document(project: &CliProject, line: &str) -> Value {
    let ran = done(project, line);
    serde_json::from_str(&ran.out).unwrap_or_else(|cause| panic!("{cause}: {}", ran.out))
}

#[track_caller]
fn done(project: &CliProject, line: &str) -> ProgramOutput {
    let expect = ExpectedRun {
        exit: 0,
        out: ExpectedText::Anything,
        err: ExpectedText::Anything,
    };
    check(project, line, expect)
}

/// A command line that must be refused, saying these pieces in this order.
#[track_caller]
fn refused(project: &CliProject, line: &str, exit: i32, says: &[&str]) {
    let expect = ExpectedRun {
        exit,
        out: ExpectedText::Nothing,
        err: ExpectedText::Has(says),
    };
    check(project, line, expect);
}
