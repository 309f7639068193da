//! A database of each engine, in a folder of its own.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use agent::Clock;
use store::{Options, Store};

/// The time as it is: leases and retries are waited for.
struct Now;

impl Clock for Now {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        u64::try_from(since.as_millis()).unwrap()
    }
}

pub(crate) async fn sqlite(folder: &Path) -> Arc<dyn flow::Store> {
    let options = Options {
        clock: Arc::new(Now),
        scrub: None,
        bytes_max: None,
        pid: std::process::id(),
    };
    let store = Store::open(&folder.join("drawloom.db"), options)
        .await
        .unwrap();
    store.workflows().await.unwrap()
}
