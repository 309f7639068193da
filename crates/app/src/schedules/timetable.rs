//! The due times of a schedule: a cron expression and its time zone.

use std::str::FromStr as _;

use croner::Cron;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use store::{Schedule, Slug};

use crate::{AppErrorCode, Error};

/// The times of a schedule.
#[derive(Clone, Debug)]
pub struct CronTimetable {
    cron: Cron,
    zone: TimeZone,
}

impl CronTimetable {
    /// Reads five fields, six with seconds in front, seven with a year behind, or a word such as
    /// `@daily`.
    pub fn read(cron: &str, zone: &str) -> Result<Self, Error> {
        let parsed = Cron::from_str(cron).map_err(|cause| {
            let message = format!("`{cron}` is not a cron expression: {cause}");
            Error::new(AppErrorCode::Usage, message)
                .hint("write minute, hour, day, month and weekday: \"30 4 * * mon-fri\"")
        })?;
        let zone = TimeZone::get(zone).map_err(|_| {
            Error::new(
                AppErrorCode::Usage,
                format!("there is no time zone `{zone}`"),
            )
            .hint("write a name such as Europe/Berlin or UTC")
        })?;
        Ok(Self { cron: parsed, zone })
    }

    /// Returns the first due time after this one, or `None` if there is no further one.
    pub fn next(&self, after_ms: u64) -> Option<u64> {
        let after = self.second(after_ms)?;
        let next = self.cron.find_next_occurrence(&after, false).ok()?;
        u64::try_from(next.timestamp().as_millisecond()).ok()
    }

    /// Returns the time a schedule is due for now: the latest one, if it was due several times.
    pub fn due(&self, schedule: &Schedule, now_ms: u64) -> u64 {
        let first_ms = schedule.next_ms.unwrap_or(now_ms);
        let latest = self.latest(now_ms);
        // The rules of a time zone may have changed since; an announced time is due all the same.
        latest
            .filter(|latest_ms| *latest_ms >= first_ms)
            .unwrap_or(first_ms)
    }

    /// Returns the times from one to another, both included. Searches at most a year of minutes.
    pub fn between(&self, from_ms: u64, to_ms: u64) -> Vec<u64> {
        const TIMES_MAX: usize = 366 * 24 * 60;
        let first = self.next(from_ms.saturating_sub(1_000));
        let times = std::iter::successors(first, |at| self.next(*at));
        let times = times.skip_while(|at| *at < from_ms);
        times
            .take_while(|at| *at <= to_ms)
            .take(TIMES_MAX)
            .collect()
    }

    fn latest(&self, now_ms: u64) -> Option<u64> {
        let now = self.second(now_ms)?;
        let latest = self.cron.find_previous_occurrence(&now, true).ok()?;
        u64::try_from(latest.timestamp().as_millisecond()).ok()
    }

    /// Converts to a whole second, because cron knows no parts of one.
    fn second(&self, ms: u64) -> Option<Zoned> {
        let second = i64::try_from(ms / 1_000).ok()?;
        let timestamp = Timestamp::from_second(second).ok()?;
        Some(timestamp.to_zoned(self.zone.clone()))
    }
}

/// Writes a time as people do, with the offset of its place.
pub fn written(ms: u64, zone: &str) -> String {
    let second = i64::try_from(ms / 1_000).unwrap_or_default();
    let timestamp = Timestamp::from_second(second).unwrap_or_default();
    match TimeZone::get(zone) {
        Ok(zone) => {
            let zoned = timestamp.to_zoned(zone);
            zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
        }
        Err(_) => timestamp.to_string(),
    }
}

