//! Runs that are too old leave SQLite.

use flow::RunId;
use flow::engine::RunRow;
use serde_json::json;

use super::integer;
use super::workflows::{Rows, limit};
use crate::error::Result;

macro_rules! tasks_of_runs {
    () => {
        "SELECT id FROM workflow_tasks WHERE run IN (SELECT value FROM json_each($1))"
    };
}

impl Rows {
    pub(super) async fn ended_runs(
        &mut self,
        before_ms: u64,
        after: &(u64, RunId),
        max: usize,
    ) -> Result<Vec<RunRow>> {
        // Nothing ends before it begins: so the index finds those that are old enough.
        let found = sqlx::query_scalar(
            "SELECT body FROM workflow_runs \
             WHERE created_ms < $1 AND (created_ms, id) > ($2, $3) \
             AND status IN ('completed', 'failed', 'cancelled') AND body ->> '$.ended_ms' < $1 \
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
        let names = json!(runs).to_string();
        for sql in [
            concat!(
                "DELETE FROM workflow_items WHERE \"group\" IN (",
                tasks_of_runs!(),
                ")"
            ),
            concat!(
                "DELETE FROM workflow_groups WHERE id IN (",
                tasks_of_runs!(),
                ")"
            ),
            "DELETE FROM workflow_tasks WHERE run IN (SELECT value FROM json_each($1))",
            "DELETE FROM workflow_timers WHERE run IN (SELECT value FROM json_each($1))",
            "DELETE FROM workflow_events WHERE run IN (SELECT value FROM json_each($1))",
            "DELETE FROM workflow_runs WHERE id IN (SELECT value FROM json_each($1))",
        ] {
            let done = sqlx::query(sql).bind(&names).execute(&mut self.connection);
            done.await.map_err(|cause| self.fault().of(&cause))?;
        }
        Ok(())
    }
}
