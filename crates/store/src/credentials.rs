//! Proofs of identity for people: password hashes, one-time links, and identities of other
//! providers.
//!
//! The hashing itself happens elsewhere: this port keeps the finished argon2id string. A one-time
//! link claims a fresh server or sets a new password; the database keeps its digest only. Using a
//! link and everything that follows from it is one transaction, so that of two people who follow
//! the same link at once one succeeds and the other is told so.
// tidy: allow long-file, because it is one port with its statements

use std::fmt;
use std::str::FromStr;

use crate::error::{DatabaseErrorKind, Error, Result};
use crate::record::DatabaseFuture;
use crate::secrets::OpaqueSecret;
use crate::tables::{ColumnRead, SharedTables, TableRow, TableStatement, read_rows};
use crate::users::{Slug, User, UserKind, UserRole, invalid, no_user};

/// The longest password hash that is kept; argon2id's are about 100 characters long.
pub(crate) const PASSWORD_HASH_CHARS_MAX: usize = 512;

/// The longest name of an issuer or a subject of another identity provider.
pub const IDENTITY_CHARS_MAX: usize = 512;

/// An argon2id hash as a PHC string (`$argon2id$v=19$…`). Nothing prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(String);

impl PasswordHash {
    /// Returns the PHC string, to check a password against.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PasswordHash {
    type Err = Error;

    fn from_str(text: &str) -> Result<PasswordHash> {
        let is_phc = text.starts_with("$argon2id$")
            && text.len() <= PASSWORD_HASH_CHARS_MAX
            && text.chars().all(|c| c.is_ascii_graphic());
        match is_phc {
            true => Ok(PasswordHash(text.to_owned())),
            // Does not repeat the text: it may be the password itself.
            false => Err(invalid(
                "a password is kept as an argon2id string ($argon2id$…) only. Hash it first."
                    .to_owned(),
            )),
        }
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

/// The purpose of a one-time link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkPurpose {
    /// Makes the person who follows it the first admin of a fresh server.
    Claim,
    /// Sets a new password for one user.
    PasswordReset,
}

impl LinkPurpose {
    /// Returns the word in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            LinkPurpose::Claim => "claim",
            LinkPurpose::PasswordReset => "password_reset",
        }
    }
}

impl FromStr for LinkPurpose {
    type Err = Error;

    fn from_str(text: &str) -> Result<LinkPurpose> {
        let all = [LinkPurpose::Claim, LinkPurpose::PasswordReset];
        let found = all.into_iter().find(|purpose| purpose.as_str() == text);
        found.ok_or_else(|| invalid(format!("`{text}` is no purpose of a link.")))
    }
}

/// A one-time link to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewLink {
    /// Its purpose.
    pub purpose: LinkPurpose,
    /// The user whose password it resets; `None` for a claim.
    pub user: Option<Slug>,
    /// The time after which it is of no use, in milliseconds since 1970.
    pub expires_ms: u64,
}

/// A stored one-time link; everything but its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneTimeLink {
    /// Its number.
    pub id: i64,
    /// Its purpose.
    pub purpose: LinkPurpose,
    /// The user whose password it resets.
    pub user: Option<Slug>,
    /// The time at which it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// The time after which it is of no use.
    pub expires_ms: u64,
}

/// The proof that a claim of a fresh server is allowed.
#[derive(Clone, Copy, Debug)]
pub enum ClaimProof<'a> {
    /// The secret of a claim link.
    Link(&'a OpaqueSecret),
    /// The operator's own settings on the machine (`DRAWLOOM_ADMIN_EMAIL`, `users add --admin`).
    Operator,
}

/// An identity that another provider vouches for: issuer and subject together name one person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignIdentity {
    /// The provider's address, as it writes it.
    pub issuer: String,
    /// The provider's name for the person (`sub`).
    pub subject: String,
}

