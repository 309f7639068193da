//! The standard library: what node prints for the same expressions, and what is refused.
#![allow(
    clippy::disallowed_methods,
    reason = "tests read their data and measure time"
)]

use std::time::{Duration, Instant};

use expr::{Error, ExprErrorCode, Limits};

/// Prints any value as JSON without losing what JSON lacks. Node evaluated the same text.
const SHOWN: &str = r"JSON.stringify({ v: (EXPRESSION) }, (k, v) =>
    v === undefined ? '<undefined>'
    : Number.isNaN(v) ? '<NaN>'
    : Object.is(v, -0) ? '<-0>'
    : v === Infinity ? '<Infinity>'
    : v === -Infinity ? '<-Infinity>'
    : typeof v === 'bigint' ? v + 'n'
    : v instanceof Map ? ['<Map>', ...v]
    : v instanceof Set ? ['<Set>', ...v]
    : v instanceof RegExp ? String(v)
    : v)";

fn shown(expression: &str) -> Result<String, Error> {
    let source = SHOWN.replacen("EXPRESSION", expression, 1);
    let value = expr::evaluate(&source, &serde_json::json!({}), &Limits::default())?;
    Ok(value.as_str().unwrap_or_default().to_owned())
}

fn check(expression: &str, expected: &str) {
    let found = match shown(expression) {
        Ok(text) => text,
        Err(error) => format!("!{}", error.message()),
    };
    assert_eq!(found, expected, "{expression}");
}

/// Each file is a list of `[expression, what node printed]`; `!` begins an error's message.
#[test]
fn expressions_print_as_in_node() {
    for data in [
        include_str!("data/builtins/string.json"),
        include_str!("data/builtins/regex.json"),
        include_str!("data/builtins/array.json"),
        include_str!("data/builtins/number.json"),
        include_str!("data/builtins/date.json"),
        include_str!("data/builtins/object.json"),
    ] {
        let cases: Vec<(String, String)> = serde_json::from_str(data).expect("test data is JSON");
        assert!(cases.len() > 50);
        for (expression, expected) in &cases {
            check(expression, expected);
        }
    }
}

