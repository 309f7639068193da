//! What a questionnaire keeps, joins, refuses, and how it is named.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use prompt::limits::{CHOICES_MAX, KEY_BYTES_MAX, QUESTIONNAIRE_BYTES_MAX, QUESTIONS_MAX};
use prompt::{AnswerKind, Answers, Error, Question, QuestionSource, Questionnaire};
use proptest::prelude::{any, proptest};
use serde_json::{Value, json};

fn at(line: u32) -> QuestionSource {
    QuestionSource {
        file: "card.jig".to_owned(),
        line,
    }
}

fn question(key: &str) -> Question {
    Question {
        contexts: vec!["a context".to_owned()],
        prompt: "Which?".to_owned(),
        format: "A list.".to_owned(),
        examples: vec!["[1]".to_owned()],
        kind: AnswerKind::Pick {
            from: vec![json!("a"), json!("b")],
        },
        schema: Some(json!({ "minItems": 1 })),
        ..Question::new(key, at(3))
    }
}

fn asking(questions: impl IntoIterator<Item = Question>) -> Questionnaire {
    let mut questionnaire = Questionnaire::new();
    for question in questions {
        questionnaire.ask(question).unwrap();
    }
    questionnaire
}

/// Asks both and returns the keys, or the error.
#[track_caller]
fn check(questions: Vec<Question>, expected: Result<&[&str], &str>) {
    let mut questionnaire = Questionnaire::new();
    let outcome = questions
        .into_iter()
        .try_for_each(|question| questionnaire.ask(question));
    match (outcome, expected) {
        (Ok(()), Ok(keys)) => assert_eq!(questionnaire.keys().collect::<Vec<_>>(), keys),
        (Err(error), Err(message)) => assert_eq!(error.to_string(), message),
        (outcome, _) => panic!("{outcome:?} instead of {expected:?}"),
    }
}

/// Every field a question has, changed.
fn variations() -> Vec<(&'static str, Question)> {
    let base = || Question {
        source: at(9),
        ..question("k")
    };
    let changed = |change: fn(&mut Question)| {
        let mut question = base();
        change(&mut question);
        question
    };
    vec![
        ("prompt", changed(|q| q.prompt.push('!'))),
        ("context", changed(|q| q.contexts.push("more".to_owned()))),
        ("context", changed(|q| q.contexts.clear())),
        ("output format", changed(|q| q.format.clear())),
        ("list of examples", changed(|q| q.examples.clear())),
        (
            "list of examples",
            changed(|q| q.examples.push("x".to_owned())),
        ),
        ("kind of answer", changed(|q| q.kind = AnswerKind::Text)),
        ("kind of answer", changed(|q| q.kind = AnswerKind::Json)),
        (
            "kind of answer",
            changed(|q| {
                q.kind = AnswerKind::Pick {
                    from: vec![json!("a")],
                }
            }),
        ),
        (
            "kind of answer",
            changed(|q| {
                q.kind = AnswerKind::Order {
                    from: vec![json!("a"), json!("b")],
                }
            }),
        ),
        ("schema", changed(|q| q.schema = None)),
        (
            "schema",
            changed(|q| q.schema = Some(json!({ "minItems": 2 }))),
        ),
        ("`required`", changed(|q| q.required = false)),
    ]
}

#[test]
fn questions_keep_their_order_and_the_same_one_is_asked_once() {
    let again = Question {
        source: at(40),
        prompt: "\n    Which?\r\n".to_owned(),
        contexts: vec![" a context ".to_owned(), "  \n".to_owned()],
        ..question("b")
    };
    check(vec![question("b"), question("a"), again], Ok(&["b", "a"]));
    check(vec![], Ok(&[]));
}

#[test]
fn different_questions_under_one_key_name_both_places() {
    for (difference, other) in variations() {
        let message = format!(
            "Two different questions are asked under the key `k`, at card.jig:3 and at card.jig:9: \
             their {difference} differs. Give one of them another key, or make them the same."
        );
        check(vec![question("k"), other], Err(&message));
    }
}

