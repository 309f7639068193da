//! Which answers each kind accepts, what they become, and how a wrong one is reported.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use prompt::limits::{ANSWER_BYTES_MAX, ANSWER_DEPTH_MAX};
use prompt::{AnswerKind, AnswerRule, Answers, Question, QuestionSource, Questionnaire, check_all};
use proptest::prelude::{Strategy, any, proptest};
use serde_json::{Value, json};

fn question(kind: AnswerKind) -> Question {
    let source = QuestionSource {
        file: "card.jig".to_owned(),
        line: 3,
    };
    Question {
        kind,
        ..Question::new("k", source)
    }
}

fn json_with(schema: Value) -> Question {
    Question {
        schema: Some(schema),
        ..question(AnswerKind::Json)
    }
}

fn from(values: Value) -> Vec<Value> {
    values.as_array().unwrap().clone()
}

/// `Ok` is the typed value; `Err` is the whole message after "Answer `k` (asked at card.jig:3) ".
#[track_caller]
fn check(question: &Question, value: Value, expected: Result<Value, &str>) {
    let outcome = prompt::check(question, &value).map_err(|problem| problem.to_string());
    let expected = expected.map_err(|rest| format!("Answer `k` (asked at card.jig:3) {rest}"));
    assert_eq!(outcome, expected, "{value}");
}

#[test]
fn a_question_without_a_kind_takes_any_json() {
    let any = question(AnswerKind::Any);
    for value in [
        json!("a"),
        json!(1),
        json!(false),
        json!(["a", 1]),
        json!({ "a": [] }),
    ] {
        check(&any, value.clone(), Ok(value));
    }
    check(&any, json!(null), Err("is missing."));
}

#[test]
fn text_is_text_and_nothing_becomes_text() {
    let text = question(AnswerKind::Text);
    check(&text, json!("a\n```\n"), Ok(json!("a\n```\n")));
    check(
        &text,
        json!(1),
        Err("must be text in double quotes, but is 1."),
    );
    check(
        &text,
        json!(true),
        Err("must be text in double quotes, but is true."),
    );
    check(
        &text,
        json!(["a", "b"]),
        Err(
            "must be text, but is [\"a\",\"b\"]. If the template wants a list or an object, \
             declare `type: 'json'` in its `@output`.",
        ),
    );
    check(&text, json!(null), Err("is missing."));
}

#[test]
fn code_loses_one_fence_around_it() {
    let code = question(AnswerKind::Code { language: None });
    check(&code, json!("let a"), Ok(json!("let a")));
    check(&code, json!("```ts\n  let a\n```\n"), Ok(json!("  let a")));
    check(
        &code,
        json!("````\n```\nx\n```\n````"),
        Ok(json!("```\nx\n```")),
    );
    check(
        &code,
        json!("see\n```\nx\n```"),
        Ok(json!("see\n```\nx\n```")),
    );
    check(
        &code,
        json!(["let a"]),
        Err("must be code as one JSON string, but is [\"let a\"]."),
    );
}

#[test]
fn json_may_be_written_into_a_string() {
    let any = question(AnswerKind::Json);
    for (value, typed) in [
        (json!({ "a": 1 }), json!({ "a": 1 })),
        (json!("[1, 2]"), json!([1, 2])),
        (json!("```json\n{\"a\": 1}\n```"), json!({ "a": 1 })),
        (json!(" 5 "), json!(5)),
        (json!("hello"), json!("hello")),
        (json!("null"), json!("null")),
        (json!(0), json!(0)),
    ] {
        check(&any, value, Ok(typed));
    }
    check(
        &any,
        json!("[1,"),
        Err(
            "is text that looks like JSON but is wrong at 1:3: EOF while parsing a value. The text ends too early: complete it.",
        ),
    );
}

