//! The tags of the language: which names there are, and what the lexer must know about each.

use std::rc::Rc;

use crate::loader::ComponentTags;

/// A tag, as everything after the lexer sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TagKind {
    If,
    ElseIf,
    Else,
    Unless,
    Each,
    Let,
    Assign,
    Eval,
    Include,
    IncludeIf,
    Component,
    /// A component under its own name; the path of its template.
    Custom(Rc<str>),
    Slot,
    Inject,
    Stack,
    PushTo,
    PushOnceTo,
    Debugger,
    NewError,
    Ai,
    AiPart(AiPart),
}

/// The tags that fill an `@ai` block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AiPart {
    Context,
    Prompt,
    Output,
    Example,
}

/// Syntax of a tag, for the lexer.
#[derive(Clone, Debug)]
pub(crate) struct TagSpec {
    pub(crate) kind: TagKind,
    /// It has a body that ends with `@end`.
    pub(crate) block: bool,
    /// It takes arguments in parentheses.
    pub(crate) seekable: bool,
    /// Edge drops the newline after it.
    pub(crate) drops_newline: bool,
}

impl AiPart {
    pub(crate) fn name(self) -> &'static str {
        match self {
            AiPart::Context => "context",
            AiPart::Prompt => "prompt",
            AiPart::Output => "output",
            AiPart::Example => "example",
        }
    }
}

/// Finds the tag with this name, built in or made by a component.
pub(crate) fn find(name: &str, components: &ComponentTags) -> Option<TagSpec> {
    let block = |kind| TagSpec {
        kind,
        block: true,
        seekable: true,
        drops_newline: false,
    };
    let inline = |kind| TagSpec {
        kind,
        block: false,
        seekable: true,
        drops_newline: false,
    };
    let quiet = |spec: TagSpec| TagSpec {
        drops_newline: true,
        ..spec
    };
    let bare = |spec: TagSpec| TagSpec {
        seekable: false,
        ..spec
    };
    Some(match name {
        "if" => block(TagKind::If),
        "elseif" => inline(TagKind::ElseIf),
        "else" => bare(inline(TagKind::Else)),
        "unless" => block(TagKind::Unless),
        "each" => block(TagKind::Each),
        "let" => quiet(inline(TagKind::Let)),
        "assign" => quiet(inline(TagKind::Assign)),
        "eval" => quiet(inline(TagKind::Eval)),
        "include" => inline(TagKind::Include),
        "includeIf" => inline(TagKind::IncludeIf),
        "component" => block(TagKind::Component),
        "slot" => quiet(block(TagKind::Slot)),
        "inject" => quiet(inline(TagKind::Inject)),
        "stack" => inline(TagKind::Stack),
        "pushTo" => quiet(block(TagKind::PushTo)),
        "pushOnceTo" => quiet(block(TagKind::PushOnceTo)),
        "debugger" => quiet(bare(inline(TagKind::Debugger))),
        "newError" => quiet(inline(TagKind::NewError)),
        "ai" => block(TagKind::Ai),
        "context" => block(TagKind::AiPart(AiPart::Context)),
        "prompt" => block(TagKind::AiPart(AiPart::Prompt)),
        "output" => block(TagKind::AiPart(AiPart::Output)),
        "example" => block(TagKind::AiPart(AiPart::Example)),
        other => block(TagKind::Custom(components.get(other)?)),
    })
}
