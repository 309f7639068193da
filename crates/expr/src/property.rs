//! Reading and writing properties, with JavaScript's rules.

use std::rc::Rc;

use crate::builtins;
use crate::context::EvalContext;
use crate::convert::to_text;
use crate::error::Error;
use crate::value::{BuiltinMember, JsFunction, JsObject, Value};

/// Reads `object.key`.
pub fn get(object: &Value, key: &Rc<str>) -> Result<Value, Error> {
    match object {
        Value::Object(properties) => {
            if let Some(value) = properties.borrow().get(key) {
                return Ok(value);
            }
        }
        Value::Array(items) => {
            if let Some(index) = array_index(key) {
                return Ok(items.borrow().get(index).cloned().unwrap_or_default());
            }
        }
        Value::String(text) => {
            if let Some(index) = array_index(key) {
                return Ok(character(text, index));
            }
        }
        Value::Builtin(builtin) => {
            if let Some((_, member)) = builtin.members.iter().find(|(name, _)| *name == &**key) {
                return Ok(match member {
                    BuiltinMember::Number(number) => Value::Number(*number),
                    BuiltinMember::Function(function) => Value::Builtin(function),
                });
            }
        }
        Value::Undefined | Value::Null => {
            let what = if matches!(object, Value::Null) {
                "null"
            } else {
                "undefined"
            };
            return Err(Error::runtime(format!(
                "Cannot read properties of {what} (reading '{key}')"
            )));
        }
        Value::Lazy(_) => return get(&object.clone().forced(), key),
        _ => {}
    }
    Ok(inherited(object, key))
}

/// Returns a property that an object has without storing it: `length`, methods read as values.
fn inherited(object: &Value, key: &Rc<str>) -> Value {
    if let Some(value) = builtins::property(object, key) {
        return value;
    }
    if builtins::has_method(object, key) {
        let receiver = object.clone();
        return Value::Function(Rc::new(JsFunction::Method {
            receiver,
            name: key.clone(),
        }));
    }
    Value::Undefined
}

/// Reads `object[key]`.
pub(crate) fn get_index(
    cx: &mut EvalContext<'_>,
    object: &Value,
    key: &Value,
) -> Result<Value, Error> {
    if let (Value::Array(items), Value::Number(number)) = (object, key)
        && *number >= 0.0
        && number.fract() == 0.0
    {
        return Ok(items
            .borrow()
            .get(*number as usize)
            .cloned()
            .unwrap_or_default());
    }
    if object.is_nullish() {
        let what = if matches!(object, Value::Null) {
            "null"
        } else {
            "undefined"
        };
        let key = to_text(cx, key)?;
        return Err(Error::runtime(format!(
            "Cannot read properties of {what} (reading '{key}')"
        )));
    }
    let key = to_text(cx, key)?;
    get(object, &key)
}

/// Writes `object[key] = value`.
pub(crate) fn set(
    cx: &mut EvalContext<'_>,
    object: &Value,
    key: &Rc<str>,
    value: Value,
) -> Result<(), Error> {
    match object {
        Value::Object(properties) => {
            let mut properties = properties.borrow_mut();
            cx.charge(1)?;
            if properties.len() >= cx.limits().items_max && !properties.contains(key) {
                cx.reserve_items(properties.len() + 1)?;
            }
            properties.insert(key.clone(), value);
            Ok(())
        }
        Value::Array(items) => set_in_array(cx, &mut items.borrow_mut(), key, value),
        Value::RegExp(regex) if &**key == "lastIndex" => {
            let index = crate::convert::to_integer_or_infinity(cx, &value)?;
            regex.last_index.set(index.max(0.0) as usize);
            Ok(())
        }
        Value::Undefined | Value::Null => {
            let what = if matches!(object, Value::Null) {
                "null"
            } else {
                "undefined"
            };
            Err(Error::runtime(format!(
                "Cannot set properties of {what} (setting '{key}')"
            )))
        }
        // Sloppy mode: writing to a primitive is silently lost.
        _ => Ok(()),
    }
}

fn set_in_array(
    cx: &mut EvalContext<'_>,
    items: &mut Vec<Value>,
    key: &Rc<str>,
    value: Value,
) -> Result<(), Error> {
    let len = if &**key == "length" {
        let len = crate::convert::to_number(cx, &value)?;
        if len < 0.0 || len.fract() != 0.0 || !len.is_finite() {
            return Err(Error::runtime("Invalid array length"));
        }
        len as usize
    } else if let Some(index) = array_index(key) {
        if let Some(slot) = items.get_mut(index) {
            *slot = value;
            return Ok(());
        }
        index + 1
    } else {
        return Ok(());
    };
    if len > items.len() {
        cx.reserve_items(len)?;
    }
    items.resize(len, Value::Undefined);
    if let (Some(last), true) = (items.last_mut(), &**key != "length") {
        *last = value;
    }
    Ok(())
}

/// Evaluates `delete object[key]`; returns true if it may be deleted.
pub(crate) fn delete(object: &Value, key: &str) -> bool {
    match object {
        Value::Object(properties) => {
            properties.borrow_mut().remove(key);
        }
        Value::Array(items) => {
            let mut items = items.borrow_mut();
            if let Some(slot) = array_index(key).and_then(|index| items.get_mut(index)) {
                *slot = Value::Undefined;
            }
        }
        _ => {}
    }
    true
}

/// `key in object`
pub(crate) fn has(object: &Value, key: &Rc<str>) -> bool {
    match object {
        Value::Object(properties) if properties.borrow().contains(key) => true,
        Value::Array(items) => match array_index(key) {
            Some(index) => index < items.borrow().len(),
            None => !matches!(inherited(object, key), Value::Undefined),
        },
        Value::Builtin(builtin) => builtin.members.iter().any(|(name, _)| *name == &**key),
        _ => !matches!(inherited(object, key), Value::Undefined),
    }
}

/// Returns true if an object was made by an error constructor of that name, or of a kind of it.
pub(crate) fn is_error_named(object: &JsObject, name: &str) -> bool {
    let text = |key: &str| match object.peek(key) {
        Some(Value::String(text)) => Some(text.clone()),
        _ => None,
    };
    match (text("name"), text("stack").or_else(|| text("message"))) {
        (Some(found), Some(_)) => &*found == name || (name == "Error" && found.ends_with("Error")),
        _ => false,
    }
}

/// Parses a canonical array index.
pub(crate) fn array_index(key: &str) -> Option<usize> {
    let digits = key.as_bytes();
    let canonical = !digits.is_empty()
        && digits.len() <= 9
        && digits.iter().all(u8::is_ascii_digit)
        && (digits.len() == 1 || digits[0] != b'0');
    if canonical { key.parse().ok() } else { None }
}

/// Returns the string's UTF-16 unit at `index`; half of a surrogate pair reads as U+FFFD.
fn character(text: &str, index: usize) -> Value {
    if text.is_ascii() {
        return match text.get(index..=index) {
            Some(character) => Value::from(character),
            None => Value::Undefined,
        };
    }
    match text.encode_utf16().nth(index) {
        Some(unit) => Value::from(String::from_utf16_lossy(&[unit])),
        None => Value::Undefined,
    }
}
