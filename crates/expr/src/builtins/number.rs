//! `Number`, `Boolean` and `BigInt`: constructors, constants and methods.

mod format;
mod locale;
mod parse;

use std::rc::Rc;

use super::args::arg;
use super::methods::BuiltinMethod;
use crate::context::EvalContext;
use crate::convert::{number_to_string, string_to_number, to_number, to_text};
use crate::error::Error;
use crate::value::{Builtin, BuiltinMember, Value};

pub(super) use self::format::in_radix;
pub(super) use self::parse::{PARSE_FLOAT, PARSE_INT};

/// A method of a primitive.
type NumberMethod<T> = fn(&mut EvalContext<'_>, T, &[Value]) -> Result<Value, Error>;

const SAFE_MAX: f64 = 9_007_199_254_740_991.0;

/// Returns the number method of that name.
pub(super) fn method(method: BuiltinMethod) -> Option<NumberMethod<f64>> {
    Some(match method {
        BuiltinMethod::ToExponential => format::to_exponential,
        BuiltinMethod::ToFixed => format::to_fixed,
        BuiltinMethod::ToLocaleString => locale::to_locale_string,
        BuiltinMethod::ToPrecision => format::to_precision,
        BuiltinMethod::ToString => format::to_string,
        BuiltinMethod::ValueOf => |_, number, _| Ok(Value::Number(number)),
        _ => return None,
    })
}

/// Appends what a method gives, for those that need no string of their own; `None` for the rest.
pub(super) fn write(
    cx: &mut EvalContext<'_>,
    number: f64,
    (method, args): (BuiltinMethod, &[Value]),
    out: &mut String,
) -> Option<Result<(), Error>> {
    match method {
        BuiltinMethod::ToFixed => Some(format::write_fixed(cx, number, args, out)),
        _ => None,
    }
}

/// Returns a method of BigInts.
pub(super) fn big_method(method: BuiltinMethod) -> Option<NumberMethod<i128>> {
    Some(match method {
        BuiltinMethod::ToString => |cx, value, args| {
            let radix = format::radix(cx, arg(args, 0))?;
            let digits = in_radix(value.unsigned_abs(), radix);
            Ok(Value::from(if value < 0 {
                format!("-{digits}")
            } else {
                digits
            }))
        },
        BuiltinMethod::ToLocaleString => |_, value, _| {
            let digits = locale::grouped(&value.unsigned_abs().to_string());
            Ok(Value::from(if value < 0 {
                format!("-{digits}")
            } else {
                digits
            }))
        },
        BuiltinMethod::ValueOf => |_, value, _| Ok(Value::BigInt(Rc::new(value))),
        _ => return None,
    })
}

/// Returns a method of booleans.
pub(super) fn bool_method(method: BuiltinMethod) -> Option<NumberMethod<bool>> {
    Some(match method {
        BuiltinMethod::ToString | BuiltinMethod::ToLocaleString => {
            |_, value, _| Ok(Value::from(if value { "true" } else { "false" }))
        }
        BuiltinMethod::ValueOf => |_, value, _| Ok(Value::Bool(value)),
        _ => return None,
    })
}

pub(super) static NUMBER: Builtin = Builtin {
    name: "Number",
    call: Some(of),
    construct: Some(of),
    members: &[
        ("EPSILON", BuiltinMember::Number(f64::EPSILON)),
        ("MAX_SAFE_INTEGER", BuiltinMember::Number(SAFE_MAX)),
        ("MAX_VALUE", BuiltinMember::Number(f64::MAX)),
        ("MIN_SAFE_INTEGER", BuiltinMember::Number(-SAFE_MAX)),
        ("MIN_VALUE", BuiltinMember::Number(5e-324)),
        (
            "NEGATIVE_INFINITY",
            BuiltinMember::Number(f64::NEG_INFINITY),
        ),
        ("NaN", BuiltinMember::Number(f64::NAN)),
        ("POSITIVE_INFINITY", BuiltinMember::Number(f64::INFINITY)),
        ("isFinite", BuiltinMember::Function(&IS_FINITE)),
        ("isInteger", BuiltinMember::Function(&IS_INTEGER)),
        ("isNaN", BuiltinMember::Function(&IS_NAN)),
        ("isSafeInteger", BuiltinMember::Function(&IS_SAFE_INTEGER)),
        ("parseFloat", BuiltinMember::Function(&PARSE_FLOAT)),
        ("parseInt", BuiltinMember::Function(&PARSE_INT)),
    ],
};

static IS_FINITE: Builtin = super::function("isFinite", |_, _, args| check(args, f64::is_finite));
static IS_INTEGER: Builtin = super::function("isInteger", |_, _, args| check(args, is_whole));
static IS_NAN: Builtin = super::function("isNaN", |_, _, args| check(args, f64::is_nan));
static IS_SAFE_INTEGER: Builtin = super::function("isSafeInteger", |_, _, args| {
    check(args, |number| is_whole(number) && number.abs() <= SAFE_MAX)
});

/// The global `isFinite`, which converts first.
pub(super) static GLOBAL_IS_FINITE: Builtin = super::function("isFinite", |cx, _, args| {
    to_number(cx, arg(args, 0)).map(|number| Value::Bool(number.is_finite()))
});
/// The global `isNaN`, which converts first.
pub(super) static GLOBAL_IS_NAN: Builtin = super::function("isNaN", |cx, _, args| {
    to_number(cx, arg(args, 0)).map(|number| Value::Bool(number.is_nan()))
});

pub(super) static BOOLEAN: Builtin = Builtin {
    name: "Boolean",
    call: Some(truth),
    construct: Some(truth),
    members: &[],
};

pub(super) static BIG_INT: Builtin = Builtin {
    name: "BigInt",
    call: Some(big),
    construct: None,
    members: &[],
};

fn of(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    match args {
        [] => Ok(Value::Number(0.0)),
        [value, ..] => to_number(cx, value).map(Value::Number),
    }
}

fn truth(_: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    Ok(Value::Bool(arg(args, 0).is_truthy()))
}

fn check(args: &[Value], test: impl Fn(f64) -> bool) -> Result<Value, Error> {
    Ok(Value::Bool(
        matches!(arg(args, 0), Value::Number(number) if test(*number)),
    ))
}

fn is_whole(number: f64) -> bool {
    number.is_finite() && number.fract() == 0.0
}

/// Implements `BigInt(value)`; ours hold 128 bits.
fn big(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    const WHOLE_MAX: f64 = 1.7e38;
    let value = arg(args, 0);
    let whole = match value {
        Value::BigInt(_) => return Ok(value.clone()),
        Value::Bool(value) => i128::from(*value),
        Value::Number(number) if is_whole(*number) && number.abs() < WHOLE_MAX => *number as i128,
        Value::Number(number) => {
            return Err(Error::runtime(format!(
                "The number {} cannot be converted to a BigInt because it is not an integer",
                number_to_string(*number)
            )));
        }
        value => {
            let text = to_text(cx, value)?;
            let whole = match text.trim() {
                "" => Some(0),
                text if string_to_number(text).is_nan() => None,
                text => big_from_text(text),
            };
            whole.ok_or_else(|| Error::runtime(format!("Cannot convert {text} to a BigInt")))?
        }
    };
    Ok(Value::BigInt(Rc::new(whole)))
}

fn big_from_text(text: &str) -> Option<i128> {
    match text.get(..2) {
        Some("0x" | "0X") => i128::from_str_radix(&text[2..], 16).ok(),
        Some("0o" | "0O") => i128::from_str_radix(&text[2..], 8).ok(),
        Some("0b" | "0B") => i128::from_str_radix(&text[2..], 2).ok(),
        _ => text.parse().ok(),
    }
}
