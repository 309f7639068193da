//! `workflow parse` and `workflow render`: a diagram as data and as a picture, or refused with its place.

use crate::project::ExpectedText::{Exactly, Has, Nothing};
use crate::project::{CliProject, ExpectedRun, ExpectedText, check};

const CHART: &str = "graph LR\n  A[Read it] -->|\"output.score >= 80\"| B{Fine?}\n";

#[track_caller]
fn check_done(source: &str, line: &str, out: ExpectedText<'_>) {
    let expect = ExpectedRun {
        exit: 0,
        out,
        err: Nothing,
    };
    check(&CliProject::with(&[("a.mmd", source)]), line, expect);
}

#[track_caller]
fn check_refused(source: &str, line: &str, says: &[&str]) {
    let expect = ExpectedRun {
        exit: 1,
        out: Nothing,
        err: Has(says),
    };
    check(&CliProject::with(&[("a.mmd", source)]), line, expect);
}

#[test]
fn a_diagram_is_printed_as_data() {
    check_done(
        CHART,
        "workflow parse a.mmd --json",
        Has(&[
            r#""direction": "LR""#,
            r#""text": "Read it""#,
            r#""shape": "diamond""#,
            r#""label": "output.score >= 80""#,
            r#""kind": "arrow_point""#,
        ]),
    );
}

#[test]
fn a_diagram_is_printed_as_a_diagram_that_says_the_same() {
    check_done(
        CHART,
        "workflow parse a.mmd",
        Has(&["flowchart LR", "Read it"]),
    );
}

#[test]
fn a_diagram_is_drawn() {
    check_done(CHART, "workflow render a.mmd", Has(&["<svg", "Read it"]));
    let project = CliProject::with(&[("a.mmd", CHART)]);
    let expect = ExpectedRun {
        exit: 0,
        out: Exactly(""),
        err: Nothing,
    };
    check(&project, "workflow render a.mmd -o a.svg", expect);
    assert!(project.read("a.svg").starts_with("<svg"));
}

#[test]
fn what_mermaid_refuses_is_refused_with_its_place() {
    check_refused(
        "graph TD\n  A[open --> B\n",
        "workflow parse a.mmd --json",
        &[r#""code":"E_DIAGRAM""#, r#""line":2"#, r#""column":4"#],
    );
    check_refused(
        "graph TD\n  A[open --> B\n",
        "workflow parse a.mmd",
        &["a.mmd:2", "^"],
    );
    check_refused("pie\n", "workflow render a.mmd", &["a.mmd:1"]);
    check_refused(
        CHART,
        "workflow parse missing.mmd",
        &["there is no file missing.mmd"],
    );
}
