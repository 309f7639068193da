//! Wrong uses: exit code 64 or 1, the place, and what to do instead. Nothing is begun.

use crate::model::{FakeProvider, ScriptedFormat, ScriptedLine};
use crate::project::{CliProject, ExpectedRun, ExpectedText, check};
use crate::task_fixture::project;

const TASK: &str = r#"{"subtask_id": "t", "type": "code_generation", "description": "Do it."}"#;

#[test]
fn command_lines_that_make_no_sense_are_usage_errors() {
    let project = CliProject::empty();
    for line in [
        "task",
        "task run",
        "task run a.json --ai-mode telepathy",
        "task run a.json --record x --replay y",
        "plan",
        "plan run",
        "plan run a.json --svg b.svg",
        "schema",
        "schema recipe",
    ] {
        let expect = ExpectedRun {
            exit: 64,
            out: ExpectedText::Nothing,
            err: ExpectedText::Anything,
        };
        let ran = check(&project, line, expect);
        assert!(!ran.err.is_empty(), "{line}");
    }
    assert!(project.tree().is_empty());
}

fn check_refused(project: &CliProject, line: &str, says: &[&str]) {
    let expect = ExpectedRun {
        exit: 1,
        out: ExpectedText::Nothing,
        err: ExpectedText::Has(says),
    };
    check(project, line, expect);
    let database = project.path().join(".drawloom/drawloom.db");
    assert!(!database.exists(), "{line} began something");
}

#[test]
fn files_that_cannot_be_used_say_where_and_why() {
    let model = FakeProvider::saying(ScriptedFormat::OpenAi, vec![ScriptedLine::Text("Done.")]);
    let project = project(ScriptedFormat::OpenAi, &model, "");
    check_refused(&project, "task run no.json", &["there is no file no.json"]);
    check_refused(&project, "plan show no.json", &["there is no file no.json"]);

    project.write("broken.json", "{\n  \"subtask_id\": \"t\",\n  \"type\": }");
    check_refused(
        &project,
        "task run broken.json",
        &["E_DEFINITION", "broken.json:3:"],
    );

    project.write(
        "slips.json",
        "{\"subtask_id\": \"a b\", \"type\": \"codegen\", \"instrctions\": 3}",
    );
    let says = ["E_DEFINITION", "slips.json:1:"];
    check_refused(&project, "task run slips.json", &says);
    let all = project.run("task run slips.json").err;
    for piece in [
        "a b",
        "codegen",
        "instrctions",
        "did you mean `instructions`?",
    ] {
        assert!(all.contains(piece), "{piece}: {all}");
    }

    let outside = tempfile::tempdir().unwrap();
    let plan = outside.path().join("plan.json");
    std::fs::write(
        &plan,
        "{\"tasks\": [{\"subtask_id\": \"a\", \"type\": \"no_op\"}]}",
    )
    .unwrap();
    let line = format!("plan run {}", plan.display());
    check_refused(&project, &line, &["is not inside the project"]);
    assert!(model.received().is_empty());
}

#[test]
fn a_missing_model_is_an_error_before_anything_starts() {
    let project = CliProject::empty();
    project.write("task.json", TASK);
    let mut command = project.command("task run task.json");
    for name in [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GOOGLE_GENERATIVE_AI_API_KEY",
        "GEMINI_API_KEY",
        "OPENROUTER_API_KEY",
    ] {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    for piece in [
        "error[E_NO_MODEL]",
        "a model that calls tools",
        "ai.provider",
    ] {
        assert!(err.contains(piece), "{piece}: {err}");
    }
    assert!(!project.path().join(".drawloom/drawloom.db").exists());
}

#[test]
fn a_task_without_model_calls_needs_no_model() {
    let project = CliProject::empty();
    project.write("task.json", r#"{"subtask_id": "t", "type": "no_op"}"#);
    assert_eq!(project.run("task run task.json").exit, 0);
}

#[test]
fn there_must_be_something_to_resume() {
    let model = FakeProvider::saying(ScriptedFormat::OpenAi, vec![ScriptedLine::Text("Done.")]);
    let project = project(ScriptedFormat::OpenAi, &model, "");
    project.write("task.json", TASK);
    let expect = ExpectedRun {
        exit: 1,
        out: ExpectedText::Nothing,
        err: ExpectedText::Has(&[
            "E_NOT_FOUND",
            "there is no run of task.json to resume",
            "--resume",
        ]),
    };
    check(&project, "task run task.json --resume", expect);
}

#[test]
fn settings_that_are_wrong_are_shown_with_their_line() {
    let model = FakeProvider::saying(ScriptedFormat::OpenAi, vec![ScriptedLine::Text("Done.")]);
    for (more, says) in [
        ("[agent]\nturn_max = 3\n", "did you mean `turns_max`?"),
        ("[agent]\nturns_max = 0\n", "whole number of at least 1"),
        ("[agent.sandbox]\nkind = \"docker\"\n", "\"bubblewrap\""),
        ("[agent.policy]\nread_deny = \"x\"\n", "a list of strings"),
        (
            "[mcp.servers.a]\nurl = \"ftp://x\"\n",
            "must begin with https:// or http://",
        ),
        ("[mcp.servers.a]\nargs = []\n", "needs a `command`"),
        (
            "[mcp.servers.\"a b\"]\ncommand = \"x\"\n",
            "cannot be the name",
        ),
        (
            "[mcp.servers.a]\ncomand = \"x\"\n",
            "did you mean `command`?",
        ),
    ] {
        let project = project(ScriptedFormat::OpenAi, &model, more);
        project.write("task.json", TASK);
        check_refused(
            &project,
            "task run task.json",
            &["E_SETTINGS", "drawloom.toml:"],
        );
        let err = project.run("task run task.json").err;
        assert!(err.contains(says), "{says}: {err}");
    }
}

#[test]
fn a_file_that_is_no_database_is_an_error_and_stays_unchanged() {
    let model = FakeProvider::saying(ScriptedFormat::OpenAi, vec![ScriptedLine::Text("Done.")]);
    let project = project(ScriptedFormat::OpenAi, &model, "");
    project.write("task.json", TASK);
    project.write(".drawloom/drawloom.db", &"not a database ".repeat(400));
    let before = project.read(".drawloom/drawloom.db");
    let expect = ExpectedRun {
        exit: 1,
        out: ExpectedText::Nothing,
        err: ExpectedText::Has(&[
            "error[E_DATABASE]",
            "drawloom.db is damaged",
            "Move it away",
        ]),
    };
    check(&project, "task run task.json", expect);
    assert_eq!(project.read(".drawloom/drawloom.db"), before);
    assert!(model.received().is_empty());
}
