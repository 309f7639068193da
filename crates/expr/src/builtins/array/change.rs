//! Methods that change a list, and their copies that do not.

use super::super::args::{arg, clamped, relative};
use super::super::text;
use super::SharedArray;
use crate::context::EvalContext;
use crate::convert::{number_to_string, to_integer_or_infinity};
use crate::error::Error;
use crate::value::Value;

pub(super) fn push(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let mut items = items.borrow_mut();
    for value in args {
        text::one_more(cx, items.len())?;
        items.push(value.clone());
    }
    Ok(Value::Number(items.len() as f64))
}

pub(super) fn pop(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    _: &[Value],
) -> Result<Value, Error> {
    cx.charge(1)?;
    Ok(items.borrow_mut().pop().unwrap_or_default())
}

pub(super) fn shift(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    _: &[Value],
) -> Result<Value, Error> {
    let mut items = items.borrow_mut();
    if items.is_empty() {
        return Ok(Value::Undefined);
    }
    cx.charge_bytes(items.len())?;
    Ok(items.remove(0))
}

pub(super) fn unshift(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let mut items = items.borrow_mut();
    check_room(cx, items.len(), args.len())?;
    items.splice(0..0, args.iter().cloned());
    Ok(Value::Number(items.len() as f64))
}

/// Pays for moving a list's elements, and refuses a list that would become too long.
fn check_room(cx: &mut EvalContext<'_>, len: usize, added: usize) -> Result<(), Error> {
    if len + added > cx.limits().items_max {
        return cx.reserve_items(len + added);
    }
    cx.charge_bytes(len)?;
    cx.charge(added as u64)
}

pub(super) fn reverse(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    _: &[Value],
) -> Result<Value, Error> {
    cx.charge(items.borrow().len() as u64)?;
    items.borrow_mut().reverse();
    Ok(Value::Array(items.clone()))
}

pub(super) fn fill(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let len = items.borrow().len();
    let start = relative(cx, arg(args, 1), len, 0)?;
    let end = relative(cx, arg(args, 2), len, len)?;
    cx.charge(len as u64)?;
    if let Some(part) = items.borrow_mut().get_mut(start..end) {
        part.fill(arg(args, 0).clone());
    }
    Ok(Value::Array(items.clone()))
}

pub(super) fn copy_within(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let len = items.borrow().len();
    let target = relative(cx, arg(args, 0), len, 0)?;
    let start = relative(cx, arg(args, 1), len, 0)?;
    let end = relative(cx, arg(args, 2), len, len)?.max(start);
    cx.charge(len as u64)?;
    let count = (end - start).min(len - target);
    let part = items
        .borrow()
        .get(start..start + count)
        .map(<[Value]>::to_vec);
    let part = part.unwrap_or_default();
    if let Some(place) = items.borrow_mut().get_mut(target..target + part.len()) {
        place.clone_from_slice(&part);
    }
    Ok(Value::Array(items.clone()))
}

pub(super) fn splice(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let (start, count) = splice_range(cx, items.borrow().len(), args)?;
    let added = args.get(2..).unwrap_or_default();
    let mut items = items.borrow_mut();
    check_room(cx, items.len(), added.len())?;
    let end = (start + count).min(items.len());
    let removed = items
        .splice(start.min(end)..end, added.iter().cloned())
        .collect();
    Ok(Value::array(removed))
}

pub(super) fn to_spliced(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let (start, count) = splice_range(cx, items.borrow().len(), args)?;
    let added = args.get(2..).unwrap_or_default();
    let mut copy = items.borrow().clone();
    cx.reserve_items(copy.len() + added.len())?;
    let end = (start + count).min(copy.len());
    copy.splice(start.min(end)..end, added.iter().cloned());
    Ok(Value::array(copy))
}

/// Returns the start of a splice and the number of elements it removes.
fn splice_range(
    cx: &mut EvalContext<'_>,
    len: usize,
    args: &[Value],
) -> Result<(usize, usize), Error> {
    let start = relative(cx, arg(args, 0), len, 0)?;
    let rest = len - start;
    let count = match args.len() {
        0 => 0,
        1 => rest,
        _ => clamped(cx, &args[1], rest, 0)?,
    };
    Ok((start, count))
}

pub(super) fn with(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let len = items.borrow().len() as f64;
    let wanted = to_integer_or_infinity(cx, arg(args, 0))?;
    let position = if wanted < 0.0 { len + wanted } else { wanted };
    if !(0.0..len).contains(&position) {
        return Err(Error::runtime(format!(
            "Invalid index : {}",
            number_to_string(wanted)
        )));
    }
    let mut copy = items.borrow().clone();
    cx.reserve_items(copy.len())?;
    if let Some(place) = copy.get_mut(position as usize) {
        *place = arg(args, 1).clone();
    }
    Ok(Value::array(copy))
}