#[test]
fn a_key_must_be_able_to_stand_in_an_answers_file_and_in_the_document() {
    for (key, message) in [
        (
            "",
            "card.jig:3: \"\" cannot be the key of a question: it is empty. Choose another key.",
        ),
        (
            "  ",
            "card.jig:3: \"  \" cannot be the key of a question: it is empty. Choose another key.",
        ),
        (
            " a",
            "card.jig:3: \" a\" cannot be the key of a question: it begins or ends with a space. Choose another key.",
        ),
        (
            "a`b",
            "card.jig:3: \"a`b\" cannot be the key of a question: it contains a backtick or a control character. Choose another key.",
        ),
        (
            "$request",
            "card.jig:3: \"$request\" cannot be the key of a question: an answers file keeps its request id there. Choose another key.",
        ),
    ] {
        check(vec![question(key)], Err(message));
    }
    check(
        vec![question("main-fields.é $x")],
        Ok(&["main-fields.é $x"]),
    );
}

#[test]
fn an_unanswerable_question_is_refused_where_it_is_asked() {
    let select = Question {
        kind: AnswerKind::Select { from: vec![] },
        ..question("k")
    };
    check(
        vec![select],
        Err(
            "card.jig:3: the question `k` offers nothing to choose from. Give `from` at least one value.",
        ),
    );
    for (schema, message) in [
        (
            json!({ "type": "strin" }),
            "card.jig:3: the schema of the question `k` is not a usable JSON Schema: \"strin\" is not valid under any of the schemas listed in the 'anyOf' keyword.",
        ),
        (
            json!({ "pattern": "(" }),
            "card.jig:3: the schema of the question `k` is not a usable JSON Schema: \"(\" is not a \"regex\".",
        ),
        (
            json!("text"),
            "card.jig:3: the schema of the question `k` is not a usable JSON Schema: it is \"text\", but a schema is an object.",
        ),
        (
            json!({ "$ref": "https://example.com/a.json" }),
            "card.jig:3: the schema of the question `k` is not a usable JSON Schema: Resource 'https://example.com/a.json' is not present in a registry and retrieving it failed: Retrieval is disabled, cannot fetch https://example.com/a.json.",
        ),
    ] {
        let broken = Question {
            schema: Some(schema),
            ..question("k")
        };
        check(vec![broken], Err(message));
    }
}

#[test]
fn every_bound_is_named_when_it_is_hit() {
    check(
        vec![question(&"k".repeat(KEY_BYTES_MAX + 1))],
        Err("The key of a question is too large: 129 exceeds KEY_BYTES_MAX (128)."),
    );
    let choices = Question {
        kind: AnswerKind::Pick {
            from: (0..=CHOICES_MAX).map(Value::from).collect(),
        },
        ..question("k")
    };
    check(
        vec![choices],
        Err(
            "The list of choices of the question `k` (card.jig:3) is too large: 1001 exceeds CHOICES_MAX (1000).",
        ),
    );
    let long = Question {
        prompt: "x".repeat(QUESTIONNAIRE_BYTES_MAX),
        ..question("k")
    };
    check(
        vec![long],
        Err(
            "The questionnaire, with the question `k` (card.jig:3), is too large: 16777235 exceeds QUESTIONNAIRE_BYTES_MAX (16777216).",
        ),
    );
    let many = (0..=QUESTIONS_MAX)
        .map(|n| Question::new(format!("k{n}"), at(3)))
        .collect();
    check(
        many,
        Err(
            "The questionnaire, with the question `k1000` (card.jig:3), is too large: 1001 exceeds QUESTIONS_MAX (1000).",
        ),
    );
}

#[test]
fn contexts_are_tidied_and_kept_once_in_order() {
    let mut questionnaire = Questionnaire::new();
    for context in ["\n    b:\n      c\n", "", " \n", "a", "b:\n  c", "a"] {
        questionnaire.add_context(context);
    }
    assert_eq!(questionnaire.contexts(), ["b:\n  c", "a"]);
    assert!(questionnaire.is_empty(), "contexts alone ask nothing");
}

