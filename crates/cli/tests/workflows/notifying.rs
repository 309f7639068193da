//! Commands are told what happens to runs.

use serde_json::{Value, json};

use crate::project::CliProject;
use crate::workflow_fixture::{bare, diagram, document};

/// A project with these rules, each written to a file of its own.
fn with_rules(rules: &[(&str, &str)]) -> CliProject {
    let project = bare();
    let mut settings = project.read("drawloom.toml");
    for (name, more) in rules {
        settings.push_str(&format!(
            "\n[notify.{name}]\n{more}\ncommand = \"cat >> {name}.jsonl\"\n"
        ));
    }
    project.write("drawloom.toml", &settings);
    project.write(
        "ask.mmd",
        &diagram(" A(Look)", &[("A", json!({ "prompt": "Look?" }))]),
    );
    project.write(
        "fine.mmd",
        &diagram(" A[One]", &[("A", json!({ "handler": "no_op" }))]),
    );
    let broken = json!({ "handler": "command", "config": { "run": "exit 3" } });
    project.write("broken.mmd", &diagram(" A[One]", &[("A", broken)]));
    project
}

fn told(project: &CliProject, name: &str) -> Vec<String> {
    let file = project.path().join(format!("{name}.jsonl"));
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let words = text.lines().map(|line| {
        let notice: Value = serde_json::from_str(line).unwrap();
        let on: Vec<&str> = notice["on"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        format!("{} {}", notice["workflow"].as_str().unwrap(), on.join("+"))
    });
    words.collect()
}

fn waiting(project: &CliProject) -> usize {
    let listed = document(&project.run("notices list --json"));
    listed["notices"].as_array().unwrap().len()
}

#[test]
fn commands_are_told_what_their_rule_wants() {
    let project = with_rules(&[
        ("all", ""),
        ("asked", "on = [\"asked\"]"),
        ("bad", "on = [\"on_hold\", \"failed\"]"),
        ("fine", "workflow = \"FINE\""),
        ("ada", "person = \"ada\""),
    ]);
    for file in ["ask", "fine", "broken"] {
        assert_eq!(project.run(&format!("workflow start {file}.mmd")).exit, 0);
    }
    assert_eq!(waiting(&project), 1, "the person is asked at once");
    let worked = project.run("worker --until-idle");
    assert_eq!(worked.exit, 0, "{}", worked.err);
    assert_eq!(waiting(&project), 0, "{}", worked.err);
    let mut all = told(&project, "all");
    all.sort();
    assert_eq!(
        all,
        [
            "ask asked",
            "broken on_hold",
            "broken paused",
            "fine finished"
        ]
    );
    assert_eq!(told(&project, "asked"), ["ask asked"]);
    assert_eq!(told(&project, "bad"), ["broken on_hold"]);
    assert_eq!(told(&project, "fine"), ["fine finished"]);
    assert_eq!(told(&project, "ada").len(), 4, "nobody else is named");
}

#[test]
fn what_cannot_be_delivered_stays_and_can_be_acknowledged() {
    let project = bare();
    let settings = project.read("drawloom.toml");
    project.write(
        "drawloom.toml",
        &format!("{settings}\n[notify.broken]\ncommand = \"exit 1\"\n"),
    );
    project.write(
        "fine.mmd",
        &diagram(" A[One]", &[("A", json!({ "handler": "no_op" }))]),
    );
    let ran = project.run("workflow start fine.mmd --wait");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let listed = project.run("notices list");
    assert!(listed.out.contains("failed 1 times"), "{}", listed.out);
    assert_eq!(project.run("notices acknowledge --all").exit, 0);
    assert_eq!(waiting(&project), 0);
    assert_eq!(project.run("notices acknowledge").exit, 64);
}

#[test]
fn without_rules_nothing_is_left_in_the_outbox() {
    let project = with_rules(&[]);
    assert_eq!(project.run("workflow start fine.mmd --wait").exit, 0);
    assert_eq!(waiting(&project), 0);
}

#[test]
fn a_rule_with_a_mistake_is_refused_with_its_place() {
    let project = bare();
    let settings = project.read("drawloom.toml");
    for (rule, said) in [
        (
            "on = [\"askd\"]\ncommand = \"cat\"",
            "`askd` is not one of asked",
        ),
        ("on = [\"asked\"]", "needs a `command`"),
        ("command = \"cat\"\nfrom = 1", "from"),
    ] {
        project.write(
            "drawloom.toml",
            &format!("{settings}\n[notify.x]\n{rule}\n"),
        );
        let refused = project.run("runs list");
        assert_ne!(refused.exit, 0, "{rule}");
        assert!(refused.err.contains(said), "{rule}: {}", refused.err);
    }
}
