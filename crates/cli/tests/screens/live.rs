//! Runs as they go: on screens of several sizes, resized on the way, without colours, without a screen.

use serde_json::{Value, json};

use crate::bare;
use crate::project::CliProject;
use crate::terminal::{ShownScreen, show, show_with};

/// A foreach with a failing item, a decision, a loop, a person and an end by an error: more than a
/// small screen holds as a graph.
const BIG: &str = r#"---
title: Big one
---
flowchart TD
    A[List files] --> C[[Each: Review file]] --> D[Join reviews] --> E{Good enough?}
    E -->|"output.counts.failed > 0"| H(Look at it)
    E -->|default| L[Polish]
    H --> L --> M{Again?}
    M -->|"input.rounds > 5"| L
    M -->|default| Z[Publish]
    Z -->|onError| Q[Say sorry]
%% === WORKFLOW_CONFIG ===
%% @A: { "handler": "no_op", "config": { "output": { "files": [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19] } } }
%% @C: { "itemsPath": "output.files", "itemVariable": "f", "handler": "command", "config": { "run": "sleep 0.05; test {{f}} != 7" }, "retry": {"attempts": 1}, "maxConcurrency": 2 }
%% @D: { "policy": "allTerminal", "handler": "no_op" }
%% @H: { "prompt": "Shall we go on?" }
%% @L: { "handler": "no_op" }
%% @Z: { "handler": "command", "config": { "run": "exit 3" }, "retry": {"attempts": 1} }
%% @Q: { "handler": "no_op", "config": { "output": "sorry" } }
%% === END_CONFIG ===
"#;

/// Small enough to be drawn, and slow enough to be seen.
const SMALL: &str = r#"graph TD
    A[[Each: Check]] --> B[Join all]
%% === WORKFLOW_CONFIG ===
%% @A: { "itemsPath": "input.xs", "itemVariable": "x", "handler": "command", "config": { "run": "sleep 0.3 # {{x}}" }, "maxConcurrency": 1 }
%% @B: { "handler": "no_op", "config": { "output": "done" } }
%% === END_CONFIG ===
"#;

const XS: &str = "xs='[1,2,3,4,5,6]'";

fn project() -> CliProject {
    let project = bare();
    project.write("big.mmd", BIG);
    project.write("small.mmd", SMALL);
    project
}

/// What holds of every screen: nothing is wider than it, and the cursor is there in the end.
#[track_caller]
fn is_clean(shown: &ShownScreen, columns: usize) {
    assert!(shown.shows_cursor, "{}", shown.sent);
    for row in &shown.rows {
        assert!(row.chars().count() <= columns, "{row:?}\n{}", shown.text());
    }
}

#[test]
fn a_run_tells_its_story_on_every_screen() {
    for size in [(24, 80), (40, 120), (15, 40)] {
        let project = project();
        let typed = json!([["Your answer", { "type": "yes\r" }]]);
        let line = "workflow start big.mmd --wait rounds=1";
        let shown = show(&project, line, size, typed);
        assert_eq!(shown.exit, 0, "{}", shown.text());
        is_clean(&shown, size.1);
        // Drawn over and over, and left standing twice: before the question, and in the end.
        let title = shown
            .rows
            .iter()
            .filter(|row| row.starts_with("Big one · "));
        assert_eq!(title.count(), 2, "{}", shown.text());
        shown.has(&[
            "20/20, 1 failed",
            "◇ E Good enough? → H: output.counts",
            "H waits for a person",
            "Shall we go on?",
            "→ Z",
            "✗ Z Publish  failed",
            "run completed",
            "Big one · completed",
        ]);
        // The command that answers, whole, though the screen may be narrower.
        let sent = shown.sent.replace("\r\n", "\n");
        let command = sent
            .lines()
            .find(|line| line.contains("drawloom tasks answer "));
        assert!(command.unwrap().contains("/H '…'"), "{command:?}");
        assert_eq!(shown.rows.last().unwrap(), "sorry");
    }
}

