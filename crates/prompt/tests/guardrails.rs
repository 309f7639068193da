//! Guardrails: the length, the syntax and the imports of a written answer.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail loudly"
)]

use prompt::{
    AnswerKind, AnswerRule, Answers, GuardedSyntax, Guardrails, Question, QuestionSource,
    Questionnaire,
};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Far above what any answer needs, far below "it hangs".
const PATIENCE: Duration = Duration::from_secs(30);

const ALL: [GuardedSyntax; 9] = [
    GuardedSyntax::Json,
    GuardedSyntax::Yaml,
    GuardedSyntax::Toml,
    GuardedSyntax::JavaScript,
    GuardedSyntax::TypeScript,
    GuardedSyntax::Jsx,
    GuardedSyntax::Tsx,
    GuardedSyntax::Rust,
    GuardedSyntax::Python,
];

fn question(kind: AnswerKind, guardrails: Guardrails) -> Question {
    let source = QuestionSource {
        file: "recipe.yml".to_owned(),
        line: 4,
    };
    let mut question = Question::new("card", source);
    question.kind = kind;
    question.guardrails = guardrails;
    question
}

fn code() -> AnswerKind {
    AnswerKind::Code { language: None }
}

fn checked(guardrails: Guardrails, answer: &str) -> Result<Value, prompt::AnswerProblem> {
    prompt::check(&question(code(), guardrails), &json!(answer))
}

fn syntax(syntax: GuardedSyntax) -> Guardrails {
    Guardrails {
        syntax: Some(syntax),
        ..Guardrails::default()
    }
}

/// The answer passes, or breaks this rule with a message that says this.
#[track_caller]
fn check(guardrails: Guardrails, answer: &str, expected: Result<(), (AnswerRule, &str)>) {
    let found = checked(guardrails, answer);
    match (found, expected) {
        (Ok(_), Ok(())) => {}
        (Err(found), Err((rule, message))) => {
            assert_eq!(found.rule, rule, "{found}");
            let text = found.to_string();
            assert!(
                text.starts_with("Answer `card` (asked at recipe.yml:4) "),
                "{text}"
            );
            assert!(text.contains(message), "{text}\nshould say\n{message}");
        }
        (found, expected) => panic!("{answer}\n{found:?} is not {expected:?}"),
    }
}

// tidy: allow long-function, because it is one table of cases
#[expect(clippy::too_many_lines, reason = "it is one table of cases")]
#[test]
fn correct_answers_pass_in_every_language() {
    for (language, answers) in [
        (
            GuardedSyntax::Json,
            &["{\"a\": [1, null]}", "3", "\"text\""][..],
        ),
        (
            GuardedSyntax::Yaml,
            &[
                "a: 1\nb: [x, y]\n",
                "---\na: 1\n---\nb: 2\n",
                "- a\n- b: c\n",
            ],
        ),
        (
            GuardedSyntax::Toml,
            &[
                "a = 1\n[b]\nc = 'x'\n",
                "d = 2026-01-02\n[[e]]\nf = {g = 1}\n",
            ],
        ),
        (
            GuardedSyntax::JavaScript,
            &[
                "export const a = async () => { for await (const x of y) {} };",
                "const fs = require('fs'); module.exports = { fs };",
                "class A { #p = 1; static { this.q = 2 } }",
                "with_ = a ?? b?.c; label: for (;;) break label;",
            ],
        ),
        (
            GuardedSyntax::TypeScript,
            &[
                "interface A<T extends string = 'x'> { readonly a?: T }\nexport type B = keyof A;",
                "enum E { A = 1 }\nconst x = <const T,>(a: T) => a satisfies unknown;\n@dec class C { constructor(private a: number) {} }",
                "import type { A } from './a';\ndeclare module 'x' { export const y: number }",
            ],
        ),
        (
            GuardedSyntax::Jsx,
            &[
                "export const A = () => <a b={1} {...c}>don't {d}</a>;",
                "<></>",
            ],
        ),
        (
            GuardedSyntax::Tsx,
            &["export function A<T>({ a }: { a: T }) { return <B<T> c={a as T} /> }"],
        ),
        (
            GuardedSyntax::Rust,
            &[
                "use std::{fmt, io::{self, Read as _}};\npub async fn f<'a, T: fmt::Debug>(x: &'a T) -> io::Result<()> { let Some(_) = Some(1) else { return Ok(()) }; Ok(()) }",
                "#![allow(dead_code)]\nmacro_rules! m { ($($x:expr),*) => { [$($x),*] } }\nconst X: &str = r#\"a\"b\"#;",
                "impl<const N: usize> A for [u8; N] where Self: Sized { type B<'a> = &'a u8 where Self: 'a; }",
                "// Nothing yet.",
            ],
        ),
        (
            GuardedSyntax::Python,
            &[
                "match command.split():\n    case [\"go\", direction] if direction in north:\n        pass\n    case {\"x\": 1, **rest} | Point(x=0):\n        pass\n    case _:\n        pass\n",
                "type Pair[T: (int, str), *Ts, **P] = tuple[T, *Ts]\ndef f[T](a: T, /, *, b: int = 1) -> T: ...\nclass A[T]: ...\n",
                "print(f\"{x!r:>{width}} {', '.join(f\"{y}\" for y in z)} {a=}\")\n",
                "async def f():\n    async with a as b, c:\n        return [x async for x in y if (n := x)]\n",
                "try:\n    pass\nexcept* (A, B) as e:\n    raise C from e\nelse:\n    pass\nfinally:\n    pass\n",
                "lambda *a, **k: (yield)\nx: list[int] = []\nnonlocal_ = 0xFF_FF + 1e10j\n",
            ],
        ),
    ] {
        for answer in answers {
            check(syntax(language), answer, Ok(()));
        }
    }
}

