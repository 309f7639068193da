//! How errors look: one line, and the report with the source, the caret and the way there.

// tidy: allow text-form, because a tab in the source is what one of the cases is about
#![allow(
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "tests are lists of cases, and fixtures that cannot be built are failures"
)]

use std::rc::Rc;

use serde_json::json;
use template::{Error, MapLoader, RenderInput, TemplateEngine, TemplateLayout};

const FILES: &[(&str, &str)] = &[
    ("broken.edge", "fine\n@if(x\n"),
    ("fails.edge", "one\n  {{ user.name.first }}\n"),
    ("outer.edge", "@include('fails')"),
    ("components/card.edge", "<c>\n{{ $slots.main() }}\n</c>"),
    ("components/bad.edge", "a\nb {{ nothing.here }}"),
    ("loop.edge", "@include('loop')"),
];

fn error(template: &str) -> Error {
    let loader: MapLoader = FILES.iter().copied().collect();
    let state = json!({ "user": {}, "list": [1] });
    let rendered = TemplateEngine::new(Rc::new(loader)).render_text(&RenderInput {
        name: "page.edge",
        text: template,
        layout: TemplateLayout::Edge,
        state: &expr::JsObject::from_json_map(state.as_object().unwrap()),
        answers: &Default::default(),
    });
    rendered.unwrap_err()
}

fn check(template: &str, report: &str) {
    let error = error(template);
    assert_eq!(
        error.report().trim_end(),
        report.trim_matches('\n'),
        "{template:?}"
    );
    let line = error.to_string();
    assert!(!line.contains('\n'), "{line}");
    assert!(
        line.contains(error.code()) && line.contains(error.message()),
        "{line}"
    );
}

#[test]
fn errors_show_where_they_are() {
    check(
        "a\n@if(1)\nb",
        r#"
E_UNCLOSED_TAG: Unclosed tag if
  --> page.edge:2:4
   |
 1 | a
 2 | @if(1)
   |     ^
 3 | b
  = hint: end it with a line @end or @endif
"#,
    );
    check(
        "\n\n\tx {{ user.name.first }} y\n",
        r#"
E_RUNTIME_EXCEPTION: Cannot read properties of undefined (reading 'first')
  --> page.edge:3:16
   |
 3 | 	x {{ user.name.first }} y
   | 	               ^
"#,
    );
    check(
        "@each(x of list)\n@end",
        r#"
E_ACORN_ERROR: Unexpected token
  --> page.edge:1:8
   |
 1 | @each(x of list)
   |         ^
 2 | @end
"#,
    );
    check(
        "@if(list) yes",
        r#"
E_CANNOT_SEEK_STATEMENT: Unexpected token " yes"
  --> page.edge:1:9
   |
 1 | @if(list) yes
   |          ^
  = hint: a tag must be alone on its line; put the text on the next one
"#,
    );
    check(
        "@include('nowhere')",
        r#"
E_RUNTIME_EXCEPTION: Cannot resolve "nowhere". Make sure the file exists
  --> page.edge:1:9
   |
 1 | @include('nowhere')
   |          ^
  = hint: looked for nowhere, nowhere.edge, nowhere.jig, nowhere.jig.t, nowhere.t
"#,
    );
}

#[test]
fn errors_show_how_they_were_reached() {
    check(
        "x\n  @include('outer')",
        r#"
E_RUNTIME_EXCEPTION: Cannot read properties of undefined (reading 'first')
  --> fails.edge:2:15
   |
 1 | one
 2 |   {{ user.name.first }}
   |                ^
  = included at outer.edge:1:9
  = included at page.edge:2:11
"#,
    );
    check(
        "@include('broken')",
        r#"
E_UNCLOSED_PAREN: Missing token ")"
  --> broken.edge:2:4
   |
 1 | fine
 2 | @if(x
   |     ^
  = included at page.edge:1:9
"#,
    );
    check(
        "@card()\n  {{ user.name.first }}\n@end",
        r#"
E_RUNTIME_EXCEPTION: Cannot read properties of undefined (reading 'first')
  --> page.edge:2:15
   |
 1 | @card()
 2 |   {{ user.name.first }}
   |                ^
 3 | @end
  = component used at page.edge:1:6
"#,
    );
    check(
        "@card()\n@include('fails')\n@end",
        r#"
E_RUNTIME_EXCEPTION: Cannot read properties of undefined (reading 'first')
  --> fails.edge:2:15
   |
 1 | one
 2 |   {{ user.name.first }}
   |                ^
  = included at page.edge:2:9
  = component used at page.edge:1:6
"#,
    );
    let recursion = error("@include('loop')").report();
    assert!(recursion.contains("depth_max = 400"), "{recursion}");
    assert!(recursion.contains("more levels"), "{recursion}");
}

#[test]
fn a_template_can_fail_on_purpose() {
    let own = error("a\n@newError('bad ' + list[0])");
    assert_eq!(
        (own.message(), own.file(), own.line(), own.column()),
        ("bad 1", "page.edge", 2, 10)
    );
    let moved = error("@newError('bad', 'other.ts', 7, 3)");
    assert_eq!(
        (moved.file(), moved.line(), moved.column()),
        ("other.ts", 7, 3)
    );
}

#[test]
fn strict_mode_lists_undefined_names() {
    let files = [("p.edge", "{{ also }}\n")];
    let loader: MapLoader = files.into_iter().collect();
    let engine = TemplateEngine::new(Rc::new(loader)).strict();
    let template = "{{ known }} {{ missing }}\n@if(known && gone)\n@end\n@each(x in nothing)\n{{ x }}\n@end\n@let(y = lost)\n{{ y }}{{ missing }}\n@include('p')\n{{ camelCase('a') }}{{ JSON }}{{ state.any }}";
    let state = json!({ "known": 1 });
    let rendered = engine
        .render_text(&RenderInput {
            name: "page.edge",
            text: template,
            layout: TemplateLayout::Edge,
            state: &expr::JsObject::from_json_map(state.as_object().unwrap()),
            answers: &Default::default(),
        })
        .unwrap();
    let found: Vec<String> = rendered
        .undefined
        .iter()
        .map(|one| format!("{} {}:{}:{}", one.name, one.file, one.line, one.column))
        .collect();
    let expected = [
        "missing page.edge:1:15",
        "gone page.edge:2:13",
        "nothing page.edge:4:11",
        "lost page.edge:7:9",
        "missing page.edge:8:10",
        "also p.edge:1:3",
    ];
    assert_eq!(found, expected);
}
