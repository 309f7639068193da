//! A database in a folder of its own, with a clock that counts.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agent::Clock;
use store::{Options, Store};

/// Every look is a millisecond later.
struct Counting(AtomicU64);

impl Clock for Counting {
    fn now_ms(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

pub(crate) async fn opened(folder: &Path) -> Store {
    let scrub = |text: &str| {
        text.contains("sk-secret-1")
            .then(|| text.replace("sk-secret-1", "[key removed]"))
    };
    let options = Options {
        clock: Arc::new(Counting(AtomicU64::new(1_000))),
        scrub: Some(Arc::new(scrub)),
        bytes_max: None,
        pid: std::process::id(),
    };
    let place = folder.join(".drawloom").join("drawloom.db");
    Store::open(&place, options).await.unwrap()
}
