//! Looking into text: characters at positions, and where one text is in another.

use std::rc::Rc;

use super::super::args::{arg, clamped, index};
use super::super::text;
use super::plain_text;
use crate::context::EvalContext;
use crate::convert::{to_integer_or_infinity, to_number, to_text};
use crate::error::Error;
use crate::value::Value;

pub(super) fn at(cx: &mut EvalContext<'_>, this: &Rc<str>, args: &[Value]) -> Result<Value, Error> {
    cx.charge_bytes(this.len())?;
    let position = index(cx, arg(args, 0), text::len(this))?;
    let unit = position.and_then(|position| text::unit(this, position));
    Ok(unit.map_or(Value::Undefined, text::of_unit))
}

pub(super) fn char_at(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    let unit = unit_at(cx, this, args)?;
    Ok(unit.map_or_else(|| Value::from(""), text::of_unit))
}

pub(super) fn char_code_at(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    let unit = unit_at(cx, this, args)?;
    Ok(Value::Number(unit.map_or(f64::NAN, f64::from)))
}

pub(super) fn code_point_at(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    let position = to_integer_or_infinity(cx, arg(args, 0))?;
    cx.charge_bytes(this.len())?;
    if position < 0.0 {
        return Ok(Value::Undefined);
    }
    let position = position as usize;
    let Some(unit) = text::unit(this, position) else {
        return Ok(Value::Undefined);
    };
    let point = match unit {
        0xD800..0xDC00 => {
            let byte = text::byte_of(this, position);
            this[byte..]
                .chars()
                .next()
                .map_or(u32::from(unit), u32::from)
        }
        unit => u32::from(unit),
    };
    Ok(Value::Number(f64::from(point)))
}

fn unit_at(cx: &mut EvalContext<'_>, this: &str, args: &[Value]) -> Result<Option<u16>, Error> {
    let position = to_integer_or_infinity(cx, arg(args, 0))?;
    if !this.is_ascii() {
        cx.charge_bytes(this.len())?;
    }
    Ok(if position < 0.0 {
        None
    } else {
        text::unit(this, position as usize)
    })
}

pub(super) fn includes(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    let needle = plain_text(cx, args, "includes")?;
    cx.charge_bytes(this.len())?;
    let from = start(cx, this, arg(args, 1))?;
    Ok(Value::Bool(this[from..].contains(&*needle)))
}

pub(super) fn starts_with(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    let needle = plain_text(cx, args, "startsWith")?;
    cx.charge_bytes(needle.len())?;
    let from = start(cx, this, arg(args, 1))?;
    Ok(Value::Bool(this[from..].starts_with(&*needle)))
}

pub(super) fn ends_with(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    let needle = plain_text(cx, args, "endsWith")?;
    cx.charge_bytes(needle.len())?;
    let end = match arg(args, 1) {
        Value::Undefined => this.len(),
        end => {
            let units = text::len(this);
            text::byte_of(this, clamped(cx, end, units, units)?)
        }
    };
    Ok(Value::Bool(this[..end].ends_with(&*needle)))
}

pub(super) fn index_of(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    let needle = to_text(cx, arg(args, 0))?;
    cx.charge_bytes(this.len())?;
    let from = start(cx, this, arg(args, 1))?;
    let found = this[from..].find(&*needle);
    Ok(Value::Number(found.map_or(-1.0, |byte| {
        text::len(&this[..from + byte]) as f64
    })))
}

pub(super) fn last_index_of(
    cx: &mut EvalContext<'_>,
    this: &Rc<str>,
    args: &[Value],
) -> Result<Value, Error> {
    let needle = to_text(cx, arg(args, 0))?;
    cx.charge_bytes(this.len())?;
    let limit = to_number(cx, arg(args, 1))?;
    let end = if limit.is_nan() {
        this.len()
    } else {
        let byte = text::byte_before(this, limit.max(0.0) as usize);
        let end = byte.saturating_add(needle.len()).min(this.len());
        (end..=this.len())
            .find(|end| this.is_char_boundary(*end))
            .unwrap_or(end)
    };
    let found = this[..end].rfind(&*needle);
    Ok(Value::Number(
        found.map_or(-1.0, |byte| text::len(&this[..byte]) as f64),
    ))
}

/// Returns the byte offset where a search starts.
fn start(cx: &mut EvalContext<'_>, this: &str, position: &Value) -> Result<usize, Error> {
    match position {
        Value::Undefined => Ok(0),
        position => {
            let units = text::len(this);
            Ok(text::byte_of(this, clamped(cx, position, units, 0)?))
        }
    }
}
