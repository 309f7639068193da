//! Running recipes without questions: values in, files out, and the obstacles.

use serde_json::Value;

use crate::project::ExpectedText::{Anything, Exactly, Has, Nothing};
use crate::project::{CliProject, ExpectedRun, check};

const RECIPE: &str = "\
name: greet
description: Write a greeting
variables:
  name: { type: string, required: true, position: 0, description: Who is greeted }
  loud: { type: boolean, default: false }
  times: { type: number, default: 1, min: 1, max: 3 }
  tone: { type: enum, values: [warm, cool], default: warm }
steps:
  - name: greeting
    template: greeting.jig
  - name: list
    template: list.jig
";

const GREETING: &str = "\
---
to: \"out/{{ kebabCase(name) }}.txt\"
---
{{ loud ? 'HELLO' : 'Hello' }} {{ name }} x{{ times }} ({{ tone }})
";

const LIST: &str = "\
---
to: out/list.txt
---
{{ name }}
";

fn project() -> CliProject {
    CliProject::with(&[
        (".drawloom/recipes/greet/recipe.yml", RECIPE),
        (".drawloom/recipes/greet/greeting.jig", GREETING),
        (".drawloom/recipes/greet/list.jig", LIST),
    ])
}

fn done<'a>() -> ExpectedRun<'a> {
    ExpectedRun {
        exit: 0,
        out: Nothing,
        err: Anything,
    }
}

#[track_caller]
fn check_greeting(line: &str, expected: &str) {
    let project = project();
    check(&project, line, done());
    let names = std::fs::read_dir(project.path().join("out")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let name = names.into_iter().find(|name| name != "list.txt").unwrap();
    assert_eq!(project.read(&format!("out/{name}")), expected);
}

#[test]
fn values_are_typed_by_their_declarations() {
    check_greeting("run greet Ada", "Hello Ada x1 (warm)\n");
    check_greeting("recipe run greet Ada", "Hello Ada x1 (warm)\n");
    check_greeting(
        "run greet --name Ada --loud --times 2",
        "HELLO Ada x2 (warm)\n",
    );
    check_greeting("run greet --loud Ada --tone=cool", "HELLO Ada x1 (cool)\n");
    check_greeting("run greet 007 --no-loud", "Hello 007 x1 (warm)\n");
    check_greeting("run greet -- --dash", "Hello --dash x1 (warm)\n");
    check_greeting("run greet --set name=Ada", "Hello Ada x1 (warm)\n");
    check_greeting("run ./.drawloom/recipes/greet Ada", "Hello Ada x1 (warm)\n");
    check_greeting(
        "run .drawloom/recipes/greet/recipe.yml Ada",
        "Hello Ada x1 (warm)\n",
    );
}

#[track_caller]
fn check_wrong(line: &str, exit: i32, says: &[&str]) {
    let project = project();
    let before = project.tree();
    check(
        &project,
        line,
        ExpectedRun {
            exit,
            out: Nothing,
            err: Has(says),
        },
    );
    assert_eq!(project.tree(), before);
}

#[test]
fn wrong_values_are_wrong_usage() {
    check_wrong("run greet Ada --tiems 2", 64, &["tiems", "times"]);
    check_wrong("run greet Ada --dry-rnu", 64, &["dry-rnu", "--dry-run"]);
    check_wrong(
        "run greet Ada --times many",
        64,
        &["`times`", "number", "many"],
    );
    check_wrong("run greet Ada --times 9", 64, &["`times`"]);
    check_wrong("run greet Ada --tone warn", 64, &["`tone`", "warm"]);
    check_wrong("run greet Ada Bob", 64, &["Bob"]);
    check_wrong("run greet Ada -x", 64, &["-x"]);
    check_wrong("run greet --set name", 64, &["NAME=VALUE"]);
}

#[test]
fn an_unknown_recipe_is_an_error_with_the_nearest_name() {
    check_wrong("run great Ada", 1, &["great", "greet"]);
    check_wrong("run ./nowhere/recipe.yml", 1, &["nowhere"]);
}

#[test]
fn help_after_a_recipe_is_about_the_recipe() {
    for line in ["run greet --help", "run greet Ada -h"] {
        let says = [
            "Write a greeting",
            "--name",
            "Who is greeted",
            "required",
            "--loud",
            "--tone",
        ];
        check(
            &project(),
            line,
            ExpectedRun {
                exit: 0,
                out: Has(&says),
                err: Nothing,
            },
        );
    }
}

#[test]
fn a_run_says_what_it_wrote_and_a_second_one_that_nothing_changed() {
    let project = project();
    let first = ExpectedRun {
        exit: 0,
        out: Nothing,
        err: Has(&["out/ada.txt", "out/list.txt"]),
    };
    check(&project, "run greet Ada", first);
    let second = ExpectedRun {
        exit: 0,
        out: Nothing,
        err: Has(&["unchanged"]),
    };
    check(&project, "run greet Ada", second);
    assert_eq!(project.read("out/list.txt"), "Ada\n");
}

#[test]
fn with_json_a_run_is_one_document() {
    let ran = check(
        &project(),
        "run greet Ada --json",
        ExpectedRun {
            exit: 0,
            out: Anything,
            err: Nothing,
        },
    );
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["outcome"], "done");
    assert_eq!(document["files"][0]["path"], "out/ada.txt");
    assert_eq!(document["files"][0]["status"], "created");
}

