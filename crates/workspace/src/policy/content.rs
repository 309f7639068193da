//! Contents that a model may not read, under any file name: private keys and access tokens.
//!
//! Only self-describing formats count: the armour of a private key with a body, and tokens with a
//! prefix of their issuer. An example in a README or a test is no secret: the words `EXAMPLE` and
//! `xxxx`, or hardly any different characters, tell it apart.

use memchr::memmem;

/// Bytes of a file that are searched: a secret further down is not found.
pub const SECRET_SCAN_BYTES_MAX: usize = 1024 * 1024;

/// The fewest characters that the body of a private key has.
const KEY_BODY_CHARS_MIN: usize = 64;
/// The fewest different characters of a real token.
const TOKEN_VARIETY_MIN: usize = 8;

/// A token that is recognised by its beginning.
struct TokenFormat {
    prefix: &'static str,
    /// The fewest characters after the prefix.
    chars_min: usize,
    /// The characters it may have beside letters and digits.
    marks: &'static str,
    what: &'static str,
}

const fn token(
    prefix: &'static str,
    chars_min: usize,
    marks: &'static str,
    what: &'static str,
) -> TokenFormat {
    TokenFormat {
        prefix,
        chars_min,
        marks,
        what,
    }
}

static TOKENS: &[TokenFormat] = &[
    token("ghp_", 36, "", "a token of GitHub"),
    token("gho_", 36, "", "a token of GitHub"),
    token("ghu_", 36, "", "a token of GitHub"),
    token("ghs_", 36, "", "a token of GitHub"),
    token("ghr_", 36, "", "a token of GitHub"),
    token("github_pat_", 59, "_", "a token of GitHub"),
    token("glpat-", 20, "_-", "a token of GitLab"),
    token("AKIA", 16, "", "a key of AWS"),
    token("ASIA", 16, "", "a key of AWS"),
    token("AIza", 35, "_-", "a key of Google"),
    token("ya29.", 40, "_-", "a token of Google"),
    token("sk-ant-", 32, "_-", "a key of Anthropic"),
    token("sk-proj-", 32, "_-", "a key of OpenAI"),
    token("sk-or-v1-", 32, "", "a key of OpenRouter"),
    token("sk_live_", 20, "", "a key of Stripe"),
    token("rk_live_", 20, "", "a key of Stripe"),
    token("xoxb-", 30, "-", "a token of Slack"),
    token("xoxp-", 30, "-", "a token of Slack"),
    token("xapp-", 30, "-", "a token of Slack"),
    token("hooks.slack.com/services/", 30, "/", "a webhook of Slack"),
    token("npm_", 36, "", "a token of npm"),
    token("pypi-AgEIcHlwaS5vcmc", 40, "_-", "a token of PyPI"),
    token("dop_v1_", 64, "", "a token of DigitalOcean"),
    token("hf_", 34, "", "a token of Hugging Face"),
    token("shpat_", 32, "", "a token of Shopify"),
    token("SG.", 60, "._-", "a key of SendGrid"),
    token("AGE-SECRET-KEY-1", 50, "", "a private age key"),
];

/// Names the secret in the first [`SECRET_SCAN_BYTES_MAX`] bytes of the content.
pub(crate) fn secret_in(content: &[u8]) -> Option<&'static str> {
    let content = &content[..content.len().min(SECRET_SCAN_BYTES_MAX)];
    if has_private_key(content) {
        return Some("a private key");
    }
    let found = TOKENS.iter().find(|format| format.is_in(content));
    found.map(|format| format.what)
}

