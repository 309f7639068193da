//! Work that waits for a review, builds that go on after their end, short names.

use serde_json::Value;

use crate::build_fixture::{
    BUILDING, BuildFixture, PLAN, PLANNING, PROMPT, TestForge, git, script, well, writes,
};
use crate::model::{ModelScript, ScriptedLine};

#[test]
fn only_accepted_work_is_pushed_after_the_review() {
    let mut yard = BuildFixture::new(well());
    let forge = TestForge::of(&mut yard);
    let result = yard.result(&format!("build '{PROMPT}' --yes --review --json"), 0);
    assert_eq!(result["status"], "review_ready", "{result}");
    assert_eq!(forge.branches(), [""; 0]);
    let listed = yard.ends("builds review last --json", 0).out;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["hunks"][0]["path"], "a.txt");
    assert_eq!(listed["hunks"][0]["number"], 1);
    let refused = yard.ends("builds review last --reject b.txt", 64);
    assert!(
        refused.err.contains("the build has no `b.txt`"),
        "{}",
        refused.err
    );
    let done = yard.result("builds review last --accept --json", 0);
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(forge.branches().len(), 1);
    let late = yard.ends("builds review last --accept", 1);
    assert!(late.err.contains("waits for no review"), "{}", late.err);
}

#[test]
fn a_comment_goes_back_to_the_model() {
    let yard = BuildFixture::new(script(vec![
        writes("better\n"),
        ScriptedLine::Text("Done."),
        writes("best\n"),
        ScriptedLine::Text("As you wish."),
    ]));
    yard.ends(&format!("build '{PROMPT}' --yes --review"), 0);
    let again = yard.result("builds review last --comment 'say best' --json", 0);
    assert_eq!(again["status"], "review_ready", "{again}");
    let told = yard.model.received().last().unwrap().to_string();
    assert!(told.contains("say best"), "{told}");
    let done = yard.result("builds review last --accept --json", 0);
    let branch = done["result"]["branch"].as_str().unwrap();
    assert_eq!(yard.at(branch, "a.txt"), "best");
}

fn twice() -> ModelScript {
    vec![
        (
            PLANNING,
            vec![ScriptedLine::Text(PLAN), ScriptedLine::Text(PLAN)],
        ),
        (
            BUILDING,
            vec![
                writes("better\n"),
                ScriptedLine::Text("Done."),
                writes("best\n"),
                ScriptedLine::Text("Best now."),
            ],
        ),
    ]
}

#[test]
fn a_follow_up_goes_on_in_the_same_branch_and_pull_request() {
    let mut yard = BuildFixture::new(twice());
    let forge = TestForge::of(&mut yard);
    let first = yard.result(&format!("build '{PROMPT}' --yes --json"), 0);
    let line = "build --follow-up last 'also say it is the best' --yes --json";
    let second = yard.result(line, 0);
    assert_eq!(second["status"], "completed", "{second}");
    assert_eq!(second["id"], first["id"]);
    assert_eq!(second["result"]["branch"], first["result"]["branch"]);
    assert_eq!(second["result"]["prNumber"], first["result"]["prNumber"]);
    assert_eq!(forge.pulls().len(), 1);
    let branch = second["result"]["branch"].as_str().unwrap();
    let count = git(
        &forge.origin(),
        &["rev-list", "--count", &format!("main..{branch}")],
    );
    assert_eq!(count, "2");
    assert_eq!(yard.at(branch, "a.txt"), "best");
    let body = forge.pulls()[0]["body"].as_str().unwrap().to_owned();
    assert!(
        body.contains(PROMPT) && body.contains("also say it is the best"),
        "{body}"
    );
    let wrong = yard.ends("build --follow-up nosuch 'also do this, please'", 1);
    assert!(
        wrong.err.contains("there is no build `nosuch`"),
        "{}",
        wrong.err
    );
}

#[test]
fn an_approved_plan_can_be_kept_local_or_dry() {
    let yard = BuildFixture::new(twice());
    yard.ends(&format!("build '{PROMPT}' --plan-only"), 0);
    let dry = yard.result("builds approve last --dry-run --json", 0);
    assert_eq!(dry["options"]["dryRun"], true);
    assert_eq!(yard.git(&["branch", "--list", "builder/*"]), "");
    yard.ends(&format!("build '{PROMPT}' --plan-only"), 0);
    let local = yard.result("builds approve last --no-pr --json", 0);
    assert_eq!(local["options"]["publish"], "local");
}

#[test]
fn a_build_is_named_by_a_piece_of_its_id() {
    let yard = BuildFixture::new(well());
    yard.ends(&format!("build '{PROMPT}' --plan-only"), 0);
    let id = yard.last()["id"].as_str().unwrap().to_owned();
    for piece in [&id[..10], &id[id.len() - 4..], id.as_str()] {
        let shown = yard.ends(&format!("builds show {piece}"), 0).out;
        assert!(shown.contains(&id), "{piece}: {shown}");
    }
    let none = yard.ends("builds show zzzz", 1);
    assert!(
        none.err.contains("there is no build `zzzz`"),
        "{}",
        none.err
    );
}
