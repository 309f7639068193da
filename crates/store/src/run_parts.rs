//! Parts of a run that a page shows: the newest visit of each step, foreach groups and their items.
//!
//! A question about many rows is one statement, and reads only the rows that it names: a run with a
//! hundred thousand tasks takes as long as one with ten.

use flow::engine::{GroupRow, ItemRow, RunRow, StepAddress, TaskRow};
use flow::{RunId, TaskId};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::error::Result;
use crate::inbox::read_task;
use crate::record::DatabaseFuture;
use crate::tables::{SharedTables, TableRow, TableStatement, read_rows, row_limit};
use crate::workflows::columns;

/// The port for the parts of a run.
pub trait RunParts: Send + Sync {
    /// Returns the newest visit of each of these places. Places that were not visited are left out.
    fn newest_visits<'a>(&'a self, places: &'a [StepAddress]) -> DatabaseFuture<'a, Vec<TaskRow>>;

    /// Returns the groups that foreach tasks have opened.
    fn groups<'a>(&'a self, foreaches: &'a [TaskId]) -> DatabaseFuture<'a, Vec<GroupRow>>;

    /// Returns items of a foreach behind an index, in their order.
    fn items<'a>(
        &'a self,
        foreach: &'a TaskId,
        after: Option<u32>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<ItemRow>>;

    /// Returns those of these runs that there are, in no order.
    fn runs_of<'a>(&'a self, runs: &'a [RunId]) -> DatabaseFuture<'a, Vec<RunRow>>;
}

/// A list of texts, for SQLite and for PostgreSQL.
macro_rules! each {
    ($sqlite:ident, $postgres:ident, $before:literal, $after:literal) => {
        pub(crate) const $sqlite: &str = concat!($before, "json_each($1) AS wanted", $after);
        pub(crate) const $postgres: &str = concat!(
            $before,
            "json_array_elements_text($1::json) AS wanted (value)",
            $after
        );
    };
}

each!(
    NEWEST_SQLITE,
    NEWEST_POSTGRES,
    "SELECT (SELECT body FROM workflow_tasks WHERE place = wanted.value \
     ORDER BY visit DESC LIMIT 1) AS body FROM ",
    ""
);
each!(
    GROUPS_SQLITE,
    GROUPS_POSTGRES,
    "SELECT (SELECT body FROM workflow_groups WHERE id = wanted.value) AS body FROM ",
    ""
);
each!(
    RUNS_SQLITE,
    RUNS_POSTGRES,
    "SELECT (SELECT body FROM workflow_runs WHERE id = wanted.value) AS body FROM ",
    ""
);
pub(crate) const ITEMS: &str = "SELECT body FROM workflow_items WHERE \"group\" = $1 \
     AND \"index\" > $2 ORDER BY \"index\" LIMIT $3";

impl<T: SharedTables> RunParts for T {
    fn newest_visits<'a>(&'a self, places: &'a [StepAddress]) -> DatabaseFuture<'a, Vec<TaskRow>> {
        Box::pin(async move {
            let places: Vec<String> = places.iter().map(columns::place).collect();
            let statement = self.dialect().pick(NEWEST_SQLITE, NEWEST_POSTGRES);
            let bodies = bodies(self, statement.with(json!(places).to_string())).await?;
            let read = bodies
                .iter()
                .map(|body| read_task(body).map_err(|why| self.unreadable_row("a task", &why)));
            read.collect()
        })
    }

    fn groups<'a>(&'a self, foreaches: &'a [TaskId]) -> DatabaseFuture<'a, Vec<GroupRow>> {
        Box::pin(async move {
            let names: Vec<String> = foreaches.iter().map(TaskId::to_string).collect();
            let statement = self.dialect().pick(GROUPS_SQLITE, GROUPS_POSTGRES);
            documents(self, statement.with(json!(names).to_string())).await
        })
    }

    fn items<'a>(
        &'a self,
        foreach: &'a TaskId,
        after: Option<u32>,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<ItemRow>> {
        Box::pin(async move {
            let statement = TableStatement::new(ITEMS)
                .with(foreach.to_string())
                .with(after.map_or(-1, i64::from))
                .with(row_limit(max));
            documents(self, statement).await
        })
    }

    fn runs_of<'a>(&'a self, runs: &'a [RunId]) -> DatabaseFuture<'a, Vec<RunRow>> {
        Box::pin(async move {
            let names: Vec<&str> = runs.iter().map(RunId::as_str).collect();
            let statement = self.dialect().pick(RUNS_SQLITE, RUNS_POSTGRES);
            documents(self, statement.with(json!(names).to_string())).await
        })
    }
}

async fn bodies(tables: &impl SharedTables, statement: TableStatement) -> Result<Vec<String>> {
    let rows = tables.look(statement).await?;
    let read = |row: &TableRow| row.maybe_text("body");
    let bodies = read_rows(tables, "a row of a run", &rows, read)?;
    Ok(bodies.into_iter().flatten().collect())
}

async fn documents<D: DeserializeOwned>(
    tables: &impl SharedTables,
    statement: TableStatement,
) -> Result<Vec<D>> {
    let bodies = bodies(tables, statement).await?;
    let read = bodies.iter().map(|body| {
        let read = serde_json::from_str(body);
        read.map_err(|cause| tables.unreadable_row("a row of a run", &cause.to_string()))
    });
    read.collect()
}
