//! Methods of functions: `call`, `apply`, `bind`.

use std::rc::Rc;

use super::args::arg;
use super::array_elements;
use super::methods::BuiltinMethod;
use crate::context::EvalContext;
use crate::convert::to_text;
use crate::error::Error;
use crate::value::{JsArray, JsFunction, Value};

/// A method of functions.
type FunctionMethod = fn(&mut EvalContext<'_>, &Value, &[Value]) -> Result<Value, Error>;

pub(super) fn method(method: BuiltinMethod) -> Option<FunctionMethod> {
    Some(match method {
        BuiltinMethod::Call => {
            |cx, this, args| cx.call(this, arg(args, 0), args.get(1..).unwrap_or_default())
        }
        BuiltinMethod::Apply => |cx, this, args| {
            let arguments = match arg(args, 1) {
                Value::Undefined | Value::Null => Vec::new(),
                list => array_elements(cx, list)?,
            };
            cx.call(this, arg(args, 0), &arguments)
        },
        BuiltinMethod::Bind => |_, this, args| Ok(bound(this, args)),
        BuiltinMethod::ToString => |cx, this, _| to_text(cx, this).map(Value::String),
        _ => return None,
    })
}

/// Returns `name` or `length`.
pub(super) fn property(this: &Value, name: &str) -> Option<Value> {
    match (this, name) {
        (Value::Builtin(builtin), "name") => Some(Value::from(builtin.name)),
        (Value::Function(function), "name") => Some(Value::String(match &**function {
            JsFunction::Arrow { arrow, .. } => arrow.name.clone(),
            JsFunction::Host { name, .. } | JsFunction::Method { name, .. } => name.clone(),
        })),
        (Value::Function(function), "length") => match &**function {
            JsFunction::Arrow { arrow, .. } => Some(Value::Number(arrow.parameters.len() as f64)),
            _ => Some(Value::Number(0.0)),
        },
        _ => None,
    }
}

fn bound(function: &Value, args: &[Value]) -> Value {
    let name: Rc<str> = match property(function, "name") {
        Some(Value::String(name)) => format!("bound {name}").into(),
        _ => "bound".into(),
    };
    let mut parts = vec![function.clone(), arg(args, 0).clone()];
    parts.extend_from_slice(args.get(1..).unwrap_or_default());
    // A list of ours rather than plain captures: bound functions can be bound again and again.
    let parts = JsArray::from(parts);
    Value::host(&name, move |cx, more| {
        let mut arguments = parts.borrow().clone();
        arguments.extend_from_slice(more);
        match &arguments[..] {
            [function, this, arguments @ ..] => cx.call(function, this, arguments),
            _ => Ok(Value::Undefined),
        }
    })
}
