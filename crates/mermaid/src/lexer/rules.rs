//! The rules without a state: words, marks, parts of ids and links.

use super::{Found, State};
use crate::chars::{is_letter, is_space, is_word};
use crate::token::Kind;

pub(super) const WORDS: [(&str, Kind); 16] = [
    ("style", Kind::Style),
    ("default", Kind::Default),
    ("linkStyle", Kind::LinkStyle),
    ("interpolate", Kind::Interpolate),
    ("classDef", Kind::ClassDef),
    ("class", Kind::Class),
    ("flowchart-elk", Kind::Graph),
    ("swimlane-beta", Kind::Graph),
    ("graph", Kind::Graph),
    ("flowchart", Kind::Graph),
    ("subgraph", Kind::Subgraph),
    ("end", Kind::EndWord),
    ("_self", Kind::LinkTarget),
    ("_blank", Kind::LinkTarget),
    ("_parent", Kind::LinkTarget),
    ("_top", Kind::LinkTarget),
];

pub(super) const OPENINGS: [(&str, Kind, Option<State>); 9] = [
    ("(-", Kind::EllipseOpen, Some(State::Ellipse)),
    ("([", Kind::StadiumOpen, Some(State::Text)),
    ("[[", Kind::SubroutineOpen, Some(State::Text)),
    ("[|", Kind::PropertyOpen, None),
    (">", Kind::TagEnd, Some(State::Text)),
    ("[(", Kind::CylinderOpen, Some(State::Text)),
    ("(((", Kind::TripleOpen, Some(State::Text)),
    ("[/", Kind::SlashOpen, Some(State::Slanted)),
    ("[\\", Kind::BackslashOpen, Some(State::Slanted)),
];

pub(super) const CLOSINGS: [(&str, Kind); 8] = [
    ("])", Kind::StadiumClose),
    ("]]", Kind::SubroutineClose),
    (")]", Kind::CylinderClose),
    (")))", Kind::TripleClose),
    ("|", Kind::Pipe),
    (")", Kind::ParenClose),
    ("]", Kind::SquareClose),
    ("}", Kind::BraceClose),
];

/// Whether a word is a token of its own and no part of an id.
pub(crate) fn is_reserved(word: &str) -> bool {
    WORDS.iter().any(|(reserved, _)| *reserved == word)
}

pub(super) fn starts_word(rest: &str, word: &str) -> bool {
    rest.strip_prefix(word)
        .is_some_and(|after| !after.starts_with(is_word))
}

pub(super) fn word_and_space(rest: &str, word: &str) -> Option<usize> {
    let after = rest.strip_prefix(word)?;
    let space = after.find(|c| !is_space(c)).unwrap_or(after.len());
    (space > 0).then_some(word.len() + space)
}

/// Numbers and the marks that come before links.
pub(super) fn marks(rest: &str) -> Found {
    let first = rest.chars().next()?;
    if first.is_ascii_digit() {
        let bytes = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        return Some((bytes, Some(Kind::Num)));
    }
    if rest.starts_with(":::") {
        return Some((3, Some(Kind::ClassSeparator)));
    }
    let kind = match first {
        '#' if entity(rest).is_some() => return None,
        '#' => Kind::Hash,
        ':' => Kind::Colon,
        '&' => Kind::Amp,
        ';' => Kind::Semi,
        ',' => Kind::Comma,
        '*' => Kind::Mult,
        _ => return None,
    };
    Some((1, Some(kind)))
}

pub(super) fn late_marks(rest: &str) -> Found {
    if rest.starts_with("\\|") {
        return Some((2, Some(Kind::BackslashPipe)));
    }
    if starts_word(rest, "v") {
        return Some((1, Some(Kind::Down)));
    }
    match rest.as_bytes().first()? {
        b'<' => Some((1, Some(Kind::TagStart))),
        b'^' => Some((1, Some(Kind::Up))),
        _ => None,
    }
}

/// A part of an id. An entity code cannot stand in one.
pub(super) fn id_part(rest: &str) -> Found {
    let mut bytes = 0;
    let mut chars = rest.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let fits = match c {
            '-' => next.is_some_and(|next| !matches!(next, '>' | '-' | '.')),
            '#' => entity(&rest[at..]).is_none(),
            c => c.is_ascii_alphanumeric() || "!\"$%&'*+.`?\\_/".contains(c),
        };
        if !fits {
            break;
        }
        bytes = at + c.len_utf8();
    }
    if bytes > 0 {
        return Some((bytes, Some(Kind::NodeString)));
    }
    let first = rest.chars().next()?;
    if first == '-' {
        return Some((1, Some(Kind::Minus)));
    }
    is_letter(first).then_some((first.len_utf8(), Some(Kind::UnicodeText)))
}

pub(super) fn blank(rest: &str) -> Found {
    if rest.is_empty() {
        return Some((0, Some(Kind::Eof)));
    }
    let newlines = rest.find(|c| c != '\n').unwrap_or(rest.len());
    if newlines > 0 {
        return Some((newlines, Some(Kind::Newline)));
    }
    let space = |c: char| is_space(c) && !matches!(c, '\n' | '\r');
    let bytes = rest.find(|c| !space(c)).unwrap_or(rest.len());
    (bytes > 0).then_some((bytes, Some(Kind::Space)))
}

/// The length of `#name;` or `#35;`.
pub(crate) fn entity(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix('#')?;
    let name = after.find(|c| !is_word(c)).unwrap_or(after.len());
    (name > 0 && after[name..].starts_with(';')).then_some(name + 2)
}

/// `--` or more with a head, or `---` or more without one; the same for `==`.
pub(super) fn solid(head: &str, line: char) -> Option<usize> {
    let bytes = head.find(|c| c != line).unwrap_or(head.len());
    if bytes < 2 {
        return None;
    }
    if head[bytes..].starts_with(['x', 'o', '>']) {
        return Some(bytes + 1);
    }
    (bytes > 2).then_some(bytes)
}

/// `-.-`, `.-` and longer, with or without a head.
pub(super) fn dotted(head: &str) -> Option<usize> {
    let line = head.strip_prefix('-').unwrap_or(head);
    let after = line.trim_start_matches('.');
    if after.len() == line.len() {
        return None;
    }
    let tail = after.strip_prefix('-')?;
    let tail = tail.strip_prefix(['x', 'o', '>']).unwrap_or(tail);
    Some(head.len() - tail.len())
}

/// `~~~` or longer.
pub(super) fn waves(head: &str) -> Option<usize> {
    let bytes = head.find(|c| c != '~').unwrap_or(head.len());
    (bytes > 2).then_some(bytes)
}
