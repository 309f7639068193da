//! Queries of people about runs and tasks, in SQLite.

use flow::TextHash;
use flow::engine::{RunRow, RunStatus, TaskRow, TaskStatus};
use serde::de::DeserializeOwned;
use serde_json::json;
use sqlx::sqlite::{Sqlite, SqliteArguments};

use super::rows::limit;
use super::{SqliteDatabase, count, integer};
use crate::error::Result;
use crate::queries::{
    PendingWork, RunCursor, RunFilter, RunKey, RunQueries, RunScan, TaskFilter, TaskIndex, newest,
    prefix_end, texts_named,
};
use crate::record::DatabaseFuture;
use crate::workflows::{columns, shorthand};

/// The part of a list of runs that one index holds. Values: since, before, the id before, only
/// top-level runs or all, the limit, and the key.
macro_rules! runs_where {
    ($what:literal, $key:literal) => {
        concat!(
            "SELECT ",
            $what,
            " FROM workflow_runs WHERE ",
            $key,
            "created_ms >= $1 AND (created_ms, id) < ($2, $3) AND ($4 = 0 OR is_top = 1) \
             ORDER BY created_ms DESC, id DESC LIMIT $5"
        )
    };
}

macro_rules! tagged {
    ($what:literal) => {
        concat!(
            "SELECT ",
            $what,
            " FROM workflow_tags AS tags CROSS JOIN workflow_runs AS runs ON runs.id = tags.run \
             WHERE tags.tag = $6 AND tags.created_ms >= $1 AND (tags.created_ms, tags.run) < ($2, $3) \
             AND ($4 = 0 OR runs.is_top = 1) AND ($7 IS NULL OR runs.status = $7) \
             AND ($8 IS NULL OR runs.workflow IN (SELECT value FROM json_each($8))) \
             ORDER BY tags.created_ms DESC, tags.run DESC LIMIT $5"
        )
    };
}

/// A part of a list of tasks. Values: the status, only waiting ones or all, the assignee, with or
/// without unassigned ones, the limit, and the key.
macro_rules! tasks_where {
    ($what:literal, $key:literal, $order:literal) => {
        concat!(
            "SELECT ",
            $what,
            " FROM workflow_tasks WHERE ",
            $key,
            "($1 IS NULL OR status = $1) AND ($2 = 0 OR status = 'on_hold' \
             OR (status = 'pending' AND ready_ms IS NULL)) \
             AND ($3 IS NULL OR assignee = $3 OR ($4 = 1 AND assignee IS NULL)) \
             ORDER BY ",
            $order,
            " LIMIT $5"
        )
    };
}

/// A query that returns the documents of rows.
type BodyQuery<'q> = sqlx::query::QueryScalar<'q, Sqlite, String, SqliteArguments>;

