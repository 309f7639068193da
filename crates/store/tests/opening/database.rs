//! A database for a test alone: made from a dump, looked into without our own code, opened with it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use agent::AgentClock;
use sqlx::{Connection as _, Row as _};
use store::{Options, PostgresDatabase, PostgresOptions, SqliteDatabase};

use crate::cluster::{Cluster, Flush};

/// The time as it is.
pub(crate) struct Now;

impl AgentClock for Now {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        u64::try_from(since.as_millis()).unwrap()
    }
}

pub(crate) enum Opened {
    File(SqliteDatabase),
    Server(PostgresDatabase),
}

/// Opens a database that another process made, by its file or address.
pub(crate) async fn open(place: &str) -> store::Result<Opened> {
    if place.starts_with("postgres://") {
        let options = PostgresOptions {
            clock: Arc::new(Now),
            scrub: None,
        };
        return Ok(Opened::Server(
            PostgresDatabase::open(place, options).await?,
        ));
    }
    let options = Options {
        clock: Arc::new(Now),
        scrub: None,
        bytes_max: None,
        pid: std::process::id(),
    };
    Ok(Opened::File(
        SqliteDatabase::open(place.as_ref(), options).await?,
    ))
}

/// Makes databases of one engine.
pub(crate) enum Maker {
    Files(tempfile::TempDir),
    Server(Box<Cluster>),
}

impl Maker {
    pub(crate) fn files() -> Maker {
        Maker::Files(tempfile::tempdir().unwrap())
    }

    pub(crate) async fn server() -> Maker {
        Maker::Server(Box::new(Cluster::start(Flush::No).await))
    }

    /// The folder with its dumps.
    pub(crate) fn dumps(&self) -> PathBuf {
        let engine = match self {
            Maker::Files(_) => "sqlite",
            Maker::Server(_) => "postgres",
        };
        let schemas = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/opening/schemas");
        PathBuf::from(schemas).join(engine)
    }

    pub(crate) fn dump_of(&self, version: usize) -> PathBuf {
        self.dumps().join(format!("{version:04}.sql"))
    }

    /// A new database with nothing in it.
    pub(crate) async fn empty(&self, name: &str) -> String {
        match self {
            Maker::Files(folder) => folder.path().join(name).display().to_string(),
            Maker::Server(cluster) => cluster.database(name).await,
        }
    }

    /// A new database as a drawloom of this version left it.
    pub(crate) async fn of_version(&self, version: usize, name: &str) -> String {
        let place = self.empty(name).await;
        let dump = std::fs::read_to_string(self.dump_of(version)).unwrap();
        let dump = sqlx::raw_sql(sqlx::AssertSqlSafe(dump));
        match self {
            Maker::Files(_) => {
                let mut connection = file(&place).await;
                dump.execute(&mut connection).await.unwrap();
                connection.close().await.unwrap();
            }
            Maker::Server(cluster) => {
                let mut connection = cluster.connect(name).await.unwrap();
                dump.execute(&mut connection).await.unwrap();
                connection.close().await.unwrap();
            }
        }
        place
    }

    /// The version that the database says it has.
    pub(crate) async fn version(&self, place: &str) -> i64 {
        let sql = match self {
            Maker::Files(_) => "SELECT CAST(user_version AS TEXT) FROM pragma_user_version",
            Maker::Server(_) => "SELECT max(version)::text FROM drawloom_migrations",
        };
        self.texts(place, sql).await.remove(0).parse().unwrap()
    }

    /// The tables, in the order of their names.
    pub(crate) async fn tables(&self, place: &str) -> Vec<String> {
        let sql = match self {
            Maker::Files(_) => {
                "SELECT name FROM sqlite_schema WHERE type = 'table' \
                 AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '_sqlx_%' \
                 AND name NOT LIKE 'search_words%' ORDER BY name"
            }
            Maker::Server(_) => {
                "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' \
                 AND tablename <> 'drawloom_migrations' ORDER BY 1"
            }
        };
        self.texts(place, sql).await
    }