#[test]
fn conflicts_are_all_listed_and_nothing_is_written() {
    let project = project();
    project.write("out/ada.txt", "mine\n");
    project.write("out/list.txt", "mine too\n");
    let before = project.tree();
    let says = ["out/ada.txt", "out/list.txt", "--force", "--skip-existing"];
    check(
        &project,
        "run greet Ada",
        ExpectedRun {
            exit: 1,
            out: Nothing,
            err: Has(&says),
        },
    );
    assert_eq!(project.tree(), before);

    let ran = project.run("run greet Ada --json");
    assert_eq!(ran.exit, 1);
    let document: Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!(document["error"]["code"], "E_CONFLICT");
    assert_eq!(document["error"]["problems"].as_array().unwrap().len(), 2);

    check(&project, "run greet Ada --skip-existing", done());
    assert_eq!(project.read("out/ada.txt"), "mine\n");
    check(&project, "run greet Ada --force", done());
    assert_eq!(project.read("out/ada.txt"), "Hello Ada x1 (warm)\n");
}

#[test]
fn settings_decide_about_conflicts_and_flags_override_them() {
    let project = project();
    project.write("out/ada.txt", "mine\n");
    project.write("drawloom.toml", "[run]\non_conflict = \"skip\"\n");
    check(&project, "run greet Ada", done());
    assert_eq!(project.read("out/ada.txt"), "mine\n");
    check(&project, "run greet Ada --force", done());
    assert_eq!(project.read("out/ada.txt"), "Hello Ada x1 (warm)\n");
}

#[test]
fn a_dry_run_shows_differences_and_leaves_every_byte() {
    let project = project();
    project.write("out/list.txt", "Bob\n");
    let before = project.tree();
    let shown = "\
--- /dev/null
+++ b/out/ada.txt
@@ -0,0 +1 @@
+Hello Ada x1 (warm)
--- a/out/list.txt
+++ b/out/list.txt
@@ -1 +1 @@
-Bob
+Ada
";
    let expect = ExpectedRun {
        exit: 0,
        out: Exactly(shown),
        err: Anything,
    };
    check(&project, "run greet Ada --dry-run --force", expect);
    assert_eq!(project.tree(), before);
    let ran = project.run("run greet Ada --dry-run --force --json");
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["outcome"], "dry-run");
    assert_eq!(project.tree(), before);
}

