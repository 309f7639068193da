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

use self::calendar::{Fields, time_clip};
use super::args::arg;
use super::methods::Method;
use crate::context::Context;
use crate::convert::{Hint, to_number, to_primitive};
use crate::error::Error;
use crate::value::{Builtin, Member, Value};

pub(super) use self::print::text;

/// The time of a date, in milliseconds since the epoch.
type Time = Rc<Cell<f64>>;
/// A method of dates.
type Call = fn(&mut Context<'_>, &Time, &[Value]) -> Result<Value, Error>;

/// The date method of that name.
pub(super) fn method(method: Method) -> Option<Call> {
    fields::getter(method)
        .or_else(|| fields::setter(method))
        .or_else(|| printer(method))
}

fn printer(method: Method) -> Option<Call> {
    Some(match method {
        Method::ToString => |_, time, _| Ok(Value::from(text(time.get()))),
        Method::ToDateString => |_, time, _| print::with(time, print::date),
        Method::ToTimeString => |_, time, _| print::with(time, print::time),
        Method::ToUtcString | Method::ToGmtString => |_, time, _| print::with(time, print::utc),
        Method::ToIsoString => |_, time, _| match Fields::of(time.get()) {
            Some(fields) => Ok(Value::from(print::iso(&fields))),
            None => Err(Error::runtime("Invalid time value")),
        },
        Method::ToJson => |_, time, _| {
            let fields = Fields::of(time.get());
            Ok(fields.map_or(Value::Null, |fields| Value::from(print::iso(&fields))))
        },
        Method::ToLocaleString => {
            |cx, time, args| locale::format(cx, time.get(), args, locale::Part::Both)
        }
        Method::ToLocaleDateString => {
            |cx, time, args| locale::format(cx, time.get(), args, locale::Part::Date)
        }
        Method::ToLocaleTimeString => {
            |cx, time, args| locale::format(cx, time.get(), args, locale::Part::Time)
        }
        _ => return None,
    })
}

pub(super) static DATE: Builtin = Builtin {
    name: "Date",
    call: Some(call),
    construct: Some(construct),
    members: &[
        ("UTC", Member::Function(&UTC)),
        ("now", Member::Function(&NOW)),
        ("parse", Member::Function(&PARSE)),
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

fn now(cx: &Context<'_>) -> Result<f64, Error> {
    cx.now_ms().map(time_clip).ok_or_else(|| {
        Error::runtime(
            "the current time is not available here: no clock is handed in, so that the same input always gives the same output; pass a date in instead",
        )
    })
}

/// `Date()` without `new` is the current time as text.
fn call(cx: &mut Context<'_>, _: &Value, _: &[Value]) -> Result<Value, Error> {
    now(cx).map(|time| Value::from(text(time)))
}

fn construct(cx: &mut Context<'_>, _: &Value, args: &[Value]) -> Result<Value, Error> {
    let time = match args {
        [] => now(cx)?,
        [Value::Date(date)] => date.get(),
        [value] => match to_primitive(cx, value, Hint::Default)? {
            Value::String(text) => parse::parse(&text),
            value => time_clip(to_number(cx, &value)?),
        },
        args => components(cx, args)?,
    };
    Ok(Value::Date(Rc::new(Cell::new(time))))
}

/// A time from year, month, day, hours, minutes, seconds, milliseconds.
fn components(cx: &mut Context<'_>, args: &[Value]) -> Result<f64, Error> {
    let mut numbers = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    for (number, value) in numbers.iter_mut().zip(args) {
        *number = to_number(cx, value)?.trunc();
    }
    if (0.0..=99.0).contains(&numbers[0]) {
        numbers[0] += 1900.0;
    }
    Ok(calendar::time(numbers))
}
