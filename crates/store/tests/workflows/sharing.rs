//! Several processes on one database, and what becomes of it when they or the server are killed.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flow::TaskId;

use crate::cluster::{Cluster, Flush};
use crate::place;
use crate::whole_runs::FAN;
use crate::working::{begin, hold_to_events, work_beside, work_off};

const PLACE: &str = "DRAWLOOM_STORE_WORKER";
const TEST: &str = "sharing::a_worker_of_these_tests_works_until_the_end";
const ITEMS: u32 = 300;
const KILLS: u32 = 12;

/// Started by itself there is nothing to do; the tests below start it as a process of theirs.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_of_these_tests_works_until_the_end() {
    let Ok(place) = std::env::var(PLACE) else {
        return;
    };
    let store = place::at(&place).await;
    work_beside(&store, ITEMS, |what, task| println!("\n{what} {task}")).await;
}

fn worker(place: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", TEST, "--nocapture"])
        .env(PLACE, place)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// How often each task was claimed or reported, as a worker says.
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
    let mut workers = [worker(place), worker(place)];
    let mut claimed = BTreeMap::new();
    for worker in &mut workers {
        heard(worker, "claimed ", &mut claimed);
        assert!(worker.wait().unwrap().success());
    }
    // The list and the items; the join is nobody's work.
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
    let mut reported = BTreeMap::new();
    for round in 0..KILLS {
        let mut victim = worker(place);
        // No random numbers needed: the disk and the scheduler are random enough.
        let moment = Duration::from_micros(u64::from(round) * 3_700 % 20_000);
        kill_after(&mut victim, round % 7, moment, &mut reported);
    }
    for (task, times) in &reported {
        assert_eq!(*times, 1, "{task} was done twice");
        let row = store.task(task).await.unwrap().unwrap();
        assert_eq!(row.status.name(), "completed", "{task} was lost");
    }
    assert!(!reported.is_empty(), "no victim lived to do anything");
    work_off(&store, |task| crate::whole_runs::give(task, ITEMS)).await;
    hold_to_events(&store, ITEMS as usize + 3).await;
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
    let reported = Arc::new(Mutex::new(BTreeMap::<TaskId, u32>::new()));
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
            work_beside(&store, ITEMS, say).await;
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
