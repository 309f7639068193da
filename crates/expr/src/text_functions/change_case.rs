//! The cases of change-case 3: one splitter, many separators.
//!
//! A word ends at anything that is neither letter nor number, before a capital that follows a
//! small letter or a number, and before the last capital of a run when a small letter follows it:
//! `XMLHttpRequest` is `XML Http Request`. A number never starts a word on its own.

use super::js_text::{lower, lower_first, push_lower, push_upper, upper_first};
use super::letters::{LetterKind, letter};

/// `foo bar`
#[must_use]
pub fn no(text: &str) -> String {
    words(text, ' ')
}

/// `fooBar`; a word that starts with a digit is set off with `_`, since it has no capital.
#[must_use]
pub fn camel(text: &str) -> String {
    let spaced = no(text);
    let mut out = String::with_capacity(spaced.len());
    let mut chars = spaced.chars();
    while let Some(c) = chars.next() {
        match (c, chars.clone().next()) {
            (' ', Some(digit)) if digit.is_ascii_digit() => out.push('_'),
            (' ', Some(first)) => {
                push_upper(&mut out, first);
                chars.next();
            }
            _ => out.push(c),
        }
    }
    out
}

/// `FooBar`
#[must_use]
pub fn pascal(text: &str) -> String {
    upper_first(&camel(text))
}

/// `foo_bar`
#[must_use]
pub fn snake(text: &str) -> String {
    words(text, '_')
}

/// `foo-bar`, which Hypergen also calls `kebabCase`
#[must_use]
pub fn param(text: &str) -> String {
    words(text, '-')
}

/// `FOO_BAR`
#[must_use]
pub fn constant(text: &str) -> String {
    upper(&snake(text))
}

/// `foo.bar`
#[must_use]
pub(crate) fn dot(text: &str) -> String {
    words(text, '.')
}

/// `foo/bar`
#[must_use]
pub fn path(text: &str) -> String {
    words(text, '/')
}

/// `Foo-Bar`
#[must_use]
pub fn header(text: &str) -> String {
    capitals_after(&param(text), '-')
}

/// `Foo Bar`
#[must_use]
pub fn title(text: &str) -> String {
    capitals_after(&no(text), ' ')
}

/// `Foo bar`
#[must_use]
pub fn sentence(text: &str) -> String {
    upper_first(&no(text))
}

/// Makes every letter a capital and changes nothing else.
#[must_use]
pub fn upper(text: &str) -> String {
    text.to_uppercase()
}

/// Makes every letter small and changes nothing else.
#[must_use]
pub(crate) fn lower_case(text: &str) -> String {
    text.to_lowercase()
}

/// Makes the first letter a capital and leaves the rest.
#[must_use]
pub(crate) fn first_upper(text: &str) -> String {
    upper_first(text)
}

/// Makes the first letter small and leaves the rest.
#[must_use]
pub(crate) fn first_lower(text: &str) -> String {
    lower_first(text)
}

/// Capitals become small letters and the other way round.
#[must_use]
pub fn swap(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let start = out.len();
        push_upper(&mut out, c);
        if out[start..].chars().eq([c]) {
            out.truncate(start);
            push_lower(&mut out, c);
        }
    }
    out
}

fn words(text: &str, separator: char) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let mut before = LetterKind::None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let this = letter(c);
        if this == LetterKind::None {
            before = this;
            continue;
        }
        let starts_word = match (before, this) {
            (LetterKind::None, _) => true,
            (LetterKind::Small | LetterKind::Number, LetterKind::Capital) => true,
            (LetterKind::Capital, LetterKind::Capital) => chars
                .clone()
                .next()
                .is_some_and(|next| letter(next) == LetterKind::Small),
            _ => false,
        };
        if starts_word && !out.is_empty() {
            out.push(separator);
        }
        out.push(c);
        before = this;
    }
    lower(out)
}

fn capitals_after(text: &str, separator: char) -> String {
    let mut out = String::with_capacity(text.len());
    let mut due = true;
    for c in text.chars() {
        if due {
            push_upper(&mut out, c);
        } else {
            out.push(c);
        }
        due = c == separator;
    }
    out
}
