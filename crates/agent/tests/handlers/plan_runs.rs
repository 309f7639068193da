//! Running a plan: order, failures and those that depend on them, resume in the middle.

use agent::handlers::FailureKind;
use agent::plan::{PlanOutcome, PlanStatus, TaskState};
use agent::{AgentErrorKind, Error, TurnJournal};
use llm::WireFormat;
use serde_json::{Value, json};

use crate::scripted::{FORMATS, ServerAct, calls, says};
use crate::task_project::TaskProject;

fn write(path: &str, text: &str) -> ServerAct {
    calls(&[("write_file", json!({"path": path, "content": text}))])
}

fn task(id: &str, after: &[&str]) -> Value {
    json!({"subtask_id": id, "type": "code_generation", "instructions": format!("Make {id}."),
           "output_artifacts": [format!("{id}.txt")], "depends_on": after})
}

fn project(format: WireFormat, tasks: &[Value], script: Vec<ServerAct>) -> TaskProject {
    let plan = json!({"goal": "All of it", "tasks": tasks});
    TaskProject::new(format, script).with_file("plan.json", &plan.to_string())
}

fn standings(outcome: &PlanOutcome) -> Vec<(&str, &str, bool)> {
    let tasks = outcome.tasks.iter();
    tasks
        .map(|end| (end.subtask_id.as_str(), end.standing.word(), end.kept))
        .collect()
}

#[tokio::test]
async fn tasks_run_in_the_order_of_their_dependencies_and_know_what_came_before() {
    for format in FORMATS {
        let tasks = [task("b", &["a"]), task("a", &[])];
        let script = vec![
            write("a.txt", "a\n"),
            says("Made a, which is alpha."),
            write("b.txt", "b\n"),
            says("Made b."),
        ];
        let mut project = project(format, &tasks, script);
        let outcome = project.run_plan().await;
        assert_eq!(outcome.status, PlanStatus::Completed);
        assert_eq!(
            standings(&outcome),
            [("a", "completed", false), ("b", "completed", false)]
        );
        assert!(project.sent(0).contains("Make a."));
        let sent = project.sent(2);
        assert!(
            sent.contains("### Result of the earlier task `a` (a)"),
            "{sent}"
        );
        assert!(sent.contains("Made a, which is alpha."), "{sent}");
        assert!(
            !sent.contains("Make a."),
            "each task has a conversation of its own: {sent}"
        );
    }
}

#[tokio::test]
async fn a_failure_skips_what_depends_on_it_and_nothing_else() {
    let tasks = [
        task("bad", &[]),
        task("after-bad", &["bad"]),
        task("after-that", &["after-bad", "good"]),
        json!({"subtask_id": "good", "type": "no_op"}),
    ];
    let mut project = project(WireFormat::OpenAi, &tasks, vec![says("I did nothing.")]);
    project.task_limits.validation_retries_max = 0;
    let outcome = project.run_plan().await;
    assert_eq!(outcome.status, PlanStatus::Failed);
    assert_eq!(
        standings(&outcome),
        [
            ("bad", "failed", false),
            ("after-bad", "skipped", false),
            ("good", "completed", false),
            ("after-that", "skipped", false),
        ]
    );
    let shown = serde_json::to_value(&outcome).unwrap();
    assert_eq!(shown["tasks"][0]["failure"]["kind"], "missing_artifact");
    assert_eq!(shown["tasks"][1]["because"], json!(["bad"]));
    assert_eq!(shown["tasks"][3]["because"], json!(["after-bad"]));
    assert_eq!(project.recorder.all("task_skipped").len(), 2);
}

#[tokio::test]
async fn a_resumed_run_does_not_repeat_what_is_done() {
    let tasks = [task("a", &[]), task("b", &["a"]), task("c", &["b"])];
    let script = vec![
        write("a.txt", "a\n"),
        says("Made a."),
        write("b.txt", "half\n"),
        // The provider dies in the middle of `b`.
        ServerAct::Status(400),
    ];
    let mut project = project(WireFormat::Anthropic, &tasks, script);
    let outcome = project.run_plan().await;
    assert_eq!(
        standings(&outcome),
        [
            ("a", "completed", false),
            ("b", "failed", false),
            ("c", "skipped", false)
        ]
    );
    std::fs::remove_file(project.dir.path().join("a.txt")).unwrap();
    let script = vec![says("Made b."), write("c.txt", "c\n"), says("Made c.")];
    let mut project = project.answering(script);
    let outcome = project.run_plan().await;
    assert_eq!(outcome.status, PlanStatus::Completed);
    assert_eq!(
        standings(&outcome),
        [
            ("a", "completed", true),
            ("b", "completed", false),
            ("c", "completed", false)
        ]
    );
    // `a` was not run again, and `b` went on with what it had said and done.
    assert!(project.file("a.txt").is_none());
    let sent = project.sent(0);
    assert!(
        sent.contains("Make b.") && sent.contains("call write_file"),
        "{sent}"
    );
    assert_eq!(project.server.asked(), 3);
}

