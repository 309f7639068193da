//! Budgets of a step, a run and a day: looked at before each call, and nothing is lost when one is
//! used up.

use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::build_fixture::{BuildFixture, PROMPT, well};
use crate::model::{FakeProvider, ModelScript, ScriptedFormat, ScriptedLine};
use crate::project::CliProject;
use crate::workflow_fixture::{
    diagram, document, reply, result, said, standing, task, with_settings,
};

/// What the scripted model takes for one call.
const CALL_TOKENS: u64 = 110;
/// One call is $1.10.
const PRICES: &str = "[ai.prices.m]\ninput = 10000.0\noutput = 10000.0\n";

/// Raises a limit, or sets it.
fn set(project: &CliProject, from: &str, to: &str) {
    let settings = project.read("drawloom.toml");
    assert!(settings.contains(from), "{from}: {settings}");
    project.write("drawloom.toml", &settings.replace(from, to));
}

fn each_step_answers() -> ModelScript {
    vec![
        ("**Title:** One", vec![reply("one")]),
        ("**Title:** Two", vec![reply("two")]),
        ("**Title:** Three", vec![reply("three")]),
    ]
}

/// Runs, expects that it stops for this reason after so many calls, and gives the task that waits.
#[track_caller]
fn stops(
    project: &CliProject,
    model: &FakeProvider,
    line: &str,
    (says, calls): (&str, usize),
) -> Value {
    let ran = project.run(line);
    assert_ne!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert_eq!(model.received().len(), calls, "{}", ran.err);
    let (status, reason) = standing(project);
    assert_eq!(status, "paused", "{reason}\n{}", ran.err);
    assert!(reason.contains(says), "{says}: {reason}");
    assert!(ran.err.contains(says), "{says}: {}", ran.err);
    let waiting = document(&project.run("tasks list --mine --json"));
    waiting["tasks"][0].clone()
}

/// Goes on to the end, with so many calls in all.
#[track_caller]
fn goes_on(project: &CliProject, model: &FakeProvider, calls: usize) -> Value {
    let ran = project.run("runs resume last --wait --json");
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert_eq!(model.received().len(), calls, "{}", ran.err);
    result(&ran)
}

#[test]
fn a_run_stops_before_the_call_it_cannot_pay_and_goes_on_when_it_can() {
    let steps = "A[One] --> B[Two]\n B --> C[Three]";
    for (limit, raised) in [
        ("run_tokens_max = 200", "run_tokens_max = 900"),
        ("run_usd_max = 2.0", "run_usd_max = 9.0"),
        ("day_tokens_max = 200", "day_tokens_max = 900"),
        ("day_usd_max = 2.0", "day_usd_max = 9.0"),
    ] {
        let settings = format!("{PRICES}\n[workflows]\n{limit}\n");
        let (project, model) =
            with_settings(ScriptedFormat::OpenAi, each_step_answers(), &settings);
        project.write("abc.mmd", &format!("graph TD\n {steps}\n"));
        let name = limit.split(' ').next().unwrap();
        let started = "workflow start abc.mmd --wait --json";
        // The second call is made while anything is left, and goes over.
        let waiting = stops(&project, &model, started, (name, 2));
        assert_eq!(waiting["hold"]["kind"], "budget", "{waiting}");
        // Going on changes nothing as long as the limit is the same.
        stops(&project, &model, "runs resume last --wait", (name, 2));
        set(&project, limit, raised);
        let result = goes_on(&project, &model, 3);
        assert_eq!(result["output"], "three", "{limit}");
        let shown = document(&project.run("runs show last --json"));
        assert_eq!(shown["run"]["spent"]["tokens"], 3 * CALL_TOKENS);
        assert_eq!(shown["run"]["spent"]["micros"], 3_300_000);
    }
}

#[test]
fn a_day_is_shared_by_all_runs() {
    let settings = "[workflows]\nday_tokens_max = 100\n";
    let (project, model) = with_settings(ScriptedFormat::OpenAi, each_step_answers(), settings);
    project.write("one.mmd", "graph TD\n A[One]\n");
    project.write("two.mmd", "graph TD\n A[Two]\n");
    assert_eq!(project.run("workflow start one.mmd --wait").exit, 0);
    let started = "workflow start two.mmd --wait";
    stops(&project, &model, started, ("workflows.day_tokens_max", 1));
    set(&project, "day_tokens_max = 100", "day_tokens_max = 200");
    assert_eq!(goes_on(&project, &model, 2)["output"], "two");
}

