//! Decides which times of a schedule begin a run now, with the rules for missed and overlapping
//! ones.

use flow::engine::EngineCommand;
use flow::{RunId, WorkflowStore};
use sha2::{Digest as _, Sha256};
use store::{OverlapRule, Schedule, SchedulePolicy};

use super::timetable::CronTimetable;
use crate::Error;

/// Limit on the missed times of one schedule that are made up for at a time, the latest ones.
pub const CATCH_UP_MAX: usize = 100;

/// Returns the times for which a run begins now, the first one first; `None` while it is too early.
pub(super) fn times(
    timetable: &CronTimetable,
    schedule: &Schedule,
    now_ms: u64,
) -> Option<Vec<u64>> {
    let first_ms = schedule.next_ms.unwrap_or(now_ms);
    if now_ms < first_ms.saturating_add(jitter_ms(schedule, first_ms)) {
        return None;
    }
    let latest = timetable.due(schedule, now_ms);
    let Some(late_ms) = schedule.policy.catch_up_ms else {
        return Some(vec![latest]);
    };
    let from = first_ms.max(now_ms.saturating_sub(late_ms));
    let mut times = timetable.between(from, now_ms);
    if latest >= from && !times.contains(&latest) {
        times.push(latest);
    }
    let over = times.len().saturating_sub(CATCH_UP_MAX);
    Some(times.split_off(over))
}

/// Returns the delay of a due time: always the same for the same time.
fn jitter_ms(schedule: &Schedule, due_ms: u64) -> u64 {
    let SchedulePolicy { jitter_ms, .. } = schedule.policy;
    if jitter_ms == 0 {
        return 0;
    }
    let digest = Sha256::digest(format!("{}@{due_ms}", schedule.slug).as_bytes());
    let chance = digest
        .iter()
        .take(6)
        .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    chance % (jitter_ms + 1)
}

/// Decides if a due time begins a run while an earlier run of the schedule may be in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OverlapVerdict {
    Begin,
    /// It is left out because of this run.
    LeftOut(String),
    /// It waits for this run.
    Waits,
}

/// Checks if the previous run has ended, and cancels it if the schedule says so.
pub(super) async fn verdict(
    runs: &dyn WorkflowStore,
    overlap: OverlapRule,
    before: Option<&str>,
) -> Result<OverlapVerdict, Error> {
    let Some(before) = before.filter(|_| overlap != OverlapRule::Allow) else {
        return Ok(OverlapVerdict::Begin);
    };
    let run = RunId::new(before);
    let row = runs.run(&run).await?;
    if row.is_none_or(|row| row.status.is_terminal()) {
        return Ok(OverlapVerdict::Begin);
    }
    Ok(match overlap {
        OverlapRule::Allow => OverlapVerdict::Begin,
        OverlapRule::Skip => OverlapVerdict::LeftOut(before.to_owned()),
        OverlapRule::Queue => OverlapVerdict::Waits,
        OverlapRule::Cancel => {
            let reason = "Its schedule begins the next run.".to_owned();
            // Refused means that it has ended by itself.
            let _ = runs.execute(EngineCommand::Cancel { run, reason }).await?;
            OverlapVerdict::Begin
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MINUTE: u64 = 60_000;

    /// A schedule of every minute that was due first at minute 10.
    fn schedule(policy: SchedulePolicy) -> Schedule {
        Schedule {
            slug: "s".parse().unwrap(),
            workflow: "w".to_owned(),
            cron: "* * * * *".to_owned(),
            time_zone: "UTC".to_owned(),
            input: json!({}),
            is_enabled: true,
            next_ms: Some(10 * MINUTE),
            last: None,
            created_ms: 0,
            policy,
        }
    }

    #[track_caller]
    fn check(policy: SchedulePolicy, now: u64, expected: Option<&[u64]>) {
        let timetable = CronTimetable::read("* * * * *", "UTC").unwrap();
        let times = times(&timetable, &schedule(policy), now);
        let times = times.map(|times| times.iter().map(|ms| ms / MINUTE).collect::<Vec<_>>());
        assert_eq!(times.as_deref(), expected, "at {now}");
    }

    #[test]
    fn of_missed_times_the_latest_is_made_up_for_or_as_many_as_the_schedule_says() {
        let catch_up = |ms| SchedulePolicy {
            catch_up_ms: Some(ms),
            ..SchedulePolicy::default()
        };
        check(SchedulePolicy::default(), 13 * MINUTE, Some(&[13]));
        check(
            catch_up(60 * MINUTE),
            13 * MINUTE + 1,
            Some(&[10, 11, 12, 13]),
        );
        check(catch_up(2 * MINUTE), 13 * MINUTE, Some(&[11, 12, 13]));
        check(catch_up(0), 13 * MINUTE + 1, Some(&[]));
        let all = (CATCH_UP_MAX as u64 * 3) * MINUTE;
        let timetable = CronTimetable::read("* * * * *", "UTC").unwrap();
        let many = times(&timetable, &schedule(catch_up(all)), all).unwrap();
        assert_eq!(many.len(), CATCH_UP_MAX);
        assert_eq!(many.last(), Some(&all));
    }

    #[test]
    fn a_time_is_put_off_by_chance_and_always_by_the_same() {
        let policy = SchedulePolicy {
            jitter_ms: 1_000,
            ..SchedulePolicy::default()
        };
        let by = jitter_ms(&schedule(policy), 10 * MINUTE);
        assert!(by <= 1_000);
        assert_eq!(by, jitter_ms(&schedule(policy), 10 * MINUTE));
        check(policy, 10 * MINUTE + by, Some(&[10]));
        if by > 0 {
            check(policy, 10 * MINUTE + by - 1, None);
        }
    }
}
