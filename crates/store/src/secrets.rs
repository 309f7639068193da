//! Secrets that people carry: the cookie of a session and the end of a one-time link.
//!
//! A secret is 256 random bits, shown once and never stored: the database has its SHA-256. One
//! round is enough for that much randomness, and a lookup by digest reveals nothing about a secret.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};
use crate::users::invalid;

const SECRET_BYTES: usize = 32;

/// A secret in a cookie or a link. Only [`OpaqueSecret::reveal`] prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct OpaqueSecret([u8; SECRET_BYTES]);

impl OpaqueSecret {
    /// Makes a secret of these bytes, which must come from the system's random source.
    pub fn new(random: [u8; SECRET_BYTES]) -> OpaqueSecret {
        OpaqueSecret(random)
    }

    /// Returns the text for the cookie or the link: 64 digits from 0 to f.
    pub fn reveal(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the digest that the database keeps.
    pub(crate) fn digest(&self) -> Vec<u8> {
        Sha256::digest(self.0).to_vec()
    }
}

impl FromStr for OpaqueSecret {
    type Err = Error;

    fn from_str(text: &str) -> Result<OpaqueSecret> {
        read_digits(text).map(OpaqueSecret).ok_or_else(|| {
            // Does not repeat the text: it may be a secret with a letter too many.
            let digits = 2 * SECRET_BYTES;
            invalid(format!(
                "this is no secret of a session or a link: one has {digits} digits from 0 to f. Copy \
                 the whole of it."
            ))
        })
    }
}

impl fmt::Debug for OpaqueSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpaqueSecret(…)")
    }
}

/// Reads 64 small hexadecimal digits.
pub(crate) fn read_digits(digits: &str) -> Option<[u8; SECRET_BYTES]> {
    let fits = |digit: &u8| digit.is_ascii_digit() || matches!(digit, b'a'..=b'f');
    if digits.len() != 2 * SECRET_BYTES || !digits.as_bytes().iter().all(fits) {
        return None;
    }
    let mut secret = [0; SECRET_BYTES];
    for (byte, pair) in secret.iter_mut().zip(digits.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(secret)
}
