//! Schedules: added, shown with their next time, fired once by several at once, and refused.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::project::CliProject;
use crate::{document, done, refused};

const WORKFLOW: &str = "graph TD\n    A[Nothing]\n\n%% === WORKFLOW_CONFIG ===\n\
    %% @A: { \"handler\": \"no_op\" }\n%% === END_CONFIG ===\n";

fn project() -> CliProject {
    prepared(CliProject::empty())
}

/// A project with the workflows that are scheduled here.
pub(crate) fn prepared(project: CliProject) -> CliProject {
    project.write(".drawloom/workflows/nightly.mmd", WORKFLOW);
    project.write("flows/w.mmd", WORKFLOW);
    project
}

#[track_caller]
fn runs(project: &CliProject) -> Vec<Value> {
    let listed = document(project, "runs list --json");
    listed["runs"].as_array().unwrap().clone()
}

#[test]
fn schedules_are_added_shown_switched_and_removed() {
    check_added(&project());
}

pub(crate) fn check_added(project: &CliProject) {
    let line =
        "schedules add night nightly --cron '30 3 * * *' --time-zone Asia/Tokyo depth=3 --json";
    let added = document(project, line);
    assert_eq!(added["workflow"], "nightly");
    assert_eq!(added["input"]["depth"], 3);
    let next = added["next"].as_str().unwrap();
    assert!(next.ends_with("T03:30:00+09:00"), "{next}");
    let added = document(
        project,
        "schedules add day flows/w.mmd --cron @daily --json",
    );
    assert_eq!(added["workflow"], "flows/w.mmd");
    let listed = done(project, "schedules list").out;
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 2, "{listed}");
    assert!(
        lines[0].starts_with("day    flows/w.mmd  @daily"),
        "{listed}"
    );
    assert!(lines[1].ends_with("+09:00  never ran yet"), "{listed}");

    let off = document(project, "schedules disable day --json");
    assert_eq!(off["isEnabled"], false);
    let on = document(project, "schedules enable day --json");
    assert_eq!(on["isEnabled"], true);
    done(project, "schedules remove day");
    refused(
        project,
        "schedules remove day",
        1,
        &["no schedule `day`", "schedules list"],
    );
    assert!(
        done(project, "schedules fire")
            .err
            .contains("Nothing is due")
    );
}

#[test]
fn wrong_uses_say_what_to_do_and_add_nothing() {
    let project = project();
    project.write("broken.mmd", "graph TD\n  A[\n");
    let outside = CliProject::with(&[("w.mmd", WORKFLOW)]);
    let elsewhere = format!(
        "schedules add a {} --cron @daily",
        outside.path().join("w.mmd").display()
    );
    for (line, exit, says) in [
        (
            "schedules add A nightly --cron @daily",
            64,
            &["small letters"][..],
        ),
        ("schedules add a nightly", 64, &["--cron"]),
        (
            "schedules add a nightly --cron 'now and then'",
            64,
            &["not a cron expression", "minute, hour"],
        ),
        (
            "schedules add a nightly --cron '0 0 30 2 *'",
            64,
            &["never due"],
        ),
        (
            "schedules add a nightly --cron @daily --time-zone Mars/Base",
            64,
            &["no time zone `Mars/Base`"],
        ),
        (
            "schedules add a nightli --cron @daily",
            1,
            &["nightli", "did you mean `nightly`?"],
        ),
        (
            "schedules add a broken.mmd --cron @daily",
            1,
            &["cannot be run", "workflow check"],
        ),
        (
            "schedules add a nightly --cron @daily --input '{'",
            1,
            &["not JSON"],
        ),
        (&elsewhere, 64, &["not in the project"]),
        ("schedules enable a", 1, &["no schedule `a`"]),
    ] {
        refused(&project, line, exit, says);
    }
    let listed = document(&project, "schedules list --json");
    assert_eq!(listed["schedules"], serde_json::json!([]));
}

