//! How replies of models are read, and what a model is told when one cannot be.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use prompt::limits::REPLY_BYTES_MAX;
use prompt::{AnswerKind, Answers, Question, QuestionSource, Questionnaire, reply};
use proptest::prelude::{any, proptest};
use serde_json::{Value, json};

fn question(key: &str, kind: AnswerKind) -> Question {
    let source = QuestionSource {
        file: "card.jig".to_owned(),
        line: 3,
    };
    Question {
        kind,
        ..Question::new(key, source)
    }
}

/// `fields` of any kind, `code`, and an optional `note`.
fn asked() -> Questionnaire {
    let mut questionnaire = Questionnaire::new();
    let note = Question {
        required: false,
        ..question("note", AnswerKind::Text)
    };
    for question in [
        question("fields", AnswerKind::Any),
        question("code", AnswerKind::Code { language: None }),
        note,
    ] {
        questionnaire.ask(question).unwrap();
    }
    questionnaire
}

#[track_caller]
fn check(text: &str, expected: Result<Value, &str>) {
    let asked = asked();
    let read = reply::read(text, &asked);
    match (read, expected) {
        (Ok(answers), Ok(value)) => {
            assert_eq!(answers.request_id(), Some(&asked.request_id()));
            let mut written: Value = serde_json::from_str(&answers.to_json()).unwrap();
            written.as_object_mut().unwrap().shift_remove("$request");
            assert_eq!(written, value, "{text}");
        }
        (Err(error), Err(message)) => assert_eq!(error.to_string(), message, "{text}"),
        (read, expected) => panic!("{read:?} instead of {expected:?} for {text}"),
    }
}

#[test]
fn what_models_put_around_the_object_is_ignored() {
    let answers = json!({ "fields": ["a"], "code": "x" });
    for text in [
        r#"{"fields": ["a"], "code": "x"}"#,
        "\u{feff}  {\"fields\": [\"a\"], \"code\": \"x\"}\n",
        "```json\n{\"fields\": [\"a\"], \"code\": \"x\"}\n```",
        "Sure! For {name} I chose:\n\n```json\n{\"fields\": [\"a\"], \"code\": \"x\"}\n```\nLet me know if {this} helps.",
        "{\"fields\": [\"a\",], \"code\": \"x\" , }",
        "The form is { \"key\": 1 } and so:\n{\"fields\": [\"a\"], \"code\": \"x\"}",
        "{\"fields\": \"<your answer>\", \"code\": \"<your answer>\"} becomes {\"fields\": [\"a\"], \"code\": \"x\"}",
        "It has { \"unclosed prose: {\"fields\": [\"a\"], \"code\": \"x\"}",
        "[{\"fields\": [\"a\"], \"code\": \"x\"}]",
        "{\"$request\": 12, \"fields\": [\"a\"], \"code\": \"x\"}",
        "{\"$request\": \"other\", \"fields\": [\"a\"], \"code\": \"x\"}\u{feff}",
    ] {
        check(text, Ok(answers.clone()));
    }
}

