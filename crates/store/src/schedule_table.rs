//! Schedules in either database.

use serde_json::{Value, json};

use crate::record::DatabaseFuture;
use crate::schedules::{Schedule, ScheduleFiring, ScheduleStore, no_schedule, schedule_taken};
use crate::tables::{ColumnRead, SharedTables, TableRow, TableStatement, read_rows, row_limit};
use crate::users::Slug;

macro_rules! columns {
    () => {
        "slug, workflow, cron, time_zone, input, is_enabled, next_ms, last_due_ms, last_run, \
         last_error, created_ms, policy"
    };
}

const FIND: &str = concat!("SELECT ", columns!(), " FROM schedules WHERE slug = $1");
const LIST: &str = concat!("SELECT ", columns!(), " FROM schedules ORDER BY slug");
// Each is written as the condition of its engine's partial index.
const DUE_SQLITE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM schedules WHERE is_enabled = 1 AND next_ms IS NOT NULL AND next_ms <= $1 \
     ORDER BY next_ms, slug LIMIT $2"
);
const DUE_POSTGRES: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM schedules WHERE is_enabled AND next_ms IS NOT NULL AND next_ms <= $1 \
     ORDER BY next_ms, slug LIMIT $2"
);
const ADD: &str = "INSERT INTO schedules (slug, workflow, cron, time_zone, input, is_enabled, \
     next_ms, created_ms, policy) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
     ON CONFLICT DO NOTHING RETURNING slug";
const REMOVE: &str = "DELETE FROM schedules WHERE slug = $1 RETURNING slug";
const ENABLE: &str =
    "UPDATE schedules SET is_enabled = $1, next_ms = $2 WHERE slug = $3 RETURNING slug";
const NOTE: &str = "UPDATE schedules SET next_ms = $1, last_due_ms = $2, last_run = $3, \
     last_error = $4 WHERE slug = $5 AND next_ms IS NOT DISTINCT FROM $6 AND created_ms = $7 \
     RETURNING slug";

impl<T: SharedTables> ScheduleStore for T {
    fn now_ms(&self) -> u64 {
        self.time_ms()
    }

    fn add_schedule<'a>(&'a self, schedule: &'a Schedule) -> DatabaseFuture<'a, ()> {
        Box::pin(async move {
            let statement = TableStatement::new(ADD)
                .with(schedule.slug.as_str())
                .with(schedule.workflow.as_str())
                .with(schedule.cron.as_str())
                .with(schedule.time_zone.as_str())
                .with(self.scrubbed(&schedule.input.to_string()))
                .with(schedule.is_enabled)
                .with(schedule.next_ms)
                .with(self.time_ms())
                .with(json!(schedule.policy).to_string());
            match self.change_rows(statement).await?.is_empty() {
                true => Err(schedule_taken(&schedule.slug)),
                false => Ok(()),
            }
        })
    }

    fn schedule<'a>(&'a self, slug: &'a Slug) -> DatabaseFuture<'a, Option<Schedule>> {
        Box::pin(async move {
            let statement = TableStatement::new(FIND).with(slug.as_str());
            let rows = self.look(statement).await?;
            Ok(read_rows(self, "a schedule", &rows, read)?.pop())
        })
    }

    fn schedules(&self) -> DatabaseFuture<'_, Vec<Schedule>> {
        Box::pin(async move {
            let rows = self.look(TableStatement::new(LIST)).await?;
            read_rows(self, "a schedule", &rows, read)
        })
    }

    fn remove_schedule<'a>(&'a self, slug: &'a Slug) -> DatabaseFuture<'a, ()> {
        Box::pin(async move {
            let statement = TableStatement::new(REMOVE).with(slug.as_str());
            match self.change_rows(statement).await?.is_empty() {
                true => Err(no_schedule(slug)),
                false => Ok(()),
            }
        })
    }

    fn enable_schedule<'a>(
        &'a self,
        slug: &'a Slug,
        next_ms: Option<u64>,
        on: bool,
    ) -> DatabaseFuture<'a, ()> {
        Box::pin(async move {
            let statement = TableStatement::new(ENABLE)
                .with(on)
                .with(next_ms)
                .with(slug.as_str());
            match self.change_rows(statement).await?.is_empty() {
                true => Err(no_schedule(slug)),
                false => Ok(()),
            }
        })
    }

    fn due_schedules(&self, now_ms: u64, max: usize) -> DatabaseFuture<'_, Vec<Schedule>> {
        Box::pin(async move {
            let statement = self.dialect().pick(DUE_SQLITE, DUE_POSTGRES);
            let statement = statement.with(now_ms).with(row_limit(max));
            let rows = self.look(statement).await?;
            read_rows(self, "a schedule", &rows, read)
        })
    }

    fn note_firing<'a>(
        &'a self,
        schedule: &'a Schedule,
        firing: &'a ScheduleFiring,
        next_ms: Option<u64>,
    ) -> DatabaseFuture<'a, ()> {
        Box::pin(async move {
            let (run, error) = match &firing.outcome {
                Ok(run) => (Some(run.as_str()), None),
                Err(error) => (None, Some(error.as_str())),
            };
            let statement = TableStatement::optional(NOTE)
                .with(next_ms)
                .with(firing.due_ms)
                .with(run)
                .with(error)
                .with(schedule.slug.as_str())
                .with(schedule.next_ms)
                .with(schedule.created_ms);
            self.change_rows(statement).await?;
            Ok(())
        })
    }
}

fn read(row: &TableRow) -> ColumnRead<Schedule> {
    let outcome = match (row.maybe_text("last_run")?, row.maybe_text("last_error")?) {
        (Some(run), _) => Some(Ok(run)),
        (None, error) => error.map(Err),
    };
    let last = row.maybe_count("last_due_ms")?.zip(outcome);
    Ok(Schedule {
        slug: row.parsed("slug")?,
        workflow: row.text("workflow")?,
        cron: row.text("cron")?,
        time_zone: row.text("time_zone")?,
        input: serde_json::from_str::<Value>(&row.text("input")?).map_err(|e| e.to_string())?,
        is_enabled: row.flag("is_enabled")?,
        next_ms: row.maybe_count("next_ms")?,
        last: last.map(|(due_ms, outcome)| ScheduleFiring { due_ms, outcome }),
        created_ms: row.count("created_ms")?,
        policy: serde_json::from_str(&row.text("policy")?).map_err(|e| e.to_string())?,
    })
}
