//! The one stream of events in PostgreSQL.
//!
//! `stream_at` is the number of the transaction that wrote a row, or of a younger one that wrote to
//! the same run before. A row is final when its number is smaller than that of every transaction in
//! progress (`pg_snapshot_xmin`): then no row with this number or a smaller one can appear any
//! more. A long writing transaction of any program in the same cluster holds the stream back
//! meanwhile.

use std::sync::Arc;
use std::time::Duration;

use sqlx::Row as _;

use super::PostgresDatabase;
use super::connection::{BoundValues, PostgresConnection};
use crate::error::Result;
use crate::record::DatabaseFuture;
use crate::stream::{StreamTables, StreamWatch};

/// The interval between two polls of the server for news, in milliseconds.
const LOOK_MS: u64 = 40;

/// The last final row.
macro_rules! head {
    () => {
        "SELECT stream_at AS major, number FROM event_stream \
         WHERE stream_at < pg_snapshot_xmin(pg_current_snapshot())::text::bigint \
         ORDER BY stream_at DESC, number DESC LIMIT 1"
    };
}

impl StreamTables for PostgresDatabase {
    const SCAN: &'static str = "SELECT stream.stream_at AS major, stream.number, stream.kind, \
         stream.subject, coalesce(stream.body, events.body) AS body FROM (SELECT * FROM event_stream \
         WHERE (stream_at, number) >= ($1, $2) \
         AND stream_at < pg_snapshot_xmin(pg_current_snapshot())::text::bigint \
         ORDER BY stream_at, number LIMIT $3) AS stream \
         LEFT JOIN workflow_events AS events ON stream.kind = 'run' AND events.run = stream.subject \
         AND events.seq = stream.seq ORDER BY stream.stream_at, stream.number";
    const HEAD: &'static str = head!();
    const OLDEST: &'static str = "SELECT stream_at AS major, number FROM event_stream \
         ORDER BY stream_at, number LIMIT 1";
    const TRIM: &'static str = "DELETE FROM event_stream USING (SELECT stream_at, number \
         FROM event_stream ORDER BY stream_at DESC, number DESC OFFSET $1 LIMIT 1) AS last \
         WHERE (event_stream.stream_at, event_stream.number) <= (last.stream_at, last.number) \
         RETURNING 1 AS gone";

    fn open_watch(&self) -> DatabaseFuture<'_, Box<dyn StreamWatch>> {
        Box::pin(async move {
            let inner = &self.inner;
            let line = PostgresConnection::new(
                inner.settings.clone(),
                Arc::clone(&inner.clock),
                inner.fault.clone(),
            );
            let watch = ServerNews { line, seen: None };
            Ok(Box::new(watch) as Box<dyn StreamWatch>)
        })
    }
}

/// Polls the server for the last final row. Notifications would not help: a row is not final when
/// its transaction commits.
struct ServerNews {
    line: PostgresConnection,
    /// The head at the last call; `None` before the first one.
    seen: Option<Option<(i64, i64)>>,
}

impl StreamWatch for ServerNews {
    fn changed(&mut self) -> DatabaseFuture<'_, ()> {
        Box::pin(async move {
            loop {
                let rows = self.line.fetch(head!(), BoundValues::default()).await?;
                let head = match rows.first() {
                    Some(row) => {
                        let read = row.try_get(0).and_then(|at| Ok((at, row.try_get(1)?)));
                        Some(read.map_err(|cause| self.line.fault.of(&cause))?)
                    }
                    None => None,
                };
                if self.seen != Some(head) {
                    self.seen = Some(head);
                    return Ok(());
                }
                tokio::time::sleep(Duration::from_millis(LOOK_MS)).await;
            }
        })
    }
}

impl PostgresDatabase {
    /// Restarts the stream's numbers if the database was moved, for example by a dump, to a server
    /// whose transactions have smaller numbers: its rows would seem to belong to future
    /// transactions.
    pub(super) async fn check_stream(&self) -> Result<()> {
        const IS_AHEAD: &str = "SELECT true FROM (SELECT stream_at FROM event_stream \
             ORDER BY stream_at DESC LIMIT 1) AS newest WHERE newest.stream_at >= \
             pg_snapshot_xmax(pg_current_snapshot())::text::bigint";
        const RUNS: &str = "UPDATE workflow_runs SET stream_at = 0 WHERE stream_at > 0";
        const EVENTS: &str = "UPDATE event_stream SET stream_at = 0 WHERE stream_at > 0 \
             RETURNING true";
        if self
            .read(IS_AHEAD, BoundValues::default())
            .await?
            .is_empty()
        {
            return Ok(());
        }
        self.read(RUNS, BoundValues::default()).await?;
        self.change(EVENTS, BoundValues::default()).await?;
        Ok(())
    }
}
