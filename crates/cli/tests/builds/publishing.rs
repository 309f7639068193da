//! From a sentence to a pull request, a draft one, a pushed branch, or a local one.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::build_fixture::{
    BUILDING, BuildFixture, PLAN, PLANNING, PROMPT, TestForge, script, stands, well, writes,
};
use crate::model::ScriptedLine;
use crate::project::ProgramOutput;
use crate::task_fixture::{events, names, result};

/// Less than the push takes that is not waited for.
const PATIENCE: Duration = Duration::from_secs(15);

#[test]
fn an_approved_plan_becomes_a_pull_request() {
    let mut yard = BuildFixture::new(well());
    let forge = TestForge::of(&mut yard);
    let before = yard.users();
    let planned = yard.ends(&format!("build '{PROMPT}' --json"), 0);
    let result = crate::task_fixture::result(&planned);
    assert_eq!(result["status"], "plan_ready", "{}", planned.out);
    assert_eq!(result["plan"]["files"][0]["path"], "a.txt");
    assert!(names(&events(&planned)).contains(&"builder.progress"));
    assert_eq!(result["checks"][1]["run"], "sh check.sh");

    let id = result["id"].as_str().unwrap();
    let result = yard.result(&format!("builds approve {id} --json"), 0);
    assert_eq!(result["status"], "completed", "{result}");
    let branch = result["result"]["branch"].as_str().unwrap();
    assert_eq!(
        branch,
        format!("builder/{id}-say-something-better-in-the-file")
    );
    assert_eq!(forge.branches(), [branch]);
    let commit = result["result"]["commit"].as_str().unwrap();
    assert_eq!(
        crate::build_fixture::git(&forge.origin(), &["rev-parse", branch]),
        commit
    );
    assert_eq!(yard.at(branch, "a.txt"), "better");
    let message = yard.git(&["log", "-1", "--format=%B", branch]);
    assert!(
        message.starts_with("refactor: say something better"),
        "{message}"
    );

    let pulls = forge.pulls();
    assert_eq!(pulls.len(), 1, "{pulls:?}");
    assert_eq!(pulls[0]["draft"], false);
    assert_eq!(pulls[0]["head"]["ref"], branch);
    assert_eq!(pulls[0]["base"]["ref"], "main");
    assert_eq!(result["result"]["prUrl"], pulls[0]["html_url"]);
    check_result(&result["result"]);
    assert_eq!(yard.users(), before, "the checkout was touched");
    assert_eq!(yard.worktrees(), (0, 0));
}

/// The result in the seed's words.
#[track_caller]
fn check_result(result: &Value) {
    assert_eq!(
        result["files"],
        json!([{"path": "a.txt", "action": "modified", "linesAdded": 1, "linesRemoved": 1}])
    );
    let diff = result["diffs"][0]["diff"].as_str().unwrap();
    assert!(diff.contains("-start\n+better\n"), "{diff}");
    assert_eq!(
        result["planCoverage"],
        json!({"planned": ["a.txt"], "generated": ["a.txt"], "missing": []})
    );
    assert_eq!(result["impactedFiles"], json!([]));
    assert_eq!(result["validationErrors"], json!([]));
    assert_eq!(result["validationPassed"], true);
    assert_eq!(result["judgement"], "passed");
    assert_eq!(result["closingWords"], "It is better now.");
    let verdicts: Vec<&Value> = result["validation"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| &check["verdict"])
        .collect();
    assert_eq!(verdicts, ["passed", "passed"]);
    // One call for the plan, two for the files.
    assert_eq!(
        result["tokenUsage"],
        json!({"input": 300, "output": 30, "cacheRead": 0, "cacheWrite": 0})
    );
    assert_eq!(result["cost"]["calls"], 3);
}

