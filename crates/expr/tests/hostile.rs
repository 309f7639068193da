//! Hostile expressions end in a named limit, quickly, and never in a crash.

use std::time::{Duration, Instant};

use expr::{ExprErrorCode, Limits};
use serde_json::json;

/// Far above what any of these needs, far below "it hangs".
const PATIENCE: Duration = Duration::from_secs(20);

fn check(source: &str, limit: &str) {
    let start = Instant::now();
    let evaluated = expr::evaluate(source, &json!({}), &Limits::default());
    let Err(error) = evaluated else {
        return assert_eq!(evaluated, Ok(json!("a limit")), "{source:.60}");
    };
    assert_eq!(error.code(), ExprErrorCode::Limit, "{error}");
    assert!(
        error.message().contains(limit),
        "{error} should name {limit}"
    );
    assert!(start.elapsed() < PATIENCE);
}

#[test]
fn endless_recursion_is_a_depth_limit() {
    check("(f => f(f))(f => f(f))", "depth_max");
    check(
        "(() => { function f() { return f() } return f() })()",
        "depth_max",
    );
}

#[test]
fn endless_work_is_a_fuel_limit() {
    check(
        "Array.from({ length: 100000 }, () => Array.from({ length: 100000 }, (_, i) => i)).length",
        "fuel_max",
    );
}

#[test]
fn a_string_doubled_forever_is_a_length_limit() {
    check(
        "Array.from({ length: 60 }).reduce(s => s + s, 'xxxxxxxx')",
        "string_bytes_max",
    );
    check("'x'.repeat(1e9)", "string_bytes_max");
    check("'x'.padStart(1e9)", "string_bytes_max");
    check(
        "Array.from({ length: 60 }).reduce(s => `${s}${s}`, 'xxxxxxxx')",
        "string_bytes_max",
    );
}

#[test]
fn a_list_without_end_is_a_size_limit() {
    check("Array(1e9).fill(0)", "items_max");
    check("Array.from({ length: 1e9 })", "items_max");
    check(
        "Array.from({ length: 60 }).reduce(a => [...a, ...a], [1, 2])",
        "items_max",
    );
}

#[test]
fn a_deep_value_is_freed_without_a_stack_overflow() {
    for source in [
        "Array(200000).fill(0).reduce(a => [a], 0).length",
        "Object.keys(Array(200000).fill(0).reduce(a => ({ a }), 0)).length",
    ] {
        assert_eq!(
            expr::evaluate(source, &json!({}), &Limits::default()),
            Ok(json!(1))
        );
    }
}

#[test]
fn a_value_that_contains_itself_is_a_depth_limit() {
    check("(a => (a.push(a), String(a)))([])", "depth_max");
    check("(o => (o.o = o, o))({})", "depth_max");
}

#[test]
fn deep_nesting_is_a_limit_before_it_is_a_stack() {
    let nested = |open: &str, close: &str, levels: usize| {
        format!("{}1{}", open.repeat(levels), close.repeat(levels))
    };
    check(&nested("(", ")", 100_000), "nesting_tokens_max");
    check(&nested("[", "]", 100_000), "nesting_tokens_max");
    check(&nested("[", "]", 9_000), "expression_depth_max");
    check(&nested("!", "", 15_000), "expression_depth_max");
    check(&nested("typeof ", "", 15_000), "expression_depth_max");
    check(&nested("1 + ", "", 15_000), "expression_depth_max");
    check(&nested("x => ", "", 9_000), "expression_depth_max");
    check(&nested("1 ? 2 : ", "", 9_000), "expression_depth_max");
    check(&format!("a{}", ".b".repeat(50_000)), "expression_depth_max");
    check(&"x".repeat(300_000), "expression_bytes_max");
}

#[test]
fn a_regular_expression_bomb_is_a_step_limit() {
    let start = Instant::now();
    for source in [
        "/^(a+)+$/.test('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab')",
        "/(x+x+)+y/.test('x'.repeat(200))",
        "/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(100))",
        "'a'.repeat(5000).replace(/(a*)*b/g, '')",
    ] {
        match expr::evaluate(source, &json!({}), &Limits::default()) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.code(), ExprErrorCode::Limit, "{source}: {error}"),
        }
    }
    assert!(start.elapsed() < PATIENCE);
}
