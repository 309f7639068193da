//! Plans, builds and checks as steps of one diagram, in a real repository.

use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::build_fixture::{BUILDING, BuildFixture, PLAN, PLANNING, PROMPT, script, well, writes};
use crate::model::{ModelScript, ScriptedLine};
use crate::workflow_fixture::{diagram, result, standing, task, way};

/// Plan, approval, build, checks.
fn whole() -> String {
    diagram(
        "P[Plan it] --> G(Approve it)\n G --> D{Approved?}\n \
         D -->|\"output.approved === true\"| B[Build it]\n D -->|default| N[Not now]\n \
         B --> V[Validate it]",
        &[
            (
                "P",
                json!({ "handler": "build", "prompt": PROMPT, "config": { "until": "plan" } }),
            ),
            (
                "G",
                json!({ "prompt": "Build this? {{steps.P.output.plan.summary}}" }),
            ),
            (
                "N",
                json!({ "handler": "no_op", "config": { "output": "not now" } }),
            ),
            (
                "B",
                json!({ "handler": "build", "config": {
                    "build": "{{steps.P.output.build}}", "approve": true,
                } }),
            ),
            (
                "V",
                json!({ "handler": "validation", "config": { "validation_criteria": [
                    { "run": "git show {{output.branch}}:a.txt | grep -q better" },
                ] } }),
            ),
        ],
    )
}

/// One step that builds.
fn alone() -> String {
    let config = json!({
        "handler": "build", "prompt": PROMPT, "config": { "approve": true },
        "retry": { "attempts": 5, "delay": "50ms", "maxDelay": "100ms" },
    });
    diagram("B[Build it]", &[("B", config)])
}

fn branches(yard: &BuildFixture) -> usize {
    yard.git(&["branch", "--list", "builder/*", "draft/*"])
        .lines()
        .count()
}

#[test]
fn a_plan_is_approved_by_a_person_then_built_and_validated() {
    let yard = BuildFixture::new(well());
    yard.project.write("w.mmd", &whole());
    let before = yard.users();
    let ran = yard.ends("workflow start w.mmd --wait", 2);
    assert!(
        ran.err
            .contains("Build this? The file says something better."),
        "the person sees the plan: {}",
        ran.err
    );
    assert_eq!(yard.model.received().len(), 1, "nothing is built before");
    assert_eq!(branches(&yard), 0);
    yard.ends("tasks answer last/G approved=true", 0);
    let ran = yard.ends("runs resume last --wait --json", 0);
    assert_eq!(
        result(&ran)["output"]["validation_details"]["overall_status"],
        "passed"
    );
    assert!(way(&ran).ends_with("B V"), "{}", way(&ran));
    let built = task(&yard.project, "B")["output"].clone();
    assert_eq!(built["status"], "completed", "{built}");
    assert_eq!(
        yard.at(built["branch"].as_str().unwrap(), "a.txt"),
        "better"
    );
    assert_eq!(branches(&yard), 1);
    assert_eq!(yard.model.received().len(), 3);
    assert_eq!(yard.worktrees(), (0, 0));
    let mut after = yard.users();
    after.retain(|path, _| before.contains_key(path));
    assert_eq!(after, before, "nobody touched the checkout");
}

#[test]
fn a_plan_that_is_not_approved_is_not_built() {
    let yard = BuildFixture::new(well());
    yard.project.write("w.mmd", &whole());
    yard.ends("workflow start w.mmd --wait", 2);
    yard.ends("tasks answer last/G approved=false", 0);
    let ran = yard.ends("runs resume last --wait --json", 0);
    assert_eq!(result(&ran)["output"], "not now");
    assert_eq!(yard.model.received().len(), 1);
    assert_eq!(branches(&yard), 0);
}

#[test]
fn a_plan_may_be_approved_where_builds_are() {
    let yard = BuildFixture::new(well());
    let config = json!({ "handler": "build", "prompt": PROMPT });
    yard.project
        .write("w.mmd", &diagram("B[Build it]", &[("B", config)]));
    let ran = yard.ends("workflow start w.mmd --wait", 2);
    assert!(ran.err.contains("drawloom builds approve"), "{}", ran.err);
    yard.ends("builds approve last --json", 0);
    yard.ends("tasks retry last/B", 0);
    let ran = yard.ends("runs resume last --wait --json", 0);
    assert_eq!(result(&ran)["output"]["status"], "completed");
    assert_eq!(yard.model.received().len(), 3, "it is built once");
}

/// How many builds there are.
fn builds(yard: &BuildFixture) -> usize {
    let listed = yard.ends("builds list --json", 0);
    let listed: Value = serde_json::from_str(&listed.out).unwrap();
    listed["builds"].as_array().unwrap().len()
}

