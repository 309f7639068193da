//! What goes wrong and is not the code's fault: told, kept, and gone on with.

use serde_json::{Value, json};

use crate::build_fixture::{BUILDING, BuildFixture, PLAN, PLANNING, PROMPT, script, well, writes};
use crate::model::ScriptedLine;
use crate::project::ProgramOutput;

#[test]
fn what_the_plan_does_not_name_cannot_be_written() {
    let yard = BuildFixture::new(script(vec![
        ScriptedLine::Calls(vec![
            ("write_file", json!({"path": "b.txt", "content": "b\n"})),
            (
                "write_file",
                json!({"path": "a.txt", "content": "better\n"}),
            ),
            (
                "execute_command",
                json!({"command": "echo sneaky > c.txt; echo sneaky >> README.md"}),
            ),
        ]),
        ScriptedLine::Text("Done."),
    ]));
    let result = yard.result(&format!("build '{PROMPT}' --yes --json"), 0);
    assert_eq!(result["status"], "completed", "{result}");
    let branch = result["result"]["branch"].as_str().unwrap();
    let changed = yard.git(&["diff", "--name-only", "main", branch]);
    assert_eq!(changed, "a.txt");
    let told: String = yard.model.received().iter().map(Value::to_string).collect();
    assert!(told.contains("b.txt") && told.contains("plan"), "{told}");
}

#[test]
fn a_plan_that_is_too_large_is_sent_back_and_then_fails_by_name() {
    let large = r#"{"summary": "Much.", "taskType": "refactor", "contextFiles": [], "files": [
        {"path": "a.txt", "action": "modify", "description": "Says it."},
        {"path": "b.txt", "action": "create", "description": "Says it, too."}]}"#;
    let small = "[builder.forge]\n";
    let yard = BuildFixture::with(vec![(PLANNING, vec![ScriptedLine::Text(large)])], small);
    let settings = yard.project.read("drawloom.toml");
    let settings = settings.replace("[builder]\n", "[builder]\nplan_files_max = 1\n");
    yard.project.write("drawloom.toml", &settings);
    let ran = yard.ends(&format!("build '{PROMPT}' --yes"), 1);
    assert!(ran.err.contains("E_BUILD_PLAN_INVALID"), "{}", ran.err);
    assert!(ran.err.contains("plan_files_max"), "{}", ran.err);
    assert_eq!(yard.model.received().len(), 3, "sent back twice");
    assert_eq!(yard.last()["error"]["step"], "planning");
    assert_eq!(yard.worktrees(), (0, 0));
}

#[test]
fn a_provider_that_is_down_fails_the_build_which_goes_on_when_it_is_back() {
    let mut yard = BuildFixture::new(vec![
        (PLANNING, vec![ScriptedLine::Text(PLAN)]),
        (BUILDING, vec![writes("better\n"), ScriptedLine::Fails(503)]),
    ]);
    let ran = yard.ends(&format!("build '{PROMPT}' --yes --json"), 1);
    let result = crate::task_fixture::result(&ran);
    assert_eq!(result["error"]["code"], "provider", "{result}");
    assert_eq!(result["error"]["step"], "generating");
    assert!(ran.err.contains("build --resume"), "{}", ran.err);
    // Work is not lost: it is on a branch and in a patch.
    let branch = result["result"]["branch"].as_str().unwrap();
    assert_eq!(yard.at(branch, "a.txt"), "better");
    assert_eq!(yard.worktrees(), (0, 0));

    yard.change_model(well());
    let result = yard.result("build --resume last --json", 0);
    assert_eq!(result["status"], "completed", "{result}");
    assert_eq!(
        yard.model.received().len(),
        1,
        "only the answer that was missing"
    );
    assert_eq!(result["result"]["cost"]["calls"], 3);
}

#[test]
fn a_provider_that_is_down_while_planning_leaves_a_build_to_go_on_with() {
    let mut yard = BuildFixture::new(vec![(PLANNING, vec![ScriptedLine::Fails(503)])]);
    let ran = yard.ends(&format!("build '{PROMPT}' --yes"), 1);
    assert!(ran.err.contains("E_BUILD_PROVIDER"), "{}", ran.err);
    assert_eq!(yard.last()["error"]["step"], "planning");
    yard.change_model(well());
    // `--yes` holds for the whole build, also where it goes on later.
    let result = yard.result("build --resume last --json", 0);
    assert_eq!(result["status"], "completed");
}

#[test]
fn a_model_that_changes_nothing_fails_the_build() {
    let yard = BuildFixture::new(script(vec![ScriptedLine::Text("Nothing to do.")]));
    let ran = yard.ends(&format!("build '{PROMPT}' --yes"), 1);
    assert!(ran.err.contains("E_BUILD_NOTHING_GENERATED"), "{}", ran.err);
    assert_eq!(yard.git(&["branch", "--list"]), "* main");
}

#[test]
fn keys_and_tokens_are_in_no_file_and_no_output() {
    let mut yard = BuildFixture::new(script(vec![
        ScriptedLine::Calls(vec![
            ("execute_command", json!({"command": "env"})),
            (
                "write_file",
                json!({"path": "a.txt", "content": "better\n"}),
            ),
        ]),
        ScriptedLine::Text("Done."),
    ]));
    let forge = crate::build_fixture::TestForge::of(&mut yard);
    let ran: ProgramOutput = yard.ends(&format!("build '{PROMPT}' --yes --json"), 0);
    assert_eq!(forge.pulls().len(), 1);
    for secret in [crate::peer::TOKEN, crate::task_fixture::KEY] {
        assert!(!ran.out.contains(secret) && !ran.err.contains(secret));
        for (path, bytes) in yard.project.tree() {
            let is_settings = path.ends_with("drawloom.toml");
            let found = bytes
                .windows(secret.len())
                .any(|part| part == secret.as_bytes());
            assert!(is_settings || !found, "{secret} is in {}", path.display());
        }
    }
}
