//! Schedules as callers see them, whatever engine stores them: which workflow starts when.
//!
//! This crate does not interpret cron expressions; the caller computes the next time.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{DatabaseErrorKind, Error};
use crate::record::DatabaseFuture;
use crate::users::Slug;

/// A workflow that the clock starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The name of the schedule.
    pub slug: Slug,
    /// The workflow's file or name, relative to the project's folder.
    pub workflow: String,
    /// The cron expression.
    pub cron: String,
    /// The time zone of the cron expression, by its name in the time zone database.
    pub time_zone: String,
    /// The input of every run.
    pub input: Value,
    /// Says that the schedule is switched on.
    pub is_enabled: bool,
    /// The next time it is due, in milliseconds since 1970; `None` if it never is.
    pub next_ms: Option<u64>,
    /// The last time it was due, and the run that it started.
    pub last: Option<ScheduleFiring>,
    /// The time of creation, in milliseconds since 1970.
    pub created_ms: u64,
    /// The rules for times that do not fit.
    pub policy: SchedulePolicy,
}

/// The rules for times of a schedule that do not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SchedulePolicy {
    /// The rule while the previous run is in progress.
    pub overlap: OverlapRule,
    /// Limits how late a missed time is still made up for, in milliseconds; `None` makes up for the
    /// latest one only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catch_up_ms: Option<u64>,
    /// Limits the random delay of every time, in milliseconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub jitter_ms: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands in a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The rule for a time while the previous run is in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverlapRule {
    /// Both run.
    #[default]
    Allow,
    /// The time is skipped.
    Skip,
    /// The run begins when the previous one has ended; of several such times only the latest
    /// counts.
    Queue,
    /// The previous run is cancelled.
    Cancel,
}

/// One time at which a schedule was due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleFiring {
    /// The time it was due.
    pub due_ms: u64,
    /// The run it started, or a sentence that says why it started no run.
    pub outcome: std::result::Result<String, String>,
}

/// The port to the schedules.
pub trait ScheduleStore: Send + Sync {
    /// Returns the database's time, the same for all processes that share it.
    fn now_ms(&self) -> u64;

    /// Adds a schedule; a slug that is taken is a [`DatabaseErrorKind::Conflict`].
    fn add_schedule<'a>(&'a self, schedule: &'a Schedule) -> DatabaseFuture<'a, ()>;

    /// Returns the schedule with this slug.
    fn schedule<'a>(&'a self, slug: &'a Slug) -> DatabaseFuture<'a, Option<Schedule>>;

    /// Lists all schedules by slug.
    fn schedules(&self) -> DatabaseFuture<'_, Vec<Schedule>>;

    /// Deletes a schedule; [`DatabaseErrorKind::Missing`] if it does not exist. Runs it has started stay.
    fn remove_schedule<'a>(&'a self, slug: &'a Slug) -> DatabaseFuture<'a, ()>;

    /// Switches a schedule on, with its next time, or off.
    fn enable_schedule<'a>(
        &'a self,
        slug: &'a Slug,
        next_ms: Option<u64>,
        on: bool,
    ) -> DatabaseFuture<'a, ()>;

    /// Returns the schedules that are switched on and due at this time, the longest due first.
    fn due_schedules(&self, now_ms: u64, max: usize) -> DatabaseFuture<'_, Vec<Schedule>>;

    /// Stores the outcome of a due time, and the next one. Changes nothing if another process has
    /// done so already: `schedule` is the state that the caller has seen.
    fn note_firing<'a>(
        &'a self,
        schedule: &'a Schedule,
        firing: &'a ScheduleFiring,
        next_ms: Option<u64>,
    ) -> DatabaseFuture<'a, ()>;
}

pub(crate) fn no_schedule(slug: &Slug) -> Error {
    Error::new(
        DatabaseErrorKind::Missing,
        format!("There is no schedule `{slug}`."),
    )
}

pub(crate) fn schedule_taken(slug: &Slug) -> Error {
    Error::new(
        DatabaseErrorKind::Conflict,
        format!("There is a schedule `{slug}` already. Remove it, or choose another name."),
    )
}