/// The port to passwords, one-time links and foreign identities.
pub trait PersonCredentials: Send + Sync {
    /// Keeps a person's password hash in place of an earlier one and ends all of their sessions.
    /// [`DatabaseErrorKind::Missing`] without such a user, [`DatabaseErrorKind::Invalid`] for an agent.
    fn set_password<'a>(&'a self, user: &'a Slug, hash: &'a PasswordHash)
    -> DatabaseFuture<'a, ()>;

    /// Returns a user's password hash; `None` for users who have no password.
    fn password<'a>(&'a self, user: &'a Slug) -> DatabaseFuture<'a, Option<PasswordHash>>;

    /// Returns the person with this mail address, in whatever case it is written.
    fn person_with_email<'a>(&'a self, email: &'a str) -> DatabaseFuture<'a, Option<User>>;

    /// Keeps a one-time link. A new reset link of a user replaces their earlier ones; claim links stay
    /// side by side until the server is claimed. [`DatabaseErrorKind::Conflict`] for a claim link of a server that
    /// is claimed already.
    fn add_link<'a>(
        &'a self,
        link: &'a NewLink,
        secret: &'a OpaqueSecret,
    ) -> DatabaseFuture<'a, OneTimeLink>;

    /// Returns the link with this secret if it can still be used. Looking does not use it up.
    fn usable_link<'a>(
        &'a self,
        secret: &'a OpaqueSecret,
    ) -> DatabaseFuture<'a, Option<OneTimeLink>>;

    /// Tells if this server has an owner.
    fn is_claimed(&self) -> DatabaseFuture<'_, bool>;

    /// Claims a fresh server in one transaction: uses the link up, adds `owner` as an active admin (or
    /// raises the person who has that mail address already) and keeps their password.
    ///
    /// [`DatabaseErrorKind::Conflict`] if the server is claimed already, also by another person at the same
    /// moment; [`DatabaseErrorKind::Missing`] if the link is unknown, used or too old; nothing is changed then.
    fn claim_server<'a>(
        &'a self,
        proof: ClaimProof<'a>,
        owner: &'a User,
        hash: &'a PasswordHash,
    ) -> DatabaseFuture<'a, User>;

    /// Sets a new password by a reset link in one transaction: uses the link up, keeps the hash and ends
    /// all sessions of the user, whose slug it returns. [`DatabaseErrorKind::Missing`] if the link is unknown, used
    /// or too old.
    fn reset_password<'a>(
        &'a self,
        secret: &'a OpaqueSecret,
        hash: &'a PasswordHash,
    ) -> DatabaseFuture<'a, Slug>;

    /// Stores that a foreign identity is this user. [`DatabaseErrorKind::Conflict`] if it is another user's.
    fn link_identity<'a>(
        &'a self,
        identity: &'a ForeignIdentity,
        user: &'a Slug,
    ) -> DatabaseFuture<'a, ()>;

    /// Returns the user whom a foreign identity belongs to.
    fn user_of_identity<'a>(
        &'a self,
        identity: &'a ForeignIdentity,
    ) -> DatabaseFuture<'a, Option<Slug>>;
}

const SET_PASSWORD: &str = "INSERT INTO passwords (\"user\", hash, changed_ms) \
     SELECT slug, $2, $3 FROM users WHERE slug = $1 AND email IS NOT NULL \
     ON CONFLICT (\"user\") DO UPDATE SET hash = excluded.hash, changed_ms = excluded.changed_ms \
     RETURNING \"user\"";
const END_SESSIONS: &str = "DELETE FROM sessions WHERE \"user\" = $1 RETURNING id";
const PASSWORD: &str = "SELECT hash FROM passwords WHERE \"user\" = $1";
const BY_EMAIL: &str = "SELECT slug, display_name, role, is_active, email, revision, created_ms, \
     updated_ms FROM users WHERE email_key = $1";
const FORGET_RESETS: &str = "DELETE FROM one_time_links WHERE purpose = $1 AND \"user\" = $2 \
     RETURNING id";
const ADD_LINK: &str = "INSERT INTO one_time_links (purpose, \"user\", digest, created_ms, expires_ms) \
     SELECT $1, $2, $3, $4, $5 \
     WHERE ($1 <> 'claim' OR NOT EXISTS (SELECT 1 FROM server_claims)) \
     AND ($2 IS NULL OR EXISTS (SELECT 1 FROM users WHERE slug = $2)) \
     RETURNING id, purpose, \"user\", created_ms, expires_ms";
