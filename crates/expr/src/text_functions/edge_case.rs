//! Edge's cases: `@poppinss/string`, whose words come from case-anything.
//!
//! Text with a space in it is split at spaces only; other text where the kind of character changes,
//! so that digits are words: `foo2bar` is `foo 2 bar`. Accents are dropped, and then every
//! character that is not a Latin letter or a digit.

use unicode_normalization::UnicodeNormalization as _;

use super::js_text::{is_line_end, is_space, lower, lowered, push_upper, trim};

/// `fooBar`
#[must_use]
pub fn camel(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (place, word) in plain_words(text, "").iter().enumerate() {
        if place == 0 {
            out.push_str(&lowered(word));
        } else {
            push_capitalised(&mut out, word);
        }
    }
    out
}

/// `FooBar`
#[must_use]
pub fn pascal(text: &str) -> String {
    capitalised(&plain_words(text, ""))
}

/// `foo_bar`
#[must_use]
pub fn snake(text: &str) -> String {
    lower(plain_words(text, "_").concat())
}

/// `foo-bar`
#[must_use]
pub fn dash(text: &str) -> String {
    lower(plain_words(text, "-").concat())
}

/// `Foo-Bar`, which is `dashCase(text, { capitalize: true })`
#[must_use]
pub(crate) fn train(text: &str) -> String {
    capitalised(&plain_words(text, "-"))
}

/// `foo.Bar`: letters keep their case.
#[must_use]
pub(crate) fn dot(text: &str) -> String {
    plain_words(text, ".").concat()
}

/// `Foo Bar`; signs between words stay where they are.
#[must_use]
pub(crate) fn capital(text: &str) -> String {
    let text = normal(text);
    let spaced = text.contains(' ');
    let mut out = String::with_capacity(text.len());
    for (place, (sign, word)) in split(&text, spaced).into_iter().enumerate() {
        let sign = if sign.is_empty() && place > 0 {
            " "
        } else {
            sign
        };
        push_capitalised(&mut out, &format!("{sign}{word}"));
    }
    out
}

/// `foo bar`, from ASCII letters and digits alone.
#[must_use]
pub fn no(text: &str) -> String {
    lower(ascii_words(text).join(" "))
}

/// `Foo bar`; the first word keeps its other capitals.
#[must_use]
pub fn sentence(text: &str) -> String {
    let words = ascii_words(text);
    let mut out = String::with_capacity(text.len());
    for (place, word) in words.iter().enumerate() {
        if place == 0 {
            out.push_str(word);
            out[..1].make_ascii_uppercase();
        } else {
            out.push(' ');
            out.push_str(&lowered(word));
        }
    }
    out
}

/// Makes a book title: small words stay small, words with capitals or dots inside stay unchanged.
#[must_use]
pub fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let start = text.len() - rest.len();
        let end = if is_title_break(first) {
            start + first.len_utf8()
        } else {
            start + rest.find(is_title_break).unwrap_or(rest.len())
        };
        rest = &text[end..];
        let token = &text[start..end];
        let at_edge = start == 0 || end == text.len();
        if is_line_end(first) {
            // Upstream's pattern steps over line ends, so they are lost.
            continue;
        }
        if !is_manual(token) && (at_edge || !has_small_word(token)) && !is_before_colon(rest) {
            push_title_word(&mut out, token);
        } else {
            out.push_str(token);
        }
    }
    out
}

/// Words of text with their separators in front, reduced to Latin letters and digits.
fn plain_words(text: &str, separator: &str) -> Vec<String> {
    let text = normal(text);
    let spaced = text.contains(' ');
    split(&text, spaced)
        .into_iter()
        .enumerate()
        .filter_map(|(place, (_, word))| {
            let mut plain = String::with_capacity(separator.len() + word.len());
            if place > 0 {
                plain.push_str(separator);
            }
            let start = plain.len();
            push_plain(&mut plain, word);
            (plain.len() > start).then_some(plain)
        })
        .collect()
}

fn normal(text: &str) -> String {
    let text = trim(text);
    if text.is_ascii() {
        text.to_owned()
    } else {
        text.nfc().collect()
    }
}

fn push_plain(out: &mut String, word: &str) {
    if word.is_ascii() {
        out.extend(word.chars().filter(char::is_ascii_alphanumeric));
    } else {
        out.extend(
            word.nfd()
                .filter(|c| c.is_ascii_alphanumeric() || matches!(c, 'Ø' | 'ß' | 'ø')),
        );
    }
}

/// Returns pairs of the separator before a word, without whitespace, and the word. Text after the
/// last word has an empty word.
fn split(text: &str, spaced: bool) -> Vec<(&str, &str)> {
    let mut pairs = Vec::new();
    let mut done = 0;
    while let Some((start, end)) = next_word(text, done, spaced) {
        pairs.push((trim(&text[done..start]), &text[start..end]));
        done = end;
    }
    let tail = trim(&text[done..]);
    if !tail.is_empty() {
        pairs.push((tail, ""));
    }
    pairs
}

