//! Types with a tag: `struct`, `class`, `union` and `enum`.

use super::super::ExportKind;
use super::declarations::{DeclarationReader, DeclarationState, PREFIX_BYTES_MAX};
use super::words::is_attribute;

impl DeclarationReader<'_, '_> {
    /// Reads `struct Name {…}`, or a type that is only named.
    pub(super) fn tag(&mut self, at: usize, seen: &mut DeclarationState) -> usize {
        let tokens = self.tokens;
        let is_enum = tokens.word(at) == "enum";
        let kind = if is_enum {
            ExportKind::Enum
        } else {
            ExportKind::Class
        };
        seen.has_type = true;
        let mut name: Option<(String, usize)> = None;
        let mut first = None;
        let mut end = at + 1;
        loop {
            let word = tokens.word(end);
            if is_attribute(word) || !word.is_empty() && tokens.mark(end + 1) == b'(' {
                if first.is_some() {
                    break;
                }
                end = tokens.after(end + 1);
            } else if tokens.mark(end) == b'[' {
                end = tokens.after(end);
            } else if matches!(word, "class" | "struct" | "final") {
                end += 1;
            } else if !word.is_empty() {
                let mut full = word.to_owned();
                while tokens.colons(end + 1) && full.len() < PREFIX_BYTES_MAX {
                    full.push_str("::");
                    full.push_str(tokens.word(end + 3));
                    end += 3;
                }
                first = first.or(Some(end + 1));
                name = Some((full, end));
                end += 1;
            } else {
                break;
            }
        }
        let is_special = tokens.mark(end) == b'<';
        let open = self.body_of_tag(end);
        let Some(open) = open else {
            // The type is only named, so the declared name follows.
            return first.unwrap_or(end);
        };
        match name {
            Some((name, place)) if !is_special => self.take(&name, kind, place),
            None if is_enum => self.enumerators(open),
            _ => {}
        }
        seen.last = None;
        tokens.after(open)
    }

    /// The bracket that opens a type's body, past its parameters and bases.
    fn body_of_tag(&self, at: usize) -> Option<usize> {
        let tokens = self.tokens;
        let mut at = self.after_angles(at).unwrap_or(at);
        while tokens.word(at) == "final" {
            at += 1;
        }
        if tokens.mark(at) == b':' && !tokens.colons(at) {
            while at < tokens.len() && !matches!(tokens.mark(at), b'{' | b';' | b'}') {
                at = tokens.after(at);
            }
        }
        (tokens.mark(at) == b'{').then_some(at)
    }

    /// The constants of an enumeration without a name.
    fn enumerators(&mut self, open: usize) {
        let tokens = self.tokens;
        let close = tokens.close(open).unwrap_or(open);
        let mut at = open + 1;
        let mut begins = true;
        while at < close {
            if begins && !tokens.word(at).is_empty() {
                self.take(tokens.word(at), ExportKind::Value, at);
            }
            begins = tokens.mark(at) == b',';
            at = tokens.after(at);
        }
    }
}