impl RunQueries for SqliteDatabase {
    fn list_runs<'a>(
        &'a self,
        filter: &'a RunFilter,
        after: Option<&'a RunCursor>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<RunRow>> {
        Box::pin(async move {
            let texts = self.texts_of(filter).await?;
            let mut runs = Vec::new();
            for scan in RunScan::all(filter, after, texts, max) {
                let sql = list_runs_by(&scan.key);
                let bodies = self
                    .texts(bind_scan(sqlx::query_scalar(sql), &scan))
                    .await?;
                runs.extend(self.rows_of::<RunRow>(&bodies)?);
            }
            Ok(newest(runs, max))
        })
    }

    fn count_runs<'a>(&'a self, filter: &'a RunFilter, max: usize) -> DatabaseFuture<'a, usize> {
        Box::pin(async move {
            let texts = self.texts_of(filter).await?;
            let mut counted = 0;
            for scan in RunScan::all(filter, None, texts, max) {
                let sql = count_runs_by(&scan.key);
                let found = self
                    .texts(bind_scan(sqlx::query_scalar(sql), &scan))
                    .await?;
                counted += found.len();
            }
            Ok(counted.min(max))
        })
    }

    fn runs_with_prefix<'a>(
        &'a self,
        prefix: &'a str,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<RunRow>> {
        Box::pin(async move {
            let statement = sqlx::query_scalar(
                "SELECT body FROM workflow_runs WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3",
            );
            let statement = statement
                .bind(prefix.to_owned())
                .bind(prefix_end(prefix))
                .bind(limit(max));
            let bodies = self.texts(statement).await?;
            self.rows_of(&bodies)
        })
    }

    fn list_tasks<'a>(
        &'a self,
        filter: &'a TaskFilter,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<TaskRow>> {
        Box::pin(async move {
            let sql = list_tasks_by(TaskIndex::of(filter));
            let bodies = self.texts(bind_tasks(sql, filter, max)).await?;
            self.rows_of(&bodies)
        })
    }

    fn count_tasks<'a>(&'a self, filter: &'a TaskFilter, max: usize) -> DatabaseFuture<'a, usize> {
        Box::pin(async move {
            let sql = count_tasks_by(TaskIndex::of(filter));
            Ok(self.texts(bind_tasks(sql, filter, max)).await?.len())
        })
    }

    fn pending_work<'a>(&'a self, assignees: &'a [String]) -> DatabaseFuture<'a, PendingWork> {
        Box::pin(async move {
            let found = sqlx::query_as(
                "SELECT (SELECT task.ready_ms FROM workflow_tasks AS task \
                 JOIN workflow_runs AS runs ON runs.id = task.run \
                 WHERE task.ready_ms IS NOT NULL AND runs.status = 'running' \
                 AND ($1 = '[]' OR assignee IN (SELECT value FROM json_each($1))) \
                 ORDER BY task.ready_ms LIMIT 1), \
                 (SELECT min(lease_ms) FROM workflow_tasks WHERE lease_ms IS NOT NULL), \
                 (SELECT min(at_ms) FROM workflow_timers)",
            );
            let found = found.bind(json!(assignees).to_string());
            let mut connection = self.inner.connection.lock().await;
            let found: (Option<i64>, Option<i64>, Option<i64>) = found
                .fetch_one(&mut *connection)
                .await
                .map_err(|cause| self.fault().of(&cause))?;
            Ok(PendingWork {
                ready_ms: found.0.map(count),
                lease_ms: found.1.map(count),
                timer_ms: found.2.map(count),
            })
        })
    }

    fn begin_of_newest(&self, number: u64) -> DatabaseFuture<'_, Option<u64>> {
        Box::pin(async move {
            let found = sqlx::query_scalar(
                "SELECT created_ms FROM workflow_runs WHERE is_top = 1 \
                 ORDER BY created_ms DESC, id DESC LIMIT 1 OFFSET $1",
            );
            let mut connection = self.inner.connection.lock().await;
            let found = found.bind(integer(number)).fetch_optional(&mut *connection);
            let found: Option<i64> = found.await.map_err(|cause| self.fault().of(&cause))?;
            Ok(found.map(count))
        })
    }

    fn name_workflow<'a>(&'a self, hash: &'a TextHash, name: &'a str) -> DatabaseFuture<'a, ()> {
        Box::pin(async move {
            let known = "SELECT name FROM workflow_names WHERE hash = $1 AND name = $2";
            let name = self.clean(name).into_owned();
            let known = sqlx::query_scalar(known)
                .bind(hash.as_str().to_owned())
                .bind(name.clone());
            if !self.texts(known).await?.is_empty() {
                return Ok(());
            }
            let statement = sqlx::query(
                "INSERT INTO workflow_names (hash, name) SELECT $1, $2 \
                 WHERE EXISTS (SELECT 1 FROM workflow_texts WHERE hash = $1) ON CONFLICT DO NOTHING",
            );
            self.touched(statement.bind(hash.as_str()).bind(name))
                .await?;
            Ok(())
        })
    }
}

impl SqliteDatabase {
    /// Returns the workflow texts that the filter's workflow name matches; `None` if the filter has
    /// no name.
    async fn texts_of(&self, filter: &RunFilter) -> Result<Option<Vec<String>>> {
        let Some(wanted) = &filter.workflow else {
            return Ok(None);
        };
        let names = self.pairs("SELECT hash, name FROM workflow_names").await?;
        let unnamed = self.pairs(
            "SELECT hash, source FROM workflow_texts AS texts WHERE NOT EXISTS \
             (SELECT 1 FROM workflow_names AS names WHERE names.hash = texts.hash)",
        );
        Ok(Some(texts_named(wanted, &names, &unnamed.await?)))
    }

