//! Queries of people about runs and tasks: lists with filters, prefixes of ids, and pending work.

use flow::engine::{
    AttemptOutcome, AttemptReport, EngineCommand, RunRow, RunStart, RunStatus, TaskAnswer,
    TaskStatus,
};
use flow::{ClaimRequest, RunId, TaskId, TextHash, WorkflowStore};
use serde_json::json;
use store::{RunCursor, RunFilter, TaskFilter};

use crate::place::{Place, now_ms, on_both};

on_both!(
    runs_are_listed_by_what_a_filter_says,
    filters_are_joined,
    a_list_goes_on_behind_its_cursor,
    runs_are_found_by_the_begin_of_their_id,
    a_workflow_is_found_by_its_title_or_by_its_file,
    tasks_are_listed_by_what_a_filter_says,
    what_is_pending_is_known_with_its_time,
    tags_and_notices_leave_with_their_run,
);

const ONE: &str = "graph TD\n    A[Work]\n";
const TITLED: &str = "---\ntitle: PR Review\n---\ngraph TD\n    A[Fetch] --> B(Look)\n";

async fn begin(store: &dyn WorkflowStore, source: &str, start: RunStart) -> TextHash {
    let hash = store.keep_workflow(source).await.unwrap();
    store.start(&hash, start).await.unwrap().unwrap();
    hash
}

fn named(id: &str, name: &str, tags: &[&str]) -> RunStart {
    RunStart {
        name: Some(name.to_owned()),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..RunStart::new(id, json!({}))
    }
}

async fn claim(store: &dyn WorkflowStore, run: &str, lease_ms: u64) -> (TaskId, u64) {
    let claim = ClaimRequest {
        worker: "w".to_owned(),
        max: 1,
        lease_ms,
        assignees: Vec::new(),
        runs: vec![RunId::new(run)],
        rates: Vec::new(),
    };
    let claimed = store.claim(claim).await.unwrap().remove(0);
    (claimed.task.id, claimed.task.fence)
}

async fn report(store: &dyn WorkflowStore, (task, fence): (TaskId, u64), report: AttemptReport) {
    let report = EngineCommand::Report {
        task,
        fence,
        report,
    };
    store.execute(report).await.unwrap().unwrap();
}

async fn complete(store: &dyn WorkflowStore, run: &str) {
    let claimed = claim(store, run, 60_000).await;
    report(store, claimed, AttemptReport::completed(json!(1))).await;
}

fn ids(runs: &[RunRow]) -> Vec<&str> {
    runs.iter().map(|run| run.id.as_str()).collect()
}

/// The time goes on, so that the order in which runs began is known.
async fn later() {
    tokio::time::sleep(std::time::Duration::from_millis(3)).await;
}

/// Five runs: `a` is completed and tagged, `b` fails, `c` and `d` go on, `e` is `d`'s child.
async fn filled(place: &Place) -> std::sync::Arc<dyn WorkflowStore> {
    let store = place.workflows().await;
    begin(&*store, ONE, named("a", "one", &["nightly", "x"])).await;
    complete(&*store, "a").await;
    later().await;
    begin(&*store, ONE, named("b", "one", &["nightly"])).await;
    let cancel = EngineCommand::Cancel {
        run: RunId::new("b"),
        reason: "no".to_owned(),
    };
    store.execute(cancel).await.unwrap().unwrap();
    later().await;
    begin(&*store, TITLED, named("c", "PR Review", &[])).await;
    later().await;
    let parent = "graph TD\n    S[[Run: child]]\n";
    begin(&*store, parent, named("d", "parent", &[])).await;
    let due = store.due(10).await.unwrap();
    let Some(flow::engine::TimerPurpose::StartChild { child }) =
        due.into_iter().next().map(|row| row.due)
    else {
        panic!("no child is to be started");
    };
    later().await;
    let start = RunStart {
        parent: Some(child.parent),
        depth: child.depth,
        ..named(child.run.as_str(), "child", &["nightly"])
    };
    begin(&*store, ONE, start).await;
    store
}

