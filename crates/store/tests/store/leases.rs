//! Leases on a server: kept while their holder lives, taken over when it does not, and fenced.

use std::time::{Duration, Instant};

use agent::{AgentErrorKind, TurnJournal as _};
use builder::{BuildErrorKind, BuildJob, JobId, JobStatus, JobStore as _, Options};
use sqlx::Connection as _;
use store::{AgentRuns as _, BuildHolds as _, DatabaseErrorKind, RunState};

use crate::cluster::{Cluster, Flush};
use crate::place::on_server;
use crate::support::{new_run, turn};

async fn lease_end(cluster: &Cluster, name: &str) -> i64 {
    let mut connection = cluster.connect(name).await.unwrap();
    let end = sqlx::query_scalar("SELECT max(until_ms) FROM run_leases");
    let end = end.fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    end
}

/// Lets every lease end at once, as if the holders had not been heard of for too long.
async fn end_leases(cluster: &Cluster, name: &str) {
    let mut connection = cluster.connect(name).await.unwrap();
    let ended = sqlx::query("UPDATE run_leases SET until_ms = 0");
    ended.execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_is_renewed_while_its_holder_lives_and_given_back_when_it_ends() {
    let cluster = Cluster::start(Flush::No).await;
    let address = cluster.database("renewed").await;
    let (first, second) = (on_server(&address).await, on_server(&address).await);
    let run = first.begin(&new_run("p.json")).await.unwrap();
    let id = run.id();
    let end = lease_end(&cluster, "renewed").await;
    let error = second.resume(id).await.unwrap_err();
    assert_eq!(error.kind(), DatabaseErrorKind::Locked);
    assert!(lease_end(&cluster, "renewed").await > end);
    assert!(second.is_held(id).await.unwrap());
    drop(run);
    first.close().await.unwrap();
    let began = Instant::now();
    assert!(!second.is_held(id).await.unwrap());
    second.resume(id).await.unwrap();
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "it was given back at once"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_was_taken_for_dead_writes_nothing_any_more() {
    let cluster = Cluster::start(Flush::No).await;
    let address = cluster.database("fenced").await;
    let (first, second) = (on_server(&address).await, on_server(&address).await);
    let run = first.begin(&new_run("p.json")).await.unwrap();
    let mut journal = run.conversation("generate").await.unwrap();
    journal.commit(&turn(1)).await.unwrap();
    end_leases(&cluster, "fenced").await;
    let again = second.resume(run.id()).await.unwrap();
    let mut other = again.conversation("generate").await.unwrap();

    let error = journal.commit(&turn(2)).await.unwrap_err();
    assert_eq!(error.kind(), AgentErrorKind::Journal);
    assert!(error.to_string().contains("taken over run 1"), "{error}");
    let note = crate::support::replied(2);
    assert!(journal.note(&note).await.is_err());
    assert!(run.keep_fact("task/a", "1").await.is_err());
    assert!(run.set_state(RunState::Failed).await.is_err());
    // Everything it stored before is there, and its end takes nothing from the new holder.
    drop((journal, run));
    first.close().await.unwrap();
    other.commit(&turn(2)).await.unwrap();
    assert_eq!(other.load().await.unwrap().turns, [turn(1), turn(2)]);
    assert_eq!(
        second.find(again.id()).await.unwrap().state,
        RunState::Running
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_was_taken_over_is_changed_by_the_new_holder_only() {
    let cluster = Cluster::start(Flush::No).await;
    let address = cluster.database("builds").await;
    let (first, second) = (on_server(&address).await, on_server(&address).await);
    let id = JobId::new(1, 1);
    let job = BuildJob::new(id.clone(), "say it better", Options::default(), 1).unwrap();
    first.create(&job).await.unwrap();
    let held = first.hold(&id).await.unwrap();
    assert!(second.is_build_held(&id).await.unwrap());
    end_leases(&cluster, "builds").await;
    let taken = second.hold(&id).await.unwrap();
    let change = job.change(JobStatus::Planning, 5, |_| {}).unwrap();
    let error = first.compare_and_set(&change).await.unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Store, "{error}");
    assert!(first.keep_files(&id, &[]).await.is_ok(), "nothing to store");
    second.compare_and_set(&change).await.unwrap();
    drop((held, taken));
    first.close().await.unwrap();
    second.close().await.unwrap();
}
