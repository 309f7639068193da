//! Numbers as text: `toFixed`, `toPrecision`, `toExponential`, `toString(radix)`.
//!
//! JavaScript rounds the exact binary value, and exact ties upward; Rust's formatting is exact too
//! but rounds ties to even, so ties are detected and rounded here.

use super::super::args::arg;
use crate::context::EvalContext;
use crate::convert::{number_to_string, to_integer_or_infinity, write_number};
use crate::error::Error;
use crate::value::Value;

/// From here on `toFixed` prints like `String`.
const FIXED_MAX: f64 = 1e21;
/// More decimal digits than any double has.
const ALL_DIGITS: usize = 1100;
const TWO_TO_53: f64 = 9_007_199_254_740_992.0;

pub(super) fn to_fixed(
    cx: &mut EvalContext<'_>,
    number: f64,
    args: &[Value],
) -> Result<Value, Error> {
    let mut out = String::with_capacity(24);
    write_fixed(cx, number, args, &mut out)?;
    Ok(Value::from(out))
}

/// Appends what `toFixed` gives.
pub(super) fn write_fixed(
    cx: &mut EvalContext<'_>,
    number: f64,
    args: &[Value],
    out: &mut String,
) -> Result<(), Error> {
    let digits = digits_between(
        cx,
        arg(args, 0),
        0.0,
        "toFixed() digits argument must be between 0 and 100",
    )?;
    cx.charge(1)?;
    if !number.is_finite() || number.abs() >= FIXED_MAX {
        write_number(number, out);
        return Ok(());
    }
    if number < 0.0 {
        out.push('-');
    }
    write_fixed_magnitude(number.abs(), digits, out);
    Ok(())
}

fn digits_between(
    cx: &mut EvalContext<'_>,
    value: &Value,
    min: f64,
    message: &str,
) -> Result<usize, Error> {
    let digits = to_integer_or_infinity(cx, value)?;
    if !(min..=100.0).contains(&digits) {
        return Err(Error::runtime(message));
    }
    Ok(digits as usize)
}

fn signed(number: f64, mut text: String) -> String {
    if number < 0.0 {
        text.insert(0, '-');
    }
    text
}

/// Writes a non-negative number with that many decimals.
fn write_fixed_magnitude(number: f64, digits: usize, out: &mut String) {
    if let Some(rounded) = rounded_in_integers(number, digits) {
        return write_decimal(rounded, digits, out);
    }
    // A tie ends in a 5 one decimal further, so it is a whole number of 2^-(digits+1).
    let scaled = number * f64::powi(2.0, digits as i32 + 1);
    if scaled.fract() == 0.0 && number.fract() != 0.0 {
        let exact = format!("{number:.*}", digits + 1);
        if exact.ends_with('5') {
            let kept = exact[..exact.len() - 1].trim_end_matches('.');
            return out.push_str(&increment(kept));
        }
    }
    out.push_str(&format!("{number:.digits$}"));
}

/// Returns the number times 10^digits as a whole number, in exact integer arithmetic. This is the
/// common case: few decimals, nothing larger than 2^53.
fn rounded_in_integers(number: f64, digits: usize) -> Option<u64> {
    const DIGITS_MAX: usize = 9;
    const MANTISSA_BITS: u32 = 52;
    if digits > DIGITS_MAX || number >= TWO_TO_53 {
        return None;
    }
    let bits = number.to_bits();
    let exponent = (bits >> MANTISSA_BITS) as i32;
    if exponent == 0 {
        return None;
    }
    let mantissa = (bits & ((1 << MANTISSA_BITS) - 1)) | (1 << MANTISSA_BITS);
    // number = mantissa / 2^shift
    let shift = u32::try_from(1075 - exponent)
        .ok()
        .filter(|shift| *shift < 120)?;
    let scaled = u128::from(mantissa) * u128::from(10_u64.pow(digits as u32));
    let rounded = if shift == 0 {
        scaled
    } else {
        (scaled + (1 << (shift - 1))) >> shift
    };
    u64::try_from(rounded).ok()
}

/// Appends a whole number with the point `digits` places from its end.
fn write_decimal(rounded: u64, digits: usize, out: &mut String) {
    let mut buffer = itoa::Buffer::new();
    let power = 10_u64.pow(digits as u32);
    out.push_str(buffer.format(rounded / power));
    if digits > 0 {
        out.push('.');
        let fraction = buffer.format(rounded % power);
        (fraction.len()..digits).for_each(|_| out.push('0'));
        out.push_str(fraction);
    }
}

/// Adds one to the last digit of a decimal number.
fn increment(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for byte in bytes.iter_mut().rev() {
        match byte {
            b'9' => *byte = b'0',
            b'.' => {}
            digit => {
                *digit += 1;
                return String::from_utf8_lossy(&bytes).into_owned();
            }
        }
    }
    format!("1{}", String::from_utf8_lossy(&bytes))
}

pub(super) fn to_precision(
    cx: &mut EvalContext<'_>,
    number: f64,
    args: &[Value],
) -> Result<Value, Error> {
    if let Value::Undefined = arg(args, 0) {
        return Ok(Value::from(number_to_string(number)));
    }
    let wanted = to_integer_or_infinity(cx, arg(args, 0))?;
    if !number.is_finite() {
        return Ok(Value::from(number_to_string(number)));
    }
    if !(1.0..=100.0).contains(&wanted) {
        return Err(Error::runtime(
            "toPrecision() argument must be between 1 and 100",
        ));
    }
    cx.charge(1)?;
    let precision = wanted as usize;
    let (digits, exponent) = significant(number.abs(), precision);
    let text = if exponent < -6 || exponent >= precision as i32 {
        exponential(&digits, exponent)
    } else if exponent >= 0 {
        let (whole, fraction) = digits.split_at(exponent as usize + 1);
        if fraction.is_empty() {
            whole.to_owned()
        } else {
            format!("{whole}.{fraction}")
        }
    } else {
        format!("0.{}{digits}", "0".repeat((-exponent - 1) as usize))
    };
    Ok(Value::from(signed(number, text)))
}

