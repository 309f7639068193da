//! Runs a compiled template: nodes in, text out.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use expr::{EvalContext, Frame, JsObject, Value};
use indexmap::{IndexMap, IndexSet};
use prompt::Questionnaire;

use crate::ai::AiBlock;
use crate::answer_reads::AnswerReads;
use crate::engine::{EngineCore, Postponed, UndefinedVariable};
use crate::error::{CompileFault, Error, TemplatePosition};
use crate::layout::{self, TemplateLayout};
use crate::limits::Limits;
use crate::node::{
    CONTEXT_SLOT, CodeOrigin, FILENAME_SLOT, LocatedExpr, NodeList, OutputPlacement, PushNode,
    StackNode, Template, TemplateNode,
};
use crate::parser::code_name;
use crate::separated_values::SeparatedValues;
use crate::stack::StackTexts;

/// State that one render shares, however deep its partials and components go.
pub(crate) struct RenderState {
    pub(crate) core: Rc<EngineCore>,
    pub(crate) limits: Limits,
    pub(crate) strict: bool,
    /// True if something needs to know what expressions read.
    pub(crate) observing: Cell<bool>,
    pub(crate) reads: Rc<AnswerReads>,
    /// The object templates know as `answers`.
    pub(crate) answers: Rc<RefCell<JsObject>>,
    pub(crate) given: IndexMap<String, serde_json::Value>,
    pub(crate) questionnaire: RefCell<Questionnaire>,
    pub(crate) postponed: RefCell<Vec<Postponed>>,
    /// The `@ai` block being filled.
    pub(crate) block: RefCell<Option<AiBlock>>,
    pub(crate) stacks: RefCell<StackTexts>,
    /// Keeps printed values out of the text, where they are data for a shell.
    pub(crate) apart: Option<RefCell<SeparatedValues>>,
    pub(crate) undefined: RefCell<IndexSet<UndefinedVariable>>,
    /// Errors excused because an answer is missing.
    pub(crate) provisional: RefCell<Vec<Error>>,
    /// An error on its way out of a slot, through an expression that cannot carry all of it.
    pub(crate) pending: RefCell<Option<Error>>,
}

/// One template while it renders: its variables, and the state it shares with the others.
#[derive(Clone)]
pub(crate) struct Activation {
    pub(crate) run: Rc<RenderState>,
    pub(crate) template: Rc<Template>,
    pub(crate) frame: Rc<Frame>,
}

impl Activation {
    /// Starts a template over a state.
    pub(crate) fn new(
        run: &Rc<RenderState>,
        template: Rc<Template>,
        state: Rc<RefCell<JsObject>>,
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
        cx: &mut EvalContext<'_>,
        body: &NodeList,
        out: &mut String,
    ) -> Result<(), Error> {
        for node in body {
            match node {
                TemplateNode::Text(text) => {
                    out.push_str(text);
                    self.check_output(out)?;
                }
                TemplateNode::Emit(code) => self.emit(cx, code, out)?,
                TemplateNode::If(node) => self.if_node(cx, node, out)?,
                TemplateNode::Each(each) => self.each(cx, each, out)?,
                TemplateNode::Let(node) => self.let_node(cx, node)?,
                TemplateNode::Eval(code) => self.eval_node(cx, code)?,
                TemplateNode::Include(include) => self.include(cx, include, out)?,
                TemplateNode::Component(component) => self.component(cx, component, out)?,
                TemplateNode::Inject(code) => self.inject(cx, code)?,
                TemplateNode::Stack(stack) => self.stack(cx, stack, out)?,
                TemplateNode::Push(push) => self.push(cx, push)?,
                TemplateNode::NewError(node) => self.new_error(cx, node)?,
                TemplateNode::Ai(ai) => self.ai(cx, ai, out)?,
                TemplateNode::AiPart(part) => self.ai_part(cx, part)?,
            }
        }
        Ok(())
    }

