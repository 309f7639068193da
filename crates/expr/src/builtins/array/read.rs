//! Methods that read a list without calling back: slices, searches, joins.

use super::super::args::{arg, index, relative};
use super::super::{BuiltinMethod, call_method, iterate, text};
use super::SharedArray;
use crate::context::EvalContext;
use crate::convert::{
    same_value_zero, strict_equals, to_integer_or_infinity, to_text, write_joined, write_text,
};
use crate::error::Error;
use crate::value::Value;

pub(super) fn at(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let len = items.borrow().len();
    let position = index(cx, arg(args, 0), len)?;
    Ok(position
        .and_then(|position| items.borrow().get(position).cloned())
        .unwrap_or_default())
}

pub(super) fn slice(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let len = items.borrow().len();
    let start = relative(cx, arg(args, 0), len, 0)?;
    let end = relative(cx, arg(args, 1), len, len)?.max(start);
    cx.reserve_items(end - start)?;
    let part = items.borrow().get(start..end).map(<[Value]>::to_vec);
    Ok(Value::array(part.unwrap_or_default()))
}

pub(super) fn concat(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let mut all = items.borrow().clone();
    for value in args {
        match value {
            Value::Array(more) => {
                let more = more.borrow();
                cx.reserve_items(all.len() + more.len())?;
                all.extend_from_slice(&more);
            }
            value => all.push(value.clone()),
        }
    }
    cx.reserve_items(all.len())?;
    Ok(Value::array(all))
}

pub(super) fn join(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let mut out = String::new();
    if let Some(written) = write_joined_primitives(cx, &items.borrow(), args, &mut out) {
        return written.map(|()| Value::from(out));
    }
    let separator = match arg(args, 0) {
        Value::Undefined => ",".into(),
        separator => to_text(cx, separator)?,
    };
    let copy = items.borrow().clone();
    write_joined(cx, &copy, &separator, &mut out)?;
    Ok(Value::from(out))
}

/// Appends what `join` gives, where no element can run code of the user; otherwise `None`.
pub(in crate::builtins) fn write_joined_primitives(
    cx: &mut EvalContext<'_>,
    items: &[Value],
    args: &[Value],
    out: &mut String,
) -> Option<Result<(), Error>> {
    let separator = match arg(args, 0) {
        Value::Undefined => ",",
        Value::String(separator) => separator,
        _ => return None,
    };
    let mut bytes = separator.len().saturating_mul(items.len());
    for item in items {
        bytes = bytes.saturating_add(match item {
            Value::Undefined | Value::Null => 0,
            Value::String(text) => text.len(),
            // A lower bound; the exact length is checked in the end.
            Value::Number(_) | Value::Bool(_) | Value::BigInt(_) => 1,
            _ => return None,
        });
    }
    if let Err(error) = cx
        .charge(items.len() as u64)
        .and_then(|()| cx.reserve_string(bytes))
    {
        return Some(Err(error));
    }
    out.reserve(bytes);
    let start = out.len();
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            out.push_str(separator);
        }
        match item {
            Value::Undefined | Value::Null => {}
            Value::String(text) => out.push_str(text),
            primitive => {
                if let Err(error) = write_text(cx, primitive, out) {
                    return Some(Err(error));
                }
            }
        }
    }
    Some(text::check(cx, &out[start..]))
}

pub(super) fn to_locale_string(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let items = items.borrow().clone();
    let mut out = String::new();
    cx.deeper(|cx| {
        for (position, item) in items.iter().enumerate() {
            if position > 0 {
                text::push(cx, &mut out, ",")?;
            }
            if let Some(part) = call_method(cx, item, BuiltinMethod::ToLocaleString, args) {
                let part = part?;
                write_text(cx, &part, &mut out)?;
                text::check(cx, &out)?;
            }
        }
        Ok(())
    })?;
    Ok(Value::from(out))
}