#[test]
fn after_two_repairs_a_labelled_draft_says_what_is_left() {
    let mut yard = BuildFixture::new(script(vec![
        writes("bad one\nbad two\nbad three\n"),
        ScriptedLine::Text("Done."),
        writes("bad two\nbad three\n"),
        ScriptedLine::Text("Better."),
        writes("bad three\n"),
        ScriptedLine::Text("The third has to be decided by a person."),
    ]));
    let forge = TestForge::of(&mut yard);
    let result = yard.result(&format!("build '{PROMPT}' --yes --json"), 1);
    assert_eq!(result["status"], "completed_draft", "{result}");
    assert_eq!(
        result["result"]["validationErrors"],
        json!(["test: a.txt:1:1: bad three"])
    );
    assert_eq!(result["result"]["repairAttempts"], 2);
    let branch = result["result"]["branch"].as_str().unwrap();
    assert!(branch.starts_with("draft/"), "{branch}");
    assert_eq!(forge.branches(), [branch]);

    let pulls = forge.pulls();
    assert_eq!(pulls.len(), 1);
    assert_eq!(pulls[0]["draft"], true);
    assert_eq!(pulls[0]["labels"][0]["name"], "needs-manual-fix");
    let body = pulls[0]["body"].as_str().unwrap();
    for piece in [
        PROMPT,
        "lint",
        "sh check.sh",
        "a.txt:1:1: bad three",
        "The third has to be decided by a person.",
    ] {
        assert!(body.contains(piece), "{piece:?} is not in {body}");
    }
    assert!(!body.contains("bad one"), "{body}");

    let shown = yard.ends("builds show last", 0);
    for piece in [
        "is a draft",
        "✓ lint",
        "✗ test",
        "a.txt:1:1: bad three",
        "│ a.txt:1:1: bad three",
    ] {
        assert!(shown.out.contains(piece), "{piece:?}: {}", shown.out);
    }
}

#[test]
fn a_repair_that_succeeds_is_a_finished_pull_request() {
    let mut yard = BuildFixture::new(script(vec![
        writes("bad one\n"),
        ScriptedLine::Text("Done."),
        writes("good\n"),
        ScriptedLine::Text("It was bad."),
    ]));
    let forge = TestForge::of(&mut yard);
    let result = yard.result(&format!("build '{PROMPT}' --yes --json"), 0);
    assert_eq!(result["status"], "completed");
    assert_eq!(result["result"]["repairAttempts"], 1);
    assert_eq!(forge.pulls()[0]["draft"], false);
    let told = yard.model.received().last().unwrap().to_string();
    assert!(told.contains("a.txt:1:1: bad one"), "{told}");
}

#[test]
fn a_push_that_a_hook_refuses_is_published_later() {
    let mut yard = BuildFixture::new(well());
    let forge = TestForge::of(&mut yard);
    forge.refuse(Some("Not on a Monday."));
    let ran = yard.ends(&format!("build '{PROMPT}' --yes --json"), 1);
    let result = crate::task_fixture::result(&ran);
    assert_eq!(result["status"], "failed");
    assert_eq!(result["error"]["code"], "push");
    assert_eq!(result["error"]["step"], "publishing");
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("Not on a Monday."), "{message}");
    assert!(ran.err.contains("builds publish"), "{}", ran.err);
    let branch = result["result"]["branch"].as_str().unwrap();
    assert_eq!(yard.at(branch, "a.txt"), "better");
    let patch = result["result"]["patchFile"].as_str().unwrap();
    assert!(std::fs::read_to_string(patch).unwrap().contains("+better"));
    assert_eq!(forge.branches(), [""; 0]);

    forge.refuse(None);
    let asked = yard.model.received().len();
    let result = yard.result("builds publish last --json", 0);
    assert_eq!(result["status"], "completed");
    assert_eq!(forge.branches(), [branch]);
    assert_eq!(forge.pulls().len(), 1);
    assert_eq!(yard.model.received().len(), asked, "a model was asked");

    // Once more is not twice.
    let result = yard.result("builds publish last --json", 0);
    assert_eq!(result["status"], "completed");
    assert_eq!(forge.pulls().len(), 1);
}

#[test]
fn without_a_remote_there_is_a_local_branch_and_a_patch() {
    let yard = BuildFixture::new(well());
    let ran = yard.ends(&format!("build '{PROMPT}' --yes"), 0);
    for piece in [
        "is complete",
        "modified  a.txt (+1 -1)",
        "✓ test",
        "used      330 tokens in 3 calls, cost unknown",
        "branch    builder/",
        "patch     ",
        "is local: there is no remote `origin`",
    ] {
        assert!(ran.out.contains(piece), "{piece:?}: {}", ran.out);
    }
    let result = &yard.last()["result"];
    let patch = result["patchFile"].as_str().unwrap();
    assert!(patch.starts_with(yard.path().canonicalize().unwrap().to_str().unwrap()));
    yard.git(&["apply", patch]);
    assert_eq!(yard.project.read("a.txt"), "better\n");
}