#[test]
fn a_schema_is_checked_and_every_violation_has_its_pointer() {
    let fields = json_with(json!({
        "type": "array",
        "minItems": 1,
        "items": { "type": "object", "required": ["name"], "properties": { "name": { "type": "string" } } },
    }));
    check(
        &fields,
        json!([{ "name": "a" }]),
        Ok(json!([{ "name": "a" }])),
    );
    check(
        &fields,
        json!("[{\"name\": \"a\"}]"),
        Ok(json!([{ "name": "a" }])),
    );
    check(
        &fields,
        json!([{ "name": 1 }, {}, { "name": "c" }]),
        Err(
            "does not match its schema: /0/name: 1 is not of type \"string\"; /1: \"name\" is a required property.",
        ),
    );
    check(
        &fields,
        json!([]),
        Err("does not match its schema: /: [] has less than 1 item."),
    );
    let zip = json_with(json!({ "type": "string", "pattern": "^[0-9]+$" }));
    check(&zip, json!("01234"), Ok(json!("01234")));
    check(&zip, json!("123"), Ok(json!("123")));
    let broken = json_with(json!({ "type": 7 }));
    check(
        &broken,
        json!(1),
        Err(
            "cannot be checked: its schema is not a usable JSON Schema: 7 is not valid under any of the schemas listed in the 'anyOf' keyword. Correct the schema where the question is asked.",
        ),
    );
}

#[test]
fn a_schema_holds_for_the_typed_value_of_every_kind() {
    let code = Question {
        schema: Some(json!({ "maxLength": 3 })),
        ..question(AnswerKind::Code { language: None })
    };
    check(&code, json!("```\nabc\n```"), Ok(json!("abc")));
    check(
        &code,
        json!("abcd"),
        Err("does not match its schema: /: \"abcd\" is longer than 3 characters."),
    );
}

#[test]
fn many_violations_are_listed_up_to_the_bound() {
    let texts = json_with(json!({ "items": { "type": "string" } }));
    let problem = prompt::check(&texts, &json!((0..30).collect::<Vec<_>>())).unwrap_err();
    assert_eq!(problem.rule, AnswerRule::Schema);
    assert!(
        problem.message.contains("/19: 19 is not"),
        "{}",
        problem.message
    );
    assert!(
        problem.message.ends_with("; and 10 more."),
        "{}",
        problem.message
    );
}

#[test]
fn booleans_are_true_or_false_as_their_schema_says() {
    let boolean = question(AnswerKind::Boolean);
    for value in [true, false] {
        check(&boolean, json!(value), Ok(json!(value)));
    }
    check(
        &boolean,
        json!("yes"),
        Err("must be true or false, but is \"yes\"."),
    );
    check(&boolean, json!(1), Err("must be true or false, but is 1."));
    check(
        &boolean,
        json!("maybe"),
        Err("must be true or false, but is \"maybe\"."),
    );
    check(
        &boolean,
        json!([true]),
        Err("must be true or false, but is [true]."),
    );
}

#[test]
fn numbers_are_numbers_and_lists_may_be_written_as_text() {
    let number = question(AnswerKind::Number);
    check(&number, json!(1.5), Ok(json!(1.5)));
    check(
        &number,
        json!("12"),
        Err("must be a number, but is \"12\"."),
    );
    check(
        &number,
        json!("three"),
        Err("must be a number, but is \"three\"."),
    );
    check(
        &number,
        json!("NaN"),
        Err("must be a number, but is \"NaN\"."),
    );
    check(&number, json!(true), Err("must be a number, but is true."));
    let list = question(AnswerKind::List);
    check(&list, json!([1, "a"]), Ok(json!([1, "a"])));
    check(&list, json!("[1]"), Ok(json!([1])));
    check(
        &list,
        json!("a, b"),
        Err("must be a JSON array, but is \"a, b\"."),
    );
    check(&list, json!({}), Err("must be a JSON array, but is {}."));
}

#[test]
fn an_empty_answer_is_no_answer() {
    let empty = "is empty. Answer it, or make the question optional (`required: false`).";
    for kind in [
        AnswerKind::Any,
        AnswerKind::Text,
        AnswerKind::Code { language: None },
    ] {
        check(&question(kind.clone()), json!(""), Err(empty));
        check(&question(kind.clone()), json!(" \n"), Err(empty));
        let optional = Question {
            required: false,
            ..question(kind)
        };
        check(&optional, json!(""), Ok(json!("")));
    }
    let pick = question(AnswerKind::Pick {
        from: from(json!(["a", "b"])),
    });
    let none = "must have at least 1 of them, but has 0.";
    check(&pick, json!([]), Err(none));
    check(&question(AnswerKind::List), json!([]), Err(none));
}

