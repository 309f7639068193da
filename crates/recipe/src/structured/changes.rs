//! Applies changes: to data, and to a text as the few edits it needs.

use serde_json::{Map, Value};

use super::MergeEdit;
use super::error::Error;

const DELETE: &str = "$delete";
const APPEND: &str = "$append";

/// A map inside a text, as far as it can be edited.
pub(super) trait EditableMap {
    /// Replaces the value of a key, or adds the key at the end.
    fn set(&mut self, key: &str, value: &Value) -> Result<(), Error>;
    fn remove(&mut self, key: &str);
    /// Adds items to the end of the list under a key.
    fn append(&mut self, key: &str, items: &[Value]) -> Result<(), Error>;
    /// Returns the map under a key, when it is written as one here.
    fn child(&mut self, key: &str) -> Option<Box<dyn EditableMap + '_>>;
}

/// The kind of change to a value.
enum ValueChange<'c> {
    Delete,
    Append(&'c [Value]),
    Into(&'c Map<String, Value>),
    Set(&'c Value),
}

/// Applies the changes to the values.
pub(super) fn merged(before: &Value, changes: &Value) -> Result<Value, Error> {
    let wrong = match (before, ValueChange::of(changes)?) {
        (_, ValueChange::Delete) => "a whole file cannot be deleted by a merge",
        (_, ValueChange::Set(_)) => "only a map can be merged into a file",
        (Value::Null | Value::Object(_), ValueChange::Into(_)) => "",
        (_, ValueChange::Into(_)) => {
            "this text does not hold a map, so nothing can be merged into it"
        }
        (_, ValueChange::Append(_)) => "",
    };
    if !wrong.is_empty() {
        return Err(Error::new(wrong));
    }
    Ok(resolve(Some(before), changes)?.unwrap_or(Value::Null))
}

/// Makes the edits that turn `before` into the merged values, and no other.
pub(super) fn edit(
    mapping: &mut dyn EditableMap,
    before: &Map<String, Value>,
    changes: &Map<String, Value>,
) -> Result<(), Error> {
    for (key, change) in changes {
        let old = before.get(key);
        let Some(new) = resolve(old, change)? else {
            if old.is_some() {
                mapping.remove(key);
            }
            continue;
        };
        match (old, ValueChange::of(change)?) {
            (Some(old), _) if *old == new => {}
            (Some(Value::Object(old)), ValueChange::Into(inner)) => {
                if let Some(mut child) = mapping.child(key) {
                    edit(child.as_mut(), old, inner)?;
                    continue;
                }
                mapping.set(key, &new)?;
            }
            (Some(Value::Array(old)), ValueChange::Append(_)) if !old.is_empty() => {
                let items = new.as_array().and_then(|new| new.get(old.len()..));
                mapping.append(key, items.unwrap_or(&[]))?;
            }
            _ => mapping.set(key, &new)?,
        }
    }
    Ok(())
}

/// Makes the error for a text that an edit would have broken: points at the key to blame.
pub(super) fn unsafe_edit(edit: &MergeEdit<'_>) -> Error {
    let key = edit.changes.as_object().and_then(|changes| {
        let (before, after) = (edit.before.as_object()?, edit.after.as_object()?);
        changes
            .keys()
            .find(|key| before.get(*key) != after.get(*key))
    });
    let message = match key {
        Some(key) => format!("`{key}` cannot be changed here without changing something else"),
        None => "this text cannot be changed without changing something else".to_owned(),
    };
    let error = Error::new(message).hint(
        "an anchor, a merge key or a key written twice may be in the way: change this place by hand",
    );
    match key.and_then(|key| edit.text.find(key.as_str())) {
        Some(byte) => error.at_byte(edit.text, byte),
        None => error,
    }
}

impl ValueChange<'_> {
    fn of(change: &Value) -> Result<ValueChange<'_>, Error> {
        let Value::Object(map) = change else {
            return Ok(ValueChange::Set(change));
        };
        let alone = map.len() == 1;
        match (map.get(DELETE), map.get(APPEND)) {
            (None, None) => Ok(ValueChange::Into(map)),
            (Some(Value::Bool(true)), None) if alone => Ok(ValueChange::Delete),
            (None, Some(Value::Array(items))) if alone => Ok(ValueChange::Append(items)),
            (Some(_), _) => Err(Error::new(format!(
                "`{DELETE}` must be the only key, with the value `true`"
            ))
            .hint(format!(
                "write {{\"{DELETE}\": true}} in place of the value to remove"
            ))),
            (None, Some(_)) => Err(Error::new(format!(
                "`{APPEND}` must be the only key, with a list as its value"
            ))
            .hint(format!("write {{\"{APPEND}\": [..]}} in place of the list"))),
        }
    }
}

/// Returns the value after a change; `None` if the key is removed.
fn resolve(old: Option<&Value>, change: &Value) -> Result<Option<Value>, Error> {
    Ok(Some(match ValueChange::of(change)? {
        ValueChange::Delete => return Ok(None),
        ValueChange::Set(value) => value.clone(),
        ValueChange::Append(items) => Value::Array(appended(old, items)?),
        ValueChange::Into(changes) => {
            let mut map = old.and_then(Value::as_object).cloned().unwrap_or_default();
            for (key, change) in changes {
                match resolve(map.get(key), change)? {
                    Some(value) => {
                        map.insert(key.clone(), value);
                    }
                    None => {
                        map.shift_remove(key);
                    }
                }
            }
            Value::Object(map)
        }
    }))
}

fn appended(old: Option<&Value>, items: &[Value]) -> Result<Vec<Value>, Error> {
    let mut list = match old {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => list.clone(),
        Some(_) => {
            return Err(
                Error::new(format!("`{APPEND}` meets a value that is not a list"))
                    .hint("give the whole new value instead"),
            );
        }
    };
    for item in items {
        if !list.contains(item) {
            list.push(item.clone());
        }
    }
    Ok(list)
}
