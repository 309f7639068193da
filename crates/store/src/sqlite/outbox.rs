//! The outbox in SQLite.

use serde_json::json;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::{SqliteDatabase, SqliteQuery, count, integer};
use crate::error::Result;
use crate::outbox::{Outbox, StoredNotice};
use crate::record::DatabaseFuture;

impl Outbox for SqliteDatabase {
    fn claim_notices(
        &self,
        now_ms: u64,
        lease_ms: u64,
        max: usize,
    ) -> DatabaseFuture<'_, Vec<StoredNotice>> {
        Box::pin(async move {
            // Reads without a lock first, because the outbox is mostly empty.
            let sql =
                "SELECT id, tries, due_ms, body FROM workflow_notices WHERE due_ms <= $1 LIMIT 1";
            let due = self
                .read_notices(sqlx::query(sql).bind(integer(now_ms)))
                .await?;
            if due.is_empty() {
                return Ok(due);
            }
            let statement = sqlx::query(
                "UPDATE workflow_notices SET due_ms = $2 WHERE id IN \
                 (SELECT id FROM workflow_notices WHERE due_ms <= $1 ORDER BY due_ms, id LIMIT $3) \
                 RETURNING id, tries, due_ms, body",
            );
            let statement = statement
                .bind(integer(now_ms))
                .bind(integer(now_ms.saturating_add(lease_ms)))
                .bind(integer(max as u64));
            let mut claimed = self.read_notices(statement).await?;
            claimed.sort_by_key(|kept| kept.id);
            Ok(claimed)
        })
    }

    fn list_notices(&self, max: usize) -> DatabaseFuture<'_, Vec<StoredNotice>> {
        let sql = "SELECT id, tries, due_ms, body FROM workflow_notices ORDER BY id LIMIT $1";
        Box::pin(self.read_notices(sqlx::query(sql).bind(integer(max as u64))))
    }

    fn postpone_notice(&self, id: u64, due_ms: Option<u64>) -> DatabaseFuture<'_, ()> {
        Box::pin(async move {
            let sql = "UPDATE workflow_notices SET tries = tries + 1, due_ms = $1 WHERE id = $2";
            let statement = sqlx::query(sql)
                .bind(due_ms.map_or(i64::MAX, integer))
                .bind(integer(id));
            self.touched(statement).await?;
            Ok(())
        })
    }

    fn acknowledge_notices<'a>(&'a self, ids: &'a [u64]) -> DatabaseFuture<'a, usize> {
        Box::pin(async move {
            let sql = "DELETE FROM workflow_notices WHERE id IN (SELECT value FROM json_each($1))";
            let statement = sqlx::query(sql).bind(json!(ids).to_string());
            let removed = self.touched(statement).await?;
            Ok(usize::try_from(removed).unwrap_or(usize::MAX))
        })
    }
}

impl SqliteDatabase {
    async fn read_notices(&self, statement: SqliteQuery<'_>) -> Result<Vec<StoredNotice>> {
        let mut connection = self.inner.connection.lock().await;
        let rows = statement.fetch_all(&mut *connection).await;
        let rows = rows.map_err(|cause| self.fault().of(&cause))?;
        let read = rows.iter().map(|row| {
            read(row).map_err(|why| {
                self.fault()
                    .corrupt(&format!("a notice is unreadable: {why}"))
            })
        });
        read.collect()
    }
}

fn read(row: &SqliteRow) -> std::result::Result<StoredNotice, String> {
    let number = |name: &str| row.try_get::<i64, _>(name).map_err(|e| e.to_string());
    let body: String = row.try_get("body").map_err(|e| e.to_string())?;
    Ok(StoredNotice {
        id: count(number("id")?),
        tries: count(number("tries")?),
        due_ms: Some(number("due_ms")?)
            .filter(|ms| *ms < i64::MAX)
            .map(count),
        notice: serde_json::from_str(&body).map_err(|e| e.to_string())?,
    })
}
