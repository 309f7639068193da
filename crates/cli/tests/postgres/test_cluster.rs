//! A project whose steps leave marks, its workers, and the rules that every ended run is held to.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::project::{CliProject, ProgramOutput};

/// A binary that is not rebuilt meanwhile; `cargo xtask soak` gives one.
const PROGRAM: &str = "DRAWLOOM_SOAK_PROGRAM";
/// How many items the foreach has, and how often the loop goes round.
const ITEMS: usize = 6;
const ROUNDS: usize = 3;
/// Nothing here takes that long.
const WAIT_MAX: Duration = Duration::from_secs(120);

/// The workflows there are, by the names of their files.
pub(crate) const KINDS: [&str; 6] = ["chain", "fan", "loop", "keyed", "waits", "outer"];

/// How many lines the command of `waits` prints.
const LINES: usize = 40;
/// The signal that `waits` waits for.
const SIGNAL: &str = "go";

pub(crate) struct TestCluster {
    pub(crate) project: CliProject,
    /// The database; the project's own file by default.
    pub(crate) url: Option<String>,
}

/// What was found in the yard when all runs had ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ClusterReport {
    pub(crate) runs: usize,
    /// Steps that left a mark, and marks of attempts that others finished.
    pub(crate) effects: usize,
    pub(crate) spare: usize,
}

impl TestCluster {
    pub(crate) fn new(url: Option<String>) -> TestCluster {
        let project = CliProject::with(&[(
            "drawloom.toml",
            "[ai]\nmode = \"stdout\"\n\n[agent.sandbox]\nkind = \"none\"\n",
        )]);
        let yard = TestCluster { project, url };
        // Every attempt leaves one line, and takes a moment in which it can be killed.
        let mark = "echo \"$DRAWLOOM_TASK $DRAWLOOM_ATTEMPT\" >> effects; sleep 0.03;";
        let step = |print: &str| {
            json!({
                "handler": "command", "config": { "run": format!("{mark} {print}"), "parse": "json" },
                "retry": { "attempts": 1000, "delay": "20ms", "maxDelay": "50ms" },
            })
        };
        let mut item = step("echo {{n}}");
        for (name, value) in [
            ("itemsPath", json!("output.items")),
            ("itemVariable", json!("n")),
            ("maxConcurrency", json!(4)),
        ] {
            item[name] = value;
        }
        let items: Vec<usize> = (0..ITEMS).collect();
        let list = json!({ "handler": "no_op", "config": { "output": { "items": items } } });
        let count = step("echo \"{\\\"n\\\": {{(output?.n || 0) + 1}} }\"");
        let nothing = json!({ "handler": "no_op" });
        let chain = [
            ("M1", step("echo 1")),
            ("M2", step("echo 2")),
            ("M3", step("echo 3")),
        ];
        yard.draw("chain", "M1[One] --> M2[Two]\n M2 --> M3[Three]", &chain);
        let fan = "A[List] --> M[[Each: Mark]]\n M --> J[Join]\n J --> M2[After]";
        let after = step("echo 1");
        let steps = [
            ("A", list),
            ("M", item),
            ("J", nothing.clone()),
            ("M2", after),
        ];
        yard.draw("fan", fan, &steps);
        let back = format!("M --> D{{More?}}\n D -->|output.n < {ROUNDS}| M\n D -->|else| E[End]");
        yard.draw(
            "loop",
            &format!("M[Count]\n {back}"),
            &[("M", count), ("E", nothing)],
        );
        yard.draw_newer(&step);
        let inner = json!({ "stepType": "subflow", "subflowId": "chain" });
        yard.draw("outer", "S[[Run: chain]]", &[("S", inner)]);
        yard
    }