#[test]
fn another_folder_can_be_worked_in() {
    let project = project();
    let elsewhere = CliProject::empty();
    let line = format!("run greet Ada --cwd {}", project.path().display());
    check(&elsewhere, &line, done());
    assert!(elsewhere.tree().is_empty());
    project.read("out/ada.txt");
    let expect = ExpectedRun {
        exit: 1,
        out: Nothing,
        err: Has(&["there is no folder"]),
    };
    check(&elsewhere, "recipe list --cwd nowhere", expect);
}

#[test]
fn a_command_below_the_project_works_in_the_project() {
    let project = project();
    std::fs::create_dir_all(project.path().join("deep/down")).unwrap();
    check(&project, "run greet Ada --cwd deep/down", done());
    project.read("out/ada.txt");
}

#[test]
fn recipes_of_further_folders_are_found_and_listed() {
    let project = project();
    project.write("drawloom.toml", "[recipes]\ndirs = [\"team/recipes\"]\n");
    let manifest = "name: note\ndescription: A note\nsteps:\n  - template: note.jig\n    name: n\n";
    project.write("team/recipes/note/recipe.yml", manifest);
    project.write(
        "team/recipes/note/note.jig",
        "---\nto: note.txt\n---\nnoted\n",
    );
    let says = ["greet", "Write a greeting", "note", "A note"];
    check(
        &project,
        "recipe list",
        ExpectedRun {
            exit: 0,
            out: Has(&says),
            err: Nothing,
        },
    );
    check(&project, "run note", done());
    assert_eq!(project.read("note.txt"), "noted\n");
}

#[test]
fn words_that_are_not_unicode_are_wrong_usage() {
    use std::os::unix::ffi::OsStrExt as _;
    let project = project();
    let mut command = project.command("run greet");
    let output = command
        .arg(std::ffi::OsStr::from_bytes(b"\xff"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(64));
}

#[test]
fn broken_manifests_and_templates_are_shown_where_they_break() {
    let project = project();
    project.write(
        ".drawloom/recipes/greet/recipe.yml",
        "name: greet\nvarables: {}\nsteps: []\n",
    );
    let says = ["recipe.yml:2:1", "varables", "variables"];
    check(
        &project,
        "run greet Ada",
        ExpectedRun {
            exit: 1,
            out: Nothing,
            err: Has(&says),
        },
    );
    let project = super::running::project();
    project.write(
        ".drawloom/recipes/greet/list.jig",
        "---\nto: x.txt\n---\nfine\n{{ name. }}\n",
    );
    let says = ["error[E_", "list.jig:5"];
    check(
        &project,
        "run greet Ada",
        ExpectedRun {
            exit: 1,
            out: Nothing,
            err: Has(&says),
        },
    );
}

#[test]
fn a_broken_settings_file_is_shown_where_it_breaks() {
    let project = project();
    project.write("drawloom.toml", "[run]\non_conflit = \"ask\"\n");
    let says = [
        "error[E_SETTINGS]",
        "drawloom.toml:2:1",
        "on_conflit",
        "hint",
        "on_conflict",
    ];
    check(
        &project,
        "run greet Ada",
        ExpectedRun {
            exit: 1,
            out: Nothing,
            err: Has(&says),
        },
    );
}

#[test]
fn the_projects_limits_hold_for_recipes_too() {
    let project = CliProject::with(&[
        (
            ".drawloom/recipes/long/recipe.yml",
            "name: long\nsteps:\n  - name: long\n    template: long.jig\n",
        ),
        (
            ".drawloom/recipes/long/long.jig",
            "---\nto: long.txt\n---\n{{ 'x'.repeat(2000) }}\n",
        ),
        ("drawloom.toml", "[limits]\nstring_bytes_max = 1000\n"),
    ]);
    let expect = ExpectedRun {
        exit: 1,
        out: Nothing,
        err: Has(&["string_bytes_max = 1000"]),
    };
    check(&project, "run long", expect);
    assert!(!project.path().join("long.txt").exists());
}
