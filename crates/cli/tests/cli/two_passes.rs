//! Pass 1 asks and writes nothing; pass 2 checks the answers and writes everything.

use serde_json::{Value, json};

use crate::project::ExpectedText::{Anything, Has, Lacks, Nothing};
use crate::project::{CliProject, ExpectedRun, check};

const RECIPE: &str = "\
name: card
description: A card for a model
variables:
  model: { type: string, required: true, position: 0 }
  fields: { type: array, default: [name, email, plan] }
steps:
  - name: card
    template: card.jig
  - name: notes
    template: notes.jig
";

const CARD: &str = "\
---
to: \"src/{{ kebabCase(model) }}-card.txt\"
---
@context()
{{ model }} has the fields {{ fields.join(', ') }}.
@end
Card of {{ model }}
  @ai()
    @prompt()
      Which fields matter most for {{ model }}?
    @end
    @output({ key: 'mainFields', type: 'pick', from: fields })
      Two of them.
    @end
  @end
@each(field in answers.mainFields)
- {{ field }}
@end
";

const NOTES: &str = "\
---
to: src/notes.txt
---
@ai()
  @prompt()
    Say something about {{ model }}.
  @end
  @output({ key: 'remark', type: 'text' })
    One sentence.
  @end
@end
";

fn project() -> CliProject {
    CliProject::with(&[
        (".drawloom/recipes/card/recipe.yml", RECIPE),
        (".drawloom/recipes/card/card.jig", CARD),
        (".drawloom/recipes/card/notes.jig", NOTES),
    ])
}

const GOOD: &str = r#"{"mainFields": ["name", "plan"], "remark": "Customers pay."}"#;

/// The command that a document says to run, without the program's name.
fn command_in(document: &str) -> String {
    let line = document
        .lines()
        .find(|line| line.starts_with("drawloom run"));
    line.unwrap_or_else(|| panic!("no command in {document}"))
        .replacen("drawloom ", "", 1)
}

/// The file that a document's command expects its answers in: the last one.
fn answers_path_in(command: &str) -> String {
    command.rsplit_once("--answers ").unwrap().1.to_owned()
}

#[test]
fn the_document_asks_and_its_own_command_then_writes() {
    let project = project();
    let before = project.tree();
    let ran = check(
        &project,
        "run card 'Big Customer'",
        ExpectedRun {
            exit: 2,
            out: Has(&[
                "# Drawloom AI Generation Request",
                "## Context",
                "Big Customer has the fields name, email, plan.",
                "## Prompts",
                "### `mainFields`",
                "Which fields matter most for Big Customer?",
                "### `remark`",
                "## Response Format",
                "\"mainFields\"",
                "## Instructions",
                "drawloom run card 'Big Customer' --answers ./answers.json",
            ]),
            err: Has(&[
                "recipe    card\n",
                "2 answers are needed",
                "--answers ./answers.json",
            ]),
        },
    );
    assert_eq!(ran.err.lines().count(), 3, "{}", ran.err);
    assert_eq!(project.tree(), before, "pass 1 writes nothing");

    let command = command_in(&ran.out);
    project.write(&answers_path_in(&command), GOOD);
    check(
        &project,
        &command,
        ExpectedRun {
            exit: 0,
            out: Nothing,
            err: Has(&["src/big-customer-card.txt", "src/notes.txt"]),
        },
    );
    assert!(
        project
            .read("src/big-customer-card.txt")
            .contains("- name\n- plan\n")
    );
    assert_eq!(project.read("src/notes.txt"), "Customers pay.\n");
}

