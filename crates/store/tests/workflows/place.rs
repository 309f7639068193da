//! A database of each engine, for a test alone.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use agent::Clock;
use store::{Options, Postgres, PostgresOptions, Store};

/// The time as it is: leases and retries are waited for.
pub(crate) struct Now;

impl Clock for Now {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        u64::try_from(since.as_millis()).unwrap()
    }
}

pub(crate) async fn sqlite(folder: &Path) -> Arc<dyn flow::Store> {
    sqlite_of(folder, None).await
}

pub(crate) async fn sqlite_of(folder: &Path, bytes_max: Option<u64>) -> Arc<dyn flow::Store> {
    let options = Options {
        clock: Arc::new(Now),
        scrub: None,
        bytes_max,
        pid: std::process::id(),
    };
    let store = Store::open(&folder.join("drawloom.db"), options)
        .await
        .unwrap();
    store.workflows().await.unwrap()
}

pub(crate) async fn opened(address: &str) -> Postgres {
    let options = PostgresOptions {
        clock: Arc::new(Now),
        scrub: None,
    };
    Postgres::open(address, options).await.unwrap()
}

pub(crate) async fn postgres(address: &str) -> Arc<dyn flow::Store> {
    opened(address).await.workflows().await.unwrap()
}

/// Where a database is, so that another process finds it: a folder or an address.
pub(crate) async fn at(place: &str) -> Arc<dyn flow::Store> {
    match place.starts_with("postgres://") {
        true => postgres(place).await,
        false => sqlite(Path::new(place)).await,
    }
}
