//! What was written: the statements of a diagram in order, each with its place in the source.
//!
//! Subgraphs are a pair of statements rather than a tree, so no depth of nesting needs recursion.

use crate::arrow::Arrow;
use crate::direction::Direction;
use crate::span::Span;

/// A `%%` line. Its text is what follows the `%%`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    pub span: Span,
    pub text: String,
}

/// The YAML between `---` lines before the diagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontMatter {
    pub span: Span,
    pub body: String,
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub span: Span,
    /// How many subgraphs it stands in.
    pub depth: usize,
    pub kind: StatementKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatementKind {
    Chain(Chain),
    SubgraphStart(SubgraphStart),
    SubgraphEnd,
    Direction(Direction),
    /// `style A fill:red`.
    Style {
        id: Name,
        styles: String,
    },
    /// `linkStyle 0,1 stroke:red`; no indices mean `default`.
    LinkStyle {
        indices: Vec<Name>,
    },
    /// `classDef a fill:red`.
    ClassDef {
        names: Name,
        styles: String,
    },
    /// `class A,B name`.
    Class {
        ids: Name,
        class: Name,
    },
    Click {
        ids: Name,
    },
    AccTitle,
    AccDescr,
}

/// A name and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub text: String,
    pub span: Span,
}

/// Nodes joined by links: `A & B --> C -->|text| D`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// One more than there are links.
    pub groups: Vec<Vec<Mention>>,
    pub links: Vec<Link>,
}

/// A node as it is written at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    pub id: Name,
    pub body: Option<Body>,
    /// `:::name`.
    pub class: Option<Name>,
    /// `@{ … }`: what stands between the braces.
    pub data: Option<Name>,
    pub span: Span,
}

/// The bracketed part of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    pub shape: &'static str,
    pub text: Text,
    /// With its brackets.
    pub span: Span,
}

/// A label as it is written, without its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    pub raw: String,
    pub kind: TextKind,
    /// With its quotes, without the brackets around them.
    pub span: Span,
}

/// How a label is quoted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextKind {
    /// Not at all.
    #[default]
    Text,
    /// `"…"`.
    String,
    /// `` "`…`" ``.
    Markdown,
}

/// A link as it is written between two groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// `e1@`.
    pub id: Option<Name>,
    pub arrow: Arrow,
    pub label: Option<Text>,
    /// The form of the label, if there is one.
    pub form: LabelForm,
    /// With its label and id, without the white space around it.
    pub span: Span,
    /// `-->`, or the first half of `-- text -->`.
    pub arrow_span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelForm {
    None,
    /// `-->|text|`.
    Pipes,
    /// `-- text -->`.
    Middle,
}

/// `subgraph id [title]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubgraphStart {
    /// What stands before the bracket, or all of it.
    pub name: Text,
    /// What stands in the brackets.
    pub title: Option<Text>,
}