const FIND_LINK: &str = "SELECT id, purpose, \"user\", created_ms, expires_ms FROM one_time_links \
     WHERE digest = $1 AND expires_ms > $2 \
     AND (purpose <> 'claim' OR NOT EXISTS (SELECT 1 FROM server_claims))";
const USE_LINK: &str = "DELETE FROM one_time_links WHERE digest = $1 AND expires_ms > $2 \
     AND purpose = $3 RETURNING \"user\"";
const IS_CLAIMED: &str = "SELECT \"user\" FROM server_claims";
const CLAIM: &str = "INSERT INTO server_claims (id, \"user\", claimed_ms) VALUES (1, $1, $2) \
     ON CONFLICT DO NOTHING RETURNING id";
const ADD_OWNER: &str = "INSERT INTO users (slug, display_name, role, is_active, is_agent, email, \
     email_key, agent_prompt, revision, created_ms, updated_ms) \
     VALUES ($1, $2, 'admin', $5, $6, $3, $4, NULL, 1, $7, $7) ON CONFLICT DO NOTHING RETURNING slug";
const RAISE_OWNER: &str = "UPDATE users SET role = 'admin', is_active = $2, revision = revision + 1, \
     updated_ms = $3 WHERE email_key = $1 RETURNING slug";
const LINK_IDENTITY: &str = "INSERT INTO identities (issuer, subject, \"user\", created_ms) \
     SELECT $1, $2, slug, $4 FROM users WHERE slug = $3 \
     ON CONFLICT (issuer, subject) DO UPDATE SET created_ms = identities.created_ms \
     WHERE identities.\"user\" = excluded.\"user\" RETURNING \"user\"";
const IDENTITY: &str = "SELECT \"user\" FROM identities WHERE issuer = $1 AND subject = $2";

