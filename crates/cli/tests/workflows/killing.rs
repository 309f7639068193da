//! Workers that die, and work that is stopped: nothing is lost, nothing happens twice.

#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../../../flow/tests/simulation/chance.rs"]
mod chance;

#[path = "../postgres/storm.rs"]
mod storm;

#[allow(dead_code, reason = "these tests need a part of it")]
#[path = "../postgres/yard.rs"]
mod yard;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::project::Project;
use crate::weave::{bare, document, result};
use chance::Chance;
use storm::{Ground, Storm, Struck, storms};
use yard::Yard;

const ITEMS: usize = 12;

/// Every item has one effect, however often it is tried: the name of the task is its mark.
fn marks(project: &Project) {
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

fn worker(project: &Project) -> Child {
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
fn sleeping(project: &Project) -> (Child, String) {
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
struct File;

impl Ground for File {
    fn yard(&mut self, _seed: u64) -> Yard {
        Yard::new(None)
    }

    fn strike(&mut self, _chance: &mut Chance) -> Struck {
        Struck::Nothing
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
    storms(storm, &mut File);
}
