//! `drawloom plan`: made, shown, run in order, gone on with.

use serde_json::{Value, json};

use crate::model::{FORMATS, FakeProvider, ScriptedFormat, ScriptedLine};
use crate::project::{ExpectedRun, ExpectedText, check};
use crate::task_fixture::{NO_SANDBOX, events, project, result};

/// `b` and `c` need `a`; `d` needs both.
const DIAMOND: &str = r#"{
  "goal": "A diamond.",
  "tasks": [
    {"subtask_id": "d", "type": "no_op", "depends_on": ["b", "c"]},
    {"subtask_id": "a", "type": "ai_interaction", "description": "Say alpha.", "output_artifacts": ["a.txt"]},
    {"subtask_id": "b", "type": "ai_interaction", "description": "Say beta.", "output_artifacts": ["b.txt"], "depends_on": ["a"]},
    {"subtask_id": "c", "type": "validation", "validation_criteria": [{"run": "grep -q alpha a.txt"}], "depends_on": ["a"]}
  ]
}"#;

fn diamond_model() -> FakeProvider {
    let script = vec![
        ("Say beta.", vec![ScriptedLine::Text("beta")]),
        ("Say alpha.", vec![ScriptedLine::Text("alpha")]),
    ];
    FakeProvider::start(ScriptedFormat::OpenAi, script)
}

fn standings(result: &Value) -> Vec<(String, String)> {
    let tasks = result["tasks"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    tasks
        .map(|task| (text(&task["subtask_id"]), text(&task["status"])))
        .collect()
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(id, status)| ((*id).to_owned(), (*status).to_owned()))
        .collect()
}

#[test]
fn a_plan_runs_in_the_order_of_its_dependencies() {
    let model = diamond_model();
    let project = project(ScriptedFormat::OpenAi, &model, NO_SANDBOX);
    project.write("plan.json", DIAMOND);
    let ran = project.run("plan run plan.json --json");
    assert_eq!(ran.exit, 0, "{}\n{}", ran.out, ran.err);
    let done = [
        ("a", "completed"),
        ("b", "completed"),
        ("c", "completed"),
        ("d", "completed"),
    ];
    assert_eq!(standings(&result(&ran)), owned(&done));
    assert_eq!(project.read("b.txt"), "beta\n");
    let told = model.received()[1].to_string();
    for piece in ["Result of the earlier task `a`", "alpha"] {
        assert!(told.contains(piece), "{piece}: {told}");
    }

    let shown = check(
        &project,
        "plan show plan.json",
        ExpectedRun {
            exit: 0,
            out: ExpectedText::Has(&["A diamond.", "✓", "a", "✓", "b", "✓", "c", "✓", "d"]),
            err: ExpectedText::Anything,
        },
    );
    assert!(!shown.out.contains('●'), "{}", shown.out);
    let again = project.run("plan run plan.json --resume --json");
    assert_eq!(again.exit, 0);
    assert_eq!(model.received().len(), 2, "nothing is done twice");
    let kept = events(&again);
    assert_eq!(
        kept.iter()
            .filter(|event| event["event"] == "task_kept")
            .count(),
        4
    );
}

/// Each of the two ends only after the other has begun.
#[test]
fn tasks_that_do_not_depend_on_each_other_run_side_by_side() {
    let model = diamond_model();
    let project = project(ScriptedFormat::OpenAi, &model, NO_SANDBOX);
    let meet = |id: &str, other: &str| {
        let run = format!("touch {id}; until test -e {other}; do sleep 0.05; done");
        json!({ "subtask_id": id, "type": "validation", "validation_criteria": [{ "run": run, "timeout": 120 }] })
    };
    let plan = json!({ "tasks": [meet("one", "two"), meet("two", "one")] });
    project.write("plan.json", &plan.to_string());
    let ran = project.run("plan run plan.json --json");
    assert_eq!(ran.exit, 0, "{}\n{}", ran.out, ran.err);
    let done = [("one", "completed"), ("two", "completed")];
    assert_eq!(standings(&result(&ran)), owned(&done));
    let told = events(&ran).into_iter();
    let mut told = told.filter(|event| event["event"] == "check_finished");
    assert!(told.all(|event| event["task"] == "one" || event["task"] == "two"));
}

/// A plan that ran is a run of the engine: with a graph, steps, and a page.
#[test]
fn a_plan_is_shown_like_any_run() {
    let model = diamond_model();
    let project = project(ScriptedFormat::OpenAi, &model, NO_SANDBOX);
    project.write("plan.json", DIAMOND);
    let ran = project.run("plan run plan.json --json");
    assert_eq!(ran.exit, 0, "{}\n{}", ran.out, ran.err);
    let run = result(&ran)["run"].as_str().unwrap().to_owned();
    let shown = project.run(&format!("runs show {run}"));
    assert_eq!(shown.exit, 0, "{}", shown.err);
    for piece in ["✓ a", "✓ d", "All done"] {
        assert!(shown.out.contains(piece), "{piece}: {}", shown.out);
    }
    let task = project.run(&format!("tasks show {run}/a --json"));
    let task: Value = serde_json::from_str(&task.out).unwrap();
    assert_eq!(
        task["task"]["output"]["ai_result"]["content"], "alpha",
        "{task}"
    );
}