impl<T: SharedTables> PersonCredentials for T {
    fn set_password<'a>(
        &'a self,
        user: &'a Slug,
        hash: &'a PasswordHash,
    ) -> DatabaseFuture<'a, ()> {
        Box::pin(async move {
            let kept = self.change_together(vec![
                keep_password(user, hash, self.time_ms()),
                TableStatement::optional(END_SESSIONS).with(user.as_str()),
            ]);
            match kept.await? {
                Ok(_) => Ok(()),
                Err(_) => Err(no_person(self, user).await?),
            }
        })
    }

    fn password<'a>(&'a self, user: &'a Slug) -> DatabaseFuture<'a, Option<PasswordHash>> {
        Box::pin(async move {
            let rows = self
                .look(TableStatement::new(PASSWORD).with(user.as_str()))
                .await?;
            let hashes = read_rows(self, "a password", &rows, |row| {
                row.parsed::<PasswordHash>("hash")
            });
            Ok(hashes?.pop())
        })
    }

    fn person_with_email<'a>(&'a self, email: &'a str) -> DatabaseFuture<'a, Option<User>> {
        Box::pin(async move {
            let statement = TableStatement::new(BY_EMAIL).with(email.to_lowercase());
            let rows = self.look(statement).await?;
            Ok(read_rows(self, "a user", &rows, read_person)?.pop())
        })
    }

    fn add_link<'a>(
        &'a self,
        link: &'a NewLink,
        secret: &'a OpaqueSecret,
    ) -> DatabaseFuture<'a, OneTimeLink> {
        Box::pin(async move {
            check_link(link, self.time_ms())?;
            let user = link.user.as_ref().map(Slug::as_str);
            let purpose = link.purpose.as_str();
            let added = self.change_together(vec![
                TableStatement::optional(FORGET_RESETS)
                    .with(purpose)
                    .with(user),
                TableStatement::new(ADD_LINK)
                    .with(purpose)
                    .with(user)
                    .with(secret.digest())
                    .with(self.time_ms())
                    .with(link.expires_ms),
            ]);
            let added = match added.await? {
                Ok(mut rows) => rows.pop().unwrap_or_default(),
                Err(_) => Vec::new(),
            };
            let added = read_rows(self, "a link", &added, read_link)?.pop();
            added.ok_or_else(|| match &link.user {
                Some(user) => no_user(user),
                None => claimed_already(),
            })
        })
    }

    fn usable_link<'a>(
        &'a self,
        secret: &'a OpaqueSecret,
    ) -> DatabaseFuture<'a, Option<OneTimeLink>> {
        Box::pin(async move {
            let statement = TableStatement::new(FIND_LINK)
                .with(secret.digest())
                .with(self.time_ms());
            let rows = self.look(statement).await?;
            Ok(read_rows(self, "a link", &rows, read_link)?.pop())
        })
    }

    fn is_claimed(&self) -> DatabaseFuture<'_, bool> {
        Box::pin(async move { Ok(!self.look(TableStatement::new(IS_CLAIMED)).await?.is_empty()) })
    }

    fn claim_server<'a>(
        &'a self,
        proof: ClaimProof<'a>,
        owner: &'a User,
        hash: &'a PasswordHash,
    ) -> DatabaseFuture<'a, User> {
        Box::pin(async move {
            owner.check()?;
            let UserKind::Person { email } = &owner.nature else {
                return Err(invalid(
                    "the owner of a server is a person with an address.".to_owned(),
                ));
            };
            let now_ms = self.time_ms();
            let there = self.person_with_email(email).await?;
            let slug = there.as_ref().map_or(&owner.slug, |person| &person.slug);
            let keep_owner = match &there {
                Some(_) => TableStatement::new(RAISE_OWNER)
                    .with(email.to_lowercase())
                    .with(true)
                    .with(now_ms),
                None => add_owner(&self.scrubbed(&owner.display_name), owner, email, now_ms),
            };
            let use_link = match proof {
                ClaimProof::Operator => TableStatement::optional(IS_CLAIMED),
                ClaimProof::Link(secret) => TableStatement::new(USE_LINK)
                    .with(secret.digest())
                    .with(now_ms)
                    .with(LinkPurpose::Claim.as_str()),
            };
            let done = self.change_together(vec![
                use_link,
                keep_owner,
                TableStatement::new(CLAIM).with(slug.as_str()).with(now_ms),
                keep_password(slug, hash, now_ms),
            ]);
            match done.await? {
                Ok(_) => {}
                _ if self.is_claimed().await? => return Err(claimed_already()),
                Err(0) => return Err(no_link()),
                Err(_) => return Err(crate::users::slug_taken(slug)),
            }
            let owner = self.person_with_email(email).await?;
            owner.ok_or_else(|| no_user(slug))
        })
    }

    fn reset_password<'a>(
        &'a self,
        secret: &'a OpaqueSecret,
        hash: &'a PasswordHash,
    ) -> DatabaseFuture<'a, Slug> {
        Box::pin(async move {
            let link = self.usable_link(secret).await?;
            let link = link.filter(|link| link.purpose == LinkPurpose::PasswordReset);
            let user = link.and_then(|link| link.user).ok_or_else(no_link)?;
            let now_ms = self.time_ms();
            let done = self.change_together(vec![
                TableStatement::new(USE_LINK)
                    .with(secret.digest())
                    .with(now_ms)
                    .with(LinkPurpose::PasswordReset.as_str()),
                keep_password(&user, hash, now_ms),
                TableStatement::optional(END_SESSIONS).with(user.as_str()),
            ]);
            match done.await? {
                Ok(_) => Ok(user),
                Err(0) => Err(no_link()),
                Err(_) => Err(no_person(self, &user).await?),
            }
        })
    }

    fn link_identity<'a>(
        &'a self,
        identity: &'a ForeignIdentity,
        user: &'a Slug,
    ) -> DatabaseFuture<'a, ()> {
        Box::pin(async move {
            let limit = ("IDENTITY_CHARS_MAX", IDENTITY_CHARS_MAX);
            crate::users::check_line("the issuer", &identity.issuer, limit)?;
            crate::users::check_line("the subject", &identity.subject, limit)?;
            let statement = TableStatement::new(LINK_IDENTITY)
                .with(identity.issuer.as_str())
                .with(identity.subject.as_str())
                .with(user.as_str())
                .with(self.time_ms());
            if !self.change_rows(statement).await?.is_empty() {
                return Ok(());
            }
            Err(match self.user_of_identity(identity).await? {
                Some(other) => Error::new(
                    DatabaseErrorKind::Conflict,
                    format!("This identity is the user `{other}` already. Sign in as them."),
                ),
                None => no_user(user),
            })
        })
    }

    fn user_of_identity<'a>(
        &'a self,
        identity: &'a ForeignIdentity,
    ) -> DatabaseFuture<'a, Option<Slug>> {
        Box::pin(async move {
            let statement = TableStatement::new(IDENTITY)
                .with(identity.issuer.as_str())
                .with(identity.subject.as_str());
            let rows = self.look(statement).await?;
            Ok(read_rows(self, "an identity", &rows, |row| row.parsed("user"))?.pop())
        })
    }
}

