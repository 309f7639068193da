//! Every case of the two corpora that real edge.js answered, through one check.
//!
//! `edge.json` was made by running edge.js; `edge-upstream.json` holds the fixtures of
//! edge-js/edge (MIT). Where we differ on purpose, the case is in `DIFFERENCES` with a reason that
//! also stands in `docs/templates.md`.

use std::rc::Rc;

use serde_json::Value as Json;
use template::{Engine, Input, Layout, MapLoader};

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

/// Deliberate differences: the template, what we give instead, and why.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    (
        "\na\n",
        "a\n",
        "a template that ends its last line prints that line end",
    ),
    (
        "a\r\nb\r\n@if(1)\r\nc\r\n@end\r\n",
        "a\nb\nc\n",
        "a template that ends its last line prints that line end",
    ),
];

fn check(name: &str, case: &Json, files: &Json) -> Result<(), String> {
    let template = case["template"].as_str().unwrap();
    let state = ["state", "data"]
        .iter()
        .find_map(|key| case[*key].as_object());
    let state = state.cloned().unwrap_or_default();
    let ours = render(template, &state, files);
    if let Some((_, expected, _)) = DIFFERENCES.iter().find(|(given, ..)| *given == template) {
        return match ours {
            Outcome::Output(text) if text == *expected => Ok(()),
            other => Err(format!(
                "{name}: {template:?}\n  listed: {expected:?}\n  ours: {other:?}"
            )),
        };
    }
    if case["node_specific"].as_bool() == Some(true) {
        return Ok(());
    }
    let expect = match &case["expect"] {
        Json::Null => case,
        expect => expect,
    };
    let unescaped = &case["expect_unescaped"];
    let expect = if unescaped.is_null() {
        expect
    } else {
        unescaped
    };
    let any_error =
        case["engine_crash"].as_bool() == Some(true) || expect["error"]["line"].is_null();
    let same = match (&ours, expect["output"].as_str().or(unescaped.as_str())) {
        (Outcome::Output(text), Some(output)) => text == output,
        (
            Outcome::Error {
                code,
                message,
                line,
                column,
            },
            None,
        ) => {
            let error = &expect["error"];
            // Edge has no columns for runtime errors, and writes 0.
            let column_known = error["col"] != 0;
            any_error
                || (error["code"] == code.as_str()
                    && error["line"] == *line
                    && (!column_known || error["col"] == *column)
                    && same_message(error["message"].as_str().unwrap_or_default(), message))
        }
        _ => false,
    };
    if same {
        Ok(())
    } else {
        Err(format!(
            "{name}: {template:?}\n  edge: {expect}\n  ours: {ours:?}"
        ))
    }
}

/// Edge's messages hold the paths of the machine they were made on.
fn same_message(theirs: &str, ours: &str) -> bool {
    theirs.replace("/views/", "").replace(".edge\"", "\"") == ours.replace(".edge\"", "\"")
}

fn render(template: &str, state: &serde_json::Map<String, Json>, files: &Json) -> Outcome {
    let loader: MapLoader = files
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, text)| {
            let ending = if name.ends_with(".edge") { "" } else { ".edge" };
            (format!("{name}{ending}"), text.as_str().unwrap())
        })
        .collect();
    let engine = Engine::new(Rc::new(loader)).with_now_ms(0.0);
    let rendered = engine.render_text(&Input {
        name: "eval.edge",
        text: template,
        layout: Layout::Edge,
        state: &expr::Object::from_json_map(state),
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

fn report(failures: &[String], total: usize) {
    let list = failures.join("\n");
    assert!(
        failures.is_empty(),
        "{} of {total} cases differ:\n{list}",
        failures.len()
    );
}

#[test]
fn edge_corpus() {
    let corpus: Json = serde_json::from_str(include_str!("data/edge.json")).unwrap();
    let cases = corpus["cases"].as_array().unwrap();
    let checked = cases.iter().enumerate();
    let failures: Vec<String> = checked
        .filter_map(|(at, case)| check(&format!("case {at}"), case, &corpus["files"]).err())
        .collect();
    report(&failures, cases.len());
}

#[test]
fn edge_upstream_fixtures() {
    let cases: Vec<Json> = serde_json::from_str(include_str!("data/edge-upstream.json")).unwrap();
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| check(case["name"].as_str().unwrap(), case, &case["files"]).err())
        .collect();
    report(&failures, cases.len());
}