/// The runs that a filter wants, listed and counted.
async fn check_runs(place: &Place, filter: RunFilter, expected: &[&str]) {
    let queries = place.open().await;
    let listed = queries.list_runs(&filter, None, 9).await.unwrap();
    assert_eq!(ids(&listed), expected, "{filter:?}");
    let counted = queries.count_runs(&filter, 9).await.unwrap();
    assert_eq!(counted, expected.len(), "{filter:?}");
}

fn of(status: RunStatus) -> RunFilter {
    RunFilter {
        status: Some(status),
        ..RunFilter::default()
    }
}

fn tagged(tag: &str) -> RunFilter {
    RunFilter {
        tag: Some(tag.to_owned()),
        ..RunFilter::default()
    }
}

fn of_workflow(name: &str) -> RunFilter {
    RunFilter {
        workflow: Some(name.to_owned()),
        ..RunFilter::default()
    }
}

async fn runs_are_listed_by_what_a_filter_says(place: &Place) {
    let store = filled(place).await;
    let all = RunFilter::default();
    let queries = place.open().await;
    let newest = queries.list_runs(&all, None, 9).await.unwrap();
    let child = newest[0].id.as_str();
    check_runs(place, all.clone(), &[child, "d", "c", "b", "a"]).await;
    check_runs(place, of(RunStatus::Completed), &["a"]).await;
    check_runs(place, of(RunStatus::Running), &[child, "d", "c"]).await;
    check_runs(place, of(RunStatus::Failed), &[]).await;
    check_runs(place, tagged("nightly"), &[child, "b", "a"]).await;
    check_runs(place, tagged("x"), &["a"]).await;
    check_runs(place, tagged("nigh"), &[]).await;
    check_runs(place, of_workflow("ONE"), &[child, "b", "a"]).await;
    check_runs(place, of_workflow("review"), &["c"]).await;
    check_runs(place, of_workflow("no such"), &[]).await;
    assert_eq!(queries.count_runs(&all, 2).await.unwrap(), 2);
    let c_ms = store
        .run(&RunId::new("c"))
        .await
        .unwrap()
        .unwrap()
        .created_ms;
    let since = RunFilter {
        since_ms: Some(c_ms),
        ..all.clone()
    };
    check_runs(place, since, &[child, "d", "c"]).await;
    let before = RunFilter {
        before_ms: Some(c_ms),
        ..all
    };
    check_runs(place, before, &["b", "a"]).await;
}

async fn filters_are_joined(place: &Place) {
    filled(place).await;
    let top = |filter: RunFilter| RunFilter {
        is_top: true,
        ..filter
    };
    check_runs(place, top(RunFilter::default()), &["d", "c", "b", "a"]).await;
    check_runs(place, top(of(RunStatus::Running)), &["d", "c"]).await;
    check_runs(place, top(tagged("nightly")), &["b", "a"]).await;
    check_runs(place, top(of_workflow("one")), &["b", "a"]).await;
    let cancelled = RunFilter {
        status: Some(RunStatus::Cancelled),
        ..of_workflow("one")
    };
    check_runs(place, cancelled.clone(), &["b"]).await;
    let all_of_it = RunFilter {
        tag: Some("nightly".to_owned()),
        ..top(cancelled)
    };
    check_runs(place, all_of_it, &["b"]).await;
}

async fn a_list_goes_on_behind_its_cursor(place: &Place) {
    let store = place.workflows().await;
    for number in 0..7 {
        begin(&*store, ONE, named(&format!("r{number}"), "one", &["t"])).await;
    }
    let queries = place.open().await;
    for filter in [
        RunFilter::default(),
        RunFilter {
            workflow: Some("one".to_owned()),
            ..RunFilter::default()
        },
        RunFilter {
            tag: Some("t".to_owned()),
            ..RunFilter::default()
        },
    ] {
        let whole = queries.list_runs(&filter, None, 99).await.unwrap();
        let mut paged: Vec<RunRow> = Vec::new();
        loop {
            let after = paged.last().map(RunCursor::of);
            let page = queries.list_runs(&filter, after.as_ref(), 2).await.unwrap();
            if page.is_empty() {
                break;
            }
            paged.extend(page);
        }
        assert_eq!(ids(&paged), ids(&whole));
        assert_eq!(paged.len(), 7);
    }
}

