//! JavaScript's conversions and equalities.

use std::cmp::Ordering;
use std::rc::Rc;

use crate::builtins;
use crate::context::EvalContext;
use crate::error::Error;
use crate::value::{JsFunction, Value};

/// The primitive type that a conversion of an object prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrimitiveHint {
    Default,
    Number,
    String,
}

/// `String(value)`.
pub fn to_text(cx: &mut EvalContext<'_>, value: &Value) -> Result<Rc<str>, Error> {
    if let Value::String(text) = value {
        return Ok(text.clone());
    }
    let mut text = String::new();
    write_text(cx, value, &mut text)?;
    Ok(text.into())
}

/// Appends `String(value)` to `out`.
pub(crate) fn write_text(
    cx: &mut EvalContext<'_>,
    value: &Value,
    out: &mut String,
) -> Result<(), Error> {
    match value {
        Value::String(text) => {
            cx.charge_bytes(text.len())?;
            out.push_str(text);
        }
        Value::Number(number) => write_number(*number, out),
        Value::Undefined => out.push_str("undefined"),
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::BigInt(value) => out.push_str(&value.to_string()),
        Value::Array(items) => return write_joined(cx, &items.borrow().clone(), ",", out),
        Value::Function(function) => out.push_str(&function_source(function)),
        Value::Builtin(builtin) if builtin.call.is_some() || builtin.construct.is_some() => {
            out.push_str(&format!("function {}() {{ [native code] }}", builtin.name));
        }
        Value::Builtin(builtin) => out.push_str(&format!("[object {}]", builtin.name)),
        other => match to_primitive(cx, other, PrimitiveHint::String)? {
            Value::String(text) => out.push_str(&text),
            primitive => write_text(cx, &primitive, out)?,
        },
    }
    Ok(())
}

/// Appends what `Array.prototype.join` gives.
pub(crate) fn write_joined(
    cx: &mut EvalContext<'_>,
    items: &[Value],
    separator: &str,
    out: &mut String,
) -> Result<(), Error> {
    cx.deeper(|cx| {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                out.push_str(separator);
            }
            cx.charge(1)?;
            if !item.is_nullish() {
                write_text(cx, item, out)?;
            }
            check_length(cx, out.len())?;
        }
        Ok(())
    })
}

fn check_length(cx: &EvalContext<'_>, bytes: usize) -> Result<(), Error> {
    let max = cx.limits().string_bytes_max;
    if bytes > max {
        return Err(Error::limit(format!(
            "a text is longer than string_bytes_max = {max} bytes"
        )));
    }
    Ok(())
}

fn function_source(function: &JsFunction) -> String {
    match function {
        JsFunction::Arrow { arrow, .. } => arrow.source.to_string(),
        JsFunction::Host { name, .. } | JsFunction::Method { name, .. } => {
            format!("function {name}() {{ [native code] }}")
        }
    }
}

/// Prints a number as JavaScript does.
pub fn number_to_string(number: f64) -> String {
    let mut text = String::new();
    write_number(number, &mut text);
    text
}

pub(crate) fn write_number(number: f64, out: &mut String) {
    // Whole numbers below 2^53 are the common case, and integer printing is several times faster.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    let whole = number as i64;
    if whole as f64 == number && number.abs() < EXACT_MAX {
        out.push_str(itoa::Buffer::new().format(whole));
        return;
    }
    out.push_str(ryu_js::Buffer::new().format(number));
}

/// `Number(value)`.
pub fn to_number(cx: &mut EvalContext<'_>, value: &Value) -> Result<f64, Error> {
    Ok(match value {
        Value::Number(number) => *number,
        Value::Undefined => f64::NAN,
        Value::Null => 0.0,
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::BigInt(value) => **value as f64,
        Value::String(text) => {
            cx.charge_bytes(text.len())?;
            string_to_number(text)
        }
        other => {
            let primitive = to_primitive(cx, other, PrimitiveHint::Number)?;
            return to_number(cx, &primitive);
        }
    })
}

/// Converts a string to a number: the whole text must be one, spaces aside.
pub(crate) fn string_to_number(text: &str) -> f64 {
    let text = text.trim_matches(is_space);
    if text.is_empty() {
        return 0.0;
    }
    let radix = |digits: &str, radix: u32| {
        if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
            return f64::NAN;
        }
        digits
            .chars()
            .filter_map(|digit| digit.to_digit(radix))
            .fold(0.0, |value, digit| {
                value * f64::from(radix) + f64::from(digit)
            })
    };
    match text.get(..2) {
        Some("0x" | "0X") => return radix(&text[2..], 16),
        Some("0o" | "0O") => return radix(&text[2..], 8),
        Some("0b" | "0B") => return radix(&text[2..], 2),
        _ => {}
    }
    match text {
        "Infinity" | "+Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        _ if text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) =>
        {
            text.parse().unwrap_or(f64::NAN)
        }
        _ => f64::NAN,
    }
}

/// Returns true for JavaScript's white space, line ends included.
pub(crate) fn is_space(c: char) -> bool {
    matches!(c, '\u{FEFF}') || (c.is_whitespace() && c != '\u{85}')
}

/// Converts to an integer, with NaN as 0 and infinities kept.
pub(crate) fn to_integer_or_infinity(
    cx: &mut EvalContext<'_>,
    value: &Value,
) -> Result<f64, Error> {
    let number = to_number(cx, value)?;
    Ok(if number.is_nan() {
        0.0
    } else {
        number.trunc() + 0.0
    })
}

