//! Every case that real edge.js answered, through one check.
//!
//! `edge.json` and `edge-more.json` were made by running edge.js 6.5.1; `edge-upstream.json` holds
//! the fixtures of edge-js/edge (MIT). Where we differ on purpose, the template is in `DIFFERENCES`
//! under the name of a row of the table in `docs/templates.md`.

#![allow(
    clippy::unwrap_used,
    reason = "a corpus that cannot be read is a failed test"
)]

use std::rc::Rc;

use serde_json::Value as Json;
use template::{MapLoader, RenderInput, TemplateEngine, TemplateLayout};

/// What a template gave: its output, or the code, message, line and column of its error.
#[derive(Debug, Clone, PartialEq)]
enum Outcome {
    Output(String),
    Error {
        code: String,
        message: String,
        line: u32,
        column: u32,
    },
}

/// A deliberate difference: the row of the table it belongs to, a template, and what it prints here
/// over the state of `edge-more.json`.
struct Difference {
    row: &'static str,
    template: &'static str,
    ours: &'static str,
}

const fn differs(row: &'static str, template: &'static str, ours: &'static str) -> Difference {
    Difference {
        row,
        template,
        ours,
    }
}

const DIFFERENCES: &[Difference] = &[
    differs("Final newline", "\na\n", "a\n"),
    differs(
        "Final newline",
        "a\r\nb\r\n@if(1)\r\nc\r\n@end\r\n",
        "a\nb\nc\n",
    ),
    differs("Brackets in strings", "{{ '}}' }}{{ \"{\" }}", "}}{"),
    differs(
        "Brackets in strings",
        "@if(b !== ')')\n{{ '('.length }}\n@end",
        "1",
    ),
    differs("Brackets in strings", "{{-- { --}}x", "x"),
    differs("Objects first", "{{ { x: 1 }.x }}", "1"),
    differs("`@unless`", "@unless(a === 2)\nx\n@end", "x"),
    differs("`@unless`", "@unless(z || b)\nx\n@end", ""),
    differs(
        "`@let`",
        "@let({ q = 3, n: { m } } = o)\n{{ q }}{{ m }}",
        "35",
    ),
    differs("`@let`", "@let([x, , y] = l)\n{{ x }}{{ y }}", "13"),
    differs("`@let`", "@let(a = a + 1)\n{{ a }}", "2"),
    differs(
        "`@let`",
        "@each(i in l)\n@let(i = i + 1)\n{{ i }}\n@end",
        "2\n3\n4",
    ),
    differs(
        "Ended variables",
        "@if(a)\n@let(q = 1)\n@end\n@include('q')",
        "Q",
    ),
    differs(
        "Dollars in stacks",
        "@stack('s')\n@pushTo('s')\n$$ $& $1\n@end",
        "$$ $& $1",
    ),
    differs("Host globals", "{{ typeof process }}", "undefined"),
    differs("`inspect`", "{{ inspect([1]) }}", "[\n  1\n]"),
];

fn check(name: &str, case: &Json, corpus: &Json) -> Result<(), String> {
    let template = case["template"].as_str().unwrap();
    if case["node_specific"].as_bool() == Some(true)
        || DIFFERENCES.iter().any(|one| one.template == template)
    {
        return Ok(());
    }
    let ours = render(template, state(case, corpus), files(case, corpus));
    let expect = [&case["expect_unescaped"], &case["expect"]];
    let expect = expect
        .into_iter()
        .find(|one| !one.is_null())
        .unwrap_or(case);
    let output = expect["output"].as_str().or(expect.as_str());
    let same = match (&ours, output) {
        (Outcome::Output(text), Some(output)) => text == output,
        (Outcome::Error { .. }, None) => {
            case["engine_crash"].as_bool() == Some(true) || same_error(&ours, &expect["error"])
        }
        _ => false,
    };
    if same {
        return Ok(());
    }
    Err(format!(
        "{name}: {template:?}\n  edge: {expect}\n  ours: {ours:?}"
    ))
}

