//! Access tokens as callers see them, whatever engine stores them: programs send one instead of
//! signing in.
//!
//! A token belongs to a user and never permits more than that user may do at the moment of its use.
//! Its secret is shown once and never stored; the database has a digest. One round of SHA-256 is
//! enough, because the secret is 256 random bits and not something a person thought of. For the
//! same reason the database may find a token by its digest: the time of the lookup reveals
//! something about digests at most, and no digest leads back to a secret.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::error::{DatabaseErrorKind, Error, Result};
use crate::record::DatabaseFuture;
use crate::users::{Slug, User, UserRole, check_line, invalid};

/// The prefix of every secret, so that people and secret scanners recognise one.
pub(crate) const TOKEN_PREFIX: &str = "dl_";
/// Limits the length of a token's name.
pub(crate) const TOKEN_NAME_CHARS_MAX: usize = 100;
/// The precision of a token's last use, in milliseconds: storing every use would cost a write per
/// request.
pub const TOKEN_USE_MS_STEP: u64 = 60_000;

/// Limits the scopes of a token.
pub(crate) const TOKEN_SCOPES_MAX: usize = 32;
/// Limits the length of a scope.
pub(crate) const TOKEN_SCOPE_CHARS_MAX: usize = 40;

const SECRET_BYTES: usize = 32;

/// The secret that a program sends. Only [`TokenSecret::reveal`] prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret([u8; SECRET_BYTES]);

impl TokenSecret {
    /// Makes a secret of these bytes, which must come from the system's random source.
    pub fn new(random: [u8; SECRET_BYTES]) -> TokenSecret {
        TokenSecret(random)
    }

    /// Returns the text, to be shown once.
    pub fn reveal(&self) -> String {
        let digits = self.0.iter().map(|byte| format!("{byte:02x}"));
        format!("{TOKEN_PREFIX}{}", digits.collect::<String>())
    }

    /// Returns the digest, which is all that the database stores.
    pub(crate) fn digest(&self) -> Vec<u8> {
        Sha256::digest(self.0).to_vec()
    }
}

impl FromStr for TokenSecret {
    type Err = Error;

    fn from_str(text: &str) -> Result<TokenSecret> {
        // Does not repeat the text: it may be a secret with a letter too many.
        let wrong = || {
            invalid(format!(
                "this is no token: one is {TOKEN_PREFIX} and {} digits from 0 to f.",
                2 * SECRET_BYTES
            ))
        };
        let digits = text.strip_prefix(TOKEN_PREFIX).ok_or_else(wrong)?;
        let secret = crate::secrets::read_digits(digits).ok_or_else(wrong)?;
        Ok(TokenSecret(secret))
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenSecret({TOKEN_PREFIX}…)")
    }
}

/// The number of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenId(pub i64);

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A token to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// The owner.
    pub user: Slug,
    /// The purpose; unique among the owner's tokens that are not revoked.
    pub name: String,
    /// The role it grants, at most the owner's own.
    pub role: UserRole,
    /// Scopes that narrow it further, such as `runs` or `tasks.read`; empty means all permissions
    /// of the role.
    pub scopes: Vec<String>,
    /// The end, in milliseconds since 1970; `None` if it does not expire.
    pub expires_ms: Option<u64>,
}

/// A stored token; everything but its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessToken {
    /// Its number.
    pub id: TokenId,
    /// The owner.
    pub user: Slug,
    /// The purpose.
    pub name: String,
    /// The highest role it grants.
    pub role: UserRole,
    /// Scopes that narrow it further; empty means all permissions of the role.
    pub scopes: Vec<String>,
    /// The time of creation, in milliseconds since 1970.
    pub created_ms: u64,
    /// The time it expires.
    pub expires_ms: Option<u64>,
    /// The last use, with the precision of [`TOKEN_USE_MS_STEP`].
    pub used_ms: Option<u64>,
    /// The time it was revoked.
    pub revoked_ms: Option<u64>,
}

/// The result of checking a token. Clients outside get the same refusal for all variants but the
/// first, so that they cannot probe for tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenCheck {
    /// The token is valid.
    Granted(Box<TokenBearer>),
    /// There is no such token.
    Unknown,
    /// The token has expired.
    Expired(TokenId),
    /// The token was revoked.
    Revoked(TokenId),
    /// Its owner was deactivated.
    Inactive(TokenId),
}

/// The user behind a valid token, with the permissions that the token leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBearer {
    /// The owner of the token.
    pub user: User,
    /// The token that was used.
    pub token: TokenId,
    /// The lower one of the token's role and the owner's.
    pub role: UserRole,
    /// The token's scopes; empty means all permissions of the role.
    pub scopes: Vec<String>,
}

