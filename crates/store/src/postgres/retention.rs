//! Retention in PostgreSQL: deletes old runs.

use flow::RunId;
use flow::engine::RunRow;

use super::connection::BoundValues;
use super::integer;
use super::workflows::{PostgresRows, limit};
use super::writing::strings;
use crate::error::Result;
use crate::stream::STREAM_ROWS_KEPT;
use crate::workflows::columns;

impl PostgresRows {
    pub(super) async fn ended_runs(
        &mut self,
        before_ms: u64,
        after: &(u64, RunId),
        max: usize,
    ) -> Result<Vec<RunRow>> {
        // A run that ended before a time also began before it, so that the index on the start finds
        // it.
        let sql = "SELECT body FROM workflow_runs \
                   WHERE created_ms < $1 AND (created_ms, id) > ($2, $3) \
                   AND status IN ('completed', 'failed', 'cancelled') \
                   AND (body::json ->> 'ended_ms')::bigint < $1 \
                   ORDER BY created_ms, id LIMIT $4 FOR UPDATE SKIP LOCKED";
        let values = BoundValues::of(integer(before_ms))
            .and(integer(after.0))
            .and(after.1.as_str())
            .and(limit(max));
        self.has_run = true;
        self.many(sql, values).await
    }

    pub(super) async fn drop_runs(&mut self, runs: &[RunId]) -> Result<()> {
        const ALL: &str = "WITH tasks AS (DELETE FROM workflow_tasks \
             USING unnest($2::text[], $3::text[]) AS places (first, beyond) \
             WHERE place >= places.first AND place < places.beyond RETURNING id), \
             items AS (DELETE FROM workflow_items WHERE \"group\" IN (SELECT id FROM tasks)), \
             groups AS (DELETE FROM workflow_groups WHERE id IN (SELECT id FROM tasks)), \
             ready AS (DELETE FROM workflow_ready WHERE run = ANY($1)), \
             timers AS (DELETE FROM workflow_timers WHERE run = ANY($1)), \
             notices AS (DELETE FROM workflow_notices WHERE run = ANY($1)), \
             tags AS (DELETE FROM workflow_tags USING (SELECT tag, created_ms, id \
             FROM workflow_runs, json_array_elements_text(body::json -> 'tags') AS tag \
             WHERE id = ANY($1)) AS old WHERE workflow_tags.tag = old.tag \
             AND workflow_tags.created_ms = old.created_ms AND workflow_tags.run = old.id), \
             calls AS (DELETE FROM workflow_calls WHERE run = ANY($1)), \
             logs AS (DELETE FROM workflow_logs WHERE run = ANY($1)), \
             details AS (DELETE FROM task_details WHERE run = ANY($1) RETURNING task), \
             task_tags AS (DELETE FROM task_tags WHERE task IN (SELECT task FROM details)), \
             comments AS (DELETE FROM task_comments WHERE run = ANY($1)), \
             texts AS (DELETE FROM search_documents WHERE run = ANY($1)) \
             DELETE FROM workflow_events WHERE run = ANY($1)";
        const RUNS: &str = "DELETE FROM workflow_runs WHERE id = ANY($1)";
        const KEEP_SHORT: &str = "DELETE FROM event_stream WHERE (stream_at, number) IN \
             (SELECT stream_at, number FROM event_stream ORDER BY stream_at, number LIMIT 10000) \
             AND number <= (SELECT number FROM event_stream \
             ORDER BY stream_at DESC, number DESC LIMIT 1) - $1";
        let (first, beyond): (Vec<String>, Vec<String>) = runs.iter().map(columns::places).unzip();
        let values = BoundValues::of(strings(runs)).and(first).and(beyond);
        self.line.fetch(ALL, values).await?;
        self.line
            .fetch(RUNS, BoundValues::of(strings(runs)))
            .await?;
        let kept = BoundValues::of(integer(STREAM_ROWS_KEPT));
        self.line.fetch(KEEP_SHORT, kept).await?;
        Ok(())
    }
}
