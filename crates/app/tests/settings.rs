//! `drawloom.toml` and its variables: what they set, and how each mistake is reported.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests build their own fixtures, and fail by panicking"
)]

use std::path::{Path, PathBuf};

use app::settings::{Color, OnConflict, commented_file};
use app::{Fault, Settings, Surroundings};

fn resolve(file: &str, variables: &[(&str, &str)]) -> Result<Settings, Fault> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drawloom.toml");
    std::fs::write(&path, file).unwrap();
    let mut surroundings = Surroundings::read(Some(Path::new("."))).unwrap();
    let pairs = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    surroundings.variables = pairs.collect();
    Settings::resolve(Some(&path), &surroundings).map_err(|error| match error {
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

#[test]
fn the_written_file_is_valid_and_says_the_defaults() {
    assert_eq!(
        resolve(&commented_file(), &[]).unwrap(),
        Settings::default()
    );
    let uncommented: String = commented_file()
        .lines()
        .map(|line| {
            line.strip_prefix("# ")
                .filter(|rest| rest.contains(" = "))
                .unwrap_or(line)
        })
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(resolve(&uncommented, &[]).unwrap(), Settings::default());
}

#[test]
fn variables_override_the_file() {
    let file = "[run]\non_conflict = 'skip'\ntrust = true\n[limits]\nfuel_max = 1_000\n";
    let variables = [
        ("DRAWLOOM_RUN_ON_CONFLICT", "force"),
        ("DRAWLOOM_RECIPES_DIRS", "a:b/c"),
        ("DRAWLOOM_OUTPUT_COLOR", "never"),
        ("DRAWLOOM_SOMETHING_ELSE", "kept out of it"),
    ];
    let settings = resolve(file, &variables).unwrap();
    assert_eq!(settings.run.on_conflict, OnConflict::Force);
    assert!(settings.run.trust);
    assert_eq!(settings.limits.expr.fuel_max, 1000);
    assert_eq!(
        settings.recipes.dirs,
        [PathBuf::from("a"), PathBuf::from("b/c")]
    );
    assert_eq!(settings.output.color, Color::Never);
}

#[test]
fn mistakes_in_the_file_are_shown_where_they_are() {
    check_error(
        "[run]\non_conflit = 'ask'\n",
        &[],
        "2:1 unknown key `on_conflit` (did you mean `on_conflict`?)",
    );
    check_error(
        "[recipe]\n",
        &[],
        "1:2 unknown section `recipe` (did you mean `recipes`?)",
    );
    check_error(
        "[network]\n",
        &[],
        "1:2 unknown section `network` (known here: `recipes`, `run`, `limits`, `output`)",
    );
    check_error(
        "run = 3\n",
        &[],
        "1:1 `run` is a section: write it as [run]",
    );
    check_error(
        "[run]\ntrust = 'yes'\n",
        &[],
        "2:9 `run.trust` must be true or false, not string",
    );
    check_error(
        "[run]\n\non_conflict = 'merge'\n",
        &[],
        "3:15 `run.on_conflict` must be one of \"ask\", \"force\", \"skip\", \"fail\", not \"merge\"",
    );
    check_error(
        "[limits]\nfuel_max = -1\n",
        &[],
        "2:12 `limits.fuel_max` must be a whole number of at least 1, not -1",
    );
    check_error(
        "[recipes]\ndirs = 'a'\n",
        &[],
        "2:8 `recipes.dirs` must be a list of strings, not string",
    );
}

#[test]
fn broken_toml_is_shown_where_it_breaks() {
    let error = resolve("[run]\ntrust = \n", &[]).unwrap_err();
    let place = error.place.unwrap();
    assert_eq!(place.line, 2);
    assert!(
        error
            .message
            .starts_with("drawloom.toml is not valid TOML: "),
        "{}",
        error.message
    );
}

#[test]
fn mistakes_in_variables_name_the_variable_and_its_key() {
    check_error(
        "",
        &[("DRAWLOOM_LIMITS_DEPTH_MAX", "many")],
        "DRAWLOOM_LIMITS_DEPTH_MAX must be a whole number of at least 1, not many \
         (it overrides `limits.depth_max` of drawloom.toml)",
    );
}
