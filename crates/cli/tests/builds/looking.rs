//! What is shown of builds: lists, differences, costs, and what `doctor` says.

use serde_json::Value;

use crate::build_fixture::{BuildFixture, PROMPT, TestForge, script, well, writes};
use crate::model::ScriptedLine;
use crate::task_fixture::result;

#[test]
fn builds_are_listed_the_newest_first() {
    let yard = BuildFixture::new(well());
    let none = yard.ends("builds list", 0);
    assert!(none.err.contains("no builds here"), "{}", none.err);
    assert!(none.out.is_empty());
    assert!(!yard.path().join(".drawloom/drawloom.db").exists());

    yard.ends(&format!("build '{PROMPT}' --yes"), 0);
    yard.ends("build 'say it another way, please' --plan-only", 0);
    let listed = yard.ends("builds list", 0).out;
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 2, "{listed}");
    assert!(lines[0].contains("plan_ready") && lines[0].contains("say it another way"));
    assert!(lines[1].contains("completed") && lines[1].contains("builder/"));
    let json: Value =
        serde_json::from_str(&yard.ends("builds list --status completed --json", 0).out).unwrap();
    let builds = json["builds"].as_array().unwrap();
    assert_eq!(builds.len(), 1);
    assert_eq!(builds[0]["taskType"], "refactor");
    assert_eq!(builds[0]["prompt"], PROMPT);
}

#[test]
fn a_difference_is_a_patch_and_on_request_coloured_word_by_word() {
    let yard = BuildFixture::new(well());
    yard.ends(&format!("build '{PROMPT}' --yes"), 0);
    let plain = yard.ends("builds diff last", 0).out;
    assert!(plain.starts_with("diff --git a/a.txt b/a.txt"), "{plain}");
    std::fs::write(yard.path().join(".drawloom/x.patch"), &plain).unwrap();
    yard.git(&["apply", "--check", ".drawloom/x.patch"]);
    let coloured = yard.ends("builds diff last --color always", 0).out;
    assert!(coloured.contains("\u{1b}[31m-"), "{coloured:?}");
    assert!(coloured.contains("\u{1b}[32m+"), "{coloured:?}");
    let json: Value = serde_json::from_str(&yard.ends("builds diff last --json", 0).out).unwrap();
    assert_eq!(json["diffs"][0]["path"], "a.txt");
    assert_eq!(json["diffs"][0]["diff"].as_str().unwrap(), plain);
    let other = yard.ends("builds diff last src", 1);
    assert!(
        other.err.contains("changed nothing in src"),
        "{}",
        other.err
    );
}

#[test]
fn a_coloured_difference_brings_no_codes_of_the_content() {
    let codes = "better \u{1b}]0;title\u{7} \u{1b}[2J \u{9b}31m\n";
    let yard = BuildFixture::new(script(vec![
        writes(codes),
        ScriptedLine::Text("It is better now."),
    ]));
    yard.ends(&format!("build '{PROMPT}' --yes"), 0);
    let coloured = yard.ends("builds diff last --color always", 0).out;
    assert!(coloured.contains("\u{1b}[32m+"), "{coloured:?}");
    for code in ["\u{1b}]", "\u{1b}[2J", "\u{7}", "\u{9b}"] {
        assert!(!coloured.contains(code), "{code:?} in {coloured:?}");
    }
}

#[test]
fn building_is_counted_by_cost_apart_from_planning() {
    let yard = BuildFixture::new(well());
    yard.ends(&format!("build '{PROMPT}' --yes"), 0);
    let json = yard.ends("cost --by purpose --json", 0).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    let calls = |purpose: &str| {
        let sums = json["sums"].as_array().unwrap();
        let sum = sums.iter().find(|sum| sum["purpose"] == purpose).unwrap();
        sum["calls"].as_u64().unwrap()
    };
    assert_eq!((calls("build-plan"), calls("build")), (1, 2));
}

#[test]
fn the_history_of_a_build_is_kept() {
    let yard = BuildFixture::new(well());
    yard.ends(&format!("build '{PROMPT}' --yes"), 0);
    let shown = yard.ends("builds show last --history", 0).out;
    let mut rest = shown.as_str();
    for piece in [
        "planning ",
        "Asking the model for a plan.",
        "plan_ready ",
        "The plan was approved.",
        "generating ",
        "validating ",
        "publishing ",
        "completed ",
    ] {
        let at = rest.find(piece);
        let at = at.unwrap_or_else(|| panic!("{piece:?}: {shown}"));
        rest = &rest[at + piece.len()..];
    }
}

#[test]
fn the_users_type_wins_over_the_plans() {
    let yard = BuildFixture::new(well());
    let ran = yard.ends(
        &format!("build '{PROMPT}' --type doc-gen --plan-only --json"),
        0,
    );
    let result = result(&ran);
    assert_eq!(result["taskType"], "doc-gen");
    assert_eq!(result["plan"]["taskType"], "doc-gen");
    assert_eq!(result["checks"].as_array().unwrap().len(), 0);
}

#[test]
fn doctor_says_how_far_the_work_of_a_build_can_go() {
    let mut yard = BuildFixture::new(well());
    let check = |yard: &BuildFixture, says: &str| {
        let ran = yard.run("doctor");
        assert!(ran.out.contains(says), "{says:?}: {}", ran.out);
    };
    check(
        &yard,
        "end as local branches and patches: there is no remote `origin`",
    );
    let _forge = TestForge::of(&mut yard);
    check(&yard, "end as pull requests for http://127.0.0.1:");
    yard.git(&[
        "remote",
        "set-url",
        "origin",
        "git@git.example.com:octo/hello.git",
    ]);
    let settings = yard.project.read("drawloom.toml");
    let without = settings.split("\n[builder.forge]").next().unwrap();
    yard.project.write("drawloom.toml", without);
    check(
        &yard,
        "git.example.com is not a forge that is known; set `builder.forge.kind`",
    );
}

#[test]
fn the_schema_of_a_plan_is_printed() {
    let yard = BuildFixture::new(well());
    let schema = yard.ends("schema build-plan", 0).out;
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert!(schema["properties"]["files"].is_object(), "{schema}");
}
