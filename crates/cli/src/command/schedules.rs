//! `drawloom schedules`: workflows that the clock starts.

use std::path::PathBuf;

use app::schedules::{Fired, NewSchedule, Schedule, Slug};
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::records::{Listed, Records};
use super::workflow::input_value;
use crate::exit::{Exit, Trouble};
use crate::live::shown;
use crate::output;
use crate::session::Session;

/// Workflows that the clock starts
///
/// A due time has one run, however many workers look after the schedules. The run has the text that the
/// workflow has at that time. Times that passed while nobody looked are not made up for, except for the
/// latest one.
#[derive(Debug, Subcommand)]
pub(crate) enum Schedules {
    Add(Add),
    List(List),
    Remove(Remove),
    Enable(Enable),
    Disable(Disable),
    Fire(Fire),
}

/// Start a workflow by the clock from now on
///
/// The expression has five fields (minute, hour, day of the month, month, weekday), six with seconds in
/// front, or is a word such as @daily.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom schedules add nightly review.mmd --cron \"30 3 * * *\" --time-zone Europe/Berlin
  drawloom schedules add weekly report --cron \"0 9 * * mon\" depth=3")]
pub(crate) struct Add {
    /// What to call it: small letters, digits and `-`
    slug: Slug,
    /// The workflow's file or its name
    workflow: PathBuf,
    /// Values of the input, as NAME=VALUE; a VALUE that is JSON is taken as such
    values: Vec<String>,
    /// When, as cron writes it
    #[arg(long, value_name = "EXPRESSION")]
    cron: String,
    /// Where the clock hangs, such as Europe/Berlin
    #[arg(long, value_name = "NAME", default_value = "UTC")]
    time_zone: String,
    /// The input of every run: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// Add it switched off
    #[arg(long)]
    disabled: bool,
    #[command(flatten)]
    records: Records,
}

/// List the schedules of this project, with the next time of each and what came of the last
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom schedules list
  drawloom schedules list --json | jq '.schedules[] | {slug, next}'")]
pub(crate) struct List {
    #[command(flatten)]
    records: Records,
}

/// Remove a schedule; runs it has started stay
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom schedules remove nightly")]
pub(crate) struct Remove {
    /// Which
    slug: Slug,
    #[command(flatten)]
    records: Records,
}

/// Switch a schedule on
///
/// It is due next at the first time from now on; what it missed while it was off is not made up for.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom schedules enable nightly")]
pub(crate) struct Enable {
    #[command(flatten)]
    which: Which,
}

/// Switch a schedule off, until it is switched on again
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom schedules disable nightly")]
pub(crate) struct Disable {
    #[command(flatten)]
    which: Which,
}

/// Start the runs that are due now, once
///
/// For those who let another clock call it. It begins the runs and does not work on them.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom schedules fire && drawloom worker")]
pub(crate) struct Fire {
    #[command(flatten)]
    records: Records,
}

#[derive(Args, Debug)]
pub(crate) struct Which {
    /// Which
    slug: Slug,
    #[command(flatten)]
    records: Records,
}

impl Schedules {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        match self {
            Self::Add(add) => add.run(session),
            Self::List(list) => list.run(session),
            Self::Remove(remove) => remove.run(session),
            Self::Enable(Enable { which }) => which.switch(session, true),
            Self::Disable(Disable { which }) => which.switch(session, false),
            Self::Fire(fire) => fire.run(session),
        }
    }
}

impl Add {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let input = input_value(session, self.input.as_deref(), &self.values)?;
        let (project, calendar) = self.records.calendar(session)?;
        let new = NewSchedule {
            slug: self.slug.clone(),
            workflow: &self.workflow,
            cron: &self.cron,
            time_zone: &self.time_zone,
            input: input.unwrap_or_else(|| Value::Object(Map::new())),
            is_enabled: !self.disabled,
        };
        let added = calendar.add(&project, &session.surroundings, new)?;
        self.records.told(&document(&added), &sentence(&added))
    }
}

impl List {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let (_, calendar) = self.records.calendar(session)?;
        let schedules = calendar.list()?;
        self.records.list(Listed {
            name: "schedules",
            documents: schedules.iter().map(document).collect(),
            rows: schedules.iter().map(row).collect(),
            nothing: "There are no schedules here; `drawloom schedules add` adds one.",
        })
    }
}

impl Remove {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let (_, calendar) = self.records.calendar(session)?;
        calendar.remove(&self.slug)?;
        let removed = json!({ "removed": self.slug.as_str() });
        let sentence = format!("removed {}", self.slug);
        self.records.told(&removed, &sentence)
    }
}

impl Which {
    fn switch(&self, session: &Session, on: bool) -> Result<Exit, Trouble> {
        let (_, calendar) = self.records.calendar(session)?;
        let schedule = calendar.enable(&self.slug, on)?;
        self.records
            .told(&document(&schedule), &sentence(&schedule))
    }
}

impl Fire {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let (project, calendar) = self.records.calendar(session)?;
        let fired = calendar.fire(&project, &session.surroundings)?;
        if self.records.is_json() {
            let fired: Vec<Value> = fired.iter().map(firing).collect();
            output::json(&json!({ "fired": fired }))?;
            return Ok(Exit::Done);
        }
        for one in &fired {
            match &one.firing.outcome {
                Ok(run) => output::data(format!("{run}\n").as_bytes())?,
                Err(why) => output::say(format!("{} began no run: {}", one.slug, shown(why))),
            }
        }
        if fired.is_empty() {
            output::say("Nothing is due.");
        }
        Ok(Exit::Done)
    }
}

fn sentence(schedule: &Schedule) -> String {
    match schedule.is_enabled {
        true => format!("{} is due next at {}", schedule.slug, next(schedule)),
        false => format!("{} is switched off", schedule.slug),
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

fn firing(fired: &Fired) -> Value {
    json!({
        "slug": fired.slug.as_str(),
        "due_ms": fired.firing.due_ms,
        "dueMs": fired.firing.due_ms,
        "run": fired.firing.outcome.as_ref().ok(),
        "error": fired.firing.outcome.as_ref().err(),
        "wasStarted": fired.was_started,
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
