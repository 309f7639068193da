//! `drawloom.toml` and its variables, section by section.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, and fail by panicking"
)]

mod agent;
mod builder;
mod general;

use std::path::Path;

use app::{AppFailure, ProcessEnvironment, ProjectSettings};

/// The settings of a file with this text and of these variables.
fn resolve(file: &str, variables: &[(&str, &str)]) -> Result<ProjectSettings, AppFailure> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drawloom.toml");
    std::fs::write(&path, file).unwrap();
    let mut surroundings = ProcessEnvironment::read(Some(Path::new("."))).unwrap();
    let pairs = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    surroundings.variables = pairs.collect();
    // The settings of the user who runs the tests do not count.
    surroundings.user_folders = app::UserFolders::default();
    ProjectSettings::resolve(Some(&path), &surroundings).map_err(|error| match error {
        app::Error::Own(fault) => *fault,
        other => panic!("{other}"),
    })
}

/// `expected` is `line:column message (hint)`; the place is left out for variables.
fn check_error(file: &str, variables: &[(&str, &str)], expected: &str) {
    let error = resolve(file, variables).expect_err("the settings are wrong");
    let place = error
        .place
        .map_or(String::new(), |at| format!("{}:{} ", at.line, at.column));
    let hint = error
        .hint
        .map_or(String::new(), |hint| format!(" ({hint})"));
    assert_eq!(format!("{place}{}{hint}", error.message), expected);
    assert_eq!(error.code.as_str(), "E_SETTINGS");
}
