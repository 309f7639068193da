//! Passwords: which ones are taken, and how they are hashed and checked.
//!
//! Hashing takes a lot of memory and time on purpose, so it happens on threads of its own, and only a
//! few at once: a flood of sign-ins waits, and does not fill the memory.

use argon2::Argon2;
use argon2::password_hash::phc;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use store::PasswordHash;
use tokio::sync::Semaphore;

use crate::{AppErrorCode, Error};

/// The fewest characters of a password.
pub const PASSWORD_CHARS_MIN: usize = 15;
/// The most bytes of a password; a sentence fits.
pub const PASSWORD_BYTES_MAX: usize = 1_024;
/// Number of passwords that are hashed at once.
const HASHES_AT_ONCE_MAX: usize = 2;

/// Long passwords that many people have chosen already.
const COMMON: &str = include_str!("common_passwords.txt");

static HASHING: Semaphore = Semaphore::const_new(HASHES_AT_ONCE_MAX);

/// A password as a person gives it. Nothing prints it.
#[derive(Clone)]
pub struct PlainPassword(String);

impl PlainPassword {
    /// Takes a password to check against a hash; applies no rule for new passwords.
    pub fn given(text: impl Into<String>) -> PlainPassword {
        PlainPassword(text.into())
    }

    /// Takes a new password, refused if it is short, long or common.
    pub fn chosen(text: &str, email: &str) -> Result<PlainPassword, Error> {
        let refused = |message: String| Err(Error::new(AppErrorCode::Usage, message));
        if text.chars().count() < PASSWORD_CHARS_MIN {
            return refused(format!(
                "a password needs at least {PASSWORD_CHARS_MIN} characters (PASSWORD_CHARS_MIN); a few \
                 words that only you put together are fine"
            ));
        }
        if text.len() > PASSWORD_BYTES_MAX {
            return refused(format!(
                "a password may have {PASSWORD_BYTES_MAX} bytes (PASSWORD_BYTES_MAX) at most"
            ));
        }
        match is_common(text, email) {
            true => refused("many people use this password; choose another one".to_owned()),
            false => Ok(PlainPassword(text.to_owned())),
        }
    }

    /// Hashes the password with argon2id and fresh salt.
    pub async fn hash(&self) -> Result<PasswordHash, Error> {
        let mut salt = [0_u8; 16];
        getrandom::fill(&mut salt).map_err(|cause| unhashed(&cause))?;
        let password = self.clone();
        let text = on_own_thread(move || {
            let hashed: Result<phc::PasswordHash, _> =
                Argon2::default().hash_password_with_salt(password.0.as_bytes(), &salt);
            hashed.map(|hash| hash.to_string())
        });
        let text = text.await?.map_err(|cause| unhashed(&cause))?;
        Ok(text.parse::<PasswordHash>()?)
    }

    /// Returns whether the password is the one of a hash. Without a hash it takes as long, and it is not.
    pub(crate) async fn matches(&self, hash: Option<&PasswordHash>) -> Result<bool, Error> {
        let Some(hash) = hash else {
            self.hash().await?;
            return Ok(false);
        };
        let (password, text) = (self.clone(), hash.as_str().to_owned());
        on_own_thread(move || {
            let parsed = phc::PasswordHash::new(&text);
            parsed.is_ok_and(|hash| {
                let checked = Argon2::default().verify_password(password.0.as_bytes(), &hash);
                checked.is_ok()
            })
        })
        .await
    }
}

async fn on_own_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let permit = HASHING.acquire().await.map_err(|cause| unhashed(&cause))?;
    // The permit goes with the work: a caller who hangs up ends the waiting, and not the hashing.
    let done = tokio::task::spawn_blocking(move || {
        let done = work();
        drop(permit);
        done
    });
    done.await.map_err(|cause| unhashed(&cause))
}

fn unhashed(cause: &dyn std::fmt::Display) -> Error {
    Error::new(
        AppErrorCode::Command,
        format!("a password could not be hashed: {cause}"),
    )
}

/// Returns whether a password is in the list of common ones, one character again and again, or the
/// person's own address.
fn is_common(text: &str, email: &str) -> bool {
    let folded = text.trim().to_lowercase();
    let first = folded.chars().next();
    let is_one_character = folded.chars().all(|c| Some(c) == first);
    is_one_character || folded == email.to_lowercase() || COMMON.lines().any(|line| line == folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_long_and_common_passwords_are_refused() {
        let long = "x y".repeat(400);
        for (text, is_taken) in [
            ("correct horse battery", true),
            ("vierzehn Zeichn", true),
            ("only fourteen.", false),
            ("aaaaaaaaaaaaaaaaaaaa", false),
            ("PasswordPassword", false),
            ("ada.lovelace@example.org", false),
            (&long, false),
        ] {
            let chosen = PlainPassword::chosen(text, "ada.lovelace@example.org");
            assert_eq!(chosen.is_ok(), is_taken, "{text}");
        }
    }

    #[tokio::test]
    async fn a_password_matches_its_own_hash_only() {
        let hash = PlainPassword::given("correct horse battery")
            .hash()
            .await
            .unwrap();
        assert!(hash.as_str().starts_with("$argon2id$"));
        for (text, fits) in [
            ("correct horse battery", true),
            ("Correct horse battery", false),
            ("", false),
        ] {
            let password = PlainPassword::given(text);
            assert_eq!(password.matches(Some(&hash)).await.unwrap(), fits, "{text}");
            assert!(!password.matches(None).await.unwrap());
        }
    }
}