async fn runs_are_found_by_the_begin_of_their_id(place: &Place) {
    let store = place.workflows().await;
    for id in ["19a8c1", "19a8c2", "19b", "é1"] {
        begin(&*store, ONE, named(id, "one", &[])).await;
    }
    let queries = place.open().await;
    for (prefix, expected) in [
        ("19a", vec!["19a8c1", "19a8c2"]),
        ("19a8c2", vec!["19a8c2"]),
        ("19", vec!["19a8c1", "19a8c2"]),
        ("é", vec!["é1"]),
        ("2", vec![]),
        ("%", vec![]),
    ] {
        let found = queries.runs_with_prefix(prefix, 2).await.unwrap();
        assert_eq!(ids(&found), expected, "{prefix}");
    }
}

async fn a_workflow_is_found_by_its_title_or_by_its_file(place: &Place) {
    let store = place.workflows().await;
    let queries = place.open().await;
    let hash = begin(&*store, TITLED, named("a", "PR Review", &[])).await;
    queries.name_workflow(&hash, "pipeline").await.unwrap();
    queries.name_workflow(&hash, "pipeline").await.unwrap();
    // As an older version began it: the text has no name.
    let old = "graph TD\n    X[Old step]\n";
    begin(&*store, old, RunStart::new("b", json!({}))).await;
    for (name, expected) in [
        ("pr rev", vec!["a"]),
        ("PIPE", vec!["a"]),
        ("old st", vec!["b"]),
    ] {
        let filter = RunFilter {
            workflow: Some(name.to_owned()),
            ..RunFilter::default()
        };
        let listed = queries.list_runs(&filter, None, 9).await.unwrap();
        assert_eq!(ids(&listed), expected, "{name}");
    }
}

/// The tasks that a filter wants, listed and counted.
async fn check_tasks(place: &Place, filter: TaskFilter, expected: &[&str]) {
    let queries = place.open().await;
    let listed = queries.list_tasks(&filter, 9).await.unwrap();
    let listed: Vec<String> = listed.iter().map(|task| task.id.to_string()).collect();
    assert_eq!(listed, expected, "{filter:?}");
    let counted = queries.count_tasks(&filter, 9).await.unwrap();
    assert_eq!(counted, expected.len(), "{filter:?}");
}

/// `a/A` is completed, `a/B` waits for a person, `b/A` is ada's, `c/A` is cancelled.
async fn with_tasks(place: &Place) {
    let store = place.workflows().await;
    begin(&*store, TITLED, named("a", "r", &[])).await;
    complete(&*store, "a").await;
    begin(&*store, ONE, named("b", "one", &[])).await;
    begin(&*store, ONE, named("c", "one", &[])).await;
    for command in [
        EngineCommand::Assign {
            task: "b/A".parse().unwrap(),
            assignee: Some("ada".to_owned()),
        },
        EngineCommand::Cancel {
            run: RunId::new("c"),
            reason: "no".to_owned(),
        },
    ] {
        store.execute(command).await.unwrap().unwrap();
    }
}

async fn tasks_are_listed_by_what_a_filter_says(place: &Place) {
    with_tasks(place).await;
    let active = TaskFilter::default();
    let all = TaskFilter {
        has_ended: true,
        ..active.clone()
    };
    check_tasks(place, active.clone(), &["a/B", "b/A"]).await;
    check_tasks(place, all.clone(), &["a/A", "a/B", "b/A", "c/A"]).await;
    for (status, expected) in [
        (TaskStatus::Completed, vec!["a/A"]),
        (TaskStatus::Cancelled, vec!["c/A"]),
        (TaskStatus::Failed, vec![]),
        (TaskStatus::Pending, vec!["a/B", "b/A"]),
    ] {
        let of = TaskFilter {
            status: Some(status),
            ..all.clone()
        };
        check_tasks(place, of, &expected).await;
    }
    let waiting = TaskFilter {
        is_waiting: true,
        ..active.clone()
    };
    check_tasks(place, waiting, &["a/B"]).await;
    let adas = TaskFilter {
        assignee: Some("ada".to_owned()),
        ..active.clone()
    };
    check_tasks(place, adas.clone(), &["b/A"]).await;
    let or_anybodys = TaskFilter {
        is_anybodys: true,
        ..adas
    };
    check_tasks(place, or_anybodys, &["a/B", "b/A"]).await;
    let of_a = |filter: &TaskFilter| TaskFilter {
        run: Some(RunId::new("a")),
        ..filter.clone()
    };
    check_tasks(place, of_a(&all), &["a/A", "a/B"]).await;
    check_tasks(place, of_a(&active), &["a/B"]).await;
    let queries = place.open().await;
    assert_eq!(queries.list_tasks(&all, 2).await.unwrap().len(), 2);
    assert_eq!(queries.count_tasks(&all, 3).await.unwrap(), 3);
}

