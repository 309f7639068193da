//! `drawloom task run`: files, the report, what the model is sent, and what a failure says.

use serde_json::{Value, json};

use crate::model::{FORMATS, FakeProvider, ScriptedFormat, ScriptedLine};
use crate::project::{ExpectedRun, ExpectedText, check};
use crate::task_fixture::{KEY, NO_SANDBOX, events, names, project, result};

/// The task of the handler's design: a feature, its test, and the command that shows that it works.
const NEW_FEATURE: &str = r#"{
  "subtask_id": "new-feature",
  "name": "Add the new feature",
  "type": "code_generation",
  "description": "Write `feature.py` with a function `greet(name)`, and a test for it.",
  "instructions": ["Look at what is there.", "Write the function.", "Write the test."],
  "input_artifacts": ["README.md", "src", "missing.txt"],
  "output_artifacts": ["feature.py", "tests/test_new_feature.py"],
  "constraints": ["Python 3, standard library only."],
  "validation_criteria": [{"run": "python3 tests/test_new_feature.py"}, {"describe": "It is polite."}]
}"#;

fn writing_the_feature(greeting: &'static str) -> ScriptedLine {
    ScriptedLine::Calls(vec![
        (
            "write_file",
            json!({"path": "feature.py", "content": format!("def greet(name):\n    return '{greeting}, ' + name\n")}),
        ),
        (
            "write_file",
            json!({"path": "tests/test_new_feature.py", "content": "import sys\nsys.path.insert(0, '.')\nfrom feature import greet\nassert greet('you') == 'Hello, you', greet('you')\nprint('fine')\n"}),
        ),
    ])
}

fn new_feature(
    format: ScriptedFormat,
    model: &FakeProvider,
    more: &str,
) -> crate::project::CliProject {
    let project = project(format, model, more);
    project.write("task.json", NEW_FEATURE);
    project.write("README.md", "# A project\n");
    project.write("src/old.py", "OLD = 1\n");
    project
}

#[test]
fn a_task_becomes_files_and_a_report_in_every_format() {
    for format in FORMATS {
        let script = vec![
            ScriptedLine::Calls(vec![("read_file", json!({"path": "src/old.py"}))]),
            writing_the_feature("Hello"),
            ScriptedLine::Text("The feature is there."),
        ];
        let model = FakeProvider::saying(format, script);
        let project = new_feature(format, &model, NO_SANDBOX);
        let ran = project.run("task run task.json --json");
        assert_eq!(ran.exit, 0, "{format:?}\n{}\n{}", ran.out, ran.err);
        let result = result(&ran);
        assert_eq!(result["status"], "completed");
        assert_eq!(
            result["message"],
            "Code generation completed and validation passed. One criterion was not checked: it is \
             a description."
        );
        assert_eq!(
            result["ai_result"],
            json!({"content": "The feature is there."})
        );
        let details = &result["validation_details"];
        assert_eq!(details["overall_status"], "passed");
        assert_eq!(
            details["commands_executed"],
            json!([{"command": "python3 tests/test_new_feature.py", "exit_code": 0,
                "stdout": "fine\n", "stderr": ""}])
        );
        assert_eq!(
            result["files_written"],
            json!(["feature.py", "tests/test_new_feature.py"])
        );
        assert_eq!(result["usage"]["turns"], 3);
        assert!(project.read("feature.py").contains("def greet(name):"));

        // What the model was sent: the task, the context with its labels, and the tool results.
        let sent = model.received();
        assert_eq!(sent.len(), 3);
        let first = sent[0].to_string();
        for piece in [
            "Look at what is there.",
            "# A project",
            "old.py",
            "missing.txt",
            "standard library only",
            "tests/test_new_feature.py",
            "execute_command",
        ] {
            assert!(first.contains(piece), "{format:?} {piece}: {first}");
        }
        assert!(sent[1].to_string().contains("OLD = 1"));
        let log: Vec<String> = sent.iter().map(Value::to_string).collect();
        assert!(!log.join("").contains(KEY), "the key is in a body");
    }
}

