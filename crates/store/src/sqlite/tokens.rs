//! Tokens in SQLite.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::schedules::ScheduleQuery;
use super::{SqliteDatabase, count, integer};
use crate::error::Result;
use crate::record::DatabaseFuture;
use crate::tokens::{
    AccessToken, NewToken, TOKEN_USE_MS_STEP, TokenCheck, TokenId, TokenSecret, TokenStore,
};
use crate::tokens::{check, joined_scopes, judge, no_token, split_scopes, token_taken};
use crate::users::{Slug, UserStore as _};

macro_rules! columns {
    () => {
        "id, \"user\", name, role, scopes, created_ms, expires_ms, used_ms, revoked_ms"
    };
}

const FIND: &str = concat!("SELECT ", columns!(), " FROM tokens WHERE digest = $1");
const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM tokens WHERE $1 IS NULL OR \"user\" = $1 ORDER BY id DESC"
);
const ADD: &str = concat!(
    "INSERT INTO tokens (\"user\", name, role, digest, created_ms, expires_ms, scopes) \
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING ",
    columns!()
);
const REVOKE: &str = concat!(
    "UPDATE tokens SET revoked_ms = coalesce(revoked_ms, $1) WHERE id = $2 RETURNING ",
    columns!()
);
const USE: &str =
    "UPDATE tokens SET used_ms = $1 WHERE id = $2 AND (used_ms IS NULL OR used_ms <= $1 - $3)";

impl TokenStore for SqliteDatabase {
    fn add_token<'a>(
        &'a self,
        token: &'a NewToken,
        secret: &'a TokenSecret,
    ) -> DatabaseFuture<'a, AccessToken> {
        Box::pin(async move {
            let now_ms = self.now_ms();
            let user = self.user(&token.user).await?;
            check(token, user.as_ref(), count(now_ms))?;
            let statement = sqlx::query(ADD)
                .bind(token.user.as_str())
                .bind(self.clean(&token.name).into_owned())
                .bind(token.role.as_str())
                .bind(secret.digest())
                .bind(now_ms)
                .bind(token.expires_ms.map(integer))
                .bind(joined_scopes(&token.scopes));
            let added = self.read_tokens(statement).await?.pop();
            added.ok_or_else(|| token_taken(token))
        })
    }

    fn admit<'a>(&'a self, secret: &'a TokenSecret) -> DatabaseFuture<'a, TokenCheck> {
        Box::pin(async move {
            let statement = sqlx::query(FIND).bind(secret.digest());
            let Some(token) = self.read_tokens(statement).await?.pop() else {
                return Ok(TokenCheck::Unknown);
            };
            let user = self.user(&token.user).await?;
            Ok(user.map_or(TokenCheck::Unknown, |user| {
                judge(&token, user, count(self.now_ms()))
            }))
        })
    }

    fn note_token_use(&self, token: TokenId) -> DatabaseFuture<'_, ()> {
        Box::pin(async move {
            let statement = sqlx::query(USE)
                .bind(self.now_ms())
                .bind(token.0)
                .bind(integer(TOKEN_USE_MS_STEP));
            self.touched(statement).await?;
            Ok(())
        })
    }

    fn tokens<'a>(&'a self, user: Option<&'a Slug>) -> DatabaseFuture<'a, Vec<AccessToken>> {
        Box::pin(self.read_tokens(sqlx::query(LIST).bind(user.map(Slug::as_str))))
    }

    fn revoke_token(&self, token: TokenId) -> DatabaseFuture<'_, AccessToken> {
        Box::pin(async move {
            let statement = sqlx::query(REVOKE).bind(self.now_ms()).bind(token.0);
            let revoked = self.read_tokens(statement).await?.pop();
            revoked.ok_or_else(|| no_token(token))
        })
    }
}

impl SqliteDatabase {
    async fn read_tokens(&self, statement: ScheduleQuery<'_>) -> Result<Vec<AccessToken>> {
        let mut connection = self.inner.connection.lock().await;
        let rows = statement.fetch_all(&mut *connection).await;
        let rows = rows.map_err(|cause| self.fault().of(&cause))?;
        let read = rows.iter().map(|row| {
            read(row).map_err(|why| {
                self.fault()
                    .corrupt(&format!("a token is unreadable: {why}"))
            })
        });
        read.collect()
    }
}

fn read(row: &SqliteRow) -> std::result::Result<AccessToken, String> {
    let text = |name: &str| row.try_get::<String, _>(name).map_err(|e| e.to_string());
    let number = |name: &str| row.try_get::<i64, _>(name).map_err(|e| e.to_string());
    let maybe = |name: &str| {
        let found = row.try_get::<Option<i64>, _>(name);
        found
            .map(|found| found.map(count))
            .map_err(|e| e.to_string())
    };
    Ok(AccessToken {
        id: TokenId(number("id")?),
        user: text("user")?.parse().map_err(|e| format!("{e}"))?,
        name: text("name")?,
        role: text("role")?.parse().map_err(|e| format!("{e}"))?,
        scopes: split_scopes(&text("scopes")?),
        created_ms: count(number("created_ms")?),
        expires_ms: maybe("expires_ms")?,
        used_ms: maybe("used_ms")?,
        revoked_ms: maybe("revoked_ms")?,
    })
}
