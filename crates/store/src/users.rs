//! Users as callers see them, whatever engine stores them: people, and agents with a prompt.
//!
//! An agent is a user like any other, so that a task can be assigned to a person or to an agent.
//! Workflows name a user by a slug; it never changes, because workflow texts contain it.

use std::fmt;
use std::str::FromStr;

use crate::error::{DatabaseErrorKind, Error, Result};
use crate::record::DatabaseFuture;

/// Limits the length of a slug.
pub const SLUG_CHARS_MAX: usize = 64;
/// Limits the length of a mail address, as the mail standards do.
pub(crate) const EMAIL_CHARS_MAX: usize = 254;
/// Limits the length of a display name.
pub(crate) const DISPLAY_NAME_CHARS_MAX: usize = 200;
/// Limits the length of an agent's prompt.
pub const AGENT_PROMPT_BYTES_MAX: usize = 256 << 10;

/// The name of a user or a schedule in workflows, tasks and commands: small letters, digits and
/// `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slug(String);

impl Slug {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Slug {
    type Err = Error;

    fn from_str(text: &str) -> Result<Slug> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_slug = !text.is_empty()
            && text.chars().all(fits)
            && !text.starts_with('-')
            && !text.ends_with('-');
        if !is_slug {
            return Err(invalid(format!(
                "`{text}` cannot be a name here. Use small letters, digits and `-` inside, as in \
                 code-reviewer."
            )));
        }
        limited("the name", text.len(), ("SLUG_CHARS_MAX", SLUG_CHARS_MAX))?;
        Ok(Slug(text.to_owned()))
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The role of a user, from most to fewest permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserRole {
    /// Has every permission.
    Admin,
    /// Starts and controls runs.
    Operator,
    /// Answers questions and reviews.
    Reviewer,
    /// Reads only.
    Viewer,
}

impl UserRole {
    /// All roles, from most to fewest permissions.
    pub const ALL: [UserRole; 4] = [
        UserRole::Admin,
        UserRole::Operator,
        UserRole::Reviewer,
        UserRole::Viewer,
    ];

    /// Returns the word in the database and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            UserRole::Admin => "admin",
            UserRole::Operator => "operator",
            UserRole::Reviewer => "reviewer",
            UserRole::Viewer => "viewer",
        }
    }

    /// Returns the lower one of two roles.
    #[must_use]
    pub fn lower(self, other: UserRole) -> UserRole {
        let rank = |role: UserRole| UserRole::ALL.iter().position(|one| *one == role);
        match rank(self) > rank(other) {
            true => self,
            false => other,
        }
    }
}

impl FromStr for UserRole {
    type Err = Error;

    fn from_str(text: &str) -> Result<UserRole> {
        let found = UserRole::ALL.into_iter().find(|role| role.as_str() == text);
        found.ok_or_else(|| {
            let words = UserRole::ALL.map(UserRole::as_str).join(", ");
            invalid(format!("`{text}` is no role; the roles are {words}."))
        })
    }
}

/// A person with an address, or an agent with a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserKind {
    /// A person.
    Person {
        /// The address for mail and for signing in.
        email: String,
    },
    /// A model with a prompt of its own.
    Agent {
        /// The agent's layer of every prompt it gets.
        prompt: String,
    },
}

/// A person or an agent that tasks can be assigned to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name in workflows.
    pub slug: Slug,
    /// The name that people see.
    pub display_name: String,
    /// The role, which decides the permissions.
    pub role: UserRole,
    /// Says that the user has not been deactivated.
    pub is_active: bool,
    /// Person or agent.
    pub nature: UserKind,
    /// The number of edits. An edit names the revision it was based on.
    pub revision: u64,
    /// The time of creation, in milliseconds since 1970.
    pub created_ms: u64,
    /// The time of the last edit.
    pub updated_ms: u64,
}

impl User {
    /// Tells whether this user is an agent.
    pub fn is_agent(&self) -> bool {
        matches!(self.nature, UserKind::Agent { .. })
    }

    /// Returns the address of a person.
    pub fn email(&self) -> Option<&str> {
        match &self.nature {
            UserKind::Person { email } => Some(email),
            UserKind::Agent { .. } => None,
        }
    }

    /// Returns the prompt of an agent.
    pub fn agent_prompt(&self) -> Option<&str> {
        match &self.nature {
            UserKind::Agent { prompt } => Some(prompt),
            UserKind::Person { .. } => None,
        }
    }

    /// Returns the user as stored, with every free text cleaned.
    pub(crate) fn cleaned(&self, clean: impl Fn(&str) -> String) -> User {
        let mut user = self.clone();
        user.display_name = clean(&user.display_name);
        if let UserKind::Agent { prompt } = &mut user.nature {
            *prompt = clean(prompt);
        }
        user
    }

