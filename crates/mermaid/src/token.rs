//! The tokens of the grammar.

use std::ops::Range;

/// One token: what it is, and which bytes of the cleaned text it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DiagramToken {
    pub(crate) kind: DiagramTokenKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl DiagramToken {
    pub(crate) fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiagramTokenKind {
    /// The end of the text where a statement may end.
    Eof,
    /// The end of the text anywhere.
    End,
    /// Text that no rule reads.
    Unknown,
    Newline,
    Space,
    Semi,
    /// `graph`, `flowchart` and their kin.
    Graph,
    /// The line break after a header without a direction.
    NoDir,
    Dir,
    Subgraph,
    EndWord,
    /// `direction LR`.
    Direction,
    AccTitle,
    AccTitleValue,
    AccDescr,
    AccDescrValue,
    AccDescrBlock,
    Style,
    LinkStyle,
    Interpolate,
    ClassDef,
    Class,
    Click,
    Href,
    CallbackName,
    CallbackArgs,
    LinkTarget,
    Default,
    /// `@{`.
    DataOpen,
    /// One part of what follows it.
    ShapeData,
    /// `e1@` before a link.
    LinkId,
    Link,
    /// The first half of `-- text -->`.
    StartLink,
    EdgeText,
    Text,
    Str,
    MdStr,
    ClassSeparator,
    Num,
    NodeString,
    UnicodeText,
    Minus,
    Amp,
    Colon,
    Comma,
    Mult,
    Hash,
    Down,
    Up,
    TagStart,
    BackslashPipe,
    Pipe,
    SquareOpen,
    SquareClose,
    ParenOpen,
    ParenClose,
    BraceOpen,
    BraceClose,
    /// `>` before the text of the odd shape.
    TagEnd,
    StadiumOpen,
    StadiumClose,
    SubroutineOpen,
    SubroutineClose,
    CylinderOpen,
    CylinderClose,
    TripleOpen,
    TripleClose,
    EllipseOpen,
    EllipseClose,
    /// `[/`.
    SlashOpen,
    /// `/]`.
    SlashClose,
    /// `[\`.
    BackslashOpen,
    /// `\]`.
    BackslashClose,
    /// `[|`.
    PropertyOpen,
}

impl DiagramTokenKind {
    /// True for a token that an id is made of.
    pub(crate) fn is_id(self) -> bool {
        matches!(
            self,
            DiagramTokenKind::Num
                | DiagramTokenKind::NodeString
                | DiagramTokenKind::Down
                | DiagramTokenKind::Minus
                | DiagramTokenKind::Default
                | DiagramTokenKind::Comma
                | DiagramTokenKind::Colon
                | DiagramTokenKind::Amp
                | DiagramTokenKind::Hash
                | DiagramTokenKind::Mult
                | DiagramTokenKind::UnicodeText
        )
    }

    /// True for a token that a callback's name or a curve is made of.
    pub(crate) fn is_alphanumeric(self) -> bool {
        (self.is_id() && self != DiagramTokenKind::Default) || self == DiagramTokenKind::Dir
    }

    /// True for a token that a style is made of.
    pub(crate) fn is_style(self) -> bool {
        matches!(
            self,
            DiagramTokenKind::Num
                | DiagramTokenKind::NodeString
                | DiagramTokenKind::Colon
                | DiagramTokenKind::Space
                | DiagramTokenKind::Hash
                | DiagramTokenKind::Style
        )
    }

    /// True for a token that a subgraph's unquoted title is made of.
    pub(crate) fn is_title(self) -> bool {
        matches!(
            self,
            DiagramTokenKind::Num
                | DiagramTokenKind::NodeString
                | DiagramTokenKind::Space
                | DiagramTokenKind::Minus
                | DiagramTokenKind::Amp
                | DiagramTokenKind::UnicodeText
                | DiagramTokenKind::Colon
                | DiagramTokenKind::Mult
                | DiagramTokenKind::Hash
                | DiagramTokenKind::StartLink
        ) || self.is_title_word()
    }

    fn is_title_word(self) -> bool {
        matches!(
            self,
            DiagramTokenKind::Style
                | DiagramTokenKind::LinkStyle
                | DiagramTokenKind::ClassDef
                | DiagramTokenKind::Class
                | DiagramTokenKind::Click
                | DiagramTokenKind::Graph
                | DiagramTokenKind::Dir
                | DiagramTokenKind::Subgraph
                | DiagramTokenKind::EndWord
                | DiagramTokenKind::Down
                | DiagramTokenKind::Up
        )
    }

    pub(crate) fn ends_statement(self) -> bool {
        matches!(
            self,
            DiagramTokenKind::Newline | DiagramTokenKind::Semi | DiagramTokenKind::Eof
        )
    }
}