/// Returns the id of the run of one due time: every worker computes the same id for the same time.
pub(super) fn run_id(slug: &Slug, due_ms: u64) -> String {
    let second = i64::try_from(due_ms / 1_000).unwrap_or_default();
    let due = Timestamp::from_second(second).unwrap_or_default();
    format!("{slug}-{}", due.strftime("%Y%m%dT%H%M%SZ"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> u64 {
        let timestamp: Timestamp = text.parse().unwrap();
        u64::try_from(timestamp.as_millisecond()).unwrap()
    }

    /// The times after `from`, as UTC.
    #[track_caller]
    fn check(cron: &str, zone: &str, from: &str, expected: &[&str]) {
        let timetable = CronTimetable::read(cron, zone).unwrap();
        let mut at = ms(from);
        for expected in expected {
            at = timetable.next(at).unwrap();
            assert_eq!(at, ms(expected), "{cron} in {zone}, {expected}");
        }
    }

    #[test]
    fn times_are_those_of_the_clock_on_the_wall() {
        let from = "2026-11-16T07:00:00.250Z";
        check(
            "30 4 * * *",
            "UTC",
            from,
            &["2026-11-17T04:30:00Z", "2026-11-18T04:30:00Z"],
        );
        check("30 4 * * *", "Asia/Tokyo", from, &["2026-11-16T19:30:00Z"]);
        check("@hourly", "UTC", from, &["2026-11-16T08:00:00Z"]);
        check(
            "0 9 * * mon-fri",
            "UTC",
            "2026-11-20T09:00:00Z",
            &["2026-11-23T09:00:00Z"],
        );
        check("0 0 29 2 *", "UTC", from, &["2028-02-29T00:00:00Z"]);
        check("*/20 * * * * *", "UTC", from, &["2026-11-16T07:00:20Z"]);
        // Exactly due is not after.
        check(
            "0 7 * * *",
            "UTC",
            "2026-11-16T07:00:00Z",
            &["2026-11-17T07:00:00Z"],
        );
    }

    #[test]
    fn an_hour_that_comes_twice_or_never_is_due_once() {
        // Clocks went back at 01:00 UTC: 02:30 was there twice.
        check(
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-24T12:00:00Z",
            &["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"],
        );
        // And forward, from 02:00 to 03:00: there is no 02:30.
        let timetable = CronTimetable::read("30 2 * * *", "Europe/Berlin").unwrap();
        let first = timetable.next(ms("2027-03-27T12:00:00Z")).unwrap();
        let second = timetable.next(first).unwrap();
        assert!(first > ms("2027-03-28T00:59:59Z") && first <= ms("2027-03-29T00:30:00Z"));
        assert!(second >= ms("2027-03-29T00:30:00Z"));
    }

    #[test]
    fn an_invalid_cron_expression_or_zone_is_refused_with_a_hint() {
        for (cron, zone, says) in [
            ("", "UTC", "is not a cron expression"),
            ("* * *", "UTC", "is not a cron expression"),
            ("61 * * * *", "UTC", "is not a cron expression"),
            ("every day", "UTC", "is not a cron expression"),
            ("* * * * *", "Mars/Base", "no time zone `Mars/Base`"),
        ] {
            let error = CronTimetable::read(cron, zone).unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
            assert!(matches!(error, Error::Own(fault) if fault.hint.is_some()));
        }
        let never = CronTimetable::read("0 0 30 2 *", "UTC").unwrap();
        assert_eq!(never.next(ms("2026-11-16T07:00:00Z")), None);
    }

    #[test]
    fn of_missed_times_the_latest_is_due() {
        let timetable = CronTimetable::read("0 * * * *", "UTC").unwrap();
        let schedule = |next: &str| Schedule {
            slug: "a".parse().unwrap(),
            workflow: String::new(),
            cron: String::new(),
            time_zone: String::new(),
            input: serde_json::Value::Null,
            is_enabled: true,
            next_ms: Some(ms(next)),
            last: None,
            created_ms: 0,
            policy: store::SchedulePolicy::default(),
        };
        for (next, now, due) in [
            (
                "2026-11-16T07:00:00Z",
                "2026-11-16T07:00:00Z",
                "2026-11-16T07:00:00Z",
            ),
            (
                "2026-11-16T07:00:00Z",
                "2026-11-16T07:59:59Z",
                "2026-11-16T07:00:00Z",
            ),
            (
                "2026-11-13T07:00:00Z",
                "2026-11-16T07:20:00Z",
                "2026-11-16T07:00:00Z",
            ),
            (
                "2026-11-16T07:10:00Z",
                "2026-11-16T07:20:00Z",
                "2026-11-16T07:10:00Z",
            ),
        ] {
            assert_eq!(
                timetable.due(&schedule(next), ms(now)),
                ms(due),
                "{next} {now}"
            );
        }
    }

    #[test]
    fn a_due_time_has_one_name() {
        let slug: Slug = "nightly".parse().unwrap();
        let due = ms("2026-11-16T03:00:00Z");
        assert_eq!(run_id(&slug, due), "nightly-20261116T030000Z");
    }
}
