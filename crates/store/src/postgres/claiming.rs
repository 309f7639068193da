//! What workers may claim, found together with the runs that it is of.
//!
//! Runs first, then their tasks: whoever has a run has all that is ready in it. A task may be
//! somebody's by the time the run is to be had; whoever claims it is told so.

use flow::Claim;
use flow::engine::RunRow;

use super::integer;
use super::line::Values;
use super::workflows::{Rows, limit};
use super::writing::strings;
use crate::error::Result;
use crate::workflows::Waiting;

/// A claim looks at so many times as many tasks as it wants, because others may have their runs.
const LOOK_AHEAD: usize = 4;

/// The runs of the tasks that have been ready for longest.
macro_rules! oldest {
    () => {
        "SELECT DISTINCT run FROM (SELECT ready.run FROM workflow_ready AS ready \
         JOIN workflow_runs AS runs ON runs.id = ready.run \
         WHERE ready.ready_ms <= $1 AND runs.status = 'running' \
         AND (cardinality($2::text[]) = 0 OR ready.assignee = ANY($2)) \
         AND (cardinality($3::text[]) = 0 OR ready.run = ANY($3)) \
         ORDER BY ready.ready_ms, ready.task LIMIT $4) AS oldest"
    };
}

impl Rows {
    /// What is ready in runs that nobody has just now.
    pub(super) async fn ready_now(&mut self, claim: &Claim, now_ms: u64) -> Result<Waiting> {
        const READY: &str = concat!(
            "WITH held AS (SELECT id, body FROM workflow_runs WHERE status = 'running' AND id IN (",
            oldest!(),
            ") ORDER BY id FOR UPDATE SKIP LOCKED) \
             SELECT body, NULL FROM held UNION ALL SELECT NULL, task FROM \
             (SELECT ready.task FROM held JOIN workflow_ready AS ready ON ready.run = held.id \
             WHERE ready.ready_ms <= $1 AND (cardinality($2::text[]) = 0 OR ready.assignee = ANY($2)) \
             ORDER BY ready.ready_ms, ready.task LIMIT $5) AS ready"
        );
        let values = asking(claim, now_ms).and(limit(claim.max));
        let rows = self.line.fetch(READY, values).await?;
        let runs: Vec<Option<String>> = self.line.column(&rows, 0)?;
        let tasks: Vec<Option<String>> = self.line.column(&rows, 1)?;
        let waiting = Waiting {
            runs: self.bodies_of(runs.into_iter().flatten())?,
            tasks: self.names(&tasks.into_iter().flatten().collect::<Vec<_>>())?,
        };
        self.has_run |= !waiting.runs.is_empty();
        Ok(waiting)
    }

    /// What is ready in runs that others have just now: whoever has none may wait for them.
    pub(super) async fn ready_in_time(&mut self, claim: &Claim, now_ms: u64) -> Result<Waiting> {
        const WAIT: &str = "SELECT body FROM workflow_runs WHERE id = ANY($1) \
             AND status = 'running' ORDER BY id FOR UPDATE";
        const TASKS: &str = "SELECT task FROM workflow_ready \
             WHERE run = ANY($1) AND ready_ms <= $2 \
             AND (cardinality($3::text[]) = 0 OR assignee = ANY($3)) \
             ORDER BY ready_ms, task LIMIT $4";
        let runs = self.texts(oldest!(), asking(claim, now_ms)).await?;
        if runs.is_empty() {
            return Ok(Waiting::default());
        }
        let runs = self.texts(WAIT, Values::of(runs)).await?;
        let runs: Vec<RunRow> = self.bodies_of(runs)?;
        self.has_run = true;
        let values = Values::of(strings(runs.iter().map(|row| &row.id)))
            .and(integer(now_ms))
            .and(claim.assignees.clone())
            .and(limit(claim.max));
        let tasks = self.texts(TASKS, values).await?;
        Ok(Waiting {
            runs,
            tasks: self.names(&tasks)?,
        })
    }

    fn bodies_of(&self, bodies: impl IntoIterator<Item = String>) -> Result<Vec<RunRow>> {
        let bodies = bodies.into_iter();
        bodies.map(|body| self.read(&body)).collect()
    }
}

/// The values of `oldest`.
fn asking(claim: &Claim, now_ms: u64) -> Values {
    Values::of(integer(now_ms))
        .and(claim.assignees.clone())
        .and(strings(&claim.runs))
        .and(limit(claim.max.saturating_mul(LOOK_AHEAD)))
}
