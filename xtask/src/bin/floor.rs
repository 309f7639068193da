//! The program behind the floor of `cargo xtask bench workflows`: `floor URL SHAPE COUNT GROUP`.
//!
//! Writes the rows that our engine keeps of a run, each as often as it changes: the task of every step
//! (created, claimed, ended), the item it stands for in a foreach (waiting, started, ended), what happened
//! as events, and once in a transaction the run and the foreach with their counters. GROUP steps share a
//! transaction, and rows of a kind a statement, which is the fastest way there is through this driver.
//! Nothing is decided, read or waited for. Prints one JSON line with the steps and seconds.

#![expect(
    clippy::print_stdout,
    reason = "a developers' tool is its own door to the terminal"
)]

use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use sqlx::postgres::PgConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

const CHAIN_STEPS: usize = 10;
/// When something happened; any number is as long as another.
const AT_MS: u64 = 1_800_000_000_000;

const TABLES: [&str; 9] = [
    "CREATE TABLE runs (id TEXT PRIMARY KEY, status TEXT NOT NULL, body TEXT NOT NULL)",
    "CREATE TABLE tasks (id TEXT PRIMARY KEY, run TEXT NOT NULL, path TEXT NOT NULL,
        place TEXT NOT NULL, visit BIGINT NOT NULL, status TEXT NOT NULL, ready_ms BIGINT,
        lease_ms BIGINT, is_active BIGINT NOT NULL, body TEXT NOT NULL)",
    "CREATE UNIQUE INDEX tasks_visits ON tasks (place, visit)",
    "CREATE INDEX tasks_ready ON tasks (ready_ms, id) WHERE ready_ms IS NOT NULL",
    "CREATE INDEX tasks_leased ON tasks (lease_ms) WHERE lease_ms IS NOT NULL",
    "CREATE INDEX tasks_active ON tasks (run, path) WHERE is_active = 1",
    "CREATE TABLE foreachs (id TEXT PRIMARY KEY, body TEXT NOT NULL)",
    "CREATE TABLE items (foreach TEXT NOT NULL, place BIGINT NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (foreach, place))",
    "CREATE TABLE events (run TEXT NOT NULL, seq BIGINT NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (run, seq))",
];

/// Many rows in one JSON text; `{rows}` is how the database takes it apart into `value`.
const PUT_RUNS: &str = "INSERT INTO runs (id, status, body)
    SELECT value ->> 0, value ->> 1, value ->> 2 FROM {rows} WHERE true
    ON CONFLICT (id) DO UPDATE SET status = excluded.status, body = excluded.body";
const PUT_TASKS: &str = "INSERT INTO tasks
    (id, run, path, place, visit, status, ready_ms, lease_ms, is_active, body)
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, CAST(value ->> 4 AS BIGINT),
        value ->> 5, CAST(value ->> 6 AS BIGINT), CAST(value ->> 7 AS BIGINT),
        CAST(value ->> 8 AS BIGINT), value ->> 9
    FROM {rows} WHERE true
    ON CONFLICT (id) DO UPDATE SET status = excluded.status, ready_ms = excluded.ready_ms,
        lease_ms = excluded.lease_ms, is_active = excluded.is_active, body = excluded.body";
const PUT_GROUPS: &str = "INSERT INTO foreachs (id, body)
    SELECT value ->> 0, value ->> 1 FROM {rows} WHERE true
    ON CONFLICT (id) DO UPDATE SET body = excluded.body";
const PUT_ITEMS: &str = "INSERT INTO items (foreach, place, body)
    SELECT value ->> 0, CAST(value ->> 1 AS BIGINT), value ->> 2 FROM {rows} WHERE true
    ON CONFLICT (foreach, place) DO UPDATE SET body = excluded.body";
const PUT_EVENTS: &str = "INSERT INTO events (run, seq, body)
    SELECT value ->> 0, CAST(value ->> 1 AS BIGINT), value ->> 2 FROM {rows} WHERE true";