#[test]
fn a_plan_that_was_rejected_is_made_anew_when_the_task_is_tried_again() {
    let yard = BuildFixture::new(well());
    let config = json!({ "handler": "build", "prompt": PROMPT });
    yard.project
        .write("w.mmd", &diagram("B[Build it]", &[("B", config)]));
    yard.ends("workflow start w.mmd --wait", 2);
    yard.ends("builds reject last", 0);
    yard.ends("tasks retry last/B", 0);
    let ran = yard.ends("runs resume last --wait", 2);
    assert!(ran.err.contains("drawloom builds approve"), "{}", ran.err);
    assert_eq!(builds(&yard), 2);
    yard.ends("builds approve last --json", 0);
    yard.ends("tasks retry last/B", 0);
    let ran = yard.ends("runs resume last --wait --json", 0);
    assert_eq!(result(&ran)["output"]["status"], "completed");
    assert_eq!(builds(&yard), 2);
}

#[test]
fn builds_of_equal_words_are_builds_of_their_own() {
    let yard = BuildFixture::new(well());
    let config = json!({ "handler": "build", "prompt": PROMPT, "config": { "approve": true } });
    let no_op = json!({ "handler": "no_op" });
    let steps = [("A", no_op), ("B", config.clone()), ("C", config)];
    yard.project.write(
        "w.mmd",
        &diagram("A[Begin] --> B[One]\n A --> C[Two]", &steps),
    );
    yard.ends("workflow start w.mmd --wait --json", 0);
    assert_eq!((builds(&yard), branches(&yard)), (2, 2));
}

#[test]
fn remaining_failures_are_a_partial_result() {
    // Whatever the checks say, the model changes nothing more.
    let yard = BuildFixture::new(script(vec![
        writes("bad one\n"),
        ScriptedLine::Text("Done."),
    ]));
    yard.project.write("w.mmd", &alone());
    let ran = yard.ends("workflow start w.mmd --wait --json", 0);
    assert_eq!(result(&ran)["output"]["status"], "completed_draft");
    assert_eq!(task(&yard.project, "B")["partial"], true);
}

/// A run that stops with a reason; then another model, and it goes on where it was.
#[track_caller]
fn fails_and_goes_on(source: &str, bad: ModelScript, says: &str) {
    let mut yard = BuildFixture::new(bad);
    yard.project.write("w.mmd", source);
    let ran = yard.run("workflow start w.mmd --wait");
    assert_eq!(ran.exit, 1, "{says}: {}", ran.err);
    let (status, reason) = standing(&yard.project);
    assert_eq!(status, "paused", "{reason}");
    assert!(reason.contains(says), "{says}: {reason}");
    yard.change_model(well());
    let ran = yard.ends("runs resume last --wait --json", 0);
    assert_eq!(result(&ran)["status"], "completed");
    assert_eq!(branches(&yard), 1, "{says}");
    assert_eq!(yard.worktrees(), (0, 0));
}

#[test]
fn a_build_that_fails_says_why_and_goes_on_when_it_can() {
    let config = json!({
        "handler": "build", "prompt": PROMPT, "config": { "approve": true },
        "retry": { "attempts": 1 },
    });
    let source = diagram("B[Build it]", &[("B", config)]);
    let down = || vec![ScriptedLine::Fails(503)];
    for (bad, says) in [
        (vec![(PLANNING, down())], "scripted failure"),
        (
            vec![(PLANNING, vec![ScriptedLine::Text("no plan")])],
            "plan",
        ),
        (
            vec![
                (PLANNING, vec![ScriptedLine::Text(PLAN)]),
                (BUILDING, down()),
            ],
            "scripted failure",
        ),
        (
            script(vec![ScriptedLine::Text("I would rather not.")]),
            "failed",
        ),
    ] {
        fails_and_goes_on(&source, bad, says);
    }
}

#[test]
fn agents_that_fail_hold_the_run_with_their_words() {
    for (config, says, reason) in [
        (
            json!({ "handler": "planning", "prompt": "Plan.", "config": { "output_artifacts": ["p.json"] } }),
            vec![ScriptedLine::Text("no plan at all")],
            "plan cannot be run",
        ),
        (
            json!({ "handler": "code_generation", "prompt": "Write.", "config": { "output_artifacts": ["x.txt"] } }),
            vec![ScriptedLine::Text("I have written it.")],
            "x.txt",
        ),
        (
            json!({ "handler": "validation", "config": { "validation_criteria": [{ "run": "echo wrong >&2; false" }] } }),
            vec![ScriptedLine::Text("unused")],
            "alid",
        ),
    ] {
        let yard = BuildFixture::new(vec![("", says)]);
        yard.project
            .write("w.mmd", &diagram("A[Do it]", &[("A", config.clone())]));
        let ran = yard.run("workflow start w.mmd --wait");
        assert_eq!(ran.exit, 1, "{config}: {}", ran.err);
        let (status, why) = standing(&yard.project);
        assert_eq!(status, "paused", "{why}");
        assert!(why.contains(reason), "{reason}: {why}");
    }
}

