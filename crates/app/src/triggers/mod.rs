//! Triggers that workflows declare themselves (`%% @trigger:`): the clock, files that change, and the
//! end of another workflow's run.
//!
//! The workflows of `.drawloom/workflows` are read by the process that has the duty of schedules. What a
//! trigger has seen is kept in the database, and the name of a run is made from what caused it, so that
//! each cause has one run, however many processes look and whenever one dies. A call from outside (a
//! webhook of the server) is one more cause: it calls `start_triggered` with a name of its own.

mod ending;
mod files;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use flow::engine::{RefusalKind, RunStart};
use flow::{ClockCause, RunId, TriggerCause, WorkflowStore, WorkflowTrigger};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use store::{OverlapRule, SchedulePolicy, Slug, TriggerMemory};

use crate::people::explained;
use crate::schedules::{CronTimetable, Schedule, fire_declared};
use crate::workflows::{self, LoadedWorkflow};
use crate::{AppErrorCode, Error, ProcessEnvironment, Project, trust};

pub(crate) use ending::EndReader;

/// Interval between two readings of the workflows.
const READ: Duration = Duration::from_secs(2);
/// Length of a chain of runs that triggered each other, at which no further one is started.
pub const TRIGGER_DEPTH_MAX: u32 = 20;
/// The tag that counts them.
pub(crate) const DEPTH_TAG: &str = "trigger-depth:";

/// A trigger and the workflow that declares it.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredTrigger {
    /// The name of the workflow's file.
    pub(crate) workflow: String,
    /// Number of the trigger in its workflow, from 1.
    pub(crate) number: usize,
    pub(crate) trigger: WorkflowTrigger,
}

impl DeclaredTrigger {
    /// Returns the name under which the database stores what the trigger has seen.
    fn name(&self) -> String {
        let cause = match &self.trigger.cause {
            TriggerCause::Clock(_) => "clock",
            TriggerCause::Files(_) => "files",
            TriggerCause::After { .. } => "after",
        };
        format!("{cause}:{}#{}", self.workflow, self.number)
    }
}

/// The triggers of the project's workflows, read anew from time to time.
#[derive(Default)]
pub(crate) struct DeclaredTriggers(Mutex<Option<(Instant, Vec<DeclaredTrigger>)>>);

impl DeclaredTriggers {
    /// Lists every trigger that is not paused. Workflows that cannot run have none.
    pub(crate) fn all(&self, project: &Project) -> Vec<DeclaredTrigger> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((read, declared)) = &*known
            && read.elapsed() < READ
        {
            return declared.clone();
        }
        let sheets = workflows::all(project).unwrap_or_default();
        let fine = sheets.iter().filter(|sheet| sheet.is_fine());
        let declared: Vec<DeclaredTrigger> = fine.flat_map(declared_by).collect();
        *known = Some((Instant::now(), declared.clone()));
        declared
    }
}

fn declared_by(sheet: &LoadedWorkflow) -> Vec<DeclaredTrigger> {
    let triggers = sheet
        .workflow
        .iter()
        .flat_map(|workflow| workflow.triggers());
    let numbered = triggers.enumerate();
    let heeded = numbered.filter(|(_, trigger)| !trigger.is_paused);
    heeded
        .map(|(at, trigger)| DeclaredTrigger {
            workflow: sheet.name.clone(),
            number: at + 1,
            trigger: trigger.clone(),
        })
        .collect()
}

/// Starts what the clock and changed files cause. What fails is tried again at the next look.
pub(crate) async fn tend(
    declared: &[DeclaredTrigger],
    (seen, runs): (&dyn TriggerMemory, &dyn WorkflowStore),
    around: (&Project, &ProcessEnvironment),
    now_ms: u64,
) {
    for one in declared {
        let _ = match &one.trigger.cause {
            TriggerCause::Clock(clock) => {
                tend_clock((one, clock), (seen, runs), around, now_ms).await
            }
            TriggerCause::Files(patterns) => {
                files::tend((one, patterns), (seen, runs), around.0, now_ms).await
            }
            TriggerCause::After { .. } => Ok(()),
        };
    }
}

async fn tend_clock(
    (declared, clock): (&DeclaredTrigger, &ClockCause),
    (seen, runs): (&dyn TriggerMemory, &dyn WorkflowStore),
    around: (&Project, &ProcessEnvironment),
    now_ms: u64,
) -> Result<(), Error> {
    let zone = clock.time_zone.as_deref().unwrap_or("UTC");
    let timetable = CronTimetable::read(&clock.cron, zone)?;
    let name = declared.name();
    let before = seen.seen(&name).await.map_err(explained)?;
    let Some(text) = &before else {
        // Times before the trigger was there begin no run.
        let first = json!({ "next": timetable.next(now_ms) }).to_string();
        let noted = seen.note_seen(&name, None, &first).await;
        noted.map_err(explained)?;
        return Ok(());
    };
    let state: Value = serde_json::from_str(text).unwrap_or_default();
    let schedule = Schedule {
        slug: slug_of(declared)?,
        workflow: declared.workflow.clone(),
        cron: clock.cron.clone(),
        time_zone: zone.to_owned(),
        input: input_of(&declared.trigger, Value::Null),
        is_enabled: true,
        next_ms: state
            .get("next")
            .and_then(Value::as_u64)
            .or_else(|| timetable.next(now_ms)),
        last: state
            .get("run")
            .and_then(Value::as_str)
            .map(|run| store::ScheduleFiring {
                due_ms: 0,
                outcome: Ok(run.to_owned()),
            }),
        created_ms: 0,
        policy: policy(clock)?,
    };
    if schedule.next_ms.is_none_or(|next_ms| next_ms > now_ms) {
        return Ok(());
    }
    let Some(fired) = fire_declared(runs, around, &schedule, (&timetable, now_ms)).await? else {
        return Ok(());
    };
    let now = json!({ "next": fired.next_ms, "run": fired.run }).to_string();
    let noted = seen.note_seen(&name, before.as_deref(), &now).await;
    noted.map_err(explained)?;
    Ok(())
}