/// What is told of a step, in order; of an item also that it began and ended.
const TOLD_OF_STEP: [&str; 4] = ["task_created", "task_moved", "task_moved", "decided"];
const TOLD_OF_ITEM: [&str; 5] = [
    "item_started",
    "task_created",
    "task_moved",
    "task_moved",
    "item_ended",
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, shape, count, group] = words.as_slice() else {
        bail!("usage: floor URL chain|fan-out|loop COUNT GROUP");
    };
    let job = Job::new(shape, count.parse()?)?;
    let mut rows = Rows::open(url).await?;
    for statement in TABLES {
        rows.run(statement).await?;
    }
    let began = Instant::now();
    rows.begin(&job).await?;
    let mut done = 0;
    for steps in job.steps.chunks(group.parse()?) {
        rows.steps(&job, steps).await?;
        done += steps.len();
    }
    let seconds = began.elapsed().as_secs_f64();
    let figures = json!({"steps": job.steps.len(), "done": done, "seconds": seconds});
    println!("{figures}");
    Ok(())
}

struct Job {
    runs: usize,
    steps: Vec<Step>,
    is_foreach: bool,
}

/// One step of one run. Runs take turns, as they do when they are under way together.
#[derive(Clone, Copy)]
struct Step {
    run: usize,
    number: usize,
}

/// How far a task has come.
#[derive(Clone, Copy)]
enum Stage {
    Created,
    Claimed,
    Ended,
}

impl Job {
    fn new(shape: &str, count: usize) -> Result<Self> {
        let (runs, steps_each) = match shape {
            "chain" => (count, CHAIN_STEPS),
            "fan-out" | "loop" => (1, count),
            other => bail!("there is no shape `{other}`"),
        };
        let steps = (0..steps_each)
            .flat_map(|number| (0..runs).map(move |run| Step { run, number }))
            .collect();
        Ok(Self {
            runs,
            steps,
            is_foreach: shape == "fan-out",
        })
    }
}

impl Step {
    fn task(self, stage: Stage) -> Value {
        let (run, number) = (run_name(self.run), self.number);
        let (path, place) = (
            format!("Each:{number}"),
            format!("{run}/Each:{number}/Item"),
        );
        let id = format!("{place}#1");
        let (status, ready, lease, active) = match stage {
            Stage::Created => ("pending", json!(AT_MS), Value::Null, 1),
            Stage::Claimed => ("in_progress", Value::Null, json!(AT_MS), 1),
            Stage::Ended => ("completed", Value::Null, Value::Null, 0),
        };
        let body = json!({
            "id": id, "kind": "work", "execution": "automated", "status": status,
            "from": format!("{run}/Each#1"), "ready_ms": AT_MS, "attempt": 1, "fence": 1,
            "lease": null, "assignee": null, "fallen_back": false, "turns": 0, "note": null,
            "output": {"ok": true}, "partial": false, "failure": null, "hold": null, "tags": [],
            "arrivals": [], "passed": [], "spent": {"tokens": 0, "micros": 0},
            "created_ms": AT_MS, "ended_ms": null,
        })
        .to_string();
        json!([id, run, path, place, 1, status, ready, lease, active, body])
    }

    fn item(self, status: &str) -> Value {
        let group = format!("{}/Each#1", run_name(self.run));
        let body = json!({
            "group": group, "index": self.number, "value": {"id": self.number}, "status": status,
            "active": 0, "result": null, "failure": null,
        })
        .to_string();
        json!([group, self.number, body])
    }

    fn events(self, told: &[&str]) -> Vec<Value> {
        let run = run_name(self.run);
        let event = |(place, what): (usize, &&str)| {
            let seq = self.number * told.len() + place + 1;
            let task = format!("{run}/Each:{}/Item#1", self.number);
            let what = json!({"what": what, "task": task, "by": "complete", "attempt": 1});
            let body = json!({"run": run, "seq": seq, "at_ms": AT_MS, "what": what}).to_string();
            json!([run, seq, body])
        };
        told.iter().enumerate().map(event).collect()
    }
}

fn run_name(run: usize) -> String {
    format!("0198c0de-0000-7000-8000-{run:012}")
}

