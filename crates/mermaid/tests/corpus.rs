//! Every answer of the real Mermaid that was recorded, against ours.
//!
//! `mermaid.jsonl` holds Mermaid's own tests, documentation and demos, `probes.jsonl` further
//! questions of the same kind, `deviations.jsonl` the ones where we differ on purpose.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and reads its own fixtures"
)]

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

#[test]
fn mermaid_and_we_agree_on_its_own_tests() {
    check("mermaid.jsonl");
}

#[test]
fn mermaid_and_we_agree_on_further_questions() {
    check("probes.jsonl");
}

#[test]
fn where_we_differ_on_purpose_we_still_do() {
    for case in cases("deviations.jsonl") {
        let source = text(&case["source"]);
        let ours = outcome(source);
        assert_eq!(ours, case["ours"], "{source}");
        assert!(
            differs(&case["expect"], &ours).is_some(),
            "no longer differs: {source}"
        );
    }
}

#[test]
fn every_row_of_the_table_of_differences_has_a_case() {
    let page = include_str!("../src/lib.rs");
    let table = page.lines().filter_map(|line| line.strip_prefix("//! | "));
    let rows: Vec<&str> = table.filter(|row| !row.starts_with("Mermaid |")).collect();
    let cases = cases("deviations.jsonl");
    let names: BTreeSet<&str> = cases.iter().map(|case| text(&case["row"])).collect();
    for name in &names {
        let named = rows.iter().filter(|row| row.contains(name)).count();
        assert_eq!(named, 1, "rows with {name:?}");
    }
    for row in rows {
        assert!(
            names.iter().any(|name| row.contains(name)),
            "no case: {row}"
        );
    }
}

fn check(file: &str) {
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in cases(file) {
        count += 1;
        let source = text(&case["source"]);
        let ours = outcome(source);
        if is_invalid_link(&case["expect"]) && ours["kind"] == "arrow" {
            continue;
        }
        let accepted = ["expect", "direct", "mermaid11"];
        let accepted = accepted.iter().filter_map(|key| case.get(*key));
        let reasons: Vec<_> = accepted.map(|expect| differs(expect, &ours)).collect();
        if reasons.iter().all(Option::is_some) {
            let reason = reasons[0].as_deref().unwrap_or("");
            wrong.push(format!("{}\n  {source:?}\n  {reason}", text(&case["name"])));
        }
    }
    assert!(count > 0, "{file} has no cases");
    assert!(
        wrong.is_empty(),
        "{} of {count} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn cases(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(file);
    let all = std::fs::read_to_string(path).unwrap();
    let lines = all.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn outcome(source: &str) -> Value {
    match mermaid::parse(source) {
        Ok(document) => {
            let mut json = document.diagram().to_json();
            json["ok"] = Value::Bool(true);
            json
        }
        Err(error) => {
            assert!(!error.problems().is_empty());
            let problem = &error.problems()[0];
            serde_json::json!({ "ok": false, "error": error.to_string(), "kind": problem.kind.code() })
        }
    }
}

/// Mermaid reads a link whose ends do not fit as one of no kind; we refuse it on purpose.
fn is_invalid_link(expect: &Value) -> bool {
    let edges = expect["edges"].as_array();
    edges.is_some_and(|edges| edges.iter().any(|edge| edge["kind"] == "INVALID"))
}

/// Why our outcome is not the expected one.
fn differs(expect: &Value, ours: &Value) -> Option<String> {
    if expect["ok"] != ours["ok"] {
        return Some(format!(
            "expected ok = {}, got {ours} instead of {}",
            expect["ok"], expect["error"]
        ));
    }
    if expect["ok"] == false {
        return None;
    }
    if expect["direction"] != ours["direction"] {
        return Some(format!(
            "direction {} is not {}",
            ours["direction"], expect["direction"]
        ));
    }
    let nodes = compare(expect, ours, "nodes", |a, b| {
        same(a, b, "id") && same(a, b, "shape") && same_text(a, b, "text")
    });
    let edges = || {
        compare(expect, ours, "edges", |a, b| {
            let fields = ["from", "to", "kind", "stroke", "length"];
            let named = a["userDefinedId"] != true || same(a, b, "id");
            fields.iter().all(|field| same(a, b, field)) && same_text(a, b, "label") && named
        })
    };
    let subgraphs = || {
        compare(expect, ours, "subgraphs", |a, b| {
            same(a, b, "id") && same_text(a, b, "title") && set(&a["nodes"]) == set(&b["nodes"])
        })
    };
    nodes.or_else(edges).or_else(subgraphs)
}

fn compare(
    expect: &Value,
    ours: &Value,
    key: &str,
    same: impl Fn(&Value, &Value) -> bool,
) -> Option<String> {
    let none = Vec::new();
    let expect = expect[key].as_array().unwrap_or(&none);
    let ours = ours[key].as_array().unwrap_or(&none);
    if expect.len() != ours.len() {
        return Some(format!("{key}: {ours:?} instead of {expect:?}"));
    }
    let mut pairs = expect.iter().zip(ours);
    let (a, b) = pairs.find(|(a, b)| !same(a, b))?;
    Some(format!("{key}: {b} instead of {a}"))
}

fn same(a: &Value, b: &Value, field: &str) -> bool {
    a[field] == b[field]
}

/// The text, or the text with its entities read, is the same. Mermaid keeps numbers as numbers.
fn same_text(a: &Value, b: &Value, field: &str) -> bool {
    let shown = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let ours = shown(&b[field]);
    ours == shown(&a[field]) || a.get("plain").is_some_and(|plain| shown(plain) == ours)
}

fn set(value: &Value) -> BTreeSet<String> {
    let items = value.as_array().cloned().unwrap_or_default();
    items.iter().map(|item| text(item).to_owned()).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}