#[test]
fn a_mistake_is_quoted_with_line_and_column() {
    for (language, answer, says) in [
        (
            GuardedSyntax::Json,
            "{\n  \"a\": 1,\n}",
            "is not valid JSON: line 3, column 1: trailing comma",
        ),
        (
            GuardedSyntax::Json,
            "{ \"a\": 1, \"a\": 2 }",
            "duplicate key",
        ),
        (GuardedSyntax::Json, "{ a: 1 }", "line 1, column 3"),
        (
            GuardedSyntax::Yaml,
            "a: 1\n b: [\n",
            "is not valid YAML: line 2",
        ),
        (
            GuardedSyntax::Yaml,
            "a: 1\na: 2\n",
            "is not valid YAML: line 2",
        ),
        (
            GuardedSyntax::Toml,
            "a = 1\nb = \n",
            "is not valid TOML: line 2, column 5",
        ),
        (
            GuardedSyntax::Toml,
            "a = 1\na = 2\n",
            "is not valid TOML: line 2, column 1: duplicate key, in `a = 2`",
        ),
        (
            GuardedSyntax::JavaScript,
            "const a = 1;\nlet = = 2;",
            "is not valid JavaScript: line 2, column 7",
        ),
        (
            GuardedSyntax::JavaScript,
            "const a: number = 1;",
            "is not valid JavaScript: line 1, column 7: Missing initializer",
        ),
        (
            GuardedSyntax::TypeScript,
            "const a = <b>c</b>;",
            "is not valid TypeScript: line 1",
        ),
        (
            GuardedSyntax::TypeScript,
            "interface A {\n  b: }\n",
            "line 2, column 6",
        ),
        (
            GuardedSyntax::Jsx,
            "const a = <b></c>;",
            "is not valid JavaScript with JSX: line 1, column 16",
        ),
        (
            GuardedSyntax::Tsx,
            "export const A = () => <a>;",
            "is not valid TypeScript with JSX",
        ),
    ] {
        check(syntax(language), answer, Err((AnswerRule::Syntax, says)));
    }
}

