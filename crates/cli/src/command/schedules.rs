//! `drawloom schedules`: workflows that the clock starts.

use std::path::PathBuf;

use app::schedules::{
    CronTimetable, FiredSchedule, NewSchedule, OverlapRule, Schedule, SchedulePolicy, Slug,
};
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::stored_records::{DatabaseJsonArgs, PrintedList};
use super::workflow::input_value;
use crate::agent_progress::shown;
use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;

/// Start workflows at set times
///
/// Each due time starts one run, however many workers there are. The run uses the workflow's text
/// at that time. Of the times missed while no worker ran, only the latest is started late, or all
/// within `--catch-up`.
#[derive(Debug, Subcommand)]
pub(crate) enum SchedulesCommand {
    Add(SchedulesAddArgs),
    List(SchedulesListArgs),
    Remove(SchedulesRemoveArgs),
    Enable(SchedulesEnableArgs),
    Disable(SchedulesDisableArgs),
    Fire(SchedulesFireArgs),
    #[command(name = "backfill")]
    BackfillSchedule(SchedulesBackfillArgs),
}

/// Add a schedule that starts a workflow
///
/// The expression has five fields (minute, hour, day of the month, month, weekday), six with seconds in
/// front, or is a word such as @daily.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom schedules add nightly review.mmd --cron \"30 3 * * *\" --time-zone Europe/Berlin
  drawloom schedules add weekly report --cron \"0 9 * * mon\" depth=3")]
pub(crate) struct SchedulesAddArgs {
    /// Its name: small letters, digits and `-`
    slug: Slug,
    /// The workflow's file or its name
    workflow: PathBuf,
    /// Input values as NAME=VALUE; a VALUE may be JSON
    values: Vec<String>,
    /// The times, as a cron expression
    #[arg(long, value_name = "EXPRESSION")]
    cron: String,
    /// The time zone, such as Europe/Berlin
    #[arg(long, value_name = "NAME", default_value = "UTC")]
    time_zone: String,
    /// The input of every run: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// Add it disabled
    #[arg(long)]
    disabled: bool,
    /// Policy while the previous run is still running: start both, skip, wait, or cancel the
    /// previous run
    #[arg(long, value_name = "RULE", default_value = "allow",
          value_parser = ["allow", "skip", "queue", "cancel"])]
    overlap: String,
    /// Start missed times up to this late, such as 6h; only the latest one by default
    #[arg(long, value_name = "TIME", value_parser = span_ms)]
    catch_up: Option<u64>,
    /// Delay each start by a random time up to this, such as 5m
    #[arg(long, value_name = "TIME", value_parser = span_ms)]
    jitter: Option<u64>,
    #[command(flatten)]
    records: DatabaseJsonArgs,
}

/// List the schedules of this project, with the next time and the last outcome of each
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom schedules list
  drawloom schedules list --json | jq '.schedules[] | {slug, next}'")]
pub(crate) struct SchedulesListArgs {
    #[command(flatten)]
    records: DatabaseJsonArgs,
}

/// Remove a schedule; runs it has started stay
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom schedules remove nightly")]
pub(crate) struct SchedulesRemoveArgs {
    /// The schedule's name
    slug: Slug,
    #[command(flatten)]
    records: DatabaseJsonArgs,
}

/// Enable a schedule
///
/// The next run starts at the first time from now on; times missed while it was disabled are
/// skipped.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom schedules enable nightly")]
pub(crate) struct SchedulesEnableArgs {
    #[command(flatten)]
    which: ScheduleSlugArgs,
}

/// Disable a schedule, until it is enabled again
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom schedules disable nightly")]
pub(crate) struct SchedulesDisableArgs {
    #[command(flatten)]
    which: ScheduleSlugArgs,
}

/// Start the runs that are due now, once
///
/// For use with another scheduler, such as cron. It starts the runs and does not work on them.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom schedules fire && drawloom worker")]
pub(crate) struct SchedulesFireArgs {
    #[command(flatten)]
    records: DatabaseJsonArgs,
}

/// Start the runs of a schedule for times that have passed
///
/// Each time in the range gets one run, named as the schedule would have named it; runs that exist
/// are not started again.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom schedules backfill nightly --from 2026-11-01 --to 2026-11-10
  drawloom schedules backfill hourly --from 2026-11-01T00:00:00Z --to 2026-11-01T12:00:00Z --dry-run")]
