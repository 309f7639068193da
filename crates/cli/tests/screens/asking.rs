//! Answers of people: words, JSON, texts, files, choices; and what is no answer.

use serde_json::{Value, json};

use crate::bare;
use crate::project::CliProject;
use crate::terminal::show;

fn waiting(config: &str) -> CliProject {
    let project = bare();
    let text = format!(
        "graph TD\n A(Approve)\n%% === WORKFLOW_CONFIG ===\n%% @A: {config}\n%% === END_CONFIG ===\n"
    );
    project.write("m.mmd", &text);
    let ran = project.run("workflow start m.mmd");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    project
}

fn output(project: &CliProject) -> Value {
    let shown = project.run("tasks show last/A --json");
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    shown["task"]["output"].clone()
}

#[test]
fn an_answer_is_words_json_a_text_or_a_file() {
    for (words, expected) in [
        (
            "ok=true note='all good'",
            json!({"ok": true, "note": "all good"}),
        ),
        ("'{\"ok\": 1}'", json!({"ok": 1})),
        ("'fine with me'", json!("fine with me")),
        ("7", json!(7)),
        ("@notes.md", json!("# Notes\n{fine}")),
        ("@answer.json", json!([1])),
    ] {
        let project = waiting("{}");
        project.write("notes.md", "# Notes\n{fine}\n");
        project.write("answer.json", "[1]\n");
        // The only task that waits need not be named.
        let ran = project.run(&format!("tasks answer last {words}"));
        assert_eq!(ran.exit, 0, "{}", ran.err);
        assert_eq!(output(&project), expected);
    }
}

#[test]
fn a_slip_in_json_is_no_text_and_the_task_stays_open() {
    let project = waiting("{}");
    project.write("bad.json", "{\"ok\": tru}");
    for (words, exit, says) in [
        ("'{\"ok\": tru}'", 1, "looks like JSON"),
        ("@bad.json", 1, "bad.json"),
        ("@none.md", 1, "no file none.md"),
        ("", 64, "there is no answer"),
        ("a=1 b", 64, "not NAME=VALUE"),
    ] {
        let ran = project.run(&format!("tasks answer last/A {words}"));
        assert_eq!(ran.exit, exit, "{}", ran.err);
        assert!(ran.err.contains(says), "{}", ran.err);
    }
    assert_eq!(output(&project), Value::Null);
}

#[test]
fn a_person_at_a_terminal_chooses_or_types_until_it_fits() {
    let verdict =
        r#"{ "outputSchema": { "properties": { "verdict": { "enum": ["ship", "stop"] } } } }"#;
    let project = waiting(verdict);
    let typed = json!([["verdict: stop", { "type": "\u{1b}[B\r" }]]);
    let shown = show(&project, "tasks answer last", (24, 80), typed);
    assert_eq!(shown.exit, 0, "{}", shown.text());
    assert_eq!(output(&project), json!({"verdict": "stop"}));

    let project = waiting(r#"{ "outputSchema": { "type": "object" } }"#);
    let typed = json!([
        ["Your answer", { "type": "{\"a\"\r" }],
        ["looks like JSON", { "type": "" }],
        ["Your answer", { "type": "good\r" }],
        ["outputSchema", { "type": "" }],
        ["Your answer", { "type": "a=1 b=x\r" }],
    ]);
    let shown = show(&project, "tasks answer last/A", (24, 80), typed);
    assert_eq!(shown.exit, 0, "{}", shown.text());
    assert_eq!(output(&project), json!({"a": 1, "b": "x"}));
}

#[test]
fn my_tasks_are_mine_or_unassigned() {
    let project = waiting(r#"{ "defaultAssigneeId": "bob" }"#);
    let list = |project: &CliProject, line: &str, user: &str| {
        let mut command = project.command(line);
        let output = command.env("USER", user).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (text, String::from_utf8(output.stderr).unwrap())
    };
    let (out, err) = list(&project, "tasks list --mine", "ann");
    assert_eq!(out, "");
    assert!(err.contains("1 task waits for others"), "{err}");
    for (line, user) in [
        ("tasks list --mine", "bob"),
        ("tasks list --waiting", "ann"),
        ("tasks list --assignee bob", "ann"),
    ] {
        let (out, _) = list(&project, line, user);
        assert!(out.contains("/A  Approve  pending  bob"), "{line}: {out}");
    }
    assert_eq!(project.run("tasks assign last/A").exit, 0);
    let (out, _) = list(&project, "tasks list --mine", "ann");
    assert!(out.contains("a person"), "{out}");
}
