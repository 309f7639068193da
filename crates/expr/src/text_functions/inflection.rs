//! The word forms of inflection 3: plurals, singulars and Rails' ways of writing names.

use super::endings::EndingRule;
use super::inflection_rules::{PLURAL, REPEAT_FIRST, SINGULAR, SMALL_IN_TITLES, UNCOUNTABLE};
use super::js_text::{capital, lower, lower_first, lowered, parse_int, upper_first};

/// `box` to `boxes`; a plural stays one.
#[must_use]
pub(crate) fn pluralize(word: &str) -> String {
    apply(word, PLURAL)
}

/// `boxes` to `box`; a singular stays one.
#[must_use]
pub(crate) fn singularize(word: &str) -> String {
    apply(word, SINGULAR)
}

/// Returns the singular for one, the plural for any other count; NaN changes nothing.
#[must_use]
pub(crate) fn inflect(word: &str, count: f64) -> String {
    if count.is_nan() {
        word.to_owned()
    } else if count == 1.0 {
        singularize(word)
    } else {
        pluralize(word)
    }
}

/// `message_bus/item` to `MessageBus::Item`
#[must_use]
pub(crate) fn camelize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (place, part) in text.split('/').enumerate() {
        if place > 0 {
            out.push_str("::");
        }
        for (place, word) in part.split('_').enumerate() {
            // The first word keeps its inner capitals, the others lose theirs.
            out.push_str(&if place == 0 {
                upper_first(word)
            } else {
                // Lowering the whole word first decides how a final sigma is written.
                upper_first(&lowered(word))
            });
        }
    }
    out
}

/// `message_bus` to `messageBus`
#[must_use]
pub(crate) fn camelize_small_first(text: &str) -> String {
    let first_word_end = text.find(['/', '_']).unwrap_or(text.len());
    let (first, rest) = text.split_at(first_word_end);
    let mut out = lower_first(first);
    // An empty first word leaves the rest's own separator to `camelize`.
    out.push_str(&camelize(rest));
    out
}

/// `MessageBus::Item` to `message_bus/item`
#[must_use]
pub(crate) fn underscore(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 2);
    for (place, part) in text.split("::").enumerate() {
        if place > 0 {
            out.push('/');
        }
        let start = out.len();
        for c in part.chars() {
            if c.is_ascii_uppercase() {
                out.push('_');
            }
            out.push(c);
        }
        if out[start..].starts_with('_') {
            out.remove(start);
        }
    }
    lower(out)
}

/// `message_id` to `Message`, `user_name` to `User name`
#[must_use]
pub(crate) fn humanize(text: &str) -> String {
    // Lowered twice upstream as well: the first time with the suffix still on.
    capitalize(&humanize_small_first(text))
}

/// `user_name` to `user name`
#[must_use]
pub(crate) fn humanize_small_first(text: &str) -> String {
    let text = lowered(text);
    let stem = text
        .strip_suffix("_ids")
        .or_else(|| text.strip_suffix("_id"))
        .unwrap_or(&text);
    stem.replace('_', " ")
}

/// Makes the first letter a capital and every other small.
#[must_use]
pub(crate) fn capitalize(text: &str) -> String {
    upper_first(&lowered(text))
}

/// `user_name` to `user-name`
#[must_use]
pub(crate) fn dasherize(text: &str) -> String {
    text.replace([' ', '_'], "-")
}

/// `user-name` to `UserName`. An empty word, as in `foo__bar`, has no first letter: an error.
pub(crate) fn undasherize(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    for word in text.split(['-', '_']) {
        if word.is_empty() {
            return Err(format!(
                "`undasherize` needs a letter before and after every dash; \"{text}\" has an empty word."
            ));
        }
        out.push_str(&capital(word));
    }
    Ok(out)
}

/// `message_properties to keep` to `Message UnicodeProperties to Keep`
#[must_use]
pub(crate) fn titleize(text: &str) -> String {
    let text = lowered(text).replace('_', " ");
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive([' ', '-']) {
        let word = piece.trim_end_matches([' ', '-']);
        if SMALL_IN_TITLES.binary_search(&word).is_ok() {
            out.push_str(word);
        } else {
            out.push_str(&capitalize(word));
        }
        out.push_str(&piece[word.len()..]);
    }
    upper_first(&out)
}

/// `Message::Bus` to `Bus`
#[must_use]
pub(crate) fn demodulize(text: &str) -> String {
    // From the left, as upstream splits: `a:::b` ends in `:b`.
    text.split("::").last().unwrap_or_default().to_owned()
}

/// `OrderItem` to `order_items`
#[must_use]
pub(crate) fn tableize(text: &str) -> String {
    pluralize(&underscore(text))
}

/// `order_items` to `OrderItem`
#[must_use]
pub fn classify(text: &str) -> String {
    singularize(&camelize(text))
}

/// `Message::BusProperty` to `bus_property_id`
#[must_use]
pub(crate) fn foreign_key(text: &str) -> String {
    underscore(&demodulize(text)) + "_id"
}

/// `Message::BusProperty` to `bus_propertyid`
#[must_use]
pub(crate) fn foreign_key_joined(text: &str) -> String {
    underscore(&demodulize(text)) + "id"
}

/// `the 1 pitch` to `the 1st pitch`; a word counts as a number when it starts as one.
#[must_use]
pub(crate) fn ordinalize(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 4);
    for (place, word) in text.split(' ').enumerate() {
        if place > 0 {
            out.push(' ');
        }
        out.push_str(word);
        if !parse_int(word).is_nan() {
            out.push_str(ordinal_suffix(word));
        }
    }
    out
}

/// Runs the named functions of this file one after the other; unknown names are passed over.
#[must_use]
pub(crate) fn transform<S: AsRef<str>>(text: &str, names: &[S]) -> String {
    names
        .iter()
        .filter_map(|name| by_name(name.as_ref()))
        .fold(text.to_owned(), |text, function| function(&text))
}

fn by_name(name: &str) -> Option<fn(&str) -> String> {
    Some(match name {
        "pluralize" => pluralize,
        "singularize" => singularize,
        "camelize" => camelize,
        "underscore" => underscore,
        "humanize" => humanize,
        "capitalize" => capitalize,
        "dasherize" => dasherize,
        "titleize" => titleize,
        "demodulize" => demodulize,
        "tableize" => tableize,
        "classify" => classify,
        "foreignKey" => foreign_key,
        "ordinalize" => ordinalize,
        _ => return None,
    })
}

fn apply(word: &str, rules: &[EndingRule]) -> String {
    if UNCOUNTABLE.binary_search(&&*lowered(word)).is_ok() {
        return word.to_owned();
    }
    let matched = rules
        .iter()
        .find_map(|rule| rule.find(word).map(|hit| (hit, rule.put)));
    let Some((hit, Some(put))) = matched else {
        return word.to_owned();
    };
    let stem = &word[hit.start..hit.stem_end];
    let mut out = String::with_capacity(word.len() + put.len());
    out.push_str(&word[..hit.stem_end]);
    match put.strip_prefix(REPEAT_FIRST) {
        Some(put) => {
            out.extend(stem.chars().next());
            out.push_str(put);
        }
        None => out.push_str(put),
    }
    out.push_str(&word[hit.end..]);
    out
}

fn ordinal_suffix(digits: &str) -> &'static str {
    if ["11", "12", "13"].iter().any(|teen| digits.ends_with(teen)) {
        return "th";
    }
    match digits.as_bytes().last() {
        Some(b'1') => "st",
        Some(b'2') => "nd",
        Some(b'3') => "rd",
        _ => "th",
    }
}
