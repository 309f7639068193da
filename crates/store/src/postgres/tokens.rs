//! Tokens in PostgreSQL.

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::connection::BoundValues;
use super::{PostgresDatabase, count, integer};
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
    " FROM tokens WHERE $1::text IS NULL OR \"user\" = $1 ORDER BY id DESC"
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

impl TokenStore for PostgresDatabase {
    fn add_token<'a>(
        &'a self,
        token: &'a NewToken,
        secret: &'a TokenSecret,
    ) -> DatabaseFuture<'a, AccessToken> {
        Box::pin(async move {
            let now_ms = self.now_ms();
            let user = self.user(&token.user).await?;
            check(token, user.as_ref(), now_ms)?;
            let values = BoundValues::of(token.user.as_str())
                .and(self.clean(&token.name))
                .and(token.role.as_str())
                .and(secret.digest())
                .and(integer(now_ms))
                .and(token.expires_ms.map(integer))
                .and(joined_scopes(&token.scopes));
            let rows = self.change(ADD, values).await?;
            let added = self.tokens_of(&rows)?.pop();
            added.ok_or_else(|| token_taken(token))
        })
    }

    fn admit<'a>(&'a self, secret: &'a TokenSecret) -> DatabaseFuture<'a, TokenCheck> {
        Box::pin(async move {
            let rows = self.read(FIND, BoundValues::of(secret.digest())).await?;
            let Some(token) = self.tokens_of(&rows)?.pop() else {
                return Ok(TokenCheck::Unknown);
            };
            let user = self.user(&token.user).await?;
            Ok(user.map_or(TokenCheck::Unknown, |user| {
                judge(&token, user, self.now_ms())
            }))
        })
    }

    fn note_token_use(&self, token: TokenId) -> DatabaseFuture<'_, ()> {
        Box::pin(async move {
            let values = BoundValues::of(integer(self.now_ms()))
                .and(token.0)
                .and(integer(TOKEN_USE_MS_STEP));
            self.change(USE, values).await?;
            Ok(())
        })
    }

    fn tokens<'a>(&'a self, user: Option<&'a Slug>) -> DatabaseFuture<'a, Vec<AccessToken>> {
        Box::pin(async move {
            let rows = self
                .read(LIST, BoundValues::of(user.map(Slug::as_str)))
                .await?;
            self.tokens_of(&rows)
        })
    }

    fn revoke_token(&self, token: TokenId) -> DatabaseFuture<'_, AccessToken> {
        Box::pin(async move {
            let values = BoundValues::of(integer(self.now_ms())).and(token.0);
            let rows = self.change(REVOKE, values).await?;
            let revoked = self.tokens_of(&rows)?.pop();
            revoked.ok_or_else(|| no_token(token))
        })
    }
}

impl PostgresDatabase {
    fn tokens_of(&self, rows: &[PgRow]) -> Result<Vec<AccessToken>> {
        let read = rows
            .iter()
            .map(|row| read(row).map_err(|why| self.unreadable("a token", &why)));
        read.collect()
    }
}

fn read(row: &PgRow) -> std::result::Result<AccessToken, String> {
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