/// Returns true if the armour of a private key is followed by a body.
fn has_private_key(content: &[u8]) -> bool {
    let armour = memmem::find_iter(content, b"-----BEGIN ");
    armour.into_iter().any(|at| {
        let rest = &content[at..];
        let Some(end) = memmem::find(&rest[..rest.len().min(80)], b"PRIVATE KEY") else {
            return false;
        };
        let body = rest[end..].iter().skip_while(|byte| **byte != b'\n');
        // Line ends written as `\n` in a string count as line ends; a key in JSON is a key.
        let is_body = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/=\r\n \\".contains(byte);
        let escaped = memmem::find(&rest[end..rest.len().min(end + 32)], br"-----\n");
        match escaped {
            Some(after) => {
                let body = &rest[end + after + 7..];
                body.iter().take_while(is_body).count() >= KEY_BODY_CHARS_MIN
            }
            None => body.take_while(is_body).count() >= KEY_BODY_CHARS_MIN,
        }
    })
}

impl TokenFormat {
    fn is_in(&self, content: &[u8]) -> bool {
        memmem::find_iter(content, self.prefix.as_bytes()).any(|at| {
            let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            let is_inside =
                at > 0 && is_word(content[at - 1]) && is_word(self.prefix.as_bytes()[0]);
            let rest = &content[at + self.prefix.len()..];
            let is_part =
                |byte: &&u8| byte.is_ascii_alphanumeric() || self.marks.as_bytes().contains(byte);
            let length = rest.iter().take_while(is_part).count();
            !is_inside && length >= self.chars_min && is_real(&rest[..length])
        })
    }
}

/// Returns true if the characters are those of a real token, not of an example.
fn is_real(token: &[u8]) -> bool {
    let is_example = memmem::find(token, b"EXAMPLE").is_some()
        || memmem::find(token, b"xxxx").is_some()
        || memmem::find(token, b"XXXX").is_some();
    let mut seen = [false; 256];
    token
        .iter()
        .for_each(|byte| seen[usize::from(*byte)] = true);
    let variety = seen.iter().filter(|seen| **seen).count();
    !is_example && variety >= TOKEN_VARIETY_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &str, expected: Option<&str>) {
        assert_eq!(secret_in(content.as_bytes()), expected, "{content}");
    }

    /// Written in two parts, so that no scanner reports this file as a leak.
    fn joined(prefix: &str, rest: &str) -> String {
        format!("{prefix}{rest}")
    }

    #[test]
    fn private_keys_are_told_by_armour_and_body() {
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n".repeat(3);
        for kind in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "] {
            let key = joined(
                &format!("-----BEGIN {kind}PRIV"),
                &format!("ATE KEY-----\n{body}"),
            );
            check(&format!("text\n{key}"), Some("a private key"));
        }
        let json = joined("{\"k\":\"-----BEGIN PRIV", "ATE KEY-----\\n");
        let json = format!("{json}{}", body.replace('\n', "\\n"));
        check(&json, Some("a private key"));
        check(
            &joined("looks for `-----BEGIN PRIV", "ATE KEY-----`\nand more"),
            None,
        );
        check(&format!("-----BEGIN CERTIFICATE-----\n{body}"), None);
        check(&format!("-----BEGIN PUBLIC KEY-----\n{body}"), None);
    }

    #[test]
    fn tokens_are_told_by_their_prefix() {
        let text = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5kL7nP9rS1uV3xY5zA7cE9gI1kM3o";
        for format in TOKENS {
            let token = joined(format.prefix, &text[..format.chars_min.min(text.len())]);
            check(&format!("key = \"{token}\"\n"), Some(format.what));
        }
        check(&joined("AKIA", "IOSFODNN7EXAMPLE"), None);
        check(&joined("ghp_", &"x".repeat(36)), None);
        check(&joined("ghp_", "short"), None);
        check("the function risk_live_abcdefghijklmnopqrstuvwxyz", None);
    }

    #[test]
    fn only_the_beginning_is_searched() {
        let token = joined("ghp_", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5");
        let near = format!("{}{token}", " ".repeat(SECRET_SCAN_BYTES_MAX / 2));
        check(&near, Some("a token of GitHub"));
        let far = format!("{}{token}", " ".repeat(SECRET_SCAN_BYTES_MAX));
        check(&far, None);
    }
}
