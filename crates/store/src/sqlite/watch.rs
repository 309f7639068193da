//! Watches the file while it is in use: other processes write, a newer drawloom changes the tables,
//! or the file is deleted or replaced.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tokio::sync::Notify;

use super::migrate;
use crate::error::{DatabaseErrorKind, Error, Result};
use crate::workflows::ReadyListener;

/// The interval between two checks for writes of other processes, in milliseconds: a worker in
/// another process hears of new work within twice this time.
const LISTEN_MS: u64 = 20;

/// The identity of the opened file, and the version of its tables.
pub(super) struct FileWatch {
    place: PathBuf,
    /// The device and the inode of the file, which a replacement does not have.
    identity: Option<(u64, u64)>,
    /// The version of the tables, if a newer drawloom has changed them meanwhile; else 0.
    newer: AtomicI64,
}

impl FileWatch {
    pub(super) fn new(place: &Path) -> FileWatch {
        FileWatch {
            place: place.to_owned(),
            identity: identity(place),
            newer: AtomicI64::new(0),
        }
    }

    /// Refuses to continue with a file that is not the database any more.
    pub(super) fn check(&self) -> Result<()> {
        let version = self.newer.load(Ordering::Relaxed);
        if version > 0 {
            return Err(migrate::newer(&self.place, version));
        }
        if self.identity.is_some() && identity(&self.place) != self.identity {
            let message = format!(
                "{} was deleted or replaced while it was in use. Nothing more is written to the old \
                 file; start again to work with the new one.",
                self.place.display()
            );
            return Err(Error::new(DatabaseErrorKind::Missing, message));
        }
        Ok(())
    }

    /// Remembers that a newer drawloom has changed the tables, so that this process writes no more.
    async fn look_at_version(&self, connection: &mut SqliteConnection) {
        let asked = sqlx::query_scalar("PRAGMA user_version");
        let version: Option<i64> = asked.fetch_one(connection).await.ok();
        if let Some(version) = version.filter(|version| *version > migrate::latest()) {
            self.newer.store(version, Ordering::Relaxed);
        }
    }
}

/// Creates the listener that fires when another connection has written, in this process or another.
/// It starts checking when a worker waits for it: most commands never do.
pub(super) fn listener(watch: Arc<FileWatch>, settings: SqliteConnectOptions) -> ReadyListener {
    ReadyListener::spawn(|ready, wanted| async move {
        wanted.notified().await;
        listen(&watch, &settings, &ready).await;
    })
}

async fn listen(watch: &FileWatch, settings: &SqliteConnectOptions, ready: &Notify) {
    let mut connection = None;
    let mut seen = None;
    loop {
        tokio::time::sleep(Duration::from_millis(LISTEN_MS)).await;
        if connection.is_none() {
            connection = settings.connect().await.ok();
        }
        let Some(connection) = &mut connection else {
            continue;
        };
        // SQLite answers this from memory that it shares between processes.
        let asked = sqlx::query_scalar("PRAGMA data_version");
        let version: Option<i64> = asked.fetch_one(&mut *connection).await.ok();
        if std::mem::replace(&mut seen, version) != version {
            watch.look_at_version(connection).await;
            ready.notify_one();
        }
    }
}

fn identity(place: &Path) -> Option<(u64, u64)> {
    let found = rustix::fs::stat(place).ok()?;
    Some((found.st_dev, found.st_ino))
}
