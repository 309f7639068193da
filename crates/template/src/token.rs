//! The output of the lexer: a tree of text, interpolations and tags.

use std::borrow::Cow;

use crate::tags::TagKind;

/// A piece of a template.
#[derive(Debug)]
pub(crate) enum TemplateToken<'s> {
    /// The line end before a line of text.
    Newline,
    /// Part of a line, or lines with line feeds between them.
    Text {
        text: Cow<'s, str>,
        /// True if a source line begins here, so that indentation can be taken off. Only such a
        /// text has several lines.
        leading: bool,
    },
    /// `{{ }}` and `{{{ }}}`, which mean the same here.
    Mustache(JsSource<'s>),
    Tag(Box<TagToken<'s>>),
}

/// JavaScript text and the position of its first character.
#[derive(Clone, Debug, Default)]
pub(crate) struct JsSource<'s> {
    pub(crate) text: Cow<'s, str>,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// A tag with its arguments and body.
#[derive(Debug)]
pub(crate) struct TagToken<'s> {
    pub(crate) kind: TagKind,
    pub(crate) name: &'s str,
    pub(crate) escaped: bool,
    pub(crate) argument: JsSource<'s>,
    /// Position of the tag as Edge reports it: after its name and opening parenthesis.
    pub(crate) line: u32,
    pub(crate) column: u32,
    /// The white space before the tag; layout may shorten it.
    pub(crate) indent: &'s str,
    /// True if the tag's output begins on a new line.
    pub(crate) newline_before: bool,
    /// Jig's `@tag(...): language`.
    pub(crate) suffix: Option<&'s str>,
    pub(crate) children: Vec<TemplateToken<'s>>,
}

impl TagToken<'_> {
    pub(crate) fn at(&self) -> (u32, u32) {
        (self.line, self.column)
    }
}