#[test]
fn a_mistake_in_rust_or_python_is_quoted_with_line_and_column() {
    for (language, answer, says) in [
        (
            GuardedSyntax::Rust,
            "fn main() {\n    let é = ;\n}",
            "is not valid Rust: line 2, column 13: expected an expression, in `let é = ;`",
        ),
        (
            GuardedSyntax::Rust,
            "fn main( {",
            "is not valid Rust: line 1",
        ),
        (GuardedSyntax::Rust, "fn f() { \"open", "is not valid Rust"),
        (
            GuardedSyntax::Python,
            "def f():\nreturn 1\n",
            "is not valid Python: line 2, column 1",
        ),
        (
            GuardedSyntax::Python,
            "a = 1\nprint 'x'\n",
            "is not valid Python: line 2",
        ),
        (
            GuardedSyntax::Python,
            "match x:\n    case 1 | : pass\n",
            "line 2, column 14",
        ),
        (
            GuardedSyntax::Python,
            "f'{a'\n",
            "is not valid Python: line 1",
        ),
        (
            GuardedSyntax::TypeScript,
            "Here is the code you asked for:\nconst a = 1;",
            "is not valid TypeScript: line 1",
        ),
    ] {
        check(syntax(language), answer, Err((AnswerRule::Syntax, says)));
    }
}

#[test]
fn a_fence_around_code_is_no_part_of_it() {
    let found = checked(
        syntax(GuardedSyntax::TypeScript),
        "```ts\nlet a: number = 1\n```\n",
    );
    assert_eq!(found.unwrap(), json!("let a: number = 1"));
    let reply = "Sure!\n\n```ts\nlet a: number = 1\n```\n\nAnything else?";
    let question = question(code(), syntax(GuardedSyntax::TypeScript));
    let read = prompt::reply::read_one(reply, &question).unwrap();
    assert_eq!(read, json!("let a: number = 1"));
}

fn imports(language: GuardedSyntax, allowed: Option<&[&str]>, blocked: &[&str]) -> Guardrails {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Guardrails {
        syntax: Some(language),
        allowed_imports: allowed.map(owned),
        blocked_imports: owned(blocked),
        ..Guardrails::default()
    }
}

#[test]
fn only_allowed_modules_are_imported() {
    let js = GuardedSyntax::TypeScript;
    for (language, allowed, answer, refused) in [
        (
            js,
            &["react"][..],
            "import a from 'react';\nimport b from './b';",
            None,
        ),
        (
            js,
            &["react"],
            "import { x } from 'react/jsx-runtime';",
            None,
        ),
        (
            js,
            &["react"],
            "import a from 'react';\nimport 'lodash/fp';",
            Some("imports `lodash/fp` at line 2, column 8, but only `react` may be imported"),
        ),
        (
            js,
            &["react"],
            "export { a } from 'vue'",
            Some("`vue` at line 1, column 19"),
        ),
        (js, &["react"], "export * from 'vue'", Some("`vue`")),
        (
            js,
            &["react"],
            "const a = require('vue')",
            Some("`vue` at line 1, column 19"),
        ),
        (
            js,
            &["react"],
            "const f = () => import('vue')",
            Some("`vue`"),
        ),
        (
            js,
            &["react"],
            "const f = () => import(`vue`)",
            Some("`vue`"),
        ),
        (js, &["react"], "import a = require('vue');", Some("`vue`")),
        (js, &["react"], "type A = import('vue').A;", Some("`vue`")),
        (js, &["react"], "const f = n => import(n)", Some("computed")),
        (
            js,
            &["react"],
            "// import 'vue'\nconst a = \"import 'vue'\";",
            None,
        ),
        (js, &["@acme/*"], "import a from '@acme/ui/button';", None),
        (
            js,
            &[],
            "import a from 'react';",
            Some("nothing may be imported"),
        ),
    ] {
        let expected = refused.map_or(Ok(()), |says| Err((AnswerRule::Imports, says)));
        check(imports(language, Some(allowed), &[]), answer, expected);
    }
}

