//! Edge's plurals: pluralize 8, which keeps the case of the ending it replaces.

use super::edge_plural_rules::{
    IRREGULAR_PLURALS, IRREGULAR_SINGULARS, PLURAL, SINGULAR, UNCOUNTABLE,
};
use super::endings::EndingRule;
use super::js_text::{capital, lowered};

/// `box` to `boxes`, `BOX` to `BOXES`
#[must_use]
pub(crate) fn plural(word: &str) -> String {
    let token = lowered(word);
    if pair(IRREGULAR_PLURALS, &token).is_some() {
        return restore_case(word, &token);
    }
    if let Some(plural) = pair(IRREGULAR_SINGULARS, &token) {
        return restore_case(word, plural);
    }
    if is_fixed(&token) {
        return word.to_owned();
    }
    apply(word, PLURAL).unwrap_or_else(|| with_s(word))
}

/// `boxes` to `box`
#[must_use]
pub(crate) fn singular(word: &str) -> String {
    let token = lowered(word);
    if pair(IRREGULAR_SINGULARS, &token).is_some() {
        return restore_case(word, &token);
    }
    if let Some(singular) = pair(IRREGULAR_PLURALS, &token) {
        return restore_case(word, singular);
    }
    if is_fixed(&token) {
        return word.to_owned();
    }
    apply(word, SINGULAR).unwrap_or_else(|| word.to_owned())
}

/// Returns the singular for one, the plural for any other count.
#[must_use]
pub(crate) fn pluralize(word: &str, count: f64) -> String {
    if count == 1.0 {
        singular(word)
    } else {
        plural(word)
    }
}

fn pair(pairs: &'static [(&str, &str)], word: &str) -> Option<&'static str> {
    let place = pairs.binary_search_by(|(key, _)| (*key).cmp(word)).ok()?;
    pairs.get(place).map(|(_, value)| *value)
}

fn is_fixed(token: &str) -> bool {
    token.is_empty() || UNCOUNTABLE.binary_search(&token).is_ok()
}

fn apply(word: &str, rules: &[EndingRule]) -> Option<String> {
    let (hit, put) = rules.iter().find_map(|rule| {
        rule.find(word)
            .map(|hit| (hit, rule.put.unwrap_or_default()))
    })?;
    let found = &word[hit.start..hit.end];
    let made = format!("{}{put}", &word[hit.start..hit.stem_end]);
    Some(format!(
        "{}{}",
        &word[..hit.start],
        restore_case(found, &made)
    ))
}

/// Adds an `s` when no rule fits, unless the word has one or is not English.
fn with_s(word: &str) -> String {
    match word.chars().next_back() {
        Some('s' | 'S') | None => word.to_owned(),
        Some(last) if !last.is_ascii() => word.to_owned(),
        Some(last) if last.is_ascii_uppercase() => format!("{word}S"),
        Some(_) => format!("{word}s"),
    }
}

/// Writes `text` in the case of `model`: small, capitals, or one capital in front.
fn restore_case(model: &str, text: &str) -> String {
    if model == text {
        return text.to_owned();
    }
    if model == lowered(model) {
        return lowered(text).into_owned();
    }
    if model == model.to_uppercase() {
        return text.to_uppercase();
    }
    let starts_large = model
        .chars()
        .next()
        .is_some_and(|first| first.len_utf16() > 1 || first.to_uppercase().eq([first]));
    if starts_large {
        capital(text)
    } else {
        lowered(text).into_owned()
    }
}
