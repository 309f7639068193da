//! The program behind the floor of `cargo xtask bench workflows`: `floor URL SHAPE COUNT GROUP`.
//!
//! Writes the rows that our engine stores for runs, with the same statements through the same
//! driver, into tables that `drawloom` made. It decides, reads and waits for nothing, and prepares
//! all values before the clock starts. A step is written as it is claimed and as it ends, and those
//! that are created with their run then, too; its item as it starts and ends; an event for each of
//! these; and once in a transaction the run and the foreach with their counters.
//!
//! A durable engine needs one commit for each step at least: the report of one and the claim of the
//! next can share it, but no step may begin before its claim is on the disk, nor the next before
//! its report. So a transaction here ends GROUP steps and begins the next GROUP; with a GROUP of 1
//! that is one commit for each step. Prints one JSON line with the steps, the seconds and the CPU
//! seconds.
//!
//! `floor kept URL` prints the rows and bytes of each kind that a SQLite file holds; any program may have written them.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a developers' tool is its own door to files and the terminal"
)]

// Not beside this file, where cargo takes every file for a program.
#[path = "../bench/workflows/floor/rows.rs"]
mod rows;
// The store's own file: the floor must write texts as short as the engine's.
#[path = "../../../crates/store/src/workflows/shorthand.rs"]
#[cfg_attr(not(test), expect(dead_code, reason = "the floor reads nothing back"))]
mod shorthand;

use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Map, Value, json};
use sqlx::postgres::{PgArguments, PgConnection};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Arguments as _, AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _};

use rows::{Job, Put, Row, WORKFLOW};

/// The kernel counts a process's time in these, on every Linux that is in use.
const TICKS_PER_SECOND: f64 = 100.0;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let printed = match words.as_slice() {
        ["kept", url] => kept(&mut sqlite(url).await?).await?,
        [url, shape, count, group] => {
            let job = Job::new(shape, count.parse()?)?;
            measure(url, &job, group.parse()?).await?
        }
        _ => bail!("usage: floor URL chain|fan-out|loop COUNT GROUP, or floor kept URL"),
    };
    println!("{printed}");
    Ok(())
}

async fn measure(url: &str, job: &Job, group: usize) -> Result<Value> {
    let mut database = Database::open(url).await?;
    let mut transactions = Vec::new();
    for puts in job.transactions(group) {
        transactions.push(database.prepare(puts)?);
    }
    let (cpu, began) = (cpu_seconds()?, Instant::now());
    for statements in transactions {
        database.write(statements).await?;
    }
    let seconds = began.elapsed().as_secs_f64();
    let (steps, done) = (job.steps.len(), database.ended().await?);
    let cpu_seconds = cpu_seconds()? - cpu;
    Ok(json!({"steps": steps, "done": done, "seconds": seconds, "cpu_seconds": cpu_seconds}))
}

/// The statement for rows of a kind: in SQLite the rows are one JSON text, in PostgreSQL each
/// column is an array.
struct Kind {
    sqlite: Option<&'static str>,
    postgres: &'static str,
    columns: &'static [Column],
}

#[derive(Clone, Copy)]
enum Column {
    Text,
    Number,
    Truth,
}

