//! Schedules: workflows that the clock starts, each due time once, however many workers there are.
//!
//! A run that a schedule starts is named by the schedule and the time it was due, so that whoever
//! comes second is told that it has started. Times that passed while nobody looked are not made up
//! for, except for the latest one.

mod timetable;

use std::path::Path;
use std::sync::Arc;

use flow::engine::{RefusalKind, Start};
use serde_json::Value;
use store::Schedules;
use tokio::runtime::Runtime;
use workspace::fs;

use crate::people::{explained, opened};
use crate::workflows;
use crate::workflows::database::Database;
use crate::{Code, Error, Project, Surroundings};

pub use store::{Firing, Schedule, Slug};
pub use timetable::{Timetable, written};

/// How many schedules are fired at a time.
const DUE_MAX: usize = 100;

/// The schedules of a project, opened.
pub struct Calendar {
    runtime: Runtime,
    database: Database,
    schedules: Arc<dyn Schedules>,
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
}

impl Calendar {
    /// Opens the database: the one given, or the one that runs are kept in.
    pub fn open(
        project: &Project,
        surroundings: &Surroundings,
        database: Option<&str>,
    ) -> Result<Self, Error> {
        let (runtime, database) = opened(project, surroundings, database)?;
        Ok(Self {
            runtime,
            schedules: database.schedules(),
            database,
        })
    }

    /// Adds a schedule of a workflow that can run, with its first time in the future.
    pub fn add(
        &self,
        project: &Project,
        surroundings: &Surroundings,
        new: NewSchedule<'_>,
    ) -> Result<Schedule, Error> {
        let timetable = Timetable::read(new.cron, new.time_zone)?;
        let next_ms = timetable.next(self.schedules.now_ms());
        if next_ms.is_none() {
            let message = format!("`{}` is never due", new.cron);
            return Err(Error::new(Code::Usage, message).hint("no day is like that"));
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
        };
        let added = self
            .runtime
            .block_on(self.schedules.add_schedule(&schedule));
        added.map_err(explained)?;
        self.find(&schedule.slug)
    }

    /// The schedule of this slug.
    pub fn find(&self, slug: &Slug) -> Result<Schedule, Error> {
        let found = self.runtime.block_on(self.schedules.schedule(slug));
        found.map_err(explained)?.ok_or_else(|| missing(slug))
    }

    /// All of them, by slug.
    pub fn list(&self) -> Result<Vec<Schedule>, Error> {
        let listed = self.runtime.block_on(self.schedules.schedules());
        listed.map_err(explained)
    }

    /// Forgets a schedule. Runs it has started stay.
    pub fn remove(&self, slug: &Slug) -> Result<(), Error> {
        self.find(slug)?;
        let removed = self.runtime.block_on(self.schedules.remove_schedule(slug));
        removed.map_err(explained)
    }

    /// Switches it on, with its next time in the future, or off.
    pub fn enable(&self, slug: &Slug, on: bool) -> Result<Schedule, Error> {
        let schedule = self.find(slug)?;
        let timetable = Timetable::read(&schedule.cron, &schedule.time_zone)?;
        let next_ms = timetable.next(self.schedules.now_ms());
        let kept = self.schedules.enable_schedule(slug, next_ms, on);
        self.runtime.block_on(kept).map_err(explained)?;
        self.find(slug)
    }

    /// Starts what is due now.
    pub fn fire(
        &self,
        project: &Project,
        surroundings: &Surroundings,
    ) -> Result<Vec<Fired>, Error> {
        self.runtime.block_on(async {
            let runs = self.database.workflows().await?;
            let now_ms = self.schedules.now_ms();
            fire_due(&*self.schedules, &*runs, (project, surroundings), now_ms).await
        })
    }
}

/// A schedule that was due, and what came of it.
#[derive(Clone, Debug)]
pub struct Fired {
    pub slug: Slug,
    pub firing: Firing,
    /// Whether somebody else had started the run before.
    pub was_started: bool,
}

