//! The state of triggers, in SQLite.

use super::SqliteDatabase;
use crate::record::DatabaseFuture;
use crate::triggers::TriggerMemory;

impl TriggerMemory for SqliteDatabase {
    fn seen<'a>(&'a self, name: &'a str) -> DatabaseFuture<'a, Option<String>> {
        Box::pin(async move {
            let mut connection = self.inner.connection.lock().await;
            let found = sqlx::query_scalar("SELECT seen FROM workflow_triggers WHERE name = $1")
                .bind(name)
                .fetch_optional(&mut *connection)
                .await;
            found.map_err(|cause| self.fault().of(&cause))
        })
    }

    fn note_seen<'a>(
        &'a self,
        name: &'a str,
        before: Option<&'a str>,
        now: &'a str,
    ) -> DatabaseFuture<'a, bool> {
        Box::pin(async move {
            let statement = match before {
                None => sqlx::query(
                    "INSERT INTO workflow_triggers (name, seen) VALUES ($1, $2) \
                     ON CONFLICT DO NOTHING",
                ),
                Some(_) => sqlx::query(
                    "UPDATE workflow_triggers SET seen = $2 WHERE name = $1 AND seen = $3",
                ),
            };
            let statement = statement.bind(name).bind(now);
            let statement = match before {
                None => statement,
                Some(before) => statement.bind(before),
            };
            Ok(self.touched(statement).await? > 0)
        })
    }
}
