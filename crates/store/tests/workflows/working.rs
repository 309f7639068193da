//! A worker that does every automated task at once, with what the test says it gives.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use flow::engine::{
    AttemptReport, EngineCommand, EventKind, RefusalKind, RunStart, RunStatus, TaskStatus,
};
use flow::{
    ClaimRequest, FinishedTask, RunId, StoreError, StoreErrorKind, TaskId, TaskSelection,
    WorkflowStore, replay,
};
use serde_json::{Value, json};

/// Limits the empty claims before a run counts as stuck.
const IDLE_MAX: usize = 400;

/// Begins the run `r1`.
pub(crate) async fn begin(store: &Arc<dyn WorkflowStore>, source: &str) {
    let hash = store.keep_workflow(source).await.unwrap();
    let start = RunStart::new("r1", json!({}));
    store.start(&hash, start).await.unwrap().unwrap();
}

pub(crate) fn claim(max: usize, lease_ms: u64) -> ClaimRequest {
    ClaimRequest {
        worker: format!("w{}", std::process::id()),
        max,
        lease_ms,
        assignees: Vec::new(),
        runs: Vec::new(),
        rates: Vec::new(),
    }
}

/// Works until the run ends.
pub(crate) async fn work_off(store: &Arc<dyn WorkflowStore>, give: impl Fn(&TaskId) -> Value) {
    let run = RunId::new("r1");
    let mut idle = 0;
    while idle < IDLE_MAX {
        let row = store.run(&run).await.unwrap().unwrap();
        match row.status {
            RunStatus::Running => {}
            RunStatus::Completed => return,
            other => panic!("{other:?}: {:?}", row.reason),
        }
        recover(store).await.unwrap();
        let claimed = store.claim(claim(100, 60_000)).await.unwrap();
        let mut reporting = tokio::task::JoinSet::new();
        for one in &claimed {
            let report = report(&one.task.id, one.task.fence, give(&one.task.id));
            let store = Arc::clone(store);
            reporting.spawn(async move { store.execute(report).await.unwrap().unwrap() });
        }
        reporting.join_all().await;
        idle = match claimed.len() {
            0 => idle + 1,
            _ => 0,
        };
        if claimed.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    panic!("the run is stuck");
}

pub(crate) fn report(task: &TaskId, fence: u64, output: Value) -> EngineCommand {
    EngineCommand::Report {
        task: task.clone(),
        fence,
        report: AttemptReport::completed(output),
    }
}

/// Takes back what is with workers that died.
pub(crate) async fn recover(store: &Arc<dyn WorkflowStore>) -> Result<(), StoreError> {
    for (task, fence) in store.expired(1_000).await? {
        // A refusal means that another worker did it.
        let _ = store
            .execute(EngineCommand::LeaseLost { task, fence })
            .await?;
    }
    Ok(())
}

/// Works until the run ends, beside others and through whatever happens to the database; says what
/// it did with `say`, after the store has said it is kept.
pub(crate) async fn work_beside(
    store: &Arc<dyn WorkflowStore>,
    items: u32,
    lease_ms: u64,
    say: impl Fn(&str, &TaskId),
) {
    loop {
        match work_a_little(store, items, lease_ms, &say).await {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => {
                assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

/// Works once, and tells whether the run has ended.
async fn work_a_little(
    store: &Arc<dyn WorkflowStore>,
    items: u32,
    lease_ms: u64,
    say: &impl Fn(&str, &TaskId),
) -> Result<bool, StoreError> {
    if store.run(&RunId::new("r1")).await?.unwrap().status != RunStatus::Running {
        return Ok(true);
    }
    recover(store).await?;
    let claimed = store.claim(claim(8, lease_ms)).await?;
    if claimed.is_empty() {
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    for one in claimed {
        let task = &one.task.id;
        say("claimed", task);
        let report = report(task, one.task.fence, crate::whole_runs::give(task, items));
        match store.execute(report).await? {
            Ok(_) => say("reported", task),
            // The lease ended, or the heartbeat was stored but its reply was lost.
            Err(refusal) => assert_eq!(refusal.kind, RefusalKind::StaleFence, "{refusal}"),
        }
    }
    Ok(false)
}

/// Works as workers do: one turn reports results and claims the next tasks.
pub(crate) async fn take_turns(store: &Arc<dyn WorkflowStore>, items: u32, lease_ms: u64) {
    let mut done: Vec<FinishedTask> = Vec::new();
    loop {
        match store.turn(done.clone(), claim(8, lease_ms)).await {
            Ok(claimed) if claimed.is_empty() => {
                done.clear();
                let is_over = match store.run(&RunId::new("r1")).await {
                    Ok(run) => run.unwrap().status != RunStatus::Running,
                    Err(_) => false,
                };
                if is_over {
                    return;
                }
                // Errors of a server that is gone are expected here.
                let _ = recover(store).await;
                tokio::time::sleep(Duration::from_millis(3)).await;
            }
            Ok(claimed) => {
                let tasks = claimed.into_iter().map(|one| one.task);
                let done_now = tasks.map(|task| FinishedTask {
                    report: AttemptReport::completed(crate::whole_runs::give(&task.id, items)),
                    fence: task.fence,
                    task: task.id,
                });
                done = done_now.collect();
            }
            Err(error) => {
                assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

/// The events have no gap, give the rows when they are replayed, and so many tasks are completed,
/// each once.
pub(crate) async fn hold_to_events(store: &Arc<dyn WorkflowStore>, completed: usize) {
    let run = RunId::new("r1");
    let events = store.events(&run, 0, usize::MAX).await.unwrap();
    let skeleton = replay(&events).unwrap();
    let row = store.run(&run).await.unwrap().unwrap();
    assert_eq!(
        (skeleton.status, skeleton.seq, skeleton.active),
        (row.status, row.seq, row.active)
    );
    let tasks = store
        .tasks(Some(&run), TaskSelection::All, usize::MAX)
        .await;
    let tasks = tasks.unwrap().into_iter();
    let tasks: BTreeMap<_, _> = tasks.map(|row| (row.id, (row.kind, row.status))).collect();
    assert_eq!(tasks, skeleton.tasks);
    let ended = events.iter().filter(|event| match &event.what {
        EventKind::TaskMoved { by, .. } => by.to() == TaskStatus::Completed,
        _ => false,
    });
    assert_eq!(ended.count(), completed);
}
