//! `encodeURIComponent` and its relatives.

use super::args::arg;
use crate::context::EvalContext;
use crate::convert::to_text;
use crate::error::Error;
use crate::value::{Builtin, Value};

/// Characters that a component may contain besides letters and digits.
const UNRESERVED: &[u8] = b"-_.!~*'()";
/// Characters that separate the components of a URI.
const RESERVED: &[u8] = b";/?:@&=+$,#";

pub(super) static ENCODE_URI_COMPONENT: Builtin =
    super::function("encodeURIComponent", |cx, _, args| encode(cx, args, b""));
pub(super) static ENCODE_URI: Builtin =
    super::function("encodeURI", |cx, _, args| encode(cx, args, RESERVED));
pub(super) static DECODE_URI_COMPONENT: Builtin =
    super::function("decodeURIComponent", |cx, _, args| decode(cx, args, b""));
pub(super) static DECODE_URI: Builtin =
    super::function("decodeURI", |cx, _, args| decode(cx, args, RESERVED));
pub(super) static ESCAPE: Builtin = super::function("escape", escape);

fn encode(cx: &mut EvalContext<'_>, args: &[Value], kept: &[u8]) -> Result<Value, Error> {
    let text = to_text(cx, arg(args, 0))?;
    let plain = |byte: &u8| {
        byte.is_ascii_alphanumeric() || UNRESERVED.contains(byte) || kept.contains(byte)
    };
    let escaped = text.bytes().filter(|byte| !plain(byte)).count();
    if escaped == 0 {
        cx.charge_bytes(text.len())?;
        return Ok(Value::String(text));
    }
    cx.reserve_string(text.len() + 2 * escaped)?;
    let mut out = String::with_capacity(text.len() + 2 * escaped);
    for byte in text.bytes() {
        if plain(&byte) {
            out.push(char::from(byte));
        } else {
            push_escaped(&mut out, byte);
        }
    }
    Ok(Value::from(out))
}

fn push_escaped(out: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.push('%');
    out.push(char::from(DIGITS[usize::from(byte >> 4)]));
    out.push(char::from(DIGITS[usize::from(byte & 15)]));
}

/// Decodes; escapes of `kept` characters stay as they are.
fn decode(cx: &mut EvalContext<'_>, args: &[Value], kept: &[u8]) -> Result<Value, Error> {
    let text = to_text(cx, arg(args, 0))?;
    cx.charge_bytes(text.len())?;
    if !text.contains('%') {
        return Ok(Value::String(text));
    }
    let malformed = || Error::runtime("URI malformed");
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'%' {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        let digits = bytes.get(at + 1..at + 3).ok_or_else(malformed)?;
        let high = char::from(digits[0]).to_digit(16).ok_or_else(malformed)?;
        let low = char::from(digits[1]).to_digit(16).ok_or_else(malformed)?;
        let byte = (high * 16 + low) as u8;
        if kept.contains(&byte) {
            out.extend_from_slice(&bytes[at..at + 3]);
        } else {
            out.push(byte);
        }
        at += 3;
    }
    String::from_utf8(out)
        .map(Value::from)
        .map_err(|_| malformed())
}

/// Implements the old `escape`, which some templates still use.
fn escape(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    let text = to_text(cx, arg(args, 0))?;
    cx.reserve_string(text.len().saturating_mul(3))?;
    let mut out = String::with_capacity(text.len());
    for unit in text.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() || b"@*_+-./".contains(&byte) => {
                out.push(char::from(byte));
            }
            Ok(byte) => push_escaped(&mut out, byte),
            Err(_) => out.push_str(&format!("%u{unit:04X}")),
        }
    }
    Ok(Value::from(out))
}