#[test]
fn a_plan_shown_gives_the_terminal_no_orders() {
    let model = diamond_model();
    let project = project(ScriptedFormat::OpenAi, &model, "");
    let orders = r"\u001b]0;title\u0007\u001b[2J\u009b2J\u202ex\n✓  b  no_op";
    let task = format!(r#"{{"subtask_id": "a", "type": "no_op", "name": "{orders}"}}"#);
    let plan = format!(r#"{{"goal": "{orders}", "tasks": [{task}]}}"#);
    project.write("plan.json", &plan);
    let ran = project.run("--color always plan show plan.json");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let obeyed = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!ran.out.contains(obeyed), "{:?}", ran.out);
    assert_eq!(ran.out.matches('●').count(), 1, "{}", ran.out);
    assert_eq!(ran.out.matches('✓').count(), 1, "of the goal alone");
}

#[test]
fn a_plan_that_was_not_run_is_shown_open_and_as_a_picture() {
    let model = diamond_model();
    let project = project(ScriptedFormat::OpenAi, &model, "");
    project.write("plan.json", DIAMOND);
    let expect = ExpectedRun {
        exit: 0,
        out: ExpectedText::Has(&["●", "a", "●", "b", "●", "c", "●", "d"]),
        err: ExpectedText::Has(&["wrote picture.svg"]),
    };
    check(&project, "plan show plan.json --svg picture.svg", expect);
    let svg = project.read("picture.svg");
    assert!(svg.contains("<svg") && svg.contains("</svg>"), "{svg}");
    assert!(
        !project.path().join(".drawloom/drawloom.db").exists(),
        "looking leaves no trace"
    );

    let ran = project.run("plan show plan.json --json");
    let graph: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(graph["run"], Value::Null);
    assert_eq!(graph["tasks"][0]["id"], "a");
    assert_eq!(graph["tasks"][3]["after"], json!(["b", "c"]));
    assert_eq!(graph["tasks"][3]["status"], "pending");
}

#[test]
fn a_failure_takes_what_depends_on_it_and_a_changed_task_is_run_again() {
    let model = diamond_model();
    let project = project(ScriptedFormat::OpenAi, &model, NO_SANDBOX);
    project.write(
        "plan.json",
        &DIAMOND.replace("grep -q alpha", "grep -q omega"),
    );
    let ran = project.run("plan run plan.json --json");
    assert_eq!(ran.exit, 1);
    let ends = [
        ("a", "completed"),
        ("b", "completed"),
        ("c", "failed"),
        ("d", "skipped"),
    ];
    assert_eq!(standings(&result(&ran)), owned(&ends));
    let error: Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!(error["error"]["code"], "E_PLAN_FAILED");
    assert_eq!(
        error["error"]["message"],
        "1 of 4 tasks failed, 1 skipped because of that"
    );
    let shown = project.run("plan show plan.json").out;
    assert!(shown.contains('✗') && shown.contains('○'), "{shown}");

    // The plan is repaired: finished and unchanged tasks stay done.
    project.write("plan.json", DIAMOND);
    let ran = project.run("plan run plan.json --resume --json");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(
        model.received().len(),
        2,
        "a and b were not asked for again"
    );
}

#[test]
fn a_plan_with_a_circle_or_unknown_names_is_refused_before_anything_runs() {
    let model = diamond_model();
    let project = project(ScriptedFormat::OpenAi, &model, "");
    let bad = r#"{"tasks": [
      {"subtask_id": "a", "type": "no_op", "depends_on": ["b"]},
      {"subtask_id": "b", "type": "no_op", "depends_on": ["a"]},
      {"subtask_id": "c", "type": "no_op", "depends_on": ["bb"]}
    ]}"#;
    project.write("plan.json", bad);
    for line in ["plan run plan.json", "plan show plan.json"] {
        let expect = ExpectedRun {
            exit: 1,
            out: ExpectedText::Nothing,
            err: ExpectedText::Has(&["error[E_DEFINITION]", "plan.json:"]),
        };
        let ran = check(&project, line, expect);
        assert!(ran.err.contains("bb"), "{}", ran.err);
    }
    assert!(model.received().is_empty());
    assert!(!project.path().join(".drawloom/drawloom.db").exists());
}

#[test]
fn requirements_become_a_plan_that_can_be_run_in_every_format() {
    const PLAN: &str = "Here is the plan:\n```json\n{\"goal\": \"Say hello\", \"tasks\": [{\"subtask_id\": \"say\", \"type\": \"no_op\"}]}\n```\n";
    const BROKEN: &str =
        "{\"goal\": \"Say hello\", \"tasks\": [{\"subtask_id\": \"say\", \"type\": \"shouting\"}]}";
    for format in FORMATS {
        let model = FakeProvider::saying(
            format,
            vec![ScriptedLine::Text(BROKEN), ScriptedLine::Text(PLAN)],
        );
        let project = project(format, &model, "");
        project.write("wishes/REQUIREMENTS.md", "The program says hello.\n");
        let ran = project.run("plan create wishes/REQUIREMENTS.md");
        assert_eq!(ran.exit, 0, "{format:?} {}", ran.err);
        assert!(
            ran.err
                .contains("drawloom run wishes/REQUIREMENTS.plan.json"),
            "{}",
            ran.err
        );
        let sent = model.received();
        assert!(sent[0].to_string().contains("The program says hello."));
        assert!(
            sent[1].to_string().contains("shouting"),
            "the mistake went back"
        );
        let made: Value =
            serde_json::from_str(&project.read("wishes/REQUIREMENTS.plan.json")).unwrap();
        assert_eq!(made["tasks"][0]["subtask_id"], "say");
        assert_eq!(
            project.run("plan run wishes/REQUIREMENTS.plan.json").exit,
            0
        );

        let expect = ExpectedRun {
            exit: 1,
            out: ExpectedText::Nothing,
            err: ExpectedText::Has(&["already exists", "--force"]),
        };
        check(&project, "plan create wishes/REQUIREMENTS.md", expect);
    }
}
