//! Reads JSON text the way `JSON.parse` does.

use std::rc::Rc;

use super::super::args::{arg, object};
use super::super::text;
use crate::context::EvalContext;
use crate::convert::to_text;
use crate::error::Error;
use crate::property;
use crate::value::{JsObject, Value};

pub(super) fn parse(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    let source = to_text(cx, arg(args, 0))?;
    cx.charge_bytes(source.len())?;
    let mut parser = JsonParser {
        source: &source,
        at: 0,
    };
    let value = parser.value(cx)?;
    parser.space();
    if parser.at < source.len() {
        return Err(parser.unexpected("Unexpected non-whitespace character after JSON"));
    }
    match arg(args, 1) {
        reviver if reviver.is_callable() => {
            let holder = object([("", value)]);
            revive(cx, &holder, &Rc::from(""), reviver)
        }
        _ => Ok(value),
    }
}

/// Lets the reviver replace values, innermost first.
fn revive(
    cx: &mut EvalContext<'_>,
    holder: &Value,
    key: &Rc<str>,
    reviver: &Value,
) -> Result<Value, Error> {
    let value = property::get(holder, key)?;
    let keys: Vec<Rc<str>> = match &value {
        Value::Array(items) => (0..items.borrow().len())
            .map(|index| index.to_string().into())
            .collect(),
        Value::Object(object) => object.borrow().keys(),
        _ => Vec::new(),
    };
    for key in &keys {
        let revived = cx.deeper(|cx| revive(cx, &value, key, reviver))?;
        match (&value, revived) {
            (Value::Object(object), Value::Undefined) => {
                object.borrow_mut().remove(key);
            }
            (_, revived) => property::set(cx, &value, key, revived)?,
        }
    }
    cx.call(reviver, holder, &[Value::String(key.clone()), value])
}

struct JsonParser<'s> {
    source: &'s str,
    at: usize,
}

impl JsonParser<'_> {
    fn peek(&self) -> Option<u8> {
        self.source.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Makes an error at the current position, as JavaScript words it.
    fn unexpected(&self, expectation: &str) -> Error {
        if self.at >= self.source.len() {
            return match expectation {
                "" => Error::runtime("Unexpected end of JSON input"),
                expectation => self.error(expectation),
            };
        }
        if !expectation.is_empty() {
            return self.error(expectation);
        }
        const SHOWN_BYTES_MAX: usize = 40;
        let token = self.source[self.at..].chars().next().unwrap_or_default();
        let position = text::len(&self.source[..self.at]);
        if self.source.len() <= SHOWN_BYTES_MAX {
            let source = self.source;
            return Error::runtime(format!(
                "Unexpected token '{token}', \"{source}\" is not valid JSON (at position {position})"
            ));
        }
        Error::runtime(format!(
            "Unexpected token '{token}' in JSON at position {position}"
        ))
    }

    fn error(&self, what: &str) -> Error {
        let position = text::len(&self.source[..self.at.min(self.source.len())]);
        Error::runtime(
            format!("{what} in JSON at position {position}").replace("JSON in JSON", "JSON"),
        )
    }

    fn value(&mut self, cx: &mut EvalContext<'_>) -> Result<Value, Error> {
        cx.charge(1)?;
        self.space();
        match self.peek() {
            Some(b'{') => cx.deeper(|cx| self.object(cx)),
            Some(b'[') => cx.deeper(|cx| self.array(cx)),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.unexpected("")),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Error> {
        for byte in word.bytes() {
            if self.peek() != Some(byte) {
                return Err(self.unexpected(""));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn array(&mut self, cx: &mut EvalContext<'_>) -> Result<Value, Error> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::array(items));
        }
        loop {
            text::one_more(cx, items.len())?;
            items.push(self.value(cx)?);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Value::array(items));
                }
                None => return Err(self.unexpected("")),
                Some(_) => return Err(self.unexpected("Expected ',' or ']' after array element")),
            }
        }
    }

    fn object(&mut self, cx: &mut EvalContext<'_>) -> Result<Value, Error> {
        self.at += 1;
        let mut object = JsObject::new();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::object(object));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected(if object.is_empty() {
                    "Expected property name or '}'"
                } else {
                    "Expected double-quoted property name"
                }));
            }
            let key = self.string()?;
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("Expected ':' after property name"));
            }
            self.at += 1;
            text::one_more(cx, object.len())?;
            let value = self.value(cx)?;
            object.insert(key, value);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Value::object(object));
                }
                _ => return Err(self.unexpected("Expected ',' or '}' after property value")),
            }
        }
    }

    fn number(&mut self) -> Result<Value, Error> {
        let start = self.at;
        let digits = |parser: &mut Self| {
            let from = parser.at;
            while let Some(b'0'..=b'9') = parser.peek() {
                parser.at += 1;
            }
            parser.at > from
        };
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
            if let Some(b'0'..=b'9') = self.peek() {
                return Err(self.unexpected("Unexpected number"));
            }
        } else if !digits(self) {
            return Err(self.unexpected("No number after minus sign"));
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if !digits(self) {
                return Err(self.unexpected("Unterminated fractional number"));
            }
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            if !digits(self) {
                return Err(self.unexpected("Exponent part is missing a number"));
            }
        }
        Ok(Value::Number(
            self.source[start..self.at].parse().unwrap_or(f64::NAN),
        ))
    }

    fn string(&mut self) -> Result<Rc<str>, Error> {
        self.at += 1;
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.at += 1;
                    return Ok(self.source[start..self.at - 1].into());
                }
                b'\\' => return self.escaped_string(start),
                0..0x20 => return Err(self.unexpected("Bad control character in string literal")),
                _ => self.at += 1,
            }
        }
        Err(self.unexpected("Unterminated string"))
    }

    /// Reads the rest of a string that has escapes in it.
    fn escaped_string(&mut self, start: usize) -> Result<Rc<str>, Error> {
        let mut units: Vec<u16> = self.source[start..self.at].encode_utf16().collect();
        loop {
            let plain = self.at;
            while let Some(0x20..) = self.peek().filter(|byte| !matches!(byte, b'"' | b'\\')) {
                self.at += 1;
            }
            units.extend(self.source[plain..self.at].encode_utf16());
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text::of_units(units.into_iter()).into());
                }
                Some(b'\\') => {
                    self.at += 1;
                    units.push(self.escape()?);
                }
                Some(_) => {
                    return Err(self.unexpected("Bad control character in string literal"));
                }
                None => return Err(self.unexpected("Unterminated string")),
            }
        }
    }

    fn escape(&mut self) -> Result<u16, Error> {
        let Some(byte) = self.peek() else {
            return Err(self.unexpected("Unterminated string"));
        };
        let unit = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 0x08,
            b'f' => 0x0C,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let digits = self.source.get(self.at + 1..self.at + 5);
                let digits = digits.filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
                let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
                let Some(unit) = unit else {
                    return Err(self.unexpected("Bad Unicode escape"));
                };
                self.at += 5;
                return Ok(unit);
            }
            _ => return Err(self.unexpected("Bad escaped character")),
        };
        self.at += 1;
        Ok(u16::from(unit))
    }
}
