//! Users in SQLite.

use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection as _, Row as _};

use super::{SqliteDatabase, count, integer};
use crate::error::Result;
use crate::record::DatabaseFuture;
use crate::users::{Slug, User, UserFilter, UserKind, UserStore};
use crate::users::{edited_meanwhile, email_taken, no_user, slug_taken};

const COLUMNS: &str = "slug, display_name, role, is_active, is_agent, email, agent_prompt, revision, \
                       created_ms, updated_ms";

impl UserStore for SqliteDatabase {
    fn add_users<'a>(&'a self, users: &'a [User]) -> DatabaseFuture<'a, Vec<User>> {
        Box::pin(async move {
            users.iter().try_for_each(User::check)?;
            let mut connection = self.inner.connection.lock().await;
            let begun = connection.begin_with("BEGIN IMMEDIATE").await;
            let mut whole = begun.map_err(|cause| self.fault().of(&cause))?;
            let mut added = Vec::new();
            for user in users {
                added.push(self.insert_user(&mut whole, user).await?);
            }
            whole
                .commit()
                .await
                .map_err(|cause| self.fault().of(&cause))?;
            Ok(added)
        })
    }

    fn user<'a>(&'a self, slug: &'a Slug) -> DatabaseFuture<'a, Option<User>> {
        Box::pin(async move {
            let mut connection = self.inner.connection.lock().await;
            self.found(&mut connection, slug).await
        })
    }

    fn users(&self, who: UserFilter) -> DatabaseFuture<'_, Vec<User>> {
        Box::pin(async move {
            let is_agent = match who {
                UserFilter::Everybody => None,
                UserFilter::People => Some(false),
                UserFilter::Agents => Some(true),
            };
            let text = format!(
                "SELECT {COLUMNS} FROM users WHERE $1 IS NULL OR is_agent = $1 ORDER BY slug"
            );
            let mut connection = self.inner.connection.lock().await;
            let rows = sqlx::query(sqlx::AssertSqlSafe(text))
                .bind(is_agent)
                .fetch_all(&mut *connection)
                .await
                .map_err(|cause| self.fault().of(&cause))?;
            rows.iter().map(|row| self.read_user(row)).collect()
        })
    }

    fn edit_user<'a>(&'a self, user: &'a User) -> DatabaseFuture<'a, User> {
        Box::pin(async move {
            user.check()?;
            let edited = User {
                revision: user.revision + 1,
                updated_ms: count(self.now_ms()),
                ..user.cleaned(|text| self.clean(text).into_owned())
            };
            let mut connection = self.inner.connection.lock().await;
            let updated = sqlx::query(
                "UPDATE OR IGNORE users SET display_name = $1, role = $2, is_active = $3, \
                 is_agent = $4, email = $5, email_key = $6, agent_prompt = $7, revision = $8, \
                 updated_ms = $9 WHERE slug = $10 AND revision = $11",
            )
            .bind(&edited.display_name)
            .bind(edited.role.as_str())
            .bind(edited.is_active)
            .bind(edited.is_agent())
            .bind(edited.email())
            .bind(edited.email().map(str::to_lowercase))
            .bind(edited.agent_prompt())
            .bind(integer(edited.revision))
            .bind(integer(edited.updated_ms))
            .bind(edited.slug.as_str())
            .bind(integer(user.revision))
            .execute(&mut *connection)
            .await
            .map_err(|cause| self.fault().of(&cause))?;
            if updated.rows_affected() > 0 {
                return Ok(edited);
            }
            let now = self.found(&mut connection, &edited.slug).await?;
            Err(match (now, edited.email()) {
                (None, _) => no_user(&edited.slug),
                (Some(now), Some(email)) if now.revision == user.revision => email_taken(email),
                _ => edited_meanwhile(&edited.slug),
            })
        })
    }
}

impl SqliteDatabase {
    async fn insert_user(&self, whole: &mut SqliteConnection, user: &User) -> Result<User> {
        let now_ms = count(self.now_ms());
        let added = User {
            revision: 1,
            created_ms: now_ms,
            updated_ms: now_ms,
            ..user.cleaned(|text| self.clean(text).into_owned())
        };
        let inserted = sqlx::query(
            "INSERT INTO users (slug, display_name, role, is_active, is_agent, email, email_key, \
             agent_prompt, revision, created_ms, updated_ms) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10) ON CONFLICT DO NOTHING",
        )
        .bind(added.slug.as_str())
        .bind(&added.display_name)
        .bind(added.role.as_str())
        .bind(added.is_active)
        .bind(added.is_agent())
        .bind(added.email())
        .bind(added.email().map(str::to_lowercase))
        .bind(added.agent_prompt())
        .bind(integer(added.revision))
        .bind(integer(added.created_ms))
        .execute(&mut *whole)
        .await
        .map_err(|cause| self.fault().of(&cause))?;
        match (inserted.rows_affected(), added.email()) {
            (0, Some(email)) if self.found(whole, &added.slug).await?.is_none() => {
                Err(email_taken(email))
            }
            (0, _) => Err(slug_taken(&added.slug)),
            _ => Ok(added),
        }
    }

    async fn found(&self, connection: &mut SqliteConnection, slug: &Slug) -> Result<Option<User>> {
        let text = format!("SELECT {COLUMNS} FROM users WHERE slug = $1");
        let row = sqlx::query(sqlx::AssertSqlSafe(text))
            .bind(slug.as_str())
            .fetch_optional(connection)
            .await
            .map_err(|cause| self.fault().of(&cause))?;
        row.map(|row| self.read_user(&row)).transpose()
    }

    fn read_user(&self, row: &SqliteRow) -> Result<User> {
        let read = || -> std::result::Result<User, String> {
            let text = |name: &str| row.try_get::<String, _>(name).map_err(|e| e.to_string());
            let number = |name: &str| row.try_get::<i64, _>(name).map_err(|e| e.to_string());
            Ok(User {
                slug: text("slug")?.parse().map_err(|e| format!("{e}"))?,
                display_name: text("display_name")?,
                role: text("role")?.parse().map_err(|e| format!("{e}"))?,
                is_active: number("is_active")? != 0,
                nature: match number("is_agent")? != 0 {
                    true => UserKind::Agent {
                        prompt: text("agent_prompt")?,
                    },
                    false => UserKind::Person {
                        email: text("email")?,
                    },
                },
                revision: count(number("revision")?),
                created_ms: count(number("created_ms")?),
                updated_ms: count(number("updated_ms")?),
            })
        };
        read().map_err(|why| {
            self.fault()
                .corrupt(&format!("a user is unreadable: {why}"))
        })
    }
}
