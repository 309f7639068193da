//! `getX` and `setX`.

use super::super::methods::Method;
use super::calendar::{Fields, time, time_clip};
use super::{Call, Time};
use crate::context::Context;
use crate::convert::to_number;
use crate::error::Error;
use crate::value::Value;

/// Where a setter's first argument goes among year, month, day, hours, minutes, seconds, ms.
const YEAR: usize = 0;
const MONTH: usize = 1;
const DAY: usize = 2;
const HOUR: usize = 3;
const MINUTE: usize = 4;
const SECOND: usize = 5;
const MILLISECOND: usize = 6;

pub(super) fn getter(method: Method) -> Option<Call> {
    Some(match method {
        Method::GetTime | Method::ValueOf => |_, time, _| Ok(Value::Number(time.get())),
        Method::GetFullYear | Method::GetUtcFullYear => |_, time, _| read(time, |f| f.year),
        Method::GetMonth | Method::GetUtcMonth => |_, time, _| read(time, |f| f.month as i64),
        Method::GetDate | Method::GetUtcDate => |_, time, _| read(time, |f| f.day),
        Method::GetDay | Method::GetUtcDay => |_, time, _| read(time, |f| f.weekday as i64),
        Method::GetHours | Method::GetUtcHours => |_, time, _| read(time, |f| f.hour),
        Method::GetMinutes | Method::GetUtcMinutes => |_, time, _| read(time, |f| f.minute),
        Method::GetSeconds | Method::GetUtcSeconds => |_, time, _| read(time, |f| f.second),
        Method::GetMilliseconds | Method::GetUtcMilliseconds => {
            |_, time, _| read(time, |f| f.millisecond)
        }
        Method::GetTimezoneOffset => |_, time, _| read(time, |_| 0),
        Method::GetYear => |_, time, _| read(time, |f| f.year - 1900),
        _ => return None,
    })
}

fn read(time: &Time, field: impl Fn(&Fields) -> i64) -> Result<Value, Error> {
    let fields = Fields::of(time.get());
    Ok(Value::Number(
        fields.map_or(f64::NAN, |fields| field(&fields) as f64),
    ))
}

pub(super) fn setter(method: Method) -> Option<Call> {
    Some(match method {
        Method::SetTime => |cx, time, args| {
            let value = to_number(cx, super::arg(args, 0))?;
            time.set(time_clip(value));
            Ok(Value::Number(time.get()))
        },
        Method::SetFullYear | Method::SetUtcFullYear => {
            |cx, time, args| write(cx, time, args, YEAR..=DAY)
        }
        Method::SetMonth | Method::SetUtcMonth => {
            |cx, time, args| write(cx, time, args, MONTH..=DAY)
        }
        Method::SetDate | Method::SetUtcDate => |cx, time, args| write(cx, time, args, DAY..=DAY),
        Method::SetHours | Method::SetUtcHours => {
            |cx, time, args| write(cx, time, args, HOUR..=MILLISECOND)
        }
        Method::SetMinutes | Method::SetUtcMinutes => {
            |cx, time, args| write(cx, time, args, MINUTE..=MILLISECOND)
        }
        Method::SetSeconds | Method::SetUtcSeconds => {
            |cx, time, args| write(cx, time, args, SECOND..=MILLISECOND)
        }
        Method::SetMilliseconds | Method::SetUtcMilliseconds => {
            |cx, time, args| write(cx, time, args, MILLISECOND..=MILLISECOND)
        }
        _ => return None,
    })
}

/// Replaces some of a date's numbers by the arguments.
fn write(
    cx: &mut Context<'_>,
    date: &Time,
    args: &[Value],
    places: std::ops::RangeInclusive<usize>,
) -> Result<Value, Error> {
    let start = *places.start();
    let mut given = Vec::with_capacity(4);
    for (_, value) in places.zip(args) {
        given.push(to_number(cx, value)?.trunc());
    }
    if given.is_empty() {
        given.push(f64::NAN);
    }
    // Setting the year makes even an invalid date valid.
    let basis = if start == YEAR && date.get().is_nan() {
        0.0
    } else {
        date.get()
    };
    let changed = match Fields::of(basis) {
        Some(fields) => {
            let mut numbers = fields.numbers();
            numbers[start..start + given.len()].copy_from_slice(&given);
            time(numbers)
        }
        None => f64::NAN,
    };
    date.set(changed);
    Ok(Value::Number(changed))
}