    /// Refuses a user that cannot be stored. Every way into a database calls this.
    pub fn check(&self) -> Result<()> {
        let limit = ("DISPLAY_NAME_CHARS_MAX", DISPLAY_NAME_CHARS_MAX);
        check_line("the display name", &self.display_name, limit)?;
        match &self.nature {
            UserKind::Person { email } => check_email(email),
            UserKind::Agent { prompt } => {
                let limit = ("AGENT_PROMPT_BYTES_MAX", AGENT_PROMPT_BYTES_MAX);
                limited("the agent's prompt", prompt.len(), limit)?;
                if prompt.trim().is_empty() {
                    let message = "an agent needs a prompt with something in it.";
                    return Err(invalid(message.to_owned()));
                }
                // PostgreSQL stores no text with a zero byte, and no model wants one.
                match prompt.contains('\0') {
                    true => Err(invalid("the agent's prompt has a NUL in it.".to_owned())),
                    false => Ok(()),
                }
            }
        }
    }
}

/// Selects the users of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserFilter {
    /// People and agents.
    Everybody,
    /// Only people.
    People,
    /// Only agents.
    Agents,
}

/// The port to the users.
pub trait UserStore: Send + Sync {
    /// Adds users, all of them or none, and sets their revisions and times. A slug or an address
    /// that is taken is a [`DatabaseErrorKind::Conflict`].
    fn add_users<'a>(&'a self, users: &'a [User]) -> DatabaseFuture<'a, Vec<User>>;

    /// Adds one user.
    fn add_user<'a>(&'a self, user: &'a User) -> DatabaseFuture<'a, User> {
        Box::pin(async move {
            let added = self.add_users(std::slice::from_ref(user)).await?;
            let added = added.into_iter().next();
            added.ok_or_else(|| no_user(&user.slug))
        })
    }

    /// Returns the user with this slug.
    fn user<'a>(&'a self, slug: &'a Slug) -> DatabaseFuture<'a, Option<User>>;

    /// Lists users by slug.
    fn users(&self, who: UserFilter) -> DatabaseFuture<'_, Vec<User>>;

    /// Stores an edited user, if no other edit came after the one this is based on. Otherwise it is
    /// a [`DatabaseErrorKind::Conflict`], and [`DatabaseErrorKind::Missing`] when there is no such user.
    fn edit_user<'a>(&'a self, user: &'a User) -> DatabaseFuture<'a, User>;
}

pub(crate) fn no_user(slug: &Slug) -> Error {
    Error::new(
        DatabaseErrorKind::Missing,
        format!("There is no user `{slug}`."),
    )
}

pub(crate) fn slug_taken(slug: &Slug) -> Error {
    Error::new(
        DatabaseErrorKind::Conflict,
        format!("There is a user `{slug}` already. Edit them, or choose another name."),
    )
}

pub(crate) fn email_taken(email: &str) -> Error {
    Error::new(
        DatabaseErrorKind::Conflict,
        format!("Another user has the address {email}. Edit them, or give another address."),
    )
}

pub(crate) fn edited_meanwhile(slug: &Slug) -> Error {
    Error::new(
        DatabaseErrorKind::Conflict,
        format!("`{slug}` was edited in the meantime. Read it again and repeat the edit."),
    )
}

/// Checks a name that people give and read: one line that is not empty.
pub(crate) fn check_line(what: &str, text: &str, (limit, max): (&str, usize)) -> Result<()> {
    limited(what, text.chars().count(), (limit, max))?;
    match text.trim().is_empty() || text.chars().any(char::is_control) {
        true => Err(invalid(format!(
            "{what} must be one line with something in it."
        ))),
        false => Ok(()),
    }
}

/// Refuses only what is certainly no address; sending mail shows the rest.
fn check_email(email: &str) -> Result<()> {
    limited(
        "the address",
        email.chars().count(),
        ("EMAIL_CHARS_MAX", EMAIL_CHARS_MAX),
    )?;
    let is_odd =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | ',' | ';');
    let parts = email.rsplit_once('@');
    let fits = parts.is_some_and(|(name, host)| {
        !name.is_empty() && !name.contains('@') && host.split('.').all(|label| !label.is_empty())
    });
    match fits && !email.chars().any(is_odd) {
        true => Ok(()),
        false => Err(invalid(format!(
            "`{email}` is no mail address. Write it as name@example.org."
        ))),
    }
}

pub(crate) fn limited(what: &str, size: usize, (name, max): (&str, usize)) -> Result<()> {
    match size > max {
        true => Err(invalid(format!(
            "{what} has a size of {size}, and {name} = {max}. Shorten it."
        ))),
        false => Ok(()),
    }
}

pub(crate) fn invalid(message: String) -> Error {
    Error::new(DatabaseErrorKind::Invalid, message)
}
