//! Triggers of a workflow, given by `%% @trigger:`: the clock, changed files, or the end of a run
//! of another workflow.
//!
//! Nothing starts here. A process that watches the clock, the files or the ended runs reads
//! [`Workflow::triggers`] and starts a run; a call from outside is the same, and needs no new kind
//! of run.

use std::collections::BTreeSet;

use mermaid::DiagramDocument;
use serde::Deserialize;
use serde_json::Value;

use crate::block::ConfigBlocks;
use crate::config::TimeSpan;
use crate::engine::RunStatus;
use crate::error::{WorkflowProblem, WorkflowProblemCode};
use crate::limits::ConcurrencyLimit;
use crate::line_span::LineSpan;
use crate::workflow::Workflow;

/// The id of the trigger entries in the config block, unless a step has this id.
pub(crate) const TRIGGER: &str = "trigger";
/// The entry that limits the runs of a workflow.
pub(crate) const CONCURRENCY: &str = "concurrency";
/// Limits the triggers of a workflow.
pub(crate) const TRIGGERS_MAX: usize = 32;

/// One trigger of a workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkflowTrigger {
    /// The cause of a start.
    pub cause: TriggerCause,
    /// The input of every run; a cause with data of its own adds it as `trigger`.
    pub input: Value,
    /// Says that the trigger is switched off.
    pub is_paused: bool,
}

/// The cause that makes a trigger start a run.
#[derive(Clone, Debug, PartialEq)]
pub enum TriggerCause {
    /// A time of a cron expression.
    Clock(ClockCause),
    /// New or changed files that match one of these patterns.
    Files(Vec<String>),
    /// The end of a run of another workflow.
    After {
        /// Its title or the name of its file.
        workflow: String,
        /// The results that count.
        on: BTreeSet<RunEnd>,
    },
}

/// A clock trigger: its times, and the rules for times that do not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockCause {
    /// As cron writes it.
    pub cron: String,
    /// A name of the time zone database; UTC if left out.
    pub time_zone: Option<String>,
    /// The rule for a time while the previous run is in progress: see `drawloom schedules add
    /// --help`.
    pub overlap: Option<String>,
    /// Limits how late a missed time is still made up for.
    pub catch_up: Option<TimeSpan>,
    /// Limits the random delay of every time.
    pub jitter: Option<TimeSpan>,
}

/// The result of a run that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// Every path came to its end.
    Completed,
    /// A step failed for good.
    Failed,
    /// A person, or another run, stopped it.
    Cancelled,
}

impl RunEnd {
    /// Returns the result for a status; `None` while a run is in progress.
    #[must_use]
    pub fn of(status: RunStatus) -> Option<RunEnd> {
        match status {
            RunStatus::Completed => Some(RunEnd::Completed),
            RunStatus::Failed => Some(RunEnd::Failed),
            RunStatus::Cancelled => Some(RunEnd::Cancelled),
            RunStatus::Running | RunStatus::Paused => None,
        }
    }
}

impl Workflow {
    /// Returns the triggers that start it.
    #[must_use]
    pub fn triggers(&self) -> &[WorkflowTrigger] {
        &self.triggers
    }

    /// Returns the limit of runs in progress, as `%% @concurrency:` gives it.
    #[must_use]
    pub fn concurrency(&self) -> Option<&ConcurrencyLimit> {
        self.concurrency.as_ref()
    }
}

/// A trigger as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TriggerText {
    schedule: Option<String>,
    time_zone: Option<String>,
    overlap: Option<String>,
    catch_up: Option<TimeSpan>,
    jitter: Option<TimeSpan>,
    files: Option<Vec<String>>,
    after: Option<String>,
    on: Option<BTreeSet<RunEnd>>,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    paused: bool,
}

/// One trigger or a list of them, as written.
#[derive(Deserialize)]
#[serde(untagged)]
enum TriggerTexts {
    Many(Vec<Value>),
    One(Value),
}

