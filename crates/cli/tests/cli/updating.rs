//! `update`: a newer recipe merged into files that people have edited.

use serde_json::Value;

use crate::project::ExpectedText::{Anything, Has, Nothing};
use crate::project::{CliProject, ExpectedRun, check};

const RECIPE: &str = "\
name: list
variables:
  name: { type: string, required: true, position: 0 }
steps:
  - name: list
    template: list.jig
";

const OLD: &str = "---\nto: list.txt\n---\ntitle: {{ name }}\n\none\ntwo\nthree\n\nend\n";
const NEW: &str = "---\nto: list.txt\n---\ntitle: {{ name }}\n\none\ntwo\nthree and more\n\nend\n";

/// A project with a generated file that was edited at its first line.
fn edited() -> CliProject {
    let project = CliProject::with(&[
        (".drawloom/recipes/list/recipe.yml", RECIPE),
        (".drawloom/recipes/list/list.jig", OLD),
    ]);
    check(
        &project,
        "run list Ada",
        ExpectedRun {
            exit: 0,
            out: Nothing,
            err: Anything,
        },
    );
    project.write("list.txt", "title: Ada (mine)\n\none\ntwo\nthree\n\nend\n");
    project.write(".drawloom/recipes/list/list.jig", NEW);
    project
}

#[test]
fn edits_and_the_newer_template_go_together() {
    let project = edited();
    let before = project.tree();
    let says = ["+++ b/list.txt", "+three and more"];
    let dry = ExpectedRun {
        exit: 0,
        out: Has(&says),
        err: Has(&["merged", "list.txt", "dry run"]),
    };
    check(&project, "update list --dry-run", dry);
    assert_eq!(project.tree(), before);
    let expect = ExpectedRun {
        exit: 0,
        out: Nothing,
        err: Has(&["merged", "list.txt"]),
    };
    check(&project, "update list", expect);
    let merged = "title: Ada (mine)\n\none\ntwo\nthree and more\n\nend\n";
    assert_eq!(project.read("list.txt"), merged);
    let ran = check(
        &project,
        "update list --json",
        ExpectedRun {
            exit: 0,
            out: Anything,
            err: Nothing,
        },
    );
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["outcome"], "done");
    assert_eq!(document["files"][0]["status"], "unchanged");
}

#[test]
fn changes_to_the_same_lines_are_left_to_a_person() {
    let project = edited();
    project.write("list.txt", "title: Ada\n\none\ntwo\nthree of mine\n\nend\n");
    let says = ["conflict", "list.txt", "E_CONFLICT", "<<<<<<<"];
    check(
        &project,
        "update list",
        ExpectedRun {
            exit: 1,
            out: Nothing,
            err: Has(&says),
        },
    );
    assert!(project.read("list.txt").contains("<<<<<<<"));
}

#[test]
fn what_was_never_run_cannot_be_updated() {
    let project = CliProject::with(&[
        (".drawloom/recipes/list/recipe.yml", RECIPE),
        (".drawloom/recipes/list/list.jig", OLD),
    ]);
    let says = ["list", "run the recipe first"];
    check(
        &project,
        "update list",
        ExpectedRun {
            exit: 1,
            out: Nothing,
            err: Has(&says),
        },
    );
}
