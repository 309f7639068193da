//! Writes JSON text the way `JSON.stringify` does.

use std::rc::Rc;

use super::super::args::arg;
use super::super::{BuiltinMethod, call_method, text};
use crate::context::EvalContext;
use crate::convert::{number_to_string, to_integer_or_infinity, to_text};
use crate::error::Error;
use crate::value::{EntryKey, JsObject, Value};

pub(super) fn stringify(
    cx: &mut EvalContext<'_>,
    _: &Value,
    args: &[Value],
) -> Result<Value, Error> {
    let mut writer = JsonWriter {
        replacer: JsonReplacer::of(cx, arg(args, 1))?,
        indent: indent(cx, arg(args, 2))?,
        out: String::new(),
        open: Vec::new(),
    };
    let holder = match writer.replacer {
        JsonReplacer::Function(_) => super::super::args::object([("", arg(args, 0).clone())]),
        _ => Value::Undefined,
    };
    let written = writer.value(cx, &Rc::from(""), arg(args, 0).clone(), &holder)?;
    Ok(if written {
        Value::from(writer.out)
    } else {
        Value::Undefined
    })
}

/// The second argument.
enum JsonReplacer<'a> {
    None,
    Function(&'a Value),
    /// The only keys to write, in this order.
    Keys(Vec<Rc<str>>),
}

impl<'a> JsonReplacer<'a> {
    fn of(cx: &mut EvalContext<'_>, value: &'a Value) -> Result<Self, Error> {
        match value {
            value if value.is_callable() => Ok(JsonReplacer::Function(value)),
            Value::Array(items) => {
                let mut keys: Vec<Rc<str>> = Vec::new();
                for item in &items.borrow().clone() {
                    if let Value::String(_) | Value::Number(_) = item {
                        let key = to_text(cx, item)?;
                        cx.charge(keys.len() as u64)?;
                        if !keys.contains(&key) {
                            keys.push(key);
                        }
                    }
                }
                Ok(JsonReplacer::Keys(keys))
            }
            _ => Ok(JsonReplacer::None),
        }
    }
}

/// Returns the indentation of one level.
fn indent(cx: &mut EvalContext<'_>, value: &Value) -> Result<String, Error> {
    const INDENT_MAX: usize = 10;
    Ok(match value {
        Value::Number(_) => {
            let spaces = to_integer_or_infinity(cx, value)?.clamp(0.0, INDENT_MAX as f64);
            " ".repeat(spaces as usize)
        }
        Value::String(text) => text.chars().take(INDENT_MAX).collect(),
        _ => String::new(),
    })
}

struct JsonWriter<'a> {
    replacer: JsonReplacer<'a>,
    indent: String,
    out: String,
    /// The objects being written, outermost first, each with its key.
    open: Vec<(EntryKey, Rc<str>)>,
}