    async fn pairs(&self, sql: &'static str) -> Result<Vec<(String, String)>> {
        let mut connection = self.inner.connection.lock().await;
        let found = sqlx::query_as(sql).fetch_all(&mut *connection).await;
        found.map_err(|cause| self.fault().of(&cause))
    }

    async fn texts(&self, statement: BodyQuery<'_>) -> Result<Vec<String>> {
        let mut connection = self.inner.connection.lock().await;
        let found = statement.fetch_all(&mut *connection).await;
        found.map_err(|cause| self.fault().of(&cause))
    }

    fn rows_of<T: DeserializeOwned>(&self, bodies: &[String]) -> Result<Vec<T>> {
        let rows = bodies.iter().map(|body| {
            let body = shorthand::TASKS.expand_whole(body);
            serde_json::from_str(&body).map_err(|cause| {
                let message = format!("a row of a workflow is unreadable: {cause}");
                self.fault().corrupt(&message)
            })
        });
        rows.collect()
    }
}

fn bind_scan<'q>(statement: BodyQuery<'q>, scan: &RunScan) -> BodyQuery<'q> {
    let statement = statement
        .bind(integer(scan.since_ms))
        .bind(integer(scan.before.0))
        .bind(scan.before.1.clone())
        .bind(scan.is_top)
        .bind(limit(scan.max));
    match &scan.key {
        RunKey::Newest | RunKey::Top => statement,
        RunKey::Status(status) => statement.bind(status.name()),
        RunKey::Workflow(hash, status) => statement.bind(hash.clone()).bind(status.name()),
        RunKey::Tag(tag) => statement
            .bind(tag.clone())
            .bind(scan.status.map(RunStatus::name))
            .bind(scan.texts.as_ref().map(|texts| json!(texts).to_string())),
    }
}

fn bind_tasks<'q>(sql: &'static str, filter: &TaskFilter, max: usize) -> BodyQuery<'q> {
    let statement = sqlx::query_scalar(sql)
        .bind(filter.status.map(TaskStatus::name))
        .bind(filter.is_waiting)
        .bind(filter.assignee.clone())
        .bind(filter.is_anybodys)
        .bind(limit(max));
    match &filter.run {
        None => statement,
        Some(run) => {
            let (first, end) = columns::places(run);
            statement.bind(first).bind(end).bind(!filter.has_ended)
        }
    }
}

fn list_runs_by(key: &RunKey) -> &'static str {
    match key {
        RunKey::Newest => runs_where!("body", ""),
        RunKey::Top => runs_where!("body", "is_top = 1 AND "),
        RunKey::Status(_) => runs_where!("body", "status = $6 AND "),
        RunKey::Workflow(..) => runs_where!("body", "workflow = $6 AND status = $7 AND "),
        RunKey::Tag(_) => tagged!("runs.body"),
    }
}

fn count_runs_by(key: &RunKey) -> &'static str {
    match key {
        RunKey::Newest => runs_where!("id", ""),
        RunKey::Top => runs_where!("id", "is_top = 1 AND "),
        RunKey::Status(_) => runs_where!("id", "status = $6 AND "),
        RunKey::Workflow(..) => runs_where!("id", "workflow = $6 AND status = $7 AND "),
        RunKey::Tag(_) => tagged!("runs.id"),
    }
}

fn list_tasks_by(key: TaskIndex) -> &'static str {
    match key {
        TaskIndex::Run => tasks_where!(
            "body",
            "place >= $6 AND place < $7 AND is_active >= $8 AND ",
            "number"
        ),
        TaskIndex::Active => tasks_where!("body", "is_active = 1 AND ", "number"),
        TaskIndex::Unfinished => tasks_where!(
            "body",
            "status IN ('failed', 'cancelled') AND status = $1 AND ",
            "number"
        ),
        TaskIndex::All => tasks_where!("body", "", "number"),
    }
}

fn count_tasks_by(key: TaskIndex) -> &'static str {
    match key {
        TaskIndex::Run => tasks_where!(
            "place",
            "place >= $6 AND place < $7 AND is_active >= $8 AND ",
            "number"
        ),
        TaskIndex::Active => tasks_where!("place", "is_active = 1 AND ", "number"),
        TaskIndex::Unfinished => tasks_where!(
            "place",
            "status IN ('failed', 'cancelled') AND status = $1 AND ",
            "number"
        ),
        TaskIndex::All => tasks_where!("place", "", "number"),
    }
}

