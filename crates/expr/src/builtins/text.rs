//! Strings counted in UTF-16 code units, as JavaScript counts them, over UTF-8.
//!
//! ASCII text, where the two agree, takes the short path everywhere. Half of a surrogate pair
//! cannot be stored in UTF-8 and becomes U+FFFD.

use std::rc::Rc;

use crate::context::EvalContext;
use crate::error::Error;
use crate::value::Value;

/// Replacement for half of a surrogate pair.
const HALF: char = char::REPLACEMENT_CHARACTER;

/// Returns the length in UTF-16 code units.
#[inline]
pub(super) fn len(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.chars().map(char::len_utf16).sum()
    }
}

/// Returns the code unit at a position.
pub(super) fn unit(text: &str, position: usize) -> Option<u16> {
    if text.is_ascii() {
        return text.as_bytes().get(position).map(|byte| u16::from(*byte));
    }
    text.encode_utf16().nth(position)
}

/// Returns the text between two positions, `start <= end <= len`.
pub(super) fn slice(text: &Rc<str>, start: usize, end: usize) -> Rc<str> {
    if text.is_ascii() {
        if end - start == text.len() {
            return text.clone();
        }
        return text[start..end].into();
    }
    let mut out = String::new();
    if start >= end {
        return out.into();
    }
    let mut from = 0;
    for c in text.chars() {
        let to = from + c.len_utf16();
        if from >= end {
            break;
        }
        if from >= start && to <= end {
            out.push(c);
        } else if to > start {
            out.push(HALF);
        }
        from = to;
    }
    out.into()
}

/// Returns the byte offset of a position; inside a surrogate pair, of the character after it.
pub(super) fn byte_of(text: &str, position: usize) -> usize {
    if text.is_ascii() {
        return position.min(text.len());
    }
    let mut units = 0;
    for (byte, c) in text.char_indices() {
        if units >= position {
            return byte;
        }
        units += c.len_utf16();
    }
    text.len()
}

/// Returns the byte offset of the character that a position is in.
pub(super) fn byte_before(text: &str, position: usize) -> usize {
    let byte = byte_of(text, position);
    let inside = !text.is_ascii() && len(&text[..byte]) > position;
    if inside {
        text[..byte]
            .char_indices()
            .next_back()
            .map_or(0, |(start, _)| start)
    } else {
        byte
    }
}

/// Makes the string of one code unit.
pub(super) fn of_unit(unit: u16) -> Value {
    let c = char::from_u32(u32::from(unit)).unwrap_or(HALF);
    let mut buffer = [0; 4];
    Value::from(&*c.encode_utf8(&mut buffer))
}

/// Makes a string from code units.
pub(super) fn of_units(units: impl Iterator<Item = u16>) -> String {
    char::decode_utf16(units)
        .map(|c| c.unwrap_or(HALF))
        .collect()
}

/// Appends to a string that must stay within its limit, and pays for it.
pub(super) fn push(cx: &mut EvalContext<'_>, out: &mut String, part: &str) -> Result<(), Error> {
    cx.charge_bytes(part.len())?;
    out.push_str(part);
    check(cx, out)
}

/// Refuses a string that has grown past its limit.
pub(super) fn check(cx: &EvalContext<'_>, out: &str) -> Result<(), Error> {
    let max = cx.limits().string_bytes_max;
    if out.len() > max {
        return Err(Error::limit(format!(
            "a string of {} bytes is longer than string_bytes_max = {max}",
            out.len()
        )));
    }
    Ok(())
}

/// Pays for one more item of a list that must stay within its limit.
#[inline]
pub(super) fn one_more(cx: &mut EvalContext<'_>, items: usize) -> Result<(), Error> {
    if items >= cx.limits().items_max {
        return cx.reserve_items(items + 1);
    }
    cx.charge(1)
}
