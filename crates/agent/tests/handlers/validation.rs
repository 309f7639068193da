//! The `validation` handler: each kind of criterion, and what a text alone is taken for.

use agent::handlers::{FailureKind, OverallStatus, ReadAs};
use agent::{AgentErrorKind, handlers::TaskResult};
use llm::WireFormat;
use serde_json::{Value, json};

use crate::scripted::says;
use crate::task_project::TaskProject;

fn project() -> TaskProject {
    TaskProject::new(WireFormat::OpenAi, vec![says("Nobody asks me.")])
}

fn task(criteria: Value) -> Value {
    json!({"subtask_id": "check", "type": "validation", "validation_criteria": criteria})
}

async fn passed(project: &mut TaskProject, criteria: Value) -> TaskResult {
    let result = project.run(&task(criteria)).await.unwrap();
    assert_eq!(project.server.asked(), 0, "the model was asked");
    result
}

#[tokio::test]
async fn commands_and_files_are_checked_and_descriptions_are_not() {
    let mut project = project().with_file("app/out.txt", "hello\n");
    let criteria = json!([
        {"run": "cat out.txt; echo warn >&2", "cwd": "app", "timeout": 20},
        {"file_exists": "app/out.txt"},
        {"file_exists": "app"},
        {"describe": "The greeting is friendly."}
    ]);
    let result = passed(&mut project, criteria).await;
    assert_eq!(
        serde_json::to_value(&result.report.validation_details).unwrap(),
        json!({
            "commands_executed": [{"command": "cat out.txt; echo warn >&2", "exit_code": 0,
                                   "stdout": "hello\n", "stderr": "warn\n"}],
            "files_checked": [{"path": "app/out.txt", "exists": true},
                              {"path": "app", "exists": true}],
            "not_judged": [{"criterion": "The greeting is friendly.",
                            "because": "it is a description, which no command can check"}],
            "overall_status": "passed"
        })
    );
    assert_eq!(
        result.message,
        "Validation passed. One criterion was not checked: it is a description."
    );
}

#[tokio::test]
async fn a_description_alone_is_skipped() {
    let result = passed(&mut project(), json!([{"describe": "It is good."}])).await;
    assert_eq!(
        result.report.validation_details.overall_status,
        OverallStatus::Skipped
    );
    assert!(
        result
            .message
            .starts_with("Validation was skipped: no criterion can be checked"),
        "{}",
        result.message
    );
}

#[tokio::test]
async fn every_check_is_made_and_the_failure_has_them_all() {
    let criteria = json!([
        {"run": "echo one; exit 3"},
        {"run": "echo two"},
        {"file_exists": "gone.txt"},
        {"run": "sleep 30", "timeout": 1},
        {"run": "kill -9 $$"},
        {"run": "true", "cwd": "nowhere"}
    ]);
    let mut project = project();
    let failure = project.run(&task(criteria)).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Validation);
    let details = &failure.report.validation_details;
    let codes: Vec<_> = details
        .commands_executed
        .iter()
        .map(|run| run.exit_code)
        .collect();
    assert_eq!(codes, [Some(3), Some(0), None, None, None]);
    assert!(details.commands_executed[2].timed_out);
    assert_eq!(
        failure.message,
        "Task `check` failed validation: `echo one; exit 3` exited with code 3. `sleep 30` did not \
         end in time and was stopped. `kill -9 $$` was ended by a signal. `true` was not run: \
         `cwd`: there is no directory `nowhere`. `gone.txt` is not there."
    );
}

/// A text alone, what it is taken for, and words of the reason.
const READINGS: &[(&str, ReadAs, &str)] = &[
    ("sh -c 'exit 0'", ReadAs::Command, "program `sh`"),
    (
        "MODE=fast sh tools/check.sh",
        ReadAs::Command,
        "program `sh`",
    ),
    (
        "cd tools && sh check.sh",
        ReadAs::Command,
        "command of the shell",
    ),
    (
        "(cd tools && sh check.sh)",
        ReadAs::Command,
        "command of the shell",
    ),
    (
        "! grep -q nothing tools/check.sh",
        ReadAs::Command,
        "program `grep`",
    ),
    (
        "/bin/sh tools/check.sh",
        ReadAs::Command,
        "program `/bin/sh`",
    ),
    ("./run-me", ReadAs::Command, "program `./run-me`"),
    (
        "tools/check.sh --all",
        ReadAs::Command,
        "program `tools/check.sh`",
    ),
    (
        "test -f tools/check.sh",
        ReadAs::Command,
        "command of the shell",
    ),
    (
        "The script prints a greeting",
        ReadAs::Description,
        "sentence",
    ),
    (
        "test that the output is sorted",
        ReadAs::Description,
        "sentence",
    ),
    (
        "find out whether it works.",
        ReadAs::Description,
        "sentence",
    ),
    (
        "Greets politely",
        ReadAs::Description,
        "no program `Greets`",
    ),
    (
        "no-such-program --check",
        ReadAs::Description,
        "no program `no-such-program`",
    ),
    (
        "tools/gone.sh",
        ReadAs::Description,
        "no program `tools/gone.sh`",
    ),
    ("it's fine", ReadAs::Description, "quotes"),
    ("A=1", ReadAs::Description, "names no program"),
];