#[cfg(test)]
mod tests {
    use sqlx::Connection as _;
    use sqlx::sqlite::SqliteConnection;

    use super::super::retention;
    use super::*;

    /// Returns SQLite's query plan, for the newest tables without statistics.
    async fn plan(sql: &'static str) -> Vec<String> {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        for (_, _, step) in super::super::migrate::STEPS {
            sqlx::raw_sql(step).execute(&mut connection).await.unwrap();
        }
        let explained = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
        let mut asked = sqlx::query_as(explained);
        for _ in 0..sql.matches('$').count() {
            asked = asked.bind(None::<String>);
        }
        let rows: Vec<(i64, i64, i64, String)> = asked.fetch_all(&mut connection).await.unwrap();
        rows.into_iter().map(|row| row.3).collect()
    }

    /// Tells whether a step of a plan reads a whole table.
    fn scans(step: &str) -> bool {
        step.starts_with("SCAN ")
            && !step.contains("USING")
            && !step.contains("VIRTUAL TABLE")
            && !step.contains("CONSTANT ROW")
    }

    #[tokio::test]
    async fn lists_of_runs_are_read_from_an_index_in_its_order() {
        let status = RunStatus::Failed;
        for key in [
            RunKey::Newest,
            RunKey::Top,
            RunKey::Status(status),
            RunKey::Workflow("h".to_owned(), status),
            RunKey::Tag("t".to_owned()),
        ] {
            for sql in [list_runs_by(&key), count_runs_by(&key)] {
                let plan = plan(sql).await;
                let is_fine = |step: &String| !scans(step) && !step.contains("TEMP B-TREE");
                assert!(plan.iter().all(is_fine), "{key:?}: {plan:#?}");
            }
        }
    }

    #[tokio::test]
    async fn lists_of_tasks_are_read_from_an_index() {
        for key in [TaskIndex::Run, TaskIndex::Active, TaskIndex::Unfinished] {
            for sql in [list_tasks_by(key), count_tasks_by(key)] {
                let plan = plan(sql).await;
                assert!(!plan.iter().any(|step| scans(step)), "{key:?}: {plan:#?}");
            }
        }
        // Reads all tasks in the table's order, up to the limit and without sorting.
        let all = plan(list_tasks_by(TaskIndex::All)).await;
        assert_eq!(all, ["SCAN workflow_tasks"]);
    }

    #[tokio::test]
    async fn the_read_side_is_answered_from_indexes() {
        use crate::{costs, inbox, run_parts, search};
        for sql in [
            inbox::OF_OWNER[0],
            inbox::OF_NOBODY[0],
            inbox::OF_ALL[0],
            inbox::OF_RUN[0],
            inbox::ACTIVE[0],
            inbox::UNFINISHED[0],
            costs::BY_DAY,
            costs::BY_RUN,
            costs::BY_NAME,
            costs::TOTAL,
            run_parts::NEWEST_SQLITE,
            run_parts::GROUPS_SQLITE,
            run_parts::RUNS_SQLITE,
            run_parts::ITEMS,
            search::FIND_SQLITE,
            search::LAST_RUN,
            search::NEW_RUNS,
        ] {
            let plan = plan(sql).await;
            assert!(!plan.iter().any(|step| scans(step)), "{sql}: {plan:#?}");
        }
        // Pages come from the order of an index.
        for sql in [
            inbox::OF_OWNER[0],
            inbox::OF_ALL[0],
            inbox::OF_RUN[0],
            costs::BY_RUN,
        ] {
            let plan = plan(sql).await;
            let sorts = plan.iter().any(|step| step.contains("TEMP B-TREE"));
            assert!(!sorts, "{sql}: {plan:#?}");
        }
    }

    #[tokio::test]
    async fn runs_leave_without_a_look_at_the_others() {
        for sql in retention::BY_PLACE.into_iter().chain(retention::BY_RUN) {
            let plan = plan(sql).await;
            assert!(!plan.iter().any(|step| scans(step)), "{sql}: {plan:#?}");
        }
    }
}