fn same_error(ours: &Outcome, theirs: &Json) -> bool {
    let Outcome::Error {
        code,
        message,
        line,
        column,
    } = ours
    else {
        return false;
    };
    // Where edge.js crashes it names no place; any error will do. It writes column 0 for errors
    // whose column it does not know.
    let crash = theirs["line"].is_null();
    let same_column = theirs["col"] == 0 || theirs["col"] == *column;
    let same_message = theirs["message"].is_null()
        || bare(theirs["message"].as_str().unwrap_or_default()) == bare(message);
    let same_place = theirs["line"] == *line && same_column;
    crash || (theirs["code"] == code.as_str() && same_place && same_message)
}

/// Edge's messages hold the paths of the machine they were made on.
fn bare(message: &str) -> String {
    message.replace("/views/", "").replace(".edge\"", "\"")
}

fn state<'c>(case: &'c Json, corpus: &'c Json) -> &'c Json {
    let states = [&case["state"], &case["data"], &corpus["state"]];
    states
        .into_iter()
        .find(|one| one.is_object())
        .unwrap_or(&Json::Null)
}

fn files<'c>(case: &'c Json, corpus: &'c Json) -> &'c Json {
    let files = [&case["files"], &corpus["files"]];
    files
        .into_iter()
        .find(|one| one.is_object())
        .unwrap_or(&Json::Null)
}

fn render(template: &str, state: &Json, files: &Json) -> Outcome {
    let named = files.as_object().into_iter().flatten().map(|(name, text)| {
        let ending = if name.ends_with(".edge") { "" } else { ".edge" };
        (format!("{name}{ending}"), text.as_str().unwrap())
    });
    let loader: MapLoader = named.collect();
    let engine = TemplateEngine::new(Rc::new(loader)).with_now_ms(0.0);
    let state = state.as_object().cloned().unwrap_or_default();
    let rendered = engine.render_text(&RenderInput {
        name: "eval.edge",
        text: template,
        layout: TemplateLayout::Edge,
        state: &expr::JsObject::from_json_map(&state),
        answers: &Default::default(),
    });
    match rendered {
        Ok(rendered) => Outcome::Output(rendered.text),
        Err(error) => Outcome::Error {
            code: error.code().to_owned(),
            message: error.message().to_owned(),
            line: error.line(),
            column: error.column(),
        },
    }
}

fn check_all(corpus: &Json) {
    let cases = corpus["cases"].as_array().or(corpus.as_array()).unwrap();
    let failures: Vec<String> = cases
        .iter()
        .enumerate()
        .filter_map(|(at, case)| {
            let name = case["name"].as_str().unwrap_or("case");
            check(&format!("{name} {at}"), case, corpus).err()
        })
        .collect();
    let (wrong, all, list) = (failures.len(), cases.len(), failures.join("\n"));
    assert!(
        failures.is_empty(),
        "{wrong} of {all} cases differ:\n{list}"
    );
}

#[test]
fn edge_corpus() {
    check_all(&serde_json::from_str(include_str!("data/edge.json")).unwrap());
}

#[test]
fn edge_upstream_fixtures() {
    check_all(&serde_json::from_str(include_str!("data/edge-upstream.json")).unwrap());
}

#[test]
fn more_edge_cases() {
    check_all(&serde_json::from_str(include_str!("data/edge-more.json")).unwrap());
}

#[test]
fn differences_are_as_documented() {
    let corpus: Json = serde_json::from_str(include_str!("data/edge-more.json")).unwrap();
    let docs = include_str!("../../../docs/templates.md");
    for one in DIFFERENCES {
        let ours = render(one.template, &corpus["state"], &corpus["files"]);
        let expected = Outcome::Output(one.ours.to_owned());
        assert_eq!(ours, expected, "{}: {:?}", one.row, one.template);
        let row = format!("\n| {} |", one.row);
        assert!(
            docs.contains(&row),
            "docs/templates.md has no row {:?}",
            one.row
        );
    }
}
