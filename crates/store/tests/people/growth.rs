//! A database with many runs that have ended: looking reads no table from begin to end, and a step takes
//! less than a kilobyte.

use std::sync::Arc;

use flow::engine::{AttemptReport, RunStart, RunStatus, TaskStatus};
use flow::{ClaimRequest, FinishedTask, RunId, TaskSelection, WorkflowStore};
use serde_json::json;
use sqlx::{Connection as _, PgConnection, SqliteConnection};
use store::{RunFilter, TaskFilter};

use crate::cluster::{Cluster, Flush};
use crate::place::Place;

const CHAIN: &str = "graph TD\n    A[One] --> B[Two]\n    B --> C[Three]\n";
const STEPS: i64 = 3;
/// The number of runs that the engine makes at a time.
const RUNS: usize = 50;

fn id(number: usize) -> String {
    format!("19a8c0{number:011x}")
}

/// Works as a worker does: reports results with the next claim.
async fn work_off(store: &Arc<dyn WorkflowStore>) {
    let mut done = Vec::new();
    loop {
        let claim = ClaimRequest {
            worker: "host-1234-abcdef".to_owned(),
            max: 8,
            lease_ms: 60_000,
            assignees: Vec::new(),
            runs: Vec::new(),
            rates: Vec::new(),
        };
        let claimed = store.turn(done, claim).await.unwrap();
        if claimed.is_empty() {
            return;
        }
        let all = claimed.into_iter().map(|one| FinishedTask {
            task: one.task.id,
            fence: one.task.fence,
            report: AttemptReport::completed(json!({ "ok": true })),
        });
        done = all.collect();
    }
}

async fn begin(store: &Arc<dyn WorkflowStore>, numbers: std::ops::Range<usize>) {
    let hash = store.keep_workflow(CHAIN).await.unwrap();
    for number in numbers {
        let start = RunStart {
            name: Some("chain".to_owned()),
            ..RunStart::new(id(number), json!({}))
        };
        store.start(&hash, start).await.unwrap().unwrap();
    }
    work_off(store).await;
}

/// Every question that `runs list`, `runs show`, `tasks list` and ids on the command line come to.
async fn look_at_everything(place: &Place) {
    let (queries, store) = (place.open().await, place.workflows().await);
    let all = RunFilter::default();
    for filter in [
        all.clone(),
        RunFilter {
            is_top: true,
            ..all.clone()
        },
        RunFilter {
            status: Some(RunStatus::Paused),
            ..all.clone()
        },
        RunFilter {
            workflow: Some("chain".to_owned()),
            status: Some(RunStatus::Failed),
            ..all.clone()
        },
        RunFilter {
            tag: Some("none".to_owned()),
            ..all
        },
    ] {
        queries.list_runs(&filter, None, 20).await.unwrap();
        queries.count_runs(&filter, 1_000).await.unwrap();
    }
    let run = RunId::new(id(7));
    queries
        .runs_with_prefix("19a8c00000000000", 2)
        .await
        .unwrap();
    queries.pending_work(&[]).await.unwrap();
    for filter in [
        TaskFilter::default(),
        TaskFilter {
            run: Some(run.clone()),
            has_ended: true,
            ..TaskFilter::default()
        },
        TaskFilter {
            has_ended: true,
            status: Some(TaskStatus::Failed),
            ..TaskFilter::default()
        },
    ] {
        queries.list_tasks(&filter, 100).await.unwrap();
        queries.count_tasks(&filter, 1_000).await.unwrap();
    }
    assert_eq!(
        store
            .tasks(Some(&run), TaskSelection::All, 99)
            .await
            .unwrap()
            .len(),
        3
    );
    assert!(!store.events(&run, 0, 99).await.unwrap().is_empty());
    assert!(store.run(&run).await.unwrap().is_some());
    store.runs(Some(RunStatus::Failed), 20).await.unwrap();
    store.due(10).await.unwrap();
    store.expired(10).await.unwrap();
    queries.claim_notices(1, 1, 10).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_reads_no_table_whole_however_many_runs_there_are() {
    let cluster = Cluster::start(Flush::No).await;
    let place = Place::server(&cluster, "growth").await;
    begin(&place.workflows().await, 0..RUNS).await;
    let mut connection: PgConnection = cluster.connect("growth").await.unwrap();
    for sql in [
        "INSERT INTO workflow_runs (id, workflow, status, created_ms, input, body) \
         SELECT id || n, workflow, status, created_ms + n, input, replace(body, id, id || n) \
         FROM workflow_runs, generate_series(1, 200) AS n",
        "INSERT INTO workflow_tasks (id, run, path, place, visit, status, fence, is_active, body) \
         SELECT replace(id, run, run || n), run || n, path, replace(place, run, run || n), visit, \
         status, fence, is_active, replace(body, run, run || n) \
         FROM workflow_tasks, generate_series(1, 200) AS n",
        "INSERT INTO workflow_notices (run, due_ms, body) SELECT run, 1000 + n, body \
         FROM workflow_notices, generate_series(1, 200) AS n",
        "VACUUM ANALYZE",
    ] {
        sqlx::query(sql).execute(&mut connection).await.unwrap();
    }
    let count = "SELECT coalesce(sum(seq_tup_read), 0)::bigint FROM pg_stat_user_tables \
                 WHERE relname IN ('workflow_runs', 'workflow_tasks', 'workflow_events', 'workflow_notices')";
    let read = async |connection: &mut PgConnection| -> i64 {
        // PostgreSQL reports the reads of other connections when they are idle.
        tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
        sqlx::query("SELECT pg_stat_clear_snapshot()")
            .execute(&mut *connection)
            .await
            .unwrap();
        sqlx::query_scalar(count)
            .fetch_one(connection)
            .await
            .unwrap()
    };
    let before = read(&mut connection).await;
    look_at_everything(&place).await;
    let after = read(&mut connection).await;
    assert!(after - before < 2_000, "{} rows were read", after - before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_takes_less_than_a_kilobyte_of_a_sqlite_file() {
    let place = Place::file();
    let store = place.workflows().await;
    let Place::File(folder) = &place else {
        panic!("it is a file");
    };
    let file = folder.path().join(".drawloom/drawloom.db");
    let size = async || -> i64 {
        let address = format!("sqlite:{}", file.display());
        let mut connection = SqliteConnection::connect(&address).await.unwrap();
        let pages = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
        sqlx::query_scalar(pages)
            .fetch_one(&mut connection)
            .await
            .unwrap()
    };
    begin(&store, 0..RUNS).await;
    let before = size().await;
    begin(&store, RUNS..5 * RUNS).await;
    let bytes = (size().await - before) / (4 * RUNS as i64 * STEPS);
    assert!(bytes < 1_000, "{bytes} bytes");
    look_at_everything(&place).await;
}
