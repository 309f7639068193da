//! Users in either database.

use crate::error::Error;
use crate::record::DatabaseFuture;
use crate::tables::{ColumnRead, SharedTables, TableRow, TableStatement, read_rows};
use crate::users::{Slug, User, UserFilter, UserKind, UserStore};
use crate::users::{edited_meanwhile, email_taken, no_user, slug_taken};

macro_rules! columns {
    () => {
        "slug, display_name, role, is_active, is_agent, email, agent_prompt, revision, created_ms, \
         updated_ms"
    };
}

const FIND: &str = concat!("SELECT ", columns!(), " FROM users WHERE slug = $1");
const LIST: &str = concat!("SELECT ", columns!(), " FROM users ORDER BY slug");
const LIST_OF_KIND: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM users WHERE is_agent = $1 ORDER BY slug"
);
const ADD: &str = "INSERT INTO users (slug, display_name, role, is_active, is_agent, email, \
     email_key, agent_prompt, revision, created_ms, updated_ms) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10) ON CONFLICT DO NOTHING RETURNING slug";
// If another transaction takes the address at the same moment, this one fails; the next try sees
// it.
const EDIT: &str = "UPDATE users SET display_name = $1, role = $2, is_active = $3, is_agent = $4, \
     email = $5, email_key = $6, agent_prompt = $7, revision = $8, updated_ms = $9 \
     WHERE slug = $10 AND revision = $11 AND NOT EXISTS \
     (SELECT 1 FROM users AS other WHERE other.email_key = $6 AND other.slug <> $10) RETURNING slug";

impl<T: SharedTables> UserStore for T {
    fn add_users<'a>(&'a self, users: &'a [User]) -> DatabaseFuture<'a, Vec<User>> {
        Box::pin(async move {
            users.iter().try_for_each(User::check)?;
            let now_ms = self.time_ms();
            let as_added = |user: &User| User {
                revision: 1,
                created_ms: now_ms,
                updated_ms: now_ms,
                ..user.cleaned(|text| self.scrubbed(text))
            };
            let added: Vec<User> = users.iter().map(as_added).collect();
            let statements = added.iter().map(insertion).collect();
            match self.change_together(statements).await? {
                Ok(_) => Ok(added),
                Err(at) => Err(refusal(self, &added, at).await),
            }
        })
    }

    fn user<'a>(&'a self, slug: &'a Slug) -> DatabaseFuture<'a, Option<User>> {
        Box::pin(async move {
            let statement = TableStatement::new(FIND).with(slug.as_str());
            let rows = self.look(statement).await?;
            Ok(read_rows(self, "a user", &rows, read)?.pop())
        })
    }

    fn users(&self, who: UserFilter) -> DatabaseFuture<'_, Vec<User>> {
        Box::pin(async move {
            let statement = match who {
                UserFilter::Everybody => TableStatement::new(LIST),
                UserFilter::People => TableStatement::new(LIST_OF_KIND).with(false),
                UserFilter::Agents => TableStatement::new(LIST_OF_KIND).with(true),
            };
            let rows = self.look(statement).await?;
            read_rows(self, "a user", &rows, read)
        })
    }

    fn edit_user<'a>(&'a self, user: &'a User) -> DatabaseFuture<'a, User> {
        Box::pin(async move {
            user.check()?;
            let edited = User {
                revision: user.revision + 1,
                updated_ms: self.time_ms(),
                ..user.cleaned(|text| self.scrubbed(text))
            };
            let statement = TableStatement::new(EDIT)
                .with(edited.display_name.as_str())
                .with(edited.role.as_str())
                .with(edited.is_active)
                .with(edited.is_agent())
                .with(edited.email())
                .with(edited.email().map(str::to_lowercase))
                .with(edited.agent_prompt())
                .with(edited.revision)
                .with(edited.updated_ms)
                .with(edited.slug.as_str())
                .with(user.revision);
            if !self.change_rows(statement).await?.is_empty() {
                return Ok(edited);
            }
            let now = self.user(&edited.slug).await?;
            Err(match (now, edited.email()) {
                (None, _) => no_user(&edited.slug),
                (Some(now), Some(email)) if now.revision == user.revision => email_taken(email),
                _ => edited_meanwhile(&edited.slug),
            })
        })
    }
}

/// Returns the statement that adds a user's row.
fn insertion(added: &User) -> TableStatement {
    TableStatement::new(ADD)
        .with(added.slug.as_str())
        .with(added.display_name.as_str())
        .with(added.role.as_str())
        .with(added.is_active)
        .with(added.is_agent())
        .with(added.email())
        .with(added.email().map(str::to_lowercase))
        .with(added.agent_prompt())
        .with(added.revision)
        .with(added.created_ms)
}

/// Explains why the user at this position could not be added.
async fn refusal(users: &impl UserStore, added: &[User], at: usize) -> Error {
    let user = &added[at];
    let is_double = added[..at].iter().any(|other| other.slug == user.slug);
    match (user.email(), users.user(&user.slug).await) {
        (_, Err(error)) => error,
        (Some(email), Ok(None)) if !is_double => email_taken(email),
        _ => slug_taken(&user.slug),
    }
}

fn read(row: &TableRow) -> ColumnRead<User> {
    Ok(User {
        slug: row.parsed("slug")?,
        display_name: row.text("display_name")?,
        role: row.parsed("role")?,
        is_active: row.flag("is_active")?,
        nature: match row.flag("is_agent")? {
            true => UserKind::Agent {
                prompt: row.text("agent_prompt")?,
            },
            false => UserKind::Person {
                email: row.text("email")?,
            },
        },
        revision: row.count("revision")?,
        created_ms: row.count("created_ms")?,
        updated_ms: row.count("updated_ms")?,
    })
}
