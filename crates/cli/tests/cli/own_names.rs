//! Variables that are named like options of drawloom: behind the recipe's name they are the recipe's.

use crate::project::ExpectedText::{Anything, Has, Nothing};
use crate::project::{CliProject, ExpectedRun, check};

const RECIPE: &str = "\
name: fv
variables:
  force: { type: boolean, default: false }
  json: { type: string, default: none }
  dryRun: { type: string, default: none }
  cwd: { type: string, default: none }
  shade: { type: string, default: none }
steps:
  - name: pick
    tool: prompt
    variable: colour
    message: Which colour?
    default: red
  - template: t.jig
";
const TEMPLATE: &str =
    "---\nto: fv.txt\n---\n{{ force }} {{ json }} {{ dryRun }} {{ cwd }} {{ colour }}\n";

fn project() -> CliProject {
    CliProject::with(&[
        (".drawloom/recipes/fv/recipe.yml", RECIPE),
        (".drawloom/recipes/fv/t.jig", TEMPLATE),
    ])
}

#[track_caller]
fn writes(line: &str, expected: &str) {
    let project = project();
    let done = ExpectedRun {
        exit: 0,
        out: Nothing,
        err: Anything,
    };
    check(&project, line, done);
    assert_eq!(project.read("fv.txt"), expected, "{line}");
}

#[test]
fn behind_the_name_they_are_the_recipes() {
    writes("run fv --force", "true none none none red\n");
    writes("run fv --json x", "false x none none red\n");
    writes("run fv --dry-run=yes --force", "true none yes none red\n");
    writes("run fv --set cwd=here", "false none none here red\n");
    writes("run fv --colour blue", "false none none none blue\n");
    writes("run --color never fv --force", "true none none none red\n");
}

#[test]
fn force_of_the_recipe_overwrites_nothing() {
    let project = project();
    project.write("fv.txt", "precious\n");
    let refused = ExpectedRun {
        exit: 1,
        out: Nothing,
        err: Has(&["E_CONFLICT"]),
    };
    check(&project, "run fv --force", refused);
    assert_eq!(project.read("fv.txt"), "precious\n");
    let forced = ExpectedRun {
        exit: 0,
        out: Nothing,
        err: Has(&["overwritten", "fv.txt"]),
    };
    check(&project, "run --force fv", forced);
    assert_eq!(project.read("fv.txt"), "false none none none red\n");
}

#[test]
fn help_and_validate_say_so() {
    let project = project();
    let help = ExpectedRun {
        exit: 0,
        out: Has(&[
            "--force",
            "before the recipe's name",
            "--set cwd=STRING",
            "--colour",
        ]),
        err: Anything,
    };
    check(&project, "run fv --help", help);
    let told = ExpectedRun {
        exit: 0,
        out: Anything,
        err: Has(&["fv is valid", "`force` is named like an option of drawloom"]),
    };
    check(&project, "recipe validate fv", told);
}
