//! Tokens in either database.

use crate::record::DatabaseFuture;
use crate::tables::{ColumnRead, SharedTables, TableRow, TableStatement, read_rows};
use crate::tokens::{
    AccessToken, NewToken, TOKEN_USE_MS_STEP, TokenCheck, TokenId, TokenSecret, TokenStore,
};
use crate::tokens::{check, joined_scopes, judge, no_token, split_scopes, token_taken};
use crate::users::{Slug, UserStore};

macro_rules! columns {
    () => {
        "id, \"user\", name, role, scopes, created_ms, expires_ms, used_ms, revoked_ms"
    };
}

const FIND: &str = concat!("SELECT ", columns!(), " FROM tokens WHERE digest = $1");
const LIST: &str = concat!("SELECT ", columns!(), " FROM tokens ORDER BY id DESC");
const LIST_OF_USER: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM tokens WHERE \"user\" = $1 ORDER BY id DESC"
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

impl<T: SharedTables + UserStore> TokenStore for T {
    fn add_token<'a>(
        &'a self,
        token: &'a NewToken,
        secret: &'a TokenSecret,
    ) -> DatabaseFuture<'a, AccessToken> {
        Box::pin(async move {
            let now_ms = self.time_ms();
            let user = self.user(&token.user).await?;
            check(token, user.as_ref(), now_ms)?;
            let statement = TableStatement::new(ADD)
                .with(token.user.as_str())
                .with(self.scrubbed(&token.name))
                .with(token.role.as_str())
                .with(secret.digest())
                .with(now_ms)
                .with(token.expires_ms)
                .with(joined_scopes(&token.scopes));
            let rows = self.change_rows(statement).await?;
            let added = read_rows(self, "a token", &rows, read)?.pop();
            added.ok_or_else(|| token_taken(token))
        })
    }

    fn admit<'a>(&'a self, secret: &'a TokenSecret) -> DatabaseFuture<'a, TokenCheck> {
        Box::pin(async move {
            let statement = TableStatement::new(FIND).with(secret.digest());
            let rows = self.look(statement).await?;
            let Some(token) = read_rows(self, "a token", &rows, read)?.pop() else {
                return Ok(TokenCheck::Unknown);
            };
            let user = self.user(&token.user).await?;
            Ok(user.map_or(TokenCheck::Unknown, |user| {
                judge(&token, user, self.time_ms())
            }))
        })
    }

    fn note_token_use(&self, token: TokenId) -> DatabaseFuture<'_, ()> {
        Box::pin(async move {
            let statement = TableStatement::optional(USE)
                .with(self.time_ms())
                .with(token.0)
                .with(TOKEN_USE_MS_STEP);
            self.change_rows(statement).await?;
            Ok(())
        })
    }

    fn tokens<'a>(&'a self, user: Option<&'a Slug>) -> DatabaseFuture<'a, Vec<AccessToken>> {
        Box::pin(async move {
            let statement = match user {
                Some(user) => TableStatement::new(LIST_OF_USER).with(user.as_str()),
                None => TableStatement::new(LIST),
            };
            let rows = self.look(statement).await?;
            read_rows(self, "a token", &rows, read)
        })
    }

    fn revoke_token(&self, token: TokenId) -> DatabaseFuture<'_, AccessToken> {
        Box::pin(async move {
            let statement = TableStatement::new(REVOKE)
                .with(self.time_ms())
                .with(token.0);
            let rows = self.change_rows(statement).await?;
            let revoked = read_rows(self, "a token", &rows, read)?.pop();
            revoked.ok_or_else(|| no_token(token))
        })
    }
}

fn read(row: &TableRow) -> ColumnRead<AccessToken> {
    Ok(AccessToken {
        id: TokenId(row.integer("id")?),
        user: row.parsed("user")?,
        name: row.text("name")?,
        role: row.parsed("role")?,
        scopes: split_scopes(&row.text("scopes")?),
        created_ms: row.count("created_ms")?,
        expires_ms: row.maybe_count("expires_ms")?,
        used_ms: row.maybe_count("used_ms")?,
        revoked_ms: row.maybe_count("revoked_ms")?,
    })
}