    fn emit(
        &self,
        cx: &mut EvalContext<'_>,
        code: &LocatedExpr,
        out: &mut String,
    ) -> Result<(), Error> {
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

    /// Moves the text printed since `start` into the list of values, if values are kept apart.
    pub(crate) fn set_apart(&self, source: &str, out: &mut String, start: usize) {
        if let Some(apart) = &self.run.apart {
            let value = out.split_off(start);
            out.push_str(&apart.borrow_mut().keep(source, value));
        }
    }

    /// Evaluates an expression; the value is inert if a missing answer made it fail.
    pub(crate) fn eval(
        &self,
        cx: &mut EvalContext<'_>,
        code: &LocatedExpr,
    ) -> Result<Value, Error> {
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

    pub(crate) fn test(&self, cx: &mut EvalContext<'_>, code: &LocatedExpr) -> Result<bool, Error> {
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

    pub(crate) fn eval_text(
        &self,
        cx: &mut EvalContext<'_>,
        code: &LocatedExpr,
    ) -> Result<Rc<str>, Error> {
        let value = self.eval(cx, code)?;
        match expr::to_text(cx, &value) {
            Ok(text) => Ok(text),
            Err(error) => {
                self.excuse(&code.origin, error)?;
                Ok("".into())
            }
        }
    }

    fn stack(
        &self,
        cx: &mut EvalContext<'_>,
        stack: &StackNode,
        out: &mut String,
    ) -> Result<(), Error> {
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

    fn push(&self, cx: &mut EvalContext<'_>, push: &PushNode) -> Result<(), Error> {
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
        placing: &OutputPlacement,
        out: &mut String,
        write: impl FnOnce(&mut String) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let OutputPlacement::Lines { newline, indent } = placing else {
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

    /// Removes the line end before the first line of a body, in Jig layout.
    pub(crate) fn open_line(&self, text: &mut String) {
        if self.template.layout == TemplateLayout::Jig && text.starts_with('\n') {
            text.remove(0);
        }
    }

    /// Notes undefined names, and variables that hold stand-ins of missing answers.
    pub(crate) fn observe(&self, cx: &mut EvalContext<'_>, origin: &CodeOrigin) {
        if self.run.strict {
            for name in cx.take_undefined() {
                let (line, column) = origin.at(name.offset as usize);
                let file = self.template.file.to_string();
                let name = name.name.to_string();
                self.run.undefined.borrow_mut().insert(UndefinedVariable {
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
        let fault = CompileFault::new("E_LIMIT_EXCEEDED", message, (0, 0));
        Err(fault.in_file(&self.template.file, &self.template.source))
    }

    /// Lets an error pass when an answer is missing, since it may go away with the answer.
    pub(crate) fn excuse(&self, origin: &CodeOrigin, error: expr::Error) -> Result<(), Error> {
        self.excuse_error(self.error(origin, &error))
    }

    pub(crate) fn excuse_error(&self, error: Error) -> Result<(), Error> {
        if error.is_limit() || !self.run.reads.any() {
            return Err(error);
        }
        self.run.provisional.borrow_mut().push(error);
        Ok(())
    }

    /// Makes an error of an expression, with its position in this template.
    #[cold]
    pub(crate) fn error(&self, origin: &CodeOrigin, error: &expr::Error) -> Error {
        if error.place().is_some()
            && let Some(pending) = self.run.pending.take()
        {
            return pending;
        }
        let at = match error.offset() {
            Some(offset) => origin.at(offset as usize),
            None => first_in(origin),
        };
        let fault = CompileFault::new(code_name(error.code()), error.message(), at);
        fault.in_file(&self.template.file, &self.template.source)
    }

    pub(crate) fn place_of(&self, (line, column): (u32, u32)) -> TemplatePosition {
        TemplatePosition {
            file: self.template.file.to_string(),
            line,
            column,
        }
    }
}

/// Returns the position of an expression's first character.
pub(crate) fn first_in(origin: &CodeOrigin) -> (u32, u32) {
    let blank = origin.text.len() - origin.text.trim_start().len();
    origin.at(blank)
}
