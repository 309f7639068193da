//! Runs that are too old leave PostgreSQL.

use flow::RunId;
use flow::engine::RunRow;

use super::integer;
use super::line::Values;
use super::workflows::{Rows, limit};
use super::writing::strings;
use crate::error::Result;
use crate::workflows::columns;

impl Rows {
    pub(super) async fn ended_runs(
        &mut self,
        before_ms: u64,
        after: &(u64, RunId),
        max: usize,
    ) -> Result<Vec<RunRow>> {
        // Nothing ends before it begins: so the index finds those that are old enough.
        let sql = "SELECT body FROM workflow_runs \
                   WHERE created_ms < $1 AND (created_ms, id) > ($2, $3) \
                   AND status IN ('completed', 'failed', 'cancelled') \
                   AND (body::json ->> 'ended_ms')::bigint < $1 \
                   ORDER BY created_ms, id LIMIT $4 FOR UPDATE SKIP LOCKED";
        let values = Values::of(integer(before_ms))
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
             calls AS (DELETE FROM workflow_calls WHERE run = ANY($1)) \
             DELETE FROM workflow_events WHERE run = ANY($1)";
        const RUNS: &str = "DELETE FROM workflow_runs WHERE id = ANY($1)";
        let (first, beyond): (Vec<String>, Vec<String>) = runs.iter().map(columns::places).unzip();
        let values = Values::of(strings(runs)).and(first).and(beyond);
        self.line.fetch(ALL, values).await?;
        self.line.fetch(RUNS, Values::of(strings(runs))).await?;
        Ok(())
    }
}
