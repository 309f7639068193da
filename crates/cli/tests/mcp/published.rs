//! The published schemas: one for every command with `--json`, held against real outputs.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::project;
use crate::project::CliProject;

const CLI_DOCUMENT: &str = include_str!("../../../../docs/cli.md");

fn schema(project: &CliProject, name: &str) -> Value {
    let printed = project.run(&format!("schema {name}"));
    assert_eq!(printed.exit, 0, "{name}: {}", printed.err);
    serde_json::from_str(&printed.out).unwrap()
}

/// The names of commands that have the option `--json`, as their schemas are named.
fn commands_with_json() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut command = String::new();
    for line in CLI_DOCUMENT.lines() {
        if let Some(title) = line.strip_prefix("## `drawloom ") {
            command = title.trim_end_matches('`').replace(' ', "-");
        } else if line.trim_start().starts_with("--json") {
            names.insert(command.clone());
        }
    }
    names
}

#[test]
fn every_command_with_json_has_a_schema() {
    let project = project();
    let listed = project.run("schema list --json");
    let listed: Value = serde_json::from_str(&listed.out).unwrap();
    let listed = listed["schemas"].as_array().unwrap();
    let names: BTreeSet<&str> = listed
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    let commands = commands_with_json();
    assert!(commands.len() > 80, "{commands:?}");
    let missing: Vec<&String> = commands
        .iter()
        // It lists them, and its own shape is three words.
        .filter(|name| *name != "schema" && !names.contains(name.as_str()))
        .collect();
    assert!(missing.is_empty(), "no schema for {missing:?}");
}

/// Runs a command with `--json` and holds what it prints against the schema of that name.
#[track_caller]
fn check(project: &CliProject, name: &str, line: &str) {
    let ran = project.run(&format!("{line} --json"));
    let schema = schema(project, name);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let (text, documents) = match serde_json::from_str::<Value>(&ran.out) {
        Ok(document) => (&ran.out, vec![document]),
        Err(_) => {
            let lines = ran
                .out
                .lines()
                .map(|line| serde_json::from_str(line).unwrap());
            (&ran.out, lines.collect())
        }
    };
    assert!(!documents.is_empty(), "{line}: {}", ran.err);
    for document in documents {
        let wrong: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{line}: {wrong:?}\n{text}");
    }
}

#[test]
fn what_commands_print_fits_their_schemas() {
    let project = project();
    for (name, line) in [
        ("init", "init"),
        ("recipe-list", "recipe list"),
        ("recipe-info", "recipe info note"),
        ("recipe-validate", "recipe validate note"),
        ("run", "run note T"),
        ("workflow-list", "workflow list"),
        (
            "workflow-check",
            "workflow check .drawloom/workflows/review.mmd",
        ),
        (
            "workflow-parse",
            "workflow parse .drawloom/workflows/review.mmd",
        ),
        ("workflow-show", "workflow show review"),
        ("workflow-start", "workflow start review --wait"),
        ("runs-list", "runs list"),
        ("runs-show", "runs show last"),
        ("tasks-list", "tasks list"),
        ("runs-pause", "runs pause last"),
        ("runs-resume", "runs resume last"),
        ("runs-cancel", "runs cancel last"),
        ("runs-show", "runs show last"),
        ("users-add", "users add ada --email ada@example.org --admin"),
        ("users-list", "users list"),
        ("tokens-add", "tokens add ci --user ada"),
        ("tokens-list", "tokens list"),
        ("agents-add", "agents add writer --prompt Write."),
        ("agents-list", "agents list"),
        ("schedules-list", "schedules list"),
        ("notices-list", "notices list"),
        ("cost", "cost"),
        ("index", "index"),
        ("trust-list", "trust list"),
        ("builds-list", "builds list"),
        ("kit-list", "kit list"),
        ("doctor", "doctor"),
    ] {
        check(&project, name, line);
    }
}

#[test]
fn every_failure_is_the_published_error_and_names_what_to_do() {
    let project = project();
    let schema = schema(&project, "error");
    let validator = jsonschema::validator_for(&schema).unwrap();
    for line in [
        "runs show nothing",
        "run nothing",
        "workflow check nothing.mmd",
        "tasks answer nothing/A yes",
        "builds show last",
        "run note T --nope x",
        "schema nothing",
    ] {
        let ran = project.run(&format!("{line} --json"));
        assert_ne!(ran.exit, 0, "{line}");
        let told = ran.err.lines().find(|line| line.starts_with('{'));
        let told = told.unwrap_or_else(|| panic!("{line}: {}", ran.err));
        let error: Value = serde_json::from_str(told).unwrap();
        assert!(validator.is_valid(&error), "{line}: {error}");
        assert!(error["error"]["hint"].is_string(), "{line}: {error}");
    }
}
