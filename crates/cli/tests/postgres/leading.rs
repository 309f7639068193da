//! One leader at a time: who it is, who comes after it, and what it puts right.

use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::server::ClusterServer;
use crate::test_cluster::{TestCluster, WorkerProcess, wait_for};

/// Subflows are started by timers, and timers are the leader's.
fn yard_on(server: &ClusterServer, name: &str) -> TestCluster {
    let yard = TestCluster::new(Some(server.database(name)));
    // The first process creates the tables.
    assert_eq!(yard.runs().unwrap().len(), 0);
    yard
}

/// Who has the duty of timers.
fn holder(server: &ClusterServer, name: &str) -> Option<String> {
    holder_of(server, name, "timers")
}

fn holder_of(server: &ClusterServer, name: &str, duty: &str) -> Option<String> {
    let sql = "SELECT duty || ' ' || holder FROM workflow_duties \
               WHERE until_ms > extract(epoch FROM clock_timestamp()) * 1000";
    let held = server.sql(name, sql);
    let mut held = held.iter().filter_map(|line| line.strip_prefix(duty));
    let holder = held.next()?.trim().split(' ').next()?;
    Some(holder.to_owned())
}

/// Two workers, the leader first.
fn pair(
    server: &ClusterServer,
    yard: &TestCluster,
    database: &str,
) -> (WorkerProcess, WorkerProcess) {
    let one = yard.worker("one", "--lease 1s");
    wait_for("a leader", || holder(server, database).is_some());
    let two = yard.worker("two", "--lease 1s");
    (one, two)
}

/// The outer run and the inner one, each once.
fn check_outer(yard: &TestCluster, outer: usize) {
    assert!(yard.start("outer"));
    yard.wait_for_end(2 * outer);
    assert_eq!(yard.runs().unwrap().len(), 2 * outer);
}

#[test]
fn a_leader_that_dies_is_followed_by_another_that_starts_subflows() {
    let server = ClusterServer::start();
    let yard = yard_on(&server, "dies");
    let (one, two) = pair(&server, &yard, "dies");
    check_outer(&yard, 1);
    assert_eq!(holder(&server, "dies").as_deref(), Some("one"));
    drop(one);
    check_outer(&yard, 2);
    assert_eq!(holder(&server, "dies").as_deref(), Some("two"));
    drop(two);
}

#[test]
fn a_stopped_leader_is_replaced_and_does_no_harm_when_it_wakes() {
    let server = ClusterServer::start();
    let yard = yard_on(&server, "sleeps");
    let (one, two) = pair(&server, &yard, "sleeps");
    one.signal("-STOP");
    check_outer(&yard, 1);
    assert_eq!(holder(&server, "sleeps").as_deref(), Some("two"));
    one.signal("-CONT");
    check_outer(&yard, 2);
    sleep(Duration::from_millis(1_800));
    assert_eq!(holder(&server, "sleeps").as_deref(), Some("two"));
    drop([one, two]);
}

#[test]
fn a_leader_that_is_asked_to_stop_lets_the_next_one_lead_at_once() {
    let server = ClusterServer::start();
    let yard = yard_on(&server, "stops");
    let mut one = yard.worker("one", "");
    wait_for("a leader", || holder(&server, "stops").is_some());
    one.signal("-TERM");
    wait_for("the worker", || one.has_ended());
    assert_eq!(holder(&server, "stops"), None);
}

#[test]
fn work_removed_from_the_list_is_put_back_by_the_next_leader() {
    let server = ClusterServer::start();
    let yard = TestCluster::new(Some(server.database("ready")));
    for kind in ["chain", "fan"] {
        assert!(yard.start(kind));
    }
    let taken = server.sql("ready", "DELETE FROM workflow_ready RETURNING task");
    assert_eq!(taken.len(), 2);
    let worker = yard.worker("one", "--lease 1s");
    yard.wait_for_end(2);
    drop(worker);
    assert_eq!(yard.check().runs, 2);
}

#[test]
fn a_worker_that_dies_when_a_schedule_is_due_leaves_one_run_of_it() {
    let server = ClusterServer::start();
    let yard = yard_on(&server, "due");
    let mut crew = vec![yard.worker("one", ""), yard.worker("two", "")];
    let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap();
    let due = since(SystemTime::now()).as_secs() + 5;
    let (second, minute, hour) = (due % 60, due / 60 % 60, due / 3_600 % 24);
    let add =
        format!("schedules add once chain --cron '{second} {minute} {hour} * * *' --time-zone UTC");
    let added = yard.run(&add);
    assert_eq!(added.exit, 0, "{}", added.err);
    let early = Duration::from_secs(due) - Duration::from_millis(50);
    sleep(early.saturating_sub(since(SystemTime::now())));
    let leads = holder_of(&server, "due", "schedules");
    let at = usize::from(leads.as_deref() == Some("two"));
    drop(crew.remove(at));
    yard.wait_for_end(1);
    sleep(Duration::from_millis(1_200));
    assert_eq!(yard.check().runs, 1);
}