#[test]
fn people_get_a_report_on_stdout_and_the_course_on_stderr() {
    let script = vec![writing_the_feature("Hello"), ScriptedLine::Text("Done.")];
    let model = FakeProvider::saying(ScriptedFormat::OpenAi, script);
    let project = new_feature(ScriptedFormat::OpenAi, &model, NO_SANDBOX);
    check(
        &project,
        "task run task.json",
        ExpectedRun {
            exit: 0,
            out: ExpectedText::Has(&[
                "Code generation completed and validation passed.",
                "validation passed",
                "✓ python3 tests/test_new_feature.py (exit 0)",
                "- not checked: It is polite.",
                "wrote     feature.py",
                "used      220 tokens",
            ]),
            err: ExpectedText::Has(&[
                "new-feature Add the new feature (code_generation)",
                "note",
                "missing.txt",
                "wrote     feature.py (new, +2)",
                "wrote     tests/test_new_feature.py (new, +5)",
                "✓ python3 tests/test_new_feature.py",
                "done",
            ]),
        },
    );
}

#[test]
fn what_fails_goes_back_to_the_model_until_it_passes() {
    let script = vec![
        writing_the_feature("Goodbye"),
        ScriptedLine::Text("It is done, I think."),
        writing_the_feature("Hello"),
        ScriptedLine::Text("Now it greets."),
    ];
    let model = FakeProvider::saying(ScriptedFormat::Anthropic, script);
    let project = new_feature(ScriptedFormat::Anthropic, &model, NO_SANDBOX);
    let ran = project.run("task run task.json --json");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let events = events(&ran);
    let names = names(&events);
    for name in [
        "task_started",
        "fed_back",
        "check_finished",
        "committed",
        "spent",
        "did",
    ] {
        assert!(names.contains(&name), "{name} is missing in {names:?}");
    }
    assert!(
        events
            .iter()
            .all(|event| event["event"] == "result" || event["task"] == "new-feature")
    );
    let fed_back = model.received()[2].to_string();
    assert!(fed_back.contains("exited with code 1"), "{fed_back}");
    assert!(
        fed_back.contains("AssertionError: Goodbye, you"),
        "{fed_back}"
    );
    let phases = &result(&ran)["usage"]["phases"];
    assert_eq!(phases["generate"]["calls"], 2);
    assert_eq!(phases["repair"]["calls"], 2);
}

#[test]
fn a_task_that_never_passes_fails_with_its_details_and_exit_1() {
    let script = vec![writing_the_feature("Goodbye"), ScriptedLine::Text("Done.")];
    let model = FakeProvider::saying(ScriptedFormat::Google, script);
    let more = format!("[agent]\nvalidation_retries_max = 0\n\n{NO_SANDBOX}");
    let project = new_feature(ScriptedFormat::Google, &model, &more);
    let ran = project.run("task run task.json --json");
    assert_eq!(ran.exit, 1);
    let result = result(&ran);
    assert_eq!(result["status"], "failed");
    assert_eq!(result["kind"], "validation");
    assert_eq!(
        result["validation_details"]["commands_executed"][0]["exit_code"],
        1
    );
    let error: Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!(error["error"]["code"], "E_TASK_VALIDATION");
    assert_eq!(
        error["error"]["hint"],
        "to go on: drawloom run task.json --resume"
    );

    check(
        &project,
        "task run task.json",
        ExpectedRun {
            exit: 1,
            out: ExpectedText::Has(&[
                "failed validation",
                "✗ python3 tests/test_new_feature.py (exit 1)",
            ]),
            err: ExpectedText::Has(&["error[E_TASK_VALIDATION]", "--resume"]),
        },
    );
}

#[test]
fn nothing_validated_is_not_said_to_have_passed() {
    let model = FakeProvider::saying(
        ScriptedFormat::OpenAi,
        vec![ScriptedLine::Text("There is nothing to do.")],
    );
    let project = project(ScriptedFormat::OpenAi, &model, NO_SANDBOX);
    let task = r#"{"subtask_id": "t", "type": "code_generation", "description": "Look."}"#;
    project.write("task.json", task);
    let expect = ExpectedRun {
        exit: 0,
        out: ExpectedText::Has(&["validation was skipped", "nothing was validated"]),
        err: ExpectedText::Lacks(&["passed"]),
    };
    check(&project, "task run task.json", expect);
}