#[test]
fn a_questionnaire_joins_another_whole_or_not_at_all() {
    let mut parent = asking([question("a")]);
    parent.add_context("parent");
    let mut child = asking([question("b"), question("a")]);
    child.add_context("child");
    child.add_context("parent");
    parent.merge(child).unwrap();
    assert_eq!(parent.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(parent.contexts(), ["parent", "child"]);

    let before = parent.clone();
    let mut clashing = asking([question("c"), Question::new("b", at(7))]);
    clashing.add_context("more");
    let error = parent.merge(clashing).unwrap_err();
    assert!(matches!(error, Error::QuestionConflict { .. }), "{error}");
    assert_eq!(parent, before);
}

#[test]
fn missing_answers_are_asked_again_with_their_contexts() {
    let optional = |key| Question {
        required: false,
        ..question(key)
    };
    let mut all = asking([
        question("a"),
        question("b"),
        question("c"),
        optional("d"),
        optional("e"),
    ]);
    all.add_context("shared");
    for (answers, missing, blocking) in [
        ("{}", vec!["a", "b", "c", "d", "e"], true),
        (
            r#"{"a": 1, "c": null, "x": 1}"#,
            vec!["b", "c", "d", "e"],
            true,
        ),
        (
            r#"{"a": 1, "b": false, "c": "", "e": null}"#,
            vec!["d"],
            false,
        ),
        (r#"{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}"#, vec![], false),
    ] {
        let rest = all.missing(&Answers::read(answers, "answers.json").unwrap());
        assert_eq!(rest.keys().collect::<Vec<_>>(), missing, "{answers}");
        assert_eq!(rest.has_required(), blocking, "{answers}");
        assert_eq!(rest.contexts(), ["shared"]);
    }
}

#[test]
fn the_request_id_is_stable_and_knows_every_field() {
    let base = asking([question("k")]);
    // Pinned: a change here makes every answers file in the world stale.
    assert_eq!(base.request_id().as_str(), "bb5a8091d35a");
    let elsewhere = Question {
        source: at(99),
        ..question("k")
    };
    assert_eq!(asking([elsewhere]).request_id(), base.request_id());

    let mut ids = vec![base.request_id(), Questionnaire::new().request_id()];
    ids.push(asking([question("other")]).request_id());
    ids.push(asking([question("k"), question("other")]).request_id());
    let mut with_context = asking([question("k")]);
    with_context.add_context("shared");
    ids.push(with_context.request_id());
    ids.extend(
        variations()
            .into_iter()
            .map(|(_, q)| asking([q]).request_id()),
    );
    let code = |language: Option<&str>| Question {
        kind: AnswerKind::Code {
            language: language.map(str::to_owned),
        },
        ..question("k")
    };
    ids.extend([code(None), code(Some("rust"))].map(|q| asking([q]).request_id()));
    for (at, id) in ids.iter().enumerate() {
        assert_eq!(id.as_str().len(), 12);
        assert!(!ids[..at].contains(id), "{at} repeats an earlier id");
    }
}

#[test]
fn a_schema_is_the_same_whatever_the_order_of_its_keys() {
    let with = |schema: &str| Question {
        schema: Some(serde_json::from_str(schema).unwrap()),
        ..question("k")
    };
    let one = with(r#"{"type": "array", "items": {"type": "string", "minLength": 1}}"#);
    let two = with(r#"{"items": {"minLength": 1, "type": "string"}, "type": "array"}"#);
    assert_eq!(
        asking([one.clone()]).request_id(),
        asking([two.clone()]).request_id()
    );
    check(vec![one, two], Ok(&["k"]));
}

#[test]
fn kinds_are_declared_by_name() {
    let from = vec![json!("a")];
    for name in AnswerKind::NAMES {
        let kind = AnswerKind::named(name, from.clone(), Some("rust".to_owned())).unwrap();
        assert_eq!(kind.name(), name);
    }
    assert_eq!(
        AnswerKind::named("selct", from, None)
            .unwrap_err()
            .to_string(),
        "`selct` is not a kind of answer. Use one of `text`, `code`, `json`, `boolean`, `select`, \
         `pick`, `order`, `number`, `list`. Did you mean `select`?"
    );
}

proptest! {
    #[test]
    fn equal_content_and_only_equal_content_has_an_equal_id(
        one in any::<(String, String, Vec<String>, Vec<String>)>(),
        two in any::<(String, String, Vec<String>, Vec<String>)>(),
    ) {
        let ask = |(prompt, format, contexts, examples): (String, String, Vec<String>, Vec<String>)| {
            asking([Question { prompt, format, contexts, examples, ..Question::new("k", at(1)) }])
        };
        let (first, again, other) = (ask(one.clone()), ask(one), ask(two));
        assert_eq!(first.request_id(), again.request_id());
        assert_eq!(first == other, first.request_id() == other.request_id());
    }
}
