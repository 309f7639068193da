//! Users as callers see them, whatever engine keeps them: people, and agents with a prompt.
//!
//! An agent is a user like any other, so that a task can be anybody's. What a user is called in
//! workflows is a slug; it never changes, because texts name it.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Kind, Result};
use crate::record::Kept;

/// How long a slug may be.
pub const SLUG_CHARS_MAX: usize = 64;
/// How long an address may be, as mail has it.
pub const EMAIL_CHARS_MAX: usize = 254;
/// How long a name to be shown may be.
pub const DISPLAY_NAME_CHARS_MAX: usize = 200;
/// How long an agent's prompt may be.
pub const AGENT_PROMPT_BYTES_MAX: usize = 256 << 10;

/// What workflows, tasks and commands call a user or a schedule: small letters, digits and `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slug(String);

impl Slug {
    /// The text of it.
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

/// What a user may do, from most to least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Everything.
    Admin,
    /// Starts and steers runs.
    Operator,
    /// Answers what is asked.
    Reviewer,
    /// Looks.
    Viewer,
}

impl Role {
    /// All of them, from most to least.
    pub const ALL: [Role; 4] = [Role::Admin, Role::Operator, Role::Reviewer, Role::Viewer];

    /// The word in the database and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Admin => "admin",
            Role::Operator => "operator",
            Role::Reviewer => "reviewer",
            Role::Viewer => "viewer",
        }
    }

    /// The one of two that may do less.
    #[must_use]
    pub fn lower(self, other: Role) -> Role {
        let rank = |role: Role| Role::ALL.iter().position(|one| *one == role);
        match rank(self) > rank(other) {
            true => self,
            false => other,
        }
    }
}

impl FromStr for Role {
    type Err = Error;

    fn from_str(text: &str) -> Result<Role> {
        let found = Role::ALL.into_iter().find(|role| role.as_str() == text);
        found.ok_or_else(|| {
            let words = Role::ALL.map(Role::as_str).join(", ");
            invalid(format!("`{text}` is no role; the roles are {words}."))
        })
    }
}

/// Whether a user is a person or has a prompt instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nature {
    /// Somebody with an address.
    Person {
        /// Where they are written to, and how they will sign in.
        email: String,
    },
    /// A model in a role.
    Agent {
        /// The agent's layer of every prompt that is given to it.
        prompt: String,
    },
}

/// Somebody whom tasks can be given to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// What workflows call them.
    pub slug: Slug,
    /// What people read.
    pub display_name: String,
    /// What they may do.
    pub role: Role,
    /// Whether they still take part.
    pub is_active: bool,
    /// Person or agent.
    pub nature: Nature,
    /// How often they were edited; an edit names the one it has seen.
    pub revision: u64,
    /// When they were added, in milliseconds since 1970.
    pub created_ms: u64,
    /// When they were edited last.
    pub updated_ms: u64,
}

impl User {
    /// Whether it has a prompt.
    pub fn is_agent(&self) -> bool {
        matches!(self.nature, Nature::Agent { .. })
    }

    /// The address of a person.
    pub fn email(&self) -> Option<&str> {
        match &self.nature {
            Nature::Person { email } => Some(email),
            Nature::Agent { .. } => None,
        }
    }

    /// The prompt of an agent.
    pub fn agent_prompt(&self) -> Option<&str> {
        match &self.nature {
            Nature::Agent { prompt } => Some(prompt),
            Nature::Person { .. } => None,
        }
    }

    /// The user as they may be kept, with every text a person wrote cleaned.
    pub(crate) fn cleaned(&self, clean: impl Fn(&str) -> String) -> User {
        let mut user = self.clone();
        user.display_name = clean(&user.display_name);
        if let Nature::Agent { prompt } = &mut user.nature {
            *prompt = clean(prompt);
        }
        user
    }

    /// Refuses what cannot be kept. Every way into a database goes through this.
    pub fn check(&self) -> Result<()> {
        let limit = ("DISPLAY_NAME_CHARS_MAX", DISPLAY_NAME_CHARS_MAX);
        check_line("the display name", &self.display_name, limit)?;
        match &self.nature {
            Nature::Person { email } => check_email(email),
            Nature::Agent { prompt } => {
                let limit = ("AGENT_PROMPT_BYTES_MAX", AGENT_PROMPT_BYTES_MAX);
                limited("the agent's prompt", prompt.len(), limit)?;
                if prompt.trim().is_empty() {
                    let message = "an agent needs a prompt with something in it.";
                    return Err(invalid(message.to_owned()));
                }
                // PostgreSQL keeps no text with one, and no model wants one.
                match prompt.contains('\0') {
                    true => Err(invalid("the agent's prompt has a NUL in it.".to_owned())),
                    false => Ok(()),
                }
            }
        }
    }
}

/// Whose list it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// People and agents.
    Everybody,
    /// Only people.
    People,
    /// Only agents.
    Agents,
}

/// The port behind which users are kept.
pub trait People: Send + Sync {
    /// Adds users, all of them or none; their revisions and times are set here. A slug or an address
    /// that is taken is a [`Kind::Conflict`].
    fn add_users<'a>(&'a self, users: &'a [User]) -> Kept<'a, Vec<User>>;

    /// Adds one user.
    fn add_user<'a>(&'a self, user: &'a User) -> Kept<'a, User> {
        Box::pin(async move {
            let added = self.add_users(std::slice::from_ref(user)).await?;
            let added = added.into_iter().next();
            added.ok_or_else(|| no_user(&user.slug))
        })
    }

    /// The user of this slug.
    fn user<'a>(&'a self, slug: &'a Slug) -> Kept<'a, Option<User>>;

    /// All of them, by slug.
    fn users(&self, who: Who) -> Kept<'_, Vec<User>>;

    /// Keeps an edited user, if nobody has edited them since this revision: otherwise it is a
    /// [`Kind::Conflict`], and [`Kind::Missing`] when there is no such user.
    fn edit_user<'a>(&'a self, user: &'a User) -> Kept<'a, User>;
}

pub(crate) fn no_user(slug: &Slug) -> Error {
    Error::new(Kind::Missing, format!("There is no user `{slug}`."))
}

pub(crate) fn slug_taken(slug: &Slug) -> Error {
    Error::new(
        Kind::Conflict,
        format!("There is a user `{slug}` already. Edit them, or choose another name."),
    )
}

pub(crate) fn email_taken(email: &str) -> Error {
    Error::new(
        Kind::Conflict,
        format!("Another user has the address {email}. Edit them, or give another address."),
    )
}

pub(crate) fn edited_meanwhile(slug: &Slug) -> Error {
    Error::new(
        Kind::Conflict,
        format!("`{slug}` was edited by somebody else meanwhile. Look at it and edit it again."),
    )
}

/// A name that people give and read: one line with something in it.
pub(crate) fn check_line(what: &str, text: &str, (limit, max): (&str, usize)) -> Result<()> {
    limited(what, text.chars().count(), (limit, max))?;
    match text.trim().is_empty() || text.chars().any(char::is_control) {
        true => Err(invalid(format!(
            "{what} must be one line with something in it."
        ))),
        false => Ok(()),
    }
}

/// Only what is certainly no address is refused; the rest shows when it is written to.
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
    Error::new(Kind::Invalid, message)
}
