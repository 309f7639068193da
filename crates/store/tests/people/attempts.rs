//! Attempts: who had a task when and how it ended, derived from the events of its run.

use flow::engine::TaskStatus;
use flow::engine::{
    AttemptFailure, AttemptOutcome, AttemptReport, EngineCommand, FailureClass, RunStart,
    SpentAmount, TaskAnswer,
};
use flow::{ClaimRequest, TaskId, WorkflowStore};
use serde_json::json;
use store::{AttemptRecord, attempts};

use crate::place::{Place, on_both};

on_both!(
    attempts_are_told_in_order_with_who_and_why,
    tasks_beside_each_other_have_attempts_of_their_own,
);

const ONE: &str = "graph TD\n    A[Work]\n    B(Look)\n    A --> B\n\n%% === WORKFLOW_CONFIG ===\n\
    %% @A: { \"handler\": \"no_op\", \"retry\": { \"attempts\": 2, \"delay\": \"1ms\" } }\n\
    %% === END_CONFIG ===\n";

async fn began(store: &dyn WorkflowStore) -> TaskId {
    let hash = store.keep_workflow(ONE).await.unwrap();
    let start = RunStart::new("r1", json!(null));
    store.start(&hash, start).await.unwrap().unwrap();
    "r1/A".parse().unwrap()
}

/// A worker takes what is ready, as soon as it is, and says how it ended.
async fn work(store: &dyn WorkflowStore, worker: &str, outcome: AttemptOutcome) {
    let claim = ClaimRequest {
        worker: worker.to_owned(),
        max: 1,
        lease_ms: 60_000,
        assignees: Vec::new(),
        runs: Vec::new(),
        rates: Vec::new(),
    };
    let claimed = loop {
        match store.claim(claim.clone()).await.unwrap().pop() {
            Some(claimed) => break claimed.task,
            None => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
        }
    };
    let spent = SpentAmount {
        tokens: 10,
        micros: 5,
    };
    let report = AttemptReport {
        spent,
        ..AttemptReport::of(outcome)
    };
    let report = EngineCommand::Report {
        task: claimed.id,
        fence: claimed.fence,
        report,
    };
    store.execute(report).await.unwrap().unwrap();
}

fn failed(class: FailureClass, message: &str) -> AttemptOutcome {
    AttemptOutcome::Failed(AttemptFailure {
        class,
        message: message.to_owned(),
    })
}

/// The number, who, where the task was left, and why.
type Told<'a> = (u32, Option<&'a str>, Option<TaskStatus>, Option<&'a str>);

fn told(attempts: &[AttemptRecord]) -> Vec<Told<'_>> {
    let told = attempts.iter().map(|one| {
        let end = one.end.as_ref();
        let message = end.and_then(|end| end.message.as_deref());
        (
            one.number,
            one.by.as_deref(),
            end.map(|end| end.status),
            message,
        )
    });
    told.collect()
}

async fn attempts_are_told_in_order_with_who_and_why(place: &Place) {
    let store = place.workflows().await;
    let task = began(&*store).await;
    assert_eq!(attempts(&*store, &task).await.unwrap(), []);
    work(&*store, "w1", failed(FailureClass::Timeout, "Slow.")).await;
    let first = attempts(&*store, &task).await.unwrap();
    let end = first[0].end.clone().unwrap();
    assert_eq!(end.class, Some(FailureClass::Timeout));
    assert!(end.at_ms >= first[0].begun_ms);
    assert_eq!(first[0].spent.unwrap().tokens, 10);

    work(&*store, "w2", failed(FailureClass::Unavailable, "Gone.")).await;
    let retry = EngineCommand::Retry {
        task: task.clone(),
        with: None,
    };
    store.execute(retry).await.unwrap().unwrap();
    let done = AttemptOutcome::Completed {
        output: json!({}),
        partial: false,
    };
    work(&*store, "w3", done).await;
    let all = attempts(&*store, &task).await.unwrap();
    let expected = vec![
        (1, Some("w1"), Some(TaskStatus::Pending), Some("Slow.")),
        (2, Some("w2"), Some(TaskStatus::OnHold), Some("Gone.")),
        (3, Some("w3"), Some(TaskStatus::Completed), None),
    ];
    assert_eq!(told(&all), expected);
    let classes: Vec<_> = all
        .iter()
        .map(|one| one.end.as_ref().unwrap().class)
        .collect();
    let expected = [
        Some(FailureClass::Timeout),
        Some(FailureClass::Unavailable),
        None,
    ];
    assert_eq!(classes, expected);
    assert!(all.iter().all(|one| one.spent.unwrap().tokens == 10));
    assert!(all.is_sorted_by_key(|one| one.begun_ms));

    let manual: TaskId = "r1/B".parse().unwrap();
    let answer = EngineCommand::Answer {
        task: manual.clone(),
        by: "ada".to_owned(),
        answer: TaskAnswer::Done { output: json!(1) },
    };
    store.execute(answer).await.unwrap().unwrap();
    let manual = attempts(&*store, &manual).await.unwrap();
    let expected = [(1, Some("ada"), Some(TaskStatus::Completed), None)];
    assert_eq!(told(&manual), expected);
    let nowhere = "r1/Z".parse().unwrap();
    assert_eq!(attempts(&*store, &nowhere).await.unwrap(), []);
}

async fn tasks_beside_each_other_have_attempts_of_their_own(place: &Place) {
    const MANY: u32 = 12;
    let store = place.workflows().await;
    let text = "graph TD\n    E[[Each: i]] --> W[Work]\n    W --> J[[Join: W]]\n\n\
        %% === WORKFLOW_CONFIG ===\n%% @E: { \"itemsPath\": \"input.items\", \"itemVariable\": \"i\" }\n\
        %% @W: { \"handler\": \"no_op\" }\n%% === END_CONFIG ===\n";
    let hash = store.keep_workflow(text).await.unwrap();
    let items: Vec<u32> = (0..MANY).collect();
    let start = RunStart::new("r1", json!({ "items": items }));
    store.start(&hash, start).await.unwrap().unwrap();
    let done = || AttemptOutcome::Completed {
        output: json!(1),
        partial: false,
    };
    for number in 0..MANY {
        work(&*store, &format!("w{number}"), done()).await;
    }
    let mut workers = Vec::new();
    for index in 0..MANY {
        let task = format!("r1/E[{index}]/W").parse().unwrap();
        let attempts = attempts(&*store, &task).await.unwrap();
        assert_eq!(attempts.len(), 1, "{task}");
        workers.push(attempts[0].by.clone().unwrap());
    }
    workers.sort();
    workers.dedup();
    assert_eq!(workers.len() as u32, MANY);
}
