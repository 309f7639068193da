//! A database of each engine, for a test alone.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use agent::AgentClock;
use store::{Options, PostgresDatabase, PostgresOptions, SqliteDatabase};

/// The time as it is: leases and retries are waited for.
pub(crate) struct Now;

impl AgentClock for Now {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        u64::try_from(since.as_millis()).unwrap()
    }
}

pub(crate) async fn sqlite(folder: &Path) -> Arc<dyn flow::WorkflowStore> {
    sqlite_of(folder, None).await
}

pub(crate) async fn sqlite_of(
    folder: &Path,
    bytes_max: Option<u64>,
) -> Arc<dyn flow::WorkflowStore> {
    let options = Options {
        clock: Arc::new(Now),
        scrub: None,
        bytes_max,
        pid: std::process::id(),
    };
    let store = SqliteDatabase::open(&folder.join("drawloom.db"), options)
        .await
        .unwrap();
    store.workflows().await.unwrap()
}

pub(crate) async fn opened(address: &str) -> PostgresDatabase {
    let options = PostgresOptions {
        clock: Arc::new(Now),
        scrub: None,
    };
    PostgresDatabase::open(address, options).await.unwrap()
}

pub(crate) async fn postgres(address: &str) -> Arc<dyn flow::WorkflowStore> {
    opened(address).await.workflows().await.unwrap()
}

/// Opens a database that another process made, by its folder or address.
pub(crate) async fn at(place: &str) -> Arc<dyn flow::WorkflowStore> {
    match place.starts_with("postgres://") {
        true => postgres(place).await,
        false => sqlite(Path::new(place)).await,
    }
}
