//! The tree a template is compiled to: text fused, names resolved, arguments checked.

use std::cell::RefCell;
use std::rc::Rc;

use expr::{Expr, LetHead, Slot};

use crate::layout::TemplateLayout;
use crate::lines::units;
use crate::tags::AiPart;

/// A compiled template.
pub(crate) struct Template {
    pub(crate) file: Rc<str>,
    pub(crate) source: Rc<str>,
    pub(crate) layout: TemplateLayout,
    pub(crate) body: NodeList,
    /// Number of variables its frame holds.
    pub(crate) slots: usize,
    /// The answers that its expressions and tags mention.
    pub(crate) answers: AnswerNames,
}

/// The keys a template mentions, known before it runs.
#[derive(Debug, Default)]
pub(crate) struct AnswerNames {
    /// Keys its `@ai` blocks ask for, where they are literals.
    pub(crate) asked: Vec<Rc<str>>,
    /// Properties of `answers` it reads.
    pub(crate) read: Vec<Rc<str>>,
}

pub(crate) type NodeList = Box<[TemplateNode]>;

/// The first variables of every frame that belongs to a template.
pub(crate) const FILENAME_SLOT: usize = 0;
pub(crate) const CONTEXT_SLOT: usize = 1;

pub(crate) enum TemplateNode {
    Text(Box<str>),
    Emit(LocatedExpr),
    If(Box<IfNode>),
    Each(Box<EachNode>),
    Let(Box<LetNode>),
    /// `@eval` and `@assign`.
    Eval(Box<LocatedExpr>),
    Include(Box<IncludeNode>),
    Component(Box<ComponentNode>),
    Inject(Box<LocatedExpr>),
    Stack(Box<StackNode>),
    Push(Box<PushNode>),
    NewError(Box<NewError>),
    Ai(Box<AiNode>),
    AiPart(Box<AiPartNode>),
}

/// An expression and its position.
pub(crate) struct LocatedExpr {
    pub(crate) expr: Expr,
    pub(crate) origin: Box<CodeOrigin>,
}

pub(crate) struct CodeOrigin {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) text: Box<str>,
}

impl CodeOrigin {
    /// Returns the line and column of a byte of the expression's text.
    pub(crate) fn at(&self, offset: usize) -> (u32, u32) {
        place_in(&self.text, offset, (self.line, self.column))
    }
}

/// Returns the line and column of a byte of `text`, which begins at `start`.
pub(crate) fn place_in(text: &str, offset: usize, start: (u32, u32)) -> (u32, u32) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    match before.rfind('\n') {
        None => (start.0, start.1 + units(before)),
        Some(last) => {
            let lines = before.bytes().filter(|byte| *byte == b'\n').count();
            (
                start.0 + u32::try_from(lines).unwrap_or(0),
                units(&before[last + 1..]),
            )
        }
    }
}

/// `@if`, `@unless` and their branches; the last one may have no test.
pub(crate) struct IfNode {
    pub(crate) branches: Box<[IfBranch]>,
    pub(crate) otherwise: Option<NodeList>,
}

pub(crate) struct IfBranch {
    pub(crate) test: LocatedExpr,
    pub(crate) wanted: bool,
    pub(crate) body: NodeList,
}

pub(crate) struct EachNode {
    pub(crate) list: LocatedExpr,
    pub(crate) item: Slot,
    pub(crate) index: Option<Slot>,
    /// The names of item and index.
    pub(crate) names: Box<[Rc<str>]>,
    /// The variables of a frame of its own per iteration, which only functions in the body need.
    pub(crate) frame: Option<usize>,
    pub(crate) body: NodeList,
    pub(crate) otherwise: Option<NodeList>,
}

pub(crate) struct LetNode {
    pub(crate) head: LetHead,
    pub(crate) origin: CodeOrigin,
}

/// Placement of a tag's output.
pub(crate) enum OutputPlacement {
    /// In the middle of a line, as Edge does.
    Inline,
    /// On lines of its own.
    Lines { newline: bool, indent: Box<str> },
}

pub(crate) struct IncludeNode {
    pub(crate) condition: Option<LocatedExpr>,
    pub(crate) path: LocatedExpr,
    /// The variables the partial sees, by name and as read here.
    pub(crate) locals: Rc<[Rc<str>]>,
    pub(crate) values: Box<[Expr]>,
    /// `$context` at this point.
    pub(crate) context: Expr,
    pub(crate) placing: OutputPlacement,
    pub(crate) in_ai: bool,
    /// The partial found last, by the name it was found under.
    pub(crate) found: RefCell<Option<(Rc<str>, Rc<Template>)>>,
}

pub(crate) struct ComponentNode {
    pub(crate) name: ComponentName,
    pub(crate) props: Option<LocatedExpr>,
    /// `$context` at this point.
    pub(crate) context: Expr,
    pub(crate) main: Rc<SlotBody>,
    pub(crate) slots: Box<[(Rc<str>, Rc<SlotBody>)]>,
    /// Position of the tag.
    pub(crate) origin: CodeOrigin,
    pub(crate) placing: OutputPlacement,
    pub(crate) in_ai: bool,
}

pub(crate) enum ComponentName {
    /// A component tag knows its template.
    Known(Rc<str>),
    Computed(LocatedExpr),
}

/// The caller's content for one slot of a component; a function over the caller's variables.
#[derive(Default)]
pub(crate) struct SlotBody {
    pub(crate) body: NodeList,
    pub(crate) slots: usize,
    /// The variable that takes what the component passes.
    pub(crate) prop: Option<Slot>,
}

/// The first variable of a slot's frame.
pub(crate) const SLOT_CONTEXT_SLOT: usize = 0;

pub(crate) struct StackNode {
    pub(crate) name: LocatedExpr,
    pub(crate) placing: OutputPlacement,
}

pub(crate) struct PushNode {
    pub(crate) name: LocatedExpr,
    pub(crate) body: NodeList,
    /// Position of a `@pushOnceTo`, which pushes once per render.
    pub(crate) once: Option<(u32, u32)>,
}

pub(crate) struct NewError {
    pub(crate) message: LocatedExpr,
    pub(crate) file: Option<LocatedExpr>,
    pub(crate) line: Option<LocatedExpr>,
    pub(crate) column: Option<LocatedExpr>,
    pub(crate) at: (u32, u32),
}

pub(crate) struct AiNode {
    pub(crate) key: Option<LocatedExpr>,
    pub(crate) body: NodeList,
    pub(crate) at: (u32, u32),
    pub(crate) placing: OutputPlacement,
}

/// `@context`, `@prompt`, `@output` or `@example`.
pub(crate) struct AiPartNode {
    pub(crate) part: AiPart,
    pub(crate) options: Option<LocatedExpr>,
    pub(crate) language: Option<Box<str>>,
    pub(crate) body: NodeList,
    pub(crate) at: (u32, u32),
}