fn run_row(run: usize, seq: usize) -> Value {
    let id = run_name(run);
    let body = json!({
        "id": id, "workflow": "6c1f0f2e9b7a4d51", "status": "running", "reason": null, "pause": null,
        "result": null, "parent": null, "depth": 0, "assignee": null, "tags": [], "active": 1,
        "seq": seq, "spent": {"tokens": 0, "micros": 0}, "created_ms": AT_MS, "ended_ms": null,
    })
    .to_string();
    json!([id, "running", body])
}

fn group_row(ended: usize) -> Value {
    let id = format!("{}/Each#1", run_name(0));
    let body = json!({
        "id": id, "total": 10_000, "next": ended, "running": 0, "succeeded": ended, "failed": 0,
        "closed": false,
    })
    .to_string();
    json!([id, body])
}

/// The driver the store uses, for either database.
enum Rows {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Rows {
    async fn open(url: &str) -> Result<Self> {
        if url.starts_with("postgresql:") {
            return Ok(Self::Postgres(PgConnection::connect(url).await?));
        }
        let file = url
            .strip_prefix("sqlite:///")
            .context("the URL begins with `sqlite:///` or `postgresql:`")?;
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        Ok(Self::Sqlite(options.connect().await?))
    }

    /// The runs, and the items of a foreach, which are known before the first begins.
    async fn begin(&mut self, job: &Job) -> Result<()> {
        self.run("BEGIN").await?;
        let runs = (0..job.runs).map(|run| run_row(run, 1)).collect();
        self.put(PUT_RUNS, runs).await?;
        if job.is_foreach {
            self.put(PUT_GROUPS, vec![group_row(0)]).await?;
            let items = job.steps.iter().map(|step| step.item("waiting")).collect();
            self.put(PUT_ITEMS, items).await?;
        }
        self.run("COMMIT").await
    }

    async fn steps(&mut self, job: &Job, steps: &[Step]) -> Result<()> {
        self.run("BEGIN").await?;
        for stage in [Stage::Created, Stage::Claimed, Stage::Ended] {
            let tasks = steps.iter().map(|step| step.task(stage)).collect();
            self.put(PUT_TASKS, tasks).await?;
        }
        let told: &[&str] = if job.is_foreach {
            self.items(steps).await?;
            &TOLD_OF_ITEM
        } else {
            &TOLD_OF_STEP
        };
        let events = steps.iter().flat_map(|step| step.events(told)).collect();
        self.put(PUT_EVENTS, events).await?;
        let mut runs: Vec<usize> = steps.iter().map(|step| step.run).collect();
        runs.dedup();
        let runs = runs.iter().map(|run| run_row(*run, 1)).collect();
        self.put(PUT_RUNS, runs).await?;
        self.run("COMMIT").await
    }

    async fn items(&mut self, steps: &[Step]) -> Result<()> {
        for status in ["running", "succeeded"] {
            let items = steps.iter().map(|step| step.item(status)).collect();
            self.put(PUT_ITEMS, items).await?;
        }
        let ended = steps.last().map_or(0, |step| step.number + 1);
        self.put(PUT_GROUPS, vec![group_row(ended)]).await
    }

    async fn put(&mut self, sql: &'static str, rows: Vec<Value>) -> Result<()> {
        let rows = Value::Array(rows).to_string();
        match self {
            Self::Sqlite(connection) => {
                let sql = sql.replace("{rows}", "json_each($1)");
                let query = sqlx::query(AssertSqlSafe(sql)).bind(rows);
                query.execute(connection).await?;
            }
            Self::Postgres(connection) => {
                let taken_apart = "jsonb_array_elements(CAST($1 AS TEXT)::jsonb) AS row (value)";
                let sql = sql.replace("{rows}", taken_apart);
                let query = sqlx::query(AssertSqlSafe(sql)).bind(rows);
                query.execute(connection).await?;
            }
        }
        Ok(())
    }

    async fn run(&mut self, sql: &'static str) -> Result<()> {
        match self {
            Self::Sqlite(connection) => {
                sqlx::query(sql).execute(connection).await?;
            }
            Self::Postgres(connection) => {
                sqlx::query(sql).execute(connection).await?;
            }
        }
        Ok(())
    }
}
