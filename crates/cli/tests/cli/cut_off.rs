//! A run that is killed while its commands run: told by doctor and the next run, resumed or undone.

use std::process::Stdio;
use std::time::Duration;

use crate::project::ExpectedText::{Anything, Has, Lacks, Nothing};
use crate::project::{CliProject, ExpectedRun, check};

const RECIPE: &str = "\
name: half
variables:
  name: { type: string, required: true, position: 0 }
steps:
  - template: new.jig
  - name: first
    command: echo one >> log.txt
  - name: second
    command: test -e go || { touch begun; sleep 30; }
  - name: third
    command: echo three >> log.txt
";

/// A run of `half`, killed while its second command runs.
fn cut_off() -> CliProject {
    let project = CliProject::with(&[
        (".drawloom/recipes/half/recipe.yml", RECIPE),
        (
            ".drawloom/recipes/half/new.jig",
            "---\nto: new.txt\nforce: true\n---\n{{ name }}\n",
        ),
        ("new.txt", "mine\n"),
    ]);
    let mut command = project.command("run half Ada");
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    while !project.path().join("begun").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    // SIGKILL: nothing of ours runs after it.
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(project.read("new.txt"), "Ada\n");
    project
}

fn done<'a>(err: &'a [&'a str]) -> ExpectedRun<'a> {
    ExpectedRun {
        exit: 0,
        out: Anything,
        err: Has(err),
    }
}

#[test]
fn doctor_and_the_next_run_say_what_is_half_done() {
    let project = cut_off();
    let half = [
        "`drawloom run half Ada` was killed: 1 file is written; done: `echo one >> log.txt`; cut off:",
        "not started: `echo three >> log.txt`",
    ];
    check(
        &project,
        "doctor",
        ExpectedRun {
            exit: 1,
            out: Has(&[half[0], half[1], "--resume", "--undo"]),
            err: Anything,
        },
    );
    project.write(
        ".drawloom/recipes/other/recipe.yml",
        "name: other\nsteps:\n  - template: o.jig\n",
    );
    project.write(".drawloom/recipes/other/o.jig", "---\nto: o.txt\n---\nx\n");
    check(
        &project,
        "run other",
        done(&["note: `drawloom run half Ada` was killed", "o.txt"]),
    );
}

#[test]
fn resuming_runs_what_had_not_ended() {
    let project = cut_off();
    project.write("go", "");
    check(&project, "run --resume", done(&["run", "third"]));
    assert_eq!(project.read("log.txt"), "one\nthree\n");
    assert_eq!(project.read("new.txt"), "Ada\n");
    settled(&project);
}

#[test]
fn undoing_puts_the_files_back() {
    let project = cut_off();
    check(
        &project,
        "run --undo",
        done(&["put back", "new.txt", "cannot be undone"]),
    );
    assert_eq!(project.read("new.txt"), "mine\n");
    assert!(
        !project
            .path()
            .join(".drawloom/generated/half.json")
            .exists()
    );
    settled(&project);
}

#[test]
fn undoing_leaves_what_was_edited_since() {
    let project = cut_off();
    project.write("new.txt", "edited\n");
    check(
        &project,
        "run --undo",
        done(&["left", "new.txt", "changed since then"]),
    );
    assert_eq!(project.read("new.txt"), "edited\n");
}

#[test]
fn a_recipe_that_has_changed_is_not_resumed() {
    let project = cut_off();
    let changed = RECIPE.replace("echo three", "echo four");
    project.write(".drawloom/recipes/half/recipe.yml", &changed);
    let refused = ExpectedRun {
        exit: 1,
        out: Nothing,
        err: Has(&[
            "has changed since `drawloom run half Ada` was cut off",
            "--undo",
        ]),
    };
    check(&project, "run half --resume", refused);
}

#[test]
fn a_failing_rest_puts_all_files_back() {
    let project = cut_off();
    project.write("go", "");
    // The command is the same and fails now.
    std::fs::create_dir(project.path().join("log.dir")).unwrap();
    std::fs::remove_file(project.path().join("log.txt")).unwrap();
    std::fs::create_dir(project.path().join("log.txt")).unwrap();
    let failed = ExpectedRun {
        exit: 1,
        out: Nothing,
        err: Has(&["E_COMMAND", "All files are as before the run"]),
    };
    check(&project, "run --resume", failed);
    assert_eq!(project.read("new.txt"), "mine\n");
    settled(&project);
}

#[test]
fn without_one_there_is_nothing_to_settle() {
    let refused = ExpectedRun {
        exit: 1,
        out: Nothing,
        err: Has(&["there is no interrupted run here"]),
    };
    check(&CliProject::empty(), "run --undo", refused);
}

#[track_caller]
fn settled(project: &CliProject) {
    assert!(!project.path().join(".drawloom/unfinished").exists());
    let ran = project.run("doctor");
    assert!(
        ran.out.contains("nothing was left unfinished"),
        "{}",
        ran.out
    );
    check(
        project,
        "recipe list",
        ExpectedRun {
            exit: 0,
            out: Anything,
            err: Lacks(&["was killed"]),
        },
    );
}
