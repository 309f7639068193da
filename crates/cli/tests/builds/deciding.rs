//! A person's decisions about a plan, alone and at the same time as another person's.

use serde_json::Value;

use crate::build_fixture::{BuildFixture, PLAN, PROMPT, script, stands, well, writes};
use crate::model::ScriptedLine;
use crate::project::ProgramOutput;

#[test]
fn of_two_approvals_at_once_one_holds_and_the_other_is_told() {
    let slow = ScriptedLine::Slowly(300, Box::new(writes("better\n")));
    let yard = BuildFixture::new(script(vec![slow, ScriptedLine::Text("Done.")]));
    yard.ends(&format!("build '{PROMPT}' --plan-only"), 0);
    let begin = || {
        let mut command = yard.command("builds approve last --json");
        command.stdout(std::process::Stdio::piped());
        command.stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let both = [begin(), begin()];
    let both = both.map(|child| ProgramOutput::from(child.wait_with_output().unwrap()));
    let mut exits = both.each_ref().map(|ran| ran.exit);
    exits.sort_unstable();
    assert_eq!(exits, [0, 1], "{}\n{}", both[0].err, both[1].err);
    let refused = both.iter().find(|ran| ran.exit == 1).unwrap();
    assert!(refused.err.contains("E_CONFLICT"), "{}", refused.err);
    assert_eq!(yard.last()["status"], "completed");
    assert_eq!(yard.model.received().len(), 3, "built twice");
    assert_eq!(
        yard.git(&["branch", "--list", "builder/*"]).lines().count(),
        1
    );
}

#[test]
fn a_plan_that_waits_says_what_to_do_and_can_be_dropped() {
    let yard = BuildFixture::new(well());
    let ran = yard.ends(&format!("build '{PROMPT}'"), 0);
    for piece in [
        "waits for your decision",
        "The file says something better.",
        "modify a.txt  Says it.",
        "reads     README.md",
        "checks    lint (true), test (sh check.sh)",
    ] {
        assert!(ran.out.contains(piece), "{piece:?}: {}", ran.out);
    }
    let id = yard.last()["id"].as_str().unwrap().to_owned();
    for word in ["approve", "edit", "reject"] {
        let line = format!("drawloom builds {word} {id}");
        assert!(ran.err.contains(&line), "{line}: {}", ran.err);
    }
    yard.ends(&format!("builds reject {id}"), 0);
    assert_eq!(yard.last()["status"], "rejected");
    let again = yard.ends(&format!("builds approve {id}"), 1);
    assert!(again.err.contains("E_CONFLICT") && again.err.contains("`rejected`"));
}

#[test]
fn an_edited_plan_is_checked_and_then_is_the_permission() {
    let yard = BuildFixture::new(script(vec![
        ScriptedLine::Calls(vec![(
            "write_file",
            serde_json::json!({"path": "b.txt", "content": "b\n"}),
        )]),
        ScriptedLine::Text("Done."),
    ]));
    yard.ends(&format!("build '{PROMPT}' --plan-only"), 0);
    let printed = yard.ends("builds show last --plan", 0).out;
    assert_eq!(
        serde_json::from_str::<Value>(&printed).unwrap(),
        serde_json::from_str::<Value>(PLAN).unwrap()
    );
    yard.project.write("../plan.json", "");
    for (wrong, says) in [
        (printed.replace("modify", "create"), "a.txt"),
        (printed.replace("a.txt", "../a.txt"), "../a.txt"),
        (printed.replace("a.txt", ".git/config"), ".git/config"),
        (printed.replace("\"summary\"", "\"sumary\""), "summary"),
        ("{".to_owned(), "cannot be read"),
    ] {
        let file = yard.path().join(".drawloom/wrong.json");
        std::fs::write(&file, &wrong).unwrap();
        let ran = yard.ends("builds edit last --plan .drawloom/wrong.json", 1);
        assert!(ran.err.contains("E_BUILD_PLAN"), "{wrong}: {}", ran.err);
        assert!(ran.err.contains(says), "{says:?}: {}", ran.err);
    }
    assert_eq!(yard.last()["plan"]["files"][0]["path"], "a.txt");

    let edited = printed
        .replace("a.txt", "b.txt")
        .replace("modify", "create");
    std::fs::write(yard.path().join(".drawloom/plan.json"), edited).unwrap();
    yard.ends("builds edit last --plan .drawloom/plan.json", 0);
    let result = yard.result("builds approve last --json", 0);
    assert_eq!(result["status"], "completed", "{result}");
    let branch = result["result"]["branch"].as_str().unwrap();
    assert_eq!(yard.at(branch, "b.txt"), "b");
}

#[test]
fn a_build_is_cancelled_in_every_status() {
    for status in ["planning", "generating", "validating", "repairing"] {
        let yard = BuildFixture::new(vec![
            (
                crate::build_fixture::PLANNING,
                vec![ScriptedLine::Slowly(
                    400,
                    Box::new(ScriptedLine::Text(PLAN)),
                )],
            ),
            (
                crate::build_fixture::BUILDING,
                vec![
                    writes("bad one\n"),
                    ScriptedLine::Slowly(400, Box::new(ScriptedLine::Text("Done."))),
                    // No one waits for it: however busy the machine is, the decision comes first.
                    ScriptedLine::Slowly(30_000, Box::new(writes("good\n"))),
                    ScriptedLine::Text("Mended."),
                ],
            ),
        ]);
        let slow = yard.project.read("check.sh");
        yard.project
            .write("check.sh", &format!("sleep 0.4\n{slow}"));
        yard.git(&["commit", "--quiet", "-am", "slower"]);
        let before = yard.users();
        let pieces = stands(status);
        let pieces = pieces.each_ref().map(String::as_str);
        let mut child = yard.until(&format!("build '{PROMPT}' --yes --json"), &pieces);
        yard.ends("builds cancel last", 0);
        let exit = child.wait().unwrap();
        assert_eq!(exit.code(), Some(1), "{status}");
        let last = yard.last();
        assert_eq!(last["status"], "cancelled", "{status}");
        assert_eq!(yard.worktrees(), (0, 0), "{status}");
        assert_eq!(yard.users(), before, "{status}");
        if status == "validating" || status == "repairing" {
            let patch = last["result"]["patchFile"].as_str().unwrap();
            let patch = std::fs::read_to_string(patch).unwrap();
            assert!(patch.contains("+bad one"), "{status}: {patch}");
        }
        let again = yard.ends("builds cancel last", 1);
        assert!(again.err.contains("E_CONFLICT"), "{status}: {}", again.err);
    }
}

#[test]
fn a_plan_that_waits_can_be_cancelled_and_a_finished_build_cannot() {
    let yard = BuildFixture::new(well());
    yard.ends(&format!("build '{PROMPT}' --plan-only"), 0);
    yard.ends("builds cancel last", 0);
    assert_eq!(yard.last()["status"], "cancelled");
    yard.ends(&format!("build '{PROMPT}' --yes"), 0);
    let ran = yard.ends("builds cancel last", 1);
    assert!(ran.err.contains("`completed`"), "{}", ran.err);
    assert_eq!(yard.last()["status"], "completed");
}
