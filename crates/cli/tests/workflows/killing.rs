//! Workers that die, and work that is stopped: nothing is lost, nothing happens twice.

#[path = "../postgres/small.rs"]
mod small;

#[allow(dead_code, reason = "a file has no server that could be struck")]
#[path = "../postgres/storm.rs"]
mod storm;

#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../postgres/test_cluster.rs"]
mod test_cluster;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use testkit::chance;

use serde_json::json;

use crate::project::CliProject;
use crate::workflow_fixture::{bare, document, result};
use chance::Chance;
use small::SmallDisk;
use storm::{Storm, StormStrike, StormTarget, storms};
use test_cluster::{TestCluster, WorkerProcess};

const ITEMS: usize = 12;

/// Every item has one effect, however often it is tried: the name of the task is its mark.
fn marks(project: &CliProject) {
    let items: Vec<usize> = (0..ITEMS).collect();
    let list = json!({ "handler": "no_op", "config": { "output": { "items": items } } });
    let each = json!({
        "itemsPath": "output.items", "itemVariable": "n", "maxConcurrency": 3,
        "handler": "command", "retry": { "attempts": 50, "delay": "50ms", "maxDelay": "100ms" },
        "config": { "run": "k=$(printf %s \"$DRAWLOOM_TASK\" | tr '/[]' '___'); mkdir \"marks/$k\" 2>/dev/null && echo \"$k\" >> effects; sleep 0.15; echo {{n}}", "parse": "json" },
    });
    let join = json!({ "handler": "no_op" });
    project.write(
        "marks.mmd",
        &format!(
            "graph TD\n A[List] --> C[[Each: Mark]]\n C --> D[Join]\n%% === WORKFLOW_CONFIG ===\n\
             %% @A: {list}\n%% @C: {each}\n%% @D: {join}\n%% === END_CONFIG ===\n"
        ),
    );
    project.write("marks/.keep", "");
}

fn worker(project: &CliProject) -> Child {
    let mut command = project.command("worker --lease 500ms --concurrency 3");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

#[test]
fn workers_are_killed_and_others_finish_with_nothing_twice() {
    let project = bare();
    marks(&project);
    assert_eq!(project.run("workflow start marks.mmd").exit, 0);
    for round in 0..5 {
        let mut child = worker(&project);
        sleep(Duration::from_millis(180 + 70 * round));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let ran = project.run("runs resume last --wait --json");
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    let results: Vec<usize> = (0..ITEMS).collect();
    assert_eq!(result(&ran)["output"]["results"], json!(results));
    let effects = project.read("effects");
    let mut effects: Vec<&str> = effects.lines().collect();
    let all = effects.len();
    effects.sort_unstable();
    effects.dedup();
    assert_eq!((effects.len(), all), (ITEMS, ITEMS), "{effects:?}");
    let shown = document(&project.run("runs show last --json"));
    assert_eq!(
        shown["tasks"].as_array().unwrap().len(),
        ITEMS + 3,
        "no execution is there twice"
    );
}

/// A run whose only step sleeps for long, with a worker on it; gives the process that sleeps.
fn sleeping(project: &CliProject) -> (Child, String) {
    let config =
        json!({ "handler": "command", "config": { "run": "echo $$ > pid; sleep 300; echo late" } });
    project.write(
        "sleep.mmd",
        &format!("graph TD\n A[Sleep]\n%% === WORKFLOW_CONFIG ===\n%% @A: {config}\n%% === END_CONFIG ===\n"),
    );
    assert_eq!(project.run("workflow start sleep.mmd").exit, 0);
    let child = worker(project);
    wait_for("the command", || {
        project.path().join("pid").exists() && !project.read("pid").trim().is_empty()
    });
    let pid = project.read("pid").trim().to_owned();
    assert!(Path::new("/proc").join(&pid).exists());
    (child, pid)
}

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_there() {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "waited for {what}"
        );
        sleep(Duration::from_millis(20));
    }
}

fn terminate(child: &Child) {
    let ended = Command::new("kill")
        .arg(child.id().to_string())
        .status()
        .unwrap();
    assert!(ended.success());
}

#[test]
fn cancelling_a_run_kills_its_commands() {
    let project = bare();
    let (mut child, pid) = sleeping(&project);
    assert_eq!(project.run("runs cancel last").exit, 0);
    wait_for("the end of the command", || {
        !Path::new("/proc").join(&pid).exists()
    });
    assert_eq!(project.run("runs list --status cancelled --json").exit, 0);
    terminate(&child);
    wait_for("the worker", || child.try_wait().unwrap().is_some());
    let shown = document(&project.run("tasks show last/A --json"));
    assert_eq!(shown["task"]["status"], "cancelled");
}

#[test]
fn a_worker_that_is_asked_to_stop_gives_its_tasks_back() {
    let project = bare();
    let (mut child, pid) = sleeping(&project);
    terminate(&child);
    wait_for("the worker", || child.try_wait().unwrap().is_some());
    wait_for("the end of the command", || {
        !Path::new("/proc").join(&pid).exists()
    });
    let shown = document(&project.run("tasks show last/A --json"));
    assert_eq!(shown["task"]["status"], "pending", "{shown}");
}

