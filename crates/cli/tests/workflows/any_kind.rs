//! `drawloom run THING`: recipes, workflows, tasks and plans by one verb.

use serde_json::json;

use crate::model::{FakeProvider, ScriptedFormat, ScriptedLine};
use crate::project::{CliProject, ExpectedRun, ExpectedText, ProgramOutput, check};
use crate::task_fixture;
use crate::workflow_fixture::{bare, diagram, document, result};

const RECIPE: &str = "name: hello\nvariables:\n  who: {type: string, required: true, position: 0}\nsteps:\n  - template: a.jig\n";
const TEMPLATE: &str = "---\nto: {{ who }}.txt\n---\nHello, {{ who }}\n";
const TASK: &str = r#"{"subtask_id": "t", "type": "no_op"}"#;
const PLAN: &str = r#"{"tasks": [{"subtask_id": "a", "type": "no_op"},
  {"subtask_id": "b", "type": "no_op", "depends_on": ["a"]}]}"#;

/// A workflow of one step that writes its input into a file.
fn writing(file: &str) -> String {
    let step = json!({ "handler": "command", "config": { "run": format!("echo {{{{input.word}}}} > {file}") } });
    diagram(" A[Write]", &[("A", step)])
}

fn declared() -> String {
    let input = json!({
        "type": "object",
        "properties": {
            "version": { "type": "string", "description": "what is released" },
            "count": { "type": "integer", "default": 1 },
            "loud": { "type": "boolean" },
        },
        "required": ["version"],
    });
    diagram(
        " A[Say]",
        &[("input", input), ("A", json!({ "handler": "no_op" }))],
    )
}

fn everything() -> CliProject {
    let project = bare();
    project.write(".drawloom/recipes/hello/recipe.yml", RECIPE);
    project.write(".drawloom/recipes/hello/a.jig", TEMPLATE);
    project.write(".drawloom/workflows/note.mmd", &writing("note.txt"));
    project.write("flows/release.mmd", &declared());
    project.write("task.json", TASK);
    project.write("plan.json", PLAN);
    project
}

#[track_caller]
fn ends(project: &CliProject, line: &str, exit: i32, says: &[&str]) -> ProgramOutput {
    let expect = ExpectedRun {
        exit,
        out: ExpectedText::Anything,
        err: ExpectedText::Has(says),
    };
    check(project, line, expect)
}

#[test]
fn each_kind_is_run_and_named() {
    let project = everything();
    ends(
        &project,
        "run hello World",
        0,
        &["recipe    hello\n", "created   World.txt"],
    );
    assert_eq!(project.read("World.txt"), "Hello, World\n");
    ends(&project, "run note word=hey", 0, &["workflow  note\n"]);
    assert_eq!(project.read("note.txt"), "hey\n");
    ends(
        &project,
        "run .drawloom/workflows/note.mmd --word again",
        0,
        &["workflow  .drawloom"],
    );
    assert_eq!(project.read("note.txt"), "again\n");
    ends(&project, "run task.json", 0, &["task      task.json\n"]);
    let ran = ends(&project, "run plan.json", 0, &["plan      plan.json\n"]);
    assert!(
        ran.out.contains("done      a") && ran.out.contains("done      b"),
        "{}",
        ran.out
    );
}