pub(crate) fn to_int32(cx: &mut EvalContext<'_>, value: &Value) -> Result<i32, Error> {
    to_uint32(cx, value).map(|bits| bits as i32)
}

pub(crate) fn to_uint32(cx: &mut EvalContext<'_>, value: &Value) -> Result<u32, Error> {
    const TWO_TO_32: f64 = 4_294_967_296.0;
    let number = to_number(cx, value)?;
    if !number.is_finite() {
        return Ok(0);
    }
    Ok(number.trunc().rem_euclid(TWO_TO_32) as u32)
}

/// Converts an object to a primitive; returns a primitive unchanged.
pub(crate) fn to_primitive(
    cx: &mut EvalContext<'_>,
    value: &Value,
    hint: PrimitiveHint,
) -> Result<Value, Error> {
    match value {
        Value::Object(object) => {
            let order: [&str; 2] = match hint {
                PrimitiveHint::String => ["toString", "valueOf"],
                PrimitiveHint::Default | PrimitiveHint::Number => ["valueOf", "toString"],
            };
            for name in order {
                let own = object.borrow().get(name);
                let own = own.filter(Value::is_callable);
                if own.is_none() && name == "toString" {
                    // The inherited one always gives a string.
                    break;
                }
                if let Some(method) = own {
                    let primitive = cx.call(&method, value, &[])?;
                    if !matches!(primitive, Value::Object(_) | Value::Array(_)) {
                        return Ok(primitive);
                    }
                }
            }
            Ok(Value::String(
                builtins::display(value).unwrap_or_else(|| Rc::from("[object Object]")),
            ))
        }
        Value::Date(date) if hint == PrimitiveHint::Number => Ok(Value::Number(date.get())),
        Value::Array(_) | Value::Function(_) | Value::Builtin(_) => {
            to_text(cx, value).map(Value::String)
        }
        Value::Date(_) | Value::RegExp(_) | Value::Map(_) | Value::Set(_) => {
            let text = builtins::display(value).unwrap_or_else(|| Rc::from("[object Object]"));
            Ok(Value::String(text))
        }
        Value::Lazy(_) => to_primitive(cx, &value.clone().forced(), hint),
        primitive => Ok(primitive.clone()),
    }
}

/// `===`
pub fn strict_equals(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Undefined, Value::Undefined) | (Value::Null, Value::Null) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Number(left), Value::Number(right)) => left == right,
        (Value::BigInt(left), Value::BigInt(right)) => left == right,
        (Value::String(left), Value::String(right)) => left == right,
        (Value::Array(left), Value::Array(right)) => Rc::ptr_eq(left, right),
        (Value::Object(left), Value::Object(right)) => Rc::ptr_eq(left, right),
        (Value::Function(left), Value::Function(right)) => same_function(left, right),
        (Value::Builtin(left), Value::Builtin(right)) => std::ptr::eq(*left, *right),
        (Value::RegExp(left), Value::RegExp(right)) => Rc::ptr_eq(left, right),
        (Value::Date(left), Value::Date(right)) => Rc::ptr_eq(left, right),
        (Value::Map(left), Value::Map(right)) => Rc::ptr_eq(left, right),
        (Value::Set(left), Value::Set(right)) => Rc::ptr_eq(left, right),
        _ => false,
    }
}

/// Compares functions: a built-in method is the same function however often it is read.
fn same_function(left: &Rc<JsFunction>, right: &Rc<JsFunction>) -> bool {
    if let (
        JsFunction::Method {
            name: left_name, ..
        },
        JsFunction::Method {
            name: right_name, ..
        },
    ) = (&**left, &**right)
    {
        return left_name == right_name;
    }
    Rc::ptr_eq(left, right)
}

/// Compares like `===`, but NaN equals itself, as `includes`, `Map` and `Set` do.
pub fn same_value_zero(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) if left.is_nan() => right.is_nan(),
        _ => strict_equals(left, right),
    }
}

/// `==`
pub(crate) fn loose_equals(
    cx: &mut EvalContext<'_>,
    left: &Value,
    right: &Value,
) -> Result<bool, Error> {
    fn is_reference(value: &Value) -> bool {
        !matches!(
            value,
            Value::Undefined
                | Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::BigInt(_)
                | Value::String(_)
        )
    }
    if left.is_nullish() || right.is_nullish() {
        return Ok(left.is_nullish() && right.is_nullish());
    }
    match (is_reference(left), is_reference(right)) {
        (true, true) => return Ok(strict_equals(left, right)),
        (true, false) => {
            let left = to_primitive(cx, left, PrimitiveHint::Default)?;
            return loose_equals(cx, &left, right);
        }
        (false, true) => {
            let right = to_primitive(cx, right, PrimitiveHint::Default)?;
            return loose_equals(cx, left, &right);
        }
        (false, false) => {}
    }
    if std::mem::discriminant(left) == std::mem::discriminant(right) {
        return Ok(strict_equals(left, right));
    }
    Ok(to_number(cx, left)? == to_number(cx, right)?)
}

/// Compares by UTF-16 code units, as JavaScript compares strings.
pub(crate) fn compare_strings(left: &str, right: &str) -> Ordering {
    if left.is_ascii() || right.is_ascii() {
        // UTF-8 and UTF-16 order only differ where both sides have characters past U+D7FF.
        return left.cmp(right);
    }
    left.encode_utf16().cmp(right.encode_utf16())
}