#[test]
fn the_number_of_items_is_kept() {
    let two = Question {
        items: prompt::ItemCount {
            min: Some(2),
            max: Some(2),
        },
        ..question(AnswerKind::Pick {
            from: from(json!(["a", "b", "c"])),
        })
    };
    check(&two, json!(["a", "b"]), Ok(json!(["a", "b"])));
    let wrong = |count| format!("must have exactly 2 of them, but has {count}.");
    check(&two, json!(["a"]), Err(&wrong(1)));
    check(&two, json!(["a", "b", "c"]), Err(&wrong(3)));
    let none = Question {
        items: prompt::ItemCount {
            min: Some(0),
            max: None,
        },
        ..question(AnswerKind::List)
    };
    check(&none, json!([]), Ok(json!([])));
}

#[test]
fn select_takes_one_member() {
    let select = question(AnswerKind::Select {
        from: from(json!(["card", "table", 1, { "a": 1 }])),
    });
    check(&select, json!("card"), Ok(json!("card")));
    check(&select, json!(1.0), Ok(json!(1)));
    check(&select, json!({ "a": 1 }), Ok(json!({ "a": 1 })));
    check(
        &select,
        json!("Tabel"),
        Err(
            "must be one of \"card\", \"table\", 1, {\"a\":1}, but is \"Tabel\". Did you mean \"table\"?",
        ),
    );
    check(
        &select,
        json!(["card"]),
        Err("must be one of \"card\", \"table\", 1, {\"a\":1}, but is [\"card\"]."),
    );
    let many = question(AnswerKind::Select {
        from: (0..22).map(Value::from).collect(),
    });
    check(
        &many,
        json!("x"),
        Err(
            "must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 and 2 more, but is \"x\".",
        ),
    );
}

#[test]
fn pick_takes_distinct_members() {
    let pick = question(AnswerKind::Pick {
        from: from(json!(["id", "name", "email"])),
    });
    check(&pick, json!(["email", "id"]), Ok(json!(["email", "id"])));
    check(&pick, json!("[\"id\"]"), Ok(json!(["id"])));
    check(
        &pick,
        json!(["id", "nmae", "id", 3]),
        Err(
            "must pick from \"id\", \"name\", \"email\", each at most once: not offered: \"nmae\", 3; picked twice: \"id\". Did you mean \"name\"?",
        ),
    );
    check(
        &pick,
        json!("id"),
        Err("must be a JSON array of some of \"id\", \"name\", \"email\", but is \"id\"."),
    );
}

#[test]
fn order_takes_a_permutation() {
    let order = question(AnswerKind::Order {
        from: from(json!(["a", "b", "c"])),
    });
    check(&order, json!(["c", "a", "b"]), Ok(json!(["c", "a", "b"])));
    check(
        &order,
        json!(["a", "a", "d"]),
        Err(
            "must order all of \"a\", \"b\", \"c\": missing: \"b\", \"c\"; not offered: \"d\"; repeated: \"a\".",
        ),
    );
    check(
        &order,
        json!([]),
        Err("must order all of \"a\", \"b\", \"c\": missing: \"a\", \"b\", \"c\"."),
    );
    check(
        &order,
        json!({ "a": 1 }),
        Err("must be a JSON array of all of \"a\", \"b\", \"c\", in order, but is {\"a\":1}."),
    );
    let twice = question(AnswerKind::Order {
        from: from(json!(["a", "a", 1])),
    });
    check(&twice, json!(["a", 1.0, "a"]), Ok(json!(["a", 1, "a"])));
    check(
        &twice,
        json!(["a", 1]),
        Err("must order all of \"a\", \"a\", 1: missing: \"a\"."),
    );
}

#[test]
fn the_skeleton_sent_back_is_no_answer() {
    let mut text = question(AnswerKind::Text);
    check(
        &text,
        json!("<your answer>"),
        Err("still has the placeholder value. Replace it with the answer."),
    );
    text.format = "A sentence.".to_owned();
    check(&text, json!("<your answer>"), Ok(json!("<your answer>")));
    check(
        &text,
        json!("<see format above>"),
        Err("still has the placeholder value. Replace it with the answer."),
    );
}

