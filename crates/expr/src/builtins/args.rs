//! Reading arguments the way JavaScript's library does.

use crate::context::EvalContext;
use crate::convert::{to_integer_or_infinity, to_text};
use crate::error::Error;
use crate::value::{JsObject, Value};

/// Returns the argument at a position; `undefined` when it was not given.
#[inline]
pub(super) fn arg(args: &[Value], position: usize) -> &Value {
    args.get(position).unwrap_or(&Value::Undefined)
}

/// Returns a position counted from the end if negative, held within `0..=len`.
pub(super) fn relative(
    cx: &mut EvalContext<'_>,
    value: &Value,
    len: usize,
    default: usize,
) -> Result<usize, Error> {
    if let Value::Undefined = value {
        return Ok(default);
    }
    let position = to_integer_or_infinity(cx, value)?;
    Ok(if position < 0.0 {
        (len as f64 + position).max(0.0)
    } else {
        position.min(len as f64)
    } as usize)
}

/// Returns a position held within `0..=len`; negative is 0.
pub(super) fn clamped(
    cx: &mut EvalContext<'_>,
    value: &Value,
    len: usize,
    default: usize,
) -> Result<usize, Error> {
    if let Value::Undefined = value {
        return Ok(default);
    }
    Ok(to_integer_or_infinity(cx, value)?.clamp(0.0, len as f64) as usize)
}

/// Returns an index counted from the end if negative; `None` if it is outside.
pub(super) fn index(
    cx: &mut EvalContext<'_>,
    value: &Value,
    len: usize,
) -> Result<Option<usize>, Error> {
    let position = to_integer_or_infinity(cx, value)?;
    let position = if position < 0.0 {
        len as f64 + position
    } else {
        position
    };
    Ok((position >= 0.0 && position < len as f64).then_some(position as usize))
}

/// Returns the first argument as a function.
pub(super) fn callback<'a>(
    cx: &mut EvalContext<'_>,
    args: &'a [Value],
) -> Result<&'a Value, Error> {
    let callback = arg(args, 0);
    if callback.is_callable() {
        return Ok(callback);
    }
    let shown = shown(cx, callback)?;
    Err(Error::runtime(format!("{shown} is not a function")))
}

/// Prints a value for error messages.
pub(super) fn shown(cx: &mut EvalContext<'_>, value: &Value) -> Result<String, Error> {
    Ok(match value {
        Value::Object(_) => "#<Object>".to_owned(),
        Value::Map(_) => "#<Map>".to_owned(),
        Value::Set(_) => "#<Set>".to_owned(),
        Value::Array(items) if items.borrow().is_empty() => "[]".to_owned(),
        other => to_text(cx, other)?.to_string(),
    })
}

/// Returns a property of an options argument; `undefined` if there are no options.
pub(super) fn option(options: &Value, name: &str) -> Value {
    match options {
        Value::Object(object) => object.borrow().get(name).unwrap_or_default(),
        _ => Value::Undefined,
    }
}

/// Reads an option that must be a whole number within bounds.
pub(super) fn whole_option(
    cx: &mut EvalContext<'_>,
    options: &Value,
    name: &str,
    (min, max): (f64, f64),
) -> Result<Option<usize>, Error> {
    let value = option(options, name);
    if let Value::Undefined = value {
        return Ok(None);
    }
    let number = crate::convert::to_number(cx, &value)?;
    if number.is_nan() || number < min || number > max {
        return Err(Error::runtime(format!("{name} value is out of range.")));
    }
    Ok(Some(number.floor() as usize))
}

/// Reads an option that is text.
pub(super) fn text_option(options: &Value, name: &str) -> Option<std::rc::Rc<str>> {
    match option(options, name) {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Makes an object from its properties.
pub(super) fn object<const N: usize>(properties: [(&str, Value); N]) -> Value {
    let mut object = JsObject::new();
    for (key, value) in properties {
        object.insert(key, value);
    }
    Value::object(object)
}
