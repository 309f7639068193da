//! Reading task files: what is tolerated, and every problem at its place.

use agent::task::{self, Criterion, TaskKind};
use proptest::prelude::{ProptestConfig, any, prop, proptest};
use serde_json::{Value, json};

/// The problems of a task file, one per line, without the file's name.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let problems = match task::read(text, "t.json") {
        Ok(task) => panic!("it was read: {task:?}"),
        Err(problems) => problems.to_string(),
    };
    let problems: Vec<_> = problems
        .lines()
        .map(|line| line.strip_prefix("t.json:").unwrap_or(line))
        .collect();
    assert_eq!(problems, expected);
}

#[test]
fn a_task_says_no_more_than_it_has_to() {
    let task = task::read(r#"{"subtask_id": "a", "type": "no_op"}"#, "t.json").unwrap();
    assert_eq!((task.kind, task.title()), (TaskKind::NoOp, "a"));
    assert_eq!(
        task.raw_text.unwrap(),
        r#"{"subtask_id": "a", "type": "no_op"}"#
    );
}

#[test]
fn one_text_is_as_good_as_a_list_and_null_as_nothing() {
    let text = r#"{"subtask_id": "a", "type": "code_generation", "instructions": "Do it.",
        "input_artifacts": "src", "output_artifacts": "./src/a.rs", "constraints": null,
        "validation_criteria": "make test", "depends_on": "b", "model_preference": null,
        "raw_text": "as I wrote it"}"#;
    let task = task::read(text, "t.json").unwrap();
    assert_eq!(task.instructions, ["Do it."]);
    assert_eq!(task.output_artifacts[0].as_str(), "src/a.rs");
    assert_eq!(
        task.validation_criteria,
        [Criterion::Text("make test".into())]
    );
    assert_eq!((task.depends_on.len(), task.model_preference), (1, None));
    assert_eq!(task.raw_text.unwrap(), "as I wrote it");
}

#[test]
fn all_problems_are_told_at_once_with_their_places() {
    let text = r#"{
  "subtask_id": "a b",
  "type": "codegeneration",
  "instructons": ["x"],
  "description": 7,
  "inputs": [],
  "output_artifacts": ["../up.rs", "/abs", ""],
  "validation_criteria": [
    {"run": "x", "timeout": 0},
    {"run": "x", "describe": "y"},
    {"comand": "x"},
    {"cwd": "app"},
    5
  ],
  "model_preference": {"temperature": 9, "max_tokens": "many", "name": "x"},
  "type": "no_op",
  "zebra": 1
}"#;
    check(
        text,
        &[
            "4:3: there is no key `instructons`; did you mean `instructions`?",
            "6:3: there is no key `inputs`; it is called `input_artifacts` here",
            "16:3: `type` is here twice; remove one of them",
            "17:3: there is no key `zebra`; there are: subtask_id, task_id, name, type, description, instructions, input_artifacts, output_artifacts, constraints, validation_criteria, depends_on, model_preference, raw_text",
            "2:17: subtask_id: the id `a b` contains ' '; use letters, digits, `.`, `_` and `-`",
            "3:11: type: there is no task type `codegeneration`; did you mean `code_generation`?",
            "5:18: description: this is a number, and a text was expected",
            "7:24: output_artifacts[0]: path \"../up.rs\" contains `..`; use a path that stays inside the project",
            "7:36: output_artifacts[1]: path \"/abs\" is absolute; use a path relative to the project's root",
            "7:44: output_artifacts[2]: this text is empty; say something, or leave it out",
            "9:29: validation_criteria[0].timeout: this is a number, and a whole number from 1 on was expected",
            "10:5: validation_criteria[1]: a criterion has `run` or `describe`, not both; make it two criteria",
            "11:6: validation_criteria[2]: there is no key `comand`; there are: run, cwd, timeout, file_exists, describe",
            "12:5: validation_criteria[3]: this criterion says nothing to check; a criterion is {\"run\": COMMAND}, {\"file_exists\": PATH}, {\"describe\": TEXT} or a text",
            "13:5: validation_criteria[4]: this is a number, and a criterion was expected; a criterion is {\"run\": COMMAND}, {\"file_exists\": PATH}, {\"describe\": TEXT} or a text",
            "15:64: model_preference: there is no key `name`; there are: provider, model, temperature, max_tokens",
            "15:56: model_preference.max_tokens: this is a text, and a whole number from 1 on was expected",
            "15:39: model_preference.temperature: this is a number, and a number from 0 to 2 was expected",
        ],
    );
}

