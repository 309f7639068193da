//! Statements of both dialects, run by SQLite.

use sqlx::Connection as _;
use sqlx::sqlite::{SqliteArguments, SqliteConnection};

use super::SqliteDatabase;
use crate::error::{Error, Result};
use crate::record::DatabaseFuture;
use crate::tables::{
    CellValue, RowNeed, SharedTables, SqlDialect, TableRow, TableStatement, TogetherRows, count,
    read_rows,
};

impl SharedTables for SqliteDatabase {
    fn dialect(&self) -> SqlDialect {
        SqlDialect::Sqlite
    }

    fn time_ms(&self) -> u64 {
        count(self.now_ms())
    }

    fn scrubbed(&self, text: &str) -> String {
        self.clean(text).into_owned()
    }

    fn unreadable_row(&self, what: &str, why: &str) -> Error {
        self.fault()
            .corrupt(&format!("{what} is unreadable: {why}"))
    }

    fn look(&self, statement: TableStatement) -> DatabaseFuture<'_, Vec<TableRow>> {
        Box::pin(async move {
            let mut connection = self.inner.connection.lock().await;
            self.run_statement(&mut connection, statement).await
        })
    }

    fn change_rows(&self, statement: TableStatement) -> DatabaseFuture<'_, Vec<TableRow>> {
        self.look(statement)
    }

    fn change_together(&self, statements: Vec<TableStatement>) -> DatabaseFuture<'_, TogetherRows> {
        Box::pin(async move {
            let failed = |cause: sqlx::Error| self.fault().of(&cause);
            let mut connection = self.inner.connection.lock().await;
            let begun = connection.begin_with("BEGIN IMMEDIATE").await;
            let mut whole = begun.map_err(failed)?;
            let mut found = Vec::new();
            for (at, statement) in statements.into_iter().enumerate() {
                let need = statement.need;
                let rows = self.run_statement(&mut whole, statement).await?;
                if rows.is_empty() && need == RowNeed::One {
                    whole.rollback().await.map_err(failed)?;
                    return Ok(Err(at));
                }
                found.push(rows);
            }
            whole.commit().await.map_err(failed)?;
            Ok(Ok(found))
        })
    }
}

impl SqliteDatabase {
    /// Returns whether the tables are those that this program knows: neither older nor newer.
    pub async fn has_current_tables(&self) -> Result<bool> {
        let version = TableStatement::new("SELECT user_version FROM pragma_user_version");
        let rows = self.look(version).await?;
        let found = read_rows(self, "the version of the tables", &rows, |row| {
            row.integer("user_version")
        })?;
        Ok(found == [super::migrate::latest()])
    }

    async fn run_statement(
        &self,
        connection: &mut SqliteConnection,
        statement: TableStatement,
    ) -> Result<Vec<TableRow>> {
        let query = bound(sqlx::query(statement.sql), statement.cells);
        let rows = query.fetch_all(connection).await;
        let rows = rows.map_err(|cause| self.fault().of(&cause))?;
        Ok(rows.into_iter().map(TableRow::Sqlite).collect())
    }
}

/// A shared statement with its values, in SQLite.
type BoundQuery<'q> = sqlx::query::Query<'q, sqlx::Sqlite, SqliteArguments>;

fn bound(query: BoundQuery<'_>, cells: Vec<CellValue>) -> BoundQuery<'_> {
    cells.into_iter().fold(query, |query, cell| match cell {
        CellValue::Text(text) => query.bind(text),
        CellValue::Integer(number) => query.bind(number),
        CellValue::Flag(flag) => query.bind(flag),
        CellValue::Bytes(bytes) => query.bind(bytes),
        CellValue::MaybeText(text) => query.bind(text),
        CellValue::MaybeInteger(number) => query.bind(number),
    })
}
