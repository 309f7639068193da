//! Entity codes: `#quot;` and `#35;` in a label mean a character.

use crate::chars::is_word;
use crate::lexer::entity;

/// Decodes a label for people: entity codes are characters, and HTML entities with them.
///
/// A code that names nothing stays, in the form it is shown in: `#foo;` is `&foo;`.
pub(crate) fn decode(raw: &str) -> String {
    if !raw.contains(['#', '&']) {
        return raw.to_owned();
    }
    let mut html = String::with_capacity(raw.len());
    let mut rest = raw;
    let mut coded = false;
    while let Some(at) = rest.find('#') {
        html.push_str(&rest[..at]);
        rest = &rest[at..];
        let bytes = entity(rest).unwrap_or(0);
        if bytes == 0 {
            html.push('#');
            rest = &rest[1..];
            continue;
        }
        coded = true;
        let name = &rest[1..bytes - 1];
        let number = name.bytes().all(|b| b.is_ascii_digit());
        html.push_str(if number { "&#" } else { "&" });
        html.push_str(name);
        html.push(';');
        rest = &rest[bytes..];
    }
    html.push_str(rest);
    if !coded && !html.contains('&') {
        return html;
    }
    htmlize::unescape(html.as_str()).into_owned()
}

/// Writes a label so that it reads back unchanged: `must` says which characters have to be encoded,
/// besides those that would begin an entity.
pub(crate) fn encode(text: &str, must: impl Fn(usize, char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let rest = &text[at + c.len_utf8()..];
        let ambiguous = match c {
            '#' => entity(&text[at..]).is_some(),
            '&' => rest.starts_with(|c| is_word(c) || c == '#'),
            _ => false,
        };
        if c == '"' && (ambiguous || must(at, c)) {
            out.push_str("#quot;");
        } else if ambiguous || must(at, c) {
            out.push_str(&format!("#{};", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}