    /// A chain whose middle step only one run does at a time, and one that prints many lines, waits for a
    /// while and then for a signal.
    fn draw_newer(&self, step: &dyn Fn(&str) -> Value) {
        let mut keyed = step("echo 2");
        keyed["concurrency"] = json!({ "key": "yard", "max": 1 });
        let steps = [
            ("M1", step("echo 1")),
            ("M2", keyed),
            ("M3", step("echo 3")),
        ];
        self.draw("keyed", "M1[One] --> M2[Two]\n M2 --> M3[Three]", &steps);
        let print = format!(
            "i=0; while test $i -lt {LINES}; do i=$((i + 1)); echo \"line $i\" >&2; done; echo 1"
        );
        let steps = [
            ("M1", step(&print)),
            ("W", json!({ "stepType": "wait", "for": "50ms" })),
            ("S", json!({ "stepType": "wait", "signal": SIGNAL })),
            ("M2", step("echo 2")),
        ];
        let lines = "M1[Print] --> W[Wait: a while]\n W --> S[Wait: go]\n S --> M2[After]";
        self.draw("waits", lines, &steps);
    }

    /// Sends the signal to every run that waits for it; one that has it already ignores the next.
    fn send_signals(&self, runs: &[Value]) {
        let waiting = runs
            .iter()
            .filter(|run| run["status"] == "running" && run["name"] == "waits");
        for run in waiting {
            let id = run["id"].as_str().unwrap();
            // Refused where the run has just ended, and unheard where the server is away.
            let _ = self.run(&format!("runs signal {id} {SIGNAL}"));
        }
    }

    /// Every line of the attempt that ended a task is kept.
    #[track_caller]
    fn check_lines(&self, shown: &Value) {
        let tasks = shown["tasks"].as_array().unwrap();
        let printing = tasks.iter().find(|task| step(task) == "M1");
        let has_waits = tasks.iter().any(|task| task["kind"] == "wait");
        let Some(task) = printing.filter(|_| has_waits) else {
            return;
        };
        let id = task["id"].as_str().unwrap();
        let ran = self.run(&format!("tasks show {id} --json"));
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        let log = document["log"].as_array().unwrap();
        let last = log.iter().map(|line| line["attempt"].as_u64()).max();
        let of_last = log
            .iter()
            .filter(|line| Some(line["attempt"].as_u64()) == last && line["stream"] == "stderr");
        assert_eq!(of_last.count(), LINES, "{id}");
    }

    pub(crate) fn draw(&self, name: &str, diagram: &str, steps: &[(&str, Value)]) {
        let steps = steps
            .iter()
            .map(|(id, config)| format!("%% @{id}: {config}\n"));
        let text = format!(
            "graph TD\n {diagram}\n%% === WORKFLOW_CONFIG ===\n{}%% === END_CONFIG ===\n",
            steps.collect::<String>()
        );
        let path = format!(".drawloom/workflows/{name}.mmd");
        self.project.write(&path, &text);
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let plain = self.project.command(line);
        let mut command = match std::env::var_os(PROGRAM) {
            Some(program) => by(&[&program], &plain),
            None => plain,
        };
        match &self.url {
            Some(url) => command.env("DRAWLOOM_DATABASE_URL", url),
            None => command.env_remove("DRAWLOOM_DATABASE_URL"),
        };
        command
    }

    pub(crate) fn run(&self, line: &str) -> ProgramOutput {
        ProgramOutput::from(self.command(line).output().unwrap())
    }

    /// A worker; what it says goes to a file of its name.
    pub(crate) fn worker(&self, name: &str, more: &str) -> WorkerProcess {
        self.worker_under(&[], name, more)
    }

    /// A worker that another program starts.
    pub(crate) fn worker_under(&self, starter: &[&str], name: &str, more: &str) -> WorkerProcess {
        let plain = self.command(&format!("worker --name {name} {more}"));
        let mut words: Vec<&OsStr> = starter.iter().map(OsStr::new).collect();
        words.push(plain.get_program());
        let mut command = by(&words, &plain);
        let said = self.project.path().join(format!("{name}.said"));
        let said = std::fs::File::options()
            .create(true)
            .append(true)
            .open(said);
        command.stdout(Stdio::null()).stderr(said.unwrap());
        // Whatever started it goes with it.
        command.process_group(0);
        WorkerProcess(command.spawn().unwrap())
    }