// tidy: allow long-function, because it is one table of cases
#[expect(clippy::too_many_lines, reason = "it is one table of cases")]
#[test]
fn only_allowed_modules_are_imported_by_rust_and_python() {
    for (language, allowed, answer, refused) in [
        (
            GuardedSyntax::Rust,
            &["std", "serde"][..],
            "use std::io;\nuse serde::{Deserialize, de::*};\nuse crate::a;\nuse super::b;",
            None,
        ),
        (
            GuardedSyntax::Rust,
            &["std"],
            "use {std::io, tokio::{fs, net as n}};",
            Some("imports `tokio::fs` at line 1"),
        ),
        (
            GuardedSyntax::Rust,
            &["std"],
            "extern crate libc;",
            Some("`libc` at line 1, column 14"),
        ),
        (
            GuardedSyntax::Rust,
            &["std"],
            "mod a { fn f() { use rand::random; } }",
            Some("`rand::random`"),
        ),
        (
            GuardedSyntax::Rust,
            &[],
            "fn f() { std::process::exit(1) }",
            None,
        ),
        (
            GuardedSyntax::Python,
            &["os", "typing"],
            "import os.path as p\nfrom typing import Any\nfrom . import a\nfrom ..b import c\n",
            None,
        ),
        (
            GuardedSyntax::Python,
            &["os"],
            "import os, sys\n",
            Some("imports `sys` at line 1, column 12"),
        ),
        (
            GuardedSyntax::Python,
            &["os"],
            "def f():\n    from subprocess import run\n",
            Some("`subprocess.run` at line 2, column 28"),
        ),
        (
            GuardedSyntax::Python,
            &["os"],
            "x = __import__('sys')\n",
            Some("`sys`"),
        ),
        (
            GuardedSyntax::Python,
            &["importlib"],
            "import importlib\nimportlib.import_module(name)\n",
            Some("computed"),
        ),
        (
            GuardedSyntax::Python,
            &["os.path"],
            "from os import path\n",
            None,
        ),
    ] {
        let expected = refused.map_or(Ok(()), |says| Err((AnswerRule::Imports, says)));
        check(imports(language, Some(allowed), &[]), answer, expected);
    }
}

#[test]
fn blocked_modules_are_imported_under_no_name() {
    for (language, blocked, answer, refused) in [
        (
            GuardedSyntax::JavaScript,
            &["fs"][..],
            "import 'node:fs/promises'",
            Some("imports `node:fs/promises` at line 1, column 8, and `fs` is blocked"),
        ),
        (GuardedSyntax::JavaScript, &["fs"], "import './fs'", None),
        (
            GuardedSyntax::JavaScript,
            &["./secret*"],
            "import './secrets.js'",
            Some("`./secret*` is blocked"),
        ),
        (
            GuardedSyntax::Rust,
            &["std::process"],
            "use std::{fs, process::Command};",
            Some("`std::process::Command`"),
        ),
        (
            GuardedSyntax::Rust,
            &["std::process"],
            "use std::*;",
            Some("imports `std`"),
        ),
        (
            GuardedSyntax::Rust,
            &["std::process"],
            "fn f() { std::process::exit(1) }",
            Some("uses `std::process::exit` at line 1, column 10"),
        ),
        (GuardedSyntax::Rust, &["std::process"], "use std::fs;", None),
        (
            GuardedSyntax::Python,
            &["os.system"],
            "from os import system",
            Some("`os.system`"),
        ),
        (
            GuardedSyntax::Python,
            &["os.system"],
            "from os import *",
            Some("imports `os`"),
        ),
        (GuardedSyntax::Python, &["os"], "import oslo", None),
    ] {
        let expected = refused.map_or(Ok(()), |says| Err((AnswerRule::Imports, says)));
        check(imports(language, None, blocked), answer, expected);
    }
    let every = "import a from 'a';\nimport b from 'b';";
    let found = checked(
        imports(GuardedSyntax::JavaScript, Some(&["c"]), &["b"]),
        every,
    );
    let message = found.unwrap_err().message;
    assert!(
        message.contains("`a` at line 1") && message.contains("`b` at line 2"),
        "{message}"
    );
}

#[test]
fn lengths_are_counted_in_characters() {
    let rails = |length_min, length_max| Guardrails {
        length_min,
        length_max,
        ..Guardrails::default()
    };
    check(rails(Some(2), Some(3)), "éé", Ok(()));
    check(
        rails(Some(3), None),
        "éé",
        Err((
            AnswerRule::Length,
            "is too short: 2 characters are less than `minLength` (3).",
        )),
    );
    check(
        rails(None, Some(1)),
        "éé",
        Err((
            AnswerRule::Length,
            "is too long: 2 characters exceed `maxLength` (1).",
        )),
    );
    check(
        rails(Some(1), None),
        " \n ",
        Err((AnswerRule::Length, "is empty. Answer it.")),
    );
    check(rails(Some(0), None), "", Ok(()));
}