#[test]
fn no_pr_keeps_the_branch_here_until_it_is_published() {
    let mut yard = BuildFixture::new(well());
    let forge = TestForge::of(&mut yard);
    let result = yard.result(&format!("build '{PROMPT}' --yes --no-pr --json"), 0);
    assert_eq!(result["status"], "completed");
    assert_eq!(result["result"]["pushed"], false);
    assert_eq!(forge.branches(), [""; 0]);
    let result = yard.result("builds publish last --json", 0);
    assert_eq!(result["result"]["pushed"], true);
    assert_eq!(forge.pulls().len(), 1);
}

#[test]
fn without_a_token_the_branch_is_pushed_and_that_is_said() {
    let mut yard = BuildFixture::new(well());
    let forge = TestForge::of(&mut yard);
    let mut command = yard.command(&format!("build '{PROMPT}' --yes"));
    let output = command.env_remove("GITHUB_TOKEN").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("GITHUB_TOKEN with the token is not set"),
        "{said}"
    );
    assert_eq!(forge.branches().len(), 1);
    assert_eq!(forge.pulls().len(), 0);
}

#[test]
fn cancelled_while_it_is_pushed_a_build_stops_and_opens_nothing() {
    let mut yard = BuildFixture::new(well());
    let forge = TestForge::of(&mut yard);
    let marks = tempfile::tempdir().unwrap();
    let begun = marks.path().join("begun");
    forge.judge(&format!("touch '{}'\nsleep 20\n", begun.display()));
    let before = yard.users();
    let stands = stands("publishing");
    let pieces = [stands[0].as_str(), stands[1].as_str(), "is pushed"];
    let child = yard.until(&format!("build '{PROMPT}' --yes --json"), &pieces);
    let waiting = Instant::now();
    while !begun.exists() {
        assert!(waiting.elapsed() < PATIENCE, "the push never arrived");
        std::thread::sleep(Duration::from_millis(20));
    }
    let cancelled = Instant::now();
    yard.ends("builds cancel last", 0);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(cancelled.elapsed() < PATIENCE, "it waited for the push");

    let last = yard.last();
    assert_eq!(last["status"], "cancelled", "{last}");
    assert_eq!(last["isHeld"], false);
    assert_eq!(last["result"]["prUrl"], Value::Null, "{last}");
    assert_eq!(forge.pulls().len(), 0);
    let patch = last["result"]["patchFile"].as_str().unwrap();
    assert!(std::fs::read_to_string(patch).unwrap().contains("+better"));
    assert_eq!(yard.worktrees(), (0, 0));
    assert_eq!(yard.users(), before, "the checkout was touched");
    let ran = yard.ends("build --resume last", 1);
    assert!(ran.err.contains("was cancelled"), "{}", ran.err);
}

/// The same check on the same tree, with another program of that name first in `PATH`: how the old one
/// ended says nothing about the new one.
#[test]
fn a_baseline_does_not_outlive_the_search_path_it_was_made_with() {
    let building = vec![
        writes("better\n"),
        ScriptedLine::Text("Done."),
        writes("best\n"),
        ScriptedLine::Text("Done."),
    ];
    let plans = vec![ScriptedLine::Text(PLAN), ScriptedLine::Text(PLAN)];
    let yard = BuildFixture::new(vec![(PLANNING, plans), (BUILDING, building)]);
    let settings = yard.project.read("drawloom.toml");
    let settings = settings.replace("sh check.sh", "strict-linter");
    yard.project.write("drawloom.toml", &settings);
    // Not below `/tmp`, which commands do not see.
    let tools = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let built = |name: &str, script: &str| {
        use std::os::unix::fs::PermissionsExt;
        let dir = tools.path().join(name);
        std::fs::create_dir(&dir).unwrap();
        let program = dir.join("strict-linter");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", dir.display(), std::env::var("PATH").unwrap());
        let mut command = yard.command(&format!("build '{PROMPT}' --yes --no-pr --json"));
        let ran = ProgramOutput::from(command.env("PATH", path).output().unwrap());
        assert_eq!(ran.exit, 0, "{}\n{}", ran.out, ran.err);
        let verdict = &result(&ran)["result"]["validation"][1]["verdict"];
        verdict.as_str().unwrap().to_owned()
    };
    assert_eq!(built("lenient", "exit 0"), "passed");
    let strict = "echo 'a.txt:1:1: the linter is stricter now'; exit 1";
    assert_eq!(built("strict", strict), "failed_before");
}