#[tokio::test]
async fn a_task_whose_definition_changed_is_run_again_with_those_after_it() {
    let tasks = [task("a", &[]), task("b", &[]), task("c", &["b"])];
    let script = |id: &str| vec![write(&format!("{id}.txt"), id), says("Made.")];
    let all = ["a", "b", "c"].iter().flat_map(|id| script(id)).collect();
    let mut project = project(WireFormat::OpenAi, &tasks, all);
    assert_eq!(project.run_plan().await.status, PlanStatus::Completed);
    let mut changed = tasks.clone();
    changed[1]["instructions"] = json!("Make b better.");
    let plan = json!({"tasks": changed}).to_string();
    let mut project = project
        .with_file("plan.json", &plan)
        .answering(vec![says("Made again.")]);
    let outcome = project.run_plan().await;
    assert_eq!(
        standings(&outcome),
        [
            ("a", "completed", true),
            ("b", "completed", false),
            ("c", "completed", false)
        ]
    );
    assert!(project.sent(0).contains("Make b better."));
    assert_eq!(
        project.sent(0).matches("user:").count(),
        1,
        "a new conversation"
    );
}

#[tokio::test]
async fn cancelling_stops_the_plan_and_it_can_be_gone_on_with() {
    let tasks = [
        json!({"subtask_id": "a", "type": "no_op"}),
        json!({"subtask_id": "slow", "type": "validation", "validation_criteria": [{"run": "sleep 20"}]}),
        json!({"subtask_id": "z", "type": "no_op"}),
    ];
    let mut project = project(WireFormat::OpenAi, &tasks, vec![says("Nobody asks me.")]);
    let cancel = project.cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        cancel.cancel();
    });
    let outcome = project.run_plan().await;
    assert_eq!(outcome.status, PlanStatus::Stopped);
    assert_eq!(
        outcome.stopped.unwrap().kind,
        FailureKind::Stopped(AgentErrorKind::Cancelled)
    );
    let words: Vec<_> = outcome
        .tasks
        .iter()
        .map(|end| end.standing.word())
        .collect();
    assert_eq!(words, ["completed", "failed", "pending"]);
    let records = project.plan_journal.records();
    let slow = records
        .iter()
        .find(|record| record.key.id.as_str() == "slow")
        .unwrap();
    assert_eq!(slow.standing, TaskState::Running);
}

/// A journal that dies when the model's first answer is to be kept, as a process would.
struct DyingPlanJournal(agent::MemoryJournal);

impl TurnJournal for DyingPlanJournal {
    fn load(&mut self) -> agent::JournalFuture<'_, agent::TurnHistory> {
        self.0.load()
    }

    fn note<'a>(&'a mut self, note: &'a agent::TurnNote) -> agent::JournalFuture<'a, ()> {
        self.0.note(note)
    }

    fn commit<'a>(&'a mut self, _: &'a agent::ConversationTurn) -> agent::JournalFuture<'a, ()> {
        Box::pin(async { Err(Error::new(AgentErrorKind::Journal, "the disk is full")) })
    }
}

#[tokio::test]
async fn what_cannot_be_kept_is_not_done_twice() {
    let first = task("a", &[]);
    let script = vec![write("a.txt", "once\n"), says("Made a.")];
    let mut project = project(WireFormat::OpenAi, &[], script);
    let memory = agent::MemoryJournal::default();
    let failure = project
        .run_with(&first, &mut DyingPlanJournal(memory.clone()))
        .await
        .unwrap_err();
    assert_eq!(failure.kind, FailureKind::Stopped(AgentErrorKind::Journal));
    assert!(failure.kind.ends_the_plan());
    std::fs::remove_file(project.dir.path().join("a.txt")).unwrap();
    // The call had ended and was noted: it is not made again, so the artifact stays away.
    project.task_limits.validation_retries_max = 0;
    let failure = project
        .run_with(&first, &mut memory.clone())
        .await
        .unwrap_err();
    assert_eq!(failure.kind, FailureKind::MissingArtifact);
    assert_eq!(project.server.asked(), 2);
}
