//! Between JSON values and expression values.

use std::rc::Rc;

use serde_json::{Map, Number};

use crate::context::EvalContext;
use crate::error::Error;
use crate::value::{JsObject, Value};

impl Value {
    /// Converts a JSON value to an expression value.
    pub fn from_json(json: &serde_json::Value) -> Value {
        match json {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(value) => Value::Bool(*value),
            serde_json::Value::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
            serde_json::Value::String(text) => Value::from(text.as_str()),
            serde_json::Value::Array(items) => {
                Value::array(items.iter().map(Value::from_json).collect())
            }
            serde_json::Value::Object(map) => Value::object(JsObject::from_json_map(map)),
        }
    }

    /// Converts the value to JSON, the way `JSON.stringify` does; `undefined` and functions are
    /// null.
    pub fn to_json(&self, cx: &mut EvalContext<'_>) -> Result<serde_json::Value, Error> {
        cx.charge(1)?;
        Ok(match self {
            Value::Bool(value) => serde_json::Value::Bool(*value),
            Value::Number(number) => json_number(*number),
            Value::BigInt(_) => {
                return Err(Error::runtime("Do not know how to serialize a BigInt"));
            }
            Value::String(text) => serde_json::Value::String(text.to_string()),
            Value::Array(items) => {
                let items = items.borrow().clone();
                cx.deeper(|cx| {
                    items
                        .iter()
                        .map(|item| item.to_json(cx))
                        .collect::<Result<_, _>>()
                })
                .map(serde_json::Value::Array)?
            }
            Value::Object(object) => {
                let entries = object.borrow().entries();
                cx.deeper(|cx| entries_to_json(cx, &entries))
                    .map(serde_json::Value::Object)?
            }
            Value::Date(_) => match crate::call::call_named(cx, self, "toJSON", &[]) {
                Some(text) => text?.to_json(cx)?,
                None => serde_json::Value::Null,
            },
            Value::RegExp(_) | Value::Map(_) | Value::Set(_) => {
                serde_json::Value::Object(Map::new())
            }
            Value::Lazy(_) => return self.clone().forced().to_json(cx),
            Value::Undefined | Value::Null | Value::Function(_) | Value::Builtin(_) => {
                serde_json::Value::Null
            }
        })
    }
}

impl JsObject {
    pub fn from_json_map(map: &Map<String, serde_json::Value>) -> JsObject {
        map.iter()
            .map(|(key, value)| (Rc::from(key.as_str()), Value::from_json(value)))
            .collect()
    }
}

fn entries_to_json(
    cx: &mut EvalContext<'_>,
    entries: &[(Rc<str>, Value)],
) -> Result<Map<String, serde_json::Value>, Error> {
    let mut map = Map::new();
    for (key, value) in entries {
        if !matches!(value, Value::Undefined) && !value.is_callable() {
            map.insert(key.to_string(), value.to_json(cx)?);
        }
    }
    Ok(map)
}

fn json_number(number: f64) -> serde_json::Value {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT_MAX {
        return serde_json::Value::from(number as i64);
    }
    Number::from_f64(number).map_or(serde_json::Value::Null, serde_json::Value::Number)
}
