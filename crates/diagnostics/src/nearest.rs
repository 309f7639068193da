//! The known word that a misspelled one was most likely meant to be.

/// Letters of a word that allow for one slip.
const LETTERS_PER_SLIP: usize = 3;
/// Characters of a word that are compared: the distance costs the product of both lengths.
const COMPARED_CHARS_MAX: usize = 200;

/// Returns the nearest known word, if one is close enough to be worth naming.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold(word);
    let measured = known.into_iter().map(|candidate| {
        let distance = strsim::damerau_levenshtein(&folded, &fold(candidate));
        (distance, candidate)
    });
    let near = measured.filter(|(distance, candidate)| {
        let length = candidate.chars().count().max(folded.chars().count());
        *distance <= (length / LETTERS_PER_SLIP).max(1) && *distance < length
    });
    let (_, nearest) = near.min_by_key(|(distance, _)| *distance)?;
    Some(nearest)
}

/// Returns a hint naming the nearest known word, or all of them when none is near.
pub fn suggestion<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<String> {
    if let Some(found) = nearest(word, known.clone()) {
        return Some(format!("did you mean `{found}`?"));
    }
    let names: Vec<&str> = known.into_iter().collect();
    (!names.is_empty()).then(|| format!("known: {}", names.join(", ")))
}

/// Folds case and separators, which people confuse most: `unless_exists`, `unlessExists` and
/// `unless-exists` are one word.
fn fold(word: &str) -> String {
    word.chars()
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .flat_map(char::to_lowercase)
        .take(COMPARED_CHARS_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{nearest, suggestion};

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let known = [
            "mainFields",
            "relationships",
            "dependsOn",
            "unless_exists",
            "trust",
            "a",
        ];
        for (word, expected) in [
            ("mainfields", Some("mainFields")),
            ("main_fields", Some("mainFields")),
            ("mianFields", Some("mainFields")),
            ("relationship", Some("relationships")),
            ("dependson", Some("dependsOn")),
            ("depends_on", Some("dependsOn")),
            ("unlessExists", Some("unless_exists")),
            ("turst", Some("trust")),
            ("colour", None),
            ("c", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word:?}");
        }
    }

    #[test]
    fn where_nothing_is_near_everything_is_named() {
        let hint = suggestion("wehn", ["when", "then"]);
        assert_eq!(hint.as_deref(), Some("did you mean `when`?"));
        let hint = suggestion("colour", ["when", "then"]);
        assert_eq!(hint.as_deref(), Some("known: when, then"));
        assert_eq!(suggestion("colour", []), None);
    }
}
