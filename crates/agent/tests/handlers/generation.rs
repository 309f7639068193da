//! `code_generation`: the five stages, in the three wire formats.

use agent::handlers::{ArtifactState, FailureKind, OverallStatus};
use agent::{AgentErrorKind, Limits};
use llm::WireFormat;
use serde_json::{Value, json};

use crate::scripted::{FORMATS, ServerAct, calls, says};
use crate::task_project::{TaskProject, path};

/// The seed's example, with a shell for its test runner.
fn example() -> Value {
    json!({
        "subtask_id": "new-feature",
        "name": "A new feature",
        "type": "code_generation",
        "description": "Greet the world.",
        "instructions": ["Write `src/new_feature.sh`.", "It prints `hello world`."],
        "input_artifacts": ["src", "README.md"],
        "output_artifacts": ["src/new_feature.sh"],
        "constraints": ["Use only what POSIX says."],
        "validation_criteria": ["sh tests/test_new_feature.sh"]
    })
}

const TEST: &str =
    "out=$(sh src/new_feature.sh)\necho \"got: $out\"\n[ \"$out\" = 'hello world' ]\n";

fn example_project(format: WireFormat, script: Vec<ServerAct>) -> TaskProject {
    TaskProject::new(format, script)
        .with_file("README.md", "# Greeter\n")
        .with_file("src/old.sh", "echo old\n")
        .with_file("tests/test_new_feature.sh", TEST)
}

fn write(text: &str) -> ServerAct {
    calls(&[(
        "write_file",
        json!({"path": "src/new_feature.sh", "content": text}),
    )])
}

#[tokio::test]
async fn the_seeds_example_becomes_files_and_a_report() {
    for format in FORMATS {
        let script = vec![write("echo hello world\n"), says("The feature is there.")];
        let mut project = example_project(format, script);
        let result = project.run(&example()).await.unwrap();
        assert_eq!(
            project.file("src/new_feature.sh").unwrap(),
            "echo hello world\n"
        );
        let written = serde_json::to_value(&result).unwrap();
        let keys = ["message", "ai_result", "validation_details"].map(|key| written[key].clone());
        assert_eq!(
            json!(keys),
            json!([
                "Code generation completed and validation passed.",
                {"content": "The feature is there."},
                {
                    "commands_executed": [{
                        "command": "sh tests/test_new_feature.sh",
                        "exit_code": 0,
                        "stdout": "got: hello world\n",
                        "stderr": ""
                    }],
                    "readings": [{
                        "criterion": "sh tests/test_new_feature.sh",
                        "read_as": "command",
                        "because": "there is a program `sh`"
                    }],
                    "overall_status": "passed"
                }
            ])
        );
        assert_eq!(result.report.files_written, [path("src/new_feature.sh")]);
        assert_eq!(result.report.usage.turns, 2);
    }
}

#[tokio::test]
async fn the_prompt_has_its_parts_in_order_with_the_stable_ones_first() {
    for format in FORMATS {
        let script = vec![write("echo hello world\n"), says("Done.")];
        let mut project = example_project(format, script);
        project.run(&example()).await.unwrap();
        let system = project.server.bodies()[0].to_string();
        assert!(
            system.contains("You are a software engineer"),
            "{format:?}: {system}"
        );
        let sent = project.sent(0);
        let parts = [
            "# Task: A new feature",
            "Greet the world.",
            "## Instructions",
            "1. Write `src/new_feature.sh`.",
            "2. It prints `hello world`.",
            "## Context",
            "### Directory `src`",
            "└── old.sh",
            "### File `README.md` (1 line)",
            "# Greeter",
            "## Constraints",
            "- Use only what POSIX says.",
            "## Output artifacts",
            "- `src/new_feature.sh`",
            "## Validation",
            "## The task as it was written",
            "\"subtask_id\": \"new-feature\"",
        ];
        let mut from = 0;
        for part in parts {
            let at = sent[from..].find(part);
            from += at.unwrap_or_else(|| panic!("{part:?} is not where it should be:\n{sent}"));
        }
    }
}

#[tokio::test]
async fn what_validation_finds_is_fed_back_until_it_passes() {
    for format in FORMATS {
        let script = vec![
            write("echo hello\n"),
            says("Done."),
            write("echo hello world\n"),
            says("The greeting is whole now."),
        ];
        let mut project = example_project(format, script);
        let result = project.run(&example()).await.unwrap();
        assert_eq!(project.server.asked(), 4);
        let sent = project.server.sent(2);
        let told = sent.last().unwrap();
        for words in [
            "user: The task is not done",
            "`sh tests/test_new_feature.sh` exited with code 1.",
            "got: hello\n",
            "Do not weaken the checks",
        ] {
            assert!(told.contains(words), "{words:?} is missing: {told}");
        }
        assert_eq!(
            result.report.validation_details.overall_status,
            OverallStatus::Passed
        );
        assert_eq!(
            result.report.ai_result.unwrap().content,
            "The greeting is whole now."
        );
        let phases: Vec<_> = result.report.usage.phases.keys().collect();
        assert_eq!(phases, ["generate", "repair"]);
        assert_eq!(project.recorder.all("fed_back").len(), 1);
    }
}

#[tokio::test]
async fn validation_that_never_passes_fails_the_task_with_its_details() {
    let script = vec![write("echo no\n"), says("Done.")];
    let mut project = example_project(WireFormat::OpenAi, script);
    project.task_limits.validation_retries_max = 2;
    let failure = project.run(&example()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Validation);
    assert_eq!(
        failure.message,
        "Task `new-feature` failed validation: `sh tests/test_new_feature.sh` exited with code 1. \
         It is a plain string, treated as a command; write {\"describe\": …} if it isn't one."
    );
    // The first answer and two retries.
    assert_eq!(project.recorder.all("validated").len(), 3);
    assert_eq!(project.recorder.all("fed_back").len(), 2);
    let details = &failure.report.validation_details;
    assert_eq!(details.overall_status, OverallStatus::Failed);
    assert_eq!(details.commands_executed[0].stdout, "got: no\n");
    assert_eq!(failure.report.files_written, [path("src/new_feature.sh")]);
}

