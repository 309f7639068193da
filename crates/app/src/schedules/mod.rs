//! Schedules: workflows that the clock starts, each due time once, however many workers there are.
//!
//! A run that a schedule starts is named by the schedule and the time it was due, so that a second
//! worker that tries to start it is told that it has started. If times passed while no worker ran,
//! the latest one is made up for, or as many as the schedule says.

mod due;
mod timetable;

use std::path::Path;
use std::sync::Arc;

use flow::engine::{RefusalKind, RunStart};
use serde_json::Value;
use store::ScheduleStore;
use workspace::fs;

use crate::people::{explained, opened};
use crate::workflows;
use crate::workflows::database::ProjectDatabase;
use crate::{AppErrorCode, Error, ProcessEnvironment, Project};
use due::OverlapVerdict;

pub use due::CATCH_UP_MAX;
pub use store::{OverlapRule, Schedule, ScheduleFiring, SchedulePolicy, Slug};
pub use timetable::{CronTimetable, written};

/// Number of schedules that are fired at a time.
const DUE_MAX: usize = 100;
/// Limit on the runs of one backfill.
pub const BACKFILL_MAX: usize = 1_000;

/// The schedules of a project, opened.
pub struct ProjectSchedules {
    database: ProjectDatabase,
    schedules: Arc<dyn ScheduleStore>,
}

/// A schedule to add.
#[derive(Clone, Debug)]
pub struct NewSchedule<'a> {
    pub slug: Slug,
    /// The file or the name of a workflow.
    pub workflow: &'a Path,
    pub cron: &'a str,
    pub time_zone: &'a str,
    pub input: Value,
    pub is_enabled: bool,
    pub policy: SchedulePolicy,
}

impl ProjectSchedules {
    /// Opens the database: the one given, or the one that runs are kept in.
    pub async fn open(
        project: &Project,
        surroundings: &ProcessEnvironment,
        database: Option<&str>,
    ) -> Result<Self, Error> {
        Ok(Self::of(opened(project, surroundings, database).await?))
    }

    /// Returns the schedules of an open database.
    pub(crate) fn of(database: ProjectDatabase) -> Self {
        Self {
            schedules: database.schedules(),
            database,
        }
    }

    /// Adds a schedule of a workflow that can run, with its first time in the future.
    pub async fn add(
        &self,
        project: &Project,
        surroundings: &ProcessEnvironment,
        new: NewSchedule<'_>,
    ) -> Result<Schedule, Error> {
        let timetable = CronTimetable::read(new.cron, new.time_zone)?;
        let next_ms = timetable.next(self.schedules.now_ms());
        if next_ms.is_none() {
            let message = format!("`{}` is never due", new.cron);
            let hint = "no date fits the expression: look at the day and the month";
            return Err(Error::new(AppErrorCode::Usage, message).hint(hint));
        }
        let sheet = workflows::read(project, surroundings, new.workflow)?;
        if !sheet.is_fine() {
            return Err(wrong(&sheet.shown));
        }
        let schedule = Schedule {
            slug: new.slug,
            workflow: lasting(project, surroundings, new.workflow)?,
            cron: new.cron.to_owned(),
            time_zone: new.time_zone.to_owned(),
            input: new.input,
            is_enabled: new.is_enabled,
            next_ms,
            last: None,
            created_ms: 0,
            policy: new.policy,
        };
        let added = self.schedules.add_schedule(&schedule).await;
        added.map_err(explained)?;
        self.find(&schedule.slug).await
    }

    /// Finds the schedule of this slug.
    pub async fn find(&self, slug: &Slug) -> Result<Schedule, Error> {
        let found = self.schedules.schedule(slug).await;
        found.map_err(explained)?.ok_or_else(|| missing(slug))
    }

    /// Lists all of them, by slug.
    pub async fn list(&self) -> Result<Vec<Schedule>, Error> {
        let listed = self.schedules.schedules().await;
        listed.map_err(explained)
    }

