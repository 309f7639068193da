//! The standard library: globals, methods and properties of every built-in type.
//!
//! ECMAScript's, as node prints it. A method name is resolved once, when an expression is compiled
//! ([`method`]); a call is then a match on the receiver's type and the name's number.
//!
//! Every function pays for its work with [`EvalContext::charge`] and checks the limits before it
//! allocates. Deliberate differences from node:
//!
//! | Here | In node | Why |
//! |---|---|---|
//! | half of a surrogate pair becomes U+FFFD | kept as it is | strings are UTF-8; lengths and indices still count UTF-16 code units |
//! | lists have no holes: `Array(3).map(f)` calls `f` three times | holes are skipped | one kind of list |
//! | `keys()`, `values()`, `entries()`, `matchAll()` give lists | iterators | lists can be printed, indexed and looped over |
//! | dates are in UTC, always | the machine's zone | the same input gives the same output |
//! | `new Date()`, `Date.now()` are errors unless the host hands in the time; `Math.random()` is one | clock, randomness | the same input gives the same output |
//! | `toLocaleString` and kin print `en-US`; options that are not provided are errors | any locale | no locale data is carried along |
//! | `localeCompare` approximates Unicode's root collation | ICU | as above; Latin text agrees |
//! | `JsObject.freeze` returns its argument unchanged | freezes | nothing relies on it |
//! | `new String("a")`, `new Number(1)` are the plain value | an object around it | as everyone wishes |
//! | error objects have `name` and `message` as ordinary properties | hidden ones | objects have no prototypes |
//! | `ShellSymbol`, `globalThis`, `JsObject.create(proto)` are not there | are | templates have no use for them |
//! | BigInts hold 128 bits | any size | as above |
//! | `sin`, `exp`, `pow` … may differ in the last digit | V8's own | one portable library on every platform |

mod args;
mod array;
mod clone;
mod collection;
mod date;
mod error;
mod function;
mod json;
mod match_result;
mod math;
mod methods;
mod number;
mod object;
mod regexp;
mod string;
mod text;
mod uri;

use std::rc::Rc;

use self::array::elements as array_elements;
pub(crate) use self::methods::BuiltinMethod;
use crate::context::EvalContext;
use crate::error::Error;
use crate::value::{Builtin, BuiltinMember, NativeFn, Value};

/// Returns the method with this name on any built-in type.
pub(crate) fn method(name: &str) -> Option<BuiltinMethod> {
    BuiltinMethod::named(name)
}

/// Calls a built-in method; `None` when `this` has no such method.
pub(crate) fn call_method(
    cx: &mut EvalContext<'_>,
    this: &Value,
    method: BuiltinMethod,
    args: &[Value],
) -> Option<Result<Value, Error>> {
    let result = match this {
        Value::Undefined | Value::Null => return None,
        Value::String(text) => string::method(method).map(|call| call(cx, text, args)),
        Value::Array(items) => array::method(method).map(|call| call(cx, items, args)),
        Value::Number(number) => number::method(method).map(|call| call(cx, *number, args)),
        Value::Bool(value) => number::bool_method(method).map(|call| call(cx, *value, args)),
        Value::BigInt(value) => number::big_method(method).map(|call| call(cx, **value, args)),
        Value::Date(time) => date::method(method).map(|call| call(cx, time, args)),
        Value::RegExp(regex) => regexp::method(method).map(|call| call(cx, regex, args)),
        Value::Map(map) => collection::map_method(method).map(|call| call(cx, map, args)),
        Value::Set(set) => collection::set_method(method).map(|call| call(cx, set, args)),
        Value::Function(_) => function::method(method).map(|call| call(cx, this, args)),
        Value::Builtin(_) if this.is_callable() => {
            function::method(method).map(|call| call(cx, this, args))
        }
        Value::Object(_) | Value::Builtin(_) | Value::Lazy(_) => None,
    };
    result.or_else(|| object::method(method).map(|call| call(cx, this, args)))
}

/// Appends the text that a built-in method gives, where that takes no value in between and runs
/// no code of the user; `None` when it does, and nothing has happened then.
pub(crate) fn write_method(
    cx: &mut EvalContext<'_>,
    this: &Value,
    (method, args): (BuiltinMethod, &[Value]),
    out: &mut String,
) -> Option<Result<(), Error>> {
    match this {
        Value::String(text) => string::write(cx, text, method, out),
        Value::Number(number) => number::write(cx, *number, (method, args), out),
        Value::Array(items) if method == BuiltinMethod::Join => {
            array::write_joined_primitives(cx, &items.borrow(), args, out)
        }
        _ => None,
    }
}

/// Returns true if `this` has the built-in method, so that `"x".trim` can be read without a call.
pub(crate) fn has_method(this: &Value, name: &str) -> bool {
    let Some(method) = BuiltinMethod::named(name) else {
        return false;
    };
    let own = match this {
        Value::Undefined | Value::Null => return false,
        Value::String(_) => string::method(method).is_some(),
        Value::Array(_) => array::method(method).is_some(),
        Value::Number(_) => number::method(method).is_some(),
        Value::Bool(_) => number::bool_method(method).is_some(),
        Value::BigInt(_) => number::big_method(method).is_some(),
        Value::Date(_) => date::method(method).is_some(),
        Value::RegExp(_) => regexp::method(method).is_some(),
        Value::Map(_) => collection::map_method(method).is_some(),
        Value::Set(_) => collection::set_method(method).is_some(),
        Value::Function(_) => function::method(method).is_some(),
        Value::Builtin(_) => this.is_callable() && function::method(method).is_some(),
        Value::Object(_) | Value::Lazy(_) => false,
    };
    own || object::method(method).is_some()
}