pub(super) fn includes(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let from = relative(cx, arg(args, 1), items.borrow().len(), 0)?;
    let items = items.borrow();
    cx.charge(items.len() as u64)?;
    let wanted = arg(args, 0);
    let rest = items.get(from..).unwrap_or_default();
    Ok(Value::Bool(
        rest.iter().any(|item| same_value_zero(item, wanted)),
    ))
}

pub(super) fn index_of(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let from = relative(cx, arg(args, 1), items.borrow().len(), 0)?;
    let items = items.borrow();
    cx.charge(items.len() as u64)?;
    let wanted = arg(args, 0);
    let rest = items.get(from..).unwrap_or_default();
    let found = rest.iter().position(|item| strict_equals(item, wanted));
    Ok(Value::Number(
        found.map_or(-1.0, |position| (from + position) as f64),
    ))
}

pub(super) fn last_index_of(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let len = items.borrow().len();
    let end = match args.get(1) {
        None => len as f64,
        Some(from) => {
            let from = to_integer_or_infinity(cx, from)?;
            if from < 0.0 {
                len as f64 + from + 1.0
            } else {
                (from + 1.0).min(len as f64)
            }
        }
    };
    let items = items.borrow();
    cx.charge(items.len() as u64)?;
    let wanted = arg(args, 0);
    let front = items.get(..end.max(0.0) as usize).unwrap_or_default();
    let found = front.iter().rposition(|item| strict_equals(item, wanted));
    Ok(Value::Number(
        found.map_or(-1.0, |position| position as f64),
    ))
}

pub(super) fn to_reversed(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    _: &[Value],
) -> Result<Value, Error> {
    let items = items.borrow();
    cx.reserve_items(items.len())?;
    Ok(Value::array(items.iter().rev().cloned().collect()))
}

pub(super) fn keys(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    _: &[Value],
) -> Result<Value, Error> {
    let len = items.borrow().len();
    cx.reserve_items(len)?;
    Ok(Value::array(
        (0..len).map(|index| Value::Number(index as f64)).collect(),
    ))
}

pub(super) fn values(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    _: &[Value],
) -> Result<Value, Error> {
    let items = items.borrow();
    cx.reserve_items(items.len())?;
    Ok(Value::array(items.clone()))
}

pub(super) fn entries(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    _: &[Value],
) -> Result<Value, Error> {
    let items = items.borrow();
    cx.reserve_items(items.len())?;
    let pair = |(index, item): (usize, &Value)| {
        Value::array(vec![Value::Number(index as f64), item.clone()])
    };
    Ok(Value::array(items.iter().enumerate().map(pair).collect()))
}

pub(super) fn flat(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let depth = match arg(args, 0) {
        Value::Undefined => 1.0,
        depth => to_integer_or_infinity(cx, depth)?,
    };
    let mut flat = Vec::new();
    let items = items.borrow().clone();
    flatten(cx, items, depth, &mut flat)?;
    Ok(Value::array(flat))
}

/// Appends a list with the lists in it opened up to `depth` levels.
pub(super) fn flatten(
    cx: &mut EvalContext<'_>,
    items: Vec<Value>,
    depth: f64,
    flat: &mut Vec<Value>,
) -> Result<(), Error> {
    for item in items {
        match item {
            Value::Array(inner) if depth >= 1.0 => {
                let inner = inner.borrow().clone();
                cx.charge(inner.len() as u64)?;
                cx.deeper(|cx| flatten(cx, inner, depth - 1.0, flat))?;
            }
            item => {
                text::one_more(cx, flat.len())?;
                flat.push(item);
            }
        }
    }
    Ok(())
}

/// Returns the elements of an argument that must be iterable.
pub(in super::super) fn elements(
    cx: &mut EvalContext<'_>,
    value: &Value,
) -> Result<Vec<Value>, Error> {
    match iterate(cx, value)? {
        Some(items) => Ok(items),
        None => {
            let shown = super::super::args::shown(cx, value)?;
            Err(Error::runtime(format!("{shown} is not iterable")))
        }
    }
}
