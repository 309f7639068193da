//! Small pieces of a line: joined text, escaped mustaches, the content type of a tag.

use crate::layout::TemplateLayout;
use crate::lines::is_space;
use crate::scanner::ClosingPattern;

/// Returns the two texts as one slice of the template, if only a line feed is between them.
pub(super) fn contiguous<'s>(whole: &'s str, before: &str, line: &str) -> Option<&'s str> {
    let offset_of = |part: &str| part.as_ptr().addr().checked_sub(whole.as_ptr().addr());
    let (start, next) = (offset_of(before)?, offset_of(line)?);
    let is_next =
        start + before.len() + 1 == next && whole.as_bytes().get(next - 1) == Some(&b'\n');
    is_next.then(|| whole.get(start..next + line.len()))?
}

/// Prints `@{{ x }}` without the `@`; Edge drops line ends inside.
pub(super) fn escaped_mustache(inside: &str, close: ClosingPattern) -> String {
    let inside = inside.replace('\n', "");
    match close {
        ClosingPattern::SafeMustache => format!("{{{{{{{inside}}}}}}}"),
        _ => format!("{{{{{inside}}}}}"),
    }
}

/// Reads Jig's content type after the arguments: `: typescript`.
pub(super) fn suffix(rest: &str, layout: TemplateLayout) -> (Option<&str>, &str) {
    let after = match layout {
        TemplateLayout::Jig => rest.trim_start_matches(is_space).strip_prefix(':'),
        TemplateLayout::Edge => None,
    };
    let Some(after) = after else {
        return (None, rest);
    };
    let after = after.trim_start_matches(is_space);
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '#' | '.' | '-');
    let end = after.find(|c| !is_part(c)).unwrap_or(after.len());
    if !after.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return (None, rest);
    }
    (Some(&after[..end]), &after[end..])
}