/// What node 20 lacks, and what differs on purpose.
#[test]
fn expressions_print_as_documented() {
    for (expression, expected) in [
        (
            "Object.groupBy([1, 2, 3], x => x % 2 ? 'odd' : 'even')",
            r#"{"odd":[1,3],"even":[2]}"#,
        ),
        ("Map.groupBy([1, 2, 3], x => x % 2).get(1)", "[1,3]"),
        (
            "new Set([1, 2]).union(new Set([2, 3]))",
            r#"["<Set>",1,2,3]"#,
        ),
        (
            "new Set([1, 2]).intersection(new Set([2, 3]))",
            r#"["<Set>",2]"#,
        ),
        (
            "new Set([1, 2]).difference(new Set([2, 3]))",
            r#"["<Set>",1]"#,
        ),
        (
            "new Set([1, 2]).symmetricDifference(new Set([2, 3]))",
            r#"["<Set>",1,3]"#,
        ),
        ("new Set([1]).isSubsetOf(new Set([1, 2]))", "true"),
        ("new Set([1, 2]).isSupersetOf(new Set([1]))", "true"),
        ("new Set([1]).isDisjointFrom(new Set([2]))", "true"),
        ("/(?i:A)b/.test('ab')", "true"),
        ("/(?<x>a)|(?<x>b)/.exec('b').groups.x", r#""b""#),
        ("'\u{1F600}'.split('')", "[\"\u{FFFD}\",\"\u{FFFD}\"]"),
        ("'\u{1F600}'.length", "2"),
        ("Array(2).map(() => 1)", "[1,1]"),
        ("[5, 6].keys()", "[0,1]"),
        ("'ab'.matchAll(/./g).length", "2"),
        ("new String('a')", r#""a""#),
        (
            "new Error('broken')",
            r#"{"name":"Error","message":"broken"}"#,
        ),
        ("new Date(2024, 0, 1).getTimezoneOffset()", "0"),
        ("(1234.5).toLocaleString('de-DE')", r#""1,234.5""#),
        ("(o => (Object.freeze(o), o.a = 2, o.a))({ a: 1 })", "2"),
    ] {
        check(expression, &format!("{{\"v\":{expected}}}"));
    }
}

#[test]
fn what_is_not_available_says_so() {
    for (expression, part) in [
        ("Math.random()", "no randomness is handed in"),
        ("new Date()", "no clock is handed in"),
        ("Date.now()", "no clock is handed in"),
        ("Date()", "no clock is handed in"),
        ("Symbol('x')", "Symbol is not supported"),
        ("Object.create({})", "objects have no prototypes here"),
        (
            "new Date(0).toLocaleString('en-US', { timeZone: 'Asia/Tokyo' })",
            "dates are in UTC here",
        ),
        (
            "new Date(0).toLocaleString('en-US', { era: 'short' })",
            "do not support the option era",
        ),
        (
            "(5).toLocaleString('en-US', { notation: 'compact' })",
            "does not support the option notation",
        ),
        ("/[\\q{ab}]/v.test('ab')", "\\q{…} are not supported"),
        (
            "/\\p{RGI_Emoji}/v.test('a')",
            "the Unicode property `RGI_Emoji` is not supported",
        ),
        ("new Math()", "is not a constructor"),
        ("new parseInt('1')", "is not a constructor"),
        ("Map()", "requires 'new'"),
    ] {
        let error = shown(expression).expect_err(expression);
        assert_eq!(
            error.code(),
            ExprErrorCode::Runtime,
            "{expression}: {error}"
        );
        assert!(error.message().contains(part), "{expression}: {error}");
    }
}

/// Strings that would be too long.
const TEXTS: &[(&str, &str)] = &[
    ("'x'.repeat(1e9)", "string_bytes_max"),
    ("'x'.repeat(2 ** 53)", "string_bytes_max"),
    ("'x'.padStart(1e9)", "string_bytes_max"),
    ("'x'.padEnd(1e15, 'é')", "string_bytes_max"),
    (
        "'x'.repeat(1e7).concat('x'.repeat(1e7))",
        "string_bytes_max",
    ),
    (
        "Array(1e5).fill('x'.repeat(1e5)).join('')",
        "string_bytes_max",
    ),
    (
        "'a'.repeat(1e6).replaceAll('a', 'b'.repeat(1e6))",
        "string_bytes_max",
    ),
    (
        "'a'.repeat(1e6).replace(/a/g, 'b'.repeat(1e6))",
        "string_bytes_max",
    ),
    ("'a'.repeat(1e5).replace(/a/g, \"$'\")", "string_bytes_max"),
    (
        "'\u{FDFA}'.repeat(4e6).normalize('NFKD')",
        "string_bytes_max",
    ),
    (
        "JSON.stringify(Array(1e5).fill('x'.repeat(1000)))",
        "string_bytes_max",
    ),
    ("encodeURIComponent('é'.repeat(5e6))", "string_bytes_max"),
];

/// Lists that would be too long.
const LISTS: &[(&str, &str)] = &[
    ("Array(1e9)", "items_max"),
    ("new Array(4e9)", "items_max"),
    ("Array.from({ length: 1e9 })", "items_max"),
    ("'a'.repeat(1e7).split('')", "items_max"),
    ("'a'.repeat(1e7).split('a')", "items_max"),
    ("'a'.repeat(3e6).match(/a/g)", "items_max"),
    ("'a'.repeat(3e6).split(/a/)", "items_max"),
    ("[...'a'.repeat(1e7)]", "items_max"),
    ("(a => a.concat(a, a, a))(Array(4e5))", "items_max"),
];

/// Nesting, recursion and loops that would go too far.
const NESTING: &[(&str, &str)] = &[
    ("(a => (a.push(a), a.flat(Infinity)))([1])", "depth_max"),
    ("(a => (a.push(a, a), a.flat(Infinity)))([1])", "_max"),
    ("(a => (a.push(a), String(a)))([1])", "depth_max"),
    ("(a => (a.push(a), a.toLocaleString()))([1])", "depth_max"),
    (
        "JSON.stringify(Array(2000).fill(0).reduce(a => [a], []))",
        "depth_max",
    ),
    (
        "structuredClone(Array(2000).fill(0).reduce(a => [a], []))",
        "depth_max",
    ),
    ("JSON.parse('['.repeat(1e5))", "depth_max"),
    ("JSON.parse('{\"a\":'.repeat(1e5))", "depth_max"),
    (
        "Array(1e6).fill(0).map((x, i) => i).sort((a, b) => b - a)",
        "fuel_max",
    ),
    (
        "'a'.repeat(1e5).matchAll(new RegExp('a|' + '()'.repeat(16000), 'g'))",
        "fuel_max",
    ),
];

/// Regular expressions that would take too long.
const PATTERNS: &[(&str, &str)] = &[
    ("/(a+)+$/.test('a'.repeat(40) + '!')", "regex_steps_max"),
    ("/(x+x+)+y/.test('x'.repeat(50))", "regex_steps_max"),
    ("/(a|a)*b/.test('a'.repeat(50))", "regex_steps_max"),
    ("/(a*)\\1*b/.test('a'.repeat(5000))", "regex_steps_max"),
    ("/(?=.*z)a/.test('a'.repeat(1e5))", "regex_steps_max"),
    ("/(?<=xa*)a/.test('a'.repeat(1e5))", "regex_steps_max"),
    ("/(?:){1000000000}/.test('')", "regex_steps_max"),
    ("/(?:a|b)*c/.test('a'.repeat(5e6))", "_max"),
    (
        "new RegExp('('.repeat(1000) + ')'.repeat(1000))",
        "regex_pattern_nesting_max",
    ),
    (
        "new RegExp('['.repeat(1000), 'v')",
        "regex_pattern_nesting_max",
    ),
    ("new RegExp('a'.repeat(1e5))", "regex_pattern_bytes_max"),
    (
        "new RegExp('(?:' + '()'.repeat(16000) + '|a)*b').test('a'.repeat(1e5))",
        "regex_steps_max",
    ),
];

/// Whatever would take too long or too much names the limit it meets, and does so quickly.
#[test]
fn excess_meets_a_named_limit() {
    // Debug builds on a busy machine are slow; a hang would take hours.
    const PATIENCE: Duration = Duration::from_secs(20);
    for (expression, limit) in [TEXTS, LISTS, NESTING, PATTERNS].concat() {
        let start = Instant::now();
        let error = shown(expression).expect_err(expression);
        assert_eq!(error.code(), ExprErrorCode::Limit, "{expression}: {error}");
        assert!(error.message().contains(limit), "{expression}: {error}");
        assert!(
            start.elapsed() < PATIENCE,
            "{expression} took {:?}",
            start.elapsed()
        );
    }
}

/// Large patterns over short texts are compiled and searched quickly.
#[test]
fn large_patterns_compile_quickly() {
    for expression in [
        r"new RegExp('\\p{L}'.repeat(6000), 'iu').test('a')",
        "new RegExp('[a-z]'.repeat(6000), 'i').test('a')",
        "new RegExp('()'.repeat(16000) + 'a').test('b')",
    ] {
        check(expression, r#"{"v":false}"#);
    }
}

/// Values nested far deeper than any stack are made and freed.
#[test]
fn deep_values_are_freed() {
    for step in [
        "a => [a]",
        "a => ({ a })",
        "a => new Map([[1, a]])",
        "a => new Set([a])",
        "a => () => a",
        "a => Math.max.bind(null, a)",
        "a => [a].concat",
        "(a, x, i) => i % 2 ? [a, { a: 1 }] : { x: [a], f: () => a }",
    ] {
        let expression = format!("(Array(200000).fill(0).reduce({step}, 0), 1)");
        check(&expression, r#"{"v":1}"#);
    }
}

/// A function that changes the list it is called for sees what JavaScript's would.
#[test]
fn callbacks_may_change_the_list_they_iterate() {
    for (expression, expected) in [
        (
            "(a => [a.map(x => (a.length = 0, x)), a])([1, 2, 3])",
            r#"[[1,"<undefined>","<undefined>"],[]]"#,
        ),
        (
            "(a => [a.filter(x => a.push(x)), a])([1, 2])",
            "[[1,2],[1,2,1,2]]",
        ),
        (
            "(a => a.reduce((t, x) => (a.pop(), t + x)))([1, 2, 3, 4])",
            "6",
        ),
        (
            "(a => (a.sort((x, y) => (a.push(9), x - y)), a.slice(0, 4)))([3, 1, 2])",
            "[1,2,3,9]",
        ),
        (
            "(s => (s.forEach(x => x < 5 && s.add(x + 1)), s.size))(new Set([1]))",
            "5",
        ),
        (
            "(a => 'xyz'.replace(/./g, c => (a.push(c), a.length)))([])",
            r#""123""#,
        ),
    ] {
        check(expression, &format!("{{\"v\":{expected}}}"));
    }
}