    /// Forgets a schedule. Runs it has started stay.
    pub async fn remove(&self, slug: &Slug) -> Result<(), Error> {
        self.find(slug).await?;
        let removed = self.schedules.remove_schedule(slug).await;
        removed.map_err(explained)
    }

    /// Switches it on, with its next time in the future, or off.
    pub async fn enable(&self, slug: &Slug, on: bool) -> Result<Schedule, Error> {
        let schedule = self.find(slug).await?;
        let timetable = CronTimetable::read(&schedule.cron, &schedule.time_zone)?;
        let next_ms = timetable.next(self.schedules.now_ms());
        let kept = self.schedules.enable_schedule(slug, next_ms, on);
        kept.await.map_err(explained)?;
        self.find(slug).await
    }

    /// Begins a run for every time between two that has none yet.
    pub async fn backfill(
        &self,
        around: (&Project, &ProcessEnvironment),
        slug: &Slug,
        between: (u64, u64),
    ) -> Result<Vec<FiredSchedule>, Error> {
        let runs = self.database.workflows().await?;
        backfill((&*self.schedules, &*runs), around, slug, between).await
    }

    /// Starts the schedules that are due now.
    pub async fn fire(
        &self,
        project: &Project,
        surroundings: &ProcessEnvironment,
    ) -> Result<Vec<FiredSchedule>, Error> {
        let runs = self.database.workflows().await?;
        let now_ms = self.schedules.now_ms();
        fire_due(&*self.schedules, &*runs, (project, surroundings), now_ms).await
    }
}

/// A schedule that was due, and the result of starting its run.
#[derive(Clone, Debug)]
pub struct FiredSchedule {
    pub slug: Slug,
    pub firing: ScheduleFiring,
    /// True if another worker had started the run before.
    pub was_started: bool,
    /// True if the time began no run, because the named one was still in progress.
    pub is_left_out: bool,
}

/// Starts a run for every schedule that is due, and stores its next due time. May be called by any
/// number of workers at the same time: a due time has one run.
///
/// If a workflow cannot be started, the schedule notes the reason and continues with its next time;
/// only errors of the database are returned.
pub async fn fire_due(
    schedules: &dyn ScheduleStore,
    runs: &dyn flow::WorkflowStore,
    (project, surroundings): (&Project, &ProcessEnvironment),
    now_ms: u64,
) -> Result<Vec<FiredSchedule>, Error> {
    let due = schedules.due_schedules(now_ms, DUE_MAX).await?;
    if due.is_empty() {
        return Ok(Vec::new());
    }
    // The worker may have been started in any folder below the project's.
    let surroundings = ProcessEnvironment {
        cwd: project.folder().to_owned(),
        ..surroundings.clone()
    };
    let mut fired = Vec::new();
    for schedule in due {
        let timetable = match CronTimetable::read(&schedule.cron, &schedule.time_zone) {
            Ok(timetable) => timetable,
            // Another version added it, or a time zone is gone: the schedule stops, and its note
            // says why.
            Err(error) => {
                let outcome = Err(error.to_string());
                let due_ms = schedule.next_ms.unwrap_or(now_ms);
                let one = FiredSchedule::new(&schedule, due_ms, outcome);
                schedules.note_firing(&schedule, &one.firing, None).await?;
                fired.push(one);
                continue;
            }
        };
        let around = (project, &surroundings);
        let begun = fire_times(runs, around, &schedule, (&timetable, now_ms)).await?;
        let Some(FiredTimes {
            fired: all,
            noted,
            next_ms,
        }) = begun
        else {
            continue;
        };
        schedules.note_firing(&schedule, &noted, next_ms).await?;
        fired.extend(all);
    }
    Ok(fired)
}

/// The result of the times of one schedule that were due.
struct FiredTimes {
    fired: Vec<FiredSchedule>,
    /// The last firing, as it is stored.
    noted: ScheduleFiring,
    next_ms: Option<u64>,
}