#[test]
fn with_json_the_questions_are_data() {
    let ran = check(
        &project(),
        "run card Customer --json",
        ExpectedRun {
            exit: 2,
            out: Anything,
            err: Has(&["2 answers are needed"]),
        },
    );
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let keys: Vec<&Value> = document["questions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|question| &question["key"])
        .collect();
    assert_eq!(keys, [&json!("mainFields"), &json!("remark")]);
    assert!(document["request"].is_string(), "{document}");
    assert!(
        document["schema"]["properties"]["mainFields"].is_object(),
        "{document}"
    );
    assert_eq!(
        document["command"],
        "drawloom run card Customer --json --answers ./answers.json"
    );
}

#[test]
fn a_partial_answers_file_leads_to_the_missing_answers_and_keeps_the_others() {
    let project = project();
    project.write("answers.json", r#"{"remark": "Customers pay."}"#);
    let before = project.tree();
    let ran = check(
        &project,
        "run card Customer --answers answers.json",
        ExpectedRun {
            exit: 2,
            out: Has(&["### `mainFields`"]),
            err: Has(&["1 answer is needed"]),
        },
    );
    assert!(!ran.out.contains("### `remark`"), "{}", ran.out);
    assert_eq!(project.tree(), before);

    let command = command_in(&ran.out);
    project.write(&answers_path_in(&command), r#"{"mainFields": ["email"]}"#);
    check(
        &project,
        &command,
        ExpectedRun {
            exit: 0,
            out: Nothing,
            err: Anything,
        },
    );
    assert_eq!(project.read("src/notes.txt"), "Customers pay.\n");
    assert!(project.read("src/customer-card.txt").contains("- email\n"));
}

#[test]
fn questions_that_depend_on_answers_take_as_many_rounds_as_needed() {
    let template = "\
---
to: plan.txt
---
@ai('kind')
  @prompt()
    Which kind?
  @end
@end
@ai('detail')
  @prompt()
    Which details of {{ answers.kind }}?
  @end
@end
";
    let project = CliProject::with(&[
        (
            "r/recipe.yml",
            "name: plan\nsteps:\n  - name: plan\n    template: plan.jig\n",
        ),
        ("r/plan.jig", template),
    ]);
    let first = ExpectedRun {
        exit: 2,
        out: Has(&["### `kind`"]),
        err: Has(&["1 answer is needed"]),
    };
    let ran = check(&project, "run ./r", first);
    let command = command_in(&ran.out);
    project.write(&answers_path_in(&command), r#"{"kind": "garden"}"#);
    let asks = ["### `detail`", "Which details of garden?"];
    let second = ExpectedRun {
        exit: 2,
        out: Has(&asks),
        err: Has(&["1 answer is needed"]),
    };
    let ran = check(&project, &command, second);
    let command = command_in(&ran.out);
    project.write(&answers_path_in(&command), r#"{"detail": "roses"}"#);
    check(
        &project,
        &command,
        ExpectedRun {
            exit: 0,
            out: Nothing,
            err: Has(&["plan.txt"]),
        },
    );
    assert_eq!(project.read("plan.txt"), "garden\nroses\n");
}

#[test]
fn the_command_works_from_another_folder_too() {
    let project = project();
    let elsewhere = CliProject::empty();
    let line = format!("run card Customer --cwd {}", project.path().display());
    let ran = check(
        &elsewhere,
        &line,
        ExpectedRun {
            exit: 2,
            out: Anything,
            err: Anything,
        },
    );
    let command = command_in(&ran.out);
    std::fs::write(answers_path_in(&command), GOOD).unwrap();
    check(
        &elsewhere,
        &command,
        ExpectedRun {
            exit: 0,
            out: Nothing,
            err: Anything,
        },
    );
    project.read("src/notes.txt");
}

#[track_caller]
fn check_rejected(answers: &str, says: &[&str]) {
    let project = project();
    project.write("answers.json", answers);
    let before = project.tree();
    let line = "run card Customer --answers answers.json";
    check(
        &project,
        line,
        ExpectedRun {
            exit: 1,
            out: Nothing,
            err: Has(says),
        },
    );
    assert_eq!(
        project.tree(),
        before,
        "nothing is written before every answer is valid"
    );
    let ran = project.run(&format!("{line} --json"));
    let document: Value = serde_json::from_str(&ran.err).unwrap();
    assert!(document["error"]["message"].is_string(), "{document}");
}

#[test]
fn wrong_answers_are_errors_that_name_key_and_rule() {
    check_rejected(
        r#"{"mainFields": ["nmae"], "remark": "x"}"#,
        &["mainFields", "nmae"],
    );
    check_rejected(r#"{"mainFields": "name", "remark": 5}"#, &["mainFields"]);
    check_rejected(
        r#"{"mainFields": ["name"], "remrk": "x"}"#,
        &["remrk", "remark"],
    );
    check_rejected("{\n \"remark\": \"x\",\n}", &["answers.json", "3"]);
    check_rejected("[1]", &["JSON object"]);
    check_rejected(
        r#"{"$request": "stale", "mainFields": ["name"], "remark": "x"}"#,
        &["stale", "changed"],
    );
}

#[test]
fn a_missing_answers_file_is_an_error() {
    let line = "run card Customer --answers nowhere.json";
    let expect = ExpectedRun {
        exit: 1,
        out: Nothing,
        err: Has(&["there is no file nowhere.json"]),
    };
    check(&project(), line, expect);
}

#[test]
fn answers_can_come_from_stdin() {
    use std::io::Write as _;
    use std::process::Stdio;
    let project = project();
    let mut command = project.command("run card Customer --answers -");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(GOOD.as_bytes())
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(project.read("src/notes.txt"), "Customers pay.\n");
}

#[test]
fn missing_values_are_listed_or_join_the_document() {
    let project = project();
    check(
        &project,
        "run card",
        ExpectedRun {
            exit: 1,
            out: Nothing,
            err: Has(&["model"]),
        },
    );
    check(
        &project,
        "run card --ask document",
        ExpectedRun {
            exit: 2,
            out: Has(&["### `model`"]),
            err: Has(&["answer"]),
        },
    );
    check(
        &project,
        "run card --ask person",
        ExpectedRun {
            exit: 64,
            out: Nothing,
            err: Has(&["terminal"]),
        },
    );
}

#[test]
fn the_document_can_have_another_template() {
    let project = project();
    project.write(
        "mine.jig",
        "Please: {{ entries.map(e => e.key).join(' and ') }}\n",
    );
    check(
        &project,
        "run card Customer --prompt-template mine.jig",
        ExpectedRun {
            exit: 2,
            out: Has(&["Please: mainFields and remark"]),
            err: Anything,
        },
    );
}

#[test]
fn an_ai_mode_that_does_not_exist_is_wrong_usage() {
    check(
        &project(),
        "run card Customer --ai-mode apii",
        ExpectedRun {
            exit: 64,
            out: Nothing,
            err: Has(&["apii", "[possible values: auto, api", "'api'"]),
        },
    );
}

#[test]
fn a_closed_pipe_does_not_change_that_answers_are_needed() {
    use std::process::Stdio;
    let project = project();
    let mut command = project.command("run card Customer");
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!said.contains("panick"), "{said}");
}

#[test]
fn a_dry_run_asks_too_and_shows_the_result_with_answers() {
    let project = project();
    check(
        &project,
        "run card Customer --dry-run",
        ExpectedRun {
            exit: 2,
            out: Anything,
            err: Anything,
        },
    );
    project.write("answers.json", GOOD);
    let before = project.tree();
    check(
        &project,
        "run card Customer --dry-run --answers answers.json",
        ExpectedRun {
            exit: 0,
            out: Has(&["+++ b/src/customer-card.txt", "+- name"]),
            err: Lacks(&["wrote"]),
        },
    );
    assert_eq!(project.tree(), before);
}
