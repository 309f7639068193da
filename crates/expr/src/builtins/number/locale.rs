//! `toLocaleString` of numbers, always as `en-US`: digits in groups, currencies, percentages.

use std::rc::Rc;

use super::super::args::{arg, option, text_option, whole_option};
use super::format::split_scientific;
use crate::context::EvalContext;
use crate::error::Error;
use crate::value::Value;

/// Options that would change the result in ways not provided.
const UNSUPPORTED: [&str; 6] = [
    "compactDisplay",
    "currencySign",
    "minimumSignificantDigits",
    "notation",
    "signDisplay",
    "unit",
];

/// Format of a number.
struct NumberStyle {
    min_whole: usize,
    min_fraction: usize,
    max_fraction: usize,
    max_significant: Option<usize>,
    grouping: bool,
    percent: bool,
    /// Text before the digits.
    prefix: Rc<str>,
}

pub(super) fn to_locale_string(
    cx: &mut EvalContext<'_>,
    number: f64,
    args: &[Value],
) -> Result<Value, Error> {
    let style = NumberStyle::of(cx, arg(args, 1))?;
    cx.charge(1)?;
    let sign = if number.is_sign_negative() && !number.is_nan() {
        "-"
    } else {
        ""
    };
    let suffix = if style.percent { "%" } else { "" };
    let digits = if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        "∞".to_owned()
    } else {
        style.digits(number.abs())
    };
    // Only digits keep their distance from a currency code.
    let prefix = if number.is_finite() {
        &style.prefix
    } else {
        style.prefix.trim_end()
    };
    Ok(Value::from(format!("{sign}{prefix}{digits}{suffix}")))
}

impl NumberStyle {
    fn of(cx: &mut EvalContext<'_>, options: &Value) -> Result<Self, Error> {
        for name in UNSUPPORTED {
            let value = text_option(options, name);
            let usual = matches!(value.as_deref(), None | Some("standard" | "auto"));
            if !usual || (name.starts_with("minimum") && option(options, name).is_truthy()) {
                return Err(Error::runtime(format!(
                    "toLocaleString does not support the option {name}; format the number yourself"
                )));
            }
        }
        let kind = text_option(options, "style");
        let kind = kind.as_deref().unwrap_or("decimal");
        let code = text_option(options, "currency");
        let (prefix, default_min, default_max) = match (kind, &code) {
            ("currency", Some(code)) => currency(code),
            ("currency", None) => {
                return Err(Error::runtime(
                    "Currency code is required with currency style.",
                ));
            }
            ("percent", _) => ("".into(), 0, 0),
            _ => ("".into(), 0, 3),
        };
        let min = whole_option(cx, options, "minimumFractionDigits", (0.0, 100.0))?;
        let max = whole_option(cx, options, "maximumFractionDigits", (0.0, 100.0))?;
        let (min, max) = match (min, max) {
            (None, None) => (default_min, default_max),
            (Some(min), None) => (min, default_max.max(min)),
            (None, Some(max)) => (default_min.min(max), max),
            (Some(min), Some(max)) if min > max => {
                return Err(Error::runtime(
                    "maximumFractionDigits value is out of range.",
                ));
            }
            (Some(min), Some(max)) => (min, max),
        };
        Ok(NumberStyle {
            min_whole: whole_option(cx, options, "minimumIntegerDigits", (1.0, 21.0))?.unwrap_or(1),
            min_fraction: min,
            max_fraction: max,
            max_significant: whole_option(cx, options, "maximumSignificantDigits", (1.0, 21.0))?,
            grouping: matches!(option(options, "useGrouping"), Value::Undefined)
                || option(options, "useGrouping").is_truthy(),
            percent: kind == "percent",
            prefix,
        })
    }

    /// Returns the digits of a non-negative number; rounds its shortest decimal form.
    fn digits(&self, number: f64) -> String {
        let (digits, exponent) = split_scientific(&format!("{number:e}"));
        // Position of the decimal point in `digits`.
        let point = exponent + 1 + if self.percent { 2 } else { 0 };
        let (keep, min_fraction) = match self.max_significant {
            Some(count) => (count as i32, 0),
            None => (point + self.max_fraction as i32, self.min_fraction),
        };
        let (digits, point) = rounded(&digits, point, keep);
        let (whole, fraction) = split_at_point(&digits, point);
        let whole = format!("{whole:0>width$}", width = self.min_whole);
        let fraction = fraction.trim_end_matches('0');
        let fraction = format!("{fraction:0<min_fraction$}");
        let whole = if self.grouping {
            grouped(&whole)
        } else {
            whole
        };
        if fraction.is_empty() {
            whole
        } else {
            format!("{whole}.{fraction}")
        }
    }
}

/// Keeps the first digits, rounding halves away from zero; the point may move by one.
fn rounded(digits: &str, point: i32, keep: i32) -> (String, i32) {
    if keep < 0 {
        return ("0".to_owned(), 1);
    }
    let keep = keep as usize;
    if keep >= digits.len() {
        return (digits.to_owned(), point);
    }
    let up = digits.as_bytes()[keep] >= b'5';
    let mut kept = digits.as_bytes()[..keep].to_vec();
    if up {
        for digit in kept.iter_mut().rev() {
            if *digit != b'9' {
                *digit += 1;
                return (String::from_utf8_lossy(&kept).into_owned(), point);
            }
            *digit = b'0';
        }
        kept.insert(0, b'1');
        return (String::from_utf8_lossy(&kept).into_owned(), point + 1);
    }
    (String::from_utf8_lossy(&kept).into_owned(), point)
}

/// Digits before and after the decimal point, which may lie outside of them.
fn split_at_point(digits: &str, point: i32) -> (String, String) {
    if point <= 0 {
        return (
            String::new(),
            format!("{}{digits}", "0".repeat((-point) as usize)),
        );
    }
    let point = point as usize;
    if point >= digits.len() {
        let whole = format!("{digits:0<point$}");
        let significant = whole.trim_start_matches('0');
        return (significant.to_owned(), String::new());
    }
    (
        digits[..point].trim_start_matches('0').to_owned(),
        digits[point..].to_owned(),
    )
}

/// Digits with a comma at every third.
pub(super) fn grouped(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns the text before an amount, and the smallest and largest number of its decimals.
fn currency(code: &str) -> (Rc<str>, usize, usize) {
    let code = code.to_ascii_uppercase();
    let (symbol, decimals) = match code.as_str() {
        "USD" => ("$", 2),
        "EUR" => ("€", 2),
        "GBP" => ("£", 2),
        "JPY" => ("¥", 0),
        "CNY" => ("CN¥", 2),
        "INR" => ("₹", 2),
        "KRW" => ("₩", 0),
        "CAD" => ("CA$", 2),
        "AUD" => ("A$", 2),
        "MXN" => ("MX$", 2),
        "BRL" => ("R$", 2),
        "NZD" => ("NZ$", 2),
        "ILS" => ("₪", 2),
        "VND" => ("₫", 0),
        other => return (format!("{other}\u{A0}").into(), 2, 2),
    };
    (symbol.into(), decimals, decimals)
}
