//! The turns of phrase that read as translated, and how often a text uses them.

/// Each is a phrase a reader has to read twice; style rule 8 says what to write instead.
const IDIOMS: [&str; 14] = [
    "whoever",
    "somebody",
    "nobody",
    "anybody",
    "it is looked",
    "is looked for",
    "is looked up again",
    "came of",
    "comes of",
    "become of",
    "becomes of",
    "is none",
    "are none",
    "come further",
];

/// Openings of a comment that hide who does what.
const ODD_OPENINGS: [&str; 5] = ["What ", "Whoever ", "Whether ", "Whose ", "Whom "];

/// Counts the idioms of the list, ignoring case; a phrase counts only as whole words.
pub(super) fn count(text: &str) -> usize {
    let text = text.to_lowercase();
    let found = IDIOMS.iter().map(|idiom| {
        let places = text.match_indices(idiom);
        places
            .filter(|(at, _)| is_whole(&text, *at, idiom.len()))
            .count()
    });
    found.sum()
}

/// Recognises a doc or plain comment whose first word is one of the odd openings.
pub(super) fn opens_oddly(comment: &str) -> bool {
    let text = comment.trim_start().trim_start_matches(['/', '!', '*']);
    let text = text.trim_start();
    ODD_OPENINGS.iter().any(|opening| text.starts_with(opening))
}

fn is_whole(text: &str, at: usize, length: usize) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    let before = text.get(..at).and_then(|head| head.chars().next_back());
    let after = text.get(at + length..).and_then(|tail| tail.chars().next());
    !is_letter(before) && !is_letter(after)
}