#[test]
fn what_the_policy_refuses_is_not_written_and_the_model_is_told() {
    let script = vec![
        ScriptedLine::Calls(vec![
            ("read_file", json!({"path": ".env"})),
            ("write_file", json!({"path": "../out.txt", "content": "x"})),
            (
                "write_file",
                json!({"path": "secret/a.txt", "content": "x"}),
            ),
        ]),
        ScriptedLine::Text("I may not."),
    ];
    let model = FakeProvider::saying(ScriptedFormat::Anthropic, script);
    let more = format!("[agent.policy]\nwrite_deny = [\"secret\"]\n\n{NO_SANDBOX}");
    let project = project(ScriptedFormat::Anthropic, &model, &more);
    project.write(".env", "TOKEN=hidden-value");
    let task = r#"{"subtask_id": "t", "type": "code_generation", "description": "Break out."}"#;
    project.write("task.json", task);
    let ran = project.run("task run task.json --json");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    let told = model.received()[1].to_string();
    assert!(!told.contains("hidden-value"), "{told}");
    let refused = events(&ran);
    let refused = refused.iter().filter(|event| event["outcome"] == "failed");
    assert_eq!(refused.count(), 3, "{}", ran.out);
    assert!(!project.path().join("secret").exists());
    assert!(!project.path().parent().unwrap().join("out.txt").exists());
}

