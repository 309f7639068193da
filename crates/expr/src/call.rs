//! Calls: of values, of methods, of the standard library, of arrow functions.

use std::ops::Deref;
use std::rc::Rc;

use smallvec::SmallVec;

use crate::builtins;
use crate::context::EvalContext;
use crate::convert::to_text;
use crate::error::Error;
use crate::eval::collect;
use crate::ir::{
    ArgumentList, ArrowBody, ArrowFunction, CallNode, MethodCall, MethodName, NativeCall,
    StatementNode,
};
use crate::property;
use crate::value::{Frame, JsFunction, Value};

/// Arguments ready to be handed over. Most calls have few, and those need no allocation.
enum EvaluatedArguments<'a> {
    Known(&'a [Value]),
    Computed(SmallVec<[Value; 4]>),
}

impl Deref for EvaluatedArguments<'_> {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        match self {
            EvaluatedArguments::Known(values) => values,
            EvaluatedArguments::Computed(values) => values,
        }
    }
}

impl NativeCall {
    pub(crate) fn eval(&self, cx: &mut EvalContext<'_>, frame: &Rc<Frame>) -> Result<Value, Error> {
        let arguments = arguments(cx, frame, &self.arguments)?;
        (self.function)(cx, &Value::Undefined, &arguments).map_err(|e| e.at(self.at))
    }
}

impl CallNode {
    pub(crate) fn finish(
        &self,
        cx: &mut EvalContext<'_>,
        frame: &Rc<Frame>,
        callee: &Value,
    ) -> Result<Value, Error> {
        let arguments = arguments(cx, frame, &self.arguments)?;
        if !callee.is_callable() {
            return Err(Error::runtime(format!("{} is not a function", self.text)).at(self.at));
        }
        cx.call(callee, &Value::Undefined, &arguments)
            .map_err(|e| e.at(self.at))
    }
}

impl MethodCall {
    /// Calls the method on its evaluated object; `None` when `name?.()` found no method.
    pub(crate) fn finish(
        &self,
        cx: &mut EvalContext<'_>,
        frame: &Rc<Frame>,
        object: &Value,
    ) -> Result<Option<Value>, Error> {
        if cx.forgives(object) {
            return Ok(None);
        }
        let computed;
        let (name, method) = match &self.name {
            MethodName::Named { name, method } => (name, *method),
            MethodName::Computed(node) => {
                let key = node.eval(cx, frame)?;
                computed = to_text(cx, &key)?;
                (&computed, builtins::method(&computed))
            }
        };
        let own = own_property(object, name).map_err(|e| e.at(self.at))?;
        if own.is_none()
            && let Some(method) = method
        {
            let arguments = arguments(cx, frame, &self.arguments)?;
            if let Some(result) = builtins::call_method(cx, object, method, &arguments) {
                return result.map(Some).map_err(|e| e.at(self.at));
            }
        }
        match own {
            Some(callee) if callee.is_callable() => {
                let arguments = arguments(cx, frame, &self.arguments)?;
                cx.call(&callee, object, &arguments)
                    .map(Some)
                    .map_err(|e| e.at(self.at))
            }
            None | Some(Value::Undefined | Value::Null) if self.optional_call => Ok(None),
            _ => Err(Error::runtime(format!("{} is not a function", self.text)).at(self.at)),
        }
    }
}

/// Returns a property that may hold a function; `None` leaves the callto the built-in methods.
fn own_property(object: &Value, name: &Rc<str>) -> Result<Option<Value>, Error> {
    match object {
        Value::Object(properties) => Ok(properties.borrow().get(name)),
        Value::Array(items) => match property::array_index(name) {
            Some(index) => Ok(Some(items.borrow().get(index).cloned().unwrap_or_default())),
            None => Ok(None),
        },
        Value::Builtin(_) => match property::get(object, name)? {
            Value::Builtin(function) => Ok(Some(Value::Builtin(function))),
            _ => Ok(None),
        },
        Value::Undefined | Value::Null => property::get(object, name).map(Some),
        _ => Ok(None),
    }
}

