//! Statements that both engines understand, and rows of either engine.
//!
//! A port whose tables are plain writes its SQL once, as a [`TableStatement`], and runs it through
//! [`SharedTables`], which each engine implements in its `tables.rs`. Ports on the engine's hot path, and
//! those whose plans differ between the engines, have a file for each engine instead.

use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Row as _, Type};

use crate::error::{Error, Result};
use crate::record::DatabaseFuture;

/// A value for one parameter of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CellValue {
    Text(String),
    Integer(i64),
    Flag(bool),
    Bytes(Vec<u8>),
    MaybeText(Option<String>),
    MaybeInteger(Option<i64>),
}

impl From<&str> for CellValue {
    fn from(text: &str) -> CellValue {
        CellValue::Text(text.to_owned())
    }
}

impl From<String> for CellValue {
    fn from(text: String) -> CellValue {
        CellValue::Text(text)
    }
}

impl From<u64> for CellValue {
    fn from(count: u64) -> CellValue {
        CellValue::Integer(integer(count))
    }
}

impl From<i64> for CellValue {
    fn from(number: i64) -> CellValue {
        CellValue::Integer(number)
    }
}

impl From<bool> for CellValue {
    fn from(flag: bool) -> CellValue {
        CellValue::Flag(flag)
    }
}

impl From<Vec<u8>> for CellValue {
    fn from(bytes: Vec<u8>) -> CellValue {
        CellValue::Bytes(bytes)
    }
}

impl From<Option<u64>> for CellValue {
    fn from(count: Option<u64>) -> CellValue {
        CellValue::MaybeInteger(count.map(integer))
    }
}

impl From<Option<String>> for CellValue {
    fn from(text: Option<String>) -> CellValue {
        CellValue::MaybeText(text)
    }
}

impl From<Option<&str>> for CellValue {
    fn from(text: Option<&str>) -> CellValue {
        CellValue::MaybeText(text.map(str::to_owned))
    }
}

/// One statement with its values. Its parameters are `$1`, `$2` and so on.
#[derive(Clone, Debug)]
pub(crate) struct TableStatement {
    pub(crate) sql: &'static str,
    pub(crate) cells: Vec<CellValue>,
    pub(crate) need: RowNeed,
}

/// Says whether a statement must return a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowNeed {
    /// A statement without a row undoes all others of its transaction.
    One,
    Any,
}

impl TableStatement {
    /// Creates a statement that must return a row when it runs together with others.
    pub(crate) fn new(sql: &'static str) -> TableStatement {
        TableStatement {
            sql,
            cells: Vec::new(),
            need: RowNeed::One,
        }
    }

    /// Creates a statement that may find nothing.
    pub(crate) fn optional(sql: &'static str) -> TableStatement {
        TableStatement {
            need: RowNeed::Any,
            ..TableStatement::new(sql)
        }
    }

    /// Adds the value of the next parameter.
    pub(crate) fn with(mut self, cell: impl Into<CellValue>) -> TableStatement {
        self.cells.push(cell.into());
        self
    }
}

/// A row of either engine. Columns are read by their names.
pub(crate) enum TableRow {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

/// The value of a column, or the reason why it cannot be read.
pub(crate) type ColumnRead<T> = std::result::Result<T, String>;

impl TableRow {
    pub(crate) fn text(&self, name: &str) -> ColumnRead<String> {
        self.get(name)
    }

    pub(crate) fn maybe_text(&self, name: &str) -> ColumnRead<Option<String>> {
        self.get(name)
    }

    pub(crate) fn bytes(&self, name: &str) -> ColumnRead<Vec<u8>> {
        self.get(name)
    }

    pub(crate) fn integer(&self, name: &str) -> ColumnRead<i64> {
        self.get(name)
    }

    pub(crate) fn count(&self, name: &str) -> ColumnRead<u64> {
        self.integer(name).map(count)
    }

    pub(crate) fn maybe_count(&self, name: &str) -> ColumnRead<Option<u64>> {
        let found: Option<i64> = self.get(name)?;
        Ok(found.map(count))
    }

    pub(crate) fn flag(&self, name: &str) -> ColumnRead<bool> {
        match self {
            TableRow::Sqlite(_) => self.integer(name).map(|number| number != 0),
            TableRow::Postgres(row) => row.try_get(name).map_err(|cause| cause.to_string()),
        }
    }

    /// Reads a column with the type's own parser, such as a slug or a role.
    pub(crate) fn parsed<T>(&self, name: &str) -> ColumnRead<T>
    where
        T: std::str::FromStr,
        T::Err: std::fmt::Display,
    {
        self.text(name)?
            .parse()
            .map_err(|cause: T::Err| cause.to_string())
    }

    fn get<T>(&self, name: &str) -> ColumnRead<T>
    where
        T: for<'r> Decode<'r, sqlx::Sqlite> + Type<sqlx::Sqlite>,
        T: for<'r> Decode<'r, sqlx::Postgres> + Type<sqlx::Postgres>,
    {
        let got = match self {
            TableRow::Sqlite(row) => row.try_get(name),
            TableRow::Postgres(row) => row.try_get(name),
        };
        got.map_err(|cause| cause.to_string())
    }
}

/// The rows of several statements in their order, or the index of the first statement that lacks a
/// required row: then nothing was changed.
pub(crate) type TogetherRows = std::result::Result<Vec<Vec<TableRow>>, usize>;

/// The SQL that an engine understands, where the two differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SqlDialect {
    Sqlite,
    Postgres,
}

impl SqlDialect {
    /// Chooses the statement of this engine.
    pub(crate) fn pick(self, sqlite: &'static str, postgres: &'static str) -> TableStatement {
        TableStatement::new(match self {
            SqlDialect::Sqlite => sqlite,
            SqlDialect::Postgres => postgres,
        })
    }
}

/// A database that runs statements of either dialect.
pub(crate) trait SharedTables: Send + Sync {
    /// Returns the engine's own SQL, for the few statements that differ.
    fn dialect(&self) -> SqlDialect;

    /// Returns the time as the database sees it, in milliseconds since 1970.
    fn time_ms(&self) -> u64;

    /// Returns a text without known secrets.
    fn scrubbed(&self, text: &str) -> String;

    /// Describes a row that cannot be read.
    fn unreadable_row(&self, what: &str, why: &str) -> Error;

    /// Runs a statement that changes nothing.
    fn look(&self, statement: TableStatement) -> DatabaseFuture<'_, Vec<TableRow>>;

    /// Runs a statement that changes something; it is on the disk when this returns.
    fn change_rows(&self, statement: TableStatement) -> DatabaseFuture<'_, Vec<TableRow>>;

    /// Runs statements in one transaction, all of them or none.
    fn change_together(&self, statements: Vec<TableStatement>) -> DatabaseFuture<'_, TogetherRows>;
}

/// Reads rows with a port's own function.
pub(crate) fn read_rows<T>(
    tables: &(impl SharedTables + ?Sized),
    what: &str,
    rows: &[TableRow],
    read: impl Fn(&TableRow) -> ColumnRead<T>,
) -> Result<Vec<T>> {
    let read = rows
        .iter()
        .map(|row| read(row).map_err(|why| tables.unreadable_row(what, &why)));
    read.collect()
}

/// Converts a count: both engines have signed integers only, and no count here comes near their
/// maximum.
pub(crate) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(crate) fn count(integer: i64) -> u64 {
    u64::try_from(integer).unwrap_or(0)
}

/// Converts the number of rows that a caller wants into a limit of a statement.
pub(crate) fn row_limit(max: usize) -> i64 {
    i64::try_from(max).unwrap_or(i64::MAX)
}