/// A file has no server that could be struck.
struct TestLogger;

impl StormTarget for TestLogger {
    fn yard(&mut self, _seed: u64) -> TestCluster {
        TestCluster::new(None)
    }

    fn strike(&mut self, _chance: &mut Chance) -> StormStrike {
        StormStrike::Nothing
    }
}

#[test]
fn three_workers_are_killed_and_nothing_is_lost_or_done_twice() {
    let storm = Storm {
        seed: 1,
        runs: 20,
        workers: 3,
        lasts: Duration::from_secs(5),
    };
    storms(storm, &mut TestLogger);
}

#[test]
#[ignore = "root: only root can mount a small disk"]
fn a_full_disk_is_said_and_work_goes_on_when_there_is_room_as_root() {
    let mut yard = TestCluster::new(None);
    let disk = SmallDisk::mount(&yard.project.path().join("disk"), 6);
    yard.url = Some("sqlite:disk/drawloom.db".to_owned());
    for _ in 0..4 {
        assert!(yard.start("fan"));
    }
    disk.fill();
    // More than fits, also where a log that was left behind has room.
    let big = json!({ "text": "x".repeat(1_500_000) });
    yard.project.write("big.json", &big.to_string());
    let refused = yard.run("workflow start fan --input @big.json");
    assert_ne!(refused.exit, 0);
    for says in ["is full", "Earlier data is safe", "make room"] {
        assert!(refused.err.contains(says), "{}", refused.err);
    }
    let worker = yard.worker("one", "--lease 1s");
    sleep(Duration::from_secs(1));
    disk.make_room();
    let next = yard.worker("two", "--lease 1s");
    yard.wait_for_end(4);
    drop([worker, next]);
    yard.check();
}

#[test]
fn flushes_that_the_disk_refuses_lose_nothing() {
    let yard = TestCluster::new(None);
    for kind in test_cluster::KINDS {
        assert!(yard.start(kind));
    }
    let strace = [
        "strace",
        "-f",
        "-o",
        "/dev/null",
        "-e",
        "trace=fsync,fdatasync",
        "-e",
        "inject=fsync,fdatasync:error=EIO:when=8+",
    ];
    let unlucky = yard.worker_under(&strace, "unlucky", "--lease 1s");
    wait_for("an effect", || yard.project.path().join("effects").exists());
    sleep(Duration::from_millis(1_500));
    drop(unlucky);
    let worker = yard.worker("lucky", "--lease 1s");
    // The last of them has a run in it.
    let runs = test_cluster::KINDS.len() + 1;
    yard.wait_for_end(runs);
    drop(worker);
    assert_eq!(yard.check().runs, runs);
}

/// Three workers, of which one after the other is killed when the schedule is due: none of the times
/// is left out, and none has two runs.
#[test]
fn workers_that_are_killed_when_a_schedule_is_due_start_every_time_once() {
    let yard = TestCluster::new(None);
    yard.draw(
        "tick",
        "A[Nothing]",
        &[("A", json!({ "handler": "no_op" }))],
    );
    let added = yard.run("schedules add tick tick --cron '*/2 * * * * *'");
    assert_eq!(added.exit, 0, "{}", added.err);
    let mut crew: Vec<WorkerProcess> = ["a", "b", "c"].map(|name| yard.worker(name, "")).into();
    let mut chance = Chance::new(7);
    for _ in 0..5 {
        sleep(Duration::from_millis(until_even() + chance.up_to(60)));
        crew.push(yard.worker("next", ""));
        drop(crew.remove(0));
        sleep(Duration::from_millis(300));
    }
    wait_for("the end of all runs", || yard.has_ended(5));
    drop(crew);
    let runs = yard.runs().unwrap();
    let ids: Vec<&str> = runs.iter().map(|run| run["id"].as_str().unwrap()).collect();
    let times: BTreeSet<u64> = ids.iter().map(|id| second(id)).collect();
    assert_eq!(times.len(), ids.len(), "{ids:?}");
    let (first, last) = (times.first().unwrap(), times.last().unwrap());
    let expected: BTreeSet<u64> = (*first..=*last).step_by(2).collect();
    assert_eq!(times, expected);
}

/// Milliseconds to the next time, and a little less.
fn until_even() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now_ms = u64::try_from(now.unwrap().as_millis()).unwrap();
    (4_000 - 30 - now_ms % 2_000) % 2_000
}

/// The second of the day in a name such as `tick-20261116T095906Z`.
fn second(id: &str) -> u64 {
    let clock = id.strip_suffix('Z').unwrap();
    let clock = &clock[clock.len() - 6..];
    let part = |at: usize| clock[at..at + 2].parse::<u64>().unwrap();
    part(0) * 3_600 + part(2) * 60 + part(4)
}