#[test]
fn json_is_that_of_the_kind_and_nothing_is_said_beside_it() {
    let project = everything();
    for (new, old, exit) in [
        (
            "run flows/release.mmd version=1 --json",
            "workflow start flows/release.mmd version=1 --wait --json",
            0,
        ),
        ("run task.json --json", "task run task.json --json", 0),
        ("run plan.json --json", "plan run plan.json --json", 0),
    ] {
        let (new, old) = (project.run(new), project.run(old));
        assert_eq!((new.exit, old.exit), (exit, exit), "{}{}", new.err, old.err);
        assert_eq!(new.err, "");
        let fields = |ran: &ProgramOutput| {
            let result = result(ran);
            let fields = result.as_object().unwrap().clone();
            fields.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(fields(&new), fields(&old));
    }
    let ran = project.run("run hello World --json");
    assert_eq!(
        (document(&ran)["outcome"].as_str(), ran.err.as_str()),
        (Some("done"), "")
    );
}

#[test]
fn a_workflow_takes_its_declared_inputs_as_a_recipe_takes_variables() {
    let project = everything();
    for (words, input) in [
        ("1.2", json!({ "version": "1.2", "count": 1 })),
        ("2 7", json!({ "version": "2", "count": 7 })),
        (
            "--version 3 --loud",
            json!({ "version": "3", "loud": true, "count": 1 }),
        ),
        (
            "--set version=4 --count=2",
            json!({ "version": "4", "count": 2 }),
        ),
    ] {
        let ran = project.run(&format!("run flows/release.mmd {words} --json"));
        assert_eq!(ran.exit, 0, "{words}: {}", ran.err);
        let shown = document(&project.run("runs show last --json"));
        assert_eq!(shown["input"], input, "{words}");
    }
    let help = project.run("run flows/release.mmd --help");
    for piece in [
        "is a workflow",
        "version",
        "(required)",
        "what is released",
        "drawloom run --help",
    ] {
        assert!(help.out.contains(piece), "{piece}: {}", help.out);
    }
    ends(
        &project,
        "run flows/release.mmd",
        1,
        &["error[E_DATA]", "version"],
    );
    ends(
        &project,
        "run flows/release.mmd 1 2 true 4",
        64,
        &["there is no input for the value `4`"],
    );
    ends(
        &project,
        "run flows/release.mmd --verson 1",
        64,
        &["did you mean `version`?"],
    );
}

#[test]
fn a_run_can_be_left_to_a_worker() {
    let project = everything();
    let begun = ends(
        &project,
        "run note word=late --no-wait",
        0,
        &["workflow  note", "started"],
    );
    assert!(!project.path().join("note.txt").exists());
    assert_eq!(project.run("worker --until-idle").exit, 0);
    assert_eq!(project.read("note.txt"), "late\n");
    let shown = document(&project.run(&format!("runs show {} --json", begun.out.trim())));
    assert_eq!(shown["run"]["status"], "completed");
    project.write("lines.jsonl", "{\"word\": 1}\n{\"word\": 2}\n");
    let many = project.run("run note --inputs lines.jsonl");
    assert_eq!(
        (many.exit, many.out.lines().count()),
        (0, 2),
        "{}",
        many.err
    );
}

#[test]
fn options_of_another_kind_are_refused_with_the_kind_they_are_for() {
    let project = everything();
    for (line, says) in [
        (
            "run note --dry-run",
            "`--dry-run` is for recipes, and `note` is a workflow",
        ),
        (
            "run hello World --tag x",
            "`--tag` is for workflows, and `hello` is a recipe",
        ),
        (
            "run task.json --no-wait",
            "`--no-wait` is for workflows, and `task.json` is a task",
        ),
        (
            "run plan.json --answers a.json",
            "`--answers` is for recipes, and `plan.json` is a plan",
        ),
        (
            "run note --resume",
            "`--resume` is for recipes, tasks and plans, and `note` is a workflow",
        ),
        (
            "run task.json World",
            "`task.json` is a task, which takes no values: `World`",
        ),
        (
            "run task.json --ai-mode stdout",
            "choose auto, api or command",
        ),
        ("run note --no-wiat", "did you mean `--no-wait`?"),
    ] {
        ends(&project, line, 64, &[says]);
    }
    assert!(
        !project.path().join(".drawloom/drawloom.db").exists()
            || !project.path().join("note.txt").exists()
    );
}

#[test]
fn a_name_of_a_recipe_and_a_workflow_is_refused_with_both_ways_out() {
    let project = everything();
    project.write(
        ".drawloom/workflows/hello.mmd",
        &writing("from-workflow.txt"),
    );
    let ran = ends(
        &project,
        "run hello World",
        64,
        &[
            "`hello` is both a recipe and a workflow",
            "drawloom run ./.drawloom/recipes/hello",
            "drawloom run ./.drawloom/workflows/hello.mmd",
        ],
    );
    assert!(!project.path().join("World.txt").exists(), "{}", ran.err);
    for (line, file) in [
        ("run ./.drawloom/recipes/hello One", "One.txt"),
        ("recipe run hello Two", "Two.txt"),
        (
            "run ./.drawloom/workflows/hello.mmd word=x",
            "from-workflow.txt",
        ),
    ] {
        let ran = project.run(line);
        assert_eq!(ran.exit, 0, "{line}: {}", ran.err);
        assert!(project.path().join(file).exists(), "{line}");
    }
}

#[test]
fn an_unknown_name_is_reported_with_the_nearest_of_any_kind() {
    let project = everything();
    for (line, says) in [
        ("run helo", "did you mean `hello`?"),
        ("run nte", "did you mean the workflow `note`?"),
        ("run plna.json", "did you mean the file `plan.json`?"),
        (
            "run flows/relaese.mmd",
            "did you mean the workflow `flows/release.mmd`?",
        ),
        ("run zzzzzz", "drawloom workflow list"),
        (
            "run zzzzzz",
            "there is no recipe `zzzzzz`, and no workflow or file of this name",
        ),
    ] {
        let ran = ends(&project, line, 1, &["error[E_NOT_FOUND]"]);
        assert!(ran.err.contains(says), "{line}: {}", ran.err);
    }
    project.write("package.json", r#"{"name": "x", "version": "1"}"#);
    ends(
        &project,
        "run package.json",
        1,
        &["E_DEFINITION", "package.json:1:"],
    );
}

#[test]
fn a_workflow_of_the_database_alone_is_run_by_its_name() {
    let project = everything();
    project.write(".drawloom/workflows/kept.mmd", &writing("kept.txt"));
    let pushed = project.run("workflow push kept");
    assert_eq!(pushed.exit, 0, "{}", pushed.err);
    std::fs::remove_file(project.path().join(".drawloom/workflows/kept.mmd")).unwrap();
    ends(&project, "run kept word=there", 0, &["workflow  kept"]);
    assert_eq!(project.read("kept.txt"), "there\n");
}

#[test]
fn a_plain_recipe_opens_no_database() {
    let project = everything();
    assert_eq!(project.run("run hello World").exit, 0);
    assert!(!project.path().join(".drawloom/drawloom.db").exists());
}

#[test]
fn a_task_is_worked_on_and_gone_on_with_as_by_its_own_command() {
    let model = FakeProvider::saying(ScriptedFormat::OpenAi, vec![ScriptedLine::Text("Done.")]);
    let project = task_fixture::project(ScriptedFormat::OpenAi, &model, task_fixture::NO_SANDBOX);
    let failing = r#"{"subtask_id": "t", "type": "validation", "validation_criteria": [{"run": "test -f here"}]}"#;
    project.write("task.json", failing);
    ends(
        &project,
        "run task.json",
        1,
        &[
            "E_TASK_VALIDATION",
            "to go on: drawloom run task.json --resume",
        ],
    );
    project.write("here", "");
    ends(
        &project,
        "run task.json --resume",
        0,
        &["task      task.json"],
    );
}

#[test]
fn runs_of_every_kind_are_listed_with_their_kind() {
    let project = everything();
    for line in ["hello World", "note word=x", "task.json", "plan.json"] {
        let ran = project.run(&format!("run {line}"));
        assert_eq!(ran.exit, 0, "{line}: {}", ran.err);
    }
    let listed = |filter: &str| {
        let listed = document(&project.run(&format!("runs list --json {filter}")));
        let runs = listed["runs"].as_array().unwrap().clone();
        let text = |run: &serde_json::Value, name: &str| run[name].as_str().unwrap().to_owned();
        let mut told: Vec<(String, String, String)> = runs
            .iter()
            .map(|run| (text(run, "kind"), text(run, "name"), text(run, "status")))
            .collect();
        told.sort();
        told
    };
    let of = |kind: &str, name: &str| (kind.to_owned(), name.to_owned(), "completed".to_owned());
    let all = [
        of("plan", "plan.json"),
        of("recipe", "hello"),
        of("task", "task.json"),
        of("workflow", "note"),
    ];
    assert_eq!(listed(""), all);
    for one in &all {
        assert_eq!(
            listed(&format!("--kind {}", one.0)),
            std::slice::from_ref(one)
        );
    }
    assert_eq!(listed("--status failed"), []);
    assert_eq!(project.run("tasks add 'Look at it'").exit, 0);
    let waiting = document(&project.run("runs list --json --kind task --status running"));
    assert_eq!(waiting["runs"][0]["name"], "Look at it");
}
