//! Reads from a forge's answer whether to wait, and how long.
//!
//! Dates are compared with the `Date` of the same answer, the forge's own clock, so that the local
//! clock does not matter.

use std::time::Duration;

use reqwest::header::HeaderMap;

/// Returns true if an answer reports a rate limit: status 429, or a 403 that says so.
pub(crate) fn is_asked(status: u16, said: Option<&str>, headers: &HeaderMap) -> bool {
    let said = said.unwrap_or_default().to_ascii_lowercase();
    let says_so = said.contains("rate limit") || said.contains("abuse detection");
    match status {
        429 => true,
        403 => says_so || is_used_up(headers) || headers.contains_key("retry-after"),
        503 => headers.contains_key("retry-after"),
        _ => false,
    }
}

/// Returns the pause that the forge asks for.
pub(crate) fn asked(headers: &HeaderMap) -> Option<Duration> {
    let after = text(headers, "retry-after");
    if let Some(seconds) = after.and_then(|after| after.parse().ok()) {
        return Some(Duration::from_secs(seconds));
    }
    let second = |date: &str| {
        let date = jiff::fmt::rfc2822::parse(date).ok()?;
        Some(date.timestamp().as_second())
    };
    let then = match after {
        Some(date) => second(date)?,
        None if is_used_up(headers) => text(headers, "x-ratelimit-reset")?.parse().ok()?,
        None => return None,
    };
    let left: i64 = then.saturating_sub(second(text(headers, "date")?)?);
    Some(Duration::from_secs(u64::try_from(left).unwrap_or(0)))
}

fn is_used_up(headers: &HeaderMap) -> bool {
    text(headers, "x-ratelimit-remaining") == Some("0")
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    const DATE: (&str, &str) = ("date", "Mon, 16 Nov 2026 10:00:00 GMT");

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let lines = lines.iter().map(|(name, value)| {
            let name = HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        });
        lines.collect()
    }

    #[test]
    fn the_wait_is_read_by_the_forges_clock() {
        let used_up = ("x-ratelimit-remaining", "0");
        for (lines, seconds) in [
            (&[][..], None),
            (&[("retry-after", "7")], Some(7)),
            (&[("retry-after", "-7")], None),
            (&[("retry-after", "99999999999999999999")], None),
            (
                &[("retry-after", "Mon, 16 Nov 2026 10:00:30 GMT"), DATE],
                Some(30),
            ),
            (
                &[("retry-after", "Mon, 16 Nov 2026 09:00:00 GMT"), DATE],
                Some(0),
            ),
            (&[("retry-after", "Mon, 16 Nov 2026 10:00:30 GMT")], None),
            (
                &[used_up, ("x-ratelimit-reset", "1794823260"), DATE],
                Some(60),
            ),
            (&[used_up, ("x-ratelimit-reset", "soon"), DATE], None),
            (
                &[
                    ("x-ratelimit-remaining", "1"),
                    ("x-ratelimit-reset", "1794823260"),
                    DATE,
                ],
                None,
            ),
        ] {
            let wait = seconds.map(Duration::from_secs);
            assert_eq!(asked(&headers(lines)), wait, "{lines:?}");
        }
    }

    #[test]
    fn a_refusal_is_not_a_limit() {
        let none = headers(&[]);
        let later = headers(&[("retry-after", "1")]);
        for (status, said, headers, expected) in [
            (429, None, &none, true),
            (
                403,
                Some("You have exceeded a secondary rate limit."),
                &none,
                true,
            ),
            (
                403,
                Some("Resource not accessible by integration"),
                &none,
                false,
            ),
            (403, None, &later, true),
            (503, None, &later, true),
            (503, None, &none, false),
            (401, Some("rate limit"), &later, false),
        ] {
            assert_eq!(
                is_asked(status, said, headers),
                expected,
                "{status} {said:?}"
            );
        }
    }
}