#[test]
fn a_graph_that_fits_is_drawn_with_how_far_its_foreach_is() {
    let project = project();
    let line = format!("workflow start small.mmd --wait {XS}");
    let shown = show(&project, &line, (30, 80), json!([]));
    assert_eq!(shown.exit, 0, "{}", shown.text());
    is_clean(&shown, 80);
    shown.has(&["║ ✓ Each: Check 6/6 ║", "│ ✓ Join all"]);
    assert_eq!(shown.count("Each: Check"), 1, "{}", shown.text());
    for far in ["2/6", "4/6"] {
        assert!(
            shown.sent.contains(&format!("▶ Each: Check {far}")),
            "{far}\n{}",
            shown.sent
        );
    }
}

#[test]
fn the_last_lines_of_a_running_command_are_below_its_step() {
    let project = bare();
    // It goes on when its fourth line was drawn: the file is made then.
    let run = "for i in 1 2 3 4; do echo \\\"line $i\\\"; done; while ! test -e seen; do sleep 0.05; done";
    let text = format!(
        "graph TD\n A[Print] --> B[After]\n%% === WORKFLOW_CONFIG ===\n\
         %% @A: {{ \"handler\": \"command\", \"config\": {{ \"run\": \"{run}\" }} }}\n\
         %% @B: {{ \"handler\": \"no_op\", \"config\": {{ \"output\": \"done\" }} }}\n\
         %% === END_CONFIG ===\n"
    );
    project.write("print.mmd", &text);
    let seen = project.path().join("seen");
    let then = json!([["│ line 4", { "touch": seen }]]);
    let shown = show(&project, "workflow start print.mmd --wait", (30, 80), then);
    assert_eq!(shown.exit, 0, "{}", shown.text());
    is_clean(&shown, 80);
    assert!(shown.sent.contains("│ line 2"), "{}", shown.sent);
    assert_eq!(shown.count("│ line"), 0, "{}", shown.text());
}

#[test]
fn a_screen_that_changes_its_size_is_drawn_anew() {
    let project = project();
    let line = format!("workflow start small.mmd --wait {XS}");
    let then = json!([
        ["2/6", { "resize": [12, 44] }],
        ["3/6", { "resize": [30, 90] }],
    ]);
    let shown = show(&project, &line, (30, 80), then);
    assert_eq!(shown.exit, 0, "{}", shown.text());
    is_clean(&shown, 90);
    // Too low for the graph: a line for each step.
    assert!(shown.sent.contains("A Check"), "{}", shown.sent);
    shown.has(&["✓ Each: Check 6/6"]);
    assert_eq!(shown.rows.last().unwrap(), "done", "{}", shown.text());
}

#[test]
fn colours_are_left_out_where_they_are_not_wanted() {
    let project = project();
    let line = format!("workflow start small.mmd --wait {XS}");
    let shown = |variables| show_with(&project, &line, (9, 80), json!([]), variables);
    assert!(shown(&[]).has_styles);
    let plain = shown(&[("NO_COLOR", "1")]);
    assert!(!plain.has_styles, "{:?}", plain.sent);
    plain.has(&["A Check", "6/6"]);
}

#[test]
fn without_a_terminal_there_are_lines_and_for_programs_json() {
    let project = project();
    let line = format!("workflow start small.mmd --wait {XS}");
    let ran = project.run(&line);
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(ran.out, "done\n");
    assert!(!ran.err.contains('\u{1b}'), "{}", ran.err);
    assert!(ran.err.contains("⧉ A: 3 of 6 done"), "{}", ran.err);
    let ran = project.run(&format!("{line} --json"));
    assert_eq!(ran.err, "");
    let lines: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.last().unwrap()["output"], "done");
}

#[test]
fn what_waits_for_a_person_is_shown_while_others_work() {
    let project = project();
    let text = "graph TD\n A(Approve)\n B[Work]\n%% === WORKFLOW_CONFIG ===\n\
        %% @A: { \"defaultAssigneeId\": \"ann\", \"outputSchema\": { \"required\": [\"ok\"], \"properties\": { \"ok\": { \"type\": \"boolean\" } } } }\n\
        %% @B: { \"handler\": \"command\", \"config\": { \"run\": \"sleep 1\" } }\n%% === END_CONFIG ===\n";
    project.write("two.mmd", text);
    let typed = json!([["/A ok=true", { "type": "" }], ["Your answer", { "type": "\r" }]]);
    let shown = show(&project, "workflow start two.mmd --wait", (24, 80), typed);
    assert_eq!(shown.exit, 0, "{}", shown.text());
    shown.has(&["◷ A Approve  waits for ann", "ok: yes", "\"ok\": true"]);
}