pub(crate) struct SchedulesBackfillArgs {
    /// The schedule's name
    slug: Slug,
    /// Start of the range: a date (its first moment in UTC) or a time
    #[arg(long, value_name = "TIME", value_parser = moment_ms)]
    from: u64,
    /// End of the range, inclusive
    #[arg(long, value_name = "TIME", value_parser = moment_ms)]
    to: u64,
    /// List the times, and start nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    records: DatabaseJsonArgs,
}

/// Parses a length of time as diagrams write it, in milliseconds.
fn span_ms(text: &str) -> Result<u64, String> {
    let span = flow::TimeSpan::read(text);
    span.map(|span| span.ms)
        .ok_or_else(|| "write 90s, 5m, 2h or 1d".to_owned())
}

/// Parses a date or a time, in milliseconds since 1970.
fn moment_ms(text: &str) -> Result<u64, String> {
    let time = text.parse::<jiff::Timestamp>().or_else(|_| {
        let date: jiff::civil::Date = text.parse()?;
        let begin = date.to_zoned(jiff::tz::TimeZone::UTC)?;
        Ok::<_, jiff::Error>(begin.timestamp())
    });
    let time = time.map_err(|_| "write a date such as 2026-11-01, or 2026-11-01T06:00:00Z")?;
    u64::try_from(time.as_millisecond()).map_err(|_| "that is before 1970".to_owned())
}

#[derive(Args, Debug)]
pub(crate) struct ScheduleSlugArgs {
    /// The schedule's name
    slug: Slug,
    #[command(flatten)]
    records: DatabaseJsonArgs,
}

impl SchedulesCommand {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        match self {
            Self::Add(add) => add.run(session),
            Self::List(list) => list.run(session),
            Self::Remove(remove) => remove.run(session),
            Self::Enable(SchedulesEnableArgs { which }) => which.switch(session, true),
            Self::Disable(SchedulesDisableArgs { which }) => which.switch(session, false),
            Self::Fire(fire) => fire.run(session),
            Self::BackfillSchedule(backfill) => backfill.run(session),
        }
    }
}

impl SchedulesAddArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let input = input_value(session, self.input.as_deref(), &self.values)?;
        let (project, calendar) = self.records.calendar(session)?;
        let new = NewSchedule {
            slug: self.slug.clone(),
            workflow: &self.workflow,
            cron: &self.cron,
            time_zone: &self.time_zone,
            input: input.unwrap_or_else(|| Value::Object(Map::new())),
            is_enabled: !self.disabled,
            policy: SchedulePolicy {
                overlap: match self.overlap.as_str() {
                    "skip" => OverlapRule::Skip,
                    "queue" => OverlapRule::Queue,
                    "cancel" => OverlapRule::Cancel,
                    _ => OverlapRule::Allow,
                },
                catch_up_ms: self.catch_up,
                jitter_ms: self.jitter.unwrap_or(0),
            },
        };
        let added = session.wait(calendar.add(&project, &session.surroundings, new))?;
        self.records.told(&document(&added), &sentence(&added))
    }
}

impl SchedulesListArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let (_, calendar) = self.records.calendar(session)?;
        let schedules = session.wait(calendar.list())?;
        self.records.list(PrintedList {
            name: "schedules",
            documents: schedules.iter().map(document).collect(),
            rows: schedules.iter().map(row).collect(),
            nothing: "There are no schedules here; `drawloom schedules add` adds one.",
        })
    }
}

impl SchedulesRemoveArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let (_, calendar) = self.records.calendar(session)?;
        session.wait(calendar.remove(&self.slug))?;
        let removed = json!({ "removed": self.slug.as_str() });
        let sentence = format!("removed {}", self.slug);
        self.records.told(&removed, &sentence)
    }
}

impl ScheduleSlugArgs {
    fn switch(&self, session: &CliSession, on: bool) -> Result<CliExit, CliError> {
        let (_, calendar) = self.records.calendar(session)?;
        let schedule = session.wait(calendar.enable(&self.slug, on))?;
        self.records
            .told(&document(&schedule), &sentence(&schedule))
    }
}

impl SchedulesFireArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let (project, calendar) = self.records.calendar(session)?;
        let fired = session.wait(calendar.fire(&project, &session.surroundings))?;
        report(&self.records, &fired, "Nothing is due.")
    }
}

