//! Kits: added from folders and git, pinned, listed, removed; and not trusted with commands.

use std::process::Command;

use serde_json::Value;

use crate::project::ExpectedText::{Anything, Has, Nothing};
use crate::project::{CliProject, ExpectedRun, check};

const KIT: &str = "name: tools\ndescription: Tools for all\nversion: 1.0.0\n";
const RECIPE: &str = "\
name: note
description: Write a note
steps:
  - name: note
    template: note.jig
";
const NOTE: &str = "---\nto: note.txt\n---\nnoted\n";
const SHELL: &str = "\
name: touchy
steps:
  - name: touch
    command: touch touched.txt
";

/// The files of a kit below `folder`.
fn put_kit(project: &CliProject, folder: &str) {
    for (path, text) in [
        ("kit.yml", KIT),
        ("cookbooks/basic/cookbook.yml", "name: basic\n"),
        ("cookbooks/basic/note/recipe.yml", RECIPE),
        ("cookbooks/basic/note/note.jig", NOTE),
        ("cookbooks/basic/touchy/recipe.yml", SHELL),
    ] {
        project.write(&format!("{folder}/{path}"), text);
    }
}

fn git(project: &CliProject, folder: &str, line: &str) -> String {
    let mut command = Command::new("git");
    command
        .args(shlex::split(line).unwrap())
        .current_dir(project.path().join(folder));
    for name in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{name}_NAME"), "Test");
        command.env(format!("GIT_{name}_EMAIL"), "test@example.org");
    }
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "git {line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn said(says: &'static [&'static str]) -> ExpectedRun<'static> {
    ExpectedRun {
        exit: 0,
        out: Nothing,
        err: Has(says),
    }
}

fn failed(says: &'static [&'static str]) -> ExpectedRun<'static> {
    ExpectedRun {
        exit: 1,
        out: Nothing,
        err: Has(says),
    }
}

#[test]
fn a_kit_from_a_folder_is_copied_listed_run_and_removed() {
    let source = CliProject::empty();
    put_kit(&source, "kit");
    let project = CliProject::empty();
    let add = format!("kit add {}/kit", source.path().display());
    check(&project, &add, said(&["added tools"]));
    project.read(".drawloom/kits/tools/kit.yml");
    assert!(project.read(".drawloom/kits.lock").contains("tools"));

    check(
        &project,
        "kit list",
        ExpectedRun {
            exit: 0,
            out: Has(&["tools", "note", "touchy"]),
            err: Nothing,
        },
    );
    check(
        &project,
        "kit info tools",
        ExpectedRun {
            exit: 0,
            out: Has(&["tools", "Tools for all", "note"]),
            err: Nothing,
        },
    );
    check(
        &project,
        "recipe list",
        ExpectedRun {
            exit: 0,
            out: Has(&["note", "Write a note"]),
            err: Nothing,
        },
    );
    check(
        &project,
        "run tools/basic/note",
        ExpectedRun {
            exit: 0,
            out: Nothing,
            err: Anything,
        },
    );
    assert_eq!(project.read("note.txt"), "noted\n");

    check(&project, &add, failed(&["tools", "--force"]));
    check(&project, &format!("{add} --force"), said(&["tools"]));
    check(&project, "kit remove tools", said(&["removed tools"]));
    assert!(!project.path().join(".drawloom/kits/tools").exists());
    assert!(!project.read(".drawloom/kits.lock").contains("tools"));
    check(&project, "kit remove tools", failed(&["tools"]));
    project.read("note.txt");
}

#[test]
fn a_kit_from_git_is_pinned_to_its_commit() {
    let source = CliProject::empty();
    put_kit(&source, "kit");
    git(&source, "kit", "init -q -b main");
    git(&source, "kit", "add .");
    git(&source, "kit", "commit -q -m first");
    git(&source, "kit", "tag v1");
    let first = git(&source, "kit", "rev-parse HEAD");
    source.write(
        "kit/cookbooks/basic/note/note.jig",
        "---\nto: note.txt\n---\nnewer\n",
    );
    git(&source, "kit", "commit -q -a -m second");
    let second = git(&source, "kit", "rev-parse HEAD");

    let project = CliProject::empty();
    let url = format!("file://{}/kit", source.path().display());
    check(
        &project,
        &format!("kit add {url} --rev v1"),
        said(&["added tools"]),
    );
    let lock = project.read(".drawloom/kits.lock");
    assert!(lock.contains(&first) && lock.contains(&url), "{lock}");
    assert!(!project.path().join(".drawloom/kits/tools/.git").exists());
    check(
        &project,
        "run tools/basic/note",
        ExpectedRun {
            exit: 0,
            out: Nothing,
            err: Anything,
        },
    );
    assert_eq!(project.read("note.txt"), "noted\n");

    check(
        &project,
        &format!("kit add {url} --force"),
        said(&["tools"]),
    );
    assert!(project.read(".drawloom/kits.lock").contains(&second));
    let ran = check(
        &project,
        "kit list --json",
        ExpectedRun {
            exit: 0,
            out: Anything,
            err: Nothing,
        },
    );
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["kits"][0]["name"], "tools");
    assert_eq!(document["kits"][0]["commit"], second);

    check(
        &project,
        &format!("kit add {url} --rev nowhere --force"),
        failed(&["nowhere"]),
    );
    assert!(
        project.read(".drawloom/kits.lock").contains(&second),
        "a failure changes nothing"
    );
}

#[test]
fn recipes_of_kits_run_no_commands_without_trust() {
    let source = CliProject::empty();
    put_kit(&source, "kit");
    let project = CliProject::empty();
    check(
        &project,
        &format!("kit add {}/kit", source.path().display()),
        said(&["added"]),
    );
    check(&project, "run tools/basic/touchy", failed(&["--trust"]));
    assert!(!project.path().join("touched.txt").exists());
    check(
        &project,
        "run tools/basic/touchy --dry-run",
        ExpectedRun {
            exit: 0,
            out: Has(&["touch touched.txt"]),
            err: Anything,
        },
    );
    assert!(!project.path().join("touched.txt").exists());
    check(
        &project,
        "run tools/basic/touchy --trust",
        ExpectedRun {
            exit: 0,
            out: Anything,
            err: Anything,
        },
    );
    assert!(project.path().join("touched.txt").exists());
}

#[test]
fn a_folder_that_is_no_kit_is_not_added() {
    let project = CliProject::with(&[("plain/readme.txt", "hello")]);
    check(&project, "kit add plain", failed(&["kit.yml"]));
    check(&project, "kit add nowhere", failed(&["nowhere"]));
    check(
        &project,
        "kit add file:///nowhere/at/all",
        failed(&["nowhere/at/all"]),
    );
    check(&project, "kit info none", failed(&["none"]));
    assert!(!project.path().join(".drawloom/kits").exists());
}