pub(super) fn to_exponential(
    cx: &mut EvalContext<'_>,
    number: f64,
    args: &[Value],
) -> Result<Value, Error> {
    let wanted = to_integer_or_infinity(cx, arg(args, 0))?;
    if !number.is_finite() {
        return Ok(Value::from(number_to_string(number)));
    }
    cx.charge(1)?;
    let (digits, exponent) = if let Value::Undefined = arg(args, 0) {
        split_scientific(&format!("{:e}", number.abs()))
    } else {
        if !(0.0..=100.0).contains(&wanted) {
            return Err(Error::runtime(
                "toExponential() argument must be between 0 and 100",
            ));
        }
        significant(number.abs(), wanted as usize + 1)
    };
    Ok(Value::from(signed(number, exponential(&digits, exponent))))
}

fn exponential(digits: &str, exponent: i32) -> String {
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{first}{point}{rest}e{sign}{}", exponent.abs())
}

/// Returns the first digits of a non-negative number, rounded, and itsdecimal exponent.
pub(super) fn significant(number: f64, count: usize) -> (String, i32) {
    let (rounded, exponent) = split_scientific(&format!("{number:.*e}", count - 1));
    let (exact, exact_exponent) = split_scientific(&format!("{number:.*e}", count + 24));
    let tail = &exact[count..];
    if tail.starts_with('5') && tail[1..].bytes().all(|digit| digit == b'0') {
        let (all, _) = split_scientific(&format!("{number:.ALL_DIGITS$e}"));
        if all[count + 1..].bytes().all(|digit| digit == b'0') {
            let mut up = increment(&exact[..count]);
            let carried = up.len() > count;
            up.truncate(count);
            return (up, exact_exponent + i32::from(carried));
        }
    }
    (rounded, exponent)
}

/// Splits `1.25e-3` into its digits and exponent.
pub(super) fn split_scientific(text: &str) -> (String, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (mantissa.replace('.', ""), exponent.parse().unwrap_or(0))
}

pub(super) fn to_string(
    cx: &mut EvalContext<'_>,
    number: f64,
    args: &[Value],
) -> Result<Value, Error> {
    let radix = radix(cx, arg(args, 0))?;
    cx.charge(1)?;
    if radix == 10 || !number.is_finite() {
        return Ok(Value::from(number_to_string(number)));
    }
    Ok(Value::from(signed(
        number,
        in_radix_f64(number.abs(), radix),
    )))
}

/// Reads the radix argument of `toString`.
pub(super) fn radix(cx: &mut EvalContext<'_>, value: &Value) -> Result<u32, Error> {
    let radix = match value {
        Value::Undefined => 10.0,
        radix => to_integer_or_infinity(cx, radix)?,
    };
    if !(2.0..=36.0).contains(&radix) {
        return Err(Error::runtime(
            "toString() radix argument must be between 2 and 36",
        ));
    }
    Ok(radix as u32)
}

fn digit(value: u32) -> char {
    char::from_digit(value, 36).unwrap_or('0')
}

/// Writes a whole number in a radix.
pub(in super::super) fn in_radix(mut value: u128, radix: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(digit((value % u128::from(radix)) as u32));
        value /= u128::from(radix);
        if value == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// Writes the shortest digits in a radix that still name the same double.
fn in_radix_f64(number: f64, radix: u32) -> String {
    let base = f64::from(radix);
    let mut whole = number.floor();
    let mut fraction = number - whole;
    // Half the distance to the next double: anything smaller does not matter.
    let mut slack = (0.5 * (number.next_up() - number)).max(f64::from_bits(1));
    let mut decimals: Vec<u32> = Vec::new();
    if fraction >= slack {
        loop {
            fraction *= base;
            slack *= base;
            let next = fraction.floor();
            decimals.push(next as u32);
            fraction -= next;
            let up = fraction > 0.5 || (fraction == 0.5 && next % 2.0 == 1.0);
            if up && fraction + slack > 1.0 {
                whole += round_up(&mut decimals, radix);
                break;
            }
            if fraction < slack {
                break;
            }
        }
    }
    let mut zeros = 0;
    // Digits that a double cannot tell apart are written as zeros.
    while whole >= TWO_TO_53 * base {
        whole /= base;
        zeros += 1;
    }
    let mut digits = vec!['0'; zeros];
    loop {
        let last = whole % base;
        digits.push(digit(last as u32));
        whole = (whole - last) / base;
        if whole <= 0.0 {
            break;
        }
    }
    let mut text: String = digits.iter().rev().collect();
    if !decimals.is_empty() {
        text.push('.');
        text.extend(decimals.into_iter().map(digit));
    }
    text
}

/// Rounds up the last digit; returns the carry into the whole part.
fn round_up(decimals: &mut Vec<u32>, radix: u32) -> f64 {
    while let Some(last) = decimals.pop() {
        if last + 1 < radix {
            decimals.push(last + 1);
            return 0.0;
        }
    }
    1.0
}
