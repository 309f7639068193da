//! Users in PostgreSQL.

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::connection::BoundValues;
use super::{PostgresDatabase, count, integer};
use crate::error::Result;
use crate::record::DatabaseFuture;
use crate::users::{Slug, User, UserFilter, UserKind, UserStore};
use crate::users::{edited_meanwhile, email_taken, no_user, slug_taken};

macro_rules! columns {
    () => {
        "slug, display_name, role, is_active, is_agent, email, agent_prompt, revision, created_ms, \
         updated_ms"
    };
}

const FIND: &str = concat!("SELECT ", columns!(), " FROM users WHERE slug = $1");
const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM users WHERE $1::boolean IS NULL OR is_agent = $1 ORDER BY slug"
);
const ADD: &str = "INSERT INTO users (slug, display_name, role, is_active, is_agent, email, \
     email_key, agent_prompt, revision, created_ms, updated_ms) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10) ON CONFLICT DO NOTHING RETURNING true";
// If another transaction takes the address at the same moment, this one fails; the next try sees
// it.
const EDIT: &str = "UPDATE users SET display_name = $1, role = $2, is_active = $3, is_agent = $4, \
     email = $5, email_key = $6, agent_prompt = $7, revision = $8, updated_ms = $9 \
     WHERE slug = $10 AND revision = $11 AND NOT EXISTS \
     (SELECT 1 FROM users AS other WHERE other.email_key = $6 AND other.slug <> $10) RETURNING true";

impl UserStore for PostgresDatabase {
    fn add_users<'a>(&'a self, users: &'a [User]) -> DatabaseFuture<'a, Vec<User>> {
        Box::pin(async move {
            users.iter().try_for_each(User::check)?;
            let now_ms = self.now_ms();
            let as_added = |user: &User| User {
                revision: 1,
                created_ms: now_ms,
                updated_ms: now_ms,
                ..user.cleaned(|text| self.clean(text))
            };
            let added: Vec<User> = users.iter().map(as_added).collect();
            let statements = added.iter().map(|user| (ADD, insertion(user)));
            let taken = self.change_all(statements.collect()).await?;
            match taken.and_then(|at| added.get(at)) {
                None => Ok(added),
                Some(user) => Err(match (user.email(), self.found_user(&user.slug).await?) {
                    (Some(email), None) => email_taken(email),
                    _ => slug_taken(&user.slug),
                }),
            }
        })
    }

    fn user<'a>(&'a self, slug: &'a Slug) -> DatabaseFuture<'a, Option<User>> {
        Box::pin(self.found_user(slug))
    }

    fn users(&self, who: UserFilter) -> DatabaseFuture<'_, Vec<User>> {
        Box::pin(async move {
            let is_agent = match who {
                UserFilter::Everybody => None,
                UserFilter::People => Some(false),
                UserFilter::Agents => Some(true),
            };
            let rows = self.read(LIST, BoundValues::of(is_agent)).await?;
            rows.iter().map(|row| self.read_user(row)).collect()
        })
    }

    fn edit_user<'a>(&'a self, user: &'a User) -> DatabaseFuture<'a, User> {
        Box::pin(async move {
            user.check()?;
            let edited = User {
                revision: user.revision + 1,
                updated_ms: self.now_ms(),
                ..user.cleaned(|text| self.clean(text))
            };
            let values = BoundValues::of(&edited.display_name)
                .and(edited.role.as_str())
                .and(edited.is_active)
                .and(edited.is_agent())
                .and(edited.email())
                .and(edited.email().map(str::to_lowercase))
                .and(edited.agent_prompt())
                .and(integer(edited.revision))
                .and(integer(edited.updated_ms))
                .and(edited.slug.as_str())
                .and(integer(user.revision));
            if !self.change(EDIT, values).await?.is_empty() {
                return Ok(edited);
            }
            let now = self.found_user(&edited.slug).await?;
            Err(match (now, edited.email()) {
                (None, _) => no_user(&edited.slug),
                (Some(now), Some(email)) if now.revision == user.revision => email_taken(email),
                _ => edited_meanwhile(&edited.slug),
            })
        })
    }
}

/// Returns the values of a new user's row.
fn insertion(added: &User) -> BoundValues {
    BoundValues::of(added.slug.as_str())
        .and(&added.display_name)
        .and(added.role.as_str())
        .and(added.is_active)
        .and(added.is_agent())
        .and(added.email())
        .and(added.email().map(str::to_lowercase))
        .and(added.agent_prompt())
        .and(integer(added.revision))
        .and(integer(added.created_ms))
}

impl PostgresDatabase {
    async fn found_user(&self, slug: &Slug) -> Result<Option<User>> {
        let rows = self.read(FIND, BoundValues::of(slug.as_str())).await?;
        rows.first().map(|row| self.read_user(row)).transpose()
    }

    fn read_user(&self, row: &PgRow) -> Result<User> {
        let read = || -> std::result::Result<User, String> {
            let text = |name: &str| row.try_get::<String, _>(name).map_err(|e| e.to_string());
            let number = |name: &str| row.try_get::<i64, _>(name).map_err(|e| e.to_string());
            let flag = |name: &str| row.try_get::<bool, _>(name).map_err(|e| e.to_string());
            Ok(User {
                slug: text("slug")?.parse().map_err(|e| format!("{e}"))?,
                display_name: text("display_name")?,
                role: text("role")?.parse().map_err(|e| format!("{e}"))?,
                is_active: flag("is_active")?,
                nature: match flag("is_agent")? {
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
        read().map_err(|why| self.unreadable("a user", &why))
    }
}
