//! `kill -9` after every event, then `--resume`: the work ends as if nothing had happened, and no
//! side effect happens twice.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::model::{FakeProvider, ScriptedFormat, ScriptedLine};
use crate::project::CliProject;
use crate::task_fixture::{NO_SANDBOX, events, project, result};

const PLAN: &str = r#"{"tasks": [
  {"subtask_id": "count", "type": "code_generation", "description": "Count up.",
   "validation_criteria": [{"run": "test -f list.txt"}]},
  {"subtask_id": "tell", "type": "ai_interaction", "description": "Tell it.",
   "output_artifacts": ["told.txt"], "depends_on": ["count"]}
]}"#;

/// What a call that may or may not have happened is called in what the model is told.
const INTERRUPTED: &str = "interrupted";

fn model() -> FakeProvider {
    let log = |word: &str| {
        (
            "execute_command",
            json!({"command": format!("echo {word} >> log.txt")}),
        )
    };
    let counting = vec![
        ScriptedLine::Calls(vec![
            ("write_file", json!({"path": "new.txt", "content": "new\n"})),
            log("one"),
        ]),
        ScriptedLine::Calls(vec![
            (
                "insert_content",
                json!({"path": "list.txt", "line": 1, "content": "two"}),
            ),
            log("two"),
            ("read_file", json!({"path": "list.txt"})),
        ]),
        ScriptedLine::Calls(vec![log("three")]),
        ScriptedLine::Text("Counted."),
    ];
    let telling = vec![ScriptedLine::Text("It is told.")];
    FakeProvider::start(
        ScriptedFormat::OpenAi,
        vec![("Tell it.", telling), ("Count up.", counting)],
    )
}

/// Begins a command that prints events, and returns once one with this in it was printed.
fn begin(
    project: &CliProject,
    command: &str,
    event: &str,
) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut child = project
        .command(command)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while !lines.next().unwrap().unwrap().contains(event) {}
    (child, lines)
}

fn fresh(model: &FakeProvider) -> CliProject {
    let project = project(ScriptedFormat::OpenAi, model, NO_SANDBOX);
    project.write("plan.json", PLAN);
    project.write("list.txt", "zero\n");
    project
}

/// Starts the plan and kills it right after this many lines. How many lines there were.
fn kill_after(project: &CliProject, lines_max: usize) -> usize {
    let mut child = project
        .command("plan run plan.json --json")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut seen = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        line.unwrap();
        seen += 1;
        if seen == lines_max {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    seen
}

/// How often each word is in a file.
fn words(project: &CliProject, file: &str) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(project.path().join(file)).unwrap_or_default();
    let mut words = BTreeMap::new();
    for word in text.split_whitespace() {
        *words.entry(word.to_owned()).or_insert(0) += 1;
    }
    words
}

#[test]
fn killed_after_any_event_the_plan_goes_on_and_repeats_nothing() {
    let quiet = model();
    let whole = fresh(&quiet);
    let ran = whole.run("plan run plan.json --json");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let lines = events(&ran).len();
    assert!(lines > 20, "{}", ran.out);

    for lines_max in 1..lines {
        let model = model();
        let project = fresh(&model);
        let seen = kill_after(&project, lines_max);
        assert_eq!(seen, lines_max);

        let ran = project.run("plan run plan.json --resume --json");
        let context = format!("killed after line {lines_max}\n{}\n{}", ran.out, ran.err);
        assert_eq!(ran.exit, 0, "{context}");
        assert_eq!(result(&ran)["status"], "completed", "{context}");
        check_effects(&project, &model, &context);
        // The answer of a call that was out when the process died is not known, and no other.
        let asked = model.received().len();
        assert!(
            (5..=6).contains(&asked),
            "{asked} calls of the model: {context}"
        );
    }
}

fn check_effects(project: &CliProject, model: &FakeProvider, context: &str) {
    let told: String = model.received().iter().map(Value::to_string).collect();
    let unsure = told.matches(INTERRUPTED).count();
    let mut missing = 0;
    for (file, expected) in [
        ("log.txt", &["one", "two", "three"][..]),
        ("list.txt", &["zero", "two"][..]),
        ("new.txt", &["new"][..]),
    ] {
        let found = words(project, file);
        for word in expected {
            match found.get(*word) {
                Some(1) => {}
                Some(more) => panic!("{word} is there {more} times: {context}"),
                None => missing += 1,
            }
        }
        assert!(
            found.keys().all(|word| expected.contains(&word.as_str())),
            "{context}"
        );
    }
    // A call that was begun and did not end may not have happened; then the model knows.
    assert!(
        missing <= 1 && (missing == 0 || unsure > 0),
        "{missing} missing: {context}"
    );
    assert_eq!(
        words(project, "told.txt").values().sum::<usize>(),
        3,
        "{context}"
    );
}