#[tokio::test]
async fn without_criteria_validation_is_skipped_and_not_passed() {
    let mut task = example();
    task["validation_criteria"] = json!([]);
    let script = vec![write("echo\n"), says("Done.")];
    let mut project = example_project(WireFormat::Anthropic, script);
    let result = project.run(&task).await.unwrap();
    assert_eq!(
        serde_json::to_value(&result.report.validation_details).unwrap(),
        json!({"commands_executed": [], "overall_status": "skipped"})
    );
    assert_eq!(
        result.message,
        "Code generation completed; validation was skipped: there are no criteria."
    );
}

#[tokio::test]
async fn an_output_artifact_that_is_missing_is_asked_for_and_then_fails() {
    let mut task = example();
    task["validation_criteria"] = json!([]);
    task["output_artifacts"] = json!(["src/new_feature.sh", "README.md", "docs/feature.md"]);
    let script = vec![write("echo\n"), says("Done."), says("I did it all.")];
    let mut project = example_project(WireFormat::Gemini, script);
    project.task_limits.validation_retries_max = 1;
    let failure = project.run(&task).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::MissingArtifact);
    assert!(
        failure.message.contains("`docs/feature.md`"),
        "{}",
        failure.message
    );
    let told = project.server.sent(2).pop().unwrap();
    assert!(
        told.contains("have to be there and are not:\n- `docs/feature.md`"),
        "{told}"
    );
    let artifacts = failure.report.output_artifacts.iter();
    let states: Vec<_> = artifacts.map(|artifact| artifact.state).collect();
    assert_eq!(
        states,
        [
            ArtifactState::Written,
            ArtifactState::Present,
            ArtifactState::Missing
        ]
    );
}

#[tokio::test]
async fn a_refused_artifact_fails_before_the_model_is_paid() {
    let mut task = example();
    task["output_artifacts"] = json!([".env"]);
    let mut project = example_project(WireFormat::OpenAi, vec![says("Done.")]);
    let failure = project.run(&task).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Files);
    assert!(
        failure.message.contains("`.env` may not be read"),
        "{}",
        failure.message
    );
    assert_eq!(project.server.asked(), 0);
}

#[tokio::test]
async fn a_limit_stops_the_task_and_keeps_what_was_written() {
    let mut project = example_project(
        WireFormat::OpenAi,
        vec![write("echo a\n"), write("echo b\n")],
    );
    project.limits = Limits {
        turns_max: 1,
        ..Limits::default()
    };
    let failure = project.run(&example()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Stopped(AgentErrorKind::Limit));
    assert!(
        failure.message.contains("agent.turns_max = 1"),
        "{}",
        failure.message
    );
    assert_eq!(failure.report.files_written, [path("src/new_feature.sh")]);
    assert_eq!(failure.report.usage.turns, 1);
}

#[tokio::test]
async fn a_provider_that_dies_is_a_failure_that_can_be_resumed() {
    let script = vec![write("echo hello world\n"), ServerAct::Status(400)];
    let mut project = example_project(WireFormat::OpenAi, script);
    let failure = project.run(&example()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Stopped(AgentErrorKind::Model));
    let mut project = project.answering(vec![says("It was done already.")]);
    let result = project.run(&example()).await.unwrap();
    assert_eq!(
        result.report.validation_details.overall_status,
        OverallStatus::Passed
    );
    // The conversation is sent again, and the prompt only once.
    let sent = project.sent(0);
    assert_eq!(sent.matches("# Task: A new feature").count(), 1);
    assert!(sent.contains("call write_file"), "{sent}");
}

#[tokio::test]
async fn a_task_that_was_killed_after_its_answer_is_only_checked() {
    let script = vec![write("echo hello world\n"), says("Done.")];
    let mut project = example_project(WireFormat::OpenAi, script);
    project.run(&example()).await.unwrap();
    let mut project = project.answering(vec![ServerAct::HangUp]);
    let result = project.run(&example()).await.unwrap();
    assert_eq!(project.server.asked(), 0);
    assert_eq!(result.report.ai_result.unwrap().content, "Done.");
}

#[tokio::test]
async fn retries_are_counted_over_a_resume() {
    let script = vec![write("echo no\n"), says("Done.")];
    let mut project = example_project(WireFormat::OpenAi, script);
    project.task_limits.validation_retries_max = 1;
    project.run(&example()).await.unwrap_err();
    let asked = project.server.asked();
    // All retries are spent: the checks are made again, the model is not asked.
    project.run(&example()).await.unwrap_err();
    assert_eq!(project.server.asked(), asked);
    // After a repair by hand the task goes on.
    let mut project = project.with_file("src/new_feature.sh", "echo hello world\n");
    project.run(&example()).await.unwrap();
    assert_eq!(project.server.asked(), asked);
}

#[tokio::test]
async fn the_model_a_task_prefers_is_asked() {
    let mut task = example();
    task["model_preference"] =
        json!({"provider": "openai", "model": "special", "temperature": 0.5, "max_tokens": 77});
    let script = vec![write("echo hello world\n"), says("Done.")];
    let mut project = example_project(WireFormat::OpenAi, script);
    project.run(&task).await.unwrap();
    let body = &project.server.bodies()[0];
    assert_eq!(body["model"], "special");
    assert_eq!(body["temperature"], 0.5);
}
