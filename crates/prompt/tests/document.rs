//! The document's data, its JSON form, and the schemas in it.
//!
//! `document/NAME.data.json` is what `document::data` gives for a case; `document/NAME.md` is what
//! the built-in template makes of that data, for the tests of the crates that render it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking and read their own fixtures"
)]

use prompt::{AnswerKind, Answers, DOCUMENT_TEMPLATE, DocumentInput, Question, Questionnaire};
use prompt::{QuestionSource, check_all, document};
use serde_json::{Value, json};
use std::path::Path;

fn question(key: &str, line: u32) -> Question {
    let source = QuestionSource {
        file: "templates/card.jig".to_owned(),
        line,
    };
    Question::new(key, source)
}

fn input() -> DocumentInput {
    DocumentInput {
        command: "drawloom run crud edit --model Customer --answers ./answers.json".to_owned(),
        answers_path: "./answers.json".to_owned(),
        ..DocumentInput::default()
    }
}

fn asking(questions: impl IntoIterator<Item = Question>) -> Questionnaire {
    let mut questionnaire = Questionnaire::new();
    for question in questions {
        questionnaire.ask(question).unwrap();
    }
    questionnaire
}

/// One question, nothing else: the smallest document.
fn plain() -> (Questionnaire, DocumentInput) {
    let relationships = Question {
        prompt: "List relationships of Customer.".to_owned(),
        ..question("relationships", 1)
    };
    (asking([relationships]), input())
}

/// Every kind, every section, and texts that try to break out of their fences.
fn full() -> (Questionnaire, DocumentInput) {
    let choices = vec![json!("card"), json!("a`b"), json!(3)];
    let main_fields = Question {
        contexts: vec![
            "The Customer model has these fields:\n[\"id\", \"name\", \"email\"]".to_owned(),
            "```ts\ninterface Customer {}".to_owned(),
        ],
        prompt: "Which fields of Customer are most relevant?".to_owned(),
        format: "A JSON array of field names.".to_owned(),
        examples: vec!["[\"name\", \"email\"]".to_owned()],
        ..question("mainFields", 4)
    };
    let readme = Question {
        prompt: "Write the usage section.".to_owned(),
        examples: vec!["```sh\nls\n```".to_owned(), "plain".to_owned()],
        kind: AnswerKind::Code {
            language: Some("markdown".to_owned()),
        },
        ..question("readme", 20)
    };
    let columns = Question {
        contexts: vec!["At most five.".to_owned()],
        schema: Some(json!({ "type": "array", "maxItems": 5 })),
        kind: AnswerKind::Json,
        ..question("columns", 30)
    };
    let of = |key: &str, kind: AnswerKind| Question {
        prompt: format!("About {key}?"),
        kind,
        ..question(key, 40)
    };
    let limit = Question {
        required: false,
        ..of("limit", AnswerKind::Number)
    };
    let mut questionnaire = asking([
        main_fields,
        readme,
        columns,
        of("title", AnswerKind::Text),
        of("paged", AnswerKind::Boolean),
        of(
            "style",
            AnswerKind::Select {
                from: choices.clone(),
            },
        ),
        of(
            "parts",
            AnswerKind::Pick {
                from: choices.clone(),
            },
        ),
        of("order", AnswerKind::Order { from: choices }),
        limit,
        of("tags", AnswerKind::List),
    ]);
    questionnaire.add_context("The project uses React 19.");
    questionnaire.add_context("Tailwind is there.");
    let provided = vec![
        ("model".to_owned(), json!("Customer")),
        ("note".to_owned(), json!("a `tick`")),
    ];
    (
        questionnaire,
        DocumentInput {
            provided,
            ..input()
        },
    )
}

