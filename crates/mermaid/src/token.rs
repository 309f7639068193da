//! The tokens of the grammar.

use std::ops::Range;

/// One token: what it is, and which bytes of the cleaned text it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Token {
    pub(crate) fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
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

impl Kind {
    /// The tokens an id is made of.
    pub(crate) fn is_id(self) -> bool {
        matches!(
            self,
            Kind::Num
                | Kind::NodeString
                | Kind::Down
                | Kind::Minus
                | Kind::Default
                | Kind::Comma
                | Kind::Colon
                | Kind::Amp
                | Kind::Hash
                | Kind::Mult
                | Kind::UnicodeText
        )
    }

    /// The tokens a callback's name or a curve is made of.
    pub(crate) fn is_alphanumeric(self) -> bool {
        (self.is_id() && self != Kind::Default) || self == Kind::Dir
    }

    /// The tokens a style is made of.
    pub(crate) fn is_style(self) -> bool {
        matches!(
            self,
            Kind::Num | Kind::NodeString | Kind::Colon | Kind::Space | Kind::Hash | Kind::Style
        )
    }

    /// The tokens a subgraph's unquoted title is made of.
    pub(crate) fn is_title(self) -> bool {
        matches!(
            self,
            Kind::Num
                | Kind::NodeString
                | Kind::Space
                | Kind::Minus
                | Kind::Amp
                | Kind::UnicodeText
                | Kind::Colon
                | Kind::Mult
                | Kind::Hash
                | Kind::StartLink
        ) || self.is_title_word()
    }

    fn is_title_word(self) -> bool {
        matches!(
            self,
            Kind::Style
                | Kind::LinkStyle
                | Kind::ClassDef
                | Kind::Class
                | Kind::Click
                | Kind::Graph
                | Kind::Dir
                | Kind::Subgraph
                | Kind::EndWord
                | Kind::Down
                | Kind::Up
        )
    }

    pub(crate) fn ends_statement(self) -> bool {
        matches!(self, Kind::Newline | Kind::Semi | Kind::Eof)
    }
}
