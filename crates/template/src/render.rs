//! Runs a compiled template: nodes in, text out.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use expr::{Context, Frame, Object, Value};
use indexmap::{IndexMap, IndexSet};
use prompt::Questionnaire;

use crate::ai::Block;
use crate::apart::Apart;
use crate::engine::{Core, Postponed, Undefined};
use crate::error::{Error, Fault, Place};
use crate::layout::{self, Layout};
use crate::limits::Limits;
use crate::node::{
    Body, CONTEXT_SLOT, Code, FILENAME_SLOT, Node, Origin, Placing, Push, Stack, Template,
};
use crate::parser::code_name;
use crate::reads::Reads;
use crate::stack::Stacks;

/// What one render shares, however deep its partials and components go.
pub(crate) struct Run {
    pub(crate) core: Rc<Core>,
    pub(crate) limits: Limits,
    pub(crate) strict: bool,
    /// Whether anything wants to know what expressions read.
    pub(crate) observing: Cell<bool>,
    pub(crate) reads: Rc<Reads>,
    /// The object templates know as `answers`.
    pub(crate) answers: Rc<RefCell<Object>>,
    pub(crate) given: IndexMap<String, serde_json::Value>,
    pub(crate) questionnaire: RefCell<Questionnaire>,
    pub(crate) postponed: RefCell<Vec<Postponed>>,
    /// The `@ai` block being filled.
    pub(crate) block: RefCell<Option<Block>>,
    pub(crate) stacks: RefCell<Stacks>,
    /// Keeps printed values out of the text, where they are data for a shell.
    pub(crate) apart: Option<RefCell<Apart>>,
    pub(crate) undefined: RefCell<IndexSet<Undefined>>,
    /// Errors excused because an answer is missing.
    pub(crate) provisional: RefCell<Vec<Error>>,
    /// An error on its way out of a slot, through an expression that cannot carry all of it.
    pub(crate) pending: RefCell<Option<Error>>,
}

/// One template at work: its variables and what it shares with the others.
#[derive(Clone)]
pub(crate) struct Activation {
    pub(crate) run: Rc<Run>,
    pub(crate) template: Rc<Template>,
    pub(crate) frame: Rc<Frame>,
}

impl Activation {
    /// Starts a template over a state.
    pub(crate) fn new(
        run: &Rc<Run>,
        template: Rc<Template>,
        state: Rc<RefCell<Object>>,
        context: Value,
    ) -> Self {
        let frame = Frame::root(state, template.slots.max(CONTEXT_SLOT + 1));
        frame.set(FILENAME_SLOT, Value::String(template.file.clone()));
        frame.set(CONTEXT_SLOT, context);
        Activation {
            run: run.clone(),
            template,
            frame,
        }
    }

    pub(crate) fn body(
        &self,
        cx: &mut Context<'_>,
        body: &Body,
        out: &mut String,
    ) -> Result<(), Error> {
        for node in body {
            match node {
                Node::Text(text) => {
                    out.push_str(text);
                    self.check_output(out)?;
                }
                Node::Emit(code) => self.emit(cx, code, out)?,
                Node::If(node) => self.if_node(cx, node, out)?,
                Node::Each(each) => self.each(cx, each, out)?,
                Node::Let(node) => self.let_node(cx, node)?,
                Node::Eval(code) => self.eval_node(cx, code)?,
                Node::Include(include) => self.include(cx, include, out)?,
                Node::Component(component) => self.component(cx, component, out)?,
                Node::Inject(code) => self.inject(cx, code)?,
                Node::Stack(stack) => self.stack(cx, stack, out)?,
                Node::Push(push) => self.push(cx, push)?,
                Node::NewError(node) => self.new_error(cx, node)?,
                Node::Ai(ai) => self.ai(cx, ai, out)?,
                Node::AiPart(part) => self.ai_part(cx, part)?,
            }
        }
        Ok(())
    }

    fn emit(&self, cx: &mut Context<'_>, code: &Code, out: &mut String) -> Result<(), Error> {
        let start = out.len();
        if let Err(error) = code.expr.emit(cx, &self.frame, out) {
            out.truncate(start);
            self.excuse(&code.origin, error)?;
        }
        self.set_apart(&code.origin.text, out, start);
        if self.run.observing.get() {
            self.observe(cx, &code.origin);
        }
        self.check_output(out)
    }

    /// Takes what was printed since `start` out of the text, where values are kept apart.
    pub(crate) fn set_apart(&self, source: &str, out: &mut String, start: usize) {
        if let Some(apart) = &self.run.apart {
            let value = out.split_off(start);
            out.push_str(&apart.borrow_mut().keep(source, value));
        }
    }

    /// The value of an expression; inert when a missing answer made it fail.
    pub(crate) fn eval(&self, cx: &mut Context<'_>, code: &Code) -> Result<Value, Error> {
        let value = match code.expr.eval(cx, &self.frame) {
            Ok(value) => value,
            Err(error) => {
                self.excuse(&code.origin, error)?;
                Value::from("")
            }
        };
        if self.run.observing.get() {
            self.observe(cx, &code.origin);
        }
        Ok(value)
    }