#[test]
fn a_due_time_has_one_run_however_many_fire() {
    check_fired_once(&project());
}

pub(crate) fn check_fired_once(project: &CliProject) {
    done(project, "schedules add often nightly --cron '* * * * * *'");
    sleep(Duration::from_millis(2_500));
    let started: Vec<_> = (0..4)
        .map(|_| {
            let mut command = project.command("schedules fire --json");
            let command = command.stdout(std::process::Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    let mut begun = Vec::new();
    for child in started {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        for fired in document["fired"].as_array().unwrap() {
            assert_eq!(fired["error"], Value::Null);
            if fired["wasStarted"] == false {
                begun.push(fired["run"].as_str().unwrap().to_owned());
            }
        }
    }
    let once: BTreeSet<&String> = begun.iter().collect();
    assert_eq!(once.len(), begun.len(), "{begun:?}");
    // Of the missed times, only the latest is caught up.
    assert!((1..=3).contains(&begun.len()), "{begun:?}");
    let kept: BTreeSet<String> = runs(project)
        .iter()
        .map(|run| run["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kept, begun.into_iter().collect());
}

#[test]
fn a_worker_begins_what_is_due_and_does_it() {
    check_worked(&project());
}

pub(crate) fn check_worked(project: &CliProject) {
    done(project, "schedules add often nightly --cron '* * * * * *'");
    let mut worker = project.command("worker").spawn().unwrap();
    let mut ended = false;
    for _ in 0..100 {
        sleep(Duration::from_millis(100));
        ended = runs(project).iter().any(|run| run["status"] == "completed");
        if ended {
            break;
        }
    }
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert!(ended, "{:?}", runs(project));
}

#[test]
fn a_workflow_that_is_gone_is_said_and_the_schedule_goes_on() {
    let project = project();
    done(&project, "schedules add often nightly --cron '* * * * * *'");
    std::fs::remove_file(project.path().join(".drawloom/workflows/nightly.mmd")).unwrap();
    sleep(Duration::from_millis(1_200));
    let ran = done(&project, "schedules fire");
    assert!(ran.err.contains("often started no run"), "{}", ran.err);
    let listed = done(&project, "schedules list").out;
    assert!(listed.contains("last failed: there is no file"), "{listed}");
    project.write(".drawloom/workflows/nightly.mmd", WORKFLOW);
    sleep(Duration::from_millis(1_200));
    assert!(done(&project, "schedules fire").out.starts_with("often-"));
    assert_eq!(runs(&project).len(), 1);
}

#[test]
fn a_backfill_shows_its_times_and_then_begins_each_once() {
    let project = project();
    done(
        &project,
        "schedules add night nightly --cron '30 3 * * *' --disabled",
    );
    let range = "schedules backfill night --from 2026-01-01 --to 2026-01-04";
    let shown = document(&project, &format!("{range} --dry-run --json"));
    let times: Vec<&str> = shown["times"]
        .as_array()
        .unwrap()
        .iter()
        .map(|time| time.as_str().unwrap())
        .collect();
    assert_eq!(times.len(), 3, "{shown}");
    assert!(times[0].starts_with("2026-01-01T03:30:00"), "{shown}");
    assert_eq!(runs(&project).len(), 0, "a dry run begins nothing");
    let begun = document(&project, &format!("{range} --json"));
    assert_eq!(begun["fired"].as_array().unwrap().len(), 3, "{begun}");
    let again = document(&project, &format!("{range} --json"));
    let fired = again["fired"].as_array().unwrap().iter();
    assert!(
        fired.clone().all(|one| one["wasStarted"] == true),
        "{again}"
    );
    assert_eq!(runs(&project).len(), 3);
    done(&project, "worker --until-idle");
    let completed = runs(&project);
    let completed = completed.iter().filter(|run| run["status"] == "completed");
    assert_eq!(completed.count(), 3);
}
