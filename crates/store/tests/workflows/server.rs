//! Features that only a server has: hints, duties of one process at a time, and errors of its own.

use std::time::Duration;

use agent::AgentClock;
use flow::engine::RunStart;
use flow::{RunId, StoreErrorKind, TextHash};
use serde_json::json;
use sqlx::Connection as _;
use store::{DatabaseErrorKind, PostgresDatabase, PostgresOptions};

use crate::cluster::{Cluster, Flush};
use crate::cut::Cut;
use crate::place::{self, Now};
use crate::whole_runs::{CHAIN, FAN};
use crate::working::{begin, claim, hold_to_events, report, work_beside};

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_worker_is_told_of_new_work() {
    let cluster = Cluster::start(Flush::No).await;
    let address = cluster.database("hints").await;
    let mut hints = place::opened(&address).await.hints().await.unwrap();
    let quiet = tokio::time::timeout(Duration::from_millis(100), hints.next()).await;
    assert!(quiet.is_err(), "nothing was ready yet");
    let store = place::postgres(&address).await;
    begin(&store, CHAIN).await;
    let told = tokio::time::timeout(Duration::from_secs(10), hints.next()).await;
    told.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duty_is_one_process_s_until_it_does_not_come_back() {
    let cluster = Cluster::start(Flush::No).await;
    let address = cluster.database("duties").await;
    let store = place::opened(&address).await;
    for (holder, lease_ms, has_it) in [
        ("a", 60_000, true),
        ("b", 60_000, false),
        ("a", 50, true),
        ("b", 60_000, false),
    ] {
        let now = store.lead("timers", holder, lease_ms).await.unwrap();
        assert_eq!(now, has_it, "{holder}");
    }
    tokio::time::sleep(Duration::from_millis(80)).await;
    assert!(store.lead("timers", "b", 60_000).await.unwrap());
    assert!(!store.lead("timers", "a", 60_000).await.unwrap());
    assert!(store.lead("schedules", "a", 60_000).await.unwrap());
    // Giving back a duty of another process has no effect.
    store.resign("timers", "a").await.unwrap();
    assert!(!store.lead("timers", "a", 60_000).await.unwrap());
    store.resign("timers", "b").await.unwrap();
    assert!(store.lead("timers", "a", 60_000).await.unwrap());
}

/// A machine whose clock is so many minutes ahead or behind.
struct Wrong(i64);

impl AgentClock for Wrong {
    fn now_ms(&self) -> u64 {
        Now.now_ms().saturating_add_signed(self.0 * 60_000)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_whose_clock_is_wrong_by_an_hour_goes_by_the_server_s() {
    let cluster = Cluster::start(Flush::No).await;
    let address = cluster.database("clocks").await;
    let right = place::postgres(&address).await;
    begin(&right, CHAIN).await;
    for (duty, minutes) in [("ahead", 60), ("behind", -60)] {
        let options = PostgresOptions {
            clock: std::sync::Arc::new(Wrong(minutes)),
            scrub: None,
        };
        let server = PostgresDatabase::open(&address, options).await.unwrap();
        assert!(server.now_ms().abs_diff(Now.now_ms()) < 10_000);
        let wrong = server.workflows().await.unwrap();
        let claimed = wrong.claim(claim(9, 30_000)).await.unwrap();
        let task = &claimed[0].task;
        let lease = task.lease.as_ref().unwrap();
        assert!(lease.until_ms.abs_diff(Now.now_ms()) < 60_000, "{lease:?}");
        // No process ends the lease of another, and a duty lasts as long as it should.
        for store in [&right, &wrong] {
            assert!(store.expired(9).await.unwrap().is_empty());
        }
        assert!(server.lead(duty, "wrong", 60_000).await.unwrap());
        let other = place::opened(&address).await;
        assert!(!other.lead(duty, "right", 60_000).await.unwrap());
        let report = report(&task.id, task.fence, json!(1));
        wrong.execute(report).await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn making_the_list_anew_undoes_no_claim() {
    let cluster = Cluster::start(Flush::No).await;
    let address = cluster.database("beside").await;
    let store = place::opened(&address).await;
    let workflows = store.workflows().await.unwrap();
    begin(&workflows, FAN).await;
    let reconciling = tokio::spawn(async move {
        let mut wrong = 0;
        loop {
            wrong += store.reconcile().await.unwrap();
            assert_eq!(wrong, 0, "nothing was wrong");
        }
    });
    let mut crew = tokio::task::JoinSet::new();
    for _ in 0..2 {
        let store = place::postgres(&address).await;
        crew.spawn(async move { work_beside(&store, 200, 60_000, |_, _| {}).await });
    }
    crew.join_all().await;
    assert!(!reconciling.is_finished());
    reconciling.abort();
    hold_to_events(&workflows, 203).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ready_list_is_rebuilt_from_the_tasks() {
    let cluster = Cluster::start(Flush::No).await;
    let address = cluster.database("ready").await;
    let store = place::opened(&address).await;
    let workflows = store.workflows().await.unwrap();
    begin(&workflows, CHAIN).await;
    assert_eq!(store.reconcile().await.unwrap(), 0);
    let mut connection = cluster.connect("ready").await.unwrap();
    let emptied = sqlx::raw_sql(
        "DELETE FROM workflow_ready; INSERT INTO workflow_ready VALUES ('r1/Z', 'r1', 0, NULL)",
    );
    emptied.execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    assert_eq!(store.reconcile().await.unwrap(), 2);
    let claimed = workflows.claim(claim(9, 1_000)).await;
    assert_eq!(claimed.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_say_what_to_do_and_keep_the_password() {
    let cluster = Cluster::start(Flush::No).await;
    let address = cluster.database("errors").await;
    let options = || PostgresOptions {
        clock: std::sync::Arc::new(Now),
        scrub: None,
    };
    for (address, kind, says) in [
        (
            address.replace("/errors", "/nowhere"),
            DatabaseErrorKind::Open,
            "Check the name of the database",
        ),
        (
            "postgres://u:geheim@127.0.0.1:1/d".to_owned(),
            DatabaseErrorKind::Lost,
            "cannot be reached",
        ),
        (
            "mysql://u:geheim@h/d".to_owned(),
            DatabaseErrorKind::Open,
            "postgres://USER",
        ),
        (
            "geheim".to_owned(),
            DatabaseErrorKind::Open,
            "postgres://USER",
        ),
    ] {
        let error = PostgresDatabase::open(&address, options())
            .await
            .unwrap_err();
        let text = error.to_string();
        assert_eq!(error.kind(), kind, "{text}");
        assert!(text.contains(says), "{text}");
        assert!(!text.contains("geheim"), "{text}");
    }
    let store = place::postgres(&address).await;
    let unknown = TextHash::of("nothing");
    let error = store.start(&unknown, RunStart::new("r", json!(1))).await;
    assert_eq!(error.unwrap_err().kind, StoreErrorKind::NoSuchWorkflow);
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_a_newer_version_are_left_alone() {
    let cluster = Cluster::start(Flush::No).await;
    let address = cluster.database("newer").await;
    drop(place::opened(&address).await);
    // Opening again changes nothing.
    drop(place::opened(&address).await);
    let mut connection = cluster.connect("newer").await.unwrap();
    let newer = sqlx::raw_sql(
        "INSERT INTO drawloom_migrations (version, description, success, checksum, execution_time) \
         VALUES (99, 'later', true, '', 0)",
    );
    newer.execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let options = PostgresOptions {
        clock: std::sync::Arc::new(Now),
        scrub: None,
    };
    let error = PostgresDatabase::open(&address, options).await.unwrap_err();
    assert_eq!(error.kind(), DatabaseErrorKind::Newer, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_the_server_died_with_is_not_taken_for_another_s() {
    let mut cluster = Cluster::start(Flush::No).await;
    let address = cluster.database("forgotten").await;
    let direct = place::postgres(&address).await;
    let workflow = direct.keep_workflow(CHAIN).await.unwrap();
    let cut = Cut::between(cluster.folder());
    let store = place::postgres(&cut.address(&address, cluster.folder())).await;
    cut.arm();
    let starting = tokio::spawn(async move {
        let start = RunStart::new("r1", json!({}));
        store.start(&workflow, start).await
    });
    cut.was_made().await;
    cluster.kill().await;
    cluster.run().await;
    // Its name goes to one of these.
    let mut connection = cluster.connect("forgotten").await.unwrap();
    for _ in 0..20 {
        let burnt = sqlx::query("SELECT pg_current_xact_id()::text");
        burnt.execute(&mut connection).await.unwrap();
    }
    cut.mend();
    starting.await.unwrap().unwrap().unwrap();
    let run = direct.run(&RunId::new("r1")).await.unwrap();
    assert!(run.is_some(), "it was said to be kept");
}
