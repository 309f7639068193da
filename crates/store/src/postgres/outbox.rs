//! The outbox in PostgreSQL.

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::connection::BoundValues;
use super::writing::numbers;
use super::{PostgresDatabase, count, integer};
use crate::error::Result;
use crate::outbox::{Outbox, StoredNotice};
use crate::record::DatabaseFuture;

const CLAIM: &str = "UPDATE workflow_notices SET due_ms = $2 WHERE id IN \
     (SELECT id FROM workflow_notices WHERE due_ms <= $1 ORDER BY due_ms, id LIMIT $3 \
     FOR UPDATE SKIP LOCKED) RETURNING id, tries, due_ms, body";
const LIST: &str = "SELECT id, tries, due_ms, body FROM workflow_notices ORDER BY id LIMIT $1";
const POSTPONE: &str = "UPDATE workflow_notices SET tries = tries + 1, due_ms = $1 WHERE id = $2 \
     RETURNING true";
const ACKNOWLEDGE: &str = "DELETE FROM workflow_notices WHERE id = ANY($1) RETURNING id";

impl Outbox for PostgresDatabase {
    fn claim_notices(
        &self,
        now_ms: u64,
        lease_ms: u64,
        max: usize,
    ) -> DatabaseFuture<'_, Vec<StoredNotice>> {
        Box::pin(async move {
            let values = BoundValues::of(integer(now_ms))
                .and(integer(now_ms.saturating_add(lease_ms)))
                .and(integer(max as u64));
            let rows = self.change(CLAIM, values).await?;
            let mut claimed = self.notices_of(&rows)?;
            claimed.sort_by_key(|kept| kept.id);
            Ok(claimed)
        })
    }

    fn list_notices(&self, max: usize) -> DatabaseFuture<'_, Vec<StoredNotice>> {
        Box::pin(self.read_notices(LIST, BoundValues::of(integer(max as u64))))
    }

    fn postpone_notice(&self, id: u64, due_ms: Option<u64>) -> DatabaseFuture<'_, ()> {
        Box::pin(async move {
            let values = BoundValues::of(due_ms.map_or(i64::MAX, integer)).and(integer(id));
            self.change(POSTPONE, values).await?;
            Ok(())
        })
    }

    fn acknowledge_notices<'a>(&'a self, ids: &'a [u64]) -> DatabaseFuture<'a, usize> {
        Box::pin(async move {
            let values = BoundValues::of(numbers(ids.iter().copied()));
            Ok(self.read(ACKNOWLEDGE, values).await?.len())
        })
    }
}

impl PostgresDatabase {
    async fn read_notices(
        &self,
        sql: &'static str,
        values: BoundValues,
    ) -> Result<Vec<StoredNotice>> {
        let rows = self.read(sql, values).await?;
        self.notices_of(&rows)
    }

    fn notices_of(&self, rows: &[PgRow]) -> Result<Vec<StoredNotice>> {
        let read = rows
            .iter()
            .map(|row| read(row).map_err(|why| self.unreadable("a notice", &why)));
        read.collect()
    }
}

fn read(row: &PgRow) -> std::result::Result<StoredNotice, String> {
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
