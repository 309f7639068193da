//! The state of triggers, in PostgreSQL.

use super::PostgresDatabase;
use super::connection::BoundValues;
use crate::record::DatabaseFuture;
use crate::triggers::TriggerMemory;

const SEEN: &str = "SELECT seen FROM workflow_triggers WHERE name = $1";
const FIRST: &str = "INSERT INTO workflow_triggers (name, seen) VALUES ($1, $2) \
     ON CONFLICT DO NOTHING RETURNING true";
const NEXT: &str =
    "UPDATE workflow_triggers SET seen = $2 WHERE name = $1 AND seen = $3 RETURNING true";

impl TriggerMemory for PostgresDatabase {
    fn seen<'a>(&'a self, name: &'a str) -> DatabaseFuture<'a, Option<String>> {
        Box::pin(async move {
            let rows = self.read(SEEN, BoundValues::of(name)).await?;
            let seen: Vec<String> = self.line().await.column(&rows, 0)?;
            Ok(seen.into_iter().next())
        })
    }

    fn note_seen<'a>(
        &'a self,
        name: &'a str,
        before: Option<&'a str>,
        now: &'a str,
    ) -> DatabaseFuture<'a, bool> {
        Box::pin(async move {
            let values = BoundValues::of(name).and(now);
            let changed = match before {
                None => self.change(FIRST, values).await?,
                Some(before) => self.change(NEXT, values.and(before)).await?,
            };
            Ok(!changed.is_empty())
        })
    }
}
