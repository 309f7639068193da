//! The known word that a mistyped one was probably meant to be.

/// Beyond this share of differing letters, a guess would only confuse.
const DISTANCE_SHARE_MAX: f64 = 0.4;

/// The one of `known` closest to `given`, if any is close enough to be worth naming.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |word: &str| 1.0 - strsim::normalized_damerau_levenshtein(given, word);
    let best = known
        .into_iter()
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    (distance(best) <= DISTANCE_SHARE_MAX).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_different_word_is_not() {
        let known = ["on_conflict", "trust", "dirs"];
        assert_eq!(nearest("on_conflit", known), Some("on_conflict"));
        assert_eq!(nearest("turst", known), Some("trust"));
        assert_eq!(nearest("colour", known), None);
    }
}
