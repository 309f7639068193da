//! `String`: the constructor and the methods of text.

mod collate;
mod edit;
mod find;
mod pattern;
mod replace;

use std::rc::Rc;

use super::args::arg;
use super::methods::Method;
use super::text;
use crate::context::Context;
use crate::convert::{to_number, to_text};
use crate::error::Error;
use crate::value::{Builtin, Member, Value};

/// A method of strings.
type Call = fn(&mut Context<'_>, &Rc<str>, &[Value]) -> Result<Value, Error>;

/// The string method of that name.
pub(super) fn method(method: Method) -> Option<Call> {
    Some(match method {
        Method::At => find::at,
        Method::CharAt => find::char_at,
        Method::CharCodeAt => find::char_code_at,
        Method::CodePointAt => find::code_point_at,
        Method::Concat => edit::concat,
        Method::EndsWith => find::ends_with,
        Method::Includes => find::includes,
        Method::IndexOf => find::index_of,
        Method::IsWellFormed => |_, _, _| Ok(Value::Bool(true)),
        Method::LastIndexOf => find::last_index_of,
        Method::LocaleCompare => collate::locale_compare,
        Method::Match => pattern::r#match,
        Method::MatchAll => pattern::match_all,
        Method::Normalize => edit::normalize,
        Method::PadEnd => edit::pad_end,
        Method::PadStart => edit::pad_start,
        Method::Repeat => edit::repeat,
        Method::Replace => replace::replace,
        Method::ReplaceAll => replace::replace_all,
        Method::Search => pattern::search,
        Method::Slice => edit::slice,
        Method::Split => pattern::split,
        Method::StartsWith => find::starts_with,
        Method::Substr => edit::substr,
        Method::Substring => edit::substring,
        Method::ToLowerCase | Method::ToLocaleLowerCase => edit::to_lower_case,
        Method::ToUpperCase | Method::ToLocaleUpperCase => edit::to_upper_case,
        Method::ToString | Method::ValueOf | Method::ToWellFormed => {
            |_, text, _| Ok(Value::String(text.clone()))
        }
        Method::Trim => edit::trim,
        Method::TrimEnd | Method::TrimRight => edit::trim_end,
        Method::TrimStart | Method::TrimLeft => edit::trim_start,
        _ => return None,
    })
}

/// Appends what a method gives, for those that need no string of their own; `None` for the rest.
pub(super) fn write(
    cx: &mut Context<'_>,
    this: &str,
    method: Method,
    out: &mut String,
) -> Option<Result<(), Error>> {
    Some(match method {
        Method::ToLowerCase | Method::ToLocaleLowerCase => edit::write_lower_case(cx, this, out),
        Method::ToUpperCase | Method::ToLocaleUpperCase => edit::write_upper_case(cx, this, out),
        Method::Trim => edit::write_trimmed(cx, this, out),
        _ => return None,
    })
}

pub(super) static STRING: Builtin = Builtin {
    name: "String",
    call: Some(of),
    construct: Some(of),
    members: &[
        ("fromCharCode", Member::Function(&FROM_CHAR_CODE)),
        ("fromCodePoint", Member::Function(&FROM_CODE_POINT)),
    ],
};

static FROM_CHAR_CODE: Builtin = super::function("fromCharCode", from_char_code);
static FROM_CODE_POINT: Builtin = super::function("fromCodePoint", from_code_point);

/// `String(value)`
fn of(cx: &mut Context<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    match args {
        [] => Ok(Value::from("")),
        [value, ..] => to_text(cx, value).map(Value::String),
    }
}

fn from_char_code(cx: &mut Context<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    cx.reserve_string(args.len())?;
    let mut units = Vec::with_capacity(args.len());
    for code in args {
        units.push(crate::convert::to_uint32(cx, code)? as u16);
    }
    Ok(Value::from(text::of_units(units.into_iter())))
}

fn from_code_point(cx: &mut Context<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    cx.reserve_string(args.len())?;
    let mut units = Vec::with_capacity(args.len());
    for code in args {
        let number = to_number(cx, code)?;
        if number.fract() != 0.0 || !(0.0..=1_114_111.0).contains(&number) {
            let shown = to_text(cx, code)?;
            return Err(Error::runtime(format!("Invalid code point {shown}")));
        }
        match char::from_u32(number as u32) {
            Some(c) => units.extend_from_slice(c.encode_utf16(&mut [0; 2])),
            None => units.push(number as u16),
        }
    }
    Ok(Value::from(text::of_units(units.into_iter())))
}

/// An argument as text that must not be a regular expression.
fn plain_text(cx: &mut Context<'_>, args: &[Value], method: &str) -> Result<Rc<str>, Error> {
    if let Value::RegExp(_) = arg(args, 0) {
        return Err(Error::runtime(format!(
            "First argument to String.prototype.{method} must not be a regular expression"
        )));
    }
    to_text(cx, arg(args, 0))
}