impl EvalContext<'_> {
    /// Calls a function value.
    pub fn call(
        &mut self,
        callee: &Value,
        this: &Value,
        arguments: &[Value],
    ) -> Result<Value, Error> {
        match callee {
            Value::Function(function) => match &**function {
                JsFunction::Arrow { arrow, frame } => {
                    self.deeper(|cx| arrow.call(cx, frame, arguments))
                }
                JsFunction::Host { call, .. } => self.deeper(|cx| call(cx, arguments)),
                JsFunction::Method { receiver, name } => {
                    let receiver = if this.is_nullish() { receiver } else { this };
                    match call_named(self, receiver, name, arguments) {
                        Some(result) => result,
                        None => Err(Error::runtime(format!("{name} is not a function"))),
                    }
                }
            },
            Value::Builtin(builtin) => match builtin.call {
                Some(call) => self.deeper(|cx| call(cx, this, arguments)),
                None => Err(Error::runtime(format!(
                    "{} is not a function",
                    builtin.name
                ))),
            },
            other => {
                let text = to_text(self, other)?;
                Err(Error::runtime(format!("{text} is not a function")))
            }
        }
    }
}

impl ArrowFunction {
    fn call(
        &self,
        cx: &mut EvalContext<'_>,
        frame: &Rc<Frame>,
        arguments: &[Value],
    ) -> Result<Value, Error> {
        let frame = Frame::child(frame, self.slots);
        for (position, parameter) in self.parameters.iter().enumerate() {
            let argument = arguments.get(position).cloned().unwrap_or_default();
            parameter.assign(cx, &frame, argument)?;
        }
        if let Some(rest) = &self.rest {
            let left = arguments.get(self.parameters.len()..).unwrap_or_default();
            rest.assign(cx, &frame, Value::array(left.to_vec()))?;
        }
        match &self.body {
            ArrowBody::Expression(node) => node.eval(cx, &frame),
            ArrowBody::Statements(statements) => {
                run(cx, &frame, statements).map(Option::unwrap_or_default)
            }
        }
    }
}

/// Runs statements; `Some` when one of them returned.
fn run(
    cx: &mut EvalContext<'_>,
    frame: &Rc<Frame>,
    statements: &[StatementNode],
) -> Result<Option<Value>, Error> {
    for statement in statements {
        match statement {
            StatementNode::Expression(node) => {
                node.eval(cx, frame)?;
            }
            StatementNode::Return(node) => return node.eval(cx, frame).map(Some),
            StatementNode::Block(inner) => {
                if let Some(value) = run(cx, frame, inner)? {
                    return Ok(Some(value));
                }
            }
            StatementNode::Function { slot, arrow } => {
                let function = JsFunction::Arrow {
                    arrow: arrow.clone(),
                    frame: frame.clone(),
                };
                frame.set(slot.index(), Value::Function(Rc::new(function)));
            }
        }
    }
    Ok(None)
}

/// Calls a built-in method by a name that is only known now.
pub(crate) fn call_named(
    cx: &mut EvalContext<'_>,
    this: &Value,
    name: &str,
    arguments: &[Value],
) -> Option<Result<Value, Error>> {
    builtins::method(name).and_then(|method| builtins::call_method(cx, this, method, arguments))
}

fn arguments<'a>(
    cx: &mut EvalContext<'_>,
    frame: &Rc<Frame>,
    arguments: &'a ArgumentList,
) -> Result<EvaluatedArguments<'a>, Error> {
    match arguments {
        ArgumentList::Known(values) => Ok(EvaluatedArguments::Known(values)),
        ArgumentList::Computed(items) => {
            let mut values = SmallVec::new();
            collect(cx, frame, items, |value| values.push(value))?;
            Ok(EvaluatedArguments::Computed(values))
        }
    }
}

pub(crate) fn construct(
    cx: &mut EvalContext<'_>,
    frame: &Rc<Frame>,
    call: &CallNode,
) -> Result<Value, Error> {
    let callee = call.callee.eval(cx, frame)?;
    let arguments = arguments(cx, frame, &call.arguments)?;
    match callee {
        Value::Builtin(builtin) => {
            builtins::construct(cx, builtin, &arguments).map_err(|e| e.at(call.at))
        }
        _ => Err(Error::runtime(format!("{} is not a constructor", call.text)).at(call.at)),
    }
}
