//! Schedules in PostgreSQL.

use serde_json::{Value, json};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::connection::BoundValues;
use super::{PostgresDatabase, count, integer};
use crate::error::Result;
use crate::record::DatabaseFuture;
use crate::schedules::{Schedule, ScheduleFiring, ScheduleStore, no_schedule, schedule_taken};
use crate::users::Slug;

macro_rules! columns {
    () => {
        "slug, workflow, cron, time_zone, input, is_enabled, next_ms, last_due_ms, last_run, \
         last_error, created_ms, policy"
    };
}

const FIND: &str = concat!("SELECT ", columns!(), " FROM schedules WHERE slug = $1");
const LIST: &str = concat!("SELECT ", columns!(), " FROM schedules ORDER BY slug");
const DUE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM schedules WHERE is_enabled AND next_ms IS NOT NULL AND next_ms <= $1 \
     ORDER BY next_ms, slug LIMIT $2"
);
const ADD: &str = "INSERT INTO schedules (slug, workflow, cron, time_zone, input, is_enabled, \
     next_ms, created_ms, policy) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
     ON CONFLICT DO NOTHING \
     RETURNING true";
const REMOVE: &str = "DELETE FROM schedules WHERE slug = $1 RETURNING true";
const ENABLE: &str =
    "UPDATE schedules SET is_enabled = $1, next_ms = $2 WHERE slug = $3 RETURNING true";
const NOTE: &str = "UPDATE schedules SET next_ms = $1, last_due_ms = $2, last_run = $3, \
     last_error = $4 WHERE slug = $5 AND next_ms IS NOT DISTINCT FROM $6 AND created_ms = $7 \
     RETURNING true";

impl ScheduleStore for PostgresDatabase {
    fn now_ms(&self) -> u64 {
        PostgresDatabase::now_ms(self)
    }

    fn add_schedule<'a>(&'a self, schedule: &'a Schedule) -> DatabaseFuture<'a, ()> {
        Box::pin(async move {
            let values = BoundValues::of(schedule.slug.as_str())
                .and(&schedule.workflow)
                .and(&schedule.cron)
                .and(&schedule.time_zone)
                .and(self.clean(&schedule.input.to_string()))
                .and(schedule.is_enabled)
                .and(schedule.next_ms.map(integer))
                .and(integer(PostgresDatabase::now_ms(self)))
                .and(json!(schedule.policy).to_string());
            match self.change(ADD, values).await?.is_empty() {
                true => Err(schedule_taken(&schedule.slug)),
                false => Ok(()),
            }
        })
    }

    fn schedule<'a>(&'a self, slug: &'a Slug) -> DatabaseFuture<'a, Option<Schedule>> {
        Box::pin(async move {
            let values = BoundValues::of(slug.as_str());
            Ok(self.read_schedules(FIND, values).await?.pop())
        })
    }

    fn schedules(&self) -> DatabaseFuture<'_, Vec<Schedule>> {
        Box::pin(self.read_schedules(LIST, BoundValues::default()))
    }

    fn remove_schedule<'a>(&'a self, slug: &'a Slug) -> DatabaseFuture<'a, ()> {
        Box::pin(async move {
            let removed = self.change(REMOVE, BoundValues::of(slug.as_str())).await?;
            match removed.is_empty() {
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
            let values = BoundValues::of(on)
                .and(next_ms.map(integer))
                .and(slug.as_str());
            match self.change(ENABLE, values).await?.is_empty() {
                true => Err(no_schedule(slug)),
                false => Ok(()),
            }
        })
    }

    fn due_schedules(&self, now_ms: u64, max: usize) -> DatabaseFuture<'_, Vec<Schedule>> {
        let values = BoundValues::of(integer(now_ms)).and(integer(max as u64));
        Box::pin(self.read_schedules(DUE, values))
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
            let values = BoundValues::of(next_ms.map(integer))
                .and(integer(firing.due_ms))
                .and(run)
                .and(error)
                .and(schedule.slug.as_str())
                .and(schedule.next_ms.map(integer))
                .and(integer(schedule.created_ms));
            self.change(NOTE, values).await?;
            Ok(())
        })
    }
}

impl PostgresDatabase {
    async fn read_schedules(
        &self,
        sql: &'static str,
        values: BoundValues,
    ) -> Result<Vec<Schedule>> {
        let rows = self.read(sql, values).await?;
        let read = rows
            .iter()
            .map(|row| read(row).map_err(|why| self.unreadable("a schedule", &why)));
        read.collect()
    }
}

fn read(row: &PgRow) -> std::result::Result<Schedule, String> {
    let text = |name: &str| row.try_get::<String, _>(name).map_err(|e| e.to_string());
    let maybe = |name: &str| {
        let found = row.try_get::<Option<String>, _>(name);
        found.map_err(|e| e.to_string())
    };
    let number = |name: &str| {
        let found = row.try_get::<Option<i64>, _>(name);
        found
            .map(|found| found.map(count))
            .map_err(|e| e.to_string())
    };
    let is_enabled = row.try_get::<bool, _>("is_enabled");
    let outcome = match (maybe("last_run")?, maybe("last_error")?) {
        (Some(run), _) => Some(Ok(run)),
        (None, error) => error.map(Err),
    };
    let last = number("last_due_ms")?.zip(outcome);
    Ok(Schedule {
        slug: text("slug")?.parse().map_err(|e| format!("{e}"))?,
        workflow: text("workflow")?,
        cron: text("cron")?,
        time_zone: text("time_zone")?,
        input: serde_json::from_str::<Value>(&text("input")?).map_err(|e| e.to_string())?,
        is_enabled: is_enabled.map_err(|e| e.to_string())?,
        next_ms: number("next_ms")?,
        last: last.map(|(due_ms, outcome)| ScheduleFiring { due_ms, outcome }),
        created_ms: number("created_ms")?.unwrap_or_default(),
        policy: serde_json::from_str(&text("policy")?).map_err(|e| e.to_string())?,
    })
}