#[test]
fn steps_that_cannot_work_are_refused_before_they_begin() {
    let yard = BuildFixture::new(well());
    for (config, says) in [
        (json!({ "handler": "build" }), "needs a `prompt`"),
        (
            json!({ "handler": "build", "prompt": PROMPT, "config": { "until": "end" } }),
            "\"plan\"",
        ),
        (
            json!({ "handler": "build", "prompt": PROMPT, "config": { "until": "plan", "approve": true } }),
            "leave one out",
        ),
        (
            json!({ "handler": "build", "config": { "build": 7 } }),
            "the id of a build",
        ),
        (
            json!({ "handler": "build", "prompt": PROMPT, "config": { "aprove": true } }),
            "`approve`",
        ),
        (
            json!({ "handler": "planning", "prompt": "Plan." }),
            "output_artifacts",
        ),
        (
            json!({ "handler": "validation", "config": { "criteria": [] } }),
            "no setting `criteria`",
        ),
        (
            json!({ "handler": "recipe", "config": { "recipe": "r", "values": [] } }),
            "an object",
        ),
        (json!({ "handler": "command", "config": {} }), "\"run\""),
        (
            json!({ "handler": "http", "config": { "url": "" } }),
            "\"url\"",
        ),
    ] {
        let source = diagram("A[Do it]", &[("A", config.clone())]);
        yard.project.write("w.mmd", &source);
        let ran = yard.ends("workflow start w.mmd --wait", 1);
        assert!(ran.err.contains(says), "{says}: {}", ran.err);
        assert!(ran.err.contains("w.mmd:4"), "{config}: {}", ran.err);
    }
    assert_eq!(yard.model.received().len(), 0);
}

#[test]
fn a_worker_dies_in_the_middle_of_a_build_and_another_goes_on_with_it() {
    for (mark, at) in [(PLANNING, 1), (BUILDING, 2), (BUILDING, 3)] {
        let slow = |say: ScriptedLine| ScriptedLine::Slowly(700, Box::new(say));
        let yard = BuildFixture::new(vec![
            (PLANNING, vec![slow(ScriptedLine::Text(PLAN))]),
            (
                BUILDING,
                vec![slow(writes("better\n")), slow(ScriptedLine::Text("Done."))],
            ),
        ]);
        yard.project.write("w.mmd", &alone());
        yard.ends("workflow start w.mmd", 0);
        let mut worker = worker(&yard);
        wait_for("a call", || yard.model.received().len() >= at);
        worker.kill().unwrap();
        worker.wait().unwrap();
        let ran = yard.ends("runs resume last --wait --json", 0);
        let output = &result(&ran)["output"];
        assert_eq!(
            output["status"], "completed",
            "killed at call {at} ({mark})"
        );
        assert_eq!(
            yard.at(output["branch"].as_str().unwrap(), "a.txt"),
            "better"
        );
        assert_eq!(branches(&yard), 1);
        let listed = yard.ends("builds list --json", 0);
        let listed: Value = serde_json::from_str(&listed.out).unwrap();
        assert_eq!(
            listed["builds"].as_array().unwrap().len(),
            1,
            "one build: {listed}"
        );
        let calls = yard.model.received().len();
        assert_eq!(
            calls, 4,
            "only the call that was out is made again, at {at}"
        );
        assert_eq!(yard.worktrees(), (0, 0));
    }
}

#[test]
fn cancelling_the_run_ends_the_build_and_its_processes() {
    let yard = BuildFixture::new(well());
    let settings = yard.project.read("drawloom.toml");
    let check = "test = \"test $(cat a.txt) = start || sleep 300\"";
    let settings = settings.replace("test = \"sh check.sh\"", check);
    yard.project.write("drawloom.toml", &settings);
    yard.project.write("w.mmd", &alone());
    yard.ends("workflow start w.mmd", 0);
    let mut worker = worker(&yard);
    let mut pid = None;
    wait_for("the check", || {
        pid = sleeping_under(worker.id());
        pid.is_some()
    });
    let pid = pid.unwrap();
    yard.ends("runs cancel last", 0);
    wait_for("the end of the check", || {
        !Path::new("/proc").join(&pid).exists()
    });
    // It is cancelled first, and then what it has written is saved.
    wait_for("the end of the build", || {
        yard.last()["result"]["patchFile"].is_string() && yard.worktrees() == (0, 0)
    });
    let last = yard.last();
    assert_eq!(last["status"], "cancelled", "{last}");
    assert_eq!(task(&yard.project, "B")["status"], "cancelled");
    let patch = last["result"]["patchFile"].as_str().unwrap();
    let patch = std::fs::read_to_string(patch).unwrap();
    assert!(patch.contains("+better"), "the work is kept: {patch}");
    worker.kill().unwrap();
    worker.wait().unwrap();
}

fn worker(yard: &BuildFixture) -> Child {
    let mut command = yard.command("worker --lease 600ms");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// The process that sleeps somewhere below another.
fn sleeping_under(parent: u32) -> Option<String> {
    let mut open = vec![parent.to_string()];
    while let Some(pid) = open.pop() {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
        for task in tasks.flatten() {
            let children = std::fs::read_to_string(task.path().join("children"));
            open.extend(
                children
                    .unwrap_or_default()
                    .split_whitespace()
                    .map(str::to_owned),
            );
        }
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if line.starts_with("sleep\x00300") {
            return Some(pid);
        }
    }
    None
}

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_there() {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "waited for {what}"
        );
        sleep(Duration::from_millis(20));
    }
}