const RUNS: Kind = Kind {
    sqlite: Some(
        "INSERT INTO workflow_runs (id, workflow, status, created_ms, is_top, body) \
         SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 \
         FROM json_each($1) WHERE true ON CONFLICT (id) DO UPDATE SET \
         workflow = excluded.workflow, status = excluded.status, body = excluded.body",
    ),
    postgres: "INSERT INTO workflow_runs \
         (id, workflow, status, created_ms, is_top, body, stream_at) \
         SELECT new.*, pg_current_xact_id()::text::bigint FROM unnest($1::text[], $2::text[], \
         $3::text[], $4::bigint[], $5::boolean[], $6::text[]) AS new \
         ON CONFLICT (id) DO UPDATE SET workflow = excluded.workflow, status = excluded.status, \
         body = excluded.body, \
         stream_at = greatest(workflow_runs.stream_at, excluded.stream_at)",
    columns: &[
        Column::Text,
        Column::Text,
        Column::Text,
        Column::Number,
        Column::Truth,
        Column::Text,
    ],
};
const INPUTS: Kind = Kind {
    sqlite: Some(
        "UPDATE workflow_runs SET input = new.value ->> 1 FROM json_each($1) AS new \
         WHERE workflow_runs.id = new.value ->> 0",
    ),
    postgres: "UPDATE workflow_runs SET input = new.input \
         FROM unnest($1::text[], $2::text[]) AS new (run, input) WHERE workflow_runs.id = new.run",
    columns: &[Column::Text, Column::Text],
};
const TASKS: Kind = Kind {
    sqlite: Some(
        "INSERT INTO workflow_tasks (run, path, place, visit, status, assignee, ready_ms, \
         lease_ms, fence, is_active, slot, rank, body) \
         SELECT value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, \
         value ->> 7, value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12, \
         value ->> 13 FROM json_each($1) WHERE true ON CONFLICT (place, visit) DO UPDATE SET \
         status = excluded.status, assignee = excluded.assignee, ready_ms = excluded.ready_ms, \
         lease_ms = excluded.lease_ms, fence = excluded.fence, is_active = excluded.is_active, \
         slot = excluded.slot, rank = excluded.rank, body = excluded.body",
    ),
    postgres: "INSERT INTO workflow_tasks (id, run, path, place, visit, status, assignee, \
         ready_ms, lease_ms, fence, is_active, slot, rank, body) \
         SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], \
         $6::text[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::boolean[], \
         $12::text[], $13::bigint[], $14::text[]) ON CONFLICT (place, visit) DO UPDATE SET \
         status = excluded.status, assignee = excluded.assignee, ready_ms = excluded.ready_ms, \
         lease_ms = excluded.lease_ms, fence = excluded.fence, is_active = excluded.is_active, \
         slot = excluded.slot, rank = excluded.rank, body = excluded.body",
    columns: &[
        Column::Text,
        Column::Text,
        Column::Text,
        Column::Text,
        Column::Number,
        Column::Text,
        Column::Text,
        Column::Number,
        Column::Number,
        Column::Number,
        Column::Truth,
        Column::Text,
        Column::Number,
        Column::Text,
    ],
};
/// SQLite has an index where PostgreSQL has a table.
const READY: Kind = Kind {
    sqlite: None,
    postgres: "INSERT INTO workflow_ready (task, run, ready_ms, assignee, slot, rank) \
         SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], \
         $6::bigint[]) ON CONFLICT (task) DO UPDATE SET ready_ms = excluded.ready_ms, \
         assignee = excluded.assignee, slot = excluded.slot, rank = excluded.rank",
    columns: &[
        Column::Text,
        Column::Text,
        Column::Number,
        Column::Text,
        Column::Text,
        Column::Number,
    ],
};
const NO_LONGER_READY: Kind = Kind {
    sqlite: None,
    postgres: "DELETE FROM workflow_ready WHERE task = ANY($1)",
    columns: &[Column::Text],
};
const GROUPS: Kind = Kind {
    sqlite: Some(
        "INSERT INTO workflow_groups (id, body) SELECT value ->> 0, value ->> 1 \
         FROM json_each($1) WHERE true ON CONFLICT (id) DO UPDATE SET body = excluded.body",
    ),
    postgres: "INSERT INTO workflow_groups (id, body) SELECT * FROM unnest($1::text[], $2::text[]) \
         ON CONFLICT (id) DO UPDATE SET body = excluded.body",
    columns: &[Column::Text, Column::Text],
};
const ITEMS: Kind = Kind {
    sqlite: Some(
        "INSERT INTO workflow_items (\"group\", \"index\", body) \
         SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each($1) \
         WHERE true ON CONFLICT (\"group\", \"index\") DO UPDATE SET body = excluded.body",
    ),
    postgres: "INSERT INTO workflow_items (\"group\", \"index\", body) \
         SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[]) \
         ON CONFLICT (\"group\", \"index\") DO UPDATE SET body = excluded.body",
    columns: &[Column::Text, Column::Number, Column::Text],
};
/// A row is a page: consecutive events of a run.
const EVENTS: Kind = Kind {
    sqlite: Some(
        "INSERT INTO workflow_events (run, seq, body) \
         SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each($1)",
    ),
    postgres: "INSERT INTO workflow_events (run, seq, body) \
         SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[])",
    columns: &[Column::Text, Column::Number, Column::Text],
};
/// The position of each page in the one stream of events.
const STREAM: Kind = Kind {
    sqlite: Some(
        "INSERT INTO event_stream (subject, seq) \
         SELECT value ->> 0, value ->> 1 FROM json_each($1)",
    ),
    postgres: "INSERT INTO event_stream (stream_at, subject, seq) \
         SELECT pg_current_xact_id()::text::bigint, page.* \
         FROM unnest($1::text[], $2::bigint[]) AS page",
    columns: &[Column::Text, Column::Number],
};
const NOTICES: Kind = Kind {
    sqlite: Some(
        "INSERT INTO workflow_notices (run, body) \
         SELECT value ->> 0, value ->> 1 FROM json_each($1)",
    ),
    postgres: "INSERT INTO workflow_notices (run, body) \
         SELECT * FROM unnest($1::text[], $2::text[])",
    columns: &[Column::Text, Column::Text],
};

