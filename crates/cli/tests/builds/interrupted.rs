//! `kill -9` in every status: what is kept, what is shown, and how it goes on.

use std::process::Command;
use std::time::Duration;

use crate::build_fixture::{BUILDING, BuildFixture, PLAN, PLANNING, PROMPT, stands, writes};
use crate::model::{ModelScript, ScriptedLine};

/// With one repair, and slow enough to be met everywhere.
fn slow() -> ModelScript {
    vec![
        (
            PLANNING,
            vec![ScriptedLine::Slowly(
                200,
                Box::new(ScriptedLine::Text(PLAN)),
            )],
        ),
        (
            BUILDING,
            vec![
                ScriptedLine::Slowly(200, Box::new(writes("bad one\n"))),
                ScriptedLine::Text("Done."),
                ScriptedLine::Slowly(200, Box::new(writes("good\n"))),
                ScriptedLine::Text("Mended."),
            ],
        ),
    ]
}

#[test]
fn killed_in_any_status_it_goes_on_and_pays_nothing_twice() {
    for (status, words) in [
        ("planning", "Reading the project"),
        ("planning", "Asking the model"),
        ("plan_ready", "ready"),
        ("generating", "untouched project"),
        ("generating", "is writing"),
        ("generating", "Modifying"),
        ("validating", "running the checks."),
        ("validating", "Running the check `test`"),
        ("repairing", "is fixing"),
        ("repairing", "Modifying"),
        ("validating", "checks again"),
        ("publishing", "checks ended"),
        ("publishing", "on the branch"),
    ] {
        let yard = BuildFixture::new(slow());
        let before = yard.users();
        let stands = stands(status);
        let pieces = [stands[0].as_str(), stands[1].as_str(), words];
        let mut child = yard.until(&format!("build '{PROMPT}' --yes --json"), &pieces);
        child.kill().unwrap();
        child.wait().unwrap();
        let context = format!("killed while {status} ({words})");

        let left = yard.last();
        let is_waiting = left["status"] == "plan_ready";
        assert_eq!(left["isInterrupted"], !is_waiting, "{context}: {left}");
        let result = yard.result("build --resume last --json", 0);
        assert_eq!(result["status"], "completed", "{context}: {result}");
        let branch = result["result"]["branch"].as_str().unwrap();
        assert_eq!(yard.at(branch, "a.txt"), "good", "{context}");
        assert_eq!(
            yard.git(&["branch", "--list", "builder/*"]).lines().count(),
            1
        );
        let asked = yard.model.received().len();
        // The answer of a call that was out when the process died is not known, and no other.
        assert!((5..=6).contains(&asked), "{context}: {asked} calls");
        assert_eq!(yard.worktrees(), (0, 0), "{context}");
        assert_eq!(yard.users(), before, "{context}");
    }
}

#[test]
fn a_build_that_was_killed_is_shown_so_and_can_be_cancelled() {
    let yard = BuildFixture::new(crate::build_fixture::script(vec![
        writes("bad one\n"),
        ScriptedLine::Text("Done."),
        ScriptedLine::Slowly(30_000, Box::new(ScriptedLine::Text("Late."))),
    ]));
    let stands = stands("repairing");
    let pieces = stands.each_ref().map(String::as_str);
    let mut child = yard.until(&format!("build '{PROMPT}' --yes --json"), &pieces);
    assert_eq!(yard.last()["isHeld"], true);
    let refused = yard.ends("build --resume last", 1);
    assert!(refused.err.contains("another process works on the build"));
    child.kill().unwrap();
    child.wait().unwrap();

    let listed = yard.ends("builds list", 0);
    assert!(
        listed.out.contains("repairing (interrupted)"),
        "{}",
        listed.out
    );
    let shown = yard.ends("builds show last", 0);
    assert!(
        shown.err.contains("no process works on it"),
        "{}",
        shown.err
    );
    yard.ends("builds cancel last", 0);
    let last = yard.last();
    assert_eq!(last["status"], "cancelled");
    let patch = last["result"]["patchFile"].as_str().unwrap();
    assert!(std::fs::read_to_string(patch).unwrap().contains("+bad one"));
    assert_eq!(yard.worktrees(), (0, 0));
}

#[test]
fn killed_in_any_status_it_can_be_cancelled_and_its_work_is_kept() {
    for (status, words) in [
        ("planning", "Asking the model"),
        ("generating", "is writing"),
        ("validating", "running the checks."),
        ("repairing", "is fixing"),
        ("publishing", "checks ended"),
        ("publishing", "on the branch"),
    ] {
        let yard = BuildFixture::new(slow());
        let before = yard.users();
        let stands = stands(status);
        let pieces = [stands[0].as_str(), stands[1].as_str(), words];
        let mut child = yard.until(&format!("build '{PROMPT}' --yes --json"), &pieces);
        child.kill().unwrap();
        child.wait().unwrap();
        yard.ends("builds cancel last", 0);
        let last = yard.last();
        assert_eq!(last["status"], "cancelled", "{status}");
        assert_eq!(yard.worktrees(), (0, 0), "{status}");
        assert_eq!(yard.users(), before, "{status}");
        if !["planning", "generating"].contains(&status) {
            let patch = last["result"]["patchFile"].as_str().unwrap();
            let patch = std::fs::read_to_string(patch).unwrap();
            assert!(patch.contains("+++ b/a.txt"), "{status}: {patch}");
        }
        let ran = yard.ends("build --resume last", 1);
        assert!(ran.err.contains("was cancelled"), "{status}: {}", ran.err);
    }
}

#[test]
fn a_build_that_was_only_queued_goes_on() {
    let yard = BuildFixture::new(slow());
    let stands = stands("planning");
    let pieces = stands.each_ref().map(String::as_str);
    let mut child = yard.until(&format!("build '{PROMPT}' --json"), &pieces);
    child.kill().unwrap();
    child.wait().unwrap();
    // As if it had died between being asked for and being begun.
    let script = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\n\
                  c.execute(\"update builds set status = 'queued', body = replace(body, \
                  '\\\"planning\\\"', '\\\"queued\\\"')\")\nc.commit()\n";
    let python = Command::new("python3")
        .args(["-c", script])
        .arg(yard.path().join(".drawloom/drawloom.db"))
        .status();
    assert!(python.unwrap().success());
    assert_eq!(yard.last()["status"], "queued");
    let result = yard.result("build --resume last --json", 0);
    assert_eq!(result["status"], "plan_ready");
}

#[test]
fn ctrl_c_keeps_the_build_and_says_how_to_go_on() {
    let yard = BuildFixture::new(slow());
    let stands = stands("generating");
    let pieces = [stands[0].as_str(), stands[1].as_str(), "is writing"];
    let child = yard.until(&format!("build '{PROMPT}' --yes --json"), &pieces);
    std::thread::sleep(Duration::from_millis(50));
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("drawloom build --resume last"), "{said}");
    let result = yard.result("build --resume last --json", 0);
    assert_eq!(result["status"], "completed");
}

#[test]
fn what_a_dead_build_left_is_removed_by_the_next_command() {
    let yard = BuildFixture::new(slow());
    let stands = stands("validating");
    let pieces = stands.each_ref().map(String::as_str);
    let mut child = yard.until(&format!("build '{PROMPT}' --yes --json"), &pieces);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(yard.worktrees(), (0, 0));
    yard.ends("builds cancel last", 0);
    yard.ends(&format!("build '{PROMPT}' --plan-only"), 0);
    assert_eq!(yard.worktrees(), (0, 0));
}
