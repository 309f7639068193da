//! The one stream of events in SQLite.

use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};

use super::{SqliteDatabase, settings};
use crate::record::DatabaseFuture;
use crate::stream::{StreamTables, StreamWatch};

/// The interval between two polls of the file for news, in milliseconds.
const LOOK_MS: u64 = 20;

impl StreamTables for SqliteDatabase {
    const SCAN: &'static str = "SELECT position AS major, 0 AS number, kind, subject, \
         coalesce(stream.body, events.body) AS body FROM event_stream AS stream \
         LEFT JOIN workflow_events AS events ON kind = 'run' AND events.run = subject \
         AND events.seq = stream.seq WHERE position >= $1 AND $2 >= 0 ORDER BY position LIMIT $3";
    const HEAD: &'static str = "SELECT position AS major, 0 AS number FROM event_stream \
         ORDER BY position DESC LIMIT 1";
    const OLDEST: &'static str = "SELECT position AS major, 0 AS number FROM event_stream \
         ORDER BY position LIMIT 1";
    const TRIM: &'static str = "DELETE FROM event_stream WHERE position <= \
         (SELECT max(position) FROM event_stream) - $1 RETURNING 1 AS gone";

    fn open_watch(&self) -> DatabaseFuture<'_, Box<dyn StreamWatch>> {
        Box::pin(async move {
            let inner = &self.inner;
            let watch = FileNews {
                settings: settings(&inner.place, &inner.options),
                connection: None,
                seen: None,
            };
            Ok(Box::new(watch) as Box<dyn StreamWatch>)
        })
    }
}

/// Asks SQLite if another connection has written, from memory that processes share.
struct FileNews {
    settings: SqliteConnectOptions,
    connection: Option<SqliteConnection>,
    seen: Option<i64>,
}

impl StreamWatch for FileNews {
    fn changed(&mut self) -> DatabaseFuture<'_, ()> {
        Box::pin(async move {
            loop {
                let version = self.version().await;
                if version != self.seen || version.is_none() {
                    self.seen = version;
                    return Ok(());
                }
                tokio::time::sleep(Duration::from_millis(LOOK_MS)).await;
            }
        })
    }
}

impl FileNews {
    /// Returns `None` where the file cannot be asked, after a pause.
    async fn version(&mut self) -> Option<i64> {
        match self.ask().await {
            Ok(version) => Some(version),
            Err(_) => {
                self.connection = None;
                tokio::time::sleep(Duration::from_millis(LOOK_MS)).await;
                None
            }
        }
    }

    /// Reads the version. A caller may be cancelled at any moment, so the connection stays in its
    /// field: versions of two connections cannot be compared, and a new connection has seen
    /// nothing.
    async fn ask(&mut self) -> std::result::Result<i64, sqlx::Error> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            empty => {
                self.seen = None;
                empty.insert(self.settings.connect().await?)
            }
        };
        let asked = sqlx::query_scalar("PRAGMA data_version");
        asked.fetch_one(connection).await
    }
}

/// The statement that keeps the stream from growing for ever; runs together with retention.
pub(super) const KEEP_SHORT: &str = "DELETE FROM event_stream WHERE position <= \
     (SELECT max(position) FROM event_stream) - $1";

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::sqlite::Options;
    use crate::stream::EventStream as _;

    struct Noon;

    impl agent::AgentClock for Noon {
        fn now_ms(&self) -> u64 {
            1
        }
    }

    /// A caller that is cancelled during the query may cost the connection, and a new one counts
    /// its versions from the beginning.
    #[tokio::test]
    async fn a_watch_whose_connection_is_made_anew_misses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            clock: Arc::new(Noon),
            scrub: None,
            bytes_max: None,
            pid: 1,
        };
        let store = SqliteDatabase::open(&folder.path().join("x.db"), options)
            .await
            .unwrap();
        let mut news = FileNews {
            settings: settings(&store.inner.place, &store.inner.options),
            connection: None,
            seen: None,
        };
        news.changed().await.unwrap();
        for _ in 0..3 {
            news.connection = None;
            let position = "1.1".parse().unwrap();
            store.keep_reader_position("x", position).await.unwrap();
            let heard = tokio::time::timeout(Duration::from_secs(5), news.changed()).await;
            assert!(heard.is_ok(), "what was written meanwhile is not heard of");
        }
    }
}
