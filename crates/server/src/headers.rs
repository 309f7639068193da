//! Headers that every answer has.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// The policy for pages: they load their own files, and nothing inline.
const CONTENT_POLICY: &str = "default-src 'self'; object-src 'none'; base-uri 'none'; \
     form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/// Adds what keeps browsers careful. What a handler has set itself stays.
pub(crate) fn harden(headers: &mut HeaderMap, insists_on_https: bool) {
    let always = [
        ("content-security-policy", CONTENT_POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-store"),
    ];
    for (name, value) in always {
        add(headers, name, value);
    }
    if insists_on_https {
        add(
            headers,
            "strict-transport-security",
            "max-age=31536000; includeSubDomains",
        );
    }
}

fn add(headers: &mut HeaderMap, name: &'static str, value: &'static str) {
    let name = HeaderName::from_static(name);
    if !headers.contains_key(&name) {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// Returns the value of a cookie.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).into_iter();
    let texts = all.filter_map(|value| value.to_str().ok());
    let mut pairs = texts.flat_map(|text| text.split(';'));
    pairs.find_map(|pair| {
        let (key, value) = pair.trim().split_once('=')?;
        (key == name).then_some(value)
    })
}
