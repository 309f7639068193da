//! The rules without a state: words, marks, parts of ids and links.

use super::{LexerState, TokenMatch};
use crate::chars::{is_letter, is_space, is_word};
use crate::token::DiagramTokenKind;

pub(super) const WORDS: [(&str, DiagramTokenKind); 16] = [
    ("style", DiagramTokenKind::Style),
    ("default", DiagramTokenKind::Default),
    ("linkStyle", DiagramTokenKind::LinkStyle),
    ("interpolate", DiagramTokenKind::Interpolate),
    ("classDef", DiagramTokenKind::ClassDef),
    ("class", DiagramTokenKind::Class),
    ("flowchart-elk", DiagramTokenKind::Graph),
    ("swimlane-beta", DiagramTokenKind::Graph),
    ("graph", DiagramTokenKind::Graph),
    ("flowchart", DiagramTokenKind::Graph),
    ("subgraph", DiagramTokenKind::Subgraph),
    ("end", DiagramTokenKind::EndWord),
    ("_self", DiagramTokenKind::LinkTarget),
    ("_blank", DiagramTokenKind::LinkTarget),
    ("_parent", DiagramTokenKind::LinkTarget),
    ("_top", DiagramTokenKind::LinkTarget),
];

pub(super) const OPENINGS: [(&str, DiagramTokenKind, Option<LexerState>); 9] = [
    (
        "(-",
        DiagramTokenKind::EllipseOpen,
        Some(LexerState::Ellipse),
    ),
    ("([", DiagramTokenKind::StadiumOpen, Some(LexerState::Text)),
    (
        "[[",
        DiagramTokenKind::SubroutineOpen,
        Some(LexerState::Text),
    ),
    ("[|", DiagramTokenKind::PropertyOpen, None),
    (">", DiagramTokenKind::TagEnd, Some(LexerState::Text)),
    ("[(", DiagramTokenKind::CylinderOpen, Some(LexerState::Text)),
    ("(((", DiagramTokenKind::TripleOpen, Some(LexerState::Text)),
    ("[/", DiagramTokenKind::SlashOpen, Some(LexerState::Slanted)),
    (
        "[\\",
        DiagramTokenKind::BackslashOpen,
        Some(LexerState::Slanted),
    ),
];

pub(super) const CLOSINGS: [(&str, DiagramTokenKind); 8] = [
    ("])", DiagramTokenKind::StadiumClose),
    ("]]", DiagramTokenKind::SubroutineClose),
    (")]", DiagramTokenKind::CylinderClose),
    (")))", DiagramTokenKind::TripleClose),
    ("|", DiagramTokenKind::Pipe),
    (")", DiagramTokenKind::ParenClose),
    ("]", DiagramTokenKind::SquareClose),
    ("}", DiagramTokenKind::BraceClose),
];

/// True if a word is a token of its own and no part of an id.
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
pub(super) fn marks(rest: &str) -> TokenMatch {
    let first = rest.chars().next()?;
    if first.is_ascii_digit() {
        let bytes = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        return Some((bytes, Some(DiagramTokenKind::Num)));
    }
    if rest.starts_with(":::") {
        return Some((3, Some(DiagramTokenKind::ClassSeparator)));
    }
    let kind = match first {
        '#' if entity(rest).is_some() => return None,
        '#' => DiagramTokenKind::Hash,
        ':' => DiagramTokenKind::Colon,
        '&' => DiagramTokenKind::Amp,
        ';' => DiagramTokenKind::Semi,
        ',' => DiagramTokenKind::Comma,
        '*' => DiagramTokenKind::Mult,
        _ => return None,
    };
    Some((1, Some(kind)))
}

pub(super) fn late_marks(rest: &str) -> TokenMatch {
    if rest.starts_with("\\|") {
        return Some((2, Some(DiagramTokenKind::BackslashPipe)));
    }
    if starts_word(rest, "v") {
        return Some((1, Some(DiagramTokenKind::Down)));
    }
    match rest.as_bytes().first()? {
        b'<' => Some((1, Some(DiagramTokenKind::TagStart))),
        b'^' => Some((1, Some(DiagramTokenKind::Up))),
        _ => None,
    }
}

/// Matches a part of an id. An id cannot hold an entity code.
pub(super) fn id_part(rest: &str) -> TokenMatch {
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
        return Some((bytes, Some(DiagramTokenKind::NodeString)));
    }
    let first = rest.chars().next()?;
    if first == '-' {
        return Some((1, Some(DiagramTokenKind::Minus)));
    }
    is_letter(first).then_some((first.len_utf8(), Some(DiagramTokenKind::UnicodeText)))
}

pub(super) fn blank(rest: &str) -> TokenMatch {
    if rest.is_empty() {
        return Some((0, Some(DiagramTokenKind::Eof)));
    }
    let newlines = rest.find(|c| c != '\n').unwrap_or(rest.len());
    if newlines > 0 {
        return Some((newlines, Some(DiagramTokenKind::Newline)));
    }
    let space = |c: char| is_space(c) && !matches!(c, '\n' | '\r');
    let bytes = rest.find(|c| !space(c)).unwrap_or(rest.len());
    (bytes > 0).then_some((bytes, Some(DiagramTokenKind::Space)))
}

/// Returns the length of `#name;` or `#35;`.
pub(crate) fn entity(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix('#')?;
    let name = after.find(|c| !is_word(c)).unwrap_or(after.len());
    (name > 0 && after[name..].starts_with(';')).then_some(name + 2)
}

/// Matches `--` or more with a head, or `---` or more without one; the same for `==`.
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

/// Matches `-.-`, `.-` and longer, with or without a head.
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

/// Matches `~~~` or longer.
pub(super) fn waves(head: &str) -> Option<usize> {
    let bytes = head.find(|c| c != '~').unwrap_or(head.len());
    (bytes > 2).then_some(bytes)
}