fn keep_password(user: &Slug, hash: &PasswordHash, now_ms: u64) -> TableStatement {
    TableStatement::new(SET_PASSWORD)
        .with(user.as_str())
        .with(hash.as_str())
        .with(now_ms)
}

fn add_owner(display_name: &str, owner: &User, email: &str, now_ms: u64) -> TableStatement {
    TableStatement::new(ADD_OWNER)
        .with(owner.slug.as_str())
        .with(display_name)
        .with(email)
        .with(email.to_lowercase())
        .with(true)
        .with(false)
        .with(now_ms)
}

/// Refuses links that could never be used.
fn check_link(link: &NewLink, now_ms: u64) -> Result<()> {
    if link.expires_ms <= now_ms {
        let message = "the link would be too old already. Choose a later time.";
        return Err(invalid(message.to_owned()));
    }
    let has_user = link.user.is_some();
    match (link.purpose, has_user) {
        (LinkPurpose::PasswordReset, false) => Err(invalid(
            "a link that resets a password names its user.".to_owned(),
        )),
        (LinkPurpose::Claim, true) => Err(invalid(
            "a link that claims a server names no user.".to_owned(),
        )),
        _ => Ok(()),
    }
}

async fn no_person(tables: &impl SharedTables, user: &Slug) -> Result<Error> {
    const IS_USER: &str = "SELECT slug FROM users WHERE slug = $1";
    let found = tables
        .look(TableStatement::new(IS_USER).with(user.as_str()))
        .await?;
    Ok(match found.is_empty() {
        true => no_user(user),
        false => invalid(format!("`{user}` is an agent and has no password.")),
    })
}

fn no_link() -> Error {
    Error::new(
        DatabaseErrorKind::Missing,
        "This link is unknown, used or too old. Ask for a new one.",
    )
}

fn claimed_already() -> Error {
    Error::new(
        DatabaseErrorKind::Conflict,
        "This server has an owner already. Sign in, or ask them for an account.",
    )
}

fn read_link(row: &TableRow) -> ColumnRead<OneTimeLink> {
    let user = row.maybe_text("user")?;
    let user = user.map(|user| user.parse().map_err(|cause: Error| cause.to_string()));
    Ok(OneTimeLink {
        id: row.integer("id")?,
        purpose: row.parsed("purpose")?,
        user: user.transpose()?,
        created_ms: row.count("created_ms")?,
        expires_ms: row.count("expires_ms")?,
    })
}

fn read_person(row: &TableRow) -> ColumnRead<User> {
    Ok(User {
        slug: row.parsed("slug")?,
        display_name: row.text("display_name")?,
        role: row.parsed::<UserRole>("role")?,
        is_active: row.flag("is_active")?,
        nature: UserKind::Person {
            email: row.text("email")?,
        },
        revision: row.count("revision")?,
        created_ms: row.count("created_ms")?,
        updated_ms: row.count("updated_ms")?,
    })
}
