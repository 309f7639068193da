//! Reads from the headers of an answer how long the provider asks the client to wait.
//!
//! Dates are compared with the `Date` header of the same answer: the provider's own clock, so that
//! neither our clock nor a difference between the two matters.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::HeaderMap;

/// Returns the wait the headers ask for: `RetryingModel-After` first, else the reset of a limit that is
/// used up.
pub(crate) fn asked(headers: &HeaderMap) -> Option<Duration> {
    milliseconds(text(headers, "retry-after-ms"))
        .or_else(|| retry_after(headers))
        .or_else(|| anthropic_reset(headers))
        .or_else(|| openai_reset(headers))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

fn milliseconds(value: Option<&str>) -> Option<Duration> {
    seconds_of(value?.parse::<f64>().ok()? / 1000.0)
}

fn seconds_of(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = text(headers, "retry-after")?;
    if let Ok(seconds) = value.parse::<f64>() {
        return seconds_of(seconds);
    }
    until(jiff::fmt::rfc2822::parse(value).ok()?.timestamp(), headers)
}

fn until(then: Timestamp, headers: &HeaderMap) -> Option<Duration> {
    let now = jiff::fmt::rfc2822::parse(text(headers, "date")?)
        .ok()?
        .timestamp();
    let left = then.duration_since(now);
    Some(left.try_into().unwrap_or(Duration::ZERO))
}

/// Reads `anthropic-ratelimit-KIND-{remaining,reset}`: the reset is a date.
fn anthropic_reset(headers: &HeaderMap) -> Option<Duration> {
    let resets = ["requests", "tokens", "input-tokens", "output-tokens"]
        .into_iter()
        .filter_map(|kind| {
            let used_up = text(headers, &format!("anthropic-ratelimit-{kind}-remaining"))? == "0";
            let reset = text(headers, &format!("anthropic-ratelimit-{kind}-reset"))?;
            if used_up {
                until(reset.parse().ok()?, headers)
            } else {
                None
            }
        });
    resets.max()
}

/// Reads `x-ratelimit-{remaining,reset}-KIND`: the reset is a span such as `6m0s` or `120ms`.
fn openai_reset(headers: &HeaderMap) -> Option<Duration> {
    let resets = ["requests", "tokens"].into_iter().filter_map(|kind| {
        let used_up = text(headers, &format!("x-ratelimit-remaining-{kind}"))? == "0";
        let reset = text(headers, &format!("x-ratelimit-reset-{kind}"))?;
        if used_up { span(reset) } else { None }
    });
    resets.max()
}

/// Parses a span such as `34s`, `6m0s`, `1h2m3.5s` or `120ms`.
pub(crate) fn span(text: &str) -> Option<Duration> {
    let mut total = 0.0;
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let letters = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (unit, next) = after.split_at(letters);
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * seconds;
        rest = next;
    }
    seconds_of(total)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

    use super::asked;

    #[track_caller]
    fn check(lines: &[(&'static str, &'static str)], seconds: Option<f64>) {
        let headers = lines.iter().map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        });
        let headers: HeaderMap = headers.collect();
        assert_eq!(
            asked(&headers),
            seconds.map(Duration::from_secs_f64),
            "{lines:?}"
        );
    }

    #[test]
    fn the_wait_is_read_from_every_header_providers_use() {
        const DATE: (&str, &str) = ("date", "Sun, 15 Nov 2026 10:00:00 GMT");
        check(&[], None);
        check(&[("retry-after", "7")], Some(7.0));
        check(&[("retry-after", " 1.5 ")], Some(1.5));
        check(&[("retry-after", "-3")], None);
        check(&[("retry-after", "soon")], None);
        check(
            &[("retry-after-ms", "250"), ("retry-after", "7")],
            Some(0.25),
        );
        check(
            &[("retry-after", "Sun, 15 Nov 2026 10:00:30 GMT"), DATE],
            Some(30.0),
        );
        // A date that is over means now; a date without the provider's clock means nothing.
        check(
            &[("retry-after", "Sun, 15 Nov 2026 09:00:00 GMT"), DATE],
            Some(0.0),
        );
        check(&[("retry-after", "Sun, 15 Nov 2026 10:00:30 GMT")], None);
        check(
            &[
                DATE,
                ("anthropic-ratelimit-requests-remaining", "4"),
                ("anthropic-ratelimit-requests-reset", "2026-11-15T11:00:00Z"),
                ("anthropic-ratelimit-input-tokens-remaining", "0"),
                (
                    "anthropic-ratelimit-input-tokens-reset",
                    "2026-11-15T10:00:12Z",
                ),
            ],
            Some(12.0),
        );
        check(
            &[
                ("x-ratelimit-remaining-requests", "0"),
                ("x-ratelimit-reset-requests", "120ms"),
                ("x-ratelimit-remaining-tokens", "0"),
                ("x-ratelimit-reset-tokens", "6m0s"),
            ],
            Some(360.0),
        );
        check(
            &[
                ("x-ratelimit-remaining-requests", "9"),
                ("x-ratelimit-reset-requests", "1s"),
            ],
            None,
        );
    }
}