#[test]
fn a_missing_field_is_named_with_its_fix() {
    check(
        "{}",
        &[
            "1:1: `subtask_id` is missing; give the task a short name of its own, such as `add-login`",
            "1:1: `type` is missing; say what kind of task it is: code_generation, validation, ai_interaction, planning, no_op",
        ],
    );
    check(
        r#"{"subtask_id": "a", "type": "ai_interaction"}"#,
        &[
            "1:1: a task of type `ai_interaction` needs to say what to do; add `description` or `instructions`",
        ],
    );
    check(
        r#"{"subtask_id": "a", "type": "planning"}"#,
        &[
            "1:1: a task of type `planning` needs to say where the plan goes; add `output_artifacts` with the plan's file",
        ],
    );
    check(
        r#"{"subtask_id": "a", "type": "no_op", "output_artifacts": ["."]}"#,
        &["1:58: output_artifacts[0]: the project itself is no output artifact"],
    );
    check(
        r#"{"subtask_id": "a", "type": "documentation"}"#,
        &["1:29: type: there is no task type `documentation`; use `code_generation`"],
    );
}

#[test]
fn invalid_json_is_reported_with_its_place() {
    check(
        "",
        &["1:1: the file is empty; it has to hold a JSON object"],
    );
    check(
        "{\n  \"subtask_id\": \"ä\",\n}",
        &["2:20: this is not JSON: trailing commas are not allowed"],
    );
    check("[]", &["1:1: this is a list, and an object was expected"]);
    check("{\"a\": 1", &["1:1: this is not JSON: unterminated object"]);
    check(
        "// hm\n{}",
        &["1:1: this is not JSON: comments are not allowed"],
    );
    let deep = "[".repeat(100_000);
    assert!(task::read(&deep, "t.json").is_err());
    let large = format!(
        "{{\"subtask_id\": \"{}\"}}",
        "a".repeat(task::TASK_BYTES_MAX)
    );
    let problems = task::read(&large, "t.json").unwrap_err().to_string();
    assert!(
        problems.contains("more than TASK_BYTES_MAX (1048576)"),
        "{problems}"
    );
}

#[test]
fn a_byte_order_mark_is_no_problem() {
    task::read(
        "\u{feff}{\"subtask_id\": \"a\", \"type\": \"no_op\"}",
        "t.json",
    )
    .unwrap();
}

#[test]
fn the_schema_and_the_reader_agree() {
    let schema = jsonschema::validator_for(&task::schema()).unwrap();
    let full = json!({"subtask_id": "a", "task_id": "t", "name": "A", "type": "code_generation",
        "description": "d", "instructions": ["i"], "input_artifacts": ["src"],
        "output_artifacts": ["a.rs"], "constraints": ["c"],
        "validation_criteria": ["make", {"run": "x", "cwd": "y", "timeout": 3},
            {"file_exists": "a.rs"}, {"describe": "good"}],
        "depends_on": ["b"], "raw_text": "r",
        "model_preference": {"provider": "p", "model": "m", "temperature": 0.5, "max_tokens": 10}});
    let agree = |value: &Value| {
        let read = task::read(&value.to_string(), "t.json");
        assert_eq!(schema.is_valid(value), read.is_ok(), "{value}: {read:?}");
        read.is_ok()
    };
    assert!(agree(&full));
    let task = task::read(&full.to_string(), "t.json").unwrap();
    let mut written = serde_json::to_value(&task).unwrap();
    written["raw_text"] = json!("r");
    assert_eq!(written, full, "what is written is what was read");
    for (key, value) in [
        ("instructions", json!("one")),
        ("validation_criteria", json!({"run": "x"})),
        ("model_preference", json!({})),
    ] {
        let mut other = full.clone();
        other[key] = value;
        assert!(agree(&other));
    }
    for (key, value) in [
        ("subtask_id", json!("a b")),
        ("subtask_id", json!(1)),
        ("type", json!("other")),
        ("instructions", json!([1])),
        ("validation_criteria", json!([{"run": "x", "nope": 1}])),
        ("validation_criteria", json!([{"run": "x", "timeout": 0}])),
        ("model_preference", json!({"temperature": 3})),
        ("unknown", json!(1)),
    ] {
        let mut other = full.clone();
        other[key] = value;
        assert!(!agree(&other));
    }
}

#[test]
fn the_published_schema_of_a_task() {
    insta::assert_json_snapshot!(task::schema());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>()) {
        let _ = task::read(&text, "t.json");
    }

    #[test]
    fn no_json_makes_the_reader_panic(pieces in prop::collection::vec(
        prop::sample::select(vec!["{", "}", "[", "]", ",", ":", "\"", "\\u00", "ä", "1", "null", "true",
            "\"subtask_id\"", "\"type\"", "\"no_op\"", "\"validation_criteria\"", "\"run\"", " ", "\n"]), 0..40))
    {
        let _ = task::read(&pieces.concat(), "t.json");
    }
}
