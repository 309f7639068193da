//! `parseInt` and `parseFloat`: as much of a text as is a number.

use super::super::args::arg;
use crate::context::EvalContext;
use crate::convert::{is_space, to_int32, to_text};
use crate::error::Error;
use crate::value::{Builtin, Value};

pub(in super::super) static PARSE_FLOAT: Builtin =
    super::super::function("parseFloat", parse_float);
pub(in super::super) static PARSE_INT: Builtin = super::super::function("parseInt", parse_int);

fn parse_float(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    if let Value::Number(number) = arg(args, 0) {
        // By way of text, -0 would be 0.
        return Ok(Value::Number(number + 0.0));
    }
    let text = to_text(cx, arg(args, 0))?;
    cx.charge_bytes(text.len())?;
    Ok(Value::Number(float_prefix(
        text.trim_start_matches(is_space),
    )))
}

fn float_prefix(text: &str) -> f64 {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.starts_with("Infinity") {
        return if text.starts_with('-') {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        };
    }
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(unsigned);
    let mut len = whole;
    if unsigned[len..].starts_with('.') {
        let fraction = digits(&unsigned[len + 1..]);
        if whole + fraction == 0 {
            return f64::NAN;
        }
        len += 1 + fraction;
    } else if whole == 0 {
        return f64::NAN;
    }
    let rest = &unsigned[len..];
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        let count = digits(&exponent[sign..]);
        if count > 0 {
            len += 1 + sign + count;
        }
    }
    let sign = text.len() - unsigned.len();
    text[..sign + len].parse().unwrap_or(f64::NAN)
}

fn parse_int(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    let text = to_text(cx, arg(args, 0))?;
    let radix = to_int32(cx, arg(args, 1))?;
    cx.charge_bytes(text.len())?;
    Ok(Value::Number(int_prefix(
        text.trim_start_matches(is_space),
        radix,
    )))
}

fn int_prefix(text: &str, radix: i32) -> f64 {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let hex = unsigned
        .strip_prefix("0x")
        .or_else(|| unsigned.strip_prefix("0X"));
    let (radix, digits) = match (radix, hex) {
        (0 | 16, Some(digits)) => (16, digits),
        (0, None) => (10, unsigned),
        (radix, _) => (radix, unsigned),
    };
    if !(2..=36).contains(&radix) {
        return f64::NAN;
    }
    let radix = radix as u32;
    let len = digits
        .bytes()
        .take_while(|byte| char::from(*byte).is_digit(radix))
        .count();
    if len == 0 {
        return f64::NAN;
    }
    let value = if radix == 10 {
        digits[..len].parse().unwrap_or(f64::NAN)
    } else {
        digits[..len]
            .chars()
            .filter_map(|digit| digit.to_digit(radix))
            .fold(0.0, |value, digit| {
                value * f64::from(radix) + f64::from(digit)
            })
    };
    if text.starts_with('-') { -value } else { value }
}
