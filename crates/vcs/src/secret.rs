//! Tokens that cannot be printed by accident, and their removal from texts of others.

use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

/// Shorter ones are no secrets, and removing them would garble the text.
const SCRUBBED_BYTES_MIN: usize = 6;

/// A token. It prints as dots, and its memory is wiped when the last copy is dropped.
#[derive(Clone)]
pub struct ForgeToken(Arc<Zeroizing<String>>);

impl ForgeToken {
    /// Trims the text: people paste tokens with white space around them.
    pub fn new(text: impl Into<String>) -> Self {
        let text = Zeroizing::new(text.into());
        Self(Arc::new(Zeroizing::new(text.trim().to_owned())))
    }

    /// Returns true for an empty token.
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

impl fmt::Debug for ForgeToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::ForgeToken;

    #[test]
    fn a_token_is_not_shown() {
        let secret = ForgeToken::new(" ghp_abcdef\n");
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        assert_eq!(secret.expose(), "ghp_abcdef");
        assert_eq!(secret.scrub("bad ghp_abcdef!"), "bad [token removed]!");
        assert_eq!(ForgeToken::new("x").scrub("an x"), "an x");
        assert!(ForgeToken::new("  ").is_empty());
    }
}
