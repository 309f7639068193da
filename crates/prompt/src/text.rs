//! Small text rules shared by questions, messages and documents: tidying and shortening.

use crate::limits::SHOWN_CHARS_MAX;
use serde_json::Value;

/// Removes what only the template's layout put there: surrounding blank lines, common indentation
/// and CRLF line ends. Two templates that differ in layout alone thus ask the same question.
pub(crate) fn tidy(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let lines: Vec<&str> = text
        .lines()
        .skip_while(|line| line.trim().is_empty())
        .collect();
    let indent = common_indent(&lines);
    let mut tidied = String::with_capacity(text.len());
    for line in lines {
        tidied.push_str(line.get(indent..).unwrap_or_default());
        tidied.push('\n');
    }
    tidied.truncate(tidied.trim_end().len());
    tidied
}

/// Formats a value for a message: compact JSON, shortened.
pub(crate) fn shown(value: &Value) -> String {
    shorten(&value.to_string())
}

/// Shortens a text to `SHOWN_CHARS_MAX` characters on one line.
pub(crate) fn shorten(text: &str) -> String {
    let mut short: String = text
        .chars()
        .take(SHOWN_CHARS_MAX)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(SHOWN_CHARS_MAX).is_some() {
        short.push('…');
    }
    short
}

/// Lists at most `limit` values: `"a", "b" and 3 more`.
pub(crate) fn listed<'a>(values: impl ExactSizeIterator<Item = &'a Value>, limit: usize) -> String {
    let more = values.len().saturating_sub(limit);
    let mut list = values.take(limit).map(shown).collect::<Vec<_>>().join(", ");
    if more > 0 {
        list.push_str(&format!(" and {more} more"));
    }
    list
}

/// Returns the number of leading bytes that every line with content shares as white space.
fn common_indent(lines: &[&str]) -> usize {
    let mut filled = lines.iter().filter(|line| !line.trim().is_empty());
    let Some(first) = filled.next() else {
        return 0;
    };
    let mut shared = &first[..first.len() - first.trim_start().len()];
    for line in filled {
        let same = shared
            .char_indices()
            .zip(line.chars())
            .find(|((_, a), b)| a != b)
            .map_or_else(|| shared.len().min(line.len()), |((at, _), _)| at);
        shared = &shared[..same];
    }
    shared.len()
}

#[cfg(test)]
mod tests {
    use super::{shorten, tidy};

    #[test]
    fn tidying_removes_layout_and_keeps_shape() {
        for (given, expected) in [
            ("", ""),
            (" \n\t\n", ""),
            ("  one  ", "one"),
            ("\n    a\n      b\n\n    c\n  ", "a\n  b\n\nc"),
            ("a\n  b", "a\n  b"),
            ("\ta\r\n\tb\r\n", "a\nb"),
            ("  a\n\tb", "  a\n\tb"),
            ("\u{a0}é\n\u{a0}b", "é\nb"),
            ("    a\n \n    b", "a\n\nb"),
        ] {
            assert_eq!(tidy(given), expected, "{given:?}");
        }
    }

    #[test]
    fn shortening_counts_characters_and_keeps_one_line() {
        assert_eq!(shorten("a\nb"), "a b");
        assert_eq!(shorten(&"é".repeat(161)).chars().count(), 161);
        assert_eq!(shorten(&"é".repeat(160)), "é".repeat(160));
    }
}
