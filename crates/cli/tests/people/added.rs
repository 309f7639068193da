//! Tasks without a diagram, versions of workflows, and backups, in a file and on a server.

use crate::project::CliProject;
use crate::{document, done, refused};

const RELEASE: &str = "graph TD\n    A(Look) --> B(Ship)\n";

#[test]
fn tasks_without_a_diagram_are_added_answered_and_commented() {
    check_added(&CliProject::empty());
}

#[test]
fn versions_go_between_files_and_the_database() {
    check_versions(&CliProject::empty());
}

pub(crate) fn check_added(project: &CliProject) {
    done(project, "agents add writer --prompt 'You write.'");
    let line = "tasks add 'Write notes' --assign ada --prompt 'Be brief.' --summary 'For 2.1.' \
                --urgency high --tag docs --due 2026-12-01 --json";
    let added = document(project, line);
    let task = added["task"].as_str().unwrap().to_owned();
    assert!(task.ends_with("/task"), "{task}");
    assert_eq!(added["details"]["urgency"], "high");
    assert_eq!(added["details"]["dueMs"], 1_796_169_599_000_u64);
    let part = document(
        project,
        &format!("tasks add 'Read it' --parent {task} --json"),
    );
    let agents = document(project, "tasks add 'Draft it' --assign writer --json");
    let listed = document(project, "tasks list --waiting --json");
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 2, "{listed}");
    let shown = document(
        project,
        &format!("tasks show {} --json", agents["task"].as_str().unwrap()),
    );
    assert_eq!(shown["task"]["execution"], "automated", "{shown}");
    assert_eq!(shown["prompt"], "Draft it");
    done(project, &format!("tasks comment {task} 'Ask Grace first.'"));
    done(
        project,
        &format!("tasks edit {task} --title 'Write the notes' --tag later"),
    );
    let shown = document(project, &format!("tasks show {task} --json"));
    assert_eq!(shown["prompt"], "Write notes\n\nFor 2.1.\n\nBe brief.");
    assert_eq!(shown["details"]["title"], "Write the notes");
    assert_eq!(shown["details"]["tags"][0], "later");
    assert_eq!(shown["comments"][0]["body"], "Ask Grace first.");
    assert_eq!(shown["children"][0], part["task"]);
    done(
        project,
        &format!("tasks answer {task} '{{\"done\": true}}'"),
    );
    let run = document(project, "runs list --status completed --json");
    assert_eq!(run["runs"][0]["name"], "Write notes", "{run}");
    for (line, exit, says) in [
        ("tasks add ''".to_owned(), 64, &["a title of one line"][..]),
        (
            "tasks add X --urgency now".to_owned(),
            64,
            &["low, normal, high, critical"],
        ),
        ("tasks add X --due soon".to_owned(), 64, &["2026-12-01"]),
        ("tasks add X --step A".to_owned(), 64, &["--workflow"]),
        ("tasks add X --workflow none".to_owned(), 1, &["none"]),
        ("tasks add X --parent none/A".to_owned(), 1, &["none"]),
        (
            format!("tasks edit {task} --parent {task}"),
            64,
            &["part of itself"],
        ),
    ] {
        refused(project, &line, exit, says);
    }
}

pub(crate) fn check_versions(project: &CliProject) {
    let file = ".drawloom/workflows/release.mmd";
    project.write(file, RELEASE);
    done(project, "workflow push -m 'The first'");
    let again = done(project, "workflow push release");
    assert!(again.err.contains("the same"), "{}", again.err);
    let changed = RELEASE.replace("Look", "Look well");
    project.write(file, &changed);
    let difference = done(project, "workflow diff release").out;
    assert!(difference.contains("+    A(Look well)"), "{difference}");
    refused(
        project,
        "workflow pull release",
        1,
        &["changes that no version has", "--force"],
    );
    done(project, "workflow push release");
    done(project, "workflow restore release 1");
    assert_eq!(project.read(file), RELEASE);
    let versions = document(project, "workflow versions release --json");
    let numbers = versions["versions"].as_array().unwrap();
    assert_eq!(numbers.len(), 3, "{versions}");
    assert_eq!(numbers[2]["message"], "The first");
    project.write(file, &changed);
    let listed = document(project, "workflow list --json");
    assert_eq!(listed["workflows"][0]["file"], "behind", "{listed}");
    done(project, "workflow pull");
    assert_eq!(project.read(file), RELEASE);
    refused(project, "workflow restore release 9", 1, &["no version 9"]);
    refused(
        project,
        "workflow push none",
        1,
        &["no file of the workflow `none`"],
    );
}

#[test]
fn a_backup_is_restored_with_everything_in_it() {
    let project = CliProject::empty();
    done(&project, "tasks add 'Keep me'");
    done(&project, "backup copy.db");
    done(&project, "tasks add 'Lose me'");
    let report = document(&project, "restore copy.db --json");
    assert!(
        report["before"].as_str().unwrap().contains("before-"),
        "{report}"
    );
    let listed = document(&project, "runs list --json");
    let names: Vec<&str> = listed["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["Keep me"]);
    refused(&project, "backup copy.db", 1, &["exists already"]);
    refused(&project, "restore none.db", 1, &["no file"]);
}

/// The same on a server, and what a backup says there.
pub(crate) fn check_server(project: &CliProject) {
    check_added(project);
    check_versions(project);
    refused(
        project,
        "backup copy.db",
        64,
        &["PostgreSQL", "pg_dump --format=custom"],
    );
    refused(
        project,
        "restore copy.db",
        64,
        &["PostgreSQL", "pg_restore --clean"],
    );
}
