//! Attacks that once worked, one file a finding of the security review: each must fail, for root and
//! for an ordinary user, with the default settings.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, start the binary as a user would, and fail by panicking"
)]

#[allow(
    dead_code,
    reason = "these tests need less of it than those it was written for"
)]
#[path = "../cli/project.rs"]
mod project;

mod listener;
mod ordinary;
mod serving;
mod trust_paths;
mod victim;

mod finding_02_recipe_answers;
mod finding_03_kits;
mod finding_04_settings;
mod finding_04_trust;
mod finding_05_http_variables;
mod finding_07_workflow_values;
mod finding_08_addresses;
mod finding_08_redirects;
mod finding_08_urls;
mod finding_12_names;
mod finding_15_callback_key;
mod finding_16_styles;
mod finding_18_private_files;
mod finding_21_database;