/// The driver the store uses, for either database.
enum Database {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

/// A statement with its values as the driver wants them.
enum Statement {
    Sqlite(&'static str, String),
    Postgres(&'static str, PgArguments),
}

impl Database {
    async fn open(url: &str) -> Result<Self> {
        let keep = "INSERT INTO workflow_texts (hash, source, created_ms) VALUES ($1, '', 0)";
        if url.starts_with("postgresql:") {
            let mut connection = PgConnection::connect(url).await?;
            let kept = sqlx::query(keep).bind(WORKFLOW).execute(&mut connection);
            kept.await?;
            return Ok(Self::Postgres(connection));
        }
        let mut connection = sqlite(url).await?;
        let kept = sqlx::query(keep).bind(WORKFLOW).execute(&mut connection);
        kept.await?;
        Ok(Self::Sqlite(connection))
    }

    fn prepare(&self, puts: Vec<Put>) -> Result<Vec<Statement>> {
        let mut statements = Vec::new();
        for Put(kind, rows) in puts {
            match self {
                Self::Sqlite(_) => {
                    let rows = json!(rows).to_string();
                    statements.extend(kind.sqlite.map(|sql| Statement::Sqlite(sql, rows)));
                }
                Self::Postgres(_) => {
                    let values = arrays(kind.columns, &rows)?;
                    statements.push(Statement::Postgres(kind.postgres, values));
                }
            }
        }
        Ok(statements)
    }

    async fn write(&mut self, statements: Vec<Statement>) -> Result<()> {
        let begin = match self {
            Self::Sqlite(_) => "BEGIN IMMEDIATE",
            Self::Postgres(_) => "BEGIN",
        };
        self.run(begin).await?;
        for statement in statements {
            match (&mut *self, statement) {
                (Self::Sqlite(connection), Statement::Sqlite(sql, rows)) => {
                    sqlx::query(sql).bind(rows).execute(connection).await?;
                }
                (Self::Postgres(connection), Statement::Postgres(sql, values)) => {
                    sqlx::query_with(sql, values).execute(connection).await?;
                }
                _ => bail!("a statement was prepared for the other database"),
            }
        }
        self.run("COMMIT").await
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

    /// Steps that the database knows to have ended.
    async fn ended(&mut self) -> Result<i64> {
        let sql = "SELECT count(*) FROM workflow_tasks WHERE status = 'completed' \
                   AND (path <> '' OR place NOT LIKE '%/Each' AND place NOT LIKE '%/Join')";
        Ok(match self {
            Self::Sqlite(connection) => sqlx::query_scalar(sql).fetch_one(connection).await?,
            Self::Postgres(connection) => sqlx::query_scalar(sql).fetch_one(connection).await?,
        })
    }
}

async fn sqlite(url: &str) -> Result<SqliteConnection> {
    let file = url
        .strip_prefix("sqlite:///")
        .context("the URL begins with `sqlite:///` or `postgresql:`")?;
    let options = SqliteConnectOptions::new()
        .filename(file)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true);
    Ok(options.connect().await?)
}

fn arrays(columns: &[Column], rows: &[Row]) -> Result<PgArguments> {
    let mut arguments = PgArguments::default();
    for (place, column) in columns.iter().enumerate() {
        let cells = rows
            .iter()
            .map(|row| row.get(place).unwrap_or(&Value::Null));
        let added = match column {
            Column::Text => arguments.add(cells.map(Value::as_str).collect::<Vec<_>>()),
            Column::Number => arguments.add(cells.map(Value::as_i64).collect::<Vec<_>>()),
            Column::Truth => arguments.add(cells.map(Value::as_bool).collect::<Vec<_>>()),
        };
        added.map_err(|problem| anyhow!("a value does not fit: {problem}"))?;
    }
    Ok(arguments)
}

const KEPT: [&str; 5] = ["runs", "tasks", "groups", "items", "events"];

async fn kept(connection: &mut SqliteConnection) -> Result<Value> {
    let mut found = Map::new();
    for kind in KEPT {
        let sql = format!("SELECT count(*), coalesce(sum(length(body)), 0) FROM workflow_{kind}");
        let row = sqlx::query(AssertSqlSafe(sql));
        let row = row.fetch_one(&mut *connection).await?;
        let (rows, bytes): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        found.insert(kind.to_owned(), json!({"rows": rows, "bytes": bytes}));
    }
    Ok(Value::Object(found))
}

/// User and system time of all threads, the 14th and 15th field of `stat`.
fn cpu_seconds() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The second field is the program's name in brackets, which may contain any character.
    let (_, fields) = stat.rsplit_once(')').context("a stat names its program")?;
    let mut ticks = 0.0;
    for field in fields.split_whitespace().skip(11).take(2) {
        let time: f64 = field.parse()?;
        ticks += time;
    }
    Ok(ticks / TICKS_PER_SECOND)
}