#[tokio::test]
async fn a_text_is_a_command_if_its_program_exists() {
    for (text, expected, because) in READINGS {
        let mut project = project().with_file("tools/check.sh", "exit 0\n");
        let report = match project.run(&task(json!([text]))).await {
            Ok(result) => result.report,
            Err(failure) => *failure.report,
        };
        let details = report.validation_details;
        let reading = &details.readings[0];
        assert_eq!(reading.read_as, *expected, "{text}: {}", reading.because);
        assert!(
            reading.because.contains(because),
            "{text}: {}",
            reading.because
        );
        let event = &project.recorder.all("criterion_read")[0];
        assert_eq!(event["reading"]["criterion"], *text);
        let is_command = *expected == ReadAs::Command;
        assert_eq!(
            details.commands_executed.len(),
            usize::from(is_command),
            "{text}"
        );
        let is_skipped = details.overall_status == OverallStatus::Skipped;
        assert_eq!(is_skipped, !is_command, "{text}");
    }
}

#[tokio::test]
async fn a_command_that_cannot_be_run_is_not_passed() {
    let mut project = project();
    project.toolset = project
        .toolset
        .clone()
        .only(|name| name != "execute_command");
    let failure = project
        .run(&task(json!([{"run": "true"}])))
        .await
        .unwrap_err();
    assert_eq!(failure.kind, FailureKind::Validation);
    assert!(
        failure
            .message
            .contains("`true` was not run: There is no tool"),
        "{}",
        failure.message
    );
}

#[tokio::test]
async fn long_output_is_cut_in_the_middle() {
    let mut project = project();
    project.limits.output_bytes_max = 4_000;
    let criteria = json!([{"run": "echo begin; yes filler | head -c 5000000; echo end; exit 1"}]);
    let failure = project.run(&task(criteria)).await.unwrap_err();
    let stdout = &failure.report.validation_details.commands_executed[0].stdout;
    assert!(
        stdout.starts_with("begin\n") && stdout.ends_with("end\n"),
        "{stdout}"
    );
    assert!(stdout.len() < 4_000, "{} bytes", stdout.len());
}

#[tokio::test]
async fn a_file_that_may_not_be_seen_is_not_said_to_be_there() {
    let mut project = project().with_file(".env", "KEY=1\n");
    let failure = project
        .run(&task(json!([{"file_exists": ".env"}])))
        .await
        .unwrap_err();
    let file = &failure.report.validation_details.files_checked[0];
    assert!(!file.exists);
    assert!(
        file.error.as_ref().unwrap().contains("may not be read"),
        "{file:?}"
    );
}

#[tokio::test]
async fn a_criterion_is_held_by_the_sandbox_of_the_tools() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("escaped");
    let mut project = project();
    // The best available sandbox; without one, the command is refused.
    let settings = agent::tools::CommandSettings::default();
    let commands = agent::tools::CommandAccess::Allowed(settings);
    project.toolset = agent::tools::standard(&project.workspace, commands).unwrap();
    let criteria = json!([{"run": format!("echo out > {}", target.display())}]);
    let failure = project.run(&task(criteria)).await.unwrap_err();
    assert!(!target.exists(), "{}", failure.message);
}

#[tokio::test]
async fn cancelling_ends_the_checks() {
    let mut project = project();
    let cancel = project.cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        cancel.cancel();
    });
    let criteria = json!([{"run": "sleep 30"}, {"run": "touch later"}]);
    let failure = project.run(&task(criteria)).await.unwrap_err();
    assert_eq!(
        failure.kind,
        FailureKind::Stopped(AgentErrorKind::Cancelled)
    );
    assert!(project.file("later").is_none());
}
