//! One suite over every engine: scripts with one command per line, and the expected runs. After the
//! script, all rows, events and notices equal those in memory.

use crate::cluster::{Cluster, Flush};
use crate::place;
use crate::stage::Stage;

struct Case {
    name: &'static str,
    sources: &'static [(&'static str, &'static str)],
    script: &'static str,
    /// The statuses of the runs, by name.
    runs: &'static str,
}

const CHAIN: &str = "graph TD\n A[One] --> B[Two] --> C(Three)";
const ONE: &str = "graph TD\n A[One]";
const LOOP: &str = "graph TD
 A[Try] --> D{Good?}
 D -->|\"output.good\"| B[Ship]
 D -->|default| A";
const FORK: &str = "graph TD
 A[One] --> B[Left] & C[Right]
 B --> J[Join both]
 C --> J
 J --> D[Then]";
const FAN: &str = "graph TD
 A[List] --> E[[Each: Item]]
 E --> J[Join all]
 J --> Z[Then]
%% === WORKFLOW_CONFIG ===
%% @E: { \"stepType\": \"foreach\", \"itemsPath\": \"output.items\", \"itemVariable\": \"item\", \"prompt\": \"Do {{item}}.\", \"maxConcurrency\": 4 }
%% === END_CONFIG ===
";
const PARENT: &str = "graph TD
 A[One] --> S[[Run: child]] --> B[Two]";
const DEADLINE: &str = "graph TD
 A[One] --> B[Left] & C[Right]
 B --> J[Join both]
 C --> J
 J --> D[Then]
%% === WORKFLOW_CONFIG ===
%% @J: { \"timeout\": \"1s\", \"onTimeout\": \"continue\" }
%% === END_CONFIG ===
";

const ONE_RUN: &str = "graph TD
 A[One] --> B[Two]
%% === WORKFLOW_CONFIG ===
%% @concurrency: { \"max\": 1 }
%% === END_CONFIG ===
";
const ONE_TASK: &str = "graph TD
 A[One] --> B[Two]
%% === WORKFLOW_CONFIG ===
%% @A: { \"concurrency\": { \"key\": \"one\", \"max\": 1 } }
%% @B: { \"concurrency\": { \"onLimit\": \"skip\" } }
%% === END_CONFIG ===
";
const MENDED: &str = "graph TD\n A[One] --> B[Two] --> D(Four)";

const CASES: &[Case] = &[
    Case {
        name: "runs for which there is no room begin one after the other",
        sources: &[("main", ONE_RUN)],
        script: "start s
                 start t
                 done A 1
                 done B 2
                 fire
                 done @1/A 3
                 all 4
                 fire
                 all 5
                 fire",
        runs: "completed completed completed",
    },
    Case {
        name: "tasks take turns where their step says so, and the store offers none for which there is no room",
        sources: &[("main", ONE_TASK)],
        script: "start s
                 take A
                 refused no_room take @1/A
                 done A 1
                 take B
                 take @1/A
                 done @1/A 1
                 take @1/B
                 done B 2",
        runs: "completed completed",
    },
    Case {
        name: "tasks of runs with a higher priority are claimed first",
        sources: &[("main", ONE)],
        script: "start low -3
                 start high 3
                 all 1",
        runs: "completed completed completed",
    },
    Case {
        name: "a paused run goes on with another text",
        sources: &[("main", CHAIN), ("mended", MENDED)],
        script: "done A 1
                 fail B invalid
                 move mended
                 retry B {\"prompt\": \"Again.\"}
                 done B 2
                 answer D 3",
        runs: "completed",
    },
    Case {
        name: "a chain, and a person at its end",
        sources: &[("main", CHAIN)],
        script: "done A {\"n\": 1, \"text\": \"ä ␀ \\u0000 '\\\"\"}
                 done B [1.5, null, 12345678901234567890]
                 answer C \"yes\"",
        runs: "completed",
    },
    Case {
        name: "what a reply says besides is kept",
        sources: &[("main", CHAIN)],
        script: "done A 1
                 done B 2
                 answer C {\"status\": \"SUCCESS\", \"summary\": \"Did it.\", \"output\": 3, \"next_action\": \"COMPLETE\"}",
        runs: "completed",
    },
    Case {
        name: "an attempt that fails is tried again, and what fails for good waits for a person",
        sources: &[("main", ONE)],
        script: "fail A failed
                 retry A
                 done A 1",
        runs: "completed",
    },
    Case {
        name: "a lease that ends is lost, and whoever had it comes too late",
        sources: &[("main", ONE)],
        script: "lapse A
                 refused stale_fence late A 1
                 refused stale_fence beat A 1",
        runs: "running",
    },
    Case {
        name: "a task belongs to one worker, and the fence says to whom",
        sources: &[("main", ONE)],
        script: "take A
                 refused wrong_status take A
                 refused stale_fence late A 7
                 beats A 1
                 done A 1",
        runs: "completed",
    },
    Case {
        name: "a loop visits its steps again",
        sources: &[("main", LOOP)],
        script: "done A {}
                 done A~2 {}
                 done A~3 {\"good\": true}
                 done B 1",
        runs: "completed",
    },
    Case {
        name: "branches are joined once",
        sources: &[("main", FORK)],
        script: "done A 1
                 done C 3
                 done B 2
                 done D 4",
        runs: "completed",
    },
    Case {
        name: "items begin as others end, and are joined in their order",
        sources: &[("main", FAN)],
        script: "done A {\"items\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}
                 done E[3]/E {\"first\": true}
                 all {\"ok\": true}",
        runs: "completed",
    },
    Case {
        name: "no items are joined at once",
        sources: &[("main", FAN)],
        script: "done A {\"items\": []}
                 done Z 1",
        runs: "completed",
    },
    Case {
        name: "a subflow is a run of its own, and its end comes back",
        sources: &[("main", PARENT), ("child", ONE)],
        script: "done A 1
                 fire
                 done @1/A {\"from\": \"below\"}
                 fire
                 done B 2",
        runs: "completed completed",
    },
    Case {
        name: "a subflow that there is not fails its step",
        sources: &[("main", PARENT)],
        script: "done A 1
                 lost S There is no such workflow.",
        runs: "paused",
    },
    Case {
        name: "a cancelled run takes its children with it",
        sources: &[("main", PARENT), ("child", ONE)],
        script: "done A 1
                 fire
                 take @1/A
                 cancel
                 fire
                 refused stale_fence late @1/A 1",
        runs: "cancelled cancelled",
    },
    Case {
        name: "a paused run goes on where it was",
        sources: &[("main", CHAIN)],
        script: "take A
                 pause
                 done A 1
                 refused not_ready take B
                 resume
                 assign B somebody
                 done B 2",
        runs: "running",
    },
    Case {
        name: "a step is run again after the end",
        sources: &[("main", CHAIN)],
        script: "done A 1
                 done B 2
                 answer C 3
                 rerun A
                 done A~2 4",
        runs: "running",
    },
    Case {
        name: "notices are taken out of the outbox by whoever sent them",
        sources: &[("main", CHAIN)],
        script: "done A 1
                 done B 2
                 acknowledge
                 answer C 3",
        runs: "completed",
    },
    Case {
        name: "what is not there is refused",
        sources: &[("main", ONE)],
        script: "refused no_such_task take Z
                 refused no_such_task late A[0]/B 1
                 cancel
                 refused wrong_status resume",
        runs: "cancelled",
    },
];

async fn check(case: &Case, store: std::sync::Arc<dyn flow::WorkflowStore>) {
    eprintln!("{}", case.name);
    let mut stage = Stage::new(store, case.sources).await;
    for line in case.script.lines().map(str::trim) {
        eprintln!("  {line}");
        stage.line(line).await;
    }
    assert_eq!(stage.shown(), case.runs, "{}", case.name);
    stage.compare().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_does_what_memory_does() {
    for case in CASES {
        let folder = tempfile::tempdir().unwrap();
        check(case, place::sqlite(folder.path()).await).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_does_what_memory_does() {
    let cluster = Cluster::start(Flush::No).await;
    for (number, case) in CASES.iter().enumerate() {
        let address = cluster.database(&format!("case{number}")).await;
        check(case, place::postgres(&address).await).await;
        let wrong = place::opened(&address).await.reconcile().await;
        assert_eq!(wrong.unwrap(), 0, "{}: of what is ready", case.name);
    }
}

/// A timer that is due later is not due now, and comes by itself.
async fn check_deadline(store: std::sync::Arc<dyn flow::WorkflowStore>) {
    let mut stage = Stage::new(std::sync::Arc::clone(&store), &[("main", DEADLINE)]).await;
    for line in ["done A 1", "done B 2", "fire"] {
        stage.line(line).await;
    }
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    assert_eq!(store.due(10).await.unwrap().len(), 1);
    stage.line("fire").await;
    stage.compare().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_in_sqlite_comes_when_it_is_time() {
    let folder = tempfile::tempdir().unwrap();
    check_deadline(place::sqlite(folder.path()).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_in_postgres_comes_when_it_is_time() {
    let cluster = Cluster::start(Flush::No).await;
    let address = cluster.database("deadline").await;
    check_deadline(place::postgres(&address).await).await;
}
