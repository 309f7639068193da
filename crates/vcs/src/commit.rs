//! A commit's full name.

use std::fmt;

use crate::{Error, VcsErrorKind};

/// The full hexadecimal name of a commit, as pinned in lock files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(String);

impl CommitId {
    /// Reads a full name: 40 hexadecimal digits, or 64 with SHA-256.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let hexadecimal = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if hexadecimal && matches!(text.len(), 40 | 64) {
            return Ok(Self(text.to_ascii_lowercase()));
        }
        Err(Error::new(
            VcsErrorKind::UnknownRevision,
            format!("{text:?} is not the full name of a commit, which has 40 hexadecimal digits"),
        ))
    }

    /// The full name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first digits, for messages.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0[..12]
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
