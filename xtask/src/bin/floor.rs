//! The program behind the floor of `cargo xtask bench workflows`: `floor URL SHAPE COUNT GROUP`.
//!
//! Writes the rows that our engine keeps of a run, each as often as it changes: the task of every step
//! (created, claimed, ended), the item it stands for in a foreach (waiting, ended), what happened as
//! events, and once in a transaction the run and the foreach with their counters. GROUP steps share a
//! transaction. Nothing is decided, parsed or waited for. Prints one JSON line with steps and seconds.

#![expect(
    clippy::print_stdout,
    reason = "a developers' tool is its own door to the terminal"
)]

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use sqlx::postgres::PgConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _};

const CHAIN_STEPS: i64 = 10;
const VALUE: &str = r#"{"id":12345}"#;
const OUTPUT: &str = r#"{"ok":true}"#;
/// What an event says: a task's name, what it did, in which attempt.
const DETAIL: &str = r#"{"task":"0198c0de/Each:4711/Item#1","by":"complete","attempt":1}"#;
/// When something happened; any number is as long as another.
const AT_MS: i64 = 1_800_000_000_000;

const TABLES: [&str; 5] = [
    "CREATE TABLE run (id BIGINT PRIMARY KEY, status TEXT NOT NULL, active BIGINT NOT NULL,
        seq BIGINT NOT NULL)",
    "CREATE TABLE task (run BIGINT NOT NULL, name BIGINT NOT NULL, status TEXT NOT NULL,
        ready_ms BIGINT NOT NULL, fence BIGINT NOT NULL, worker TEXT, until_ms BIGINT, output TEXT,
        ended_ms BIGINT, PRIMARY KEY (run, name))",
    "CREATE TABLE foreach (run BIGINT PRIMARY KEY, next BIGINT NOT NULL, ended BIGINT NOT NULL)",
    "CREATE TABLE item (run BIGINT NOT NULL, place BIGINT NOT NULL, value TEXT NOT NULL,
        status TEXT NOT NULL, result BIGINT, PRIMARY KEY (run, place))",
    "CREATE TABLE event (run BIGINT NOT NULL, seq BIGINT NOT NULL, at_ms BIGINT NOT NULL,
        what TEXT NOT NULL, detail TEXT NOT NULL, PRIMARY KEY (run, seq))",
];
/// What workers look for.
const READY: &str = "CREATE INDEX ready ON task (ready_ms) WHERE status = 'pending'";

const RUN: &str = "INSERT INTO run (id, status, active, seq) VALUES ($1, 'running', 1, 1)";
const RUN_CHANGED: &str = "UPDATE run SET seq = $2 WHERE id = $1";
const FOREACH: &str = "INSERT INTO foreach (run, next, ended) VALUES ($1, 0, 0)";
const FOREACH_CHANGED: &str = "UPDATE foreach SET next = $2, ended = $2 WHERE run = $1";
const ITEM: &str = "INSERT INTO item (run, place, value, status) VALUES ($1, $2, $3, 'waiting')";
const ITEM_ENDED: &str =
    "UPDATE item SET status = 'succeeded', result = $2 WHERE run = $1 AND place = $2";
const TASK: &str =
    "INSERT INTO task (run, name, status, ready_ms, fence) VALUES ($1, $2, 'pending', $3, 0)";
const TASK_CLAIMED: &str = "UPDATE task SET status = 'in_progress', fence = 1, worker = $3,
    until_ms = $4 WHERE run = $1 AND name = $2";
const TASK_ENDED: &str = "UPDATE task SET status = 'completed', worker = NULL, until_ms = NULL,
    output = $3, ended_ms = $4 WHERE run = $1 AND name = $2";
