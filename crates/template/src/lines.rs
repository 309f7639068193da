//! The lines of a template, and JavaScript's idea of white space and columns.

/// Iterates over lines that end in `\n`, `\r\n` or `\r`, numbered from 1.
///
/// The text after the last line end is a line too, even when it is empty.
#[derive(Clone)]
pub(crate) struct NumberedLines<'s> {
    rest: Option<&'s str>,
    number: u32,
}

impl<'s> NumberedLines<'s> {
    pub(crate) fn new(text: &'s str) -> Self {
        NumberedLines {
            rest: Some(text),
            number: 0,
        }
    }
}

impl<'s> Iterator for NumberedLines<'s> {
    type Item = (u32, &'s str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest?;
        self.number += 1;
        let end = rest.bytes().position(|byte| byte == b'\n' || byte == b'\r');
        let Some(end) = end else {
            self.rest = None;
            return Some((self.number, rest));
        };
        let crlf = rest[end..].starts_with("\r\n");
        self.rest = Some(&rest[end + if crlf { 2 } else { 1 }..]);
        Some((self.number, &rest[..end]))
    }
}

/// Returns true for the characters that JavaScript's `\s` and `trim` take for white space.
pub(crate) fn is_space(c: char) -> bool {
    match c {
        '\u{feff}' => true,
        '\u{85}' => false,
        c => c.is_whitespace(),
    }
}

pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(is_space)
}

pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Returns a length in UTF-16 units, in which columns are counted.
pub(crate) fn units(text: &str) -> u32 {
    let count = if text.is_ascii() {
        text.len()
    } else {
        text.encode_utf16().count()
    };
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Returns the white space a line begins with.
pub(crate) fn indent_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches(is_space).len()]
}