/// The same check on the same tree, with another value of a variable that the settings let through.
#[test]
fn a_baseline_does_not_outlive_the_variables_it_was_made_with() {
    let building = vec![
        writes("better\n"),
        ScriptedLine::Text("Done."),
        writes("best\n"),
        ScriptedLine::Text("Done."),
    ];
    let plans = vec![ScriptedLine::Text(PLAN), ScriptedLine::Text(PLAN)];
    let yard = BuildFixture::with(
        vec![(PLANNING, plans), (BUILDING, building)],
        "[agent.sandbox]\nenv = [\"LINT_LEVEL\"]\n",
    );
    let settings = yard.project.read("drawloom.toml");
    let check = "test $LINT_LEVEL = mild || { echo 'a.txt:1:1: too strict'; exit 1; }";
    let settings = settings.replace("sh check.sh", check);
    yard.project.write("drawloom.toml", &settings);
    for (level, verdict) in [("mild", "passed"), ("strict", "failed_before")] {
        let mut command = yard.command(&format!("build '{PROMPT}' --yes --no-pr --json"));
        let ran = ProgramOutput::from(command.env("LINT_LEVEL", level).output().unwrap());
        assert_eq!(ran.exit, 0, "{}\n{}", ran.out, ran.err);
        let validation = &result(&ran)["result"]["validation"];
        assert_eq!(validation[1]["verdict"], verdict, "{level}");
    }
}

/// Nothing can be said about the work: exit code, status, body and label say so.
#[test]
fn a_build_that_no_check_could_judge_is_a_labelled_draft_and_ends_with_3() {
    let script = || {
        script(vec![
            writes("better\n"),
            ScriptedLine::Text("Look at the wording."),
        ])
    };
    let unjudged = |flags: &str, exit: i32| {
        let mut yard = BuildFixture::new(script());
        let settings = yard.project.read("drawloom.toml");
        let settings = settings.replace("\"true\"", "\"no-such-linter\"");
        let settings = settings.replace("sh check.sh", "no-such-runner");
        yard.project.write("drawloom.toml", &settings);
        let forge = TestForge::of(&mut yard);
        let result = yard.result(&format!("build '{PROMPT}' --yes --json {flags}"), exit);
        (yard, forge, result)
    };
    let (yard, forge, result) = unjudged("", 3);
    assert_eq!(result["status"], "completed_draft", "{result}");
    assert_eq!(result["result"]["judgement"], "not_judged");
    assert_eq!(result["result"]["draft"], "not_judged");
    assert_eq!(result["result"]["validationPassed"], Value::Null);
    let pull = &forge.pulls()[0];
    assert_eq!(pull["draft"], true);
    assert_eq!(pull["labels"][0]["name"], "checks-not-judged");
    let body = pull["body"].as_str().unwrap();
    for piece in [
        "not judged",
        "no-such-runner",
        "not found",
        "Look at the wording.",
    ] {
        assert!(body.contains(piece), "{piece:?} is not in {body}");
    }
    let shown = yard.ends("builds show last", 0).out;
    for piece in [
        "no check could judge it",
        "? test (no-such-runner), not judged: ",
    ] {
        assert!(shown.contains(piece), "{piece:?} is not in {shown}");
    }
    assert_eq!(shown.matches("Not judged: ").count(), 1, "{shown}");

    let (_, forge, result) = unjudged("--allow-unjudged", 0);
    assert_eq!(result["status"], "completed");
    assert_eq!(result["result"]["judgement"], "not_judged");
    let pull = &forge.pulls()[0];
    assert_eq!(pull["draft"], false);
    assert_eq!(pull["labels"][0]["name"], "checks-not-judged");
}
