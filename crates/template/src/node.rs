//! The tree a template is compiled to: text fused, names resolved, arguments checked.

use std::cell::RefCell;
use std::rc::Rc;

use expr::{Expr, LetHead, Slot};

use crate::layout::Layout;
use crate::lines::units;
use crate::tags::AiPart;

/// A compiled template.
pub(crate) struct Template {
    pub(crate) file: Rc<str>,
    pub(crate) source: Rc<str>,
    pub(crate) layout: Layout,
    pub(crate) body: Body,
    /// How many variables its frame holds.
    pub(crate) slots: usize,
    /// What its expressions and tags say about answers.
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

pub(crate) type Body = Box<[Node]>;

/// The first variables of every frame that belongs to a template.
pub(crate) const FILENAME_SLOT: usize = 0;
pub(crate) const CONTEXT_SLOT: usize = 1;

pub(crate) enum Node {
    Text(Box<str>),
    Emit(Code),
    If(Box<If>),
    Each(Box<Each>),
    Let(Box<Let>),
    /// `@eval` and `@assign`.
    Eval(Box<Code>),
    Include(Box<Include>),
    Component(Box<Component>),
    Inject(Box<Code>),
    Stack(Box<Stack>),
    Push(Box<Push>),
    NewError(Box<NewError>),
    Ai(Box<Ai>),
    AiPart(Box<Part>),
}

/// An expression and where it stands.
pub(crate) struct Code {
    pub(crate) expr: Expr,
    pub(crate) origin: Box<Origin>,
}

pub(crate) struct Origin {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) text: Box<str>,
}

impl Origin {
    /// The line and column of a byte of the expression's text.
    pub(crate) fn at(&self, offset: usize) -> (u32, u32) {
        place_in(&self.text, offset, (self.line, self.column))
    }
}

/// The line and column of a byte of `text`, which begins at `start`.
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
pub(crate) struct If {
    pub(crate) branches: Box<[Branch]>,
    pub(crate) otherwise: Option<Body>,
}

pub(crate) struct Branch {
    pub(crate) test: Code,
    pub(crate) wanted: bool,
    pub(crate) body: Body,
}

pub(crate) struct Each {
    pub(crate) list: Code,
    pub(crate) item: Slot,
    pub(crate) index: Option<Slot>,
    /// The names of item and index.
    pub(crate) names: Box<[Rc<str>]>,
    /// The variables of a frame of its own per iteration, which only functions in the body need.
    pub(crate) frame: Option<usize>,
    pub(crate) body: Body,
    pub(crate) otherwise: Option<Body>,
}

pub(crate) struct Let {
    pub(crate) head: LetHead,
    pub(crate) origin: Origin,
}

/// Where a tag's output goes.
pub(crate) enum Placing {
    /// Right where the output stands, as Edge does.
    Inline,
    /// On lines of its own.
    Lines { newline: bool, indent: Box<str> },
}

pub(crate) struct Include {
    pub(crate) condition: Option<Code>,
    pub(crate) path: Code,
    /// The variables the partial sees, by name and as read here.
    pub(crate) locals: Rc<[Rc<str>]>,
    pub(crate) values: Box<[Expr]>,
    /// `$context` as it is seen here.
    pub(crate) context: Expr,
    pub(crate) placing: Placing,
    pub(crate) in_ai: bool,
    /// The partial found last, by the name it was found under.
    pub(crate) found: RefCell<Option<(Rc<str>, Rc<Template>)>>,
}

pub(crate) struct Component {
    pub(crate) name: ComponentName,
    pub(crate) props: Option<Code>,
    /// `$context` as it is seen here.
    pub(crate) context: Expr,
    pub(crate) main: Rc<SlotBody>,
    pub(crate) slots: Box<[(Rc<str>, Rc<SlotBody>)]>,
    /// Where the tag stands.
    pub(crate) origin: Origin,
    pub(crate) placing: Placing,
    pub(crate) in_ai: bool,
}

pub(crate) enum ComponentName {
    /// A component tag knows its template.
    Known(Rc<str>),
    Computed(Code),
}

/// What a component's caller wrote for one slot; a function over the caller's variables.
#[derive(Default)]
pub(crate) struct SlotBody {
    pub(crate) body: Body,
    pub(crate) slots: usize,
    /// The variable that takes what the component passes.
    pub(crate) prop: Option<Slot>,
}

/// The first variable of a slot's frame.
pub(crate) const SLOT_CONTEXT_SLOT: usize = 0;

pub(crate) struct Stack {
    pub(crate) name: Code,
    pub(crate) placing: Placing,
}

pub(crate) struct Push {
    pub(crate) name: Code,
    pub(crate) body: Body,
    /// Where a `@pushOnceTo` stands: it pushes once per render.
    pub(crate) once: Option<(u32, u32)>,
}

pub(crate) struct NewError {
    pub(crate) message: Code,
    pub(crate) file: Option<Code>,
    pub(crate) line: Option<Code>,
    pub(crate) column: Option<Code>,
    pub(crate) at: (u32, u32),
}

pub(crate) struct Ai {
    pub(crate) key: Option<Code>,
    pub(crate) body: Body,
    pub(crate) at: (u32, u32),
    pub(crate) placing: Placing,
}

/// `@context`, `@prompt`, `@output` or `@example`.
pub(crate) struct Part {
    pub(crate) part: AiPart,
    pub(crate) options: Option<Code>,
    pub(crate) language: Option<Box<str>>,
    pub(crate) body: Body,
    pub(crate) at: (u32, u32),
}
