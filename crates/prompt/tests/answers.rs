//! Reading and writing an answers file.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use prompt::limits::{ANSWER_DEPTH_MAX, ANSWERS_BYTES_MAX, ANSWERS_MAX};
use prompt::{AnswerRule, Answers, RequestId, stale, unknown_keys};
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use serde_json::{Value, json};

#[track_caller]
fn check(text: &str, expected: Result<Value, &str>) {
    let read = Answers::read(text, "answers.json");
    match (read, expected) {
        (Ok(answers), Ok(value)) => {
            let written: Value = serde_json::from_str(&answers.to_json()).unwrap();
            assert_eq!(written, value);
        }
        (Err(error), Err(message)) => assert_eq!(error.to_string(), message),
        (read, expected) => panic!("{read:?} instead of {expected:?}"),
    }
}

#[test]
fn an_object_without_a_fence_is_read() {
    check("{}", Ok(json!({})));
    check(
        "\u{feff} {\"a\": [1, 2.5, {\"b\": null}], \"$request\": \"abc\"}\r\n",
        Ok(json!({ "$request": "abc", "a": [1, 2.5, { "b": null }] })),
    );
    let answers = Answers::read(r#"{"z": 1, "$request": "abc", "a": null}"#, "x").unwrap();
    assert_eq!(answers.keys().collect::<Vec<_>>(), ["z", "a"]);
    assert_eq!(answers.request_id().map(RequestId::as_str), Some("abc"));
    assert_eq!(answers.get("$request"), None);
    assert_eq!(answers.get("a"), Some(&Value::Null));
}

#[test]
fn a_broken_file_is_reported_with_place_and_remedy() {
    for (text, message) in [
        (
            "",
            "answers.json:1:1: the answers cannot be read: EOF while parsing a value. The text ends too early: complete it.",
        ),
        (
            "{\"a\": 1",
            "answers.json:1:7: the answers cannot be read: EOF while parsing an object. The text ends too early: complete it.",
        ),
        (
            "{\n  \"a\": 1,\n}",
            "answers.json:3:1: the answers cannot be read: trailing comma. Remove the comma before the closing bracket.",
        ),
        (
            "{a: 1}",
            "answers.json:1:2: the answers cannot be read: key must be a string. Write every key in double quotes, and no comments.",
        ),
        (
            "{} {}",
            "answers.json:1:4: the answers cannot be read: trailing characters. Keep one JSON object and nothing after it.",
        ),
        (
            "{\"a\": \"x\ny\"}",
            "answers.json:2:1: the answers cannot be read: control character (\\u0000-\\u001F) found while parsing a string. Write a line break in a string as \\n.",
        ),
        (
            "{\"a\": \"\\d\"}",
            "answers.json:1:9: the answers cannot be read: invalid escape. Write a backslash in a string as two backslashes.",
        ),
        (
            "```json\n{}\n```",
            "answers.json:1:1: the answers cannot be read: expected value. Remove the Markdown fence around the JSON.",
        ),
        (
            "{\"a\": undefined}",
            "answers.json:1:7: the answers cannot be read: expected value. Write one JSON object: {\"key\": answer, …}.",
        ),
        (
            "{\"a\": 1,\n \"b\": 2, \"a\": 3}",
            "answers.json:2:12: the answers cannot be read: duplicate key `a`. Keep one of the two.",
        ),
        (
            "{\"a\": {\"b\": 1, \"b\": 1}}",
            "answers.json:1:18: the answers cannot be read: duplicate key `b`. Keep one of the two.",
        ),
        (
            "[1]",
            "answers.json: the answers are a list, not a JSON object. Write one JSON object with a question's key before each answer.",
        ),
        (
            "\"a\"",
            "answers.json: the answers are text, not a JSON object. Write one JSON object with a question's key before each answer.",
        ),
        (
            "null",
            "answers.json: the answers are `null`, not a JSON object. Write one JSON object with a question's key before each answer.",
        ),
        (
            "{\"$request\": 12}",
            "answers.json: `$request` is 12, not text. Copy the request id from the document, in double quotes, or remove the line.",
        ),
    ] {
        check(text, Err(message));
    }
}

#[test]
fn bounds_are_named_when_they_are_hit() {
    let nested = |depth: usize| format!("{{\"a\": {}1{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(Answers::read(&nested(ANSWER_DEPTH_MAX), "x").is_ok());
    for depth in [ANSWER_DEPTH_MAX + 1, 127, 128, 100_000] {
        check(
            &nested(depth),
            Err(
                "answers.json:1:71: the answers cannot be read: an answer is nested deeper than ANSWER_DEPTH_MAX (64). Answer with a flatter value.",
            ),
        );
    }
    let large = format!("{{\"a\": \"{}\"}}", "x".repeat(ANSWERS_BYTES_MAX));
    check(
        &large,
        Err(
            "The answers file answers.json is too large: 16777225 exceeds ANSWERS_BYTES_MAX (16777216).",
        ),
    );
    let many: Vec<String> = (0..=ANSWERS_MAX).map(|n| format!("\"k{n}\": 1")).collect();
    check(
        &format!("{{{}}}", many.join(",")),
        Err(
            "The number of answers in answers.json is too large: 10001 exceeds ANSWERS_MAX (10000).",
        ),
    );
}

#[test]
fn later_answers_hold_over_earlier_ones() {
    let mut answers = Answers::read(r#"{"$request": "one", "a": 1, "b": 2}"#, "x").unwrap();
    answers.extend(Answers::read(r#"{"b": 3, "c": 4}"#, "x").unwrap());
    answers.insert("$request", json!("ignored"));
    let written: Value = serde_json::from_str(&answers.to_json()).unwrap();
    assert_eq!(
        written,
        json!({ "$request": "one", "a": 1, "b": 3, "c": 4 })
    );
}

#[test]
fn an_unknown_key_names_the_one_that_was_meant() {
    let known = ["mainFields", "style"];
    let answers = Answers::read(
        r#"{"style": 1, "main_field": 2, "zzzzzz": 3, "$request": "x"}"#,
        "x",
    )
    .unwrap();
    let problems = unknown_keys(known.into_iter(), &answers);
    let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "Answer `main_field` is not asked for. Did you mean `mainFields`?",
            "Answer `zzzzzz` is not asked for. Known keys: \"mainFields\", \"style\".",
        ]
    );
    assert!(
        problems
            .iter()
            .all(|problem| problem.rule == AnswerRule::UnknownKey)
    );
    let none = unknown_keys([].into_iter(), &Answers::read(r#"{"a": 1}"#, "x").unwrap());
    assert_eq!(
        none[0].to_string(),
        "Answer `a` is not asked for. Nothing is asked."
    );
}

#[test]
fn answers_to_another_request_are_stale() {
    let asked = [RequestId::new("one"), RequestId::new("two")];
    for (text, expected) in [
        ("{}", None),
        (r#"{"$request": "two"}"#, None),
        (
            r#"{"$request": "zero"}"#,
            Some(
                "Answer `$request` is `zero`, but the questions are now `one`, `two`: they have \
                 changed since they were answered. Run without the answers and answer the new \
                 document, or remove `$request` to use these answers as they are.",
            ),
        ),
    ] {
        let problem = stale(&asked, &Answers::read(text, "x").unwrap());
        assert_eq!(problem.map(|p| p.to_string()).as_deref(), expected);
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        // JSON has no infinity and no NaN.
        any::<f64>().prop_filter_map("not finite", |f| f.is_finite().then(|| Value::from(f))),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map(any::<String>(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn written_answers_are_read_back_the_same(
        values in proptest::collection::vec((any::<String>(), value()), 0..6),
        request in proptest::option::of(any::<String>()),
    ) {
        let mut answers = Answers::empty();
        for (key, value) in values {
            answers.insert(key, value);
        }
        if let Some(id) = request {
            answers.set_request_id(RequestId::new(id));
        }
        let read = Answers::read(&answers.to_json(), "answers.json").unwrap();
        assert_eq!(read.keys().collect::<Vec<_>>(), answers.keys().collect::<Vec<_>>());
        assert_eq!(read, answers);
    }

    #[test]
    fn reading_never_panics(text in any::<String>()) {
        let _ = Answers::read(&text, "answers.json");
    }
}
