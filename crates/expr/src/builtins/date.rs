//! `Date`, in UTC throughout.
//!
//! There is no local time zone: `getHours` is `getUTCHours`, a date without a zone is in UTC, and
//! `getTimezoneOffset` is 0. The time is only known when the host hands it in.

mod calendar;
mod fields;
mod locale;
mod parse;
mod print;

use std::cell::Cell;
use std::rc::Rc;

use self::calendar::{DateFields, time_clip};
use super::args::arg;
use super::methods::BuiltinMethod;
use crate::context::EvalContext;
use crate::convert::{PrimitiveHint, to_number, to_primitive};
use crate::error::Error;
use crate::value::{Builtin, BuiltinMember, Value};

pub(super) use self::print::text;

/// The time of a date, in milliseconds since the epoch.
type DateCell = Rc<Cell<f64>>;
/// A method of dates.
type DateMethod = fn(&mut EvalContext<'_>, &DateCell, &[Value]) -> Result<Value, Error>;

/// Returns the date method of that name.
pub(super) fn method(method: BuiltinMethod) -> Option<DateMethod> {
    fields::getter(method)
        .or_else(|| fields::setter(method))
        .or_else(|| printer(method))
}

fn printer(method: BuiltinMethod) -> Option<DateMethod> {
    Some(match method {
        BuiltinMethod::ToString => |_, time, _| Ok(Value::from(text(time.get()))),
        BuiltinMethod::ToDateString => |_, time, _| print::with(time, print::date),
        BuiltinMethod::ToTimeString => |_, time, _| print::with(time, print::time),
        BuiltinMethod::ToUtcString | BuiltinMethod::ToGmtString => {
            |_, time, _| print::with(time, print::utc)
        }
        BuiltinMethod::ToIsoString => |_, time, _| match DateFields::of(time.get()) {
            Some(fields) => Ok(Value::from(print::iso(&fields))),
            None => Err(Error::runtime("Invalid time value")),
        },
        BuiltinMethod::ToJson => |_, time, _| {
            let fields = DateFields::of(time.get());
            Ok(fields.map_or(Value::Null, |fields| Value::from(print::iso(&fields))))
        },
        BuiltinMethod::ToLocaleString => {
            |cx, time, args| locale::format(cx, time.get(), args, locale::DateParts::Both)
        }
        BuiltinMethod::ToLocaleDateString => {
            |cx, time, args| locale::format(cx, time.get(), args, locale::DateParts::Date)
        }
        BuiltinMethod::ToLocaleTimeString => {
            |cx, time, args| locale::format(cx, time.get(), args, locale::DateParts::Time)
        }
        _ => return None,
    })
}

pub(super) static DATE: Builtin = Builtin {
    name: "Date",
    call: Some(call),
    construct: Some(construct),
    members: &[
        ("UTC", BuiltinMember::Function(&UTC)),
        ("now", BuiltinMember::Function(&NOW)),
        ("parse", BuiltinMember::Function(&PARSE)),
    ],
};

static UTC: Builtin = super::function("UTC", |cx, _, args| {
    if args.is_empty() {
        return Ok(Value::Number(f64::NAN));
    }
    components(cx, args).map(Value::Number)
});
static NOW: Builtin = super::function("now", |cx, _, _| now(cx).map(Value::Number));
static PARSE: Builtin = super::function("parse", |cx, _, args| {
    let text = crate::convert::to_text(cx, arg(args, 0))?;
    Ok(Value::Number(parse::parse(&text)))
});

fn now(cx: &EvalContext<'_>) -> Result<f64, Error> {
    cx.now_ms().map(time_clip).ok_or_else(|| {
        Error::runtime(
            "the current time is not available here: no clock is handed in, so that the same input always gives the same output; pass a date in instead",
        )
    })
}

/// Implements `Date()` without `new`: the current time as text.
fn call(cx: &mut EvalContext<'_>, _: &Value, _: &[Value]) -> Result<Value, Error> {
    now(cx).map(|time| Value::from(text(time)))
}

fn construct(cx: &mut EvalContext<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    let time = match args {
        [] => now(cx)?,
        [Value::Date(date)] => date.get(),
        [value] => match to_primitive(cx, value, PrimitiveHint::Default)? {
            Value::String(text) => parse::parse(&text),
            value => time_clip(to_number(cx, &value)?),
        },
        args => components(cx, args)?,
    };
    Ok(Value::Date(Rc::new(Cell::new(time))))
}

/// Makes a time from year, month, day, hours, minutes, seconds, milliseconds.
fn components(cx: &mut EvalContext<'_>, args: &[Value]) -> Result<f64, Error> {
    let mut numbers = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    for (number, value) in numbers.iter_mut().zip(args) {
        *number = to_number(cx, value)?.trunc();
    }
    if (0.0..=99.0).contains(&numbers[0]) {
        numbers[0] += 1900.0;
    }
    Ok(calendar::time(numbers))
}
