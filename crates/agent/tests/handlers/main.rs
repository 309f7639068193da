//! Tasks, plans and their handlers against a scripted model over real HTTP.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build the projects and servers they work with"
)]

mod task_project;

mod answers;
mod context;
mod docs;
mod generation;
mod plan_files;
mod plan_runs;
mod task_files;
mod validation;

use testkit::scripted_model as scripted;
