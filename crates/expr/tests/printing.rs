//! The short ways to use an expression agree with the long one: its text, its truth.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::cell::RefCell;
use std::rc::Rc;

use expr::{Error, EvalContext, Expr, Frame, JsObject, Limits, NameScope, Value};
use proptest::prelude::{Just, Strategy, prop_oneof, proptest};
use serde_json::json;

/// A way to use an expression: its text and its truth.
type Way = fn(&Expr, &mut EvalContext<'_>, &Rc<Frame>) -> Result<String, Error>;

/// Every way on fresh values, twice: the second time properties are looked for where they were.
fn check(source: &str) {
    let mut scope = NameScope::new();
    let slot = scope.declare("item");
    let expression = expr::compile(source, &mut scope).expect("the expression is valid");
    let ways: [Way; 2] = [
        |expression, cx, frame| {
            let value = expression.eval(cx, frame)?;
            let text = expr::to_text(cx, &value)?;
            Ok(format!("{text} {}", value.is_truthy()))
        },
        |expression, cx, frame| {
            let mut text = "before ".to_owned();
            expression.emit(cx, frame, &mut text)?;
            let truth = expression.test(cx, frame)?;
            let text = text.strip_prefix("before ").unwrap_or("lost");
            Ok(format!("{text} {truth}"))
        },
    ];
    let [long, short] = ways.map(|way| {
        let globals = JsObject::new();
        let mut cx = EvalContext::new(Limits::default(), &globals);
        let mut found = Vec::new();
        for item in items() {
            let frame = Frame::root(Rc::new(RefCell::new(JsObject::new())), 1);
            frame.set(slot.index(), item);
            let result = way(&expression, &mut cx, &frame);
            found.push(result.map_err(|error| (error.message().to_owned(), error.offset())));
        }
        found
    });
    assert_eq!(long, short, "{source}");
}

/// Objects whose properties stand in different places, are of different kinds, or are missing.
fn items() -> impl Iterator<Item = Value> {
    [
        json!({ "text": "straße Ǆ", "number": 2.345, "list": ["a", null, 3, true] }),
        json!({ "number": -0.5, "text": " Plain text\n", "list": [] }),
        json!({ "list": [["x", "y"], { "text": "z" }], "number": "7", "text": 12 }),
        json!({ "other": 1, "text": null, "number": 1e21, "list": "abc" }),
        json!({}),
    ]
    .into_iter()
    .map(|item| Value::from_json(&item))
}

fn operand() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("item.text".to_owned()),
        Just("item.number".to_owned()),
        Just("item.list".to_owned()),
        Just("item.list.length".to_owned()),
        Just("item.missing".to_owned()),
        Just("3".to_owned()),
        Just("'3'".to_owned()),
        Just("null".to_owned()),
    ]
}

fn expression() -> impl Strategy<Value = String> {
    let method = prop_oneof![
        Just("toUpperCase()"),
        Just("toLowerCase()"),
        Just("trim()"),
        Just("toFixed(2)"),
        Just("toFixed(101)"),
        Just("toFixed()"),
        Just("join(', ')"),
        Just("join()"),
        Just("join(0)"),
        Just("join(item.text)"),
        Just("nothing()"),
    ];
    let operator = prop_oneof![
        Just("+"),
        Just("-"),
        Just("*"),
        Just("/"),
        Just("%"),
        Just("**"),
        Just("<"),
        Just(">="),
        Just("=="),
        Just("!=="),
        Just("&&"),
        Just("||"),
        Just("??"),
    ];
    let leaf = prop_oneof![
        operand(),
        (operand(), method).prop_map(|(object, method)| format!("({object}).{method}")),
    ];
    leaf.prop_recursive(3, 12, 3, move |inner| {
        prop_oneof![
            (inner.clone(), operator.clone(), inner.clone())
                .prop_map(|(left, operator, right)| format!("(({left}) {operator} ({right}))")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(test, left, right)| format!("(({test}) ? ({left}) : ({right}))")),
            inner.clone().prop_map(|inner| format!("!({inner})")),
            inner.prop_map(|inner| format!("`<${{{inner}}}>`")),
        ]
    })
}

proptest! {
    #[test]
    fn printing_and_testing_agree_with_evaluating(source in expression()) {
        check(&source);
    }
}