#[test]
fn null_declines_an_optional_question() {
    let optional = Question {
        required: false,
        ..question(AnswerKind::Number)
    };
    check(&optional, json!(null), Ok(json!(null)));
    check(
        &optional,
        json!("x"),
        Err("must be a number, but is \"x\"."),
    );
}

#[test]
fn an_answer_has_a_size_and_a_depth() {
    let any = question(AnswerKind::Any);
    let nested = |depth| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    check(&any, nested(ANSWER_DEPTH_MAX), Ok(nested(ANSWER_DEPTH_MAX)));
    check(
        &any,
        nested(ANSWER_DEPTH_MAX + 1),
        Err("is nested deeper than ANSWER_DEPTH_MAX (64)."),
    );
    let text = |bytes: usize| json!("x".repeat(bytes - 2));
    check(&any, text(ANSWER_BYTES_MAX), Ok(text(ANSWER_BYTES_MAX)));
    check(
        &any,
        text(ANSWER_BYTES_MAX + 1),
        Err("is too large: 1048577 bytes exceed ANSWER_BYTES_MAX (1048576)."),
    );
}

#[test]
fn a_message_repeats_only_the_beginning_of_a_long_value() {
    let problem =
        prompt::check(&question(AnswerKind::Number), &json!("x".repeat(1000))).unwrap_err();
    assert_eq!(
        problem.message,
        format!("must be a number, but is \"{}….", "x".repeat(159))
    );
    assert_eq!(problem.found.as_deref(), Some(&json!("x".repeat(1000))));
}

#[test]
fn all_wrong_answers_are_reported_at_once() {
    let mut questionnaire = Questionnaire::new();
    for (key, kind, required) in [
        ("a", AnswerKind::Text, true),
        ("b", AnswerKind::Boolean, true),
        ("c", AnswerKind::Number, true),
        ("d", AnswerKind::Number, false),
    ] {
        let question = Question {
            key: key.to_owned(),
            required,
            ..question(kind)
        };
        questionnaire.ask(question).unwrap();
    }
    let read = |text| Answers::read(text, "answers.json").unwrap();
    let problems =
        check_all(&questionnaire, &read(r#"{"a": 1, "b": true, "d": "x"}"#)).unwrap_err();
    let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "Answer `a` (asked at card.jig:3) must be text in double quotes, but is 1.",
            "Answer `c` (asked at card.jig:3) is missing.",
            "Answer `d` (asked at card.jig:3) must be a number, but is \"x\".",
        ]
    );
    assert_eq!(
        serde_json::to_value(&problems[0]).unwrap(),
        json!({
            "key": "a",
            "rule": "text",
            "message": "must be text in double quotes, but is 1.",
            "found": 1,
            "place": { "file": "card.jig", "line": 3 },
        })
    );
    let typed = check_all(
        &questionnaire,
        &read(r#"{"b": true, "a": "x", "c": 1, "x": 0}"#),
    )
    .unwrap();
    assert_eq!(typed.into_value(), json!({ "a": "x", "b": true, "c": 1 }));
}

proptest! {
    #[test]
    fn any_shuffle_orders_and_any_other_list_does_not(
        shuffled in proptest::sample::subsequence((0..8).collect::<Vec<i32>>(), 0..=8).prop_shuffle(),
    ) {
        let order = question(AnswerKind::Order { from: (0..8).map(Value::from).collect() });
        let outcome = prompt::check(&order, &json!(shuffled));
        assert_eq!(outcome.is_ok(), shuffled.len() == 8);
        let pick = question(AnswerKind::Pick { from: (0..8).map(Value::from).collect() });
        let picked = prompt::check(&pick, &json!(shuffled));
        assert_eq!(picked.ok(), (!shuffled.is_empty()).then(|| json!(shuffled)));
    }

    #[test]
    fn strings_never_make_a_check_panic(text in any::<String>()) {
        for name in AnswerKind::NAMES {
            let kind = AnswerKind::named(name, vec![json!(text.clone() + "x")], None).unwrap();
            let _ = prompt::check(&question(kind), &json!(text));
        }
    }
}
