//! Recipes at their boundary: a project, a command line and answers in; an outcome and files out.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures and fail loudly"
)]

mod check;

mod ai;
mod answers;
mod bad_input;
mod commands;
mod conflicts;
mod exports;
mod files;
mod inject;
mod inputs;
mod kits;
mod own_functions;
mod sub_recipes;
mod tools;
mod update;
