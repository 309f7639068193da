//! Components at work: their isolated state, their slots, and what slots share.

use std::cell::RefCell;
use std::rc::Rc;

use expr::{EvalContext, Frame, JsObject, Value};

use crate::error::Error;
use crate::include::IncludeSite;
use crate::node::{ComponentName, ComponentNode, LocatedExpr, SLOT_CONTEXT_SLOT, SlotBody};
use crate::props;
use crate::render::Activation;

impl Activation {
    pub(crate) fn component(
        &self,
        cx: &mut EvalContext<'_>,
        component: &ComponentNode,
        out: &mut String,
    ) -> Result<(), Error> {
        let enclosing = self.run.reads.enclosing();
        let (name, keys) = self.run.reads.measure(|| match &component.name {
            ComponentName::Known(name) => Ok(name.clone()),
            ComponentName::Computed(code) => self.eval_text(cx, code),
        });
        enclosing.add(keys);
        let core = &self.run.core;
        let found = core.partial(&name?, &Rc::from([]), component.in_ai, &self.run.limits);
        let Some(template) = self.found(found, &component.origin, "component used")? else {
            return Ok(());
        };
        let (props, keys) = self.run.reads.measure(|| match &component.props {
            Some(code) => self.eval(cx, code),
            None => Ok(Value::object(JsObject::new())),
        });
        enclosing.add(keys);
        let state = self.component_state(cx, component, &props?);
        let context = component.context.eval(cx, &self.frame).unwrap_or_default();
        let inner = Activation::new(&self.run, template, Rc::new(RefCell::new(state)), context);
        self.run.know(&inner.template, &inner.frame);
        self.place(&component.placing, out, |out| {
            let site = IncludeSite {
                origin: &component.origin,
                what: "component used",
            };
            self.enter(cx, &inner, &site, out)
        })
    }

    /// Builds the state of a component: its props and their methods, no variable of the caller.
    fn component_state(
        &self,
        cx: &mut EvalContext<'_>,
        component: &ComponentNode,
        props: &Value,
    ) -> JsObject {
        let mut state = props::own_properties(props);
        state.insert("$slots", self.slots(cx, component));
        let mut caller = JsObject::new();
        caller.insert("filename", Value::String(self.template.file.clone()));
        caller.insert("line", Value::Number(f64::from(component.origin.line)));
        caller.insert("col", Value::Number(0.0));
        state.insert("$caller", Value::object(caller));
        state.insert("$props", props::bag(props));
        state
    }

    /// Makes `$slots`: a function per slot, and the context they share with the component.
    fn slots(&self, cx: &mut EvalContext<'_>, component: &ComponentNode) -> Value {
        let context = component.context.eval(cx, &self.frame).unwrap_or_default();
        let shared = Rc::new(RefCell::new(props::own_properties(&context)));
        let mut slots = JsObject::new();
        slots.insert("$context", Value::Object(shared.clone()));
        slots.insert(
            "main",
            self.slot("main", component.main.clone(), shared.clone()),
        );
        for (name, body) in &component.slots {
            slots.insert(name.clone(), self.slot(name, body.clone(), shared.clone()));
        }
        Value::object(slots)
    }

    fn slot(&self, name: &str, body: Rc<SlotBody>, context: Rc<RefCell<JsObject>>) -> Value {
        let caller = self.clone();
        Value::host(name, move |cx, arguments| {
            let frame = Frame::child(&caller.frame, body.slots);
            frame.set(SLOT_CONTEXT_SLOT, Value::Object(context.clone()));
            if let Some(prop) = body.prop {
                frame.set(prop.index(), arguments.first().cloned().unwrap_or_default());
            }
            let inside = Activation {
                frame,
                ..caller.clone()
            };
            let mut text = String::new();
            let ran = cx.deeper(|cx| Ok(inside.body(cx, &body.body, &mut text)))?;
            match ran {
                Ok(()) => {
                    inside.open_line(&mut text);
                    cx.reserve_string(text.len())?;
                    Ok(Value::from(text))
                }
                Err(error) => Err(inside.carried(error)),
            }
        })
    }

    /// Converts an error that leaves a slot through the expression that called it.
    fn carried(&self, error: Error) -> expr::Error {
        let code = if error.is_limit() {
            expr::ExprErrorCode::Limit
        } else {
            expr::ExprErrorCode::Runtime
        };
        let carried = expr::Error::new(code, error.message()).placed(
            error.file(),
            error.line(),
            error.column(),
        );
        self.run.pending.replace(Some(error));
        carried
    }

    /// Shares values with the slots of the component's caller.
    pub(crate) fn inject(&self, cx: &mut EvalContext<'_>, code: &LocatedExpr) -> Result<(), Error> {
        let value = self.eval(cx, code)?;
        let slots = self.frame.state().borrow().get("$slots");
        let context = match slots {
            Some(Value::Object(slots)) => slots.borrow().get("$context"),
            _ => None,
        };
        let Some(Value::Object(context)) = context else {
            let message = "Cannot use \"@inject\" outside of a component scope";
            return self.excuse(&code.origin, expr::Error::runtime(message));
        };
        for (key, value) in props::own_properties(&value).entries() {
            context.borrow_mut().insert(key, value);
        }
        Ok(())
    }
}
