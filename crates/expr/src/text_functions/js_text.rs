//! JavaScript's notions of text and numbers, where they differ from Rust's.

use std::borrow::Cow;

/// Returns true for the characters that `\s` and `trim` take for whitespace: a byte order mark, but
/// not U+0085.
pub(super) fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t'..='\r'
            | ' '
            | '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{3000}'
            | '\u{feff}'
    )
}

/// Returns true for the characters that `.` does not match.
pub(super) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `text.toLowerCase()`, in place where that is possible.
pub(super) fn lower(mut text: String) -> String {
    if text.is_ascii() {
        text.make_ascii_lowercase();
        text
    } else {
        text.to_lowercase()
    }
}

/// `text.toLowerCase()` without a copy where it would change nothing.
pub(super) fn lowered(text: &str) -> Cow<'_, str> {
    if text
        .bytes()
        .all(|b| b.is_ascii() && !b.is_ascii_uppercase())
    {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.to_lowercase())
    }
}

/// `c.toUpperCase()` for one UTF-16 unit: half of a surrogate pair has no other case.
pub(super) fn push_upper(out: &mut String, c: char) {
    if c.len_utf16() == 1 {
        out.extend(c.to_uppercase());
    } else {
        out.push(c);
    }
}

/// `c.toLowerCase()` for one UTF-16 unit.
pub(super) fn push_lower(out: &mut String, c: char) {
    if c.len_utf16() == 1 {
        out.extend(c.to_lowercase());
    } else {
        out.push(c);
    }
}

/// `text.charAt(0).toUpperCase() + text.slice(1)`
pub(super) fn upper_first(text: &str) -> String {
    with_first(text, push_upper)
}

/// `text.charAt(0).toLowerCase() + text.slice(1)`
pub(super) fn lower_first(text: &str) -> String {
    with_first(text, push_lower)
}

fn with_first(text: &str, push: fn(&mut String, char)) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    if let Some(first) = rest.next() {
        push(&mut out, first);
    }
    out.push_str(rest.as_str());
    out
}

/// `text.charAt(0).toUpperCase() + text.slice(1).toLowerCase()`
pub(super) fn capital(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    if let Some(first) = rest.next() {
        push_upper(&mut out, first);
    }
    out.push_str(&lowered(rest.as_str()));
    out
}

/// `text.length`
pub(super) fn units(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.chars().map(char::len_utf16).sum()
    }
}

/// `String(number)`
pub(super) fn print(number: f64) -> String {
    ryu_js::Buffer::new().format(number).to_owned()
}

/// `parseInt(text, 10)`: the number the text opens with, else NaN.
pub(super) fn parse_int(text: &str) -> f64 {
    let (sign, digits) = signed(text.trim_start_matches(is_space));
    sign * leading(digits, 10)
}

/// `parseInt(text)`, which reads `0x1f` too.
pub(super) fn parse_int_or_hex(text: &str) -> f64 {
    let (sign, digits) = signed(text.trim_start_matches(is_space));
    match strip_radix(digits, "xX") {
        Some(hex) => sign * leading(hex, 16),
        None => sign * leading(digits, 10),
    }
}

/// `Number(text)`
pub(super) fn number(text: &str) -> f64 {
    let text = trim(text);
    if text.is_empty() {
        return 0.0;
    }
    for (letters, radix) in [("xX", 16), ("oO", 8), ("bB", 2)] {
        if let Some(digits) = strip_radix(text, letters) {
            let whole = digits.chars().all(|c| c.is_digit(radix));
            return if whole {
                leading(digits, radix)
            } else {
                f64::NAN
            };
        }
    }
    match signed(text) {
        (sign, "Infinity") => sign * f64::INFINITY,
        // Rust also reads `inf` and `nan`, which JavaScript does not.
        (_, digits) if digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
            text.parse().unwrap_or(f64::NAN)
        }
        _ => f64::NAN,
    }
}

fn strip_radix<'a>(text: &'a str, letters: &str) -> Option<&'a str> {
    let rest = text.strip_prefix('0')?;
    let mut chars = rest.chars();
    letters.contains(chars.next()?).then_some(chars.as_str())
}

fn signed(text: &str) -> (f64, &str) {
    if let Some(rest) = text.strip_prefix('-') {
        (-1.0, rest)
    } else {
        (1.0, text.strip_prefix('+').unwrap_or(text))
    }
}

/// Returns the number made of the digits that open the text, or NaN.
fn leading(text: &str, radix: u32) -> f64 {
    let end = text
        .find(|c: char| !c.is_digit(radix))
        .unwrap_or(text.len());
    let digits = &text[..end];
    if digits.is_empty() {
        f64::NAN
    } else if radix == 10 {
        digits.parse().unwrap_or(f64::NAN)
    } else {
        let radix_value = f64::from(radix);
        digits
            .chars()
            .filter_map(|c| c.to_digit(radix))
            .fold(0.0, |sum, digit| sum * radix_value + f64::from(digit))
    }
}
