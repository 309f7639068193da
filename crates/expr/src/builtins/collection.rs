//! `Map` and `Set`, in insertion order.
//!
//! `keys`, `values` and `entries` are lists rather than iterators.

use std::cell::RefCell;
use std::rc::Rc;

use super::args::{arg, callback};
use super::array_elements;
use super::methods::BuiltinMethod;
use super::object::key_and_value;
use super::text;
use crate::context::EvalContext;
use crate::error::Error;
use crate::value::{Builtin, BuiltinMember, CollectionEntries, EntryKey, Value};

/// The shared storage of a map or set.
type SharedEntries = Rc<RefCell<CollectionEntries>>;
/// A method of maps or sets.
type CollectionMethod = fn(&mut EvalContext<'_>, &SharedEntries, &[Value]) -> Result<Value, Error>;

pub(super) fn map_method(method: BuiltinMethod) -> Option<CollectionMethod> {
    Some(match method {
        BuiltinMethod::Get => |_, this, args| Ok(look_up(this, arg(args, 0)).unwrap_or_default()),
        BuiltinMethod::Set => |cx, this, args| {
            insert(cx, this, arg(args, 0), arg(args, 1))?;
            Ok(Value::Map(this.clone()))
        },
        BuiltinMethod::Entries => entries,
        BuiltinMethod::Keys => |cx, this, _| listed(cx, this, |(key, _)| key.clone()),
        BuiltinMethod::Values => |cx, this, _| listed(cx, this, |(_, value)| value.clone()),
        BuiltinMethod::ForEach => {
            |cx, this, args| for_each(cx, this, args, Value::Map(this.clone()))
        }
        _ => return shared_method(method),
    })
}

pub(super) fn set_method(method: BuiltinMethod) -> Option<CollectionMethod> {
    Some(match method {
        BuiltinMethod::Add => |cx, this, args| {
            insert(cx, this, arg(args, 0), arg(args, 0))?;
            Ok(Value::Set(this.clone()))
        },
        BuiltinMethod::Entries => entries,
        BuiltinMethod::Keys | BuiltinMethod::Values => {
            |cx, this, _| listed(cx, this, |(key, _)| key.clone())
        }
        BuiltinMethod::ForEach => {
            |cx, this, args| for_each(cx, this, args, Value::Set(this.clone()))
        }
        BuiltinMethod::Union => |cx, this, args| {
            let union = copy_of(cx, this)?;
            for item in members(cx, args)? {
                insert(cx, &union, &item, &item)?;
            }
            Ok(Value::Set(union))
        },
        BuiltinMethod::Intersection => |cx, this, args| kept(cx, this, args, true),
        BuiltinMethod::Difference => |cx, this, args| kept(cx, this, args, false),
        BuiltinMethod::SymmetricDifference => |cx, this, args| {
            let result = copy_of(cx, this)?;
            for item in members(cx, args)? {
                if look_up(this, &item).is_some() {
                    remove(cx, &result, &item)?;
                } else {
                    insert(cx, &result, &item, &item)?;
                }
            }
            Ok(Value::Set(result))
        },
        BuiltinMethod::IsSubsetOf => |cx, this, args| {
            let others = members(cx, args)?;
            let other = of_items(cx, &others)?;
            let this = this.borrow();
            let other = other.borrow();
            Ok(Value::Bool(
                this.index.keys().all(|key| other.index.contains_key(key)),
            ))
        },
        BuiltinMethod::IsSupersetOf => |cx, this, args| {
            let others = members(cx, args)?;
            Ok(Value::Bool(
                others.iter().all(|item| look_up(this, item).is_some()),
            ))
        },
        BuiltinMethod::IsDisjointFrom => |cx, this, args| {
            let others = members(cx, args)?;
            Ok(Value::Bool(
                !others.iter().any(|item| look_up(this, item).is_some()),
            ))
        },
        _ => return shared_method(method),
    })
}

/// Returns a method that maps and sets have in common.
fn shared_method(method: BuiltinMethod) -> Option<CollectionMethod> {
    Some(match method {
        BuiltinMethod::Has => {
            |_, this, args| Ok(Value::Bool(look_up(this, arg(args, 0)).is_some()))
        }
        BuiltinMethod::Delete => |cx, this, args| remove(cx, this, arg(args, 0)).map(Value::Bool),
        BuiltinMethod::Clear => |_, this, _| {
            let old = std::mem::take(&mut *this.borrow_mut());
            drop(old);
            Ok(Value::Undefined)
        },
        _ => return None,
    })
}

pub(super) static MAP: Builtin = Builtin {
    name: "Map",
    call: Some(|_, _, _| Err(Error::runtime("Constructor Map requires 'new'"))),
    construct: Some(new_map),
    members: &[("groupBy", BuiltinMember::Function(&GROUP_BY))],
};
static GROUP_BY: Builtin = super::function("groupBy", group_by);

pub(super) static SET: Builtin = Builtin {
    name: "Set",
    call: Some(|_, _, _| Err(Error::runtime("Constructor Set requires 'new'"))),
    construct: Some(new_set),
    members: &[],
};

fn new_map(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    let map = SharedEntries::default();
    if !arg(args, 0).is_nullish() {
        for entry in array_elements(cx, arg(args, 0))? {
            let (key, value) = key_and_value(cx, &entry)?;
            insert(cx, &map, &key, &value)?;
        }
    }
    Ok(Value::Map(map))
}

fn new_set(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    if arg(args, 0).is_nullish() {
        return Ok(Value::Set(SharedEntries::default()));
    }
    let items = array_elements(cx, arg(args, 0))?;
    of_items(cx, &items).map(Value::Set)
}

fn of_items(cx: &mut EvalContext<'_>, items: &[Value]) -> Result<SharedEntries, Error> {
    let set = SharedEntries::default();
    for item in items {
        insert(cx, &set, item, item)?;
    }
    Ok(set)
}

fn look_up(this: &SharedEntries, key: &Value) -> Option<Value> {
    this.borrow()
        .index
        .get(&EntryKey::of(key))
        .map(|(_, value)| value.clone())
}

fn insert(
    cx: &mut EvalContext<'_>,
    this: &SharedEntries,
    key: &Value,
    value: &Value,
) -> Result<(), Error> {
    // -0 is stored as 0.
    let plain = |value: &Value| match value {
        Value::Number(number) => Value::Number(number + 0.0),
        other => other.clone(),
    };
    text::one_more(cx, this.borrow().index.len())?;
    let mut this = this.borrow_mut();
    match this.index.entry(EntryKey::of(key)) {
        indexmap::map::Entry::Occupied(mut entry) => entry.get_mut().1 = value.clone(),
        indexmap::map::Entry::Vacant(entry) => {
            entry.insert((plain(key), value.clone()));
        }
    }
    Ok(())
}

fn remove(cx: &mut EvalContext<'_>, this: &SharedEntries, key: &Value) -> Result<bool, Error> {
    // Keeping the order means moving what comes after.
    cx.charge_bytes(this.borrow().index.len())?;
    Ok(this
        .borrow_mut()
        .index
        .shift_remove(&EntryKey::of(key))
        .is_some())
}

fn copy_of(cx: &mut EvalContext<'_>, this: &SharedEntries) -> Result<SharedEntries, Error> {
    cx.reserve_items(this.borrow().index.len())?;
    Ok(Rc::new(RefCell::new(this.borrow().clone())))
}

fn listed(
    cx: &mut EvalContext<'_>,
    this: &SharedEntries,
    pick: impl Fn(&(Value, Value)) -> Value,
) -> Result<Value, Error> {
    let this = this.borrow();
    cx.reserve_items(this.index.len())?;
    Ok(Value::array(this.index.values().map(pick).collect()))
}

fn entries(cx: &mut EvalContext<'_>, this: &SharedEntries, _: &[Value]) -> Result<Value, Error> {
    listed(cx, this, |(key, value)| {
        Value::array(vec![key.clone(), value.clone()])
    })
}

/// Calls a function for each entry; entries added meanwhile are visited too.
fn for_each(
    cx: &mut EvalContext<'_>,
    this: &SharedEntries,
    args: &[Value],
    whole: Value,
) -> Result<Value, Error> {
    let function = callback(cx, args)?;
    let mut position = 0;
    loop {
        let entry = this
            .borrow()
            .index
            .get_index(position)
            .map(|(key, pair)| (key.clone(), pair.clone()));
        let Some((id, (key, value))) = entry else {
            return Ok(Value::Undefined);
        };
        cx.charge(1)?;
        cx.call(function, arg(args, 1), &[value, key, whole.clone()])?;
        // Had the function deleted the entry, the next one would be in its place now.
        position = this
            .borrow()
            .index
            .get_index_of(&id)
            .map_or(position, |found| found + 1);
    }
}

/// Returns the members of a set that is given as argument.
fn members(cx: &mut EvalContext<'_>, args: &[Value]) -> Result<Vec<Value>, Error> {
    match arg(args, 0) {
        Value::Set(other) | Value::Map(other) => {
            let other = other.borrow();
            cx.reserve_items(other.index.len())?;
            Ok(other.index.values().map(|(key, _)| key.clone()).collect())
        }
        other => {
            let shown = super::args::shown(cx, other)?;
            Err(Error::runtime(format!("{shown} is not a Set")))
        }
    }
}

/// Returns the members that are (or are not) in the argument.
fn kept(
    cx: &mut EvalContext<'_>,
    this: &SharedEntries,
    args: &[Value],
    wanted: bool,
) -> Result<Value, Error> {
    let others = members(cx, args)?;
    let other = of_items(cx, &others)?;
    let result = copy_of(cx, this)?;
    result
        .borrow_mut()
        .index
        .retain(|key, _| other.borrow().index.contains_key(key) == wanted);
    Ok(Value::Set(result))
}

fn group_by(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    let items = array_elements(cx, arg(args, 0))?;
    let function = callback(cx, args.get(1..).unwrap_or_default())?;
    let groups = SharedEntries::default();
    for (index, item) in items.into_iter().enumerate() {
        let arguments = [item, Value::Number(index as f64)];
        let key = cx.call(function, &Value::Undefined, &arguments)?;
        let [item, _] = arguments;
        match look_up(&groups, &key) {
            Some(Value::Array(group)) => group.borrow_mut().push(item),
            _ => insert(cx, &groups, &key, &Value::array(vec![item]))?,
        }
    }
    Ok(Value::Map(groups))
}
