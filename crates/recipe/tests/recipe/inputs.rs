//! Values: by position, by name, by default, by asking; typed by their declaration.

use crate::check::{Case, Person, recipe};
use recipe::RecipeErrorKind;
use serde_json::json;

const VARIABLES: &str = "name: it
variables:
  name: { type: string, position: 0, pattern: '^[a-z1]' }
  port: { type: number, min: 1, max: 10, default: '{{ 1 + 2 }}' }
  flag: { type: boolean }
  color: { type: enum, values: [red, blue] }
  sizes: { type: enum, values: [s, m], multiple: true }
  tags: { type: array, position: 1 }
  db: { type: object }
  mainField: { type: string, default: 'f-{{ name }}' }
  where: { type: directory }
steps:
  - template: all
";

fn all() -> Case {
    recipe(VARIABLES).template(
        "all.jig",
        "{{ JSON.stringify({ name, port, flag, color, sizes, tags, db, mainField, where }) }}\n",
    )
}

#[track_caller]
fn check(args: &str, expected: serde_json::Value) {
    let ran = all().args(args).run();
    ran.done();
    let found: serde_json::Value = serde_json::from_str(&ran.text("all")).unwrap();
    assert_eq!(found, expected, "{args}");
}

#[test]
fn values_have_the_declared_type() {
    let with = |more: serde_json::Value| {
        let mut all = json!({ "name": "x", "port": 3, "mainField": "f-x" });
        all.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        all
    };
    check("x", with(json!({})));
    check(
        "--name 123",
        json!({ "name": "123", "port": 3, "mainField": "f-123" }),
    );
    check("x --port 2.5", with(json!({ "port": 2.5 })));
    check("x --port=1", with(json!({ "port": 1 })));
    check("x --flag", with(json!({ "flag": true })));
    check("x --flag=no", with(json!({ "flag": false })));
    check("x --no-flag", with(json!({ "flag": false })));
    check(
        "x --color red --sizes s --sizes m",
        with(json!({ "color": "red", "sizes": ["s", "m"] })),
    );
    check("x --sizes s,m", with(json!({ "sizes": ["s", "m"] })));
    check("x a b c", with(json!({ "tags": ["a", "b", "c"] })));
    check("x --tags a --tags b", with(json!({ "tags": ["a", "b"] })));
    check("x --tags '[1, \"b\"]'", with(json!({ "tags": [1, "b"] })));
    check("x --tags=", with(json!({ "tags": [] })));
    check(
        "x --db '{\"a\": 1}' --db.b.c x",
        with(json!({ "db": { "a": 1, "b": { "c": "x" } } })),
    );
    check("x --main-field y", with(json!({ "mainField": "y" })));
    check("x --where src/new", with(json!({ "where": "src/new" })));
}

#[test]
fn every_wrong_value_is_named_at_once() {
    let ran = all()
        .args("X --port 11 --flag=maybe --color rde --sizes s,l --db 7 --prot 1 --where ../up")
        .run();
    let error = ran.failed();
    assert_eq!(error.kind(), RecipeErrorKind::Usage);
    insta::assert_snapshot!(error.report());
}

#[test]
fn too_many_positions_say_what_there_is() {
    let ran = recipe(
        "name: it\nvariables:\n  a: { position: 0 }\n  b: {}\nsteps:\n  - command: 'true'\n",
    )
    .args("1 2 3")
    .run();
    let text = ran.failed().to_string();
    assert!(
        text.contains("`2 3`") && text.contains("--a, --b"),
        "{text}"
    );
}

const REQUIRED: &str = "name: it
variables:
  name: { type: string, required: true, prompt: Your name? }
  age: { type: number, required: true, min: 1, description: How old }
  nick: { type: string, default: '{{ name }}y' }
steps:
  - template: a
  - name: ask
    tool: prompt
    variable: color
    promptType: select
    message: Color for {{ name }}?
    options: [red, { label: Blue, value: blue }]
  - template: b
    when: color === 'red'
";

fn required() -> Case {
    recipe(REQUIRED)
        .template(
            "a.jig",
            "---\nto: a\n---\n{{ name }} {{ age }} {{ nick }}\n",
        )
        .template("b.jig", "---\nto: b\n---\n{{ color }}\n")
}

#[test]
fn missing_values_are_one_error_that_lists_them() {
    let ran = required().run();
    let error = ran.failed();
    assert_eq!(error.kind(), RecipeErrorKind::Missing);
    insta::assert_snapshot!(error.report());
}

#[test]
fn a_person_is_asked_until_the_answer_fits() {
    let person = Person {
        answers: vec![
            ("name", json!("Ann")),
            ("age", json!(0)),
            ("age", json!(30)),
            ("color", json!("red")),
        ],
        ..Person::default()
    };
    let ran = required().person(person).run();
    ran.assert_files(&[("a", "Ann 30 Anny\n"), ("b", "red\n")]);
    let messages: Vec<&str> = ran
        .host
        .asked
        .iter()
        .map(|ask| ask.message.as_str())
        .collect();
    assert_eq!(
        messages,
        ["Your name?", "How old", "How old", "Color for Ann?"]
    );
    assert_eq!(ran.host.refused.len(), 1);
    assert!(ran.host.refused[0].contains("at least 1"));
}

#[test]
fn a_prompt_takes_its_value_from_the_command_line_or_its_default() {
    let ran = required().args("--name Bo --age 3 --color red").run();
    ran.assert_files(&[("b", "red\n")]);
    let ran = recipe("name: it\nsteps:\n  - variable: ok\n    promptType: confirm\n    default: true\n  - template: a\n    when: ok\n")
        .template("a.jig", "{{ typeof ok }}\n")
        .run();
    ran.assert_files(&[("a", "boolean\n")]);
}

#[test]
fn conditions_see_files_that_are_pending() {
    let ran = recipe("name: it\nsteps:\n  - template: a\n  - template: b\n    when: fileExists('a') && dirExists('dir') && !fileExists('none')\n  - template: c\n    when: '{{ fileExists(\"b\") }}'\n")
        .template("a.jig", "a\n")
        .template("b.jig", "b\n")
        .template("c.jig", "c\n")
        .file("dir/x", "")
        .run();
    ran.assert_files(&[("b", "b\n"), ("c", "c\n")]);
}