    /// Starts a run of this workflow; whether that was said to be kept.
    pub(crate) fn start(&self, kind: &str) -> bool {
        self.run(&format!("workflow start {kind}")).exit == 0
    }

    /// The runs as they are listed; nothing while the database cannot be reached.
    pub(crate) fn runs(&self) -> Option<Vec<Value>> {
        let ran = self.run("runs list --limit 1000 --json");
        let listed: Value = serde_json::from_str(&ran.out).ok()?;
        (ran.exit == 0).then(|| listed["runs"].as_array().unwrap().clone())
    }

    /// Whether so many runs or more are there, and all of them are completed.
    pub(crate) fn has_ended(&self, runs_min: usize) -> bool {
        let Some(runs) = self.runs() else {
            return false;
        };
        let stuck = runs
            .iter()
            .find(|run| !matches!(run["status"].as_str(), Some("running" | "completed")));
        assert!(stuck.is_none(), "{stuck:?}");
        self.send_signals(&runs);
        runs.len() >= runs_min && runs.iter().all(|run| run["status"] == "completed")
    }

    #[track_caller]
    pub(crate) fn wait_for_end(&self, runs_min: usize) {
        wait_for("the end of all runs", || self.has_ended(runs_min));
    }

    /// Everything that ever run here has come to its one end, with each effect there and none
    /// without an attempt of its own.
    #[track_caller]
    pub(crate) fn check(&self) -> ClusterReport {
        let marks = std::fs::read_to_string(self.project.path().join("effects"));
        let marks = marks.unwrap_or_default();
        let mut left: BTreeMap<(String, u64), usize> = BTreeMap::new();
        for line in marks.lines() {
            let (task, attempt) = line.split_once(' ').unwrap();
            let key = (task.to_owned(), attempt.parse().unwrap());
            *left.entry(key).or_default() += 1;
        }
        let twice: Vec<_> = left.iter().filter(|(_, times)| **times > 1).collect();
        assert!(twice.is_empty(), "attempts that were made twice: {twice:?}");
        let mut found = ClusterReport::default();
        let runs = self.runs().unwrap();
        let parents = runs.iter().filter_map(|run| run["parent"].as_str());
        let mut parents: BTreeSet<&str> = parents.collect();
        let children = runs.iter().filter(|run| !run["parent"].is_null());
        assert_eq!(children.count(), parents.len(), "a subflow has two runs");
        for run in &runs {
            let id = run["id"].as_str().unwrap();
            let ran = self.run(&format!("runs show {id} --json"));
            let shown: Value = serde_json::from_str(&ran.out).unwrap();
            check_events(&shown);
            self.check_lines(&shown);
            found.runs += 1;
            for task in subflows(&shown) {
                assert!(parents.remove(task), "{task} has no run");
            }
            for (task, attempt) in marked(&shown) {
                let mark = left.remove(&(task.clone(), attempt));
                assert!(
                    mark.is_some(),
                    "{task} {attempt} is completed without an effect"
                );
                found.effects += 1;
            }
            let claims = claims(&shown);
            let spare = left.extract_if(.., |(task, _), _| task.starts_with(&format!("{id}/")));
            for ((task, attempt), _) in spare {
                let claim = (task, attempt);
                assert!(
                    claims.contains(&claim),
                    "{claim:?} was made and never claimed"
                );
                found.spare += 1;
            }
        }
        assert!(left.is_empty(), "effects of nobody: {left:?}");
        assert!(parents.is_empty(), "runs of nobody: {parents:?}");
        found
    }
}