#[test]
fn everything_wrong_with_an_answer_is_said_at_once() {
    let rails = Guardrails {
        length_max: Some(10),
        ..imports(GuardedSyntax::JavaScript, Some(&[]), &[])
    };
    let says = "is too long: 17 characters exceed `maxLength` (10). It also imports `abc`";
    check(
        rails,
        "import a from 'abc'",
        Err((AnswerRule::Length, &says.replace("17", "19"))),
    );
}

#[test]
fn data_that_is_json_needs_no_parser_and_prose_is_no_data() {
    let asked = question(AnswerKind::Json, syntax(GuardedSyntax::Json));
    for (given, expected) in [
        (json!({ "a": 1 }), Some(json!({ "a": 1 }))),
        (json!("```json\n{\"a\": 1}\n```"), Some(json!({ "a": 1 }))),
        (json!("\"text\""), Some(json!("text"))),
        (json!("Here it is: {\"a\": 1}"), None),
    ] {
        let found = prompt::check(&asked, &given);
        assert_eq!(found.as_ref().ok(), expected.as_ref(), "{found:?}");
        if let Err(problem) = found {
            assert_eq!(problem.rule, AnswerRule::Syntax);
        }
    }
}

#[test]
fn a_program_that_is_too_large_is_refused_by_name() {
    let large = "let a = 1;\n".repeat(30_000);
    check(
        syntax(GuardedSyntax::JavaScript),
        &large,
        Err((AnswerRule::TooLarge, "SYNTAX_BYTES_MAX (262144)")),
    );
    check(
        syntax(GuardedSyntax::Python),
        &"(".repeat(40_000),
        Err((AnswerRule::TooLarge, "SYNTAX_OPENERS_MAX (30000)")),
    );
}

/// As many levels as fit below both limits.
fn nested(open: &str, middle: &str, close: &str) -> String {
    let levels = (250_000 / (open.len() + close.len())).min(29_000);
    format!("{}{middle}{}", open.repeat(levels), close.repeat(levels))
}

#[test]
fn deep_scripts_neither_hang_nor_overflow() {
    survives(&[
        (GuardedSyntax::JavaScript, nested("(", "1", ")")),
        (GuardedSyntax::JavaScript, nested("[", "", "]")),
        (GuardedSyntax::JavaScript, nested("!", "1", "")),
        (GuardedSyntax::JavaScript, nested("a=>", "1", "")),
        (GuardedSyntax::JavaScript, nested("1+", "1", "")),
        (GuardedSyntax::JavaScript, nested("1**", "1", "")),
        (GuardedSyntax::JavaScript, nested("a?b:", "1", "")),
        (GuardedSyntax::JavaScript, nested("{", "", "}")),
        (GuardedSyntax::JavaScript, nested("if(a)", "b", "")),
        (GuardedSyntax::JavaScript, nested("`${", "1", "}`")),
        (GuardedSyntax::JavaScript, nested("new ", "a", "")),
        (GuardedSyntax::JavaScript, nested("function f(){", "", "}")),
        (
            GuardedSyntax::JavaScript,
            format!("a{}", ".b".repeat(120_000)),
        ),
        (
            GuardedSyntax::JavaScript,
            format!("a{}", "\n.b".repeat(80_000)),
        ),
        (GuardedSyntax::TypeScript, nested("(", "1", ")")),
        (
            GuardedSyntax::TypeScript,
            format!("let a: {}", nested("A<", "b", ">")),
        ),
        (
            GuardedSyntax::TypeScript,
            format!("let a: {}", nested("keyof ", "b", "")),
        ),
        (
            GuardedSyntax::TypeScript,
            format!("let a: {}", nested("(a:", "b", ")=>c")),
        ),
        (GuardedSyntax::TypeScript, nested("(a:b=>", "b", ")")),
        (GuardedSyntax::TypeScript, nested("a ? (b) : ", "c", "")),
        (GuardedSyntax::Tsx, nested("<a>", "", "</a>")),
        (GuardedSyntax::Tsx, nested("<a b={", "1", "}/>")),
    ]);
}