const EVENT: &str = "INSERT INTO event (run, seq, at_ms, what, detail) VALUES ($1, $2, $3, $4, $5)";

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
    let (count, group): (i64, usize) = (count.parse()?, group.parse()?);
    let job = Job::new(shape, count)?;
    let mut rows = Rows::open(url).await?;
    for statement in TABLES.iter().chain([&READY]) {
        rows.write(statement, &[]).await?;
    }
    let began = Instant::now();
    rows.begin(&job).await?;
    let mut done = 0;
    for steps in job.steps.chunks(group) {
        rows.write("BEGIN", &[]).await?;
        done += rows.steps(&job, steps).await?;
        rows.write("COMMIT", &[]).await?;
    }
    let seconds = began.elapsed().as_secs_f64();
    let figures = json!({"steps": job.steps.len(), "done": done, "seconds": seconds});
    println!("{figures}");
    Ok(())
}

struct Job {
    runs: i64,
    steps: Vec<Step>,
    is_foreach: bool,
}

/// One step of one run. Runs take turns, as they do when they are under way together.
#[derive(Clone, Copy)]
struct Step {
    run: i64,
    number: i64,
}

impl Job {
    fn new(shape: &str, count: i64) -> Result<Self> {
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

#[derive(Clone, Copy)]
enum Value {
    Number(i64),
    Text(&'static str),
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
        self.write("BEGIN", &[]).await?;
        for run in 0..job.runs {
            self.write(RUN, &[Value::Number(run)]).await?;
        }
        if job.is_foreach {
            self.write(FOREACH, &[Value::Number(0)]).await?;
            for step in &job.steps {
                let place = Value::Number(step.number);
                self.write(ITEM, &[Value::Number(step.run), place, Value::Text(VALUE)])
                    .await?;
            }
        }
        self.write("COMMIT", &[]).await
    }

    async fn steps(&mut self, job: &Job, steps: &[Step]) -> Result<usize> {
        for step in steps {
            self.step(job, *step).await?;
        }
        let Some(last) = steps.last() else {
            return Ok(0);
        };
        if job.is_foreach {
            let ended = Value::Number(last.number + 1);
            self.write(FOREACH_CHANGED, &[Value::Number(0), ended])
                .await?;
            self.write(RUN_CHANGED, &[Value::Number(0), ended]).await?;
        } else {
            for step in steps {
                let (run, seq) = (Value::Number(step.run), Value::Number(step.number));
                self.write(RUN_CHANGED, &[run, seq]).await?;
            }
        }
        Ok(steps.len())
    }

    async fn step(&mut self, job: &Job, step: Step) -> Result<()> {
        let (run, name) = (Value::Number(step.run), Value::Number(step.number));
        let (at, worker) = (Value::Number(AT_MS), Value::Text("worker"));
        let output = Value::Text(OUTPUT);
        self.write(TASK, &[run, name, at]).await?;
        self.write(TASK_CLAIMED, &[run, name, worker, at]).await?;
        self.write(TASK_ENDED, &[run, name, output, at]).await?;
        let told: &[&'static str] = if job.is_foreach {
            self.write(ITEM_ENDED, &[run, name]).await?;
            &TOLD_OF_ITEM
        } else {
            &TOLD_OF_STEP
        };
        let first = step.number * i64::try_from(told.len())?;
        for (seq, what) in (first..).zip(told) {
            let (what, detail) = (Value::Text(what), Value::Text(DETAIL));
            self.write(EVENT, &[run, Value::Number(seq), at, what, detail])
                .await?;
        }
        Ok(())
    }

    async fn write(&mut self, sql: &'static str, values: &[Value]) -> Result<()> {
        macro_rules! run {
            ($connection:expr) => {{
                let mut query = sqlx::query(sql);
                for value in values {
                    query = match *value {
                        Value::Number(number) => query.bind(number),
                        Value::Text(text) => query.bind(text),
                    };
                }
                query.execute($connection).await?.rows_affected()
            }};
        }
        let changed = match self {
            Self::Sqlite(connection) => run!(connection),
            Self::Postgres(connection) => run!(connection),
        };
        ensure!(
            values.is_empty() || changed == 1,
            "{sql} changed {changed} rows"
        );
        Ok(())
    }
}
