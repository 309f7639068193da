//! URLs with values in them: each value is encoded for the part that contains it.

use expr::InterpolationPiece;
use reqwest::Url;

/// The part of a URL that a value is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UrlPart {
    /// The scheme, the user, the host or the port.
    Origin,
    Path,
    /// The query or the fragment.
    Query,
}

/// A URL's text as its author wrote it, with the part of the URL each value is in.
pub(crate) struct UrlTemplate<'t> {
    pieces: Vec<(InterpolationPiece<'t>, UrlPart)>,
}

const ORIGIN_HINT: &str = "write the host in the text, or make the whole URL one expression: \
    `\"{{ input.base + '/path' }}\"`";

/// Returns the problem of a URL's text, if it has one.
pub(crate) fn url_problem(text: &str) -> Option<String> {
    UrlTemplate::read(text).err()
}

impl<'t> UrlTemplate<'t> {
    /// Finds the part of the URL that contains each value.
    pub(crate) fn read(text: &'t str) -> Result<UrlTemplate<'t>, String> {
        let pieces = expr::pieces(text.trim()).map_err(|cause| format!("`url`: {cause}."))?;
        let mut read = Vec::new();
        let mut before = String::new();
        for piece in pieces {
            let part = part_after(&before);
            match piece {
                InterpolationPiece::Text(text) => before.push_str(text),
                InterpolationPiece::Expression { source, .. } if is_secret(source) => {
                    return Err(format!(
                        "`url` must not have `{{{{{source}}}}}`: addresses are logged and kept. Send secrets \
                         in `headers` or `body`."
                    ));
                }
                InterpolationPiece::Expression { .. } => {}
            }
            read.push((piece, part));
        }
        let is_whole = matches!(read[..], [(InterpolationPiece::Expression { .. }, _)]);
        let origin = read.iter().find_map(|(piece, part)| match piece {
            InterpolationPiece::Expression { source, .. } if *part == UrlPart::Origin => {
                Some(source.trim())
            }
            _ => None,
        });
        match origin {
            Some(source) if !is_whole => Err(format!(
                "`url`: `{{{{{source}}}}}` is part of the scheme, host or port, which a value cannot be a \
                 part of; {ORIGIN_HINT}."
            )),
            _ => Ok(UrlTemplate { pieces: read }),
        }
    }

    /// Makes the URL with its values.
    pub(crate) fn fill(
        &self,
        value: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Url, String> {
        let is_whole = matches!(
            self.pieces[..],
            [(InterpolationPiece::Expression { .. }, _)]
        );
        let mut text = String::new();
        for (piece, _) in &self.pieces {
            match piece {
                InterpolationPiece::Text(own) => text.push_str(own),
                InterpolationPiece::Expression { source, .. } => {
                    let value = value(source)?;
                    match is_whole {
                        true => text.push_str(value.trim()),
                        false => text.push_str(&encoded(&value)),
                    }
                }
            }
        }
        if !is_whole {
            check_segments(&text)?;
        }
        Url::parse(&text).map_err(|cause| format!("The address is no URL: {cause}."))
    }
}

/// Returns true if an expression names a secret: `secrets.NAME`.
fn is_secret(source: &str) -> bool {
    let source = source.trim();
    source == "secrets" || source.starts_with("secrets.") || source.starts_with("secrets[")
}

/// Returns the part of a URL that follows this beginning.
fn part_after(before: &str) -> UrlPart {
    let Some((_, rest)) = before.split_once("://") else {
        return UrlPart::Origin;
    };
    match rest.find(['/', '?', '#', '\\']) {
        None => UrlPart::Origin,
        Some(_) if rest.contains(['?', '#']) => UrlPart::Query,
        Some(_) => UrlPart::Path,
    }
}

/// Encodes a value as one path segment, or as one value of a query.
fn encoded(value: &str) -> String {
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// Refuses segments that a URL parser would take for a way up. They cannot be encoded: `%2e%2e`
/// means the same.
fn check_segments(url: &str) -> Result<(), String> {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let dots = url[..end].split(['/', '\\']).any(|segment| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        matches!(plain.as_str(), "." | "..")
    });
    match dots {
        true => Err("`.` or `..` cannot be a path segment of `url`.".to_owned()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, value: &str) -> Result<String, String> {
        let target = UrlTemplate::read(text)?;
        let url = target.fill(|_| Ok(value.to_owned()))?;
        Ok(url.to_string())
    }

    #[test]
    fn values_stay_in_their_part() {
        for (text, value, expected) in [
            (
                "https://a.example/v1/{{x}}/y",
                "../admin?x=1",
                "https://a.example/v1/..%2Fadmin%3Fx%3D1/y",
            ),
            (
                "https://a.example/v1/{{x}}",
                "a b/../c?&\"x",
                "https://a.example/v1/a%20b%2F..%2Fc%3F%26%22x",
            ),
            (
                "https://a.example/?q={{x}}&r=1",
                "a&r=2#f",
                "https://a.example/?q=a%26r%3D2%23f&r=1",
            ),
            (
                "https://a.example?{{x}}=1",
                "é",
                "https://a.example/?%C3%A9=1",
            ),
            (
                "https://a.example/#{{x}}",
                "a b",
                "https://a.example/#a%20b",
            ),
            ("{{ x }}", "https://b.example/p?q", "https://b.example/p?q"),
            (
                "https://a.example/v1/{{x}}.json",
                "..",
                "https://a.example/v1/...json",
            ),
        ] {
            assert_eq!(check(text, value).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn values_choose_no_host_and_go_no_way_up() {
        for (text, value, reason) in [
            ("https://{{x}}/a", "h", "scheme, host or port"),
            ("https://a.example:{{x}}/a", "80", "scheme, host or port"),
            ("https://a.example{{x}}/a", "@b", "scheme, host or port"),
            ("{{x}}/a", "https://b.example", "scheme, host or port"),
            ("{{x}}://a.example/", "https", "scheme, host or port"),
            ("https://a.example/v1/{{x}}/secret", "..", "path segment"),
            ("https://a.example/v1/.{{x}}/secret", ".", "path segment"),
            ("https://a.example/{{secrets.KEY}}", "", "headers"),
            ("{{x}}", "no url", "is no URL"),
        ] {
            let found = check(text, value).unwrap_err();
            assert!(found.contains(reason), "{text}: {found}");
        }
    }
}
