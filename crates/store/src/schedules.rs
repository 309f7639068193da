//! Schedules as callers see them, whatever engine keeps them: which workflow is started when.
//!
//! What a cron expression means is not known here; whoever does says when the next time is.

use serde_json::Value;

use crate::error::{Error, Kind};
use crate::people::Slug;
use crate::record::Kept;

/// A workflow that is started by the clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// What it is called.
    pub slug: Slug,
    /// The file or the name of the workflow, as seen from the project's folder.
    pub workflow: String,
    /// When, as cron writes it.
    pub cron: String,
    /// Where the clock hangs: a name of the time zone database.
    pub time_zone: String,
    /// What every run is given.
    pub input: Value,
    /// Whether it starts anything.
    pub is_enabled: bool,
    /// When it is due next, in milliseconds since 1970; nothing when it never is.
    pub next_ms: Option<u64>,
    /// What came of the last time.
    pub last: Option<Firing>,
    /// When it was added.
    pub created_ms: u64,
}

/// One time at which a schedule was due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firing {
    /// When it was due.
    pub due_ms: u64,
    /// The run it started, or the sentence that says why there is none.
    pub outcome: std::result::Result<String, String>,
}

/// The port behind which schedules are kept.
pub trait Schedules: Send + Sync {
    /// The time as the database sees it: all processes that share it see the same.
    fn now_ms(&self) -> u64;

    /// Adds a schedule; a slug that is taken is a [`Kind::Conflict`].
    fn add_schedule<'a>(&'a self, schedule: &'a Schedule) -> Kept<'a, ()>;

    /// The schedule of this slug.
    fn schedule<'a>(&'a self, slug: &'a Slug) -> Kept<'a, Option<Schedule>>;

    /// All of them, by slug.
    fn schedules(&self) -> Kept<'_, Vec<Schedule>>;

    /// Forgets a schedule; [`Kind::Missing`] when there is none. Runs it has started stay.
    fn remove_schedule<'a>(&'a self, slug: &'a Slug) -> Kept<'a, ()>;

    /// Switches it on, with the time it is due next, or off.
    fn enable_schedule<'a>(
        &'a self,
        slug: &'a Slug,
        next_ms: Option<u64>,
        on: bool,
    ) -> Kept<'a, ()>;

    /// Those that are switched on and due at this time, the longest due first.
    fn due_schedules(&self, now_ms: u64, max: usize) -> Kept<'_, Vec<Schedule>>;

    /// Notes what came of a time, and when the next one is. Nothing happens when somebody else has
    /// done so: `schedule` says what was seen.
    fn note_firing<'a>(
        &'a self,
        schedule: &'a Schedule,
        firing: &'a Firing,
        next_ms: Option<u64>,
    ) -> Kept<'a, ()>;
}

pub(crate) fn no_schedule(slug: &Slug) -> Error {
    Error::new(Kind::Missing, format!("There is no schedule `{slug}`."))
}

pub(crate) fn schedule_taken(slug: &Slug) -> Error {
    Error::new(
        Kind::Conflict,
        format!("There is a schedule `{slug}` already. Remove it, or choose another name."),
    )
}
