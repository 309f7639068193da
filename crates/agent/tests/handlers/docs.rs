//! The examples of `docs/tasks.md`: each is read, and the plan is run as the page says.

use agent::plan::{self, PlanStatus, TaskMark};
use agent::task;
use llm::WireFormat;
use serde_json::json;

use crate::scripted::{calls, says};
use crate::task_project::{TaskProject, path};

const PAGE: &str = include_str!("../../../../docs/tasks.md");

/// The blocks of the page in a language, in order; the name of their file may follow the language.
fn blocks(language: &str) -> Vec<&'static str> {
    let open = format!("\n```{language}");
    let mut blocks = Vec::new();
    let mut rest = PAGE;
    while let Some(at) = rest.find(&open) {
        let body = &rest[at + open.len()..];
        let body = &body[body.find('\n').unwrap() + 1..];
        let end = body.find("\n```").unwrap();
        blocks.push(&body[..=end]);
        rest = &body[end..];
    }
    blocks
}

#[test]
fn the_task_of_the_page_is_a_task() {
    let task = task::read(blocks("json")[0], "docs/tasks.md").unwrap();
    assert_eq!(task.subtask_id.as_str(), "slugify");
}

#[tokio::test]
async fn the_plan_of_the_page_runs() {
    let write =
        |path: &str, text: &str| calls(&[("write_file", json!({"path": path, "content": text}))]);
    let script = vec![
        write("slugify.sh", "tr 'A-Z ' 'a-z-'\n"),
        says("Written."),
        says("It makes addresses out of titles."),
    ];
    let mut project = TaskProject::new(WireFormat::OpenAi, script)
        .with_file("README.md", "# Slugs\n")
        .with_file("tasks/slugify.json", blocks("json")[0])
        .with_file(
            "test.sh",
            "[ \"$(echo 'Hello World' | sh slugify.sh)\" = hello-world ]\n",
        )
        .with_file("plan.json", blocks("json")[1]);
    let plan = plan::load(&project.workspace, &path("plan.json")).unwrap();
    let picture = plan.graph.to_text(|_| TaskMark::Open);
    assert!(
        PAGE.contains(&picture),
        "the page shows another picture than:\n{picture}"
    );
    let outcome = project.run_plan().await;
    assert_eq!(outcome.status, PlanStatus::Completed, "{outcome:#?}");
    assert_eq!(
        project.file("docs/slugify.md").unwrap(),
        "It makes addresses out of titles.\n"
    );
}

#[test]
fn the_page_names_every_limit_and_field() {
    let limits = serde_json::to_value(agent::handlers::TaskLimits::default()).unwrap();
    for name in limits.as_object().unwrap().keys() {
        assert!(
            PAGE.contains(&format!("agent.{name}")),
            "`{name}` is not on the page"
        );
    }
    let schema = task::schema();
    for name in schema["properties"].as_object().unwrap().keys() {
        assert!(
            PAGE.contains(&format!("`{name}`")),
            "`{name}` is not on the page"
        );
    }
}
