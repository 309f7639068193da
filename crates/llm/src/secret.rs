//! Keys that cannot be printed by accident, and their removal from texts of others.

use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

/// A key. It has no way to be serialised, prints as dots, and is wiped when the last copy goes.
#[derive(Clone)]
pub struct Secret(Arc<Zeroizing<String>>);

impl Secret {
    /// Keys are pasted: surrounding white space is never part of them.
    pub fn new(text: impl Into<String>) -> Secret {
        let text = Zeroizing::new(text.into());
        Secret(Arc::new(Zeroizing::new(text.trim().to_owned())))
    }

    /// Returns the name of the variable that has the key, where the text is such a name (`$NAME`).
    pub fn variable(&self) -> Option<&str> {
        self.0.strip_prefix('$')
    }

    /// Returns the key itself, for the request's header and nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Settings are compared; keys are never guessed at through this.
impl PartialEq for Secret {
    fn eq(&self, other: &Secret) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Replaces a key in a text.
pub const REMOVED: &str = "[key removed]";

/// Shorter ones are no secrets (`x`, `none`), and removing them would garble the text.
pub const SCRUBBED_BYTES_MIN: usize = 6;

/// Returns the text without the keys, including keys escaped for a URL or in JSON.
pub fn scrub(text: &str, secrets: &[Secret]) -> String {
    let mut clean = text.to_owned();
    for secret in secrets {
        let key = secret.expose();
        if key.len() < SCRUBBED_BYTES_MIN {
            continue;
        }
        for form in [key.to_owned(), in_url(key), in_json(key)] {
            if clean.contains(&form) {
                clean = clean.replace(&form, REMOVED);
            }
        }
    }
    clean
}

/// Makes a secret from its escaped form in a URL.
pub(crate) fn from_url(escaped: &str) -> Secret {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    Secret::new(String::from_utf8_lossy(&bytes))
}

fn in_url(key: &str) -> String {
    let mut escaped = String::with_capacity(key.len());
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

fn in_json(key: &str) -> String {
    let quoted = serde_json::Value::String(key.to_owned()).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use super::{REMOVED, Secret, scrub};

    #[test]
    fn a_secret_never_prints() {
        let secret = Secret::new(" sk-very-secret\n");
        assert_eq!(
            format!("{secret} {secret:?} {:?}", Some(&secret)),
            "… Secret(…) Some(Secret(…))"
        );
        assert_eq!(secret.expose(), "sk-very-secret");
    }

    #[test]
    fn every_spelling_of_a_key_is_removed() {
        let secrets = [Secret::new("sk-a/b\"c+d")];
        let text = r#"plain sk-a/b"c+d, url ?key=sk-a%2Fb%22c%2Bd, json {"k":"sk-a/b\"c+d"}"#;
        assert_eq!(
            scrub(text, &secrets),
            format!(r#"plain {REMOVED}, url ?key={REMOVED}, json {{"k":"{REMOVED}"}}"#)
        );
        assert_eq!(
            scrub("an x is no secret", &[Secret::new("x")]),
            "an x is no secret"
        );
    }
}
