//! Input that would hang, overflow or fill memory: each ends quickly, with a clear error or well.

#![allow(
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "tests are lists of cases, and fixtures that cannot be built are failures"
)]

use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::json;
use template::{Limits, MapLoader, RenderInput, TemplateEngine, TemplateLayout};

/// Generous for a debug build on a busy machine; a hang would be far above it.
const TIME_MAX: Duration = Duration::from_secs(20);

/// Renders in both layouts on a small stack; the code of the error, or `ok`.
fn outcome(template: &str, files: &[(&str, &str)], limits: Limits) -> Vec<String> {
    let template = template.to_owned();
    let files: Vec<(String, String)> = files
        .iter()
        .map(|(name, text)| (name.to_string(), text.to_string()))
        .collect();
    let run = move || {
        let mut outcomes = Vec::new();
        for layout in [TemplateLayout::Edge, TemplateLayout::Jig] {
            let loader: MapLoader = files.iter().cloned().collect();
            let engine = TemplateEngine::new(Rc::new(loader))
                .with_limits(limits)
                .strict();
            let state = json!({ "a": 1, "list": [1, 2, 3], "text": "x" });
            let rendered = engine.render_text(&RenderInput {
                name: "main.edge",
                text: &template,
                layout,
                state: &expr::JsObject::from_json_map(state.as_object().unwrap()),
                answers: &Default::default(),
            });
            outcomes.push(match rendered {
                Ok(_) => "ok".to_owned(),
                Err(error) => {
                    assert!(error.report().len() < 20_000, "the report stays readable");
                    error.code().to_owned()
                }
            });
        }
        outcomes
    };
    let thread = std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(run)
        .unwrap();
    thread.join().unwrap()
}

/// The default limits with a tenth of the work, because tests run without optimisation.
fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.expr.fuel_max /= 10;
    limits
}

fn check(name: &str, template: &str, files: &[(&str, &str)], code: &str) {
    let start = Instant::now();
    let found = outcome(template, files, limits());
    assert_eq!(found, [code, code], "{name}");
    assert!(
        start.elapsed() < TIME_MAX,
        "{name} took {:?}",
        start.elapsed()
    );
}

#[test]
fn recursion_ends_with_a_limit() {
    let limit = "E_LIMIT_EXCEEDED";
    check(
        "include",
        "@include('a')",
        &[("a.edge", "@include('a')")],
        limit,
    );
    check(
        "two includes",
        "@include('a')",
        &[("a.edge", "x\n@include('b')"), ("b.edge", "@include('a')")],
        limit,
    );
    check(
        "component",
        "@a()\n@end",
        &[("components/a.edge", "@a()\nx\n@end")],
        limit,
    );
    let through_slot = [("components/a.jig", "@a()\n{{ $slots.main() }}\n@end")];
    check("slots", "@a()\nx\n@end", &through_slot, limit);
    let nested = format!(
        "{}@include('a')\n{}",
        "@if(a)\n".repeat(150),
        "@end\n".repeat(150)
    );
    check(
        "include in deep blocks",
        "@include('a')",
        &[("a.edge", &nested)],
        limit,
    );
    check(
        "a function that calls itself",
        "@let(f = x => f2(x))\n@assign(f2 = f)\n{{ f(1) }}",
        &[],
        limit,
    );
    let exponential = [
        ("a.edge", "@include('b')\n@include('b')"),
        ("b.edge", "@include('a')\n@include('a')"),
    ];
    check("a tree of includes", "@include('a')", &exponential, limit);
}

#[test]
fn nesting_has_a_limit() {
    let many = 100_000;
    let limit = "E_LIMIT_EXCEEDED";
    check("blocks", &"@if(a)\n".repeat(many), &[], limit);
    check("loops", &"@each(x in list)\n".repeat(many), &[], limit);
    check(
        "components",
        &"@c()\n".repeat(many),
        &[("components/c.edge", "")],
        limit,
    );
    check("escaped tags", &"@@if(a)\n".repeat(many), &[], limit);
    check(
        "closed blocks",
        &format!("{}{}", "@if(a)\n".repeat(many), "@end\n".repeat(many)),
        &[],
        limit,
    );
    let deep = format!("{}x\n{}", "@if(a)\n".repeat(199), "@end\n".repeat(199));
    check("deep but allowed", &deep, &[], "ok");
}

