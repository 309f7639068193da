//! `init`, `recipe …`, `doctor` and `demo`: the first minutes with drawloom.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::project::ExpectedText::{Anything, Has, Nothing};
use crate::project::{CliProject, ExpectedRun, check};

fn shown(says: &'static [&'static str]) -> ExpectedRun<'static> {
    ExpectedRun {
        exit: 0,
        out: Has(says),
        err: Nothing,
    }
}

fn initialized() -> CliProject {
    let project = CliProject::empty();
    let says = [
        "wrote drawloom.toml",
        "wrote .gitignore",
        "drawloom run hello World",
    ];
    check(
        &project,
        "init",
        ExpectedRun {
            exit: 0,
            out: Nothing,
            err: Has(&says),
        },
    );
    project
}

#[test]
fn init_writes_an_example_that_runs() {
    let project = initialized();
    assert_eq!(
        project.read(".gitignore"),
        ".drawloom/drawloom.db*\n.drawloom/apply/\n.drawloom/answers/\n.drawloom/asked/\n.drawloom/ledger/\n\
         .drawloom/patches/\n.drawloom/unfinished/\n\
         .drawloom/cache/\n.drawloom/callback.key\n.drawloom/sign-in-link\n"
    );
    let expect = ExpectedRun {
        exit: 0,
        out: Nothing,
        err: Has(&["hello/world.md"]),
    };
    check(&project, "run hello World", expect);
    assert!(
        project
            .read("hello/world.md")
            .starts_with("# Hello, World!\n")
    );
    check(
        &project,
        "recipe validate",
        ExpectedRun {
            exit: 0,
            out: Nothing,
            err: Has(&["is valid"]),
        },
    );
    check(
        &project,
        "doctor",
        ExpectedRun {
            exit: 0,
            out: Has(&["recipes: 2"]),
            err: Anything,
        },
    );
}

#[test]
fn init_writes_an_example_that_asks() {
    let project = initialized();
    let expect = ExpectedRun {
        exit: 2,
        out: Has(&["### `summary`", "### `abilities`"]),
        err: Anything,
    };
    check(&project, "run about 'My project'", expect);
    let answers = r#"{"summary": "It does things.", "abilities": "- Reading\n- Writing\n- More"}"#;
    project.write("answers.json", answers);
    let expect = ExpectedRun {
        exit: 0,
        out: Nothing,
        err: Has(&["ABOUT.md"]),
    };
    check(
        &project,
        "run about 'My project' --answers answers.json",
        expect,
    );
    let about = "\
# My project

It does things.

## What it can do

- Reading
- Writing
- More
";
    assert_eq!(project.read("ABOUT.md"), about);
}

#[test]
fn init_overwrites_nothing() {
    let project = CliProject::with(&[
        ("drawloom.toml", "# mine\n"),
        (".gitignore", "target\r\n.drawloom/apply/"),
    ]);
    let says = ["kept  drawloom.toml"];
    check(
        &project,
        "init",
        ExpectedRun {
            exit: 0,
            out: Nothing,
            err: Has(&says),
        },
    );
    assert_eq!(project.read("drawloom.toml"), "# mine\n");
    assert_eq!(
        project.read(".gitignore"),
        "target\r\n.drawloom/apply/\r\n.drawloom/drawloom.db*\r\n.drawloom/answers/\r\n.drawloom/asked/\r\n\
         .drawloom/ledger/\r\n.drawloom/patches/\r\n.drawloom/unfinished/\r\n\
         .drawloom/cache/\r\n.drawloom/callback.key\r\n.drawloom/sign-in-link\r\n"
    );
    let before = project.tree();
    let ran = check(
        &project,
        "init --json",
        ExpectedRun {
            exit: 0,
            out: Anything,
            err: Nothing,
        },
    );
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["written"], serde_json::json!([]));
    assert_eq!(project.tree(), before);
}

#[test]
fn recipes_are_listed_explained_and_checked() {
    let project = CliProject::empty();
    let expect = ExpectedRun {
        exit: 0,
        out: Anything,
        err: Has(&["no recipes", "drawloom init"]),
    };
    check(&project, "recipe list", expect);
    project.run("init");
    check(
        &project,
        "recipe list",
        shown(&["about", "Write ABOUT.md", "hello", "Write a greeting"]),
    );
    check(
        &project,
        "recipe info hello",
        shown(&["hello", "Write a greeting", "--name", "greeting"]),
    );
    let ran = check(&project, "recipe info hello --json", shown(&[]));
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["name"], "hello");
    assert_eq!(document["variables"]["name"]["required"], true);
    let ran = check(&project, "recipe list --json", shown(&[]));
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["recipes"].as_array().unwrap().len(), 2);

    project.write(
        ".drawloom/recipes/bad/recipe.yml",
        "name: bad\nsteps:\n  - nmae: x\n",
    );
    let says = ["bad/recipe.yml:3:5", "nmae"];
    check(
        &project,
        "recipe validate",
        ExpectedRun {
            exit: 1,
            out: Anything,
            err: Has(&says),
        },
    );
    check(
        &project,
        "recipe validate hello",
        ExpectedRun {
            exit: 0,
            out: Anything,
            err: Anything,
        },
    );
    let ran = check(
        &project,
        "recipe validate --json",
        ExpectedRun {
            exit: 1,
            out: Anything,
            err: Anything,
        },
    );
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["valid"], false);
}

#[test]
fn doctor_names_what_is_broken_and_how_to_mend_it() {
    let project = CliProject::empty();
    let says = ["git", "settings", "recipes"];
    let expect = ExpectedRun {
        exit: 0,
        out: Has(&says),
        err: Has(&["is ready"]),
    };
    check(&project, "doctor", expect);
    project.run("init");
    project.write("drawloom.toml", "[run]\non_conflict = 1\n");
    project.write(".drawloom/recipes/bad/recipe.yml", "name: bad\n");
    let says = ["✗", "drawloom.toml:2:15", "✗", "bad/recipe.yml"];
    check(
        &project,
        "doctor",
        ExpectedRun {
            exit: 1,
            out: Has(&says),
            err: Anything,
        },
    );
    let ran = project.run("doctor --json");
    assert_eq!(ran.exit, 1);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let bad = document["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["state"] == "bad");
    assert_eq!(bad.count(), 2, "{document}");
}

#[test]
fn the_demo_shows_both_passes_quickly_and_offline() {
    let started = Instant::now();
    let project = CliProject::empty();
    let says = [
        "drawloom run",
        "Drawloom AI Generation Request",
        "exit code 2",
        "answers.json",
        "+++ b/",
        "exit code 0",
    ];
    check(
        &project,
        "demo",
        ExpectedRun {
            exit: 0,
            out: Has(&says),
            err: Nothing,
        },
    );
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "it takes under two seconds alone"
    );
    assert!(
        project.tree().is_empty(),
        "the demo leaves the current folder alone"
    );
}
