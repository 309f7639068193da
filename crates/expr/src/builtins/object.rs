//! `JsObject`: its functions, and the methods every value has.

use std::rc::Rc;

use super::args::{arg, callback, shown};
use super::array_elements;
use super::methods::BuiltinMethod;
use super::text;
use crate::context::EvalContext;
use crate::convert::{strict_equals, to_text};
use crate::error::Error;
use crate::eval::own_entries;
use crate::property::{self, array_index};
use crate::value::{Builtin, BuiltinMember, JsObject, Value};

/// A method that every value has.
type ObjectMethod = fn(&mut EvalContext<'_>, &Value, &[Value]) -> Result<Value, Error>;

pub(super) fn method(method: BuiltinMethod) -> Option<ObjectMethod> {
    Some(match method {
        BuiltinMethod::HasOwnProperty | BuiltinMethod::PropertyIsEnumerable => has_own_property,
        BuiltinMethod::IsPrototypeOf => |_, _, _| Ok(Value::Bool(false)),
        BuiltinMethod::ToString => |_, this, _| Ok(Value::from(described(this))),
        BuiltinMethod::ToLocaleString => |cx, this, _| to_text(cx, this).map(Value::String),
        BuiltinMethod::ValueOf => |_, this, _| Ok(this.clone()),
        _ => return None,
    })
}

pub(super) static OBJECT: Builtin = Builtin {
    name: "Object",
    call: Some(of),
    construct: Some(of),
    members: &[
        ("assign", BuiltinMember::Function(&ASSIGN)),
        ("create", BuiltinMember::Function(&CREATE)),
        ("entries", BuiltinMember::Function(&ENTRIES)),
        ("freeze", BuiltinMember::Function(&FREEZE)),
        ("fromEntries", BuiltinMember::Function(&FROM_ENTRIES)),
        (
            "getOwnPropertyNames",
            BuiltinMember::Function(&GET_OWN_PROPERTY_NAMES),
        ),
        ("groupBy", BuiltinMember::Function(&GROUP_BY)),
        ("hasOwn", BuiltinMember::Function(&HAS_OWN)),
        ("is", BuiltinMember::Function(&IS)),
        ("isFrozen", BuiltinMember::Function(&IS_FROZEN)),
        ("keys", BuiltinMember::Function(&KEYS)),
        ("prototype", BuiltinMember::Function(&PROTOTYPE)),
        ("seal", BuiltinMember::Function(&FREEZE)),
        ("values", BuiltinMember::Function(&VALUES)),
    ],
};

static ASSIGN: Builtin = super::function("assign", assign);
static CREATE: Builtin = super::function("create", create);
static ENTRIES: Builtin = super::function("entries", entries);
/// Freezes nothing: returns the argument, which can still be changed.
static FREEZE: Builtin = super::function("freeze", |_, _, args| Ok(arg(args, 0).clone()));
static FROM_ENTRIES: Builtin = super::function("fromEntries", from_entries);
static GET_OWN_PROPERTY_NAMES: Builtin =
    super::function("getOwnPropertyNames", get_own_property_names);
static GROUP_BY: Builtin = super::function("groupBy", group_by);
static HAS_OWN: Builtin = super::function("hasOwn", |cx, _, args| {
    not_nullish(arg(args, 0))?;
    has_own_property(cx, arg(args, 0), args.get(1..).unwrap_or_default())
});
static IS: Builtin = super::function("is", |_, _, args| {
    let same = match (arg(args, 0), arg(args, 1)) {
        (Value::Number(left), Value::Number(right)) => {
            left.to_bits() == right.to_bits() || (left.is_nan() && right.is_nan())
        }
        (left, right) => strict_equals(left, right),
    };
    Ok(Value::Bool(same))
});
static IS_FROZEN: Builtin = super::function("isFrozen", |_, _, args| {
    Ok(Value::Bool(arg(args, 0).type_of() != "object"))
});
static KEYS: Builtin = super::function("keys", keys);
static VALUES: Builtin = super::function("values", values);

/// `JsObject.prototype`, for `JsObject.prototype.hasOwnProperty.call(object, key)`.
static PROTOTYPE: Builtin = Builtin {
    name: "Object",
    call: None,
    construct: None,
    members: &[
        (
            "hasOwnProperty",
            BuiltinMember::Function(&PROTOTYPE_HAS_OWN_PROPERTY),
        ),
        ("toString", BuiltinMember::Function(&PROTOTYPE_TO_STRING)),
    ],
};
static PROTOTYPE_HAS_OWN_PROPERTY: Builtin = super::function("hasOwnProperty", has_own_property);
static PROTOTYPE_TO_STRING: Builtin =
    super::function("toString", |_, this, _| Ok(Value::from(described(this))));

/// Returns `[object Array]` and the like.
fn described(value: &Value) -> String {
    let kind = match value {
        Value::Undefined => "Undefined",
        Value::Null => "Null",
        Value::Bool(_) => "Boolean",
        Value::Number(_) => "Number",
        Value::BigInt(_) => "BigInt",
        Value::String(_) => "String",
        Value::Array(_) => "Array",
        Value::Function(_) => "Function",
        Value::Builtin(builtin) if builtin.call.is_some() => "Function",
        Value::Builtin(builtin) => builtin.name,
        Value::RegExp(_) => "RegExp",
        Value::Date(_) => "Date",
        Value::Map(_) => "Map",
        Value::Set(_) => "Set",
        Value::Object(object) => {
            let text = super::error::text(&object.borrow());
            return text.map_or_else(|| "[object Object]".to_owned(), |text| text.to_string());
        }
        Value::Lazy(_) => "Object",
    };
    format!("[object {kind}]")
}

fn of(_: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    Ok(match arg(args, 0) {
        Value::Undefined | Value::Null => Value::object(JsObject::new()),
        value => value.clone(),
    })
}

fn not_nullish(value: &Value) -> Result<(), Error> {
    if value.is_nullish() {
        return Err(Error::runtime("Cannot convert undefined or null to object"));
    }
    Ok(())
}

fn has_own_property(
    cx: &mut EvalContext<'_>,
    this: &Value,
    args: &[Value],
) -> Result<Value, Error> {
    let key = to_text(cx, arg(args, 0))?;
    Ok(Value::Bool(match this {
        Value::Object(object) => object.borrow().contains(&key),
        Value::Array(items) => {
            &*key == "length" || array_index(&key).is_some_and(|index| index < items.borrow().len())
        }
        Value::String(text) => {
            &*key == "length" || array_index(&key).is_some_and(|index| index < text::len(text))
        }
        Value::Builtin(builtin) => builtin.members.iter().any(|(name, _)| *name == &*key),
        Value::RegExp(_) => &*key == "lastIndex",
        _ => false,
    }))
}

fn keys(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    not_nullish(arg(args, 0))?;
    let keys = own_keys(cx, arg(args, 0))?;
    Ok(Value::array(keys.into_iter().map(Value::String).collect()))
}

fn own_keys(cx: &mut EvalContext<'_>, value: &Value) -> Result<Vec<Rc<str>>, Error> {
    if let Value::Object(object) = value {
        cx.reserve_items(object.borrow().len())?;
        return Ok(object.borrow().keys());
    }
    Ok(own_entries(cx, value)?
        .into_iter()
        .map(|(key, _)| key)
        .collect())
}

fn get_own_property_names(
    cx: &mut EvalContext<'_>,
    _: &Value,
    args: &[Value],
) -> Result<Value, Error> {
    let value = arg(args, 0);
    not_nullish(value)?;
    let mut names = own_keys(cx, value)?;
    if let Value::Array(_) | Value::String(_) = value {
        names.push("length".into());
    }
    Ok(Value::array(names.into_iter().map(Value::String).collect()))
}

fn values(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    not_nullish(arg(args, 0))?;
    let entries = own_entries(cx, arg(args, 0))?;
    Ok(Value::array(
        entries.into_iter().map(|(_, value)| value).collect(),
    ))
}

fn entries(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    not_nullish(arg(args, 0))?;
    let entries = own_entries(cx, arg(args, 0))?;
    let pair = |(key, value)| Value::array(vec![Value::String(key), value]);
    Ok(Value::array(entries.into_iter().map(pair).collect()))
}

fn assign(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    let target = arg(args, 0);
    not_nullish(target)?;
    for source in args.iter().skip(1) {
        for (key, value) in own_entries(cx, source)? {
            property::set(cx, target, &key, value)?;
        }
    }
    Ok(target.clone())
}

fn create(_: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    match arg(args, 0) {
        Value::Null => Ok(Value::object(JsObject::new())),
        _ => Err(Error::runtime(
            "Object.create is only available with null: objects have no prototypes here; use { ...object } to copy one",
        )),
    }
}

fn from_entries(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    let mut object = JsObject::new();
    for entry in array_elements(cx, arg(args, 0))? {
        let (key, value) = key_and_value(cx, &entry)?;
        let key = to_text(cx, &key)?;
        text::one_more(cx, object.len())?;
        object.insert(key, value);
    }
    Ok(Value::object(object))
}

/// Returns the first two elements of an entry.
pub(super) fn key_and_value(
    cx: &mut EvalContext<'_>,
    entry: &Value,
) -> Result<(Value, Value), Error> {
    match entry {
        Value::Array(pair) => {
            let pair = pair.borrow();
            Ok((arg(&pair, 0).clone(), arg(&pair, 1).clone()))
        }
        Value::Object(_) => {
            let part = |key: &str| property::get(entry, &Rc::from(key));
            Ok((part("0")?, part("1")?))
        }
        other => {
            let shown = shown(cx, other)?;
            Err(Error::runtime(format!(
                "Iterator value {shown} is not an entry object"
            )))
        }
    }
}

fn group_by(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    let items = array_elements(cx, arg(args, 0))?;
    let function = callback(cx, args.get(1..).unwrap_or_default())?;
    let mut groups = JsObject::new();
    for (index, item) in items.into_iter().enumerate() {
        let arguments = [item, Value::Number(index as f64)];
        let key = cx.call(function, &Value::Undefined, &arguments)?;
        let key = to_text(cx, &key)?;
        let [item, _] = arguments;
        match groups.peek(&key) {
            Some(Value::Array(group)) => group.borrow_mut().push(item),
            _ => groups.insert(key, Value::array(vec![item])),
        }
    }
    Ok(Value::object(groups))
}