#[test]
fn deep_rust_neither_hangs_nor_overflows() {
    survives(&[
        (
            GuardedSyntax::Rust,
            format!("fn f(){{{}}}", nested("(", "1", ")")),
        ),
        (
            GuardedSyntax::Rust,
            format!("fn f(){{{}}}", nested("!", "1", "")),
        ),
        (
            GuardedSyntax::Rust,
            format!("fn f(){{{}}}", nested("&", "1", "")),
        ),
        (
            GuardedSyntax::Rust,
            format!("fn f(){{{}}}", nested("||", "1", "")),
        ),
        (
            GuardedSyntax::Rust,
            format!("fn f(){{{}}}", nested("1+", "1", "")),
        ),
        (
            GuardedSyntax::Rust,
            format!("fn f(){{{}}}", nested("a=", "1", "")),
        ),
        (
            GuardedSyntax::Rust,
            format!("fn f(){{{}}}", nested("{", "", "}")),
        ),
        (
            GuardedSyntax::Rust,
            format!("fn f(){{{}}}", nested("if a {} else ", "{}", "")),
        ),
        (
            GuardedSyntax::Rust,
            format!("fn f(){{{}}}", nested("return ", "1", "")),
        ),
        (
            GuardedSyntax::Rust,
            format!("fn f(){{a{}}}", ".b".repeat(120_000)),
        ),
        (
            GuardedSyntax::Rust,
            format!("fn f(){{a{}}}", " as b".repeat(29_000)),
        ),
        (
            GuardedSyntax::Rust,
            format!("type A = {};", nested("B<", "c", ">")),
        ),
        (
            GuardedSyntax::Rust,
            format!("type A = {};", nested("[", "c", "]")),
        ),
        (
            GuardedSyntax::Rust,
            format!("use {};", nested("a::{", "b", "}")),
        ),
        (
            GuardedSyntax::Rust,
            format!("use {}b;", "a::".repeat(14_000)),
        ),
        (GuardedSyntax::Rust, nested("mod a{", "", "}")),
    ]);
}

#[test]
fn deep_python_and_data_neither_hang_nor_overflow() {
    survives(&[
        (GuardedSyntax::Python, nested("(", "1", ")")),
        (GuardedSyntax::Python, nested("[", "", "]")),
        (GuardedSyntax::Python, nested("not ", "1", "")),
        (GuardedSyntax::Python, nested("-", "1", "")),
        (GuardedSyntax::Python, nested("1+", "1", "")),
        (GuardedSyntax::Python, nested("1**", "1", "")),
        (GuardedSyntax::Python, nested("lambda:", "1", "")),
        (GuardedSyntax::Python, nested("1 if a else ", "1", "")),
        (GuardedSyntax::Python, nested("f'{", "1", "}'")),
        (GuardedSyntax::Python, format!("a{}", ".b".repeat(120_000))),
        (
            GuardedSyntax::Python,
            (0..600)
                .map(|n| format!("{}if a:\n", " ".repeat(n)))
                .collect(),
        ),
        (GuardedSyntax::Yaml, nested("[", "", "]")),
        (GuardedSyntax::Yaml, nested("- ", "a", "")),
        (GuardedSyntax::Json, nested("[", "", "]")),
        (GuardedSyntax::Toml, format!("a = {}", nested("[", "", "]"))),
        (
            GuardedSyntax::Toml,
            format!("{}a = 1", "a.".repeat(100_000)),
        ),
    ]);
}

/// The answers are checked in a bounded time, with any outcome.
#[track_caller]
fn survives(answers: &[(GuardedSyntax, String)]) {
    let start = Instant::now();
    for (language, answer) in answers {
        checked(syntax(*language), answer).ok();
        assert!(start.elapsed() < PATIENCE, "{language:?} {answer:.60}");
    }
}

#[test]
fn attempts_that_nest_end_the_check_with_a_place() {
    for part in ["a<", "a<{[", "([a="] {
        let problem = checked(syntax(GuardedSyntax::TypeScript), &part.repeat(2_000)).unwrap_err();
        let message = problem.message;
        assert!(message.contains("Too many nested attempts"), "{message}");
        assert!(message.contains("line 1"), "{message}");
    }
}

