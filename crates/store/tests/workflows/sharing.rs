//! Several processes on one database, while they or the server are killed.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flow::{TaskId, WorkflowStore};

use crate::cluster::{Cluster, Flush};
use crate::place;
use crate::whole_runs::FAN;
use crate::working::{begin, hold_to_events, take_turns, work_beside, work_off};

const PLACE: &str = "DRAWLOOM_STORE_WORKER";
const LEASE: &str = "DRAWLOOM_STORE_LEASE_MS";
const TEST: &str = "sharing::a_worker_of_these_tests_works_until_the_end";
const ITEMS: u32 = 300;
const KILLS: u32 = 12;
/// Short, so that the tasks of dead workers are soon claimed again.
const SHORT_MS: u64 = 500;
/// Long, so that no worker loses a task only because the machine is slow.
const LONG_MS: u64 = 600_000;

/// The tests below start it as a process.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "child: the tests of this file start it"]
async fn a_worker_of_these_tests_works_until_the_end() {
    let place = std::env::var(PLACE).unwrap();
    let store = place::at(&place).await;
    let lease_ms = std::env::var(LEASE).unwrap().parse().unwrap();
    let say = |what: &str, task: &TaskId| println!("\n{what} {task}");
    work_beside(&store, ITEMS, lease_ms, say).await;
}

fn worker(place: &str, lease_ms: u64) -> Child {
    worker_under(&[], place, lease_ms)
}

