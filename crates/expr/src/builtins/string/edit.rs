//! Text from text: slices, case, padding, trimming.

use std::rc::Rc;

use unicode_normalization::UnicodeNormalization;

use super::super::args::{arg, clamped, relative};
use super::super::text;
use crate::context::EvalContext;
use crate::convert::{is_space, number_to_string, to_integer_or_infinity, to_text};
use crate::error::Error;
use crate::value::Value;

pub(super) fn slice(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    let len = text::len(this);
    let start = relative(cx, arg(args, 0), len, 0)?;
    let end = relative(cx, arg(args, 1), len, len)?;
    part(cx, this, start, end.max(start))
}

pub(super) fn substring(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    let len = text::len(this);
    let start = clamped(cx, arg(args, 0), len, 0)?;
    let end = clamped(cx, arg(args, 1), len, len)?;
    part(cx, this, start.min(end), start.max(end))
}

pub(super) fn substr(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    let len = text::len(this);
    let start = relative(cx, arg(args, 0), len, 0)?;
    let length = clamped(cx, arg(args, 1), len - start, len - start)?;
    part(cx, this, start, start + length)
}

fn part(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    start: usize,
    end: usize,
) -> Result<Value, Error> {
    let scanned = if this.is_ascii() {
        end - start
    } else {
        this.len()
    };
    cx.charge_bytes(scanned)?;
    Ok(Value::String(text::slice(this, start, end)))
}

pub(super) fn to_lower_case(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    _: &[Value],
) -> Result<Value, Error> {
    if this
        .bytes()
        .any(|byte| !byte.is_ascii() || byte.is_ascii_uppercase())
    {
        return written(|out| write_lower_case(cx, this, out));
    }
    cx.reserve_string(this.len())?;
    Ok(Value::String(this.clone()))
}

pub(super) fn to_upper_case(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    _: &[Value],
) -> Result<Value, Error> {
    if this
        .bytes()
        .any(|byte| !byte.is_ascii() || byte.is_ascii_lowercase())
    {
        return written(|out| write_upper_case(cx, this, out));
    }
    cx.reserve_string(this.len())?;
    Ok(Value::String(this.clone()))
}

fn written(write: impl FnOnce(&mut String) -> Result<(), Error>) -> Result<Value, Error> {
    let mut out = String::new();
    write(&mut out)?;
    Ok(Value::from(out))
}

pub(super) fn write_lower_case(
    cx: &mut EvalContext<'_>,
    this: &str,
    out: &mut String,
) -> Result<(), Error> {
    write_cased(
        cx,
        this,
        out,
        (str::make_ascii_lowercase, str::to_lowercase),
    )
}

pub(super) fn write_upper_case(
    cx: &mut EvalContext<'_>,
    this: &str,
    out: &mut String,
) -> Result<(), Error> {
    write_cased(
        cx,
        this,
        out,
        (str::make_ascii_uppercase, str::to_uppercase),
    )
}

/// Writes the text in another case: ASCII in place, other text through a copy, because it may
/// become longer.
#[inline]
fn write_cased(
    cx: &mut EvalContext<'_>,
    this: &str,
    out: &mut String,
    (in_place, copied): (impl FnOnce(&mut str), impl FnOnce(&str) -> String),
) -> Result<(), Error> {
    cx.reserve_string(this.len())?;
    if this.is_ascii() {
        let start = out.len();
        out.push_str(this);
        in_place(&mut out[start..]);
        return Ok(());
    }
    let cased = copied(this);
    text::check(cx, &cased)?;
    out.push_str(&cased);
    Ok(())
}

pub(super) fn trim(cx: &mut EvalContext<'_>, this: &Rc<str>, _: &[Value]) -> Result<Value, Error> {
    trimmed(cx, this, this.trim_matches(is_space))
}

pub(super) fn trim_start(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    _: &[Value],
) -> Result<Value, Error> {
    trimmed(cx, this, this.trim_start_matches(is_space))
}

pub(super) fn trim_end(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    _: &[Value],
) -> Result<Value, Error> {
    trimmed(cx, this, this.trim_end_matches(is_space))
}

