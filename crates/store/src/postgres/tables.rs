//! Statements of both dialects, run by PostgreSQL.

use super::connection::{BoundValues, LostCommitPolicy, PostgresConnection};
use super::{PostgresDatabase, TRIES_MAX};
use crate::error::{DatabaseErrorKind, Error, Result};
use crate::record::DatabaseFuture;
use crate::tables::{
    CellValue, RowNeed, SharedTables, SqlDialect, TableRow, TableStatement, TogetherRows, read_rows,
};

impl SharedTables for PostgresDatabase {
    fn dialect(&self) -> SqlDialect {
        SqlDialect::Postgres
    }

    fn time_ms(&self) -> u64 {
        self.now_ms()
    }

    fn scrubbed(&self, text: &str) -> String {
        self.clean(text)
    }

    fn unreadable_row(&self, what: &str, why: &str) -> Error {
        self.unreadable(what, why)
    }

    fn look(&self, statement: TableStatement) -> DatabaseFuture<'_, Vec<TableRow>> {
        Box::pin(async move {
            let rows = self.read(statement.sql, values(&statement)).await?;
            Ok(rows.into_iter().map(TableRow::Postgres).collect())
        })
    }

    fn change_rows(&self, statement: TableStatement) -> DatabaseFuture<'_, Vec<TableRow>> {
        Box::pin(async move {
            let rows = self.change(statement.sql, values(&statement)).await?;
            Ok(rows.into_iter().map(TableRow::Postgres).collect())
        })
    }

    fn change_together(&self, statements: Vec<TableStatement>) -> DatabaseFuture<'_, TogetherRows> {
        Box::pin(async move {
            let mut line = self.line().await;
            let mut tries = 1;
            loop {
                match together_once(&mut line, &statements).await {
                    Err(error) if error.kind() == DatabaseErrorKind::Lost && tries < TRIES_MAX => {
                        tries += 1
                    }
                    done => return done,
                }
            }
        })
    }
}

impl PostgresDatabase {
    /// Returns whether the tables are those that this program knows: neither older nor newer.
    pub async fn has_current_tables(&self) -> Result<bool> {
        let version =
            TableStatement::new("SELECT max(version) AS version FROM drawloom_migrations");
        let rows = self.look(version).await?;
        let found = read_rows(self, "the version of the tables", &rows, |row| {
            row.integer("version")
        })?;
        Ok(found == [super::migrate::latest()])
    }
}

async fn together_once(
    line: &mut PostgresConnection,
    statements: &[TableStatement],
) -> Result<TogetherRows> {
    line.begin().await?;
    let mut found = Vec::new();
    for (at, statement) in statements.iter().enumerate() {
        match line.fetch(statement.sql, values(statement)).await {
            Ok(rows) if rows.is_empty() && statement.need == RowNeed::One => {
                line.roll_back().await;
                return Ok(Err(at));
            }
            Ok(rows) => found.push(rows.into_iter().map(TableRow::Postgres).collect()),
            Err(error) => {
                line.roll_back().await;
                return Err(error);
            }
        }
    }
    line.commit(LostCommitPolicy::Unnamed).await?;
    Ok(Ok(found))
}

fn values(statement: &TableStatement) -> BoundValues {
    let cells = statement.cells.iter().cloned();
    cells.fold(BoundValues::default(), |values, cell| match cell {
        CellValue::Text(text) => values.and(text),
        CellValue::Integer(number) => values.and(number),
        CellValue::Flag(flag) => values.and(flag),
        CellValue::Bytes(bytes) => values.and(bytes),
        CellValue::MaybeText(text) => values.and(text),
        CellValue::MaybeInteger(number) => values.and(number),
    })
}
