//! Rules for changing a word's ending, and the matching they share.
//!
//! A rule names the stems that stay, the tails that are removed and the tail's replacement. Stems
//! are written with a few signs: `[ab]` is one of these characters, `[^ab]` one other than these, a
//! leading `^` the start of the word, a leading `<` a word boundary, `%` a character that belongs
//! to no word. Letters match in either case.

/// The change of one ending.
pub(super) struct EndingRule {
    stems: &'static [&'static str],
    tails: &'static [&'static str],
    place: EndingAnchor,
    /// Nothing: a word of this kind is already right.
    pub(super) put: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EndingAnchor {
    End,
    Start,
}

/// The match of a rule: `start..stem_end` is the stem, `stem_end..end` the tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EndingMatch {
    pub(super) start: usize,
    pub(super) stem_end: usize,
    pub(super) end: usize,
}

/// Words with this ending stay as they are.
pub(super) const fn keep(
    stems: &'static [&'static str],
    tails: &'static [&'static str],
) -> EndingRule {
    EndingRule {
        stems,
        tails,
        place: EndingAnchor::End,
        put: None,
    }
}

/// Makes a rule that replaces the tail by `put`.
pub(super) const fn swap(
    stems: &'static [&'static str],
    tails: &'static [&'static str],
    put: &'static str,
) -> EndingRule {
    EndingRule {
        stems,
        tails,
        place: EndingAnchor::End,
        put: Some(put),
    }
}

impl EndingRule {
    /// Makes the same rule for words that merely start with stem and tail. Stems are then plain
    /// text.
    pub(super) const fn at_start(self) -> EndingRule {
        EndingRule {
            place: EndingAnchor::Start,
            ..self
        }
    }

    /// Finds the match that starts leftmost.
    pub(super) fn find(&self, word: &str) -> Option<EndingMatch> {
        let mut best: Option<EndingMatch> = None;
        for tail in self.tails {
            let Some(stem_end) = self.tail_start(word, tail) else {
                continue;
            };
            for stem in self.stems {
                let Some(start) = stem_start(&word[..stem_end], stem) else {
                    continue;
                };
                if best.is_none_or(|hit| start < hit.start) {
                    best = Some(EndingMatch {
                        start,
                        stem_end,
                        end: stem_end + tail.len(),
                    });
                }
            }
        }
        best
    }

    fn tail_start(&self, word: &str, tail: &str) -> Option<usize> {
        let start = match self.place {
            EndingAnchor::End => word.len().checked_sub(tail.len())?,
            EndingAnchor::Start => self.stems.first()?.len(),
        };
        let found = word.as_bytes().get(start..start + tail.len())?;
        (found.eq_ignore_ascii_case(tail.as_bytes()) && word.is_char_boundary(start))
            .then_some(start)
    }
}

/// Returns the start of `stem` if `text` ends with it.
fn stem_start(text: &str, stem: &str) -> Option<usize> {
    // Most stems fail at their last letter; a byte is enough to see it.
    if let Some(letter) = stem.bytes().next_back().filter(u8::is_ascii_lowercase)
        && !text
            .bytes()
            .next_back()
            .is_some_and(|last| last.eq_ignore_ascii_case(&letter))
    {
        return None;
    }
    let mut rest = text;
    let mut signs = stem;
    while let Some(sign) = signs.chars().next_back() {
        if signs == "^" {
            return rest.is_empty().then_some(0);
        }
        if signs == "<" {
            return is_boundary(text, rest.len()).then_some(rest.len());
        }
        let (earlier, class) = match sign {
            ']' => signs.rsplit_once('[')?,
            _ => signs.split_at(signs.len() - sign.len_utf8()),
        };
        let c = rest.chars().next_back()?;
        if !is_in(class, c) {
            return None;
        }
        rest = &rest[..rest.len() - c.len_utf8()];
        signs = earlier;
    }
    Some(rest.len())
}

/// Returns true if the class contains the character; `class` is a plain character, `%`, or the
/// inside of brackets with its closing one.
fn is_in(class: &str, c: char) -> bool {
    let c = fold(c);
    if class == "%" {
        !is_word(c)
    } else if let Some(others) = class.strip_prefix('^') {
        !others.trim_end_matches(']').contains(c)
    } else {
        class.trim_end_matches(']').contains(c)
    }
}

/// Folds to small letters for comparison. ASCII and the rest never match, as in a JavaScript
/// `/…/i`.
fn fold(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(small), None) if !small.is_ascii() => small,
        _ => c,
    }
}

fn is_boundary(text: &str, place: usize) -> bool {
    let before = text[..place].chars().next_back().is_some_and(is_word);
    let after = text[place..].chars().next().is_some_and(is_word);
    before != after
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
