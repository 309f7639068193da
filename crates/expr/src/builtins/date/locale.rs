//! `toLocaleString` and its kin for dates, always as `en-US` in UTC.

use std::rc::Rc;

use super::super::args::{arg, option, text_option};
use super::calendar::DateFields;
use super::print::{MONTHS, WEEKDAYS};
use crate::context::EvalContext;
use crate::error::Error;
use crate::value::Value;

/// The parts that are printed when the options name none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DateParts {
    Date,
    Time,
    Both,
}

/// Options that would change the result in ways not provided.
const UNSUPPORTED: [&str; 5] = [
    "calendar",
    "dayPeriod",
    "era",
    "fractionalSecondDigits",
    "numberingSystem",
];

/// Width of a part; `None` leaves it out.
type FieldWidth = Option<Rc<str>>;

/// The parts to write.
#[derive(Default)]
struct DateStyle {
    weekday: FieldWidth,
    year: FieldWidth,
    month: FieldWidth,
    day: FieldWidth,
    hour: FieldWidth,
    minute: FieldWidth,
    second: FieldWidth,
    zone: FieldWidth,
    clock: HourCycle,
}

/// Hour cycle of the printed time.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum HourCycle {
    #[default]
    Twelve,
    /// 00 to 23.
    TwentyFour,
    /// 01 to 24, which is what `hour12: false` means in `en-US`.
    ToTwentyFour,
}

pub(super) fn format(
    cx: &mut EvalContext<'_>,
    time: f64,
    args: &[Value],
    part: DateParts,
) -> Result<Value, Error> {
    cx.charge(4)?;
    let style = DateStyle::of(arg(args, 1), part)?;
    let Some(fields) = DateFields::of(time) else {
        return Ok(Value::from("Invalid Date"));
    };
    let (date, clock) = (style.date(&fields), style.time(&fields));
    let text = match (date.is_empty(), clock.is_empty()) {
        (false, false) => format!("{date}{}{clock}", style.between()),
        _ => format!("{date}{clock}"),
    };
    Ok(Value::from(text))
}

impl DateStyle {
    fn of(options: &Value, part: DateParts) -> Result<Self, Error> {
        for name in UNSUPPORTED {
            if !matches!(option(options, name), Value::Undefined) {
                return Err(unsupported(name));
            }
        }
        if let Some(zone) = text_option(options, "timeZone")
            && !matches!(
                &*zone.to_ascii_uppercase(),
                "UTC" | "GMT" | "ETC/UTC" | "ETC/GMT"
            )
        {
            return Err(Error::runtime(format!(
                "the time zone {zone} is not available: dates are in UTC here"
            )));
        }
        let width = |name: &str| text_option(options, name);
        let mut style = match (width("dateStyle"), width("timeStyle")) {
            (None, None) => DateStyle {
                weekday: width("weekday"),
                year: width("year"),
                month: width("month"),
                day: width("day"),
                hour: width("hour"),
                minute: width("minute"),
                second: width("second"),
                zone: width("timeZoneName"),
                clock: HourCycle::Twelve,
            }
            .completed(part),
            (date, time) => DateStyle::preset(date.as_deref(), time.as_deref()),
        };
        style.clock = match (option(options, "hour12"), width("hourCycle").as_deref()) {
            (Value::Undefined, Some("h23")) => HourCycle::TwentyFour,
            (Value::Undefined, Some("h24")) => HourCycle::ToTwentyFour,
            (Value::Undefined, _) => HourCycle::Twelve,
            (hour12, _) if hour12.is_truthy() => HourCycle::Twelve,
            _ => HourCycle::ToTwentyFour,
        };
        Ok(style)
    }

    /// Returns the named styles `full`, `long`, `medium` and `short`.
    fn preset(date: Option<&str>, time: Option<&str>) -> Self {
        let set = |width: &str| Some(Rc::from(width));
        let mut style = DateStyle::default();
        if let Some(date) = date {
            style.day = set("numeric");
            style.year = set(if date == "short" {
                "2-digit"
            } else {
                "numeric"
            });
            style.month = set(match date {
                "full" | "long" => "long",
                "medium" => "short",
                _ => "numeric",
            });
            style.weekday = if date == "full" { set("long") } else { None };
        }
        if let Some(time) = time {
            style.hour = set("numeric");
            style.minute = set("2-digit");
            style.second = if time == "short" {
                None
            } else {
                set("2-digit")
            };
            style.zone = match time {
                "full" => set("long"),
                "long" => set("short"),
                _ => None,
            };
        }
        style
    }

