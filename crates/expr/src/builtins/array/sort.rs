//! Sorting: stable, by text unless told otherwise, `undefined` last.

use std::cmp::Ordering;
use std::rc::Rc;

use super::super::args::arg;
use super::SharedArray;
use crate::context::EvalContext;
use crate::convert::{compare_strings, to_number, to_text};
use crate::error::Error;
use crate::value::Value;

pub(super) fn sort(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    check_comparator(args)?;
    let list = items.borrow().clone();
    let sorted = sorted(cx, list, arg(args, 0))?;
    // The comparison may have changed the list; elements it appended stay.
    let mut place = items.borrow_mut();
    let kept = place.len().min(sorted.len());
    place.splice(..kept, sorted);
    drop(place);
    Ok(Value::Array(items.clone()))
}

pub(super) fn to_sorted(
    cx: &mut EvalContext<'_>,
    items: &SharedArray,
    args: &[Value],
) -> Result<Value, Error> {
    check_comparator(args)?;
    let list = items.borrow().clone();
    sorted(cx, list, arg(args, 0)).map(Value::array)
}

fn check_comparator(args: &[Value]) -> Result<(), Error> {
    match arg(args, 0) {
        Value::Undefined => Ok(()),
        comparator if comparator.is_callable() => Ok(()),
        _ => Err(Error::runtime(
            "The comparison function must be either a function or undefined",
        )),
    }
}

fn sorted(
    cx: &mut EvalContext<'_>,
    list: Vec<Value>,
    comparator: &Value,
) -> Result<Vec<Value>, Error> {
    cx.reserve_items(list.len())?;
    let len = list.len();
    let mut defined: Vec<Value> = list
        .into_iter()
        .filter(|item| !matches!(item, Value::Undefined))
        .collect();
    let mut sorted = match comparator {
        Value::Undefined => sort_by_text(cx, defined)?,
        comparator => {
            merge_sort(cx, &mut defined, comparator)?;
            defined
        }
    };
    sorted.resize(len, Value::Undefined);
    Ok(sorted)
}

fn sort_by_text(cx: &mut EvalContext<'_>, items: Vec<Value>) -> Result<Vec<Value>, Error> {
    let mut keyed: Vec<(Rc<str>, Value)> = Vec::with_capacity(items.len());
    for item in items {
        keyed.push((to_text(cx, &item)?, item));
    }
    // Each comparison looks at a few bytes; n log n of them are paid for in advance.
    let rounds = u64::from(usize::BITS - keyed.len().leading_zeros());
    cx.charge(keyed.len() as u64 * rounds)?;
    keyed.sort_by(|left, right| compare_strings(&left.0, &right.0));
    Ok(keyed.into_iter().map(|(_, item)| item).collect())
}

/// Sorts by merging: stops at an error and survives a comparator that contradicts itself.
fn merge_sort(
    cx: &mut EvalContext<'_>,
    items: &mut Vec<Value>,
    comparator: &Value,
) -> Result<(), Error> {
    let len = items.len();
    let mut width = 1;
    while width < len {
        let mut merged = Vec::with_capacity(len);
        for start in (0..len).step_by(width * 2) {
            let middle = (start + width).min(len);
            let end = (start + width * 2).min(len);
            let (mut left, mut right) = (start, middle);
            while left < middle && right < end {
                if compare(cx, comparator, &items[left], &items[right])? == Ordering::Greater {
                    merged.push(std::mem::take(&mut items[right]));
                    right += 1;
                } else {
                    merged.push(std::mem::take(&mut items[left]));
                    left += 1;
                }
            }
            merged.extend(items[left..middle].iter_mut().map(std::mem::take));
            merged.extend(items[right..end].iter_mut().map(std::mem::take));
        }
        *items = merged;
        width *= 2;
    }
    Ok(())
}

fn compare(
    cx: &mut EvalContext<'_>,
    comparator: &Value,
    left: &Value,
    right: &Value,
) -> Result<Ordering, Error> {
    let answer = cx.call(
        comparator,
        &Value::Undefined,
        &[left.clone(), right.clone()],
    )?;
    let answer = to_number(cx, &answer)?;
    Ok(answer.partial_cmp(&0.0).unwrap_or(Ordering::Equal))
}
