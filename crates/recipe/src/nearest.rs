//! The known word that was most likely meant.

/// How far a word may be from a known one and still be taken for a slip, per this many letters.
const LETTERS_PER_SLIP: usize = 3;

/// The nearest known word, if one is close enough to be worth naming.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold(word);
    known
        .into_iter()
        .map(|candidate| (distance(&folded, &fold(candidate)), candidate))
        .filter(|(distance, candidate)| {
            *distance <= (word.len().max(candidate.len()) / LETTERS_PER_SLIP).max(1)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A hint naming the nearest known word, or all of them when none is near and they are few.
pub(crate) fn suggestion<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<String> {
    if let Some(found) = nearest(word, known.clone()) {
        return Some(format!("did you mean `{found}`?"));
    }
    let names: Vec<&str> = known.into_iter().collect();
    (!names.is_empty()).then(|| format!("known: {}", names.join(", ")))
}

/// `unless_exists`, `unlessExists` and `unless-exists` are one word misspelled.
fn fold(word: &str) -> String {
    word.chars()
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}

fn distance(left: &str, right: &str) -> usize {
    strsim::damerau_levenshtein(left, right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let known = ["dependsOn", "when", "unless_exists"];
        for (word, expected) in [
            ("dependson", Some("dependsOn")),
            ("depends_on", Some("dependsOn")),
            ("wehn", Some("when")),
            ("unlessExists", Some("unless_exists")),
            ("colour", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }
}
