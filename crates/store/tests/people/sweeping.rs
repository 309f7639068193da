//! Old runs are thrown away with all that is theirs; what is needed stays.

use std::sync::Arc;

use flow::engine::{AttemptReport, ChildRun, EngineCommand, RunStart, TimerPurpose};
use flow::{ClaimRequest, PruneProgress, RunDeletion, RunId, TaskId, TaskSelection, WorkflowStore};
use serde_json::json;

use crate::place::{Place, on_both};

on_both!(
    what_is_thrown_away_is_gone_whole_and_the_rest_stays,
    children_stay_as_long_as_their_parents,
    runs_are_deleted_by_name_with_the_runs_they_started,
);

const FAN: &str = "graph TD\n    E[[Each: i]] --> J[Join items]\n\n%% === WORKFLOW_CONFIG ===\n\
    %% @E: { \"stepType\": \"foreach\", \"itemsPath\": \"input.items\", \"itemVariable\": \"i\", \"prompt\": \"Do {{i}}.\" }\n\
    %% @J: { \"stepType\": \"join\" }\n%% === END_CONFIG ===\n";
const PARENT: &str = "graph TD\n    S[[Run: child]] --> B[After]\n";
const CHILD: &str = "graph TD\n    X[Work]\n";
/// More than one portion.
const MANY: usize = 23;

async fn start(store: &dyn WorkflowStore, source: &str, start: RunStart) {
    let hash = store.keep_workflow(source).await.unwrap();
    store.start(&hash, start).await.unwrap().unwrap();
}

/// Does all that is ready in these runs, until nothing is.
async fn work_off(store: &Arc<dyn WorkflowStore>, runs: &[&str]) {
    loop {
        let claim = ClaimRequest {
            worker: "w".to_owned(),
            max: 50,
            lease_ms: 60_000,
            assignees: Vec::new(),
            runs: runs.iter().map(|run| RunId::new(*run)).collect(),
            rates: Vec::new(),
        };
        let claimed = store.claim(claim).await.unwrap();
        if claimed.is_empty() {
            return;
        }
        for one in claimed {
            let report = EngineCommand::Report {
                task: one.task.id,
                fence: one.task.fence,
                report: AttemptReport::completed(json!(1)),
            };
            store.execute(report).await.unwrap().unwrap();
        }
    }
}

async fn throw_all(store: &dyn WorkflowStore, age_ms: u64) -> usize {
    let mut thrown = PruneProgress::default();
    loop {
        thrown = store.throw_away(age_ms, thrown).await.unwrap();
        if thrown.last.is_none() {
            return thrown.count;
        }
    }
}

/// Returns what is left of a run: itself, its tasks, its events.
async fn left(store: &dyn WorkflowStore, run: &str) -> (bool, usize, usize) {
    let run = RunId::new(run);
    let tasks = store
        .tasks(Some(&run), TaskSelection::All, 1_000)
        .await
        .unwrap();
    let events = store.events(&run, 0, 1_000).await.unwrap();
    let is_there = store.run(&run).await.unwrap().is_some();
    (is_there, tasks.len(), events.len())
}

async fn what_is_thrown_away_is_gone_whole_and_the_rest_stays(place: &Place) {
    let store = place.workflows().await;
    let names: Vec<String> = (0..MANY).map(|number| format!("old{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for name in &names {
        let input = json!({ "items": [1, 2, 3] });
        start(&*store, FAN, RunStart::new(*name, input)).await;
    }
    work_off(&store, &names).await;
    start(&*store, CHILD, RunStart::new("going", json!({}))).await;
    assert_eq!(throw_all(&*store, 60_000).await, 0, "nothing is that old");
    assert!(left(&*store, "old0").await.0);
    // They ended in a millisecond that is over.
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    assert_eq!(throw_all(&*store, 0).await, MANY);
    for name in names {
        assert_eq!(left(&*store, name).await, (false, 0, 0), "{name}");
    }
    let (is_there, tasks, events) = left(&*store, "going").await;
    assert!(is_there && tasks == 1 && events > 0);
    // The name is free, and nothing is left that the new one would run into.
    let again = RunStart::new("old0", json!({ "items": [1, 2, 3, 4] }));
    start(&*store, FAN, again).await;
    work_off(&store, &["old0", "going"]).await;
    let run = store.run(&RunId::new("old0")).await.unwrap().unwrap();
    assert!(run.status.is_terminal(), "{run:?}");
}

async fn children_stay_as_long_as_their_parents(place: &Place) {
    let store = place.workflows().await;
    start(&*store, PARENT, RunStart::new("parent", json!({}))).await;
    let due = store.due(10).await.unwrap();
    let Some(TimerPurpose::StartChild { child }) = due.into_iter().next().map(|timer| timer.due)
    else {
        panic!("no child is to be started");
    };
    let ChildRun {
        run: child,
        parent,
        depth,
        ..
    } = child;
    let begin = RunStart {
        parent: Some(parent),
        depth,
        ..RunStart::new(child.clone(), json!({}))
    };
    start(&*store, CHILD, begin).await;
    work_off(&store, &[child.as_str()]).await;
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    assert_eq!(throw_all(&*store, 0).await, 0, "its parent waits");
    for timer in store.due(10).await.unwrap() {
        let fire = EngineCommand::Fire {
            run: timer.run,
            key: timer.key,
        };
        let _ = store.execute(fire).await.unwrap();
    }
    work_off(&store, &["parent"]).await;
    let after: TaskId = "parent/B".parse().unwrap();
    assert!(store.task(&after).await.unwrap().is_some());
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    assert_eq!(throw_all(&*store, 0).await, 1, "the parent alone");
    assert_eq!(throw_all(&*store, 0).await, 1, "then its child");
}

async fn runs_are_deleted_by_name_with_the_runs_they_started(place: &Place) {
    let store = place.workflows().await;
    start(&*store, PARENT, RunStart::new("parent", json!({}))).await;
    let due = store.due(10).await.unwrap();
    let Some(TimerPurpose::StartChild { child }) = due.into_iter().next().map(|timer| timer.due)
    else {
        panic!("no child is to be started");
    };
    let ChildRun {
        run: child,
        parent,
        depth,
        ..
    } = child;
    let begin = RunStart {
        parent: Some(parent.clone()),
        depth,
        ..RunStart::new(child.clone(), json!({}))
    };
    start(&*store, CHILD, begin).await;
    start(&*store, CHILD, RunStart::new("other", json!({}))).await;
    let delete = async |run: &str| {
        let runs = [RunId::new(run)];
        store.delete_runs(&runs).await.unwrap().remove(0)
    };
    assert_eq!(delete("none").await, RunDeletion::NoSuchRun);
    assert_eq!(
        delete("parent").await,
        RunDeletion::NotEnded(RunId::new("parent"))
    );
    assert_eq!(delete(child.as_str()).await, RunDeletion::Needed(parent));
    work_off(&store, &[child.as_str()]).await;
    for timer in store.due(10).await.unwrap() {
        let fire = EngineCommand::Fire {
            run: timer.run,
            key: timer.key,
        };
        let _ = store.execute(fire).await.unwrap();
    }
    work_off(&store, &["parent"]).await;
    assert_eq!(delete("parent").await, RunDeletion::Done);
    for gone in ["parent", child.as_str()] {
        assert_eq!(left(&*store, gone).await, (false, 0, 0), "{gone}");
    }
    let (is_there, tasks, _) = left(&*store, "other").await;
    assert!(is_there && tasks == 1);
}
