//! Secrets of a project that all its machines share, whatever engine stores them: each is made once.

use crate::error::Result;
use crate::record::DatabaseFuture;
use crate::tables::{SharedTables, TableStatement, read_rows};

/// The port to the secrets of a project.
pub trait ProjectKeys: Send + Sync {
    /// Returns the secret of this name, if there is one.
    fn project_key<'a>(&'a self, name: &'a str) -> DatabaseFuture<'a, Option<String>>;

    /// Stores a secret unless there is one of this name, and returns the one that is stored: of several
    /// processes that make it at once, all get the same.
    fn keep_project_key<'a>(&'a self, name: &'a str, value: &'a str) -> DatabaseFuture<'a, String>;
}

const FIND: &str = "SELECT value FROM project_keys WHERE name = $1";
const KEEP: &str = "INSERT INTO project_keys (name, value, created_ms) VALUES ($1, $2, $3) \
     ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING value";

impl<T: SharedTables> ProjectKeys for T {
    fn project_key<'a>(&'a self, name: &'a str) -> DatabaseFuture<'a, Option<String>> {
        Box::pin(async move {
            let rows = self.look(TableStatement::new(FIND).with(name)).await?;
            let found: Result<Vec<String>> =
                read_rows(self, "a key", &rows, |row| row.text("value"));
            Ok(found?.pop())
        })
    }

    fn keep_project_key<'a>(&'a self, name: &'a str, value: &'a str) -> DatabaseFuture<'a, String> {
        Box::pin(async move {
            let statement = TableStatement::new(KEEP)
                .with(name)
                .with(value)
                .with(self.time_ms());
            let rows = self.change_rows(statement).await?;
            let kept = read_rows(self, "a key", &rows, |row| row.text("value"))?.pop();
            kept.ok_or_else(|| self.unreadable_row("a key", "it was not stored"))
        })
    }
}
