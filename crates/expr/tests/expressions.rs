//! What expressions evaluate to, and how they fail: one table a subject, one `check` for all.

use expr::Limits;
use serde_json::json;

/// Interpolates `{{ source }}` over a fixed state and compares the text, or the error's display.
fn check(cases: &[(&str, &str)]) {
    let state = json!({
        "name": "Ada", "n": 3, "list": [1, 2, 3], "user": { "name": "Grace", "tags": ["x", "y"] },
        "package": "core", "empty": "", "nothing": null,
    });
    let mut wrong = Vec::new();
    for (source, expected) in cases {
        let found =
            match expr::interpolate(&format!("{{{{ {source} }}}}"), &state, &Limits::default()) {
                Ok(text) => text,
                Err(error) => error.to_string(),
            };
        if found != *expected {
            wrong.push(format!(
                "{source}\n  expected {expected}\n  found    {found}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn names_come_from_the_state_and_are_undefined_otherwise() {
    check(&[
        ("name", "Ada"),
        ("user.name", "Grace"),
        ("missing", "undefined"),
        ("missing?.deep.er", "undefined"),
        ("user?.['name']", "Grace"),
        ("user.missing?.()", "undefined"),
        ("user.tags.length", "2"),
        ("package", "core"),
        ("state.name", "Ada"),
        ("typeof missing", "undefined"),
        ("process", "undefined"),
        ("this === undefined", "false"),
    ]);
}

#[test]
fn operators_follow_javascript() {
    check(&[
        ("1 + 2 * 3 ** 2", "19"),
        ("'5' * '2'", "10"),
        ("'5' + 2", "52"),
        ("[] + {}", "[object Object]"),
        ("null + 1", "1"),
        ("undefined + 1", "NaN"),
        ("-7 % 3", "-1"),
        ("1 / 0", "Infinity"),
        ("-5 >>> 28", "15"),
        ("1 << 31", "-2147483648"),
        ("5 & 6 | 8 ^ 1", "13"),
        ("null == undefined", "true"),
        ("null == 0", "false"),
        ("'1' == 1", "true"),
        ("NaN === NaN", "false"),
        ("'b' > 'a' && 2 >= 2", "true"),
        ("'x' in { x: 1 }", "true"),
        ("[] instanceof Array", "true"),
        ("empty || 'default'", "default"),
        ("empty ?? 'default'", ""),
        ("nothing ?? 'default'", "default"),
        ("n > 2 ? 'many' : 'few'", "many"),
        ("void 0", "undefined"),
        ("~~7.9", "7"),
        ("10n ** 20n", "100000000000000000000"),
        ("(1, 2, 3)", "3"),
        ("await name", "Ada"),
        ("`${name} has ${list.length}`", "Ada has 3"),
    ]);
}

#[test]
fn functions_capture_the_variables_they_see() {
    check(&[
        ("[1, 2].map(x => x * n)", "3,6"),
        (
            "((a, b = a + 1, ...rest) => a + b + rest.length)(1, undefined, 0, 0)",
            "5",
        ),
        (
            "(({ name, tags: [first] }) => name + first)(user)",
            "Gracex",
        ),
        ("(x => { return x + 1 })(1)", "2"),
        (
            "(() => { function twice(x) { return x * 2 } return twice(4) })()",
            "8",
        ),
        ("((...all) => all)(...list, 4)", "1,2,3,4"),
        ("x => x + 1", "x => x + 1"),
        ("[x => x * 2][0](4)", "8"),
        ("({ twice: x => x * 2 })['twice'](4)", "8"),
        ("await (async () => name)()", "Ada"),
    ]);
}

#[test]
fn assignment_reaches_state_members_and_patterns() {
    check(&[
        ("(n = 5, n)", "5"),
        ("(n += 2, n)", "5"),
        ("n++ + n", "7"),
        ("(user.name = 'X', user.name)", "X"),
        ("(list[1] = 9, list)", "1,9,3"),
        ("(list[5] = 1, list.length)", "6"),
        ("([n, name] = [1, 2], n + name)", "3"),
        ("({ name: n } = user, n)", "Grace"),
        ("(delete user.name, user.name)", "undefined"),
        ("Object.keys({ b: 1, 2: 1, a: 1, 1: 1 })", "1,2,b,a"),
        ("({ ...user, name: 'Z' }).name", "Z"),
    ]);
}

#[test]
fn filters_apply_from_the_right() {
    check(&[
        ("String :: n", "3"),
        ("(x => x + '!') :: (x => x.toUpperCase()) :: name", "ADA!"),
        ("String :: 'a::b'", "a::b"),
        ("String ::", "E_PARSER_ERROR: Unexpected token"),
    ]);
}

#[test]
fn a_forbidden_syntax_is_named_in_the_error() {
    check(&[
        (
            "function () {}",
            "E_UNALLOWED_EXPRESSION: \"FunctionExpression\" is not supported",
        ),
        (
            "class {}",
            "E_UNALLOWED_EXPRESSION: \"ClassExpression\" is not supported",
        ),
        (
            "String.raw`x`",
            "E_UNALLOWED_EXPRESSION: \"TaggedTemplateExpression\" is not supported",
        ),
        (
            "(() => { const x = 1 })()",
            "E_UNALLOWED_EXPRESSION: \"VariableDeclaration\" is not supported",
        ),
        (
            "(() => { if (1) { return 1 } })()",
            "E_UNALLOWED_EXPRESSION: \"IfStatement\" is not supported",
        ),
        (
            "({ get x() { return 1 } })",
            "E_UNALLOWED_EXPRESSION: \"FunctionExpression\" is not supported",
        ),
        (
            "import('x')",
            "E_UNALLOWED_EXPRESSION: \"ImportExpression\" is not supported",
        ),
    ]);
}

#[test]
fn failures_read_like_javascripts() {
    check(&[
        (
            "missing.x",
            "E_RUNTIME_EXCEPTION: Cannot read properties of undefined (reading 'x')",
        ),
        (
            "nothing[0]",
            "E_RUNTIME_EXCEPTION: Cannot read properties of null (reading '0')",
        ),
        (
            "missing()",
            "E_RUNTIME_EXCEPTION: missing is not a function",
        ),
        (
            "user.name()",
            "E_RUNTIME_EXCEPTION: user.name is not a function",
        ),
        (
            "name.nope()",
            "E_RUNTIME_EXCEPTION: name.nope is not a function",
        ),
        ("new Foo()", "E_RUNTIME_EXCEPTION: Foo is not defined"),
        ("new user()", "E_RUNTIME_EXCEPTION: user is not defined"),
        ("[...5]", "E_RUNTIME_EXCEPTION: 5 is not iterable"),
        (
            "1n + 1",
            "E_RUNTIME_EXCEPTION: Cannot mix BigInt and other types, use explicit conversions",
        ),
        (
            "'a' in 'abc'",
            "E_RUNTIME_EXCEPTION: Cannot use 'in' operator to search for 'a' in abc",
        ),
        ("Math()", "E_RUNTIME_EXCEPTION: Math is not a function"),
    ]);
}

#[test]
fn places_are_byte_offsets_into_the_text() {
    let offset = |text: &str| {
        let error = expr::interpolate(text, &json!({}), &Limits::default()).err();
        error.and_then(|error| error.offset())
    };
    assert_eq!(offset("ab {{ x.y }}"), Some(8));
    assert_eq!(offset("{{ await x.y }}"), Some(11));
    assert_eq!(offset("{{ 1 + function () {} }}"), Some(7));
    assert_eq!(offset("text {{ open"), Some(5));
}
