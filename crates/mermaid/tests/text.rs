//! The drawing for terminals.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;

use mermaid::{NodeStatus, parse};
use unicode_width::UnicodeWidthStr as _;

fn draw(source: &str, width: usize, statuses: &[(&str, NodeStatus)]) -> String {
    let statuses = statuses
        .iter()
        .map(|(id, status)| ((*id).to_owned(), *status));
    let statuses: HashMap<String, NodeStatus> = statuses.collect();
    let text = parse(source).unwrap().diagram().to_text(width, &statuses);
    for line in text.lines().take_while(|line| !line.is_empty()) {
        assert!(
            line.width() <= width || !line.contains(['│', '─']),
            "{text}"
        );
    }
    text
}

fn check(source: &str, statuses: &[(&str, NodeStatus)], expected: &str) {
    let text = draw(source, 80, statuses);
    assert_eq!(
        text.trim_end(),
        expected.trim_matches('\n').trim_end(),
        "\n{text}"
    );
}

#[test]
fn a_chain_is_drawn_top_down() {
    check(
        "graph TD\nA[Fetch] --> B(Review)",
        &[("A", NodeStatus::Done), ("B", NodeStatus::Running)],
        "
 ┌─────────┐
 │ ✓ Fetch │
 └─────────┘
      │
      │
      ▼
╭───────────╮
│ ▶ Review  │
╰───────────╯
",
    );
}

#[test]
fn the_seeds_workflow_fits_a_terminal() {
    let text = draw(
        include_str!("pr-review.mmd"),
        100,
        &[("A", NodeStatus::Done), ("E", NodeStatus::Waiting)],
    );
    for part in [
        "✓ Fetch PR Details",
        "◷ Quality Gate",
        "Each: Review File",
        "output.score",
        "Close PR",
    ] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    assert!(
        text.contains("Retry? → Fetch PR Details: output.shouldRetry"),
        "{text}"
    );
    assert!(text.contains('▼'), "{text}");
}

#[test]
fn what_does_not_fit_is_listed() {
    let text = draw(
        "graph TD\nA[One] -->|yes| B[Two] & C[Three]",
        15,
        &[("A", NodeStatus::Failed)],
    );
    assert_eq!(
        text,
        "✗ One\n    → Two: yes\n    → Three: yes\nTwo\nThree\n"
    );
}

#[test]
fn nothing_a_terminal_would_act_on_gets_through() {
    let text = draw(
        "graph TD\nA[\"x\u{1b}[31m#27;[0m<br/>y\"] --> B[漢字]",
        80,
        &[],
    );
    assert!(!text.contains('\u{1b}'), "{text:?}");
    assert!(text.contains("漢字"));
}

#[test]
fn every_diagram_of_the_corpus_is_drawn_or_listed() {
    for line in include_str!("mermaid.jsonl").lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let source = case["source"].as_str().unwrap();
        if parse(source).is_ok() {
            for width in [0, 1, 40, 80, 120] {
                draw(source, width, &[]);
            }
        }
    }
}
