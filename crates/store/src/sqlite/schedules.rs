//! Schedules in SQLite.

use serde_json::{Value, json};
use sqlx::Row as _;
use sqlx::sqlite::{SqliteArguments, SqliteRow};

use super::{SqliteDatabase, count, integer};
use crate::error::Result;
use crate::record::DatabaseFuture;
use crate::schedules::{Schedule, ScheduleFiring, ScheduleStore, no_schedule, schedule_taken};
use crate::users::Slug;

const COLUMNS: &str = "slug, workflow, cron, time_zone, input, is_enabled, next_ms, last_due_ms, \
                       last_run, last_error, created_ms, policy";

/// A statement of SQLite with its values.
pub(super) type ScheduleQuery<'q> = sqlx::query::Query<'q, sqlx::Sqlite, SqliteArguments>;

impl ScheduleStore for SqliteDatabase {
    fn now_ms(&self) -> u64 {
        count(SqliteDatabase::now_ms(self))
    }

    fn add_schedule<'a>(&'a self, schedule: &'a Schedule) -> DatabaseFuture<'a, ()> {
        Box::pin(async move {
            let input = schedule.input.to_string();
            let statement = sqlx::query(
                "INSERT INTO schedules (slug, workflow, cron, time_zone, input, is_enabled, next_ms, \
                 created_ms, policy) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
                 ON CONFLICT DO NOTHING",
            )
            .bind(schedule.slug.as_str())
            .bind(&schedule.workflow)
            .bind(&schedule.cron)
            .bind(&schedule.time_zone)
            .bind(self.clean(&input).into_owned())
            .bind(schedule.is_enabled)
            .bind(schedule.next_ms.map(integer))
            .bind(SqliteDatabase::now_ms(self))
            .bind(json!(schedule.policy).to_string());
            match self.touched(statement).await? {
                0 => Err(schedule_taken(&schedule.slug)),
                _ => Ok(()),
            }
        })
    }

    fn schedule<'a>(&'a self, slug: &'a Slug) -> DatabaseFuture<'a, Option<Schedule>> {
        Box::pin(async move {
            let text = format!("SELECT {COLUMNS} FROM schedules WHERE slug = $1");
            let statement = sqlx::query(sqlx::AssertSqlSafe(text)).bind(slug.as_str());
            Ok(self.read_schedules(statement).await?.pop())
        })
    }

    fn schedules(&self) -> DatabaseFuture<'_, Vec<Schedule>> {
        Box::pin(async move {
            let text = format!("SELECT {COLUMNS} FROM schedules ORDER BY slug");
            self.read_schedules(sqlx::query(sqlx::AssertSqlSafe(text)))
                .await
        })
    }

    fn remove_schedule<'a>(&'a self, slug: &'a Slug) -> DatabaseFuture<'a, ()> {
        Box::pin(async move {
            let statement =
                sqlx::query("DELETE FROM schedules WHERE slug = $1").bind(slug.as_str());
            match self.touched(statement).await? {
                0 => Err(no_schedule(slug)),
                _ => Ok(()),
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
            let statement =
                sqlx::query("UPDATE schedules SET is_enabled = $1, next_ms = $2 WHERE slug = $3")
                    .bind(on)
                    .bind(next_ms.map(integer))
                    .bind(slug.as_str());
            match self.touched(statement).await? {
                0 => Err(no_schedule(slug)),
                _ => Ok(()),
            }
        })
    }

    fn due_schedules(&self, now_ms: u64, max: usize) -> DatabaseFuture<'_, Vec<Schedule>> {
        Box::pin(async move {
            let text = format!(
                "SELECT {COLUMNS} FROM schedules WHERE is_enabled = 1 AND next_ms IS NOT NULL \
                 AND next_ms <= $1 ORDER BY next_ms, slug LIMIT $2"
            );
            let statement = sqlx::query(sqlx::AssertSqlSafe(text))
                .bind(integer(now_ms))
                .bind(integer(max as u64));
            self.read_schedules(statement).await
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
            let statement = sqlx::query(
                "UPDATE schedules SET next_ms = $1, last_due_ms = $2, last_run = $3, last_error = $4 \
                 WHERE slug = $5 AND next_ms IS $6 AND created_ms = $7",
            )
            .bind(next_ms.map(integer))
            .bind(integer(firing.due_ms))
            .bind(run)
            .bind(error)
            .bind(schedule.slug.as_str())
            .bind(schedule.next_ms.map(integer))
            .bind(integer(schedule.created_ms));
            self.touched(statement).await?;
            Ok(())
        })
    }
}

impl SqliteDatabase {
    pub(super) async fn touched(&self, statement: ScheduleQuery<'_>) -> Result<u64> {
        let mut connection = self.inner.connection.lock().await;
        let done = statement.execute(&mut *connection).await;
        let done = done.map_err(|cause| self.fault().of(&cause))?;
        Ok(done.rows_affected())
    }

    async fn read_schedules(&self, statement: ScheduleQuery<'_>) -> Result<Vec<Schedule>> {
        let mut connection = self.inner.connection.lock().await;
        let rows = statement.fetch_all(&mut *connection).await;
        let rows = rows.map_err(|cause| self.fault().of(&cause))?;
        let read = rows.iter().map(|row| {
            read(row).map_err(|why| {
                self.fault()
                    .corrupt(&format!("a schedule is unreadable: {why}"))
            })
        });
        read.collect()
    }
}

fn read(row: &SqliteRow) -> std::result::Result<Schedule, String> {
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
        is_enabled: number("is_enabled")? == Some(1),
        next_ms: number("next_ms")?,
        last: last.map(|(due_ms, outcome)| ScheduleFiring { due_ms, outcome }),
        created_ms: number("created_ms")?.unwrap_or_default(),
        policy: serde_json::from_str(&text("policy")?).map_err(|e| e.to_string())?,
    })
}