#[test]
fn commands_are_held_by_a_sandbox_unless_the_settings_say_otherwise() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("broken-out");
    let command = format!("echo inside > here.txt; echo out > {}", target.display());
    let script = vec![
        ScriptedLine::Calls(vec![("execute_command", json!({"command": command}))]),
        ScriptedLine::Text("Tried."),
    ];
    let model = FakeProvider::saying(ScriptedFormat::OpenAi, script);
    let project = project(ScriptedFormat::OpenAi, &model, "");
    let task = r#"{"subtask_id": "t", "type": "code_generation", "description": "Break out."}"#;
    project.write("task.json", task);
    let ran = project.run("task run task.json --json");
    assert!(!target.exists(), "{}", ran.out);
    // Where no sandbox can be had, the run stops and says so.
    if ran.exit == 0 {
        assert_eq!(project.read("here.txt"), "inside\n");
    } else {
        assert!(
            ran.err.contains("no sandbox can be used here"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn a_limit_stops_the_run_by_its_name_and_resume_goes_on() {
    let call = |number: u32| {
        let content = format!("{number}\n");
        ScriptedLine::Calls(vec![(
            "write_file",
            json!({"path": format!("{number}.txt"), "content": content}),
        )])
    };
    let script = vec![call(1), call(2), call(3), ScriptedLine::Text("Done.")];
    let model = FakeProvider::saying(ScriptedFormat::OpenAi, script);
    let project = project(ScriptedFormat::OpenAi, &model, "[agent]\nturns_max = 2\n");
    let task = r#"{"subtask_id": "t", "type": "code_generation", "description": "Count."}"#;
    project.write("task.json", task);
    let expect = ExpectedRun {
        exit: 1,
        out: ExpectedText::Has(&["agent.turns_max = 2"]),
        err: ExpectedText::Has(&["error[E_TASK_LIMIT]", "agent.turns_max = 2", "--resume"]),
    };
    check(&project, "task run task.json", expect);
    assert_eq!(model.received().len(), 2);

    let settings = project
        .read("drawloom.toml")
        .replace("turns_max = 2", "turns_max = 9");
    project.write("drawloom.toml", &settings);
    let ran = project.run("task run task.json --resume --json");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(model.received().len(), 4, "no turn was asked for twice");
    assert_eq!(result(&ran)["usage"]["turns"], 4);
    assert_eq!(
        result(&ran)["files_written"],
        json!(["1.txt", "2.txt", "3.txt"])
    );

    // Once more is not another run: it is done.
    let ran = project.run("task run task.json --resume --json");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(model.received().len(), 4);
    assert_eq!(result(&ran)["status"], "completed");
}

#[test]
fn a_provider_that_dies_is_an_error_and_resume_goes_on_when_it_is_back() {
    let script = vec![
        ScriptedLine::Calls(vec![(
            "write_file",
            json!({"path": "a.txt", "content": "a"}),
        )]),
        ScriptedLine::Fails(500),
    ];
    let model = FakeProvider::saying(ScriptedFormat::Anthropic, script);
    let project = project(ScriptedFormat::Anthropic, &model, "");
    let task = r#"{"subtask_id": "t", "type": "code_generation", "description": "Write."}"#;
    project.write("task.json", task);
    let ran = project.run("task run task.json --json");
    assert_eq!(ran.exit, 1);
    assert_eq!(
        result(&ran)["kind"],
        json!({"stopped": "model"}),
        "{}",
        ran.out
    );
    assert_eq!(project.read("a.txt"), "a\n");

    let back = FakeProvider::saying(
        ScriptedFormat::Anthropic,
        vec![ScriptedLine::Fails(500), ScriptedLine::Text("Done.")],
    );
    let settings = project.read("drawloom.toml").replace(&model.url, &back.url);
    project.write("drawloom.toml", &settings);
    let ran = project.run("task run task.json --resume --json");
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(back.received().len(), 1, "the first turn was kept");
}

#[test]
fn a_recorded_run_is_replayed_without_a_model() {
    let script = vec![writing_the_feature("Hello"), ScriptedLine::Text("Done.")];
    let model = FakeProvider::saying(ScriptedFormat::OpenAi, script);
    let first = new_feature(ScriptedFormat::OpenAi, &model, NO_SANDBOX);
    let tape = tempfile::tempdir().unwrap();
    let folder = tape.path().join("tape");
    let line = format!("task run task.json --record {}", folder.display());
    assert_eq!(first.run(&line).exit, 0);
    assert_eq!(model.received().len(), 2);

    // The address leads nowhere now, and there is no key.
    let again = new_feature(ScriptedFormat::OpenAi, &model, NO_SANDBOX);
    let settings = again
        .read("drawloom.toml")
        .replace(&model.url, "http://127.0.0.1:1");
    let settings = settings.replace(&format!("api_key = \"{KEY}\"\n"), "");
    again.write("drawloom.toml", &settings);
    let ran = again.run(&format!("task run task.json --replay {}", folder.display()));
    assert_eq!(ran.exit, 0, "{}", ran.err);
    assert_eq!(again.read("feature.py"), first.read("feature.py"));
    assert_eq!(model.received().len(), 2);
}

#[test]
fn no_key_is_in_the_database_or_in_what_is_printed() {
    let script = vec![
        ScriptedLine::Calls(vec![(
            "execute_command",
            json!({"command": "cat drawloom.toml"}),
        )]),
        ScriptedLine::Text("I have seen it."),
    ];
    let model = FakeProvider::saying(ScriptedFormat::OpenAi, script);
    let project = project(ScriptedFormat::OpenAi, &model, NO_SANDBOX);
    let task = r#"{"subtask_id": "t", "type": "code_generation", "description": "Look."}"#;
    project.write("task.json", task);
    assert_eq!(project.run("task run task.json --json").exit, 0);
    for (path, bytes) in project.tree() {
        if path.starts_with(".drawloom") {
            let found = bytes
                .windows(KEY.len())
                .any(|window| window == KEY.as_bytes());
            assert!(!found, "the key is in {}", path.display());
        }
    }
}

/// One does not have to ask for JSON to see why a check failed.
#[test]
fn the_report_has_the_end_of_what_a_failed_check_said_and_names_the_sandbox() {
    let model = FakeProvider::saying(
        ScriptedFormat::OpenAi,
        vec![ScriptedLine::Text("This is not asked for.")],
    );
    let project = project(ScriptedFormat::OpenAi, &model, "");
    let task = json!({
        "subtask_id": "checks", "name": "Checks", "type": "validation", "description": "Checks.",
        "validation_criteria": [
            {"run": "seq 1 40; exit 3"},
            {"run": "echo said; echo wrong >&2; exit 4"},
            {"run": "echo x > /etc/drawloom-made"},
            {"run": "true"},
        ],
    });
    project.write("task.json", &task.to_string());
    let ran = project.run("task run task.json");
    assert_eq!(ran.exit, 1, "{}", ran.err);
    let expected = [
        "✗ seq 1 40; exit 3 (exit 3)",
        "    │ 29\n",
        "    │ 40\n",
        "(exit 4)\n    │ wrong\n",
        "✗ echo x > /etc/drawloom-made",
        "agent.sandbox.writable",
        "✓ true (exit 0)\n",
    ];
    let mut rest = ran.out.as_str();
    for piece in expected {
        let at = rest.find(piece);
        let at = at.unwrap_or_else(|| panic!("{piece:?} is not in\n{}", ran.out));
        rest = &rest[at + piece.len()..];
    }
    assert!(!ran.out.contains("│ 28\n"), "{}", ran.out);
    let ran = project.run("task run task.json --json");
    let runs = &result(&ran)["validation_details"]["commands_executed"];
    let sandbox = |at: usize| runs[at].get("sandbox").is_some();
    assert_eq!([0, 1, 2, 3].map(sandbox), [false, false, true, false]);
}