#[test]
fn brackets_without_end() {
    let many = 100_000;
    for (name, template, code) in [
        (
            "parentheses in an interpolation",
            format!("{{{{ {}1{} }}}}", "(".repeat(many), ")".repeat(many)),
            None,
        ),
        (
            "brackets in an interpolation",
            format!("{{{{ {}{} }}}}", "[".repeat(many), "]".repeat(many)),
            None,
        ),
        (
            "braces",
            format!("{{{{ {}{} }}}}", "{".repeat(many), "}".repeat(many)),
            None,
        ),
        (
            "parentheses in a tag",
            format!("@if({}1{})\nx\n@end", "(".repeat(many), ")".repeat(many)),
            None,
        ),
        (
            "unary operators",
            format!("{{{{ {}1 }}}}", "!".repeat(many)),
            None,
        ),
        (
            "template literals",
            format!("{{{{ {}1{} }}}}", "`${".repeat(many), "}`".repeat(many)),
            None,
        ),
        (
            "open interpolations",
            "{{ ".repeat(many),
            Some("E_UNCLOSED_CURLY_BRACE"),
        ),
        (
            "open comments",
            "{{-- ".repeat(many),
            Some("E_UNCLOSED_CURLY_BRACE"),
        ),
        (
            "open arguments",
            "@if(\n".repeat(many),
            Some("E_UNCLOSED_PAREN"),
        ),
        ("quotes", format!("{{{{ {} }}}}", "'\\".repeat(many)), None),
        ("slashes", format!("{{{{ {} }}}}", "(/[".repeat(many)), None),
        ("open template literals", "{{ ` }}\n".repeat(many), None),
        ("open block comments", "{{ /* }}\n".repeat(many), None),
        (
            "unbalanced braces in comments",
            "{{-- { --}}\n".repeat(20_000),
            None,
        ),
        ("ends without blocks", "@end\n".repeat(many), Some("ok")),
        (
            "stray else",
            "@else\n".repeat(many),
            Some("E_ORPHAN_ELSE_TAG"),
        ),
        ("closing braces", "}}".repeat(many), Some("ok")),
        ("at signs", "@".repeat(many), Some("ok")),
    ] {
        let start = Instant::now();
        let found = outcome(&template, &[], limits());
        if let Some(code) = code {
            assert_eq!(found, [code, code], "{name}");
        }
        assert!(
            start.elapsed() < TIME_MAX,
            "{name} took {:?}",
            start.elapsed()
        );
    }
}

#[test]
fn size_has_limits() {
    let limit = "E_LIMIT_EXCEEDED";
    check(
        "ten megabytes of text",
        &"some text on a line\n".repeat(500_000),
        &[],
        "ok",
    );
    check(
        "ten megabytes on one line",
        &"some text ".repeat(1_000_000),
        &[],
        "ok",
    );
    check(
        "more than a template may have",
        &"x".repeat(17 << 20),
        &[],
        limit,
    );
    check("interpolations", &"{{ a }}".repeat(200_000), &[], limit);
    check(
        "variables",
        &"@let(x = 1)\n@if(a)\n@end\n".repeat(20_000),
        &[],
        "E_ACORN_ERROR",
    );
    let variables: String = (0..20_000).map(|n| format!("@let(x{n} = 1)\n")).collect();
    check("different variables", &variables, &[], limit);
    let passed: String = (0..2000)
        .map(|n| format!("@let(x{n} = 1)\n@include('p')\n"))
        .collect();
    check("variables passed on", &passed, &[("p.edge", "")], limit);
    check(
        "a loop that grows its list",
        "@each(x in list)\n@eval(list.push(x))\n@end",
        &[],
        limit,
    );
    check(
        "a string that doubles",
        "@each(x in Array.from({length: 99}))\n@assign(text = text + text)\n@end",
        &[],
        limit,
    );
    let many = "@each(x in Array.from({length: 1000}))\n@each(y in Array.from({length: 1000}))\n{{ 'x'.repeat(1000) }}\n@end\n@end";
    check("output", many, &[], limit);
    let stacks = "@each((x, i) in Array.from({length: 20000}))\n@stack('s' + i)\n@pushTo('s' + i)\n@stack('t' + i)\n@end\n@end";
    check("stacks", stacks, &[], "ok");
    check(
        "a regular expression bomb",
        "{{ /^(a+)+$/.test('a'.repeat(40) + 'b') }}",
        &[],
        limit,
    );
}
