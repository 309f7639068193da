//! Methods that call a function for each element.

use std::ops::ControlFlow;

use super::super::args::{arg, callback};
use super::super::text;
use super::{SharedArray, read};
use crate::context::EvalContext;
use crate::error::Error;
use crate::value::Value;

/// Treatment of elements that a callback removes from the list during the iteration.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingElements {
    /// Elements that are gone are not visited.
    Skipped,
    /// Elements that are gone read as `undefined`.
    Undefined,
}

/// Calls the first argument with each element, its index and the list, until `each` breaks.
fn walk<R>(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
    (positions, missing): (impl Iterator<Item = usize>, MissingElements),
    mut each: impl FnMut(&mut EvalContext<'_>, usize, Value, Value) -> Result<ControlFlow<R>, Error>,
) -> Result<Option<R>, Error> {
    let callback = callback(cx, args)?;
    let this = arg(args, 1);
    let mut arguments = [
        Value::Undefined,
        Value::Undefined,
        Value::Array(items.clone()),
    ];
    for position in positions {
        let item = items.borrow().get(position).cloned();
        let item = match item {
            Some(item) => item,
            None if missing == MissingElements::Skipped => continue,
            None => Value::Undefined,
        };
        cx.charge(1)?;
        arguments[0] = item.clone();
        arguments[1] = Value::Number(position as f64);
        let answer = cx.call(callback, this, &arguments)?;
        if let ControlFlow::Break(result) = each(cx, position, item, answer)? {
            return Ok(Some(result));
        }
    }
    Ok(None)
}

fn forward(items: &SharedArray) -> std::ops::Range<usize> {
    0..items.borrow().len()
}

pub(super) fn for_each(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let order = (forward(items), MissingElements::Skipped);
    walk(cx, items, args, order, |_, _, _, _| {
        Ok(ControlFlow::<()>::Continue(()))
    })?;
    Ok(Value::Undefined)
}

pub(super) fn map(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let len = items.borrow().len();
    cx.reserve_items(len)?;
    let mut mapped = Vec::with_capacity(len);
    let order = (forward(items), MissingElements::Skipped);
    walk(cx, items, args, order, |_, _, _, answer| {
        mapped.push(answer);
        Ok(ControlFlow::<()>::Continue(()))
    })?;
    mapped.resize(len, Value::Undefined);
    Ok(Value::array(mapped))
}

pub(super) fn filter(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let mut kept = Vec::new();
    let order = (forward(items), MissingElements::Skipped);
    walk(cx, items, args, order, |_, _, item, answer| {
        if answer.is_truthy() {
            kept.push(item);
        }
        Ok(ControlFlow::<()>::Continue(()))
    })?;
    Ok(Value::array(kept))
}

pub(super) fn flat_map(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let mut flat = Vec::new();
    let order = (forward(items), MissingElements::Skipped);
    walk(cx, items, args, order, |cx, _, _, answer| {
        read::flatten(cx, vec![answer], 1.0, &mut flat)?;
        Ok(ControlFlow::<()>::Continue(()))
    })?;
    Ok(Value::array(flat))
}

pub(super) fn every(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let order = (forward(items), MissingElements::Skipped);
    let failed = walk(cx, items, args, order, |_, _, _, answer| {
        Ok(if answer.is_truthy() {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        })
    })?;
    Ok(Value::Bool(failed.is_none()))
}

pub(super) fn some(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let order = (forward(items), MissingElements::Skipped);
    first(cx, items, args, order).map(|found| Value::Bool(found.is_some()))
}

pub(super) fn find(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let order = (forward(items), MissingElements::Undefined);
    first(cx, items, args, order).map(|found| found.map(|found| found.1).unwrap_or_default())
}

pub(super) fn find_last(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let order = (forward(items).rev(), MissingElements::Undefined);
    first(cx, items, args, order).map(|found| found.map(|found| found.1).unwrap_or_default())
}

pub(super) fn find_index(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let order = (forward(items), MissingElements::Undefined);
    let found = first(cx, items, args, order)?;
    Ok(Value::Number(
        found.map_or(-1.0, |(position, _)| position as f64),
    ))
}

pub(super) fn find_last_index(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    let order = (forward(items).rev(), MissingElements::Undefined);
    let found = first(cx, items, args, order)?;
    Ok(Value::Number(
        found.map_or(-1.0, |(position, _)| position as f64),
    ))
}

/// Finds the first element for which the function returns true.
fn first(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
    order: (impl Iterator<Item = usize>, MissingElements),
) -> Result<Option<(usize, Value)>, Error> {
    walk(cx, items, args, order, |_, position, item, answer| {
        Ok(if answer.is_truthy() {
            ControlFlow::Break((position, item))
        } else {
            ControlFlow::Continue(())
        })
    })
}

pub(super) fn reduce(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    fold(cx, items, args, forward(items))
}

pub(super) fn reduce_right(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    fold(cx, items, args, forward(items).rev())
}

fn fold(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
    mut positions: impl Iterator<Item = usize>,
) -> Result<Value, Error> {
    let callback = callback(cx, args)?;
    let mut total = match args.get(1) {
        Some(initial) => initial.clone(),
        None => match positions
            .next()
            .and_then(|first| items.borrow().get(first).cloned())
        {
            Some(first) => first,
            None => {
                return Err(Error::runtime(
                    "Reduce of empty array with no initial value",
                ));
            }
        },
    };
    let list = Value::Array(items.clone());
    for position in positions {
        let Some(item) = items.borrow().get(position).cloned() else {
            continue;
        };
        text::one_more(cx, 0)?;
        let arguments = [total, item, Value::Number(position as f64), list.clone()];
        total = cx.call(callback, &Value::Undefined, &arguments)?;
    }
    Ok(total)
}
