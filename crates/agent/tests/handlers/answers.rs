//! `ai_interaction`, `planning` and `no_op`.

use agent::handlers::{FailureKind, OverallStatus};
use agent::plan;
use llm::WireFormat;
use serde_json::{Value, json};

use crate::scripted::{FORMATS, calls, says};
use crate::task_project::{TaskProject, path};

fn question() -> Value {
    json!({"subtask_id": "ask", "type": "ai_interaction", "instructions": "Name the colours.",
           "input_artifacts": ["colours.txt"], "output_artifacts": ["docs/answer.md"]})
}

#[tokio::test]
async fn the_answer_is_written_to_the_first_output_artifact() {
    for format in FORMATS {
        let mut project = TaskProject::new(format, vec![says("Red and blue.")])
            .with_file("colours.txt", "red, blue\n");
        let result = project.run(&question()).await.unwrap();
        assert_eq!(project.file("docs/answer.md").unwrap(), "Red and blue.\n");
        assert_eq!(result.report.ai_result.unwrap().content, "Red and blue.");
        assert_eq!(result.report.files_written, [path("docs/answer.md")]);
        assert_eq!(
            result.report.validation_details.overall_status,
            OverallStatus::Skipped
        );
        let sent = project.sent(0);
        assert!(
            sent.contains("red, blue") && sent.contains("Name the colours."),
            "{sent}"
        );
        let body = &project.server.bodies()[0];
        assert!(
            body.get("tools").is_none_or(|tools| tools == &json!([])),
            "{body}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_may_not_be_written_is_not_asked_for() {
    let mut task = question();
    task["output_artifacts"] = json!([".git/hooks/pre-commit"]);
    let mut project = TaskProject::new(WireFormat::OpenAi, vec![says("Boo.")]);
    let failure = project.run(&task).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Files);
    assert!(
        failure.message.contains("may not be changed"),
        "{}",
        failure.message
    );
    assert_eq!(project.server.asked(), 0);
}

#[tokio::test]
async fn an_answer_is_checked_and_sent_back() {
    let mut task = question();
    task["validation_criteria"] = json!([{"run": "grep -q blue docs/answer.md"}]);
    let script = vec![says("Red."), says("Red and blue.")];
    let mut project = TaskProject::new(WireFormat::OpenAi, script);
    let result = project.run(&task).await.unwrap();
    assert_eq!(
        result.message,
        "The question was answered and validation passed."
    );
    assert_eq!(project.file("docs/answer.md").unwrap(), "Red and blue.\n");
    assert!(
        project
            .sent(1)
            .contains("`grep -q blue docs/answer.md` exited with code 1.")
    );
}

#[tokio::test]
async fn no_op_does_nothing() {
    let task = json!({"subtask_id": "join", "type": "no_op"});
    let mut project = TaskProject::new(WireFormat::OpenAi, vec![says("Nobody asks me.")]);
    let result = project.run(&task).await.unwrap();
    assert_eq!(result.message, "Nothing to do.");
    assert_eq!(project.server.asked(), 0);
}

fn planning() -> Value {
    json!({"subtask_id": "plan", "type": "planning", "description": "Plan it.",
           "input_artifacts": ["REQUIREMENTS.md"], "output_artifacts": ["plan.json"]})
}

const PLAN: &str = r#"{"goal": "Greet", "tasks": [
    {"subtask_id": "write", "name": "Write it", "type": "code_generation",
     "instructions": "Write it.", "output_artifacts": ["hello.sh"]},
    {"subtask_id": "check", "type": "validation", "depends_on": ["Write it"],
     "validation_criteria": [{"run": "sh hello.sh", "timeout": 5}]}]}"#;

#[tokio::test]
async fn requirements_become_a_plan_file_that_can_be_run() {
    for format in FORMATS {
        let look = calls(&[("list_files", json!({}))]);
        let reply = format!("Here is the plan:\n```json\n{PLAN}\n```\n");
        let mut project = TaskProject::new(format, vec![look, says(&reply)])
            .with_file("REQUIREMENTS.md", "Greet everybody.\n");
        let result = project.run(&planning()).await.unwrap();
        assert!(
            result.message.starts_with("A plan of 2 tasks was made"),
            "{}",
            result.message
        );
        let plan = plan::load(&project.workspace, &path("plan.json")).unwrap();
        assert_eq!(plan.goal.as_deref(), Some("Greet"));
        assert_eq!(plan.tasks[1].depends_on, ["write"]);
        let body = project.server.bodies()[0].to_string();
        assert!(body.contains("validation_criteria"), "the schema is shown");
        assert!(
            body.contains("read_file") && !body.contains("\"write_file\""),
            "{body}"
        );
        assert!(project.sent(0).contains("Greet everybody."));
    }
}

#[tokio::test]
async fn a_plan_that_cannot_be_run_is_sent_back_with_every_problem() {
    let bad = r#"{"goal": "Greet", "tasks": [
        {"subtask_id": "a", "type": "file_edit", "instructions": "x"},
        {"subtask_id": "b", "type": "no_op", "depends_on": ["c"]}]}"#;
    let locked = PLAN.replace("hello.sh\"]", ".git/config\"]");
    let script = vec![says("I cannot."), says(bad), says(&locked), says(PLAN)];
    let mut project = TaskProject::new(WireFormat::OpenAi, script);
    project.run(&planning()).await.unwrap();
    let told = |at: usize| project.server.sent(at).pop().unwrap();
    assert!(told(1).contains("this is not JSON"), "{}", told(1));
    assert!(told(2).contains("there is no task type `file_edit`; use `code_generation`"));
    assert!(told(2).contains("there is no task `c` to depend on"));
    assert!(
        told(3).contains("task `write`: `.git/config` may not be changed"),
        "{}",
        told(3)
    );
    assert!(project.file("plan.json").is_some());
}

#[tokio::test]
async fn a_model_that_cannot_plan_fails_and_writes_nothing() {
    let mut project = TaskProject::new(WireFormat::OpenAi, vec![says("{\"tasks\": []}")]);
    project.task_limits.plan_corrections_max = 2;
    let failure = project.run(&planning()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::InvalidPlan);
    assert!(
        failure.message.contains("agent.plan_corrections_max = 2"),
        "{}",
        failure.message
    );
    assert!(
        failure.message.contains("the plan has no tasks"),
        "{}",
        failure.message
    );
    assert_eq!(project.server.asked(), 3);
    assert!(project.file("plan.json").is_none());
}