/// The same command with these words in the place of its program.
fn by(words: &[&OsStr], plain: &Command) -> Command {
    let (program, before) = words.split_first().unwrap();
    let mut command = Command::new(program);
    command.args(before).args(plain.get_args());
    command.stdin(Stdio::null());
    if let Some(folder) = plain.get_current_dir() {
        command.current_dir(folder);
    }
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// The numbers have no gap, no task is created or completed twice, and what should be there is.
#[track_caller]
fn check_events(shown: &Value) {
    let events = shown["events"].as_array().unwrap();
    let numbers: Vec<u64> = events
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect();
    let expected: Vec<u64> = (1..=numbers.len() as u64).collect();
    assert_eq!(numbers, expected, "a gap in {}", shown["run"]["id"]);
    for (kind, by) in [
        ("task_created", None),
        ("task_moved", Some("complete")),
        ("run_ended", None),
    ] {
        let these = events
            .iter()
            .filter(|event| event["event"] == kind && by.is_none_or(|by| event["by"] == by));
        let named: Vec<&str> = these.filter_map(|event| event["task"].as_str()).collect();
        let once: BTreeSet<&str> = named.iter().copied().collect();
        assert_eq!(once.len(), named.len(), "{kind} twice: {named:?}");
    }
    assert_eq!(shown["run"]["status"], "completed");
    let tasks = shown["tasks"].as_array().unwrap();
    assert!(
        tasks.iter().all(|task| task["status"] == "completed"),
        "{tasks:?}"
    );
    let join = tasks.iter().find(|task| task["kind"] == "join");
    let is_loop = tasks.iter().any(|task| step(task) == "E");
    if let Some(join) = join {
        let items: Vec<usize> = (0..ITEMS).collect();
        assert_eq!(join["output"]["results"], json!(items));
    }
    let has_waits = tasks.iter().any(|task| task["kind"] == "wait");
    let count = match (join.is_some(), is_loop, subflows(shown).next()) {
        (true, ..) => ITEMS + 4,
        (_, true, _) => ROUNDS + 1,
        (.., Some(_)) => 1,
        _ if has_waits => 4,
        _ => 3,
    };
    assert_eq!(tasks.len(), count, "{tasks:?}");
}

/// The step of a task, with its visit.
fn step(task: &Value) -> &str {
    let id = task["id"].as_str().unwrap();
    id.rsplit('/').next().unwrap()
}

/// The tasks that are runs of their own.
fn subflows(shown: &Value) -> impl Iterator<Item = &str> {
    let tasks = shown["tasks"].as_array().unwrap().iter();
    let subflows = tasks.filter(|task| task["kind"] == "subflow");
    subflows.filter_map(|task| task["id"].as_str())
}

/// The tasks that left a mark, each with the attempt that completed it.
fn marked(shown: &Value) -> Vec<(String, u64)> {
    let tasks = shown["tasks"].as_array().unwrap();
    let is_marked = |task: &&Value| task["kind"] == "work" && step(task).starts_with('M');
    let marked = tasks.iter().filter(is_marked);
    marked
        .map(|task| {
            let id = task["id"].as_str().unwrap().to_owned();
            (id, task["attempt"].as_u64().unwrap())
        })
        .collect()
}

fn claims(shown: &Value) -> BTreeSet<(String, u64)> {
    let events = shown["events"].as_array().unwrap();
    let claims = events.iter().filter(|event| event["by"] == "claim");
    claims
        .map(|event| {
            let task = event["task"].as_str().unwrap().to_owned();
            (task, event["attempt"].as_u64().unwrap())
        })
        .collect()
}

#[track_caller]
pub(crate) fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_there() {
        assert!(begun.elapsed() < WAIT_MAX, "waited for {what}");
        sleep(Duration::from_millis(100));
    }
}

/// A worker, which no test leaves behind: it goes with `kill -9`.
pub(crate) struct WorkerProcess(Child);

impl WorkerProcess {
    pub(crate) fn id(&self) -> String {
        self.0.id().to_string()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.id()]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let group = format!("-{}", self.id());
        let _ = Command::new("kill").args(["-9", "--", &group]).output();
        let _ = self.0.wait();
    }
}
