//! Conditions, loops, variables and errors of a template's own.

use expr::{EvalContext, Frame, Value};

use crate::error::{CompileFault, Error, TemplatePosition};
use crate::node::{EachNode, IfNode, LetNode, LocatedExpr, NewError};
use crate::parser::bound_by_let;
use crate::render::Activation;

impl Activation {
    pub(crate) fn if_node(
        &self,
        cx: &mut EvalContext<'_>,
        node: &IfNode,
        out: &mut String,
    ) -> Result<(), Error> {
        if !self.run.reads.is_active() {
            for branch in &node.branches {
                if self.test(cx, &branch.test)? == branch.wanted {
                    return self.body(cx, &branch.body, out);
                }
            }
            return self.otherwise(cx, node, out);
        }
        let enclosing = self.run.reads.enclosing();
        for branch in &node.branches {
            let (truth, keys) = self.run.reads.measure(|| self.test(cx, &branch.test));
            enclosing.add(keys);
            if truth? == branch.wanted {
                return self.body(cx, &branch.body, out);
            }
        }
        self.otherwise(cx, node, out)
    }

    fn otherwise(
        &self,
        cx: &mut EvalContext<'_>,
        node: &IfNode,
        out: &mut String,
    ) -> Result<(), Error> {
        match &node.otherwise {
            Some(body) => self.body(cx, body, out),
            None => Ok(()),
        }
    }

    pub(crate) fn each(
        &self,
        cx: &mut EvalContext<'_>,
        each: &EachNode,
        out: &mut String,
    ) -> Result<(), Error> {
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
        cx: &mut EvalContext<'_>,
        each: &EachNode,
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

    pub(crate) fn let_node(&self, cx: &mut EvalContext<'_>, node: &LetNode) -> Result<(), Error> {
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

    pub(crate) fn eval_node(
        &self,
        cx: &mut EvalContext<'_>,
        code: &LocatedExpr,
    ) -> Result<(), Error> {
        let (value, keys) = self.run.reads.measure(|| self.eval(cx, code));
        self.run.reads.taint_text(&code.origin.text, &keys);
        value.map(|_| ())
    }

    pub(crate) fn new_error(&self, cx: &mut EvalContext<'_>, node: &NewError) -> Result<(), Error> {
        let message = self.eval_text(cx, &node.message)?;
        let fault = CompileFault::new("E_RUNTIME_EXCEPTION", &*message, node.at);
        let mut error = fault.in_file(&self.template.file, &self.template.source);
        if let Some(file) = &node.file {
            let file = self.eval_text(cx, file)?.to_string();
            let line = self.number(cx, node.line.as_ref(), node.at.0)?;
            let column = self.number(cx, node.column.as_ref(), node.at.1)?;
            error = error.moved(TemplatePosition { file, line, column });
        }
        self.excuse_error(error)
    }

    fn number(
        &self,
        cx: &mut EvalContext<'_>,
        code: Option<&LocatedExpr>,
        or: u32,
    ) -> Result<u32, Error> {
        let Some(code) = code else { return Ok(or) };
        let value = self.eval(cx, code)?;
        let number =
            expr::to_number(cx, &value).map_err(|error| self.error(&code.origin, &error))?;
        // A float cast saturates, and NaN becomes 0.
        Ok(number as u32)
    }
}
