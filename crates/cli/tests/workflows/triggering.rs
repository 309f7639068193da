//! Workflows that start by themselves: files that change, and the end of another workflow.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::project::CliProject;
use crate::workflow_fixture::{bare, diagram, document};

fn worker(project: &CliProject) -> Child {
    let mut command = project.command("worker");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

fn runs(project: &CliProject, tag: &str) -> Vec<Value> {
    let listed = document(&project.run(&format!("runs list --tag {tag} --json")));
    listed["runs"].as_array().unwrap().clone()
}

/// Waits until so many runs are completed.
fn completed(project: &CliProject, tag: &str, count: usize) {
    let begun = Instant::now();
    loop {
        let runs = runs(project, tag);
        let done = runs
            .iter()
            .filter(|run| run["status"] == "completed")
            .count();
        if done >= count {
            assert_eq!(runs.len(), count, "{runs:?}");
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{runs:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn files_that_change_start_a_run_and_its_end_starts_another() {
    let project = bare();
    project.write("inbox/old.csv", "1");
    let take = json!({ "handler": "no_op", "config": { "output": "{{input.trigger}}" } });
    project.write(
        ".drawloom/workflows/take.mmd",
        &diagram(
            " A[Take]",
            &[
                ("A", take.clone()),
                ("trigger", json!({ "files": ["inbox/*.csv"] })),
            ],
        ),
    );
    project.write(
        ".drawloom/workflows/then.mmd",
        &diagram(
            " A[Then]",
            &[("A", take), ("trigger", json!([{ "after": "take" }]))],
        ),
    );
    let mut worker = worker(&project);
    // The first look learns what is there.
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(runs(&project, "trigger:take").len(), 0);
    project.write("inbox/new.csv", "2");
    completed(&project, "trigger:take", 1);
    completed(&project, "trigger:then", 1);
    worker.kill().unwrap();
    worker.wait().unwrap();
    let then = &runs(&project, "trigger:then")[0];
    let shown = project.run(&format!(
        "tasks show {}/A --json",
        then["id"].as_str().unwrap()
    ));
    let output = document(&shown)["task"]["output"].to_string();
    assert!(
        output.contains("inbox/new.csv") && !output.contains("old.csv"),
        "{output}"
    );
}

#[test]
fn a_workflow_that_declares_a_schedule_is_started_by_the_clock() {
    let project = bare();
    let take = json!({ "handler": "no_op", "config": { "output": "{{input.trigger}}" } });
    let often = json!({ "schedule": "* * * * * *", "overlap": "skip" });
    project.write(
        ".drawloom/workflows/often.mmd",
        &diagram(" A[Take]", &[("A", take), ("trigger", often)]),
    );
    let mut worker = worker(&project);
    let begun = Instant::now();
    let all = || {
        let listed = document(&project.run("runs list --json"));
        listed["runs"].as_array().unwrap().clone()
    };
    let is_over = || {
        let runs = all();
        let done = runs.iter().filter(|run| run["status"] == "completed");
        done.count() >= 2
    };
    while !is_over() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(100));
    }
    worker.kill().unwrap();
    worker.wait().unwrap();
    let runs = all();
    assert!(runs.iter().all(|run| run["name"] == "often"), "{runs:?}");
    let ids: std::collections::BTreeSet<&str> =
        runs.iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), runs.len(), "each time has one run: {ids:?}");
}

#[test]
fn triggers_that_cannot_be_are_refused_with_their_place() {
    let project = bare();
    for (trigger, says) in [
        (
            json!({ "schedule": "every day" }),
            "is not a cron expression",
        ),
        (
            json!({ "schedule": "* * * * *", "overlap": "both" }),
            "skip, queue, cancel or allow",
        ),
        (
            json!({ "schedule": "* * * * *", "files": ["a"] }),
            "one of `schedule`, `files` and `after`",
        ),
        (json!({ "files": ["[a"] }), "is not a glob"),
        (
            json!({ "files": ["a"], "jitter": "1m" }),
            "only with `schedule`",
        ),
        (json!({ "webhook": "x" }), "unknown field `webhook`"),
    ] {
        let work = ("A", json!({ "handler": "no_op" }));
        project.write("t.mmd", &diagram(" A[One]", &[work, ("trigger", trigger)]));
        let checked = project.run("workflow check t.mmd");
        assert_eq!(checked.exit, 1, "{says}: {}{}", checked.out, checked.err);
        let said = format!("{}{}", checked.out, checked.err);
        assert!(
            said.contains(says) && said.contains("t.mmd:5:"),
            "{says}: {said}"
        );
    }
}

#[test]
fn recipes_and_their_values_are_checked() {
    let project = bare();
    project.write(
        ".drawloom/recipes/hello/recipe.yml",
        "name: hello\nvariables:\n  loud: { type: boolean, default: false }\nsteps:\n  - name: files\n    template: a.jig\n",
    );
    project.write(".drawloom/recipes/hello/a.jig", "---\nto: a.txt\n---\na\n");
    for (config, says) in [
        (json!({ "recipe": "helo" }), "did you mean `hello`?"),
        (
            json!({ "recipe": "hello", "values": { "lowd": true } }),
            "did you mean `loud`?",
        ),
    ] {
        let step = json!({ "handler": "recipe", "config": config });
        project.write("r.mmd", &diagram(" A[One]", &[("A", step)]));
        let checked = project.run("workflow check r.mmd");
        let said = format!("{}{}", checked.out, checked.err);
        assert_eq!(checked.exit, 1, "{said}");
        assert!(said.contains(says), "{says}: {said}");
        assert_eq!(
            said.to_lowercase().matches("did you mean").count(),
            1,
            "{said}"
        );
    }
}
