//! The statements of a diagram in order, each with its place in the source.
//!
//! Subgraphs are a pair of statements rather than a tree, so no depth of nesting needs recursion.

use crate::arrow::EdgeArrow;
use crate::direction::FlowDirection;
use crate::span::Span;

/// A `%%` line. Its text is what follows the `%%`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommentLine {
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
pub struct DiagramStatement {
    pub span: Span,
    /// Number of subgraphs around it.
    pub depth: usize,
    pub kind: StatementKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatementKind {
    Chain(LinkChain),
    SubgraphStart(SubgraphStart),
    SubgraphEnd,
    Direction(FlowDirection),
    /// `style A fill:red`.
    Style {
        id: SpannedName,
        styles: String,
    },
    /// `linkStyle 0,1 stroke:red`; no indices mean `default`.
    LinkStyle {
        indices: Vec<SpannedName>,
    },
    /// `classDef a fill:red`.
    ClassDef {
        names: SpannedName,
        styles: String,
    },
    /// `class A,B name`.
    Class {
        ids: SpannedName,
        class: SpannedName,
    },
    Click {
        ids: SpannedName,
    },
    AccTitle,
    AccDescr,
}

/// A name and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpannedName {
    pub text: String,
    pub span: Span,
}

/// Nodes joined by links: `A & B --> C -->|text| D`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkChain {
    /// One more than there are links.
    pub groups: Vec<Vec<NodeMention>>,
    pub links: Vec<SyntaxLink>,
}

/// A node as it is written at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeMention {
    pub id: SpannedName,
    pub body: Option<NodeBody>,
    /// `:::name`.
    pub class: Option<SpannedName>,
    /// The text between the braces of `@{ … }`.
    pub data: Option<SpannedName>,
    pub span: Span,
}

/// The bracketed part of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeBody {
    pub shape: &'static str,
    pub text: LabelText,
    /// With its brackets.
    pub span: Span,
}

/// A label as it is written, without its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelText {
    pub raw: String,
    pub kind: TextKind,
    /// With its quotes, without the brackets around them.
    pub span: Span,
}

/// The quoting of a label.
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
pub struct SyntaxLink {
    /// `e1@`.
    pub id: Option<SpannedName>,
    pub arrow: EdgeArrow,
    pub label: Option<LabelText>,
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
    /// The text before the bracket, or all of it.
    pub name: LabelText,
    /// The text in the brackets.
    pub title: Option<LabelText>,
}
