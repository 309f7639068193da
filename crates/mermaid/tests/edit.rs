//! An edit changes its own bytes: comments, layout and everything else stay as they are.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, and reads its own fixtures"
)]

use mermaid::{DiagramDocument, ProblemKind, Span, TextEdit, parse};

const SOURCE: &str = "---\ntitle: x\n---\n%% first\ngraph TD\r\n    A[Fetch]  -->  B{Gate}   \n\n  %% @A: { \"k\": 1 }\n\
    B -->|\"score >= 80\"| C & D;   B -- no ---> E@{ shape: hex, label: \"old\", icon: \"x\" }\n  C e1@--> F\n%% last";

fn read(source: &str) -> DiagramDocument {
    parse(source).unwrap_or_else(|error| panic!("{}", error.report("x.mmd")))
}

/// The edited document differs from the source by one replacement only, and means `check`.
fn check(edited: &DiagramDocument, old: &str, new: &str) {
    assert_eq!(SOURCE.matches(old).count(), 1, "{old:?} is not unique");
    assert_eq!(edited.source(), SOURCE.replace(old, new));
}

#[test]
fn unedited_parts_print_unchanged() {
    assert_eq!(read(SOURCE).source(), SOURCE);
}

#[test]
fn comments_keep_their_places_and_texts() {
    let document = read(SOURCE);
    let texts: Vec<&str> = document
        .comments()
        .iter()
        .map(|c| c.text.as_str())
        .collect();
    assert_eq!(texts, [" first", " @A: { \"k\": 1 }", " last"]);
    let shown: Vec<&str> = document
        .comments()
        .iter()
        .map(|c| c.span.of(SOURCE))
        .collect();
    assert_eq!(shown, ["%% first", "%% @A: { \"k\": 1 }", "%% last"]);
    assert_eq!(document.line_of(document.comments()[1].span), 8);
}

#[test]
fn every_part_has_its_place() {
    let document = read(SOURCE);
    let node = |id: &str| document.node_span(id).unwrap().of(SOURCE);
    assert_eq!(node("A"), "A[Fetch]");
    assert_eq!(node("B"), "B{Gate}");
    assert_eq!(node("E"), "E@{ shape: hex, label: \"old\", icon: \"x\" }");
    let edge = |at: usize| document.edge_span(at).unwrap().of(SOURCE);
    assert_eq!(edge(0), "-->");
    assert_eq!(edge(1), "-->|\"score >= 80\"|");
    assert_eq!(edge(3), "-- no --->");
    assert_eq!(edge(4), "e1@-->");
    assert_eq!(document.header().0.of(SOURCE), "graph");
    assert_eq!(document.header().1.unwrap().of(SOURCE), "TD");
    let first = &document.statements()[0];
    assert_eq!(first.span.of(SOURCE), "A[Fetch]  -->  B{Gate}");
}

#[test]
fn a_nodes_label_is_replaced_in_its_brackets() {
    let edited = read(SOURCE)
        .with_node_label("A", "say \"hi\" [now]")
        .unwrap();
    check(&edited, "A[Fetch]", "A[\"say #quot;hi#quot; [now]\"]");
    assert_eq!(
        edited.diagram().node("A").unwrap().label.text,
        "say \"hi\" [now]"
    );
}

#[test]
fn a_node_without_brackets_gets_some() {
    let edited = read(SOURCE).with_node_label("D", "new").unwrap();
    check(&edited, "C & D;", "C & D[\"new\"];");
}

#[test]
fn a_label_in_data_is_replaced_there() {
    let edited = read(SOURCE).with_node_label("E", "a \"b\" } c").unwrap();
    let node = edited.diagram().node("E").unwrap();
    assert_eq!(
        (node.label.text.as_str(), node.shape.name()),
        ("a \"b\" } c", "hex")
    );
    assert_eq!(node.data["icon"], "x");
    assert!(edited.source().ends_with("\n  C e1@--> F\n%% last"));
}

#[test]
fn an_edges_label_is_replaced_added_and_taken_away() {
    let document = read(SOURCE);
    check(
        &document.with_edge_label(1, "x").unwrap(),
        "|\"score >= 80\"|",
        "|\"x\"|",
    );
    check(
        &document.with_edge_label(1, "").unwrap(),
        "-->|\"score >= 80\"|",
        "-->",
    );
    check(
        &document.with_edge_label(0, "then").unwrap(),
        "-->  B",
        "-->|\"then\"|  B",
    );
    check(
        &document.with_edge_label(3, "yes").unwrap(),
        "-- no --->",
        "-- \"yes\" --->",
    );
    check(
        &document.with_edge_label(3, "").unwrap(),
        "-- no --->",
        "--->",
    );
    check(
        &document.with_edge_label(4, "go").unwrap(),
        "e1@-->",
        "e1@-->|\"go\"|",
    );
}

#[test]
fn edits_that_cannot_be_are_refused() {
    let document = read(SOURCE);
    let kind =
        |outcome: Result<DiagramDocument, mermaid::Error>| outcome.unwrap_err().problems()[0].kind;
    assert_eq!(kind(document.with_node_label("Z", "x")), ProblemKind::Edit);
    assert_eq!(kind(document.with_edge_label(99, "x")), ProblemKind::Edit);
    let edit = |start: usize, end: usize| TextEdit {
        span: Span { start, end },
        text: String::new(),
    };
    assert_eq!(
        kind(document.edited(&[edit(5, 9), edit(7, 12)])),
        ProblemKind::Edit
    );
    assert_eq!(kind(document.edited(&[edit(5, 9_999)])), ProblemKind::Edit);
    assert_eq!(
        kind(document.edited(&[edit(SOURCE.len() - 9, SOURCE.len())])),
        ProblemKind::Syntax
    );
}