/// Reads the triggers of a workflow.
pub(crate) fn read(
    document: &DiagramDocument,
    blocks: &ConfigBlocks,
    problems: &mut Vec<WorkflowProblem>,
) -> Vec<WorkflowTrigger> {
    let Some((json, spot)) = entry(document, blocks, TRIGGER) else {
        return Vec::new();
    };
    let mut wrong = |message: String| {
        let message = format!("`@trigger` {message}.");
        problems.push(WorkflowProblem::error(
            WorkflowProblemCode::Config,
            spot,
            message,
        ));
    };
    let texts = match serde_json::from_str::<TriggerTexts>(json) {
        Ok(TriggerTexts::Many(texts)) => texts,
        Ok(TriggerTexts::One(text)) => vec![text],
        Err(cause) => {
            wrong(format!("cannot be read: {cause}"));
            return Vec::new();
        }
    };
    if texts.len() > TRIGGERS_MAX {
        wrong(format!(
            "has {} triggers, more than TRIGGERS_MAX = {TRIGGERS_MAX}",
            texts.len()
        ));
        return Vec::new();
    }
    let mut triggers = Vec::new();
    for text in texts {
        let read = serde_json::from_value::<TriggerText>(text);
        match read.map_err(|cause| format!("cannot be read: {cause}")) {
            Ok(text) => match trigger(text) {
                Ok(trigger) => triggers.push(trigger),
                Err(message) => wrong(message),
            },
            Err(message) => wrong(message),
        }
    }
    triggers
}

/// Reads the limit on runs of a workflow.
pub(crate) fn concurrency(
    document: &DiagramDocument,
    blocks: &ConfigBlocks,
    problems: &mut Vec<WorkflowProblem>,
) -> Option<ConcurrencyLimit> {
    let (json, spot) = entry(document, blocks, CONCURRENCY)?;
    let read = serde_json::from_str::<ConcurrencyLimit>(json);
    let read = read.map_err(|cause| format!("`@concurrency` cannot be read: {cause}."));
    let checked = read.and_then(|limit| match limit.wrong() {
        Some(wrong) => Err(format!("`max` of `@concurrency` {wrong}.")),
        None => Ok(limit),
    });
    match checked {
        Ok(limit) => Some(limit),
        Err(message) => {
            problems.push(WorkflowProblem::error(
                WorkflowProblemCode::Config,
                spot,
                message,
            ));
            None
        }
    }
}

/// Tells whether an entry of the config block is about the whole workflow.
pub(crate) fn is_of_workflow(id: &str) -> bool {
    matches!(id, crate::input::INPUT | TRIGGER | CONCURRENCY)
}

fn entry<'b>(
    document: &DiagramDocument,
    blocks: &'b ConfigBlocks,
    id: &str,
) -> Option<(&'b str, LineSpan)> {
    if document.diagram().node(id).is_some() {
        return None;
    }
    let entry = blocks.entries.iter().find(|entry| entry.id == id)?;
    Some((entry.json.as_str(), entry.spot))
}

fn trigger(text: TriggerText) -> Result<WorkflowTrigger, String> {
    let causes = [
        text.schedule.is_some(),
        text.files.is_some(),
        text.after.is_some(),
    ];
    if causes.iter().filter(|is_set| **is_set).count() != 1 {
        return Err("has one of `schedule`, `files` and `after` each".to_owned());
    }
    let of_clock = [
        ("timeZone", text.time_zone.is_some()),
        ("overlap", text.overlap.is_some()),
        ("catchUp", text.catch_up.is_some()),
        ("jitter", text.jitter.is_some()),
    ];
    let misplaced = of_clock.iter().find(|(_, is_set)| *is_set);
    if let (Some((name, _)), None) = (misplaced, &text.schedule) {
        return Err(format!(
            "has `{name}`, which has a meaning only with `schedule`"
        ));
    }
    if text.on.is_some() && text.after.is_none() {
        return Err("has `on`, which has a meaning only with `after`".to_owned());
    }
    if !text.input.is_null() && !text.input.is_object() {
        return Err("has an `input` that is no object".to_owned());
    }
    let cause = match (text.schedule, text.files, text.after) {
        (Some(cron), _, _) => TriggerCause::Clock(ClockCause {
            cron,
            time_zone: text.time_zone,
            overlap: text.overlap,
            catch_up: text.catch_up,
            jitter: text.jitter,
        }),
        (_, Some(patterns), _) if patterns.is_empty() => {
            return Err("has `files` without a pattern".to_owned());
        }
        (_, Some(patterns), _) => TriggerCause::Files(patterns),
        (_, _, after) => TriggerCause::After {
            workflow: after.unwrap_or_default(),
            on: text
                .on
                .unwrap_or_else(|| BTreeSet::from([RunEnd::Completed])),
        },
    };
    Ok(WorkflowTrigger {
        cause,
        input: text.input,
        is_paused: text.paused,
    })
}