pub(super) fn write_trimmed(
    cx: &mut EvalContext<'_>,
    this: &str,
    out: &mut String,
) -> Result<(), Error> {
    cx.charge_bytes(this.len())?;
    out.push_str(this.trim_matches(is_space));
    Ok(())
}

fn trimmed(cx: &mut EvalContext<'_>, this: &Rc<str>, trimmed: &str) -> Result<Value, Error> {
    cx.charge_bytes(this.len())?;
    if trimmed.len() == this.len() {
        return Ok(Value::String(this.clone()));
    }
    Ok(Value::from(trimmed))
}

pub(super) fn concat(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    let mut out = String::from(&**this);
    for part in args {
        let part = to_text(cx, part)?;
        text::push(cx, &mut out, &part)?;
    }
    Ok(Value::from(out))
}

pub(super) fn repeat(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    let count = to_integer_or_infinity(cx, arg(args, 0))?;
    if count < 0.0 || count.is_infinite() {
        return Err(Error::runtime(format!(
            "Invalid count value: {}",
            shown(cx, args)?
        )));
    }
    if this.is_empty() {
        return Ok(Value::String(this.clone()));
    }
    let count = count as usize;
    cx.reserve_string(this.len().saturating_mul(count))?;
    Ok(Value::from(this.repeat(count)))
}

fn shown(cx: &mut EvalContext<'_>, args: &[Value]) -> Result<Rc<str>, Error> {
    match arg(args, 0) {
        Value::Number(number) => Ok(number_to_string(*number).into()),
        other => to_text(cx, other),
    }
}

pub(super) fn pad_start(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    let Some(mut padding) = padding(cx, this, args)? else {
        return Ok(Value::String(this.clone()));
    };
    padding.push_str(this);
    Ok(Value::from(padding))
}

pub(super) fn pad_end(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    let Some(padding) = padding(cx, this, args)? else {
        return Ok(Value::String(this.clone()));
    };
    Ok(Value::from([&**this, &padding].concat()))
}

/// Returns the text that fills up to the wanted length; `None` when there is nothing to fill.
fn padding(cx: &mut EvalContext<'_>, this: &str, args: &[Value]) -> Result<Option<String>, Error> {
    let wanted = to_integer_or_infinity(cx, arg(args, 0))?;
    let len = text::len(this);
    let filler = match arg(args, 1) {
        Value::Undefined => Rc::from(" "),
        filler => to_text(cx, filler)?,
    };
    if wanted <= len as f64 || filler.is_empty() {
        return Ok(None);
    }
    let units = wanted.min(usize::MAX as f64) as usize - len;
    // A UTF-16 unit is at least one byte and at most three.
    let bytes = if filler.is_ascii() {
        units
    } else {
        units.saturating_mul(3)
    };
    cx.reserve_string(bytes.saturating_add(this.len()))?;
    if filler.is_ascii() {
        return Ok(Some(filler.chars().cycle().take(units).collect()));
    }
    Ok(Some(text::of_units(
        filler.encode_utf16().cycle().take(units),
    )))
}

pub(super) fn normalize(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    let form = match arg(args, 0) {
        Value::Undefined => Rc::from("NFC"),
        form => to_text(cx, form)?,
    };
    cx.reserve_string(this.len())?;
    if this.is_ascii() && form.starts_with("NF") {
        return Ok(Value::String(this.clone()));
    }
    match &*form {
        "NFC" => collected(cx, this.nfc()),
        "NFD" => collected(cx, this.nfd()),
        "NFKC" => collected(cx, this.nfkc()),
        "NFKD" => collected(cx, this.nfkd()),
        _ => Err(Error::runtime(
            "The normalization form should be one of NFC, NFD, NFKC, NFKD.",
        )),
    }
}

/// Collects the characters with a check of their length, because normalizing can make text many
/// times longer.
fn collected(cx: &mut EvalContext<'_>, chars: impl Iterator<Item = char>) -> Result<Value, Error> {
    let max = cx.limits().string_bytes_max;
    let mut out = String::new();
    for c in chars {
        out.push(c);
        if out.len() > max {
            text::check(cx, &out)?;
        }
    }
    cx.charge_bytes(out.len())?;
    Ok(Value::from(out))
}
