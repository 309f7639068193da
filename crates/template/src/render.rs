//! Runs a compiled template: nodes in, text out.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use expr::{Context, Frame, Object, Value};
use indexmap::{IndexMap, IndexSet};
use prompt::Questionnaire;

use crate::ai::Block;
use crate::engine::{Core, Postponed, Undefined};
use crate::error::{Error, Fault, Place};
use crate::layout::{self, Layout};
use crate::limits::Limits;
use crate::node::{
    Body, CONTEXT_SLOT, Code, Each, FILENAME_SLOT, If, Include, Let, NewError, Node, Origin,
    Placing, Push, Stack, Template,
};
use crate::parser::{bound_by_let, code_name};
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

/// Where another template is entered, and how.
pub(crate) struct Site<'a> {
    pub(crate) origin: &'a Origin,
    pub(crate) what: &'static str,
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
        if self.run.observing.get() {
            self.observe(cx, &code.origin);
        }
        self.check_output(out)
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

    fn test(&self, cx: &mut Context<'_>, code: &Code) -> Result<bool, Error> {
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

    fn if_node(&self, cx: &mut Context<'_>, node: &If, out: &mut String) -> Result<(), Error> {
        let enclosing = self.run.reads.enclosing();
        for branch in &node.branches {
            let (truth, keys) = self.run.reads.measure(|| self.test(cx, &branch.test));
            enclosing.add(keys);
            if truth? == branch.wanted {
                return self.body(cx, &branch.body, out);
            }
        }
        match &node.otherwise {
            Some(body) => self.body(cx, body, out),
            None => Ok(()),
        }
    }

    fn each(&self, cx: &mut Context<'_>, each: &Each, out: &mut String) -> Result<(), Error> {
        let (list, keys) = self.run.reads.measure(|| self.eval(cx, &each.list));
        let list = list?;
        let enclosing = self.run.reads.enclosing();
        self.run
            .reads
            .taint(each.names.iter().map(|name| &**name), &keys);
        enclosing.add(keys);
        let mut count = 0;
        match &list {
            Value::Array(items) => {
                // The list may change while it is walked, and JavaScript would see that.
                loop {
                    let item = items.borrow().get(count).cloned();
                    let Some(item) = item else { break };
                    self.iteration(cx, each, (item, Value::Number(count as f64)), out)?;
                    count += 1;
                }
            }
            Value::String(text) => {
                let mut buffer = [0; 4];
                for c in text.chars() {
                    let item = Value::from(&*c.encode_utf8(&mut buffer));
                    self.iteration(cx, each, (item, Value::Number(count as f64)), out)?;
                    count += 1;
                }
            }
            Value::Object(object) => {
                let entries = object.borrow().entries();
                for (key, value) in entries {
                    self.iteration(cx, each, (value, Value::String(key)), out)?;
                    count += 1;
                }
            }
            // Edge walks neither, but knows that they are not empty.
            Value::Map(_) | Value::Set(_) => {
                let items = expr::iterate(cx, &list);
                let items = items.map_err(|error| self.error(&each.list.origin, &error))?;
                count = items.map_or(0, |items| items.len());
            }
            _ => {}
        }
        match &each.otherwise {
            Some(body) if count == 0 => self.body(cx, body, out),
            _ => Ok(()),
        }
    }

    fn iteration(
        &self,
        cx: &mut Context<'_>,
        each: &Each,
        (item, index): (Value, Value),
        out: &mut String,
    ) -> Result<(), Error> {
        cx.charge(1)
            .map_err(|error| self.error(&each.list.origin, &error))?;
        let bind = |frame: &Frame| {
            frame.set(each.item.index(), item);
            if let Some(slot) = each.index {
                frame.set(slot.index(), index);
            }
        };
        match each.frame {
            None => {
                bind(&self.frame);
                self.body(cx, &each.body, out)
            }
            Some(slots) => {
                let frame = Frame::child(&self.frame, slots);
                bind(&frame);
                Activation {
                    frame,
                    ..self.clone()
                }
                .body(cx, &each.body, out)
            }
        }
    }

    fn let_node(&self, cx: &mut Context<'_>, node: &Let) -> Result<(), Error> {
        let (bound, keys) = self.run.reads.measure(|| {
            let value = node.head.value.eval(cx, &self.frame);
            let bound = value.and_then(|value| node.head.pattern.bind(cx, &self.frame, value));
            if self.run.observing.get() {
                self.observe(cx, &node.origin);
            }
            bound
        });
        if self.run.reads.is_active() {
            self.run
                .reads
                .taint(bound_by_let(&node.origin.text).into_iter(), &keys);
        }
        match bound {
            Ok(()) => Ok(()),
            Err(error) => {
                self.excuse(&node.origin, error)?;
                let inert = node.head.pattern.bind(cx, &self.frame, Value::from(""));
                inert.or_else(|error| self.excuse(&node.origin, error))
            }
        }
    }

    fn eval_node(&self, cx: &mut Context<'_>, code: &Code) -> Result<(), Error> {
        let (value, keys) = self.run.reads.measure(|| self.eval(cx, code));
        self.run.reads.taint_text(&code.origin.text, &keys);
        value.map(|_| ())
    }

    fn include(
        &self,
        cx: &mut Context<'_>,
        include: &Include,
        out: &mut String,
    ) -> Result<(), Error> {
        let enclosing = self.run.reads.enclosing();
        if let Some(condition) = &include.condition {
            let (truth, keys) = self.run.reads.measure(|| self.test(cx, condition));
            enclosing.add(keys);
            if !truth? {
                return Ok(());
            }
        }
        let (path, keys) = self.run.reads.measure(|| self.eval_text(cx, &include.path));
        enclosing.add(keys);
        let Some(template) = self.partial(include, &path?)? else {
            return Ok(());
        };
        let context = include.context.eval(cx, &self.frame).unwrap_or_default();
        let state = self.frame.state().clone();
        let partial = Activation::new(&self.run, template, state, context);
        for (at, value) in include.values.iter().enumerate() {
            // A variable whose block has ended is an error to read, and not one to pass on.
            let value = value.eval(cx, &self.frame).unwrap_or_default();
            partial.frame.set(CONTEXT_SLOT + 1 + at, value);
        }
        self.place(&include.placing, out, |out| {
            let site = Site {
                origin: &include.path.origin,
                what: "included",
            };
            self.enter(cx, &partial, &site, out)
        })
    }

    /// The template an include names; nothing when a missing answer keeps it unknown.
    fn partial(&self, include: &Include, path: &Rc<str>) -> Result<Option<Rc<Template>>, Error> {
        if let Some((name, template)) = &*include.found.borrow()
            && name == path
        {
            return Ok(Some(template.clone()));
        }
        let origin = &include.path.origin;
        let found = self
            .run
            .core
            .partial(path, &include.locals, include.in_ai, &self.run.limits);
        let Some(template) = self.found(found, origin, "included")? else {
            return Ok(None);
        };
        self.run.know(&template, &self.frame);
        *include.found.borrow_mut() = Some((path.clone(), template.clone()));
        Ok(Some(template))
    }

    /// Places what went wrong when a template was looked for.
    pub(crate) fn found(
        &self,
        found: Result<Rc<Template>, crate::engine::NotFound>,
        origin: &Origin,
        what: &'static str,
    ) -> Result<Option<Rc<Template>>, Error> {
        match found {
            Ok(template) => Ok(Some(template)),
            Err(crate::engine::NotFound::Broken(error)) => {
                Err(error.reached_by(what, self.place_of(origin.at(0))))
            }
            Err(crate::engine::NotFound::Missing { message, hint }) => {
                let at = first_in(origin);
                let mut fault = Fault::new("E_RUNTIME_EXCEPTION", message, at);
                fault.hint = hint;
                self.excuse_error(fault.in_file(&self.template.file, &self.template.source))?;
                Ok(None)
            }
        }
    }

    /// Runs another template, one level deeper.
    pub(crate) fn enter(
        &self,
        cx: &mut Context<'_>,
        inner: &Activation,
        site: &Site<'_>,
        out: &mut String,
    ) -> Result<(), Error> {
        let entered = cx.deeper(|cx| Ok(inner.body(cx, &inner.template.body, out)));
        match entered {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                Err(error.reached_by(site.what, self.place_of(first_in(site.origin))))
            }
            Err(limit) => Err(self.error(site.origin, &limit)),
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

    fn new_error(&self, cx: &mut Context<'_>, node: &NewError) -> Result<(), Error> {
        let message = self.eval_text(cx, &node.message)?;
        let fault = Fault::new("E_RUNTIME_EXCEPTION", &*message, node.at);
        let mut error = fault.in_file(&self.template.file, &self.template.source);
        if let Some(file) = &node.file {
            let file = self.eval_text(cx, file)?.to_string();
            let line = self.number(cx, node.line.as_ref(), node.at.0)?;
            let column = self.number(cx, node.column.as_ref(), node.at.1)?;
            error = error.moved(Place { file, line, column });
        }
        self.excuse_error(error)
    }

    fn number(&self, cx: &mut Context<'_>, code: Option<&Code>, or: u32) -> Result<u32, Error> {
        let Some(code) = code else { return Ok(or) };
        let value = self.eval(cx, code)?;
        let number =
            expr::to_number(cx, &value).map_err(|error| self.error(&code.origin, &error))?;
        // A float cast saturates, and NaN becomes 0.
        Ok(number as u32)
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
    fn observe(&self, cx: &mut Context<'_>, origin: &Origin) {
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
fn first_in(origin: &Origin) -> (u32, u32) {
    let blank = origin.text.len() - origin.text.trim_start().len();
    origin.at(blank)
}