/// The port to the tokens.
pub trait TokenStore: Send + Sync {
    /// Adds a token. [`DatabaseErrorKind::Missing`] without such a user, [`DatabaseErrorKind::Conflict`] when they have one
    /// of this name, [`DatabaseErrorKind::Invalid`] when it would grant more than the user may do, or when the
    /// user is deactivated.
    fn add_token<'a>(
        &'a self,
        token: &'a NewToken,
        secret: &'a TokenSecret,
    ) -> DatabaseFuture<'a, AccessToken>;

    /// Finds the token of a secret and checks it.
    fn admit<'a>(&'a self, secret: &'a TokenSecret) -> DatabaseFuture<'a, TokenCheck>;

    /// Records that a token was used now, unless that was recorded less than [`TOKEN_USE_MS_STEP`]
    /// ago.
    fn note_token_use(&self, token: TokenId) -> DatabaseFuture<'_, ()>;

    /// Lists the tokens of a user, or of all users: the newest first, including revoked ones.
    fn tokens<'a>(&'a self, user: Option<&'a Slug>) -> DatabaseFuture<'a, Vec<AccessToken>>;

    /// Revokes a token, from now on and for good. [`DatabaseErrorKind::Missing`] when there is no such token; a
    /// revoked one stays as it is.
    fn revoke_token(&self, token: TokenId) -> DatabaseFuture<'_, AccessToken>;
}

/// Refuses a token that cannot be stored. Every way into a database calls this.
pub(crate) fn check(token: &NewToken, user: Option<&User>, now_ms: u64) -> Result<()> {
    let limit = ("TOKEN_NAME_CHARS_MAX", TOKEN_NAME_CHARS_MAX);
    check_line("the token's name", &token.name, limit)?;
    check_scopes(&token.scopes)?;
    let user = user.ok_or_else(|| crate::users::no_user(&token.user))?;
    if !user.is_active {
        let message = format!(
            "`{}` takes part no more and gets no token. Make them active first.",
            user.slug
        );
        return Err(invalid(message));
    }
    if token.role.lower(user.role) != token.role {
        return Err(invalid(format!(
            "`{}` is {} and cannot have a token for {}. Choose a lower role.",
            user.slug,
            user.role.as_str(),
            token.role.as_str()
        )));
    }
    match token.expires_ms.is_some_and(|end_ms| end_ms <= now_ms) {
        true => Err(invalid(
            "the token would have ended already. Choose a later time.".to_owned(),
        )),
        false => Ok(()),
    }
}

fn check_scopes(scopes: &[String]) -> Result<()> {
    let limit = ("TOKEN_SCOPES_MAX", TOKEN_SCOPES_MAX);
    crate::users::limited("the list of scopes", scopes.len(), limit)?;
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".:_-*".contains(c);
    for scope in scopes {
        let limit = ("TOKEN_SCOPE_CHARS_MAX", TOKEN_SCOPE_CHARS_MAX);
        check_line("a scope", scope, limit)?;
        if !scope.chars().all(is_part) {
            return Err(invalid(format!(
                "`{scope}` is no scope. Use small letters, digits and . : _ - *, as in runs.start."
            )));
        }
    }
    Ok(())
}

/// Joins scopes for the database with spaces; no scope contains one.
pub(crate) fn joined_scopes(scopes: &[String]) -> String {
    scopes.join(" ")
}

pub(crate) fn split_scopes(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Checks a token that was found, with the present state of its owner.
pub(crate) fn judge(token: &AccessToken, user: User, now_ms: u64) -> TokenCheck {
    if token.revoked_ms.is_some() {
        return TokenCheck::Revoked(token.id);
    }
    if token.expires_ms.is_some_and(|end_ms| end_ms <= now_ms) {
        return TokenCheck::Expired(token.id);
    }
    if !user.is_active {
        return TokenCheck::Inactive(token.id);
    }
    TokenCheck::Granted(Box::new(TokenBearer {
        role: token.role.lower(user.role),
        scopes: token.scopes.clone(),
        token: token.id,
        user,
    }))
}

pub(crate) fn no_token(id: TokenId) -> Error {
    Error::new(
        DatabaseErrorKind::Missing,
        format!("There is no token {id}."),
    )
}

pub(crate) fn token_taken(token: &NewToken) -> Error {
    let (user, name) = (&token.user, &token.name);
    let message =
        format!("`{user}` has a token `{name}` already. Revoke it, or choose another name.");
    Error::new(DatabaseErrorKind::Conflict, message)
}
