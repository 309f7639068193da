//! Dates as text in the fixed formats.

use super::DateCell;
use super::calendar::DateFields;
use crate::error::Error;
use crate::value::Value;

pub(super) const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const INVALID: &str = "Invalid Date";

/// Prints a date as `String(date)` does.
pub(in super::super) fn text(time: f64) -> String {
    match DateFields::of(time) {
        Some(fields) => format!("{} {}", date(&fields), self::time(&fields)),
        None => INVALID.to_owned(),
    }
}

/// Prints a date with `print`, or `Invalid Date`.
pub(super) fn with(time: &DateCell, print: impl Fn(&DateFields) -> String) -> Result<Value, Error> {
    Ok(Value::from(
        DateFields::of(time.get()).map_or_else(|| INVALID.to_owned(), |f| print(&f)),
    ))
}

/// `Tue Jan 02 2024`
pub(super) fn date(fields: &DateFields) -> String {
    let (weekday, month) = (&WEEKDAYS[fields.weekday][..3], &MONTHS[fields.month][..3]);
    format!("{weekday} {month} {:02} {}", fields.day, year(fields.year))
}

/// `03:04:05 GMT+0000 (Coordinated Universal DateCell)`
pub(super) fn time(fields: &DateFields) -> String {
    format!("{} GMT+0000 (Coordinated Universal Time)", clock(fields))
}

/// `Tue, 02 Jan 2024 03:04:05 GMT`
pub(super) fn utc(fields: &DateFields) -> String {
    let (weekday, month) = (&WEEKDAYS[fields.weekday][..3], &MONTHS[fields.month][..3]);
    format!(
        "{weekday}, {:02} {month} {} {} GMT",
        fields.day,
        year(fields.year),
        clock(fields)
    )
}

/// `2024-01-02T03:04:05.006Z`
pub(super) fn iso(fields: &DateFields) -> String {
    let year = match fields.year {
        0..=9999 => format!("{:04}", fields.year),
        year => format!("{year:+07}"),
    };
    let (month, day) = (fields.month + 1, fields.day);
    format!(
        "{year}-{month:02}-{day:02}T{}.{:03}Z",
        clock(fields),
        fields.millisecond
    )
}

fn clock(fields: &DateFields) -> String {
    format!(
        "{:02}:{:02}:{:02}",
        fields.hour, fields.minute, fields.second
    )
}

fn year(year: i64) -> String {
    if year < 0 {
        format!("-{:04}", -year)
    } else {
        format!("{year:04}")
    }
}