impl JsonWriter<'_> {
    /// Writes a value; answers whether it is one that JSON has.
    fn value(
        &mut self,
        cx: &mut EvalContext<'_>,
        key: &Rc<str>,
        value: Value,
        holder: &Value,
    ) -> Result<bool, Error> {
        cx.charge(1)?;
        let value = self.replaced(cx, key, value, holder)?;
        match &value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(true) => self.out.push_str("true"),
            Value::Bool(false) => self.out.push_str("false"),
            Value::Number(number) if number.is_finite() => {
                self.out.push_str(&number_to_string(*number));
            }
            Value::Number(_) => self.out.push_str("null"),
            Value::String(text) => self.quoted(cx, text)?,
            Value::BigInt(_) => {
                return Err(Error::runtime("Do not know how to serialize a BigInt"));
            }
            Value::Undefined | Value::Function(_) => return Ok(false),
            Value::Builtin(builtin) if builtin.call.is_some() => return Ok(false),
            Value::Array(items) => {
                let items = items.borrow().clone();
                self.nested(cx, key, &value, |writer, cx| {
                    writer.array(cx, items, &value)
                })?;
            }
            Value::Object(object) => {
                let entries = self.entries(cx, &object.borrow())?;
                self.nested(cx, key, &value, |writer, cx| {
                    writer.object(cx, entries, &value)
                })?;
            }
            Value::RegExp(_) | Value::Map(_) | Value::Set(_) | Value::Builtin(_) => {
                self.out.push_str("{}");
            }
            Value::Date(_) | Value::Lazy(_) => return Ok(false),
        }
        text::check(cx, &self.out)?;
        Ok(true)
    }

    /// Applies `toJSON` and the replacer to a value.
    fn replaced(
        &self,
        cx: &mut EvalContext<'_>,
        key: &Rc<str>,
        value: Value,
        holder: &Value,
    ) -> Result<Value, Error> {
        let mut value = value.forced();
        match &value {
            Value::Date(_) => {
                if let Some(text) = call_method(cx, &value, BuiltinMethod::ToJson, &[]) {
                    value = text?;
                }
            }
            Value::Object(object) => {
                let own = object.borrow().get("toJSON").filter(Value::is_callable);
                if let Some(method) = own {
                    value = cx.call(&method, &value, &[Value::String(key.clone())])?;
                }
            }
            _ => {}
        }
        if let JsonReplacer::Function(function) = self.replacer {
            value = cx.call(function, holder, &[Value::String(key.clone()), value])?;
        }
        Ok(value)
    }

    fn entries(
        &self,
        cx: &mut EvalContext<'_>,
        object: &JsObject,
    ) -> Result<Vec<(Rc<str>, Value)>, Error> {
        cx.charge(object.len() as u64)?;
        Ok(match &self.replacer {
            JsonReplacer::Keys(keys) => keys
                .iter()
                .filter_map(|key| Some((key.clone(), object.get(key)?)))
                .collect(),
            _ => object.entries(),
        })
    }

    /// Writes the inside of an array or object, which must not be inside itself.
    fn nested(
        &mut self,
        cx: &mut EvalContext<'_>,
        key: &Rc<str>,
        value: &Value,
        write: impl FnOnce(&mut Self, &mut EvalContext<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let id = EntryKey::of(value);
        cx.charge(self.open.len() as u64 / 8)?;
        if self.open.iter().any(|(open, _)| *open == id) {
            return Err(Error::runtime(format!(
                "Converting circular structure to JSON: property '{key}' closes the circle"
            )));
        }
        self.open.push((id, key.clone()));
        cx.deeper(|cx| write(self, cx))?;
        self.open.pop();
        Ok(())
    }

    fn array(
        &mut self,
        cx: &mut EvalContext<'_>,
        items: Vec<Value>,
        holder: &Value,
    ) -> Result<(), Error> {
        if items.is_empty() {
            self.out.push_str("[]");
            return Ok(());
        }
        self.out.push('[');
        let needs_keys = matches!(self.replacer, JsonReplacer::Function(_));
        let no_key: Rc<str> = Rc::from("");
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.line(cx)?;
            let names_key = needs_keys || matches!(item, Value::Array(_) | Value::Object(_));
            let key = if names_key {
                Rc::from(index.to_string())
            } else {
                no_key.clone()
            };
            if !self.value(cx, &key, item, holder)? {
                self.out.push_str("null");
            }
        }
        self.close(cx, ']')
    }

    fn object(
        &mut self,
        cx: &mut EvalContext<'_>,
        entries: Vec<(Rc<str>, Value)>,
        holder: &Value,
    ) -> Result<(), Error> {
        self.out.push('{');
        let mut any = false;
        for (key, value) in entries {
            let start = self.out.len();
            if any {
                self.out.push(',');
            }
            self.line(cx)?;
            self.quoted(cx, &key)?;
            self.out
                .push_str(if self.indent.is_empty() { ":" } else { ": " });
            if self.value(cx, &key, value, holder)? {
                any = true;
            } else {
                self.out.truncate(start);
            }
        }
        if !any {
            self.out.push('}');
            return Ok(());
        }
        self.close(cx, '}')
    }

    /// Starts a line at the current depth, when there is indentation.
    fn line(&mut self, cx: &mut EvalContext<'_>) -> Result<(), Error> {
        if self.indent.is_empty() {
            return Ok(());
        }
        self.out.push('\n');
        cx.charge_bytes(self.indent.len() * self.open.len())?;
        for _ in 0..self.open.len() {
            self.out.push_str(&self.indent);
        }
        Ok(())
    }

    fn close(&mut self, cx: &mut EvalContext<'_>, bracket: char) -> Result<(), Error> {
        if !self.indent.is_empty() {
            self.out.push('\n');
            cx.charge_bytes(self.indent.len() * self.open.len())?;
            for _ in 1..self.open.len() {
                self.out.push_str(&self.indent);
            }
        }
        self.out.push(bracket);
        Ok(())
    }

    fn quoted(&mut self, cx: &mut EvalContext<'_>, text: &str) -> Result<(), Error> {
        cx.charge_bytes(text.len())?;
        self.out.push('"');
        let mut plain = 0;
        for (at, byte) in text.bytes().enumerate() {
            let escape = match byte {
                b'"' => "\\\"",
                b'\\' => "\\\\",
                b'\n' => "\\n",
                b'\r' => "\\r",
                b'\t' => "\\t",
                0x08 => "\\b",
                0x0C => "\\f",
                0..0x20 => "",
                _ => continue,
            };
            self.out.push_str(&text[plain..at]);
            plain = at + 1;
            if escape.is_empty() {
                self.out.push_str(&format!("\\u{byte:04x}"));
            } else {
                self.out.push_str(escape);
            }
        }
        self.out.push_str(&text[plain..]);
        self.out.push('"');
        text::check(cx, &self.out)
    }
}
