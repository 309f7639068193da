//! The standard library: globals, methods and properties of every built-in type.

use std::rc::Rc;

use crate::context::Context;
use crate::error::Error;
use crate::value::{Builtin, Value};

/// A method name known at compile time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Method(pub(crate) u16);

/// The method with this name on any built-in type.
pub(crate) fn method(_name: &str) -> Option<Method> {
    None
}

/// Calls a built-in method; `None` when `this` has no such method.
pub(crate) fn call_method(
    _cx: &mut Context<'_>,
    _this: &Value,
    _method: Method,
    _args: &[Value],
) -> Option<Result<Value, Error>> {
    None
}

/// Whether `this` has the built-in method, so that `"x".trim` can be read without a call.
pub(crate) fn has_method(_this: &Value, _name: &str) -> bool {
    false
}

/// A built-in property that is not a method: `length`, `size`, `flags`.
pub(crate) fn property(_this: &Value, _name: &str) -> Option<Value> {
    None
}

/// A global: `Math`, `String`, `parseInt`, `NaN`, `undefined`. These win over the state.
pub(crate) fn global(_name: &str) -> Option<Value> {
    None
}

/// `new X(...)`.
pub(crate) fn construct(
    cx: &mut Context<'_>,
    builtin: &'static Builtin,
    args: &[Value],
) -> Result<Value, Error> {
    match builtin.construct {
        Some(construct) => construct(cx, &Value::Undefined, args),
        None => Err(Error::runtime(format!("{} is not a constructor", builtin.name))),
    }
}

/// What `for…of`, spread and `@each` see: arrays, strings by code point, maps, sets.
pub(crate) fn iterate(_cx: &mut Context<'_>, _value: &Value) -> Result<Option<Vec<Value>>, Error> {
    Ok(None)
}

/// How a date, map, set, regular expression or error object prints.
pub(crate) fn display(_value: &Value) -> Option<Rc<str>> {
    None
}