/// Says what a clock trigger says about times that do not fit.
pub(crate) fn policy(clock: &ClockCause) -> Result<SchedulePolicy, Error> {
    let overlap = match clock.overlap.as_deref() {
        None | Some("skip") => OverlapRule::Skip,
        Some("allow") => OverlapRule::Allow,
        Some("queue") => OverlapRule::Queue,
        Some("cancel") => OverlapRule::Cancel,
        Some(other) => {
            let message = format!("`overlap` is `{other}`, and not skip, queue, cancel or allow");
            return Err(Error::new(AppErrorCode::Data, message));
        }
    };
    Ok(SchedulePolicy {
        overlap,
        catch_up_ms: clock.catch_up.map(|span| span.ms),
        jitter_ms: clock.jitter.map_or(0, |span| span.ms),
    })
}

/// Returns the problem of a trigger, as far as it can be known before an event.
pub(crate) fn problem(project: &Project, trigger: &WorkflowTrigger) -> Option<String> {
    match &trigger.cause {
        TriggerCause::Clock(clock) => {
            let zone = clock.time_zone.as_deref().unwrap_or("UTC");
            let read = CronTimetable::read(&clock.cron, zone).err();
            read.or_else(|| policy(clock).err())
                .map(|error| error.to_string())
        }
        TriggerCause::Files(patterns) => {
            let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
            let nowhere = workspace::RelPath::parse(".drawloom/nowhere").ok()?;
            let looked = project.root.glob(&nowhere, &patterns);
            looked.err().map(|error| error.to_string())
        }
        TriggerCause::After { .. } => None,
    }
}

/// Returns the prefix of the names of the trigger's runs.
fn slug_of(declared: &DeclaredTrigger) -> Result<Slug, Error> {
    let plain: String = declared
        .workflow
        .to_lowercase()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric())
        .take(24)
        .collect();
    let slug = format!("t{plain}-{}", digest(&declared.name()));
    slug.parse().map_err(explained)
}

/// Returns eight bytes of a hash, in hexadecimal.
fn digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Says what a run is given: what the trigger says, and what caused it.
fn input_of(trigger: &WorkflowTrigger, cause: Value) -> Value {
    let mut input = match &trigger.input {
        Value::Object(fields) => fields.clone(),
        _ => Map::new(),
    };
    if !cause.is_null() {
        input.insert("trigger".to_owned(), cause);
    }
    Value::Object(input)
}

/// Starts the run of one cause: the same cause has the same run.
pub(crate) async fn start_triggered(
    (project, runs): (&Project, &dyn WorkflowStore),
    declared: &DeclaredTrigger,
    (cause_id, cause): (&str, Value),
    depth: u32,
) -> Result<(), Error> {
    if depth >= TRIGGER_DEPTH_MAX {
        let message = format!(
            "workflows have triggered each other TRIGGER_DEPTH_MAX = {TRIGGER_DEPTH_MAX} times"
        );
        return Err(
            Error::new(AppErrorCode::Limit, message).hint("look for triggers that go in a circle")
        );
    }
    let name = declared.workflow.as_str();
    let Some(text) = workflows::text_of(project, name)? else {
        let message = format!("there is no workflow `{name}` any more");
        return Err(Error::new(AppErrorCode::NotFound, message));
    };
    let sheet = workflows::read_text(project, (name, name), text);
    trust::require_workflow(project, &sheet)?;
    let run = format!("{}-{}", slug_of(declared)?, digest(cause_id));
    let hash = runs.keep_workflow(&sheet.source).await?;
    let start = RunStart {
        tags: vec![
            format!("trigger:{}", declared.workflow),
            format!("{DEPTH_TAG}{}", depth + 1),
        ],
        name: Some(sheet.title().to_owned()),
        ..RunStart::new(RunId::new(run.as_str()), input_of(&declared.trigger, cause))
    };
    match runs.start(&hash, start).await? {
        Ok(_) => Ok(()),
        Err(refusal) if refusal.kind == RefusalKind::AlreadyStarted => Ok(()),
        Err(refusal) => Err(Error::new(AppErrorCode::Data, refusal.message)),
    }
}
