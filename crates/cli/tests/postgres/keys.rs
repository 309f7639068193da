//! Several workers that compete for the room of one key.

use serde_json::json;

use crate::server::ClusterServer;
use crate::test_cluster::TestCluster;

const RUNS: usize = 8;

/// Each task takes the lock folder that only one of them can have, and says so where it could not.
#[test]
fn workers_on_one_server_never_do_more_of_a_key_than_it_allows() {
    let server = ClusterServer::start();
    let yard = TestCluster::new(Some(server.database("key")));
    let run = "mkdir held 2>/dev/null || echo \"$DRAWLOOM_TASK\" >> clashes; \
               echo x >> turns; sleep 0.05; rmdir held 2>/dev/null || true";
    let step = json!({
        "handler": "command", "config": { "run": run },
        "concurrency": { "key": "one", "max": 1 },
    });
    // Two steps of every run share the key with those of all others.
    yard.draw(
        "keyed",
        "K1[One] --> K2[Two]\n B1[Three] --> B2[Four]",
        &[
            ("K1", step.clone()),
            ("K2", step.clone()),
            ("B1", step.clone()),
            ("B2", step),
        ],
    );
    for _ in 0..RUNS {
        assert!(yard.start("keyed"));
    }
    let workers = ["a", "b", "c"].map(|name| yard.worker(name, "--concurrency 4 --lease 60s"));
    yard.wait_for_end(RUNS);
    drop(workers);
    let read = |name: &str| std::fs::read_to_string(yard.project.path().join(name));
    assert_eq!(read("turns").unwrap().lines().count(), RUNS * 4);
    assert!(read("clashes").is_err(), "{:?}", read("clashes"));
}
