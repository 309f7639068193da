//! Retention in SQLite: deletes old runs.

use flow::RunId;
use flow::engine::RunRow;
use serde_json::json;

use super::integer;
use super::rows::{SqliteRows, limit};
use super::stream::KEEP_SHORT;
use crate::error::Result;
use crate::stream::STREAM_ROWS_KEPT;
use crate::workflows::columns;

/// Selects the tasks of some runs: `$1` has the range of places of each run.
macro_rules! of_runs {
    ($what:literal) => {
        concat!(
            "SELECT ",
            $what,
            " FROM json_each($1) AS wanted CROSS JOIN workflow_tasks \
             ON place >= wanted.value ->> 0 AND place < wanted.value ->> 1"
        )
    };
}

/// The statements that delete rows by the places of a run's tasks, and those that delete by the run.
pub(super) const BY_PLACE: [&str; 3] = [
    concat!(
        "DELETE FROM workflow_items WHERE \"group\" IN (",
        of_runs!("place || CASE visit WHEN 1 THEN '' ELSE '~' || visit END"),
        ")"
    ),
    concat!(
        "DELETE FROM workflow_groups WHERE id IN (",
        of_runs!("place || CASE visit WHEN 1 THEN '' ELSE '~' || visit END"),
        ")"
    ),
    concat!(
        "DELETE FROM workflow_tasks WHERE number IN (",
        of_runs!("number"),
        ")"
    ),
];
pub(super) const BY_RUN: [&str; 11] = [
    "DELETE FROM search_documents WHERE run IN (SELECT value FROM json_each($1))",
    "DELETE FROM workflow_logs WHERE run IN (SELECT value FROM json_each($1))",
    "DELETE FROM workflow_timers WHERE run IN (SELECT value FROM json_each($1))",
    "DELETE FROM workflow_events WHERE run IN (SELECT value FROM json_each($1))",
    "DELETE FROM workflow_calls WHERE run IN (SELECT value FROM json_each($1))",
    "DELETE FROM workflow_notices WHERE run IN (SELECT value FROM json_each($1))",
    "DELETE FROM task_tags WHERE task IN (SELECT task FROM task_details \
     WHERE run IN (SELECT value FROM json_each($1)))",
    "DELETE FROM task_details WHERE run IN (SELECT value FROM json_each($1))",
    "DELETE FROM task_comments WHERE run IN (SELECT value FROM json_each($1))",
    "DELETE FROM workflow_tags WHERE (tag, created_ms, run) IN \
     (SELECT tag.value, runs.created_ms, runs.id FROM json_each($1) AS wanted \
     CROSS JOIN workflow_runs AS runs ON runs.id = wanted.value, \
     json_each(runs.body, '$.tags') AS tag)",
    "DELETE FROM workflow_runs WHERE id IN (SELECT value FROM json_each($1))",
];

impl SqliteRows {
    pub(super) async fn ended_runs(
        &mut self,
        before_ms: u64,
        after: &(u64, RunId),
        max: usize,
    ) -> Result<Vec<RunRow>> {
        // A run that ended before a time also began before it, so that the index on the start finds
        // it.
        let found = sqlx::query_scalar(
            "SELECT body FROM workflow_runs \
             WHERE created_ms < $1 AND (created_ms, id) > ($2, $3) \
             AND +status IN ('completed', 'failed', 'cancelled') AND body ->> '$.ended_ms' < $1 \
             ORDER BY created_ms, id LIMIT $4",
        )
        .bind(integer(before_ms))
        .bind(integer(after.0))
        .bind(after.1.as_str())
        .bind(limit(max))
        .fetch_all(&mut self.connection)
        .await;
        let bodies: Vec<String> = found.map_err(|cause| self.fault().of(&cause))?;
        bodies.iter().map(|body| self.read(body)).collect()
    }

    pub(super) async fn drop_runs(&mut self, runs: &[RunId]) -> Result<()> {
        let places: Vec<(String, String)> = runs.iter().map(columns::places).collect();
        let (places, names) = (json!(places).to_string(), json!(runs).to_string());
        let by_place = BY_PLACE.iter().map(|sql| (*sql, &places));
        let by_run = BY_RUN.iter().map(|sql| (*sql, &names));
        for (sql, keys) in by_place.chain(by_run) {
            let done = sqlx::query(sql).bind(keys).execute(&mut self.connection);
            done.await.map_err(|cause| self.fault().of(&cause))?;
        }
        let short = sqlx::query(KEEP_SHORT).bind(integer(STREAM_ROWS_KEPT));
        let done = short.execute(&mut self.connection).await;
        done.map_err(|cause| self.fault().of(&cause))?;
        Ok(())
    }
}