#[test]
fn rules_are_part_of_the_document() {
    let rails = Guardrails {
        length_min: Some(5),
        length_max: Some(90),
        ..imports(
            GuardedSyntax::Rust,
            Some(&["std", "serde"]),
            &["std::process"],
        )
    };
    assert_eq!(
        rails.rules(),
        [
            "The answer as a whole is valid Rust.",
            "It imports nothing from outside its own project but `std`, `serde`.",
            "It never imports `std::process`.",
            "It has between 5 and 90 characters.",
        ]
    );
    let mut asked = question(code(), rails);
    asked.prompt = "Write it.".to_owned();
    asked.retries = Some(3);
    let mut questionnaire = Questionnaire::new();
    questionnaire.ask(asked.clone()).unwrap();
    assert_eq!(questionnaire.retries(), Some(3));
    let json = prompt::document::json(&questionnaire, &Default::default());
    assert_eq!(
        json["questions"][0]["guardrails"],
        json!({
            "syntax": "rust",
            "allowedImports": ["std", "serde"],
            "blockedImports": ["std::process"],
            "minLength": 5,
            "maxLength": 90,
        })
    );
    assert_eq!(json["questions"][0]["retries"], 3);
    let mut without = asked.clone();
    without.guardrails = Guardrails::default();
    let mut other = Questionnaire::new();
    other.ask(without.clone()).unwrap();
    assert_ne!(other.request_id(), questionnaire.request_id());
    let conflict = questionnaire.ask(without).unwrap_err().to_string();
    assert!(
        conflict.contains("list of guardrails differs"),
        "{conflict}"
    );
}

#[test]
fn a_reply_that_breaks_a_guardrail_is_corrected_like_any_other() {
    let mut questionnaire = Questionnaire::new();
    questionnaire
        .ask(question(code(), syntax(GuardedSyntax::Rust)))
        .unwrap();
    let reply = json!({ "card": "fn main( {}" }).to_string();
    let error = prompt::reply::read(&reply, &questionnaire).unwrap_err();
    let turn = prompt::reply::correction(&error, &questionnaire);
    assert!(
        turn.contains("`card`") && turn.contains("is not valid Rust: line 1"),
        "{turn}"
    );
    let good = json!({ "card": "fn main() {}" }).to_string();
    let answers: Answers = prompt::reply::read(&good, &questionnaire).unwrap();
    assert_eq!(answers.get("card"), Some(&json!("fn main() {}")));
}

#[test]
fn languages_are_known_by_name_and_by_extension() {
    for name in GuardedSyntax::NAMES {
        assert_eq!(GuardedSyntax::named(name).unwrap().name(), name);
    }
    assert_eq!(GuardedSyntax::named("rs").unwrap(), GuardedSyntax::Rust);
    assert_eq!(
        GuardedSyntax::of_extension("yml"),
        Some(GuardedSyntax::Yaml)
    );
    assert_eq!(GuardedSyntax::of_extension("md"), None);
    let error = GuardedSyntax::named("typescrpt").unwrap_err().to_string();
    assert!(error.contains("Did you mean `typescript`?"), "{error}");
}

/// Pieces of programs, so that the parsers get somewhere.
fn answers() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("import"),
        Just("from"),
        Just(" "),
        Just("\n"),
        Just("\n    "),
        Just("("),
        Just(")"),
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just("<"),
        Just(">"),
        Just("=>"),
        Just("'"),
        Just("\""),
        Just("`"),
        Just("${"),
        Just("a"),
        Just("é"),
        Just("1"),
        Just("="),
        Just(":"),
        Just("use "),
        Just("::"),
        Just("*"),
        Just("fn "),
        Just("def f"),
        Just("class A"),
        Just("f'{"),
        Just("match x"),
        Just("case "),
        Just("#"),
        Just("//"),
        Just("/*"),
        Just("---"),
        Just("- "),
        Just("\\"),
        Just("\u{0}"),
        Just("\u{feff}"),
        Just("😀"),
        Just(";"),
        Just("r#\""),
        Just("/"),
    ];
    let pieces = proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat());
    prop_oneof![pieces, any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn no_answer_makes_a_check_fail_in_any_other_way(answer in answers(), at in 0..ALL.len()) {
        let rails = Guardrails {
            allowed_imports: Some(vec!["a*".to_owned()]),
            blocked_imports: vec!["b".to_owned()],
            length_max: Some(200),
            ..syntax(ALL[at])
        };
        if let Err(problem) = checked(rails, &answer) {
            assert!(!problem.message.contains("its parser failed"), "{problem}");
        }
    }
}
