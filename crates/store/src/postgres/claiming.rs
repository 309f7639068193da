//! Finds the tasks that workers may claim, together with their runs.
//!
//! The statement locks runs first and reads their tasks then: a transaction that has a run has
//! every ready task in it. While it waits for a run, another worker may claim a task of it; the
//! claim then refuses that task.

use flow::ClaimRequest;
use flow::engine::RunRow;

use super::connection::BoundValues;
use super::integer;
use super::workflows::{PostgresRows, limit};
use super::writing::strings;
use crate::error::Result;
use crate::workflows::{ReadyTasks, columns};

/// A claim examines this many times the tasks it wants, because other transactions may have locked
/// some of their runs.
const LOOK_AHEAD: usize = 4;

/// Tests whether a task's concurrency limit has a free slot, and whether its lane is open. The macro's parameter
/// names the SQL parameter with the rate limits.
macro_rules! has_room {
    ($rates:literal) => {
        concat!(
            " AND (ready.slot IS NULL OR CASE WHEN starts_with(ready.slot, 'lane:') \
             THEN ",
            $rates,
            " = '[]' OR ready.slot NOT IN (SELECT rate ->> 'lane' FROM json_array_elements(",
            $rates,
            "::text::json) AS rate WHERE (SELECT count(*) FROM workflow_slots \
             WHERE key = rate ->> 'key' AND since_ms > (rate ->> 'since')::bigint) \
             >= (rate ->> 'max')::bigint) \
             ELSE ready.slot NOT IN (SELECT key FROM workflow_slots \
             WHERE is_held GROUP BY key HAVING count(*) >= max(max)) END) "
        )
    };
}

/// Selects the runs of the tasks that have been ready for longest.
macro_rules! oldest {
    () => {
        concat!(
            "SELECT DISTINCT run FROM (SELECT ready.run FROM workflow_ready AS ready \
         JOIN workflow_runs AS runs ON runs.id = ready.run \
         WHERE ready.ready_ms <= $1 AND runs.status = 'running' \
         AND (cardinality($2::text[]) = 0 OR ready.assignee = ANY($2)) \
         AND (cardinality($3::text[]) = 0 OR ready.run = ANY($3))",
            has_room!("$5"),
            "ORDER BY ready.rank, ready.ready_ms, ready.task LIMIT $4) AS oldest"
        )
    };
}

impl PostgresRows {
    /// Returns ready tasks of runs that no other transaction has locked.
    pub(super) async fn ready_now(
        &mut self,
        claim: &ClaimRequest,
        now_ms: u64,
    ) -> Result<ReadyTasks> {
        const READY: &str = concat!(
            "WITH held AS (SELECT id, body FROM workflow_runs WHERE status = 'running' AND id IN (",
            oldest!(),
            ") ORDER BY id FOR UPDATE SKIP LOCKED) \
             SELECT body, NULL FROM held UNION ALL SELECT NULL, task FROM \
             (SELECT ready.task FROM held JOIN workflow_ready AS ready ON ready.run = held.id \
             WHERE ready.ready_ms <= $1 AND (cardinality($2::text[]) = 0 OR ready.assignee = ANY($2))",
            has_room!("$5"),
            "ORDER BY ready.rank, ready.ready_ms, ready.task LIMIT $6) AS ready"
        );
        let values = asking(claim, now_ms).and(limit(claim.max));
        let rows = self.line.fetch(READY, values).await?;
        let runs: Vec<Option<String>> = self.line.column(&rows, 0)?;
        let tasks: Vec<Option<String>> = self.line.column(&rows, 1)?;
        let waiting = ReadyTasks {
            runs: self.bodies_of(runs.into_iter().flatten())?,
            tasks: self.names(&tasks.into_iter().flatten().collect::<Vec<_>>())?,
        };
        self.has_run |= !waiting.runs.is_empty();
        Ok(waiting)
    }

    /// Returns ready tasks of runs that other transactions have locked, waiting for them. Only a
    /// transaction without a run of its own may wait, or two could wait for each other.
    pub(super) async fn ready_in_time(
        &mut self,
        claim: &ClaimRequest,
        now_ms: u64,
    ) -> Result<ReadyTasks> {
        const WAIT: &str = "SELECT body FROM workflow_runs WHERE id = ANY($1) \
             AND status = 'running' ORDER BY id FOR UPDATE";
        const TASKS: &str = concat!(
            "SELECT task FROM workflow_ready AS ready \
             WHERE run = ANY($1) AND ready_ms <= $2 \
             AND (cardinality($3::text[]) = 0 OR assignee = ANY($3))",
            has_room!("$5"),
            "ORDER BY rank, ready_ms, task LIMIT $4"
        );
        let runs = self.texts(oldest!(), asking(claim, now_ms)).await?;
        if runs.is_empty() {
            return Ok(ReadyTasks::default());
        }
        let runs = self.texts(WAIT, BoundValues::of(runs)).await?;
        let runs: Vec<RunRow> = self.bodies_of(runs)?;
        self.has_run = true;
        let values = BoundValues::of(strings(runs.iter().map(|row| &row.id)))
            .and(integer(now_ms))
            .and(claim.assignees.clone())
            .and(limit(claim.max))
            .and(columns::rates(claim, now_ms));
        let tasks = self.texts(TASKS, values).await?;
        Ok(ReadyTasks {
            runs,
            tasks: self.names(&tasks)?,
        })
    }

    fn bodies_of(&self, bodies: impl IntoIterator<Item = String>) -> Result<Vec<RunRow>> {
        let bodies = bodies.into_iter();
        bodies.map(|body| self.read(&body)).collect()
    }
}

/// Returns the values of `oldest`.
fn asking(claim: &ClaimRequest, now_ms: u64) -> BoundValues {
    BoundValues::of(integer(now_ms))
        .and(claim.assignees.clone())
        .and(strings(&claim.runs))
        .and(limit(claim.max.saturating_mul(LOOK_AHEAD)))
        .and(columns::rates(claim, now_ms))
}
