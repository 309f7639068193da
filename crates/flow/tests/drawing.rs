//! Acts on a diagram are edits of the text: each does one thing and keeps every other byte.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, and reads its own fixtures"
)]

use flow::{DrawingEdit, DrawnKind, redraw, settings_of};
use serde_json::{Value, json};

const TEXT: &str = "graph TD
    A[Fetch] --> B(Review it)
    B --> C{Good?}
    C -->|\"output.ok == true\"| D[Publish]
    C -->|default| A

%% a note of the author
%% === WORKFLOW_CONFIG ===
%% @A: { \"handler\": \"no_op\" }
%% @B: {
%%   \"prompt\": \"Is it {{input.what}}?\",
%%   \"timeout\":  \"2h\"
%% }
%% @D: { \"handler\": \"command\", \"config\": { \"command\": \"make, \\\"all\\\" }\" }, \"retry\": { \"attempts\": 2 } }
%% === END_CONFIG ===
";

#[track_caller]
fn check(edit: DrawingEdit, old: &str, new: &str) {
    let drawn = redraw(TEXT, &edit).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(TEXT.matches(old).count(), 1, "{old}");
    assert_eq!(drawn.source, TEXT.replace(old, new));
    flow::parse(&drawn.source).unwrap_or_else(|error| panic!("{error:?}\n{}", drawn.source));
}

fn configure(step: &str, name: &str, value: Value) -> DrawingEdit {
    DrawingEdit::Configure {
        step: step.to_owned(),
        values: vec![(
            name.to_owned(),
            Some(value).filter(|value| !value.is_null()),
        )],
    }
}

#[test]
fn a_setting_changes_its_own_bytes() {
    check(configure("B", "timeout", json!("3h")), "\"2h\"", "\"3h\"");
    check(
        configure("B", "timeout", Value::Null),
        ",\n%%   \"timeout\":  \"2h\"",
        "",
    );
    check(
        configure("B", "remind", json!("1h")),
        "\"2h\"\n",
        "\"2h\", \"remind\": \"1h\"\n",
    );
    check(
        configure("D", "config", json!({ "command": "x" })),
        "{ \"command\": \"make, \\\"all\\\" }\" }",
        "{ \"command\": \"x\" }",
    );
    check(
        configure("D", "handler", Value::Null),
        "\"handler\": \"command\", ",
        "",
    );
    check(
        configure("A", "handler", Value::Null),
        "%% @A: { \"handler\": \"no_op\" }\n",
        "",
    );
    check(
        configure("B", "prompt", json!("a \"b\"\n{{output.x}} %% @C: {")),
        "\"Is it {{input.what}}?\"",
        "\"a \\\"b\\\"\\n{{output.x}} %% @C: {\"",
    );
}

#[test]
fn a_step_is_added_inserted_renamed_and_deleted() {
    let person = DrawingEdit::Insert {
        edge: 0,
        kind: DrawnKind::Person,
        name: "Look at it".to_owned(),
    };
    let drawn = redraw(TEXT, &person).unwrap();
    assert_eq!(drawn.step.as_deref(), Some("E"));
    assert!(
        drawn
            .source
            .contains("A[Fetch] --> E(Look at it) --> B(Review it)"),
        "{}",
        drawn.source
    );
    assert!(
        drawn
            .source
            .contains("%% @E: { \"prompt\": \"Look at it\" }"),
        "{}",
        drawn.source
    );
    let rename = DrawingEdit::Rename {
        step: "A".to_owned(),
        name: "Fetch [all]".to_owned(),
    };
    check(rename, "A[Fetch]", "A[\"Fetch [all]\"]");
    let delete = DrawingEdit::Delete {
        step: "D".to_owned(),
    };
    let drawn = redraw(TEXT, &delete).unwrap().source;
    assert!(!drawn.contains("@D") && !drawn.contains("D["), "{drawn}");
    let retype = DrawingEdit::Retype {
        step: "A".to_owned(),
        kind: DrawnKind::Subflow,
    };
    check(retype, "A[Fetch]", "A[[\"Run: Fetch\"]]");
    let relabel = DrawingEdit::Relabel {
        edge: 2,
        label: "output.score > 3".to_owned(),
    };
    check(relabel, "output.ok == true", "output.score > 3");
}

#[test]
fn every_kind_of_step_can_be_drawn_from_nothing_and_runs() {
    // A join has something to join only behind a loop, which draws its own, or behind branches.
    for kind in DrawnKind::ALL
        .into_iter()
        .filter(|kind| *kind != DrawnKind::Join)
    {
        let first = redraw(
            "graph TD\n",
            &DrawingEdit::Add {
                after: None,
                kind: DrawnKind::Machine,
                name: "Begin".to_owned(),
            },
        )
        .unwrap();
        let edit = DrawingEdit::Add {
            after: first.step,
            kind,
            name: "Next one".to_owned(),
        };
        let drawn = redraw(&first.source, &edit).unwrap();
        let step = drawn.step.unwrap();
        if kind == DrawnKind::Decision {
            // A decision without a way on is the one thing that is left to draw.
            let edit = DrawingEdit::Add {
                after: Some(step),
                kind: DrawnKind::Machine,
                name: "End".to_owned(),
            };
            let drawn = redraw(&drawn.source, &edit).unwrap();
            flow::parse(&drawn.source)
                .unwrap_or_else(|error| panic!("{error:?}\n{}", drawn.source));
            continue;
        }
        flow::parse(&drawn.source)
            .unwrap_or_else(|error| panic!("{kind:?} {error:?}\n{}", drawn.source));
    }
}

#[test]
fn settings_are_read_also_where_the_text_cannot_run() {
    let broken = TEXT.replace("\"timeout\"", "\"timeot\"");
    assert!(flow::parse(&broken).is_err());
    assert_eq!(flow::drawn_kind(&broken, "B"), Some(DrawnKind::Person));
    assert_eq!(
        settings_of(&broken, "A"),
        *json!({ "handler": "no_op" }).as_object().unwrap()
    );
    let edit = configure("A", "handler", json!("http"));
    assert!(
        redraw(&broken, &edit)
            .unwrap()
            .source
            .contains("%% @A: { \"handler\": \"http\" }")
    );
}