    /// Adds the default parts if the options name no part of the wanted kind.
    fn completed(mut self, part: DateParts) -> Self {
        let numeric = || Some(Rc::from("numeric"));
        let dated = self.weekday.is_some()
            || self.year.is_some()
            || self.month.is_some()
            || self.day.is_some();
        let timed = self.hour.is_some() || self.minute.is_some() || self.second.is_some();
        let (add_date, add_time) = match part {
            DateParts::Date => (!dated, false),
            DateParts::Time => (false, !timed),
            DateParts::Both => (!dated && !timed, !dated && !timed),
        };
        if add_date {
            (self.year, self.month, self.day) = (numeric(), numeric(), numeric());
        }
        if add_time {
            (self.hour, self.minute, self.second) = (numeric(), numeric(), numeric());
        }
        self
    }

    /// Returns the separator between date and time.
    fn between(&self) -> &'static str {
        let only_weekday = self.year.is_none() && self.month.is_none() && self.day.is_none();
        match self.month.as_deref() {
            Some("long") => " at ",
            _ if only_weekday => " ",
            _ => ", ",
        }
    }

    fn date(&self, fields: &DateFields) -> String {
        let weekday = self
            .weekday
            .as_deref()
            .map(|width| named(WEEKDAYS[fields.weekday], width));
        // Before the year 1, years count from 1 BC.
        let year_of_era = if fields.year > 0 {
            fields.year
        } else {
            1 - fields.year
        };
        let year = self.year.as_deref().map(|width| match width {
            "2-digit" => format!("{:02}", year_of_era % 100),
            _ => year_of_era.to_string(),
        });
        let day = self.day.as_deref().map(|width| number(fields.day, width));
        let month = self.month.as_deref().map(|width| match width {
            "numeric" | "2-digit" => number(fields.month as i64 + 1, width),
            width => named(MONTHS[fields.month], width),
        });
        let in_words = !matches!(self.month.as_deref(), Some("numeric" | "2-digit") | None);
        let has_month_and_day = month.is_some() && day.is_some();
        let date = match (month, day, year) {
            (Some(month), day, year) if !in_words => {
                let parts = [Some(month), day, year];
                parts.into_iter().flatten().collect::<Vec<_>>().join("/")
            }
            (Some(month), Some(day), Some(year)) => format!("{month} {day}, {year}"),
            (None, Some(day), Some(year)) => format!("{year} (day: {day})"),
            (month, day, year) => {
                let parts = [month, day, year];
                parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
            }
        };
        match weekday {
            None => date,
            Some(weekday) if date.is_empty() => weekday,
            Some(weekday) if has_month_and_day => format!("{weekday}, {date}"),
            Some(weekday) => format!("{date} {weekday}"),
        }
    }

    fn time(&self, fields: &DateFields) -> String {
        let alone = self.hour.is_none() && (self.minute.is_none() || self.second.is_none());
        let two = if alone { "numeric" } else { "2-digit" };
        let hour = self.hour.as_deref().map(|width| match self.clock {
            HourCycle::Twelve => number((fields.hour + 11) % 12 + 1, width),
            HourCycle::TwentyFour => number(fields.hour, "2-digit"),
            HourCycle::ToTwentyFour if fields.hour == 0 => "24".to_owned(),
            HourCycle::ToTwentyFour => number(fields.hour, "2-digit"),
        });
        let minute = self.minute.as_deref().map(|_| number(fields.minute, two));
        let second = self.second.as_deref().map(|_| number(fields.second, two));
        let mut text = [hour, minute, second]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(":");
        if self.hour.is_some() && self.clock == HourCycle::Twelve {
            text.push_str(if fields.hour < 12 { " AM" } else { " PM" });
        }
        let zone = match self.zone.as_deref() {
            Some("long") => "Coordinated Universal Time",
            Some(_) => "UTC",
            None => return text,
        };
        if text.is_empty() {
            zone.to_owned()
        } else {
            format!("{text} {zone}")
        }
    }
}

fn number(number: i64, width: &str) -> String {
    if width == "2-digit" {
        format!("{number:02}")
    } else {
        number.to_string()
    }
}

fn named(name: &str, width: &str) -> String {
    match width {
        "short" => name[..3].to_owned(),
        "narrow" => name[..1].to_owned(),
        _ => name.to_owned(),
    }
}

fn unsupported(name: &str) -> Error {
    Error::runtime(format!(
        "dates do not support the option {name}; put the parts together yourself"
    ))
}