/// Begins a run for each due time, as far as earlier runs allow it. Returns nothing if it is too
/// early, or if a time waits for the previous run.
async fn fire_times(
    runs: &dyn flow::WorkflowStore,
    around: (&Project, &ProcessEnvironment),
    schedule: &Schedule,
    (timetable, now_ms): (&CronTimetable, u64),
) -> Result<Option<FiredTimes>, Error> {
    let Some(times) = due::times(timetable, schedule, now_ms) else {
        return Ok(None);
    };
    let mut fired: Vec<FiredSchedule> = Vec::new();
    let last = schedule.last.as_ref();
    let mut before = last.and_then(|last| last.outcome.clone().ok());
    let mut next_ms = timetable.next(now_ms);
    for due_ms in times {
        let verdict = due::verdict(runs, schedule.policy.overlap, before.as_deref()).await?;
        let one = match verdict {
            // The run in progress stays the one that the next due time is checked against.
            OverlapVerdict::LeftOut(run) => FiredSchedule {
                is_left_out: true,
                ..FiredSchedule::new(schedule, due_ms, Ok(run))
            },
            OverlapVerdict::Waits => {
                next_ms = Some(due_ms);
                break;
            }
            OverlapVerdict::Begin => fire_one(runs, around, schedule, due_ms).await?,
        };
        before = one.firing.outcome.clone().ok().or(before);
        fired.push(one);
    }
    if fired.is_empty() && next_ms.is_some_and(|next_ms| next_ms <= now_ms) {
        return Ok(None);
    }
    if fired.is_empty() {
        let why = "It was missed for longer than its schedule makes up for.".to_owned();
        let due_ms = schedule.next_ms.unwrap_or(now_ms);
        fired.push(FiredSchedule::new(schedule, due_ms, Err(why)));
    }
    let noted = fired.last().map(|last| last.firing.clone());
    Ok(noted.map(|noted| FiredTimes {
        fired,
        noted,
        next_ms,
    }))
}

async fn fire_one(
    runs: &dyn flow::WorkflowStore,
    around: (&Project, &ProcessEnvironment),
    schedule: &Schedule,
    due_ms: u64,
) -> Result<FiredSchedule, Error> {
    let begun = begin(runs, around, schedule, due_ms).await?;
    let was_started = matches!(begun, StartOutcome::Before(_));
    let outcome = match begun {
        StartOutcome::Now(run) | StartOutcome::Before(run) => Ok(run),
        StartOutcome::Not(why) => Err(why),
    };
    Ok(FiredSchedule {
        was_started,
        ..FiredSchedule::new(schedule, due_ms, outcome)
    })
}

/// Says what a workflow's own schedule has come to.
pub(crate) struct DeclaredFiring {
    pub(crate) run: Option<String>,
    pub(crate) next_ms: Option<u64>,
}

/// Does the same for a schedule that a workflow declares itself. `None` if nothing was due.
pub(crate) async fn fire_declared(
    runs: &dyn flow::WorkflowStore,
    around: (&Project, &ProcessEnvironment),
    schedule: &Schedule,
    times: (&CronTimetable, u64),
) -> Result<Option<DeclaredFiring>, Error> {
    let fired = fire_times(runs, around, schedule, times).await?;
    let before = schedule.last.as_ref();
    let before = before.and_then(|last| last.outcome.clone().ok());
    Ok(fired.map(|fired| DeclaredFiring {
        run: fired.noted.outcome.ok().or(before),
        next_ms: fired.next_ms,
    }))
}