fn next_word(text: &str, from: usize, spaced: bool) -> Option<(usize, usize)> {
    let rest = &text[from..];
    let (start, end) = if spaced {
        let start = rest.find(|c| !is_space(c))?;
        (start, span(rest, start, |c| !is_space(c)))
    } else {
        let start = rest.find(|c| kind(c) != EdgeCharKind::Other)?;
        (start, start + word_len(&rest[start..]))
    };
    Some((from + start, from + end))
}

fn span(text: &str, start: usize, inside: impl Fn(char) -> bool) -> usize {
    text[start..]
        .find(|c| !inside(c))
        .map_or(text.len(), |len| start + len)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EdgeCharKind {
    Small,
    Capital,
    Digit,
    Other,
}

fn kind(c: char) -> EdgeCharKind {
    match c {
        'a'..='z' | 'à'..='ö' | 'ø'..='ÿ' | 'а'..='я' => EdgeCharKind::Small,
        'A'..='Z' | 'À'..='Ö' | 'Ø'..='ß' | 'А'..='Я' => EdgeCharKind::Capital,
        '0'..='9' => EdgeCharKind::Digit,
        _ => EdgeCharKind::Other,
    }
}

/// Returns the length in bytes of the first word: small letters, digits, a capital with small
/// letters, or a run of capitals that leaves its last one to small letters that follow.
fn word_len(text: &str) -> usize {
    let Some(first) = text.chars().next() else {
        return 0;
    };
    let run = span(text, 0, |c| kind(c) == kind(first));
    if kind(first) != EdgeCharKind::Capital {
        return run;
    }
    let small_end = span(text, run, |c| kind(c) == EdgeCharKind::Small);
    if small_end == run {
        return run;
    }
    let last = text[..run].chars().next_back().map_or(0, char::len_utf8);
    if run == last { small_end } else { run - last }
}

fn capitalised(words: &[String]) -> String {
    let mut out = String::new();
    for word in words {
        push_capitalised(&mut out, word);
    }
    out
}

/// Writes the first letter or digit, and everything before it, in capitals; the rest small.
fn push_capitalised(out: &mut String, word: &str) {
    let (before, from) = match word.find(|c| kind(c) != EdgeCharKind::Other) {
        Some(start) => word.split_at(start),
        None => ("", word),
    };
    let mut rest = from.chars();
    out.push_str(&before.to_uppercase());
    if let Some(first) = rest.next() {
        push_upper(out, first);
    }
    out.push_str(&lowered(rest.as_str()));
}

/// Runs of ASCII letters and digits, cut before a capital that starts a word.
fn ascii_words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for run in text.split(|c: char| !c.is_ascii_alphanumeric()) {
        let bytes = run.as_bytes();
        let mut start = 0;
        for place in 1..bytes.len() {
            let next_is_small = bytes.get(place + 1).is_some_and(u8::is_ascii_lowercase);
            let starts_word = bytes[place].is_ascii_uppercase()
                && (!bytes[place - 1].is_ascii_uppercase() || next_is_small);
            if starts_word {
                words.push(&run[start..place]);
                start = place;
            }
        }
        if start < run.len() {
            words.push(&run[start..]);
        }
    }
    words
}

fn is_title_break(c: char) -> bool {
    is_space(c) || matches!(c, ':' | '–' | '—' | '-')
}

/// Returns true if the author has chosen the case: a capital after the first character, or a dot
/// inside.
fn is_manual(token: &str) -> bool {
    let mut chars = token.chars().skip(1).peekable();
    while let Some(c) = chars.next() {
        if c.is_ascii_uppercase() || (c == '.' && chars.peek().is_some()) {
            return true;
        }
    }
    false
}

/// Words a title leaves small, sorted.
#[rustfmt::skip]
const SMALL_IN_TITLES: &[&str] = &[
    "a", "ad", "an", "and", "as", "at", "because", "but", "by", "en", "for", "if", "in",
    "neither", "nor", "of", "on", "only", "or", "over", "per", "so", "some", "than", "that",
    "the", "to", "up", "upon", "v", "versus", "via", "vs", "when", "with", "without", "yet",
];

fn has_small_word(token: &str) -> bool {
    token
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .any(|word| SMALL_IN_TITLES.binary_search(&&*lowered(word)).is_ok())
}

/// Returns true if a colon follows with no space behind it, as in a URL.
fn is_before_colon(rest: &str) -> bool {
    rest.strip_prefix(':')
        .is_some_and(|after| !after.starts_with(is_space))
}

fn push_title_word(out: &mut String, token: &str) {
    let first = token.find(|c: char| c.is_ascii_alphanumeric() || matches!(c, 'À'..='ÿ'));
    let (before, from) = token.split_at(first.unwrap_or(token.len()));
    out.push_str(before);
    let mut rest = from.chars();
    if let Some(first) = rest.next() {
        push_upper(out, first);
    }
    out.push_str(rest.as_str());
}