async fn what_is_pending_is_known_with_its_time(place: &Place) {
    let store = place.workflows().await;
    let queries = place.open().await;
    let pending = async || queries.pending_work(&[]).await.unwrap();
    assert_eq!(pending().await.next_ms(), None);
    let retried = "graph TD\n    A[Work]\n\n%% === WORKFLOW_CONFIG ===\n\
        %% @A: { \"retry\": { \"attempts\": 3, \"delay\": \"1h\", \"maxDelay\": \"1h\" } }\n%% === END_CONFIG ===\n";
    begin(&*store, retried, named("a", "one", &[])).await;
    assert!(pending().await.ready_ms.unwrap() <= now_ms());
    let nobody = queries.pending_work(&["nobody".to_owned()]).await.unwrap();
    assert_eq!(nobody.ready_ms, None);
    let claimed = claim(&*store, "a", 60_000).await;
    let held = pending().await;
    assert!(held.ready_ms.is_none() && held.lease_ms.unwrap() > now_ms());
    let failed = AttemptOutcome::Failed(flow::engine::AttemptFailure {
        class: flow::engine::FailureClass::Unavailable,
        message: "503".to_owned(),
    });
    report(&*store, claimed, AttemptReport::of(failed)).await;
    let retry = pending().await;
    assert!(retry.ready_ms.unwrap() > now_ms() && retry.lease_ms.is_none());
    let pause = EngineCommand::Pause {
        run: RunId::new("a"),
        reason: "wait".to_owned(),
    };
    store.execute(pause).await.unwrap().unwrap();
    assert_eq!(pending().await.next_ms(), None, "a person resumes it");
    let timed = "graph TD\n    P(Approve)\n\n%% === WORKFLOW_CONFIG ===\n\
        %% @P: { \"timeout\": \"2h\" }\n%% === END_CONFIG ===\n";
    begin(&*store, timed, named("p", "one", &[])).await;
    assert!(pending().await.timer_ms.unwrap() > now_ms());
    let answer = EngineCommand::Answer {
        task: "p/P".parse().unwrap(),
        by: "ada".to_owned(),
        answer: TaskAnswer::Done { output: json!(1) },
    };
    store.execute(answer).await.unwrap().unwrap();
    assert_eq!(pending().await.next_ms(), None);
}

async fn tags_and_notices_leave_with_their_run(place: &Place) {
    let store = place.workflows().await;
    let queries = place.open().await;
    begin(&*store, ONE, named("a", "one", &["t"])).await;
    complete(&*store, "a").await;
    begin(&*store, ONE, named("b", "one", &["t"])).await;
    complete(&*store, "b").await;
    assert_eq!(store.notices(9).await.unwrap().len(), 2);
    later().await;
    let mut thrown = flow::PruneProgress::default();
    loop {
        thrown = store.throw_away(0, thrown).await.unwrap();
        if thrown.last.is_none() {
            break;
        }
    }
    assert_eq!(store.notices(9).await.unwrap(), vec![]);
    let tagged = RunFilter {
        tag: Some("t".to_owned()),
        ..RunFilter::default()
    };
    assert_eq!(queries.count_runs(&tagged, 9).await.unwrap(), 0);
}
