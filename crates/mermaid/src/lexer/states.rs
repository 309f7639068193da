//! The rules of each state but the outermost one: the insides of brackets, quotes and links.

use super::rules::{CLOSINGS, dotted, solid, starts_word, waves};
use super::{DiagramLexer, LexerState, TokenMatch};
use crate::chars::is_space;
use crate::token::DiagramTokenKind;

impl DiagramLexer<'_> {
    pub(super) fn direction(&mut self) -> TokenMatch {
        let rest = self.rest();
        if rest.starts_with('"') {
            return self.quote(rest);
        }
        let space = self.spaces();
        if let Some(newline) = rest[..space].rfind('\n') {
            return self.pop(newline + 1, Some(DiagramTokenKind::NoDir));
        }
        let word = &rest[space..];
        for known in ["LR", "RL", "TB", "BT", "TD", "BR", "v"] {
            if starts_word(word, known) {
                return self.pop(space + known.len(), Some(DiagramTokenKind::Dir));
            }
        }
        if word.starts_with(['<', '>', '^']) {
            return self.pop(space + 1, Some(DiagramTokenKind::Dir));
        }
        None
    }

    pub(super) fn line_value(&mut self, kind: DiagramTokenKind) -> TokenMatch {
        let rest = self.rest();
        let bytes = rest.find('\n').unwrap_or(rest.len());
        self.pop(bytes, Some(kind))
    }

    /// Matches everything up to a closing mark as one token, then the mark.
    pub(super) fn until(&mut self, mark: char, kind: DiagramTokenKind) -> TokenMatch {
        let rest = self.rest();
        if rest.starts_with(mark) {
            return self.pop(1, None);
        }
        Some((rest.find(mark).unwrap_or(rest.len()), Some(kind)))
    }

    pub(super) fn shape_data(&mut self) -> TokenMatch {
        let rest = self.rest();
        if rest.starts_with('"') {
            return self.push(
                LexerState::ShapeString,
                1,
                Some(DiagramTokenKind::ShapeData),
            );
        }
        if rest.starts_with('}') {
            return self.pop(1, None);
        }
        let bytes = rest.find(['}', '^', '"']).unwrap_or(rest.len());
        (bytes > 0).then_some((bytes, Some(DiagramTokenKind::ShapeData)))
    }

    pub(super) fn shape_string(&mut self) -> TokenMatch {
        let rest = self.rest();
        if rest.starts_with('"') {
            return self.pop(1, Some(DiagramTokenKind::ShapeData));
        }
        let bytes = rest.find('"').unwrap_or(rest.len());
        (bytes > 0).then_some((bytes, Some(DiagramTokenKind::ShapeData)))
    }

    pub(super) fn callback_name(&mut self) -> TokenMatch {
        let rest = self.rest();
        if let Some(after) = rest.strip_prefix('(') {
            let inner = after.trim_start_matches(is_space);
            if inner.starts_with(')') {
                return self.pop(rest.len() - inner.len() + 1, None);
            }
            self.states.pop();
            return self.push(LexerState::CallbackArgs, 1, None);
        }
        Some((
            rest.find('(').unwrap_or(rest.len()),
            Some(DiagramTokenKind::CallbackName),
        ))
    }

    pub(super) fn click(&mut self) -> TokenMatch {
        let rest = self.rest();
        if rest.starts_with('"') {
            return self.quote(rest);
        }
        if let Some(space) = rest.chars().next().filter(|c| is_space(*c)) {
            return self.pop(space.len_utf8(), None);
        }
        let bytes = rest.find(is_space).unwrap_or(rest.len());
        Some((bytes, Some(DiagramTokenKind::Click)))
    }

    pub(super) fn markdown(&mut self) -> TokenMatch {
        let rest = self.rest();
        let bytes = rest.find(['`', '"']).unwrap_or(rest.len());
        if bytes > 0 {
            return Some((bytes, Some(DiagramTokenKind::MdStr)));
        }
        if rest.starts_with("`\"") {
            return self.pop(2, None);
        }
        if rest.starts_with('"') {
            return self.quote(rest);
        }
        None
    }

    pub(super) fn quoted(&mut self) -> TokenMatch {
        let rest = self.rest();
        if rest.starts_with("\"`") {
            return self.push(LexerState::Markdown, 2, None);
        }
        if rest.starts_with('"') {
            return self.pop(1, None);
        }
        let bytes = rest.find('"').unwrap_or(rest.len());
        (bytes > 0).then_some((bytes, Some(DiagramTokenKind::Str)))
    }

    /// Matches the text in the middle of a link, up to the link's second half.
    pub(super) fn edge(&mut self) -> TokenMatch {
        let rest = self.rest();
        if rest.starts_with('"') {
            return self.quote(rest);
        }
        let start = self.at;
        let mut bytes = 0;
        while let Some(c) = rest[bytes..].chars().next() {
            self.at = start + bytes;
            let ends = self.edge_end(&rest[bytes..]);
            self.at = start;
            if let (0, Some(end)) = (bytes, ends) {
                return self.pop(end, Some(DiagramTokenKind::Link));
            }
            if ends.is_some() || c == '"' || !self.edge_may_hold(c, &rest[bytes + c.len_utf8()..]) {
                break;
            }
            bytes += c.len_utf8();
        }
        (bytes > 0).then_some((bytes, Some(DiagramTokenKind::EdgeText)))
    }

    pub(super) fn edge_may_hold(&self, c: char, next: &str) -> bool {
        match self.state() {
            LexerState::ThickEdge => c != '=',
            LexerState::DottedEdge => c != '.',
            _ => c != '-' || !next.starts_with('-'),
        }
    }

    /// Matches the second half of the link whose text is being read.
    pub(super) fn edge_end(&mut self, rest: &str) -> Option<usize> {
        let space = self.spaces();
        let after = &rest[space..];
        let head = after.strip_prefix(['x', 'o', '<']).unwrap_or(after);
        let bytes = match self.state() {
            LexerState::ThickEdge => solid(head, '='),
            LexerState::DottedEdge => dotted(head),
            _ => solid(head, '-'),
        }?;
        let tail = &head[bytes..];
        let trailing = tail.find(|c| !is_space(c)).unwrap_or(tail.len());
        Some(rest.len() - tail.len() + trailing)
    }

    /// Matches the text of a node or of `|…|`.
    pub(super) fn bracketed(&mut self) -> TokenMatch {
        let rest = self.rest();
        if rest.starts_with('"') {
            return self.quote(rest);
        }
        if let Some(found) = self.invisible(rest) {
            return Some(found);
        }
        for (mark, kind) in CLOSINGS {
            if rest.starts_with(mark) {
                return self.pop(mark.len(), Some(kind));
            }
        }
        if let Some(found) = self.nested(rest) {
            return Some(found);
        }
        let stops = ['[', ']', '(', ')', '{', '}', '|', '"'];
        let bytes = rest.find(stops).unwrap_or(rest.len());
        (bytes > 0).then_some((bytes, Some(DiagramTokenKind::Text)))
    }

    /// Matches the text of the shapes with slanted sides.
    pub(super) fn slanted(&mut self) -> TokenMatch {
        let rest = self.rest();
        if rest.starts_with('"') {
            return self.quote(rest);
        }
        if let Some(found) = self.invisible(rest) {
            return Some(found);
        }
        let doubled = ["(-", "([", "[[", "[(", "((("];
        if !doubled.iter().any(|mark| rest.starts_with(mark)) {
            let mut chars = rest.chars();
            let (first, second) = (chars.next(), chars.next());
            if second == Some(']') {
                match first {
                    Some('\\' | '(' | '?' | '=' | ']' | ')') => {
                        return self.pop(2, Some(DiagramTokenKind::BackslashClose));
                    }
                    Some('/') => return self.pop(2, Some(DiagramTokenKind::SlashClose)),
                    _ => {}
                }
            }
            if matches!(first, Some('/' | '\\')) {
                return Some((1, Some(DiagramTokenKind::Text)));
            }
            let stops = ['\\', '[', ']', '(', ')', '{', '}', '/'];
            let bytes = rest.find(stops).unwrap_or(rest.len());
            if bytes > 0 {
                return Some((bytes, Some(DiagramTokenKind::Text)));
            }
        }
        self.nested(rest)
    }

    /// Matches the text between `(-` and `-)`.
    pub(super) fn ellipse(&mut self) -> TokenMatch {
        let rest = self.rest();
        if rest.starts_with('"') {
            return self.quote(rest);
        }
        let start = self.at;
        let mut bytes = 0;
        while let Some(c) = rest[bytes..].chars().next() {
            let here = &rest[bytes..];
            self.at = start + bytes;
            let link = self.invisible(here);
            self.at = start;
            if bytes == 0 && link.is_some() {
                return link;
            }
            let closes = matches!(c, '-' | '/' | ')') && here[1..].starts_with(')');
            if closes && bytes == 0 {
                return self.pop(2, Some(DiagramTokenKind::EllipseClose));
            }
            if closes || link.is_some() || matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '"') {
                break;
            }
            bytes += c.len_utf8();
        }
        if bytes == 0 {
            return self.nested(rest);
        }
        Some((bytes, Some(DiagramTokenKind::Text)))
    }

    pub(super) fn invisible(&mut self, rest: &str) -> TokenMatch {
        let space = self.spaces();
        let after = &rest[space..];
        let bytes = waves(after)?;
        let tail = &after[bytes..];
        let trailing = tail.find(|c| !is_space(c)).unwrap_or(tail.len());
        Some((space + bytes + trailing, Some(DiagramTokenKind::Link)))
    }
}
