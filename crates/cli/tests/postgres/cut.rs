//! Cut connections and stopped workers: a worker that comes late is refused.

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server::ClusterServer;
use crate::test_cluster::{TestCluster, wait_for};

/// A step that says when it begins, and takes a while.
fn with_slow(yard: &TestCluster) {
    let run = "echo \"$DRAWLOOM_TASK $DRAWLOOM_ATTEMPT\" >> effects; touch begun; sleep 1; echo 1";
    let step = json!({
        "handler": "command", "config": { "run": run, "parse": "json" },
        "retry": { "attempts": 1000, "delay": "20ms", "maxDelay": "50ms" },
    });
    let no_op = json!({ "handler": "no_op" });
    let steps = [("M", step), ("B", no_op.clone()), ("C", no_op)];
    yard.draw("slow", "M[Slow] --> B[Then]\n B --> C[End]", &steps);
}

fn shown(yard: &TestCluster) -> Value {
    serde_json::from_str(&yard.run("runs show last --json").out).unwrap()
}

fn begun(yard: &TestCluster) -> bool {
    yard.project.path().join("begun").exists()
}

#[test]
fn a_worker_that_stood_still_comes_too_late_and_is_refused() {
    let server = ClusterServer::start();
    let yard = TestCluster::new(Some(server.database("late")));
    with_slow(&yard);
    assert!(yard.start("slow"));
    let late = yard.worker("late", "--lease 500ms");
    wait_for("the first attempt", || begun(&yard));
    late.signal("-STOP");
    let other = yard.worker("other", "--lease 500ms");
    yard.wait_for_end(1);
    late.signal("-CONT");
    sleep(Duration::from_millis(700));
    let found = yard.check();
    assert_eq!((found.effects, found.spare), (1, 1));
    let shown = shown(&yard);
    let first = &shown["tasks"][0];
    assert_eq!(first["attempt"], 2, "{first}");
    let events = shown["events"].as_array().unwrap();
    let claims = events.iter().filter(|event| event["by"] == "claim");
    let claims: Vec<&Value> = claims
        .filter(|event| event["task"] == first["id"])
        .collect();
    assert_eq!(claims.len(), 2, "{claims:?}");
    // It goes on with whatever comes next.
    drop(other);
    assert!(yard.start("chain"));
    yard.wait_for_end(2);
    drop(late);
}

#[test]
fn a_line_that_is_cut_for_longer_than_a_lease_ends_nothing() {
    let server = ClusterServer::start();
    let yard = TestCluster::new(Some(server.database("cut")));
    with_slow(&yard);
    for kind in ["slow", "fan", "loop"] {
        assert!(yard.start(kind));
    }
    let crew = ["one", "two"].map(|name| yard.worker(name, "--lease 500ms --concurrency 2"));
    wait_for("the first attempt", || begun(&yard));
    server.freeze();
    sleep(Duration::from_millis(2_500));
    server.thaw();
    yard.wait_for_end(3);
    yard.check();
    drop(crew);
}

/// Takes minutes, because a server may be slow before it is taken to be gone: only in a soak.
#[test]
#[ignore = "soak: it takes minutes until a silent server counts as gone"]
fn a_server_that_says_nothing_for_minutes_is_said_and_nothing_is_lost() {
    let server = ClusterServer::start();
    let yard = TestCluster::new(Some(server.database("silent")));
    with_slow(&yard);
    for kind in ["slow", "fan"] {
        assert!(yard.start(kind));
    }
    let mut worker = yard.worker("one", "--lease 1s");
    wait_for("the first attempt", || begun(&yard));
    server.freeze();
    let frozen = Instant::now();
    while !worker.has_ended() && frozen.elapsed() < Duration::from_secs(400) {
        sleep(Duration::from_millis(500));
    }
    println!("given up after {:?}", frozen.elapsed());
    server.thaw();
    assert!(worker.has_ended(), "it waits for ever");
    let said = yard.project.read("one.said");
    assert!(said.contains("did not answer within"), "{said}");
    assert!(said.contains("Check the server and the network"), "{said}");
    let worker = yard.worker("two", "--lease 1s");
    yard.wait_for_end(2);
    drop(worker);
    yard.check();
}