#[test]
fn a_run_under_way_cannot_be_resumed_and_one_that_was_killed_can() {
    let slow = ScriptedLine::Slowly(20_000, Box::new(ScriptedLine::Text("Late.")));
    let model = FakeProvider::saying(ScriptedFormat::OpenAi, vec![slow]);
    let project = project(ScriptedFormat::OpenAi, &model, "");
    let task = r#"{"subtask_id": "t", "type": "code_generation", "description": "Wait."}"#;
    project.write("task.json", task);
    let (mut child, _lines) = begin(&project, "task run task.json --json", "turn_started");

    let refused = project.run("task run task.json --resume");
    assert_eq!(refused.exit, 1, "{}", refused.err);
    let says = format!("is being worked on by the process {}", child.id());
    assert!(refused.err.contains(&says), "{}", refused.err);
    assert!(refused.err.contains("E_RUN_LOCKED"), "{}", refused.err);

    child.kill().unwrap();
    child.wait().unwrap();
    let quick = FakeProvider::saying(ScriptedFormat::OpenAi, vec![ScriptedLine::Text("Done.")]);
    let settings = project
        .read("drawloom.toml")
        .replace(&model.url, &quick.url);
    project.write("drawloom.toml", &settings);
    let ran = project.run("task run task.json --resume");
    assert_eq!(ran.exit, 0, "{}", ran.err);
}

#[test]
fn a_plan_under_way_is_shown_so_and_one_that_was_left_is_offered_to_go_on() {
    let slow = ScriptedLine::Slowly(20_000, Box::new(ScriptedLine::Text("Late.")));
    let model = FakeProvider::saying(ScriptedFormat::OpenAi, vec![slow]);
    let project = fresh(&model);
    let (mut child, _lines) = begin(&project, "plan run plan.json --json", "turn_started");
    let shown = project.run("plan show plan.json");
    assert!(shown.out.contains('▶'), "{}", shown.out);
    assert!(shown.err.contains("a run is under way"), "{}", shown.err);

    child.kill().unwrap();
    child.wait().unwrap();
    let shown = project.run("plan show plan.json");
    assert!(!shown.out.contains('▶'), "{}", shown.out);
    let shown = project.run("plan show plan.json --json");

    let quick = self::model();
    let settings = project
        .read("drawloom.toml")
        .replace(&model.url, &quick.url);
    project.write("drawloom.toml", &settings);
    let ran = project.run("plan run plan.json");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let left = shown_run(&shown);
    let note = format!("note: run {left} of this file was not finished; `--resume` continues it");
    assert!(ran.err.contains(&note), "{}", ran.err);
    let ran = project.run("plan run plan.json");
    assert!(
        !ran.err.contains("was not finished"),
        "run 2 was: {}",
        ran.err
    );
}

/// The id of the run that `plan show --json` has told of.
fn shown_run(shown: &crate::project::ProgramOutput) -> String {
    let graph: Value = serde_json::from_str(&shown.out).unwrap();
    graph["run"].as_str().unwrap().to_owned()
}

/// A plan is a run like any other: a worker goes on with it when the process that began it is gone.
#[test]
fn a_worker_ends_the_plan_of_a_process_that_was_killed() {
    let model = model();
    let project = fresh(&model);
    let settings = project.read("drawloom.toml");
    project.write(
        "drawloom.toml",
        &format!("{settings}\n[workflows]\nlease_seconds = 1\n"),
    );
    assert_eq!(kill_after(&project, 12), 12);
    let ran = project.run("worker --until-idle --trust");
    assert_eq!(ran.exit, 0, "{}\n{}", ran.out, ran.err);
    check_effects(&project, &model, "a worker went on");

    let asked = model.received().len();
    let ran = project.run("plan run plan.json --resume --json");
    assert_eq!(ran.exit, 0, "{}\n{}", ran.out, ran.err);
    assert_eq!(result(&ran)["status"], "completed");
    assert_eq!(model.received().len(), asked, "nothing is done again");
    let listed = project.run("runs list --kind plan --json");
    let listed: Value = serde_json::from_str(&listed.out).unwrap();
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed["runs"][0]["id"], result(&ran)["run"]);
    assert_eq!(listed["runs"][0]["status"], "completed");
}

#[test]
fn ctrl_c_keeps_what_is_done_and_ends_with_130() {
    let script = vec![
        ScriptedLine::Calls(vec![(
            "write_file",
            json!({"path": "a.txt", "content": "a"}),
        )]),
        ScriptedLine::Slowly(20_000, Box::new(ScriptedLine::Text("Late."))),
    ];
    let model = FakeProvider::saying(ScriptedFormat::OpenAi, script);
    let project = project(ScriptedFormat::OpenAi, &model, "");
    let task = r#"{"subtask_id": "t", "type": "code_generation", "description": "Wait."}"#;
    project.write("task.json", task);
    let (mut child, _lines) = begin(&project, "task run task.json --json", "\"committed\"");
    std::thread::sleep(Duration::from_millis(200));
    let kill = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(project.read("a.txt"), "a\n");

    let quick = FakeProvider::saying(
        ScriptedFormat::OpenAi,
        vec![ScriptedLine::Fails(500), ScriptedLine::Text("Done.")],
    );
    let settings = project
        .read("drawloom.toml")
        .replace(&model.url, &quick.url);
    project.write("drawloom.toml", &settings);
    let ran = project.run("task run task.json --resume");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(quick.received().len(), 1);
}

#[test]
fn ctrl_c_writes_no_codes_where_no_terminal_is() {
    let model = FakeProvider::saying(ScriptedFormat::OpenAi, Vec::new());
    let project = project(ScriptedFormat::OpenAi, &model, NO_SANDBOX);
    let task = r#"{"subtask_id": "t", "type": "validation", "validation_criteria": [{"run": "touch begun; sleep 30"}]}"#;
    project.write("task.json", task);
    let mut command = project.command("task run task.json");
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap();
    let begun = std::time::Instant::now();
    while !project.path().join("begun").exists() {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "it does not begin"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let kill = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!said.contains('\u{1b}'), "{said:?}");
}