/// A worker that another program starts.
fn worker_under(starter: &[&str], place: &str, lease_ms: u64) -> Child {
    let worker = std::env::current_exe().unwrap();
    let mut words = starter.iter().map(std::ffi::OsStr::new);
    let mut command = Command::new(words.next().unwrap_or(worker.as_os_str()));
    if !starter.is_empty() {
        command.args(words).arg(&worker);
    }
    command
        .args(["--exact", TEST, "--ignored", "--nocapture"])
        .env(PLACE, place)
        .env(LEASE, lease_ms.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The number of claims or reports of each task, as a worker counts them.
type Counts = BTreeMap<TaskId, u32>;

fn hear(line: &str, what: &str, counts: &mut Counts) {
    let task = line.strip_prefix(what);
    // The last line may be half a line.
    if let Some(task) = task.and_then(|task| task.trim().parse().ok()) {
        *counts.entry(task).or_default() += 1;
    }
}

/// Listens until the worker ends.
fn heard(worker: &mut Child, what: &str, counts: &mut Counts) {
    for line in BufReader::new(worker.stdout.take().unwrap()).lines() {
        hear(&line.unwrap_or_default(), what, counts);
    }
}

/// Lets it live until it has claimed something and said so many lines more, and then for a moment.
fn kill_after(victim: &mut Child, lines_min: u32, moment: Duration, reported: &mut Counts) {
    let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let mut left = None;
    while left != Some(0) {
        let Some(line) = lines.next() else {
            break;
        };
        let line = line.unwrap();
        hear(&line, "reported ", reported);
        left = match left {
            None => line.starts_with("claimed ").then_some(lines_min),
            Some(left) => Some(left - 1),
        };
    }
    std::thread::sleep(moment);
    victim.kill().unwrap();
    victim.wait().unwrap();
    for line in lines {
        hear(&line.unwrap_or_default(), "reported ", reported);
    }
}

async fn check_two_processes(place: &str) {
    let store = place::at(place).await;
    begin(&store, FAN).await;
    let mut workers = [worker(place, LONG_MS), worker(place, LONG_MS)];
    let mut claimed = Counts::new();
    for worker in &mut workers {
        heard(worker, "claimed ", &mut claimed);
        assert!(worker.wait().unwrap().success());
    }
    // The list and the items; the join is no work for a worker.
    assert_eq!(claimed.len(), 1 + ITEMS as usize);
    let twice: Vec<_> = claimed.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    hold_to_events(&store, ITEMS as usize + 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_on_sqlite_claim_each_task_once() {
    let folder = tempfile::tempdir().unwrap();
    check_two_processes(folder.path().to_str().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_on_postgres_claim_each_task_once() {
    let cluster = Cluster::start(Flush::No).await;
    check_two_processes(&cluster.database("two").await).await;
}

async fn check_killed_workers(place: &str) {
    let store = place::at(place).await;
    begin(&store, FAN).await;
    let mut reported = Counts::new();
    for round in 0..KILLS {
        let mut victim = worker(place, SHORT_MS);
        // No random numbers needed: the disk and the scheduler are random enough.
        let moment = Duration::from_micros(u64::from(round) * 3_700 % 20_000);
        kill_after(&mut victim, round % 7, moment, &mut reported);
    }
    check_kept(&store, &reported).await;
}

/// Checks that every reported task is stored, once, and that the run ends.
async fn check_kept(store: &Arc<dyn WorkflowStore>, reported: &Counts) {
    for (task, times) in reported {
        assert_eq!(*times, 1, "{task} was done twice");
        let row = store.task(task).await.unwrap().unwrap();
        assert_eq!(row.status.name(), "completed", "{task} was lost");
    }
    assert!(!reported.is_empty(), "no worker lived to do anything");
    work_off(store, |task| crate::whole_runs::give(task, ITEMS)).await;
    hold_to_events(store, ITEMS as usize + 3).await;
}

/// A disk that stops working in the middle: the worker is told, and gives up.
async fn check_bad_disk(starter: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let store = place::at(place).await;
    begin(&store, FAN).await;
    let mut reported = Counts::new();
    let mut unlucky = worker_under(starter, place, SHORT_MS);
    heard(&mut unlucky, "reported ", &mut reported);
    assert!(!unlucky.wait().unwrap().success(), "nothing went wrong");
    check_kept(&store, &reported).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_that_fail_lose_nothing_and_do_nothing_twice() {
    // No file may grow beyond a megabyte; a writer gets an error instead of a signal.
    let script = "trap '' XFSZ; ulimit -f 2048; exec \"$0\" \"$@\"";
    check_bad_disk(&["sh", "-c", script]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn flushes_that_fail_lose_nothing_and_do_nothing_twice() {
    let syncs = "inject=fsync,fdatasync:error=EIO:when=40+";
    let trace = [
        "strace",
        "-f",
        "-o",
        "/dev/null",
        "-e",
        "trace=fsync,fdatasync",
    ];
    check_bad_disk(&[&trace[..], &["-e", syncs]].concat()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_of_workers_on_sqlite_loses_nothing_and_does_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    check_killed_workers(folder.path().to_str().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_of_workers_on_postgres_loses_nothing_and_does_nothing_twice() {
    let cluster = Cluster::start(Flush::No).await;
    check_killed_workers(&cluster.database("killed").await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_of_the_server_loses_nothing_and_does_nothing_twice() {
    let mut cluster = Cluster::start(Flush::No).await;
    let address = cluster.database("server").await;
    let store = place::postgres(&address).await;
    begin(&store, FAN).await;
    let reported = Arc::new(Mutex::new(Counts::new()));
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let store = place::postgres(&address).await;
        let reported = Arc::clone(&reported);
        workers.spawn(async move {
            let say = |what: &str, task: &TaskId| {
                if what == "reported" {
                    *reported.lock().unwrap().entry(task.clone()).or_default() += 1;
                }
            };
            work_beside(&store, ITEMS, SHORT_MS, say).await;
        });
    }
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(120)).await;
        cluster.kill().await;
        cluster.run().await;
    }
    workers.join_all().await;
    let reported = reported.lock().unwrap().clone();
    let twice: Vec<_> = reported.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    hold_to_events(&store, ITEMS as usize + 3).await;
}

/// Workers go on with what they know, and others know something else by then.
#[tokio::test(flavor = "multi_thread")]
async fn turns_beside_each_other_lose_nothing_and_do_nothing_twice() {
    let mut cluster = Cluster::start(Flush::No).await;
    for (name, crew, kills) in [("alone", 1, 0), ("four", 4, 0), ("killed", 4, 3)] {
        let address = cluster.database(name).await;
        let store = place::postgres(&address).await;
        begin(&store, FAN).await;
        let mut workers = tokio::task::JoinSet::new();
        for _ in 0..crew {
            let store = place::postgres(&address).await;
            workers.spawn(async move { take_turns(&store, ITEMS, SHORT_MS).await });
        }
        for _ in 0..kills {
            tokio::time::sleep(Duration::from_millis(120)).await;
            cluster.kill().await;
            cluster.run().await;
        }
        workers.join_all().await;
        hold_to_events(&store, ITEMS as usize + 3).await;
        let wrong = place::opened(&address).await.reconcile().await;
        assert_eq!(wrong.unwrap(), 0, "of what is ready");
    }
}