#[test]
fn strings_are_kept_to_the_letter() {
    for (text, code) in [
        (r#"{"fields": 1, "code": "a, }"}"#, "a, }"),
        (
            r#"{"fields": 1, "code": "{\"x\": [1,]}",}"#,
            r#"{"x": [1,]}"#,
        ),
        (r#"{"fields": 1, "code": "```\n{}\n```"}"#, "```\n{}\n```"),
        (
            "{\"fields\": 1, \"code\": \"a\n\tb\r\n\u{1}\"}",
            "a\n\tb\r\n\u{1}",
        ),
        (r#"{"fields": 1, "code": "\\"}"#, "\\"),
        (r#"{"fields": 1, "code": "é\u00e9 \ud83d\ude00"}"#, "éé 😀"),
    ] {
        check(text, Ok(json!({ "fields": 1, "code": code })));
    }
}

#[test]
fn a_reply_without_answers_is_told_apart() {
    for (text, message) in [
        (
            "",
            "The reply is empty. Reply with the JSON object that was asked for.",
        ),
        (
            " \n\u{feff}\n",
            "The reply is empty. Reply with the JSON object that was asked for.",
        ),
        (
            "I cannot help\nwith that.",
            "The reply holds no JSON object; it begins \"I cannot help with that.\". Reply with the JSON object only.",
        ),
        (
            "[1, 2]",
            "The reply holds no JSON object; it begins \"[1, 2]\". Reply with the JSON object only.",
        ),
        (
            "Here:\n```json\n{\"fields\": [\"a\"], \"code\": \"let x",
            "The reply ends inside the JSON object that begins at line 3: it was cut off. Reply again, shorter or with a higher output limit.",
        ),
        (
            "Here:\n  {\"fields\": [a], \"code\": \"x\"}",
            "The JSON object in the reply is wrong at 2:15: expected value, near \"{\\\"fields\\\": [a], \\\"code\\\": \\\"x\\\"}\". Write one JSON object: {\"key\": answer, …}.",
        ),
        (
            "{\n\"fields\": 1,\n\"code\": \"say \"hi\"\"\n}",
            "The JSON object in the reply is wrong at 3:15: expected `,` or `}`, near \"\\\"code\\\": \\\"say \\\"hi\\\"\\\"\". Write one JSON object: {\"key\": answer, …}.",
        ),
        (
            "{\"fields\": 1, \"code\": \"x\", \"fields\": 2}",
            "The JSON object in the reply is wrong at 1:35: duplicate key `fields`, near \"{\\\"fields\\\": 1, \\\"code\\\": \\\"x\\\", \\\"fields\\\": 2}\". Keep one of the two.",
        ),
    ] {
        check(text, Err(message));
    }
    let long = "x".repeat(REPLY_BYTES_MAX + 1);
    check(
        &long,
        Err("The reply is too large: 16777217 exceeds REPLY_BYTES_MAX (16777216)."),
    );
}

#[test]
fn keys_must_be_exactly_those_asked_for() {
    for (text, message) in [
        (
            "{}",
            "The answers in the reply do not fit the questions:\n\
            - Answer `fields` (asked at card.jig:3) is missing.\n\
            - Answer `code` (asked at card.jig:3) is missing.",
        ),
        (
            r#"{"fields": 1, "cod": "x"}"#,
            "The answers in the reply do not fit the questions:\n\
            - Answer `cod` is not asked for. Did you mean `code`?\n\
            - Answer `code` (asked at card.jig:3) is missing.",
        ),
        (
            r#"{"fields": 1, "code": 2, "note": ["x"]}"#,
            "The answers in the reply do not fit the questions:\n\
            - Answer `code` (asked at card.jig:3) must be code as one JSON string, but is 2.\n\
            - Answer `note` (asked at card.jig:3) must be text, but is [\"x\"]. If the template wants a list or an object, declare `type: 'json'` in its `@output`.",
        ),
    ] {
        check(text, Err(message));
    }
}

#[test]
fn the_corrective_turn_quotes_what_was_wrong() {
    let error = reply::read("Sorry.", &asked()).unwrap_err();
    assert_eq!(
        reply::correction(&error, &asked()),
        "Your reply could not be used.\n\n\
         The reply holds no JSON object; it begins \"Sorry.\". Reply with the JSON object only.\n\n\
         Reply again with one JSON object with the keys `fields`, `code`, `note`, and with nothing \
         before or after it."
    );
}

#[track_caller]
fn check_one(kind: AnswerKind, text: &str, expected: Result<Value, &str>) {
    let read = reply::read_one(text, &question("k", kind)).map_err(|error| error.to_string());
    assert_eq!(read, expected.map_err(str::to_owned), "{text}");
}

#[test]
fn a_reply_to_one_question_is_the_answer_itself() {
    let choices = vec![json!("card"), json!("table")];
    let code = || AnswerKind::Code { language: None };
    let select = || AnswerKind::Select {
        from: choices.clone(),
    };
    let order = || AnswerKind::Order {
        from: choices.clone(),
    };
    for (kind, text, value) in [
        (AnswerKind::Text, " [1] is text \n", json!("[1] is text")),
        (code(), "```ts\nlet a\n```", json!("```ts\nlet a\n```")),
        (code(), "Here:\n```ts\nlet a\n```\nDone.", json!("let a")),
        (code(), "let a", json!("let a")),
        (AnswerKind::Any, "plain", json!("plain")),
        (AnswerKind::Any, "5", json!("5")),
        (AnswerKind::Any, "```json\n[1,]\n```", json!([1])),
        (AnswerKind::Json, "The list is [1, 2].", json!([1, 2])),
        (AnswerKind::Json, "\"[1]\"", json!("\"[1]\"")),
        (AnswerKind::Boolean, "Yes", json!(true)),
        (AnswerKind::Boolean, "No.", json!(false)),
        (AnswerKind::Number, " -3 ", json!(-3)),
        (AnswerKind::Boolean, "false", json!(false)),
        (AnswerKind::Number, "12", json!(12)),
        (select(), "card", json!("card")),
        (select(), "\"table\"", json!("table")),
        (
            order(),
            "Like so: [\"table\", \"card\"]",
            json!(["table", "card"]),
        ),
        (AnswerKind::List, "[\"a\"]", json!(["a"])),
    ] {
        check_one(kind, text, Ok(value));
    }
    check_one(
        AnswerKind::Text,
        "  ",
        Err("The reply is empty. Reply with the JSON object that was asked for."),
    );
    check_one(
        AnswerKind::Number,
        "about ten",
        Err(
            "The answers in the reply do not fit the questions:\n- Answer `k` (asked at card.jig:3) must be a number, but is \"about ten\".",
        ),
    );
}

#[test]
fn a_report_of_claude_is_unwrapped() {
    let report = |reply: &str| json!({"type": "result", "is_error": false, "result": reply, "total_cost_usd": 0.1});
    let reply = "```json\n{\"k\": 1}\n```";
    assert_eq!(
        prompt::reply::unwrapped(&report(reply).to_string()).unwrap(),
        reply
    );
    let events = json!([{"type": "system"}, report("x")]);
    assert_eq!(prompt::reply::unwrapped(&events.to_string()).unwrap(), "x");
    let lines = format!("{}\n{}\n", json!({"type": "system"}), report("y"));
    assert_eq!(prompt::reply::unwrapped(&lines).unwrap(), "y");
    for other in [
        "",
        "plain",
        "{\"result\": \"x\"}",
        "{\"type\": \"result\", \"result\": 1}",
        "[1]",
    ] {
        assert_eq!(prompt::reply::unwrapped(other), None, "{other}");
    }
}

proptest! {
    #[test]
    fn reading_a_reply_never_panics(text in any::<String>()) {
        let _ = reply::read(&text, &asked());
        for name in AnswerKind::NAMES {
            let kind = AnswerKind::named(name, vec![json!("a")], None).unwrap();
            let _ = reply::read_one(&text, &question("k", kind));
        }
    }

    #[test]
    fn reading_almost_json_never_panics(text in r#"[{}\[\]",:\\ \n`a1é\u{feff}]{0,60}"#) {
        let _ = reply::read(&text, &asked());
        let _ = reply::read_one(&text, &question("k", AnswerKind::Json));
    }

    #[test]
    fn answers_survive_prose_and_fences(
        code in ".*[a-z].*",
        fields in proptest::collection::vec(any::<String>(), 0..4),
        before in "[a-z {}.\n]{0,40}",
        after in "[a-z {}.\n]{0,40}",
    ) {
        let mut answers = Answers::empty();
        answers.insert("fields", json!(fields));
        answers.insert("code", json!(code));
        answers.set_request_id(asked().request_id());
        let text = format!("{before}\n```json\n{}```\n{after}", answers.to_json());
        assert_eq!(reply::read(&text, &asked()), Ok(answers));
    }
}

#[test]
fn an_object_is_found_wherever_models_put_it() {
    let check = |reply: &str, expected: &str| {
        assert_eq!(prompt::reply::object_in(reply), expected, "{reply}")
    };
    check("{\"a\": 1}", "{\"a\": 1}");
    check(
        "Here it is:\n```json\n{\"a\": 1}\n```\nGood luck!",
        "{\"a\": 1}",
    );
    check("```\nls\n```\n```json\n{\"a\": 1}\n```", "{\"a\": 1}");
    check("```json\n{\"a\": 1}", "{\"a\": 1}");
    check("The plan: {\"a\": 1}. Done.", "{\"a\": 1}");
    check("{\"a\": 1}\nThat is all.", "{\"a\": 1}");
    check("I cannot.", "I cannot.");
    check("", "");
    check("```", "```");
}
