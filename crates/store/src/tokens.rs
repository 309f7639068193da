//! Tokens as callers see them, whatever engine keeps them: what programs show instead of signing in.
//!
//! A token belongs to a user and never lets anybody do more than that user may at the moment of its
//! use. Its secret is shown once and kept nowhere: what is kept is a digest. One round of SHA-256 is
//! enough, because the secret is 256 bits of chance and not something a person thought of. For the
//! same reason a token may be looked up by its digest: how long the lookup takes says something about
//! digests at most, and from a digest there is no way back to a secret.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::error::{Error, Kind, Result};
use crate::people::{Role, Slug, User, check_line, invalid};
use crate::record::Kept;

/// How every secret begins, so that people and scanners recognise one.
pub const TOKEN_PREFIX: &str = "dl_";
/// How long the name of a token may be.
pub const TOKEN_NAME_CHARS_MAX: usize = 100;
/// How exactly it is known when a token was used, in milliseconds: not every use is written down.
pub const TOKEN_USE_MS_STEP: u64 = 60_000;

const SECRET_BYTES: usize = 32;

/// What a program shows. Nothing prints it but [`TokenSecret::reveal`].
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret([u8; SECRET_BYTES]);

impl TokenSecret {
    /// The secret made of these bytes, which must come from the system's source of chance.
    pub fn new(random: [u8; SECRET_BYTES]) -> TokenSecret {
        TokenSecret(random)
    }

    /// The text of it, to be shown once.
    pub fn reveal(&self) -> String {
        let digits = self.0.iter().map(|byte| format!("{byte:02x}"));
        format!("{TOKEN_PREFIX}{}", digits.collect::<String>())
    }

    /// What is kept of it.
    pub(crate) fn digest(&self) -> Vec<u8> {
        Sha256::digest(self.0).to_vec()
    }
}

impl FromStr for TokenSecret {
    type Err = Error;

    fn from_str(text: &str) -> Result<TokenSecret> {
        // The text is not repeated: it may be a secret with a letter too many.
        let wrong = || {
            invalid(format!(
                "this is no token: one is {TOKEN_PREFIX} and {} digits from 0 to f.",
                2 * SECRET_BYTES
            ))
        };
        let digits = text.strip_prefix(TOKEN_PREFIX).ok_or_else(wrong)?;
        let fits = |digit: &u8| digit.is_ascii_digit() || matches!(digit, b'a'..=b'f');
        if digits.len() != 2 * SECRET_BYTES || !digits.as_bytes().iter().all(fits) {
            return Err(wrong());
        }
        let mut secret = [0; SECRET_BYTES];
        for (byte, pair) in secret.iter_mut().zip(digits.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
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

/// A token to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// Whose it is.
    pub user: Slug,
    /// What it is for; one name once among those of a user that are not revoked.
    pub name: String,
    /// What it lets do; not more than the user may.
    pub role: Role,
    /// When it ends, in milliseconds since 1970; nothing where it does not.
    pub expires_ms: Option<u64>,
}

/// A token that is kept; everything but its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its number.
    pub id: TokenId,
    /// Whose it is.
    pub user: Slug,
    /// What it is for.
    pub name: String,
    /// What it lets do at most.
    pub role: Role,
    /// When it was added, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it ends.
    pub expires_ms: Option<u64>,
    /// When it was used last, give or take [`TOKEN_USE_MS_STEP`].
    pub used_ms: Option<u64>,
    /// When it was revoked.
    pub revoked_ms: Option<u64>,
}

/// What comes of showing a token. Whoever asks from outside is told "no" for all but the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// They are let in.
    Granted(Box<Bearer>),
    /// There is no such token.
    Unknown,
    /// It has ended.
    Expired(TokenId),
    /// It was revoked.
    Revoked(TokenId),
    /// Its user takes part no more.
    Inactive(TokenId),
}

/// Somebody who is let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bearer {
    /// Who.
    pub user: User,
    /// With what.
    pub token: TokenId,
    /// What they may do: what the token lets, and the user may.
    pub role: Role,
}

/// The port behind which tokens are kept.
pub trait Tokens: Send + Sync {
    /// Adds a token. [`Kind::Missing`] without such a user, [`Kind::Conflict`] when they have one of
    /// this name, [`Kind::Invalid`] when it would let do more than the user may, or when the user
    /// takes part no more.
    fn add_token<'a>(&'a self, token: &'a NewToken, secret: &'a TokenSecret) -> Kept<'a, Token>;

    /// Whom this secret lets in.
    fn admit<'a>(&'a self, secret: &'a TokenSecret) -> Kept<'a, Admission>;

    /// Notes that a token was used now, unless that was noted a moment ago.
    fn note_token_use(&self, token: TokenId) -> Kept<'_, ()>;

    /// The tokens of a user, or all of them: the newest first, those that are revoked among them.
    fn tokens<'a>(&'a self, user: Option<&'a Slug>) -> Kept<'a, Vec<Token>>;

    /// Lets nobody in with it any more, from now on and for good. [`Kind::Missing`] when there is no
    /// such token; one that is revoked stays as it is.
    fn revoke_token(&self, token: TokenId) -> Kept<'_, Token>;
}

/// Refuses what cannot be kept. Every way into a database goes through this.
pub(crate) fn check(token: &NewToken, user: Option<&User>, now_ms: u64) -> Result<()> {
    let limit = ("TOKEN_NAME_CHARS_MAX", TOKEN_NAME_CHARS_MAX);
    check_line("the token's name", &token.name, limit)?;
    let user = user.ok_or_else(|| crate::people::no_user(&token.user))?;
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

/// Decides about a token that was found, and its user as they are now.
pub(crate) fn judge(token: &Token, user: User, now_ms: u64) -> Admission {
    if token.revoked_ms.is_some() {
        return Admission::Revoked(token.id);
    }
    if token.expires_ms.is_some_and(|end_ms| end_ms <= now_ms) {
        return Admission::Expired(token.id);
    }
    if !user.is_active {
        return Admission::Inactive(token.id);
    }
    Admission::Granted(Box::new(Bearer {
        role: token.role.lower(user.role),
        token: token.id,
        user,
    }))
}

pub(crate) fn no_token(id: TokenId) -> Error {
    Error::new(Kind::Missing, format!("There is no token {id}."))
}

pub(crate) fn token_taken(token: &NewToken) -> Error {
    let (user, name) = (&token.user, &token.name);
    let message =
        format!("`{user}` has a token `{name}` already. Revoke it, or choose another name.");
    Error::new(Kind::Conflict, message)
}