/// Starts a run for every schedule that is due, and says when each is due next. May be called by
/// any number of workers at the same time: a due time has one run.
///
/// A workflow that cannot be started is noted with the schedule, which goes on to its next time;
/// an error is only what the database says.
pub async fn fire_due(
    schedules: &dyn Schedules,
    runs: &dyn flow::Store,
    (project, surroundings): (&Project, &Surroundings),
    now_ms: u64,
) -> Result<Vec<Fired>, Error> {
    let due = schedules.due_schedules(now_ms, DUE_MAX).await?;
    if due.is_empty() {
        return Ok(Vec::new());
    }
    // Whoever works may have been started in any folder below.
    let surroundings = Surroundings {
        cwd: project.folder().to_owned(),
        ..surroundings.clone()
    };
    let mut fired = Vec::new();
    for schedule in due {
        let (due_ms, next_ms) = match Timetable::read(&schedule.cron, &schedule.time_zone) {
            Ok(timetable) => (timetable.due(&schedule, now_ms), timetable.next(now_ms)),
            // Another version added it, or a time zone is gone: it stands still, and says so.
            Err(error) => {
                let outcome = Err(error.to_string());
                let due_ms = schedule.next_ms.unwrap_or(now_ms);
                let firing = Firing { due_ms, outcome };
                schedules.note_firing(&schedule, &firing, None).await?;
                fired.push(Fired::new(schedule, firing));
                continue;
            }
        };
        let begun = begin(runs, (project, &surroundings), &schedule, due_ms).await?;
        let was_started = matches!(begun, Begun::Before(_));
        let outcome = match begun {
            Begun::Now(run) | Begun::Before(run) => Ok(run),
            Begun::Not(why) => Err(why),
        };
        let firing = Firing { due_ms, outcome };
        schedules.note_firing(&schedule, &firing, next_ms).await?;
        fired.push(Fired {
            was_started,
            ..Fired::new(schedule, firing)
        });
    }
    Ok(fired)
}

impl Fired {
    fn new(schedule: Schedule, firing: Firing) -> Self {
        Self {
            slug: schedule.slug,
            firing,
            was_started: false,
        }
    }
}

/// What came of a start.
enum Begun {
    Now(String),
    Before(String),
    Not(String),
}

async fn begin(
    runs: &dyn flow::Store,
    (project, surroundings): (&Project, &Surroundings),
    schedule: &Schedule,
    due_ms: u64,
) -> Result<Begun, Error> {
    let sheet = match workflows::read(project, surroundings, Path::new(&schedule.workflow)) {
        Ok(sheet) if sheet.is_fine() => sheet,
        Ok(sheet) => return Ok(Begun::Not(wrong(&sheet.shown).to_string())),
        Err(error) => return Ok(Begun::Not(error.to_string())),
    };
    let run = timetable::run_id(&schedule.slug, due_ms);
    let hash = runs.keep_workflow(&sheet.source).await?;
    let start = Start {
        tags: vec![format!("schedule:{}", schedule.slug)],
        name: Some(sheet.title().to_owned()),
        ..Start::new(run.as_str(), schedule.input.clone())
    };
    Ok(match runs.start(&hash, start).await? {
        Ok(_) => Begun::Now(run),
        Err(refusal) if refusal.kind == RefusalKind::AlreadyStarted => Begun::Before(run),
        Err(refusal) => Begun::Not(refusal.message),
    })
}

/// How the workflow is called from the project's folder, wherever the command was started.
fn lasting(project: &Project, surroundings: &Surroundings, given: &Path) -> Result<String, Error> {
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
            Err(Error::new(Code::Usage, message).hint(hint))
        }
    }
}

fn wrong(shown: &str) -> Error {
    let message = format!("the workflow {shown} cannot be run as it is");
    Error::new(Code::Data, message).hint(format!("`drawloom workflow check {shown}` says why"))
}

fn missing(slug: &Slug) -> Error {
    Error::new(Code::NotFound, format!("there is no schedule `{slug}`"))
        .hint("`drawloom schedules list` lists them")
}
