//! The turns of phrase that read as translated, and how often a text uses them.

/// Each is a phrase a reader has to read twice; style rule 8 says what to write instead. The last
/// word of a phrase may be followed by anything but the words of `PLAIN_AFTER`.
const IDIOMS: [&str; 25] = [
    "whoever",
    "somebody",
    "nobody",
    "anybody",
    "everybody",
    "it is looked",
    "is looked at",
    "are looked at",
    "is looked for",
    "is looked through",
    "are looked through",
    "is looked up again",
    "came of",
    "comes of",
    "become of",
    "becomes of",
    "became of",
    "is none",
    "are none",
    "was none",
    "come further",
    "for want of",
    "nothing where",
    "stands",
    "is to be had",
];

/// `stands for` is plain English, and so is a tag that `stands alone`.
const PLAIN_AFTER: [&str; 4] = [" for ", " alone", "-in", " out"];

/// Relative clauses in the place of a noun: `what is cached is kept`.
const CLAUSE_VERBS: [&str; 4] = ["is", "was", "are", "were"];
/// Most words between the two verbs of such a clause.
const CLAUSE_WORDS_MAX: usize = 5;

/// Openings of a comment that hide who does what.
const ODD_OPENINGS: [&str; 5] = ["What ", "Whoever ", "Whether ", "Whose ", "Whom "];

/// Counts the idioms of the list, ignoring case; a phrase counts only as whole words.
pub(super) fn count(text: &str) -> usize {
    let text = text.to_lowercase();
    let found = IDIOMS.iter().map(|idiom| {
        let places = text.match_indices(idiom);
        places
            .filter(|(at, _)| is_idiom(&text, *at, idiom.len()))
            .count()
    });
    found.sum::<usize>() + text.lines().map(count_clauses).sum::<usize>()
}

/// Counts the idioms of a literal. One word alone is a value, not a sentence.
pub(super) fn count_in_string(text: &str) -> usize {
    match text.contains(' ') {
        true => count(text),
        false => 0,
    }
}

/// Recognises a doc or plain comment whose first word is one of the odd openings.
pub(super) fn opens_oddly(comment: &str) -> bool {
    let text = comment.trim_start().trim_start_matches(['/', '!', '*']);
    let text = text.trim_start();
    ODD_OPENINGS.iter().any(|opening| text.starts_with(opening))
}

fn is_idiom(text: &str, at: usize, length: usize) -> bool {
    let rest = text.get(at + length..).unwrap_or_default();
    is_whole(text, at, length) && !PLAIN_AFTER.iter().any(|plain| rest.starts_with(plain))
}

/// A word in backticks is a value.
fn is_whole(text: &str, at: usize, length: usize) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphabetic() || c == '`');
    let before = text.get(..at).and_then(|head| head.chars().next_back());
    let after = text.get(at + length..).and_then(|tail| tail.chars().next());
    !is_letter(before) && !is_letter(after)
}

/// Counts `what is … is` inside the sentences of one line, which is in lower case.
fn count_clauses(line: &str) -> usize {
    let sentences = line.split(['.', ';', ',', ':', '?', '|']);
    let count = sentences.map(|sentence| {
        let words: Vec<&str> = sentence.split_whitespace().collect();
        let starts = (0..words.len()).filter(|at| is_clause(&words[*at..]));
        starts.count()
    });
    count.sum()
}

fn is_clause(words: &[&str]) -> bool {
    let is_verb = |word: &&&str| CLAUSE_VERBS.contains(*word);
    let opens = words.first() == Some(&"what") && words.get(1).as_ref().is_some_and(is_verb);
    let last = words.len().min(CLAUSE_WORDS_MAX + 3);
    opens
        && words
            .get(3..last)
            .unwrap_or_default()
            .iter()
            .any(|word| is_verb(&word))
}