#[track_caller]
fn check(name: &str, (questionnaire, input): (Questionnaire, DocumentInput)) {
    let actual = format!("{:#}\n", document::data(&questionnaire, &input));
    let fixture = format!(
        "{}/tests/document/{name}.data.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let expected = std::fs::read_to_string(&fixture).unwrap_or_default();
    if actual != expected {
        let written = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.data.json"));
        std::fs::write(&written, &actual).unwrap();
        panic!(
            "{fixture} is not what is given now: see {}",
            written.display()
        );
    }
}

#[test]
fn the_data_of_the_smallest_document() {
    check("plain", plain());
}

#[test]
fn the_data_of_a_document_with_everything() {
    check("full", full());
}

#[test]
fn the_template_uses_only_names_that_the_data_has() {
    let (questionnaire, input) = full();
    let data = document::data(&questionnaire, &input);
    for (prefix, object) in [
        ("entry.", &data["entries"][0]),
        ("variable.", &data["providedVariables"][0]),
    ] {
        for (at, _) in DOCUMENT_TEMPLATE.match_indices(prefix) {
            let rest = &DOCUMENT_TEMPLATE[at + prefix.len()..];
            let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap();
            assert!(
                object.get(&rest[..end]).is_some(),
                "{prefix}{}",
                &rest[..end]
            );
        }
    }
}

#[test]
fn a_language_cannot_break_the_fence_it_follows() {
    for (language, shown) in [("c++", "c++"), ("ts\n```", "ts"), ("", ""), ("```", "")] {
        let code = Question {
            kind: AnswerKind::Code {
                language: Some(language.to_owned()),
            },
            ..question("k", 1)
        };
        let data = document::data(&asking([code]), &input());
        assert_eq!(data["entries"][0]["language"], shown);
    }
}

#[test]
fn a_title_can_be_given() {
    let (questionnaire, input) = plain();
    let titled = DocumentInput {
        title: Some("Plan".to_owned()),
        ..input.clone()
    };
    assert_eq!(document::data(&questionnaire, &titled)["title"], "Plan");
    assert_eq!(
        document::data(&questionnaire, &input)["title"],
        "Drawloom AI Generation Request"
    );
}

#[test]
fn the_json_form_says_everything_once() {
    let (questionnaire, input) = full();
    let json = document::json(&questionnaire, &input);
    assert_eq!(json["request"], questionnaire.request_id().as_str());
    assert_eq!(
        json["contexts"],
        json!(["The project uses React 19.", "Tailwind is there."])
    );
    assert_eq!(json["command"], input.command);
    assert_eq!(json["answersPath"], "./answers.json");
    assert_eq!(
        json["provided"],
        json!({ "model": "Customer", "note": "a `tick`" })
    );
    assert_eq!(
        json["questions"][5],
        json!({
            "key": "style",
            "contexts": [],
            "prompt": "About style?",
            "format": "",
            "examples": [],
            "kind": "select",
            "from": ["card", "a`b", 3],
            "required": true,
            "schema": { "enum": ["card", "a`b", 3], "description": "About style?" },
            "source": { "file": "templates/card.jig", "line": 40 },
        })
    );
    assert_eq!(json["questions"][1]["language"], "markdown");
}

#[test]
fn each_kind_has_its_schema() {
    let from = vec![json!("a"), json!("b"), json!("a")];
    let own = json!({ "maxLength": 9 });
    for (kind, own, expected) in [
        (AnswerKind::Any, None, json!({})),
        (AnswerKind::Any, Some(&own), json!({ "maxLength": 9 })),
        (
            AnswerKind::Json,
            Some(&json!(true)),
            json!({ "allOf": [true] }),
        ),
        (
            AnswerKind::Text,
            None,
            json!({ "type": "string", "pattern": "\\S" }),
        ),
        (
            AnswerKind::Text,
            Some(&own),
            json!({ "allOf": [{ "type": "string" }, { "maxLength": 9 }] }),
        ),
        (
            AnswerKind::Code { language: None },
            None,
            json!({ "type": "string", "pattern": "\\S" }),
        ),
        (AnswerKind::Boolean, None, json!({ "type": "boolean" })),
        (AnswerKind::Number, None, json!({ "type": "number" })),
        (
            AnswerKind::List,
            None,
            json!({ "type": "array", "minItems": 1 }),
        ),
        (
            AnswerKind::Select { from: from.clone() },
            None,
            json!({ "enum": ["a", "b"] }),
        ),
        (
            AnswerKind::Pick { from: from.clone() },
            None,
            json!({ "type": "array", "items": { "enum": ["a", "b"] }, "uniqueItems": true, "minItems": 1 }),
        ),
        (
            AnswerKind::Order { from },
            None,
            json!({ "type": "array", "items": { "enum": ["a", "b"] }, "minItems": 3, "maxItems": 3, "uniqueItems": false }),
        ),
    ] {
        let question = Question {
            kind,
            schema: own.cloned(),
            ..question("k", 1)
        };
        let json = document::json(&asking([question]), &input());
        assert_eq!(json["questions"][0]["schema"], expected);
    }
}

/// What the schema of all answers accepts, the checks accept, and the reverse.
#[test]
fn the_schema_of_all_answers_agrees_with_the_checks() {
    let (mut questionnaire, input) = full();
    let tree = json!({
        "$defs": { "node": { "type": "object", "properties": { "next": { "$ref": "#/$defs/node" } }, "required": ["id"] } },
        "$ref": "#/$defs/node",
    });
    for key in ["tree", "other tree"] {
        let question = Question {
            schema: Some(tree.clone()),
            kind: AnswerKind::Json,
            ..question(key, 50)
        };
        questionnaire.ask(question).unwrap();
    }
    let schema = document::json(&questionnaire, &input)["schema"].clone();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let right = json!({
        "$request": questionnaire.request_id(),
        "mainFields": ["name"], "readme": "x", "columns": [1], "title": "t", "paged": true,
        "style": 3, "parts": ["card"], "order": [3, "card", "a`b"], "limit": null, "tags": ["t"],
        "tree": { "id": 1, "next": { "id": 2 } }, "other tree": { "id": 1 },
    });
    let mut cases = vec![(right.clone(), true)];
    for (key, value, fits) in [
        ("limit", json!(5), true),
        ("limit", json!("five"), false),
        ("title", json!(null), false),
        ("style", json!("table"), false),
        ("parts", json!(["card", "card"]), false),
        ("order", json!(["card"]), false),
        ("columns", json!([1, 2, 3, 4, 5, 6]), false),
        ("tree", json!({ "id": 1, "next": {} }), false),
        ("paged", json!([]), false),
        ("paged", json!("yes"), false),
        ("limit", json!("5"), false),
        ("tags", json!([]), false),
        ("parts", json!([]), false),
        ("title", json!(""), false),
        ("title", json!(" \n"), false),
    ] {
        let mut changed = right.clone();
        changed[key] = value;
        cases.push((changed, fits));
    }
    for (answers, fits) in cases {
        let read = Answers::read(&answers.to_string(), "answers.json").unwrap();
        assert_eq!(check_all(&questionnaire, &read).is_ok(), fits, "{answers}");
        assert_eq!(validator.is_valid(&answers), fits, "{answers}");
    }
}

#[test]
fn the_skeleton_is_json_and_is_refused_as_an_answer() {
    let (questionnaire, input) = full();
    let data = document::data(&questionnaire, &input);
    let skeleton: Value = serde_json::from_str(data["responseSchema"].as_str().unwrap()).unwrap();
    let answers = Answers::read(&skeleton.to_string(), "answers.json").unwrap();
    assert_eq!(answers.request_id(), Some(&questionnaire.request_id()));
    let problems = check_all(&questionnaire, &answers).unwrap_err();
    assert_eq!(problems.len(), questionnaire.len());
}
