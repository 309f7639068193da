//! `structuredClone`: a deep copy that keeps cycles.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::args::{arg, shown};
use crate::context::EvalContext;
use crate::error::Error;
use crate::value::{Builtin, CollectionEntries, EntryKey, JsObject, Value};

pub(super) static STRUCTURED_CLONE: Builtin = super::function("structuredClone", |cx, _, args| {
    copy(cx, arg(args, 0), &mut FxHashMap::default())
});

/// Copies a value; `copies` holds the copies made so far.
fn copy(
    cx: &mut EvalContext<'_>,
    value: &Value,
    copies: &mut FxHashMap<EntryKey, Value>,
) -> Result<Value, Error> {
    cx.charge(1)?;
    let id = EntryKey::of(value);
    if let Some(copy) = copies.get(&id) {
        return Ok(copy.clone());
    }
    let fresh = match value {
        Value::Function(_) | Value::Builtin(_) => {
            let shown = shown(cx, value)?;
            return Err(Error::runtime(format!("{shown} could not be cloned.")));
        }
        Value::Array(_) => Value::array(Vec::new()),
        Value::Object(_) => Value::object(JsObject::new()),
        Value::Map(_) => Value::Map(Rc::new(RefCell::new(CollectionEntries::default()))),
        Value::Set(_) => Value::Set(Rc::new(RefCell::new(CollectionEntries::default()))),
        Value::Date(time) => Value::Date(Rc::new(Cell::new(time.get()))),
        Value::RegExp(regex) => Value::RegExp(Rc::new(regex.fresh())),
        primitive => return Ok(primitive.clone()),
    };
    copies.insert(id, fresh.clone());
    cx.deeper(|cx| fill(cx, value, &fresh, copies))?;
    Ok(fresh)
}

/// Fills a container's copy.
fn fill(
    cx: &mut EvalContext<'_>,
    value: &Value,
    fresh: &Value,
    copies: &mut FxHashMap<EntryKey, Value>,
) -> Result<(), Error> {
    match (value, fresh) {
        (Value::Array(from), Value::Array(to)) => {
            for item in &from.borrow().clone() {
                let item = copy(cx, item, copies)?;
                to.borrow_mut().push(item);
            }
        }
        (Value::Object(from), Value::Object(to)) => {
            let entries = from.borrow().entries();
            for (key, item) in entries {
                let item = copy(cx, &item, copies)?;
                to.borrow_mut().insert(key, item);
            }
        }
        (Value::Map(from), Value::Map(to)) | (Value::Set(from), Value::Set(to)) => {
            let pairs: Vec<(Value, Value)> = from.borrow().index.values().cloned().collect();
            for (key, item) in pairs {
                let (key, item) = (copy(cx, &key, copies)?, copy(cx, &item, copies)?);
                to.borrow_mut()
                    .index
                    .insert(EntryKey::of(&key), (key, item));
            }
        }
        _ => {}
    }
    Ok(())
}