/// Returns a built-in property that is not a method: `length`, `size`,`flags`.
pub(crate) fn property(this: &Value, name: &str) -> Option<Value> {
    match (this, name) {
        (Value::String(text), "length") => Some(Value::Number(text::len(text) as f64)),
        (Value::Array(items), "length") => Some(Value::Number(items.borrow().len() as f64)),
        (Value::Array(items), name) => match_result::property(items, name),
        (Value::Map(entries) | Value::Set(entries), "size") => {
            Some(Value::Number(entries.borrow().index.len() as f64))
        }
        (Value::RegExp(regex), name) => regexp::property(regex, name),
        (Value::Function(_) | Value::Builtin(_), name) => function::property(this, name),
        _ => None,
    }
}

/// Returns a global: `Math`, `String`, `parseInt`, `NaN`, `undefined`. These win over the state.
pub(crate) fn global(name: &str) -> Option<Value> {
    Some(Value::Builtin(match name {
        "undefined" => return Some(Value::Undefined),
        "NaN" => return Some(Value::Number(f64::NAN)),
        "Infinity" => return Some(Value::Number(f64::INFINITY)),
        "Array" => &array::ARRAY,
        "BigInt" => &number::BIG_INT,
        "Boolean" => &number::BOOLEAN,
        "Date" => &date::DATE,
        "Error" => &error::ERROR,
        "EvalError" => &error::EVAL_ERROR,
        "JSON" => &json::JSON,
        "Map" => &collection::MAP,
        "Math" => &math::MATH,
        "Number" => &number::NUMBER,
        "Object" => &object::OBJECT,
        "RangeError" => &error::RANGE_ERROR,
        "ReferenceError" => &error::REFERENCE_ERROR,
        "RegExp" => &regexp::REG_EXP,
        "Set" => &collection::SET,
        "String" => &string::STRING,
        "Symbol" => &error::SYMBOL,
        "SyntaxError" => &error::SYNTAX_ERROR,
        "TypeError" => &error::TYPE_ERROR,
        "URIError" => &error::URI_ERROR,
        "decodeURI" => &uri::DECODE_URI,
        "decodeURIComponent" => &uri::DECODE_URI_COMPONENT,
        "encodeURI" => &uri::ENCODE_URI,
        "encodeURIComponent" => &uri::ENCODE_URI_COMPONENT,
        "escape" => &uri::ESCAPE,
        "isFinite" => &number::GLOBAL_IS_FINITE,
        "isNaN" => &number::GLOBAL_IS_NAN,
        "parseFloat" => &number::PARSE_FLOAT,
        "parseInt" => &number::PARSE_INT,
        "structuredClone" => &clone::STRUCTURED_CLONE,
        _ => return None,
    }))
}

/// Evaluates `new X(...)`.
pub(crate) fn construct(
    cx: &mut EvalContext<'_>,
    builtin: &'static Builtin,
    args: &[Value],
) -> Result<Value, Error> {
    match builtin.construct {
        Some(construct) => construct(cx, &Value::Undefined, args),
        None => Err(Error::runtime(format!(
            "{} is not a constructor",
            builtin.name
        ))),
    }
}

/// Returns the elements that `for…of`, spread and `@each` visit: arrays, strings by code point,
/// maps, sets.
pub(crate) fn iterate(
    cx: &mut EvalContext<'_>,
    value: &Value,
) -> Result<Option<Vec<Value>>, Error> {
    let items = match value {
        Value::Array(items) => items.borrow().clone(),
        Value::String(text) => {
            cx.reserve_items(text.chars().count())?;
            let mut buffer = [0; 4];
            text.chars()
                .map(|c| Value::from(&*c.encode_utf8(&mut buffer)))
                .collect()
        }
        Value::Map(map) => {
            let map = map.borrow();
            let pair =
                |(key, value): &(Value, Value)| Value::array(vec![key.clone(), value.clone()]);
            map.index.values().map(pair).collect()
        }
        Value::Set(set) => set
            .borrow()
            .index
            .values()
            .map(|(key, _)| key.clone())
            .collect(),
        _ => return Ok(None),
    };
    cx.reserve_items(items.len())?;
    Ok(Some(items))
}

/// Prints a date, map, set, regular expression or error object.
pub(crate) fn display(value: &Value) -> Option<Rc<str>> {
    match value {
        Value::Date(time) => Some(date::text(time.get()).into()),
        Value::RegExp(regex) => Some(regexp::literal(regex).into()),
        Value::Map(_) => Some("[object Map]".into()),
        Value::Set(_) => Some("[object Set]".into()),
        Value::Object(object) => error::text(&object.borrow()),
        _ => None,
    }
}

/// Makes a function of the library that is not a constructor.
const fn function(name: &'static str, call: NativeFn) -> Builtin {
    Builtin {
        name,
        call: Some(call),
        construct: None,
        members: NO_MEMBERS,
    }
}

const NO_MEMBERS: &[(&str, BuiltinMember)] = &[];