/// Begins a run for every time of a schedule between two, both included, that has none yet.
///
/// # Errors
///
/// When there is no such schedule, when there are more than [`BACKFILL_MAX`] times, or what the database
/// says.
pub async fn backfill(
    (schedules, runs): (&dyn ScheduleStore, &dyn flow::WorkflowStore),
    (project, surroundings): (&Project, &ProcessEnvironment),
    slug: &Slug,
    (from_ms, to_ms): (u64, u64),
) -> Result<Vec<FiredSchedule>, Error> {
    let schedule = schedules.schedule(slug).await.map_err(explained)?;
    let schedule = schedule.ok_or_else(|| missing(slug))?;
    let times = CronTimetable::read(&schedule.cron, &schedule.time_zone)?.between(from_ms, to_ms);
    if times.len() > BACKFILL_MAX {
        let message = format!(
            "`{slug}` has {} times between them, more than BACKFILL_MAX = {BACKFILL_MAX}",
            times.len()
        );
        return Err(
            Error::new(AppErrorCode::Limit, message).hint("backfill a shorter time at once")
        );
    }
    let surroundings = ProcessEnvironment {
        cwd: project.folder().to_owned(),
        ..surroundings.clone()
    };
    let mut fired = Vec::new();
    for due_ms in times {
        fired.push(fire_one(runs, (project, &surroundings), &schedule, due_ms).await?);
    }
    Ok(fired)
}

impl FiredSchedule {
    fn new(schedule: &Schedule, due_ms: u64, outcome: std::result::Result<String, String>) -> Self {
        Self {
            slug: schedule.slug.clone(),
            firing: ScheduleFiring { due_ms, outcome },
            was_started: false,
            is_left_out: false,
        }
    }
}

/// Result of starting a run.
enum StartOutcome {
    Now(String),
    Before(String),
    Not(String),
}

async fn begin(
    runs: &dyn flow::WorkflowStore,
    (project, surroundings): (&Project, &ProcessEnvironment),
    schedule: &Schedule,
    due_ms: u64,
) -> Result<StartOutcome, Error> {
    let sheet = match workflows::read(project, surroundings, Path::new(&schedule.workflow)) {
        Ok(sheet) if sheet.is_fine() => sheet,
        Ok(sheet) => return Ok(StartOutcome::Not(wrong(&sheet.shown).to_string())),
        Err(error) => return Ok(StartOutcome::Not(error.to_string())),
    };
    let run = timetable::run_id(&schedule.slug, due_ms);
    let hash = runs.keep_workflow(&sheet.source).await?;
    let start = RunStart {
        tags: vec![format!("schedule:{}", schedule.slug)],
        name: Some(sheet.title().to_owned()),
        ..RunStart::new(run.as_str(), schedule.input.clone())
    };
    Ok(match runs.start(&hash, start).await? {
        Ok(_) => StartOutcome::Now(run),
        Err(refusal) if refusal.kind == RefusalKind::AlreadyStarted => StartOutcome::Before(run),
        Err(refusal) => StartOutcome::Not(refusal.message),
    })
}

/// Returns the path of the workflow from the project's folder, wherever the command was started.
fn lasting(
    project: &Project,
    surroundings: &ProcessEnvironment,
    given: &Path,
) -> Result<String, Error> {
    let path = surroundings.path(given);
    if !fs::exists(&path) {
        return Ok(given.display().to_string());
    }
    let (path, folder) = (fs::canonical(&path)?, fs::canonical(project.folder())?);
    match path.strip_prefix(&folder) {
        Ok(inside) => Ok(inside.display().to_string()),
        Err(_) => {
            let message = format!("{} is not in the project", given.display());
            let hint = format!("put it below {}", project.folder().display());
            Err(Error::new(AppErrorCode::Usage, message).hint(hint))
        }
    }
}

fn wrong(shown: &str) -> Error {
    let message = format!("the workflow {shown} cannot be run as it is");
    Error::new(AppErrorCode::Data, message)
        .hint(format!("`drawloom workflow check {shown}` says why"))
}

fn missing(slug: &Slug) -> Error {
    Error::new(
        AppErrorCode::NotFound,
        format!("there is no schedule `{slug}`"),
    )
    .hint("`drawloom schedules list` lists them")
}