    pub(crate) fn test(&self, cx: &mut Context<'_>, code: &Code) -> Result<bool, Error> {
        let truth = match code.expr.test(cx, &self.frame) {
            Ok(truth) => truth,
            Err(error) => {
                self.excuse(&code.origin, error)?;
                false
            }
        };
        if self.run.observing.get() {
            self.observe(cx, &code.origin);
        }
        Ok(truth)
    }

    pub(crate) fn eval_text(&self, cx: &mut Context<'_>, code: &Code) -> Result<Rc<str>, Error> {
        let value = self.eval(cx, code)?;
        match expr::to_text(cx, &value) {
            Ok(text) => Ok(text),
            Err(error) => {
                self.excuse(&code.origin, error)?;
                Ok("".into())
            }
        }
    }

    fn stack(&self, cx: &mut Context<'_>, stack: &Stack, out: &mut String) -> Result<(), Error> {
        let name = self.eval_text(cx, &stack.name)?;
        match self.run.stacks.borrow_mut().declare(&name, &stack.placing) {
            Some(placeholder) => out.push_str(&placeholder),
            None => {
                let message = format!("Cannot declare stack \"{name}\" for multiple times");
                return self.excuse(&stack.name.origin, expr::Error::runtime(message));
            }
        }
        Ok(())
    }

    fn push(&self, cx: &mut Context<'_>, push: &Push) -> Result<(), Error> {
        let mut text = String::new();
        self.body(cx, &push.body, &mut text)?;
        self.open_line(&mut text);
        let name = self.eval_text(cx, &push.name)?;
        let source = push.once.map(|at| (self.template.file.clone(), at));
        self.run.stacks.borrow_mut().push(&name, source, text);
        Ok(())
    }

    /// Writes where a tag's output belongs.
    pub(crate) fn place(
        &self,
        placing: &Placing,
        out: &mut String,
        write: impl FnOnce(&mut String) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Placing::Lines { newline, indent } = placing else {
            return write(out);
        };
        let before = out.len();
        if *newline {
            out.push('\n');
        }
        let start = out.len();
        write(out)?;
        if out.len() > start && out.ends_with('\n') {
            out.pop();
        }
        if out[start..].starts_with('\n') {
            out.remove(start);
        }
        if out.len() == start {
            out.truncate(before);
        } else if !indent.is_empty() {
            let text = out.split_off(start);
            layout::indented(&text, indent, out);
        }
        self.check_output(out)
    }

    /// In Jig layout a body begins with its first line, not with the line end before it.
    pub(crate) fn open_line(&self, text: &mut String) {
        if self.template.layout == Layout::Jig && text.starts_with('\n') {
            text.remove(0);
        }
    }

    /// Notes undefined names, and variables that stand for missing answers.
    pub(crate) fn observe(&self, cx: &mut Context<'_>, origin: &Origin) {
        if self.run.strict {
            for name in cx.take_undefined() {
                let (line, column) = origin.at(name.offset as usize);
                let file = self.template.file.to_string();
                let name = name.name.to_string();
                self.run.undefined.borrow_mut().insert(Undefined {
                    name,
                    file,
                    line,
                    column,
                });
            }
        }
        self.run.reads.note_text(&origin.text);
    }

    pub(crate) fn check_output(&self, out: &str) -> Result<(), Error> {
        let max = self.run.limits.output_bytes_max;
        if out.len() <= max {
            return Ok(());
        }
        let message = format!("the output is longer than output_bytes_max = {max}");
        let fault = Fault::new("E_LIMIT_EXCEEDED", message, (0, 0));
        Err(fault.in_file(&self.template.file, &self.template.source))
    }

    /// Lets an error pass when an answer is missing, since it may go away with the answer.
    pub(crate) fn excuse(&self, origin: &Origin, error: expr::Error) -> Result<(), Error> {
        self.excuse_error(self.error(origin, &error))
    }

    pub(crate) fn excuse_error(&self, error: Error) -> Result<(), Error> {
        if error.is_limit() || !self.run.reads.any() {
            return Err(error);
        }
        self.run.provisional.borrow_mut().push(error);
        Ok(())
    }

    /// An error of an expression, placed in this template.
    #[cold]
    pub(crate) fn error(&self, origin: &Origin, error: &expr::Error) -> Error {
        if error.place().is_some()
            && let Some(pending) = self.run.pending.take()
        {
            return pending;
        }
        let at = match error.offset() {
            Some(offset) => origin.at(offset as usize),
            None => first_in(origin),
        };
        let fault = Fault::new(code_name(error.code()), error.message(), at);
        fault.in_file(&self.template.file, &self.template.source)
    }

    pub(crate) fn place_of(&self, (line, column): (u32, u32)) -> Place {
        Place {
            file: self.template.file.to_string(),
            line,
            column,
        }
    }
}

/// Where an expression's first character stands.
pub(crate) fn first_in(origin: &Origin) -> (u32, u32) {
    let blank = origin.text.len() - origin.text.trim_start().len();
    origin.at(blank)
}