#[test]
fn a_step_may_spend_its_budget_once_and_again_when_a_person_says_so() {
    let script = || -> ModelScript {
        vec![
            ("You asked for another turn", vec![reply("whole")]),
            ("**Title:** One", vec![said("PARTIAL", "half", "CONTINUE")]),
        ]
    };
    for budget in [json!({ "tokens": 100 }), json!({ "money": 1.0 })] {
        let (project, model) = with_settings(ScriptedFormat::OpenAi, script(), PRICES);
        let config = json!({ "budget": budget });
        project.write("one.mmd", &diagram("A[One]", &[("A", config)]));
        let started = "workflow start one.mmd --wait";
        stops(&project, &model, started, ("The step's `budget.", 1));
        assert_eq!(
            task(&project, "A")["output"],
            "half",
            "what was paid for is kept"
        );
        assert_eq!(project.run("tasks retry last/A").exit, 0);
        assert_eq!(goes_on(&project, &model, 2)["output"], "whole");
    }
}

#[test]
fn no_money_is_spent_when_the_price_is_unknown() {
    let settings = "[workflows]\nrun_usd_max = 5.0\n";
    let (project, model) = with_settings(ScriptedFormat::OpenAi, each_step_answers(), settings);
    project.write("one.mmd", "graph TD\n A[One]\n");
    let started = "workflow start one.mmd --wait";
    stops(&project, &model, started, ("ai.prices", 0));
    set(&project, "[workflows]", &format!("{PRICES}\n[workflows]"));
    assert_eq!(goes_on(&project, &model, 1)["output"], "one");
}

#[test]
fn an_agent_stops_in_the_middle_of_its_work_and_goes_on_with_it() {
    let plan = r#"{"goal": "g", "tasks": [{"subtask_id": "a", "type": "no_op"}]}"#;
    let write = json!({ "path": "made.txt", "content": "made\n" });
    let look = json!({ "path": "drawloom.toml" });
    for (handler, artifact, call, end) in [
        (
            "code_generation",
            "made.txt",
            ("write_file", write),
            "Made.",
        ),
        ("planning", "plan.json", ("read_file", look), plan),
    ] {
        for (settings, budget, says) in [
            (
                "[workflows]\nrun_tokens_max = 100\n",
                json!({}),
                "workflows.run_tokens_max",
            ),
            ("", json!({ "tokens": 100 }), "The step's `budget.tokens`"),
        ] {
            let says_so = vec![
                ScriptedLine::Calls(vec![call.clone()]),
                ScriptedLine::Text(end),
            ];
            let (project, model) =
                with_settings(ScriptedFormat::OpenAi, vec![("", says_so)], settings);
            let config = json!({
                "handler": handler, "prompt": "Do it.", "budget": budget,
                "config": { "output_artifacts": [artifact] },
            });
            project.write("one.mmd", &diagram("A[One]", &[("A", config)]));
            let started = "workflow start one.mmd --wait";
            stops(&project, &model, started, (says, 1));
            if handler == "code_generation" {
                assert_eq!(
                    project.read("made.txt"),
                    "made\n",
                    "what is done stays done"
                );
            }
            if !settings.is_empty() {
                set(&project, "run_tokens_max = 100", "run_tokens_max = 900");
            }
            goes_on(&project, &model, 2);
            let shown = document(&project.run("runs show last --json"));
            assert_eq!(
                shown["run"]["spent"]["tokens"],
                2 * CALL_TOKENS,
                "{handler}"
            );
            assert!(project.path().join(artifact).exists());
        }
    }
}

#[test]
fn checks_cost_nothing_and_need_no_budget() {
    let settings = "[workflows]\nrun_tokens_max = 100\n";
    let (project, model) = with_settings(ScriptedFormat::OpenAi, each_step_answers(), settings);
    let validation = json!({
        "handler": "validation", "config": { "validation_criteria": [{ "run": "true" }] },
    });
    project.write(
        "v.mmd",
        &diagram("A[One] --> B[Validate]", &[("B", validation)]),
    );
    let ran = project.run("workflow start v.mmd --wait");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(model.received().len(), 1);
}

