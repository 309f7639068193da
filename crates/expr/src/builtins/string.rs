//! `String`: the constructor and the methods of text.

mod collate;
mod edit;
mod find;
mod pattern;
mod replace;

use std::rc::Rc;

use super::args::arg;
use super::methods::BuiltinMethod;
use super::text;
use crate::context::EvalContext;
use crate::convert::{to_number, to_text};
use crate::error::Error;
use crate::value::{Builtin, BuiltinMember, Value};

/// A method of strings.
type StringMethod = fn(&mut EvalContext<'_>, &Rc<str>, &[Value]) -> Result<Value, Error>;

/// Returns the string method of that name.
pub(super) fn method(method: BuiltinMethod) -> Option<StringMethod> {
    Some(match method {
        BuiltinMethod::At => find::at,
        BuiltinMethod::CharAt => find::char_at,
        BuiltinMethod::CharCodeAt => find::char_code_at,
        BuiltinMethod::CodePointAt => find::code_point_at,
        BuiltinMethod::Concat => edit::concat,
        BuiltinMethod::EndsWith => find::ends_with,
        BuiltinMethod::Includes => find::includes,
        BuiltinMethod::IndexOf => find::index_of,
        BuiltinMethod::IsWellFormed => |_, _, _| Ok(Value::Bool(true)),
        BuiltinMethod::LastIndexOf => find::last_index_of,
        BuiltinMethod::LocaleCompare => collate::locale_compare,
        BuiltinMethod::Match => pattern::r#match,
        BuiltinMethod::MatchAll => pattern::match_all,
        BuiltinMethod::Normalize => edit::normalize,
        BuiltinMethod::PadEnd => edit::pad_end,
        BuiltinMethod::PadStart => edit::pad_start,
        BuiltinMethod::Repeat => edit::repeat,
        BuiltinMethod::Replace => replace::replace,
        BuiltinMethod::ReplaceAll => replace::replace_all,
        BuiltinMethod::Search => pattern::search,
        BuiltinMethod::Slice => edit::slice,
        BuiltinMethod::Split => pattern::split,
        BuiltinMethod::StartsWith => find::starts_with,
        BuiltinMethod::Substr => edit::substr,
        BuiltinMethod::Substring => edit::substring,
        BuiltinMethod::ToLowerCase | BuiltinMethod::ToLocaleLowerCase => edit::to_lower_case,
        BuiltinMethod::ToUpperCase | BuiltinMethod::ToLocaleUpperCase => edit::to_upper_case,
        BuiltinMethod::ToString | BuiltinMethod::ValueOf | BuiltinMethod::ToWellFormed => {
            |_, text, _| Ok(Value::String(text.clone()))
        }
        BuiltinMethod::Trim => edit::trim,
        BuiltinMethod::TrimEnd | BuiltinMethod::TrimRight => edit::trim_end,
        BuiltinMethod::TrimStart | BuiltinMethod::TrimLeft => edit::trim_start,
        _ => return None,
    })
}

/// Appends what a method gives, for those that need no string of their own; `None` for the rest.
pub(super) fn write(
    cx: &mut EvalContext<'_>,
    this: &str,
    method: BuiltinMethod,
    out: &mut String,
) -> Option<Result<(), Error>> {
    Some(match method {
        BuiltinMethod::ToLowerCase | BuiltinMethod::ToLocaleLowerCase => {
            edit::write_lower_case(cx, this, out)
        }
        BuiltinMethod::ToUpperCase | BuiltinMethod::ToLocaleUpperCase => {
            edit::write_upper_case(cx, this, out)
        }
        BuiltinMethod::Trim => edit::write_trimmed(cx, this, out),
        _ => return None,
    })
}

pub(super) static STRING: Builtin = Builtin {
    name: "String",
    call: Some(of),
    construct: Some(of),
    members: &[
        ("fromCharCode", BuiltinMember::Function(&FROM_CHAR_CODE)),
        ("fromCodePoint", BuiltinMember::Function(&FROM_CODE_POINT)),
    ],
};

static FROM_CHAR_CODE: Builtin = super::function("fromCharCode", from_char_code);
static FROM_CODE_POINT: Builtin = super::function("fromCodePoint", from_code_point);

/// `String(value)`
fn of(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    match args {
        [] => Ok(Value::from("")),
        [value, ..] => to_text(cx, value).map(Value::String),
    }
}

fn from_char_code(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    cx.reserve_string(args.len())?;
    let mut units = Vec::with_capacity(args.len());
    for code in args {
        units.push(crate::convert::to_uint32(cx, code)? as u16);
    }
    Ok(Value::from(text::of_units(units.into_iter())))
}

fn from_code_point(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
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

/// Converts an argument that must not be a regular expression to text.
fn plain_text(cx: &mut EvalContext<'_>, args: &[Value], method: &str) -> Result<Rc<str>, Error> {
    if let Value::RegExp(_) = arg(args, 0) {
        return Err(Error::runtime(format!(
            "First argument to String.prototype.{method} must not be a regular expression"
        )));
    }
    to_text(cx, arg(args, 0))
}
