//! Tokens that cannot be printed by accident, and their removal from texts of others.

use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

/// Shorter ones are no secrets, and removing them would garble the text.
const SCRUBBED_BYTES_MIN: usize = 6;

/// A token. It prints as dots and is wiped when its last copy goes.
#[derive(Clone)]
pub struct Secret(Arc<Zeroizing<String>>);

impl Secret {
    /// Tokens are pasted: surrounding white space is never part of them.
    pub fn new(text: impl Into<String>) -> Self {
        let text = Zeroizing::new(text.into());
        Self(Arc::new(Zeroizing::new(text.trim().to_owned())))
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The text without the token.
    pub(crate) fn scrub(&self, text: &str) -> String {
        if self.0.len() < SCRUBBED_BYTES_MIN {
            return text.to_owned();
        }
        text.replace(self.expose(), "[token removed]")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn a_token_is_not_shown() {
        let secret = Secret::new(" ghp_abcdef\n");
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        assert_eq!(secret.expose(), "ghp_abcdef");
        assert_eq!(secret.scrub("bad ghp_abcdef!"), "bad [token removed]!");
        assert_eq!(Secret::new("x").scrub("an x"), "an x");
        assert!(Secret::new("  ").is_empty());
    }
}
