//! Costs of attempts, added up by day and by run, workflow, step, model and person.
//!
//! The transaction that ends an attempt adds what it cost to one sum of each kind
//! (`workflows::derived`), so that a question reads as many rows as there are days and names, however
//! many attempts there were. Sums stay when runs are deleted: the money is spent.

use crate::error::Result;
use crate::record::DatabaseFuture;
use crate::tables::{ColumnRead, SharedTables, TableRow, TableStatement, read_rows, row_limit};

/// The property that costs are added up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CostKind {
    /// All costs of a day.
    Day,
    /// Costs of a run on a day.
    Run,
    /// Costs of a workflow, by the name its runs have.
    Workflow,
    /// Costs of a step, as `WORKFLOW/STEP`.
    Step,
    /// Costs of a model; `other` where an attempt used several.
    Model,
    /// Costs by the assignee of the task; `NO_PERSON` for unassigned tasks.
    Person,
}

impl CostKind {
    /// All of them.
    pub const ALL: [CostKind; 6] = [
        CostKind::Day,
        CostKind::Run,
        CostKind::Workflow,
        CostKind::Step,
        CostKind::Model,
        CostKind::Person,
    ];

    /// Returns the word in the database, on the command line and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            CostKind::Day => "day",
            CostKind::Run => "run",
            CostKind::Workflow => "workflow",
            CostKind::Step => "step",
            CostKind::Model => "model",
            CostKind::Person => "person",
        }
    }
}

/// The days that are added up, both ends included, counted from 1970-01-01 (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostDays {
    /// The first day.
    pub first: u64,
    /// The last day.
    pub last: u64,
}

/// A sum of costs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CostSum {
    /// The day, for sums by day and by run.
    pub day: Option<u64>,
    /// The run's id, or the name of the workflow, step, model or person; empty for a whole day.
    pub name: String,
    /// Attempts that were paid for.
    pub attempts: u64,
    /// Tokens of all kinds.
    pub tokens: u64,
    /// Millionths of a US dollar.
    pub micros: u64,
}

/// The port for questions about costs.
pub trait CostQueries: Send + Sync {
    /// Returns the sums of a kind. Days come newest first; runs come by day, newest first, and the most
    /// expensive of a day first; anything else comes in one sum over all days, the most expensive first.
    fn cost_sums<'a>(
        &'a self,
        kind: CostKind,
        days: CostDays,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<CostSum>>;

    /// Returns the sums of runs behind one that was listed.
    fn run_costs_after<'a>(
        &'a self,
        days: CostDays,
        after: &'a CostSum,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<CostSum>>;

    /// Returns everything that was spent in these days.
    fn cost_total(&self, days: CostDays) -> DatabaseFuture<'_, CostSum>;
}

pub(crate) const BY_DAY: &str = "SELECT day, name, attempts, tokens, micros FROM cost_sums \
     WHERE kind = $1 AND day >= $2 AND day <= $3 ORDER BY day DESC LIMIT $4";
pub(crate) const BY_RUN: &str = "SELECT day, name, attempts, tokens, micros FROM cost_sums \
     WHERE kind = $1 AND day >= $2 AND (day, micros, name) < ($3, $4, $5) \
     ORDER BY day DESC, micros DESC, name DESC LIMIT $6";
pub(crate) const BY_NAME: &str = "SELECT CAST(NULL AS BIGINT) AS day, name, \
     CAST(sum(attempts) AS BIGINT) AS attempts, CAST(sum(tokens) AS BIGINT) AS tokens, \
     CAST(sum(micros) AS BIGINT) AS micros FROM cost_sums \
     WHERE kind = $1 AND day >= $2 AND day <= $3 \
     GROUP BY name ORDER BY 5 DESC, 4 DESC, 2 LIMIT $4";
pub(crate) const TOTAL: &str = "SELECT CAST(NULL AS BIGINT) AS day, '' AS name, \
     CAST(coalesce(sum(attempts), 0) AS BIGINT) AS attempts, \
     CAST(coalesce(sum(tokens), 0) AS BIGINT) AS tokens, \
     CAST(coalesce(sum(micros), 0) AS BIGINT) AS micros FROM cost_sums \
     WHERE kind = 'day' AND day >= $1 AND day <= $2";

impl<T: SharedTables> CostQueries for T {
    fn cost_sums<'a>(
        &'a self,
        kind: CostKind,
        days: CostDays,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<CostSum>> {
        let statement = match kind {
            CostKind::Run => {
                let end = CostSum {
                    day: Some(days.last.saturating_add(1)),
                    ..CostSum::default()
                };
                return Box::pin(list_sums(self, run_statement(days, &end, max)));
            }
            CostKind::Day => TableStatement::new(BY_DAY),
            _ => TableStatement::new(BY_NAME),
        };
        let statement = statement
            .with(kind.as_str())
            .with(days.first)
            .with(days.last)
            .with(row_limit(max));
        Box::pin(list_sums(self, statement))
    }

    fn run_costs_after<'a>(
        &'a self,
        days: CostDays,
        after: &'a CostSum,
        max: usize,
    ) -> DatabaseFuture<'a, Vec<CostSum>> {
        Box::pin(list_sums(self, run_statement(days, after, max)))
    }

    fn cost_total(&self, days: CostDays) -> DatabaseFuture<'_, CostSum> {
        Box::pin(async move {
            let statement = TableStatement::new(TOTAL).with(days.first).with(days.last);
            Ok(list_sums(self, statement).await?.pop().unwrap_or_default())
        })
    }
}

fn run_statement(days: CostDays, after: &CostSum, max: usize) -> TableStatement {
    TableStatement::new(BY_RUN)
        .with(CostKind::Run.as_str())
        .with(days.first)
        .with(after.day.unwrap_or(days.last))
        .with(after.micros)
        .with(after.name.as_str())
        .with(row_limit(max))
}

async fn list_sums(tables: &impl SharedTables, statement: TableStatement) -> Result<Vec<CostSum>> {
    let rows = tables.look(statement).await?;
    read_rows(tables, "a sum of costs", &rows, read_sum)
}

fn read_sum(row: &TableRow) -> ColumnRead<CostSum> {
    Ok(CostSum {
        day: row.maybe_count("day")?,
        name: row.text("name")?,
        attempts: row.count("attempts")?,
        tokens: row.count("tokens")?,
        micros: row.count("micros")?,
    })
}
