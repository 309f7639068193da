//! The two ways white space is kept: Edge's, and Jig's with dedent and re-indent.

use std::borrow::Cow;

use crate::lines::{indent_of, is_blank};
use crate::tags::TagKind;
use crate::token::{TagToken, TemplateToken};

/// Treatment of white space around tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TemplateLayout {
    /// Exactly as Edge does.
    Edge,
    /// Blocks lose the indentation they add, a tag's output begins in the tag's column, and a tag
    /// line leaves nothing behind.
    Jig,
}

impl TemplateLayout {
    /// Returns Jig for `.jig` and `.jig.t`, Edge for anything else.
    pub fn of_path(path: &str) -> TemplateLayout {
        if path.ends_with(".jig") || path.ends_with(".jig.t") {
            TemplateLayout::Jig
        } else {
            TemplateLayout::Edge
        }
    }
}

/// Takes off the indentation that block tags add to their bodies.
pub(crate) fn dedent(tokens: &mut [TemplateToken<'_>]) {
    dedent_by(tokens, 0);
}

/// Takes `columns` off every line, and off nested lines what their own blocks add.
fn dedent_by(tokens: &mut [TemplateToken<'_>], columns: usize) {
    for token in tokens {
        match token {
            TemplateToken::Text {
                text,
                leading: true,
            } => shorten(text, columns),
            TemplateToken::Tag(tag) => {
                dedent_body(tag, columns);
                tag.indent = without(tag.indent, columns);
            }
            _ => {}
        }
    }
}

fn dedent_body(tag: &mut TagToken<'_>, columns: usize) {
    let width = tag.indent.chars().count();
    match tag.kind {
        TagKind::If | TagKind::Unless | TagKind::Each => {
            let mut base = width;
            let mut rest = tag.children.as_mut_slice();
            while !rest.is_empty() {
                let end = rest.iter().position(is_else).unwrap_or(rest.len());
                let (branch, after) = rest.split_at_mut(end);
                let added = first_indent(branch).saturating_sub(base);
                dedent_by(branch, columns + added);
                let Some((other, after)) = after.split_first_mut() else {
                    return;
                };
                if let TemplateToken::Tag(tag) = other {
                    base = tag.indent.chars().count();
                }
                rest = after;
            }
        }
        TagKind::PushTo | TagKind::PushOnceTo => {
            let added = first_indent(&tag.children).saturating_sub(width);
            dedent_by(&mut tag.children, columns + added);
        }
        // A component's output is moved to its tag's column as a whole, so its slots start at 0.
        // The text of an AI tag is independent: its lines start in the column of the first one, even
        // if an expression in it prints several lines.
        TagKind::Component | TagKind::Custom(_) | TagKind::Slot | TagKind::AiPart(_) => {
            let first = first_indent(&tag.children);
            dedent_by(&mut tag.children, first);
        }
        _ => dedent_by(&mut tag.children, columns),
    }
}

fn is_else(token: &TemplateToken<'_>) -> bool {
    matches!(token, TemplateToken::Tag(tag) if matches!(tag.kind, TagKind::Else | TagKind::ElseIf))
}

/// Returns the indentation of the first line that has something on it.
fn first_indent(tokens: &[TemplateToken<'_>]) -> usize {
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TemplateToken::Text {
                text,
                leading: true,
            } => {
                let goes_on = matches!(
                    tokens.get(at + 1),
                    Some(TemplateToken::Mustache(_) | TemplateToken::Text { leading: false, .. })
                );
                let mut lines = text.split('\n').peekable();
                while let Some(line) = lines.next() {
                    let is_last = lines.peek().is_none();
                    if !is_blank(line) || (is_last && goes_on) {
                        return indent_of(line).chars().count();
                    }
                }
            }
            TemplateToken::Tag(tag) if tag.kind == TagKind::Slot => {}
            TemplateToken::Tag(tag) => return tag.indent.chars().count(),
            _ => {}
        }
    }
    0
}

fn shorten(text: &mut Cow<'_, str>, columns: usize) {
    if columns == 0 {
        return;
    }
    if text.contains('\n') {
        let mut shorter = String::with_capacity(text.len());
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                shorter.push('\n');
            }
            let indent = indent_of(line);
            shorter.push_str(without(indent, columns));
            shorter.push_str(&line[indent.len()..]);
        }
        *text = Cow::Owned(shorter);
        return;
    }
    match text {
        Cow::Borrowed(text) => {
            let indent = indent_of(text);
            *text = &text[indent.len() - without(indent, columns).len()..];
        }
        Cow::Owned(text) => {
            let indent = indent_of(text);
            let cut = indent.len() - without(indent, columns).len();
            text.replace_range(..cut, "");
        }
    }
}

fn without(indent: &str, columns: usize) -> &str {
    let mut chars = indent.chars();
    for _ in 0..columns {
        chars.next();
    }
    chars.as_str()
}

/// Puts `indent` before every line of `text` that has something on it.
pub(crate) fn indented(text: &str, indent: &str, out: &mut String) {
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        if !line.is_empty() {
            out.push_str(indent);
            out.push_str(line);
        }
    }
}