impl SchedulesBackfillArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let (project, calendar) = self.records.calendar(session)?;
        let nothing = "The schedule has no time in this range.";
        if self.dry_run {
            let schedule = session.wait(calendar.find(&self.slug))?;
            let timetable = CronTimetable::read(&schedule.cron, &schedule.time_zone)?;
            let times = timetable.between(self.from, self.to).into_iter();
            let times = times.map(|ms| app::schedules::written(ms, &schedule.time_zone));
            let times: Vec<String> = times.collect();
            match (self.records.is_json(), times.is_empty()) {
                (true, _) => output::json(&json!({ "times": times }))?,
                (false, true) => output::say(nothing),
                (false, false) => output::data(format!("{}\n", times.join("\n")).as_bytes())?,
            }
            return Ok(CliExit::Done);
        }
        let around = (&project, &session.surroundings);
        let between = (self.from, self.to);
        let fired = session.wait(calendar.backfill(around, &self.slug, between))?;
        report(&self.records, &fired, nothing)
    }
}

/// Prints the runs that were begun, and why others were not.
fn report(
    records: &DatabaseJsonArgs,
    fired: &[FiredSchedule],
    nothing: &str,
) -> Result<CliExit, CliError> {
    if records.is_json() {
        let fired: Vec<Value> = fired.iter().map(firing).collect();
        output::json(&json!({ "fired": fired }))?;
        return Ok(CliExit::Done);
    }
    for one in fired {
        let slug = &one.slug;
        match &one.firing.outcome {
            Ok(run) if one.is_left_out => {
                output::say(format!("{slug} started no run: {run} is under way"));
            }
            Ok(run) => output::data(format!("{run}\n").as_bytes())?,
            Err(why) => output::say(format!("{slug} started no run: {}", shown(why))),
        }
    }
    if fired.is_empty() {
        output::say(nothing);
    }
    Ok(CliExit::Done)
}

fn sentence(schedule: &Schedule) -> String {
    match schedule.is_enabled {
        true => format!("{} is due next at {}", schedule.slug, next(schedule)),
        false => format!("{} is disabled", schedule.slug),
    }
}

fn document(schedule: &Schedule) -> Value {
    let last = schedule.last.as_ref();
    json!({
        "slug": schedule.slug.as_str(),
        "workflow": schedule.workflow,
        "cron": schedule.cron,
        "timeZone": schedule.time_zone,
        "input": schedule.input,
        "isEnabled": schedule.is_enabled,
        "overlap": schedule.policy.overlap,
        "catch_up_ms": schedule.policy.catch_up_ms,
        "jitter_ms": schedule.policy.jitter_ms,
        "next": schedule.next_ms.map(|ms| app::schedules::written(ms, &schedule.time_zone)),
        "next_ms": schedule.next_ms,
        "created_ms": schedule.created_ms,
        // The names of earlier versions end with `Ms`.
        "nextMs": schedule.next_ms,
        "last": last.map(|last| json!({
            "due_ms": last.due_ms,
            "dueMs": last.due_ms,
            "run": last.outcome.as_ref().ok(),
            "error": last.outcome.as_ref().err(),
        })),
        "createdMs": schedule.created_ms,
    })
}

fn firing(fired: &FiredSchedule) -> Value {
    json!({
        "slug": fired.slug.as_str(),
        "due_ms": fired.firing.due_ms,
        "dueMs": fired.firing.due_ms,
        "run": fired.firing.outcome.as_ref().ok(),
        "error": fired.firing.outcome.as_ref().err(),
        "wasStarted": fired.was_started,
        "isLeftOut": fired.is_left_out,
    })
}

fn row(schedule: &Schedule) -> Vec<String> {
    let last = match schedule.last.as_ref().map(|last| &last.outcome) {
        None => "never ran yet".to_owned(),
        Some(Ok(run)) => format!("last {run}"),
        Some(Err(why)) => format!("last failed: {}", shown(why)),
    };
    vec![
        schedule.slug.to_string(),
        shown(&schedule.workflow),
        schedule.cron.clone(),
        match schedule.is_enabled {
            true => format!("next {}", next(schedule)),
            false => "off".to_owned(),
        },
        last,
    ]
}

fn next(schedule: &Schedule) -> String {
    let written = |ms| app::schedules::written(ms, &schedule.time_zone);
    schedule.next_ms.map_or("never".to_owned(), written)
}
