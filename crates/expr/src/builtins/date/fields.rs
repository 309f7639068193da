//! `getX` and `setX`.

use super::super::methods::BuiltinMethod;
use super::calendar::{DateFields, time, time_clip};
use super::{DateCell, DateMethod};
use crate::context::EvalContext;
use crate::convert::to_number;
use crate::error::Error;
use crate::value::Value;

/// Index of a setter's first argument among year, month, day, hours, minutes, seconds, ms.
const YEAR: usize = 0;
const MONTH: usize = 1;
const DAY: usize = 2;
const HOUR: usize = 3;
const MINUTE: usize = 4;
const SECOND: usize = 5;
const MILLISECOND: usize = 6;

pub(super) fn getter(method: BuiltinMethod) -> Option<DateMethod> {
    Some(match method {
        BuiltinMethod::GetTime | BuiltinMethod::ValueOf => {
            |_, time, _| Ok(Value::Number(time.get()))
        }
        BuiltinMethod::GetFullYear | BuiltinMethod::GetUtcFullYear => {
            |_, time, _| read(time, |f| f.year)
        }
        BuiltinMethod::GetMonth | BuiltinMethod::GetUtcMonth => {
            |_, time, _| read(time, |f| f.month as i64)
        }
        BuiltinMethod::GetDate | BuiltinMethod::GetUtcDate => |_, time, _| read(time, |f| f.day),
        BuiltinMethod::GetDay | BuiltinMethod::GetUtcDay => {
            |_, time, _| read(time, |f| f.weekday as i64)
        }
        BuiltinMethod::GetHours | BuiltinMethod::GetUtcHours => |_, time, _| read(time, |f| f.hour),
        BuiltinMethod::GetMinutes | BuiltinMethod::GetUtcMinutes => {
            |_, time, _| read(time, |f| f.minute)
        }
        BuiltinMethod::GetSeconds | BuiltinMethod::GetUtcSeconds => {
            |_, time, _| read(time, |f| f.second)
        }
        BuiltinMethod::GetMilliseconds | BuiltinMethod::GetUtcMilliseconds => {
            |_, time, _| read(time, |f| f.millisecond)
        }
        BuiltinMethod::GetTimezoneOffset => |_, time, _| read(time, |_| 0),
        BuiltinMethod::GetYear => |_, time, _| read(time, |f| f.year - 1900),
        _ => return None,
    })
}

fn read(time: &DateCell, field: impl Fn(&DateFields) -> i64) -> Result<Value, Error> {
    let fields = DateFields::of(time.get());
    Ok(Value::Number(
        fields.map_or(f64::NAN, |fields| field(&fields) as f64),
    ))
}

pub(super) fn setter(method: BuiltinMethod) -> Option<DateMethod> {
    Some(match method {
        BuiltinMethod::SetTime => |cx, time, args| {
            let value = to_number(cx, super::arg(args, 0))?;
            time.set(time_clip(value));
            Ok(Value::Number(time.get()))
        },
        BuiltinMethod::SetFullYear | BuiltinMethod::SetUtcFullYear => {
            |cx, time, args| write(cx, time, args, YEAR..=DAY)
        }
        BuiltinMethod::SetMonth | BuiltinMethod::SetUtcMonth => {
            |cx, time, args| write(cx, time, args, MONTH..=DAY)
        }
        BuiltinMethod::SetDate | BuiltinMethod::SetUtcDate => {
            |cx, time, args| write(cx, time, args, DAY..=DAY)
        }
        BuiltinMethod::SetHours | BuiltinMethod::SetUtcHours => {
            |cx, time, args| write(cx, time, args, HOUR..=MILLISECOND)
        }
        BuiltinMethod::SetMinutes | BuiltinMethod::SetUtcMinutes => {
            |cx, time, args| write(cx, time, args, MINUTE..=MILLISECOND)
        }
        BuiltinMethod::SetSeconds | BuiltinMethod::SetUtcSeconds => {
            |cx, time, args| write(cx, time, args, SECOND..=MILLISECOND)
        }
        BuiltinMethod::SetMilliseconds | BuiltinMethod::SetUtcMilliseconds => {
            |cx, time, args| write(cx, time, args, MILLISECOND..=MILLISECOND)
        }
        _ => return None,
    })
}

/// Replaces some of a date's numbers by the arguments.
fn write(
    cx: &mut EvalContext<'_>,
    date: &DateCell,
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
    let changed = match DateFields::of(basis) {
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
