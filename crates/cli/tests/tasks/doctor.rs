//! `drawloom doctor` about agents: the sandbox that is active and why, and the database.

use serde_json::Value;

use crate::project::{CliProject, ExpectedRun, ExpectedText, check};

#[track_caller]
fn finding(project: &CliProject, about: &str) -> Option<Value> {
    let ran = project.run("doctor --json");
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["check"] == about).cloned()
}

#[test]
fn the_sandbox_is_named_with_its_reason() {
    let project = CliProject::empty();
    let found = finding(&project, "sandbox").unwrap();
    let detail = found["detail"].as_str().unwrap();
    assert!(detail.contains("asked for: auto"), "{detail}");
    for kind in ["namespaces: ", "bubblewrap: ", "landlock: "] {
        assert!(detail.contains(kind), "{detail}");
    }

    project.write("drawloom.toml", "[agent.sandbox]\nkind = \"none\"\n");
    let found = finding(&project, "sandbox").unwrap();
    assert_eq!(found["state"], "note");
    let detail = found["detail"].as_str().unwrap();
    assert!(
        detail.contains("none, because the settings say so"),
        "{detail}"
    );
}

#[test]
fn a_damaged_database_is_something_broken() {
    let project = CliProject::empty();
    assert!(
        finding(&project, "database").is_none(),
        "none is no finding"
    );
    project.write(".drawloom/drawloom.db", &"garbage ".repeat(1_000));
    let expect = ExpectedRun {
        exit: 1,
        out: ExpectedText::Has(&["database: ", "drawloom.db is damaged"]),
        err: ExpectedText::Anything,
    };
    check(&project, "doctor", expect);
}