    /// Every row of these tables, as the engine itself writes it.
    pub(crate) async fn rows(&self, place: &str, tables: &[String]) -> Vec<String> {
        let mut rows = Vec::new();
        for table in tables {
            let sql = match self {
                Maker::Files(_) => {
                    let columns = format!("SELECT name FROM pragma_table_info('{table}')");
                    let columns = self.texts(place, &columns).await;
                    let quoted = columns.iter().map(|name| format!("quote(\"{name}\")"));
                    let row = quoted.collect::<Vec<_>>().join(" || ',' || ");
                    format!("SELECT {row} AS line FROM \"{table}\" ORDER BY line")
                }
                Maker::Server(_) => format!("SELECT t::text FROM \"{table}\" AS t ORDER BY 1"),
            };
            let found = self.texts(place, &sql).await;
            rows.extend(found.into_iter().map(|row| format!("{table}: {row}")));
        }
        rows
    }

    /// The columns of a table, in their order.
    async fn columns(&self, place: &str, table: &str) -> Vec<String> {
        let sql = match self {
            Maker::Files(_) => format!("SELECT name FROM pragma_table_info('{table}')"),
            Maker::Server(_) => format!(
                "SELECT column_name::text FROM information_schema.columns \
                 WHERE table_schema = 'public' AND table_name = '{table}' \
                 ORDER BY ordinal_position"
            ),
        };
        self.texts(place, &sql).await
    }

    /// Every row of these tables, without the columns that one of two databases does not have: a
    /// migration may add some, and take away what can be told from the others.
    pub(crate) async fn rows_in_both(
        &self,
        place: &str,
        other: &str,
        tables: &[String],
    ) -> Vec<String> {
        self.rows_in_all(place, &[other], tables).await
    }

    /// The same without the columns that one of several other databases does not have.
    pub(crate) async fn rows_in_all(
        &self,
        place: &str,
        others: &[&str],
        tables: &[String],
    ) -> Vec<String> {
        let mut rows = Vec::new();
        for table in tables {
            let mut columns = self.columns(place, table).await;
            for other in others {
                let others = self.columns(other, table).await;
                columns.retain(|name| others.contains(name));
            }
            columns.sort();
            let quoted = columns.iter().map(|name| match self {
                Maker::Files(_) => format!("quote(\"{name}\")"),
                Maker::Server(_) => format!("coalesce(\"{name}\"::text, 'NULL')"),
            });
            let row = quoted.collect::<Vec<_>>().join(" || ',' || ");
            let sql = format!("SELECT {row} AS line FROM \"{table}\" ORDER BY line");
            let found = self.texts(place, &sql).await;
            rows.extend(found.into_iter().map(|row| format!("{table}: {row}")));
        }
        rows
    }

    /// The first column of a question.
    pub(crate) async fn texts(&self, place: &str, sql: &str) -> Vec<String> {
        let sql = sqlx::AssertSqlSafe(sql.to_owned());
        match self {
            Maker::Files(_) => {
                let mut connection = file(place).await;
                let rows = sqlx::query(sql).fetch_all(&mut connection).await.unwrap();
                connection.close().await.unwrap();
                rows.iter().map(|row| row.get(0)).collect()
            }
            Maker::Server(cluster) => {
                let name = place.rsplit('/').next().unwrap();
                let mut connection = cluster.connect(name).await.unwrap();
                let rows = sqlx::query(sql).fetch_all(&mut connection).await.unwrap();
                connection.close().await.unwrap();
                rows.iter().map(|row| row.get(0)).collect()
            }
        }
    }
}

/// The file, by the driver alone.
pub(crate) async fn file(place: &str) -> sqlx::SqliteConnection {
    let options = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(place)
        .create_if_missing(true);
    sqlx::ConnectOptions::connect(&options).await.unwrap()
}
