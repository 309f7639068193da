//! One leader at a time: who it is, who comes after it, and what it puts right.

use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use crate::server::Server;
use crate::yard::{Worker, Yard, wait_for};

/// What the leader's timers start is a run of its own.
fn with_subflow(server: &Server, name: &str) -> Yard {
    let yard = Yard::new(Some(server.database(name)));
    let child = json!({ "stepType": "subflow", "subflowId": "chain" });
    yard.draw("outer", "S[[Run: chain]]", &[("S", child)]);
    // Whoever looks first makes the tables.
    assert_eq!(yard.runs().unwrap().len(), 0);
    yard
}

fn holder(server: &Server, name: &str) -> Option<String> {
    let sql = "SELECT split_part(holder, ' ', 1) FROM workflow_duties WHERE duty = 'timers' \
               AND until_ms > extract(epoch FROM clock_timestamp()) * 1000";
    server.sql(name, sql).pop()
}

/// Two workers, the leader first.
fn pair(server: &Server, yard: &Yard, database: &str) -> (Worker, Worker) {
    let one = yard.worker("one", "--lease 1s");
    wait_for("a leader", || holder(server, database).is_some());
    let two = yard.worker("two", "--lease 1s");
    (one, two)
}

/// The outer run and the inner one, each once.
fn check_outer(yard: &Yard, outer: usize) {
    assert!(yard.start("outer"));
    yard.wait_for_end(2 * outer);
    assert_eq!(yard.runs().unwrap().len(), 2 * outer);
}

#[test]
#[ignore = "the worker's loop does not ask its leader yet"]
fn a_leader_that_dies_is_followed_by_another_that_starts_subflows() {
    let server = Server::start();
    let yard = with_subflow(&server, "dies");
    let (one, two) = pair(&server, &yard, "dies");
    check_outer(&yard, 1);
    assert_eq!(holder(&server, "dies").as_deref(), Some("one"));
    drop(one);
    check_outer(&yard, 2);
    assert_eq!(holder(&server, "dies").as_deref(), Some("two"));
    drop(two);
}

#[test]
#[ignore = "the worker's loop does not ask its leader yet"]
fn a_leader_that_stands_still_is_followed_and_does_no_harm_when_it_wakes() {
    let server = Server::start();
    let yard = with_subflow(&server, "sleeps");
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
#[ignore = "the worker's loop does not ask its leader yet"]
fn a_leader_that_is_asked_to_stop_lets_the_next_one_lead_at_once() {
    let server = Server::start();
    let yard = with_subflow(&server, "stops");
    let mut one = yard.worker("one", "");
    wait_for("a leader", || holder(&server, "stops").is_some());
    one.signal("-TERM");
    wait_for("the worker", || one.has_ended());
    assert_eq!(holder(&server, "stops"), None);
}

#[test]
#[ignore = "the worker's loop does not ask its leader yet"]
fn work_that_somebody_took_off_the_list_is_put_back_by_the_next_leader() {
    let server = Server::start();
    let yard = Yard::new(Some(server.database("ready")));
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
