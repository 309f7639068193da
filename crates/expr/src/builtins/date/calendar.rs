//! The calendar: milliseconds ⇄ year, month, day and time of day.

pub(super) const MS_PER_DAY: f64 = 86_400_000.0;
/// The furthest a date can be from the epoch.
const TIME_MAX: f64 = 8.64e15;

/// A moment taken apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct DateFields {
    pub(super) year: i64,
    /// 0 to 11.
    pub(super) month: usize,
    /// 1 to 31.
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) millisecond: i64,
    /// 0 is Sunday.
    pub(super) weekday: usize,
}

impl DateFields {
    /// Splits a time into fields; `None` if the date is invalid.
    pub(super) fn of(time: f64) -> Option<DateFields> {
        if time.is_nan() {
            return None;
        }
        let time = time as i64;
        let per_day = MS_PER_DAY as i64;
        let (days, within) = (time.div_euclid(per_day), time.rem_euclid(per_day));
        let (year, month, day) = civil(days);
        Some(DateFields {
            year,
            month,
            day,
            hour: within / 3_600_000,
            minute: within / 60_000 % 60,
            second: within / 1000 % 60,
            millisecond: within % 1000,
            weekday: (days + 4).rem_euclid(7) as usize,
        })
    }

    /// Returns year, month, day, hours, minutes, seconds, milliseconds.
    pub(super) fn numbers(&self) -> [f64; 7] {
        [
            self.year as f64,
            self.month as f64,
            self.day as f64,
            self.hour as f64,
            self.minute as f64,
            self.second as f64,
            self.millisecond as f64,
        ]
    }
}

/// Returns whole milliseconds within the range of dates, or NaN.
pub(super) fn time_clip(time: f64) -> f64 {
    if time.abs() <= TIME_MAX {
        time.trunc() + 0.0
    } else {
        f64::NAN
    }
}

/// Computes the time of year, month, day, hours, minutes, seconds, milliseconds; any of them may
/// overflow into the next.
pub(super) fn time(numbers: [f64; 7]) -> f64 {
    const YEAR_MAX: f64 = 400_000.0;
    let [year, month, day, hour, minute, second, millisecond] = numbers;
    let year = year + (month / 12.0).floor();
    if numbers.iter().any(|number| !number.is_finite()) || year.abs() > YEAR_MAX {
        return f64::NAN;
    }
    let first = days(year as i64, month.rem_euclid(12.0) as i64);
    let days = first as f64 + day - 1.0;
    let within = hour * 3_600_000.0 + minute * 60_000.0 + second * 1000.0 + millisecond;
    time_clip(days * MS_PER_DAY + within)
}

/// Days from the epoch to the first of a month (0 to 11).
///
/// Years are taken to start in March, so that the leap day is the last day of a year, and counted
/// in eras of 400 years, which all have the same length.
fn days(year: i64, month: i64) -> i64 {
    let year = if month < 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 10) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Computes year, month (0 to 11) and day of a number of days from the epoch.
fn civil(days: i64) -> (i64, usize, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12;
    let year = year_of_era + era * 400 + i64::from(month < 2);
    (year, month as usize, day)
}
