//! `Array`: the constructor and the methods of lists.
//!
//! No borrow of a list is held while a function of the user runs, for the function may change the
//! list; elements are read one at a time, as JavaScript does. Lists have no holes: `Array(3)`
//! holds three `undefined`s. `keys`, `values` and `entries` are lists rather than iterators.

mod change;
mod iterate;
mod read;
mod sort;

use std::rc::Rc;

pub(super) use self::read::{elements, write_joined_primitives};
use super::args::{arg, callback};
use super::methods::BuiltinMethod;
use super::{iterate, text};
use crate::context::EvalContext;
use crate::convert::to_number;
use crate::error::Error;
use crate::property;
use crate::value::{Builtin, BuiltinMember, JsArray, Value};

/// The shared storage of a list.
type SharedArray = Rc<JsArray>;
/// A method of lists.
type ArrayMethod = fn(&mut EvalContext<'_>, &SharedArray, &[Value]) -> Result<Value, Error>;

/// Returns the array method of that name.
pub(super) fn method(method: BuiltinMethod) -> Option<ArrayMethod> {
    Some(match method {
        BuiltinMethod::At => read::at,
        BuiltinMethod::Concat => read::concat,
        BuiltinMethod::CopyWithin => change::copy_within,
        BuiltinMethod::Entries => read::entries,
        BuiltinMethod::Every => iterate::every,
        BuiltinMethod::Fill => change::fill,
        BuiltinMethod::Filter => iterate::filter,
        BuiltinMethod::Find => iterate::find,
        BuiltinMethod::FindIndex => iterate::find_index,
        BuiltinMethod::FindLast => iterate::find_last,
        BuiltinMethod::FindLastIndex => iterate::find_last_index,
        BuiltinMethod::Flat => read::flat,
        BuiltinMethod::FlatMap => iterate::flat_map,
        BuiltinMethod::ForEach => iterate::for_each,
        BuiltinMethod::Includes => read::includes,
        BuiltinMethod::IndexOf => read::index_of,
        BuiltinMethod::Join => read::join,
        BuiltinMethod::Keys => read::keys,
        BuiltinMethod::LastIndexOf => read::last_index_of,
        BuiltinMethod::Map => iterate::map,
        BuiltinMethod::Pop => change::pop,
        BuiltinMethod::Push => change::push,
        BuiltinMethod::Reduce => iterate::reduce,
        BuiltinMethod::ReduceRight => iterate::reduce_right,
        BuiltinMethod::Reverse => change::reverse,
        BuiltinMethod::Shift => change::shift,
        BuiltinMethod::Slice => read::slice,
        BuiltinMethod::Some => iterate::some,
        BuiltinMethod::Sort => sort::sort,
        BuiltinMethod::Splice => change::splice,
        BuiltinMethod::ToLocaleString => read::to_locale_string,
        BuiltinMethod::ToReversed => read::to_reversed,
        BuiltinMethod::ToSorted => sort::to_sorted,
        BuiltinMethod::ToSpliced => change::to_spliced,
        BuiltinMethod::ToString => |cx, items, _| read::join(cx, items, &[]),
        BuiltinMethod::Unshift => change::unshift,
        BuiltinMethod::Values => read::values,
        BuiltinMethod::With => change::with,
        _ => return None,
    })
}

pub(super) static ARRAY: Builtin = Builtin {
    name: "Array",
    call: Some(create),
    construct: Some(create),
    members: &[
        ("from", BuiltinMember::Function(&FROM)),
        ("isArray", BuiltinMember::Function(&IS_ARRAY)),
        ("of", BuiltinMember::Function(&OF)),
    ],
};

static FROM: Builtin = super::function("from", from);
static IS_ARRAY: Builtin = super::function("isArray", is_array);
static OF: Builtin = super::function("of", of);

/// `Array(n)` or `Array(a, b, …)`
fn create(cx: &mut EvalContext<'_>, this: &Value, args: &[Value]) -> Result<Value, Error> {
    let [Value::Number(len)] = args else {
        return of(cx, this, args);
    };
    let len = length(*len)?;
    cx.reserve_items(len)?;
    Ok(Value::array(vec![Value::Undefined; len]))
}

/// Converts a number to a list's length.
fn length(len: f64) -> Result<usize, Error> {
    const LENGTH_MAX: f64 = 4_294_967_295.0;
    if len.fract() != 0.0 || !(0.0..=LENGTH_MAX).contains(&len) {
        return Err(Error::runtime("Invalid array length"));
    }
    Ok(len as usize)
}

fn of(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    cx.reserve_items(args.len())?;
    Ok(Value::array(args.to_vec()))
}

fn is_array(_: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    Ok(Value::Bool(matches!(arg(args, 0), Value::Array(_))))
}

fn from(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
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

/// Returns the elements of something with a `length`.
fn array_like(cx: &mut EvalContext<'_>, source: &Value) -> Result<Vec<Value>, Error> {
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
