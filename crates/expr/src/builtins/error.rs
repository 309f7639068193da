//! `Error` and its kinds: plain objects with a `name` and a `message`.
//!
//! Nothing can catch an error inside an expression, so these serve to be printed and compared.

use std::rc::Rc;

use super::args::{arg, option};
use crate::context::EvalContext;
use crate::convert::to_text;
use crate::error::Error;
use crate::property::is_error_named;
use crate::value::{Builtin, JsObject, Value};

/// Defines a constructor per kind of error.
macro_rules! kinds {
    ($($constant:ident $name:literal;)*) => {
        $(pub(super) static $constant: Builtin = Builtin {
            name: $name,
            call: Some(|cx, _, args| create(cx, $name, args)),
            construct: Some(|cx, _, args| create(cx, $name, args)),
            members: &[],
        };)*
    };
}

kinds! {
    ERROR "Error";
    EVAL_ERROR "EvalError";
    RANGE_ERROR "RangeError";
    REFERENCE_ERROR "ReferenceError";
    SYNTAX_ERROR "SyntaxError";
    TYPE_ERROR "TypeError";
    URI_ERROR "URIError";
}

/// Symbols would need a kind of property key that templates have no use for.
pub(super) static SYMBOL: Builtin = super::function("Symbol", |_, _, _| {
    Err(Error::runtime(
        "Symbol is not supported; use a string as key instead",
    ))
});

fn create(cx: &mut EvalContext<'_>, name: &str, args: &[Value]) -> Result<Value, Error> {
    let message = match arg(args, 0) {
        Value::Undefined => "".into(),
        message => to_text(cx, message)?,
    };
    let mut error = JsObject::new();
    error.insert("name", Value::from(name));
    error.insert("message", Value::String(message));
    let cause = option(arg(args, 1), "cause");
    if !matches!(cause, Value::Undefined) {
        error.insert("cause", cause);
    }
    Ok(Value::object(error))
}

/// Prints an error object; `None` if the object is not one.
pub(super) fn text(object: &JsObject) -> Option<Rc<str>> {
    if !is_error_named(object, "Error") {
        return None;
    }
    match (object.peek("name"), object.peek("message")) {
        (Some(Value::String(name)), Some(Value::String(message))) if message.is_empty() => {
            Some(name.clone())
        }
        (Some(Value::String(name)), Some(Value::String(message))) => {
            Some(format!("{name}: {message}").into())
        }
        _ => None,
    }
}
