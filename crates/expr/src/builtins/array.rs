//! `Array`: the constructor and the methods of lists.
//!
//! No borrow of a list is held while a function of the user runs, for the function may change the
//! list; elements are read one at a time, as JavaScript does. Lists have no holes: `Array(3)`
//! holds three `undefined`s. `keys`, `values` and `entries` are lists rather than iterators.

mod change;
mod read;
mod sort;
mod walk;

use std::rc::Rc;

pub(super) use self::read::{elements, write_joined_primitives};
use super::args::{arg, callback};
use super::methods::Method;
use super::{iterate, text};
use crate::context::Context;
use crate::convert::to_number;
use crate::error::Error;
use crate::property;
use crate::value::{Builtin, List, Member, Value};

/// The shared storage of a list.
type Items = Rc<List>;
/// A method of lists.
type Call = fn(&mut Context<'_>, &Items, &[Value]) -> Result<Value, Error>;

/// The array method of that name.
pub(super) fn method(method: Method) -> Option<Call> {
    Some(match method {
        Method::At => read::at,
        Method::Concat => read::concat,
        Method::CopyWithin => change::copy_within,
        Method::Entries => read::entries,
        Method::Every => walk::every,
        Method::Fill => change::fill,
        Method::Filter => walk::filter,
        Method::Find => walk::find,
        Method::FindIndex => walk::find_index,
        Method::FindLast => walk::find_last,
        Method::FindLastIndex => walk::find_last_index,
        Method::Flat => read::flat,
        Method::FlatMap => walk::flat_map,
        Method::ForEach => walk::for_each,
        Method::Includes => read::includes,
        Method::IndexOf => read::index_of,
        Method::Join => read::join,
        Method::Keys => read::keys,
        Method::LastIndexOf => read::last_index_of,
        Method::Map => walk::map,
        Method::Pop => change::pop,
        Method::Push => change::push,
        Method::Reduce => walk::reduce,
        Method::ReduceRight => walk::reduce_right,
        Method::Reverse => change::reverse,
        Method::Shift => change::shift,
        Method::Slice => read::slice,
        Method::Some => walk::some,
        Method::Sort => sort::sort,
        Method::Splice => change::splice,
        Method::ToLocaleString => read::to_locale_string,
        Method::ToReversed => read::to_reversed,
        Method::ToSorted => sort::to_sorted,
        Method::ToSpliced => change::to_spliced,
        Method::ToString => |cx, items, _| read::join(cx, items, &[]),
        Method::Unshift => change::unshift,
        Method::Values => read::values,
        Method::With => change::with,
        _ => return None,
    })
}

pub(super) static ARRAY: Builtin = Builtin {
    name: "Array",
    call: Some(create),
    construct: Some(create),
    members: &[
        ("from", Member::Function(&FROM)),
        ("isArray", Member::Function(&IS_ARRAY)),
        ("of", Member::Function(&OF)),
    ],
};

static FROM: Builtin = super::function("from", from);
static IS_ARRAY: Builtin = super::function("isArray", is_array);
static OF: Builtin = super::function("of", of);

/// `Array(n)` or `Array(a, b, …)`
fn create(cx: &mut Context<'_>, this: &Value, args: &[Value]) -> Result<Value, Error> {
    let [Value::Number(len)] = args else {
        return of(cx, this, args);
    };
    let len = length(*len)?;
    cx.reserve_items(len)?;
    Ok(Value::array(vec![Value::Undefined; len]))
}

/// A number as a list's length.
fn length(len: f64) -> Result<usize, Error> {
    const LENGTH_MAX: f64 = 4_294_967_295.0;
    if len.fract() != 0.0 || !(0.0..=LENGTH_MAX).contains(&len) {
        return Err(Error::runtime("Invalid array length"));
    }
    Ok(len as usize)
}

fn of(cx: &mut Context<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    cx.reserve_items(args.len())?;
    Ok(Value::array(args.to_vec()))
}

fn is_array(_: &mut Context<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    Ok(Value::Bool(matches!(arg(args, 0), Value::Array(_))))
}

fn from(cx: &mut Context<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    let mapper = match args.get(1) {
        None | Some(Value::Undefined) => None,
        Some(_) => Some(callback(cx, &args[1..])?),
    };
    let source = arg(args, 0);
    if let Value::Undefined | Value::Null = source {
        let shown = super::args::shown(cx, source)?;
        return Err(Error::runtime(format!(
            "{shown} is not iterable (cannot read property Symbol(Symbol.iterator))"
        )));
    }
    let mut items = match iterate(cx, source)? {
        Some(items) => items,
        None => array_like(cx, source)?,
    };
    if let Some(mapper) = mapper {
        for (index, item) in items.iter_mut().enumerate() {
            let arguments = [std::mem::take(item), Value::Number(index as f64)];
            *item = cx.call(mapper, arg(args, 2), &arguments)?;
        }
    }
    Ok(Value::array(items))
}

/// The elements of something with a `length`.
fn array_like(cx: &mut Context<'_>, source: &Value) -> Result<Vec<Value>, Error> {
    let len = property::get(source, &Rc::from("length"))?;
    let len = to_number(cx, &len)?;
    let len = if len > 0.0 { length(len.floor())? } else { 0 };
    cx.reserve_items(len)?;
    let mut items = Vec::with_capacity(len);
    for index in 0..len {
        text::one_more(cx, index)?;
        items.push(property::get(source, &Rc::from(index.to_string()))?);
    }
    Ok(items)
}