#[test]
fn a_recipe_asks_no_more_than_is_left() {
    let answer = ScriptedLine::Text(r#"{"motto": "Onward."}"#);
    let script: ModelScript = vec![("**Title:** One", vec![reply("one")]), ("", vec![answer])];
    let settings = "[workflows]\nrun_tokens_max = 100\n";
    let (project, model) = with_settings(ScriptedFormat::OpenAi, script, settings);
    project.write(
        ".drawloom/recipes/motto/recipe.yml",
        "name: motto\nsteps:\n  - tool: template\n    template: motto.jig\n",
    );
    project.write(
        ".drawloom/recipes/motto/motto.jig",
        "---\nto: motto.txt\n---\n@ai()\n  @prompt()\n    A motto.\n  @end\n  \
         @output({ key: 'motto', type: 'text' })\n    One sentence.\n  @end\n@end\n",
    );
    let config = json!({ "handler": "recipe", "config": { "recipe": "motto" } });
    project.write("r.mmd", &diagram("A[One] --> B[Motto]", &[("B", config)]));
    let started = "workflow start r.mmd --wait";
    stops(&project, &model, started, ("workflows.run_tokens_max", 1));
    assert!(!project.path().join("motto.txt").exists());
    set(&project, "run_tokens_max = 100", "run_tokens_max = 900");
    goes_on(&project, &model, 2);
    assert!(project.read("motto.txt").contains("Onward."));
}

#[test]
fn a_build_stops_in_the_middle_and_goes_on_with_what_it_has() {
    let yard = BuildFixture::with(well(), "[workflows]\nrun_tokens_max = 200\n");
    let config = json!({ "handler": "build", "prompt": PROMPT, "config": { "approve": true } });
    yard.project
        .write("b.mmd", &diagram("A[Build it]", &[("A", config)]));
    let started = "workflow start b.mmd --wait";
    // The plan, and the first turn of the builder.
    let named = ("workflows.run_tokens_max", 2);
    stops(&yard.project, &yard.model, started, named);
    set(
        &yard.project,
        "run_tokens_max = 200",
        "run_tokens_max = 900",
    );
    let result = goes_on(&yard.project, &yard.model, 3);
    let branch = result["output"]["branch"].as_str().unwrap();
    assert_eq!(yard.at(branch, "a.txt"), "better");
    let shown = document(&yard.project.run("runs show last --json"));
    assert_eq!(shown["run"]["spent"]["tokens"], 3 * CALL_TOKENS);
    assert_eq!(yard.worktrees(), (0, 0));
}

#[test]
fn what_an_attempt_paid_that_took_too_long_is_counted() {
    let slow = ScriptedLine::Slowly(5_000, Box::new(reply("late")));
    let script: ModelScript = vec![("", vec![ScriptedLine::Text("hm"), slow])];
    let (project, _model) = with_settings(ScriptedFormat::OpenAi, script, "");
    let config = json!({ "timeout": "1500ms", "retry": { "attempts": 1 } });
    project.write("one.mmd", &diagram("A[One]", &[("A", config)]));
    assert_eq!(project.run("workflow start one.mmd --wait").exit, 1);
    let task = task(&project, "A");
    assert_eq!(task["failure"]["class"], "timeout", "{task}");
    assert_eq!(task["spent"]["tokens"], CALL_TOKENS, "{task}");
}

#[test]
fn what_a_worker_paid_that_was_killed_is_counted_by_the_next() {
    let write = (
        "write_file",
        json!({ "path": "made.txt", "content": "made\n" }),
    );
    let slow = ScriptedLine::Slowly(2_000, Box::new(ScriptedLine::Text("Made.")));
    let script: ModelScript = vec![("", vec![ScriptedLine::Calls(vec![write]), slow])];
    let (project, model) = with_settings(ScriptedFormat::OpenAi, script, "");
    let config = json!({
        "handler": "code_generation", "prompt": "Do it.",
        "config": { "output_artifacts": ["made.txt"] }, "retry": { "delay": "10ms" },
    });
    project.write("one.mmd", &diagram("A[One]", &[("A", config)]));
    assert_eq!(project.run("workflow start one.mmd").exit, 0);
    let mut worker = project.command("worker --lease 500ms");
    let mut worker = worker
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while model.received().len() < 2 {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "the second call never came"
        );
        sleep(Duration::from_millis(20));
    }
    worker.kill().unwrap();
    worker.wait().unwrap();
    goes_on(&project, &model, 3);
    let task = task(&project, "A");
    assert_eq!(task["attempt"], 2, "{task}");
    // The answer of the call that was out is not known, and so is not what it took.
    assert_eq!(task["spent"]["tokens"], 2 * CALL_TOKENS, "{task}");
}
