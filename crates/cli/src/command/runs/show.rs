//! `drawloom runs show`: the story of one run: its graph, its tasks, why each branch was taken, what was
//! tried again, what it took and cost, and what it waits for.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use app::workflows::RunActivity;
use clap::Args;
use flow::engine::{
    EventKind, RunEvent, RunRow, SpentAmount, TaskRow, TaskStatus, WorkflowTaskKind,
};
use flow::{RunId, TaskId, TaskSelection, Workflow};
use serde_json::{Value, json};

use super::list::{name_of, when};
use crate::agent_progress::shown;
use crate::command::workflow::{
    DatabaseArgs, EventDetail, RunPicture, event_json, how_to_answer, is_for_people, place, span,
    told, width,
};
use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;
use crate::table;
use crate::use_cases::TerminalUseCases;

/// Number of tasks listed for one step under foreaches; of more, only those that are not just done.
const ITEMS_MAX: usize = 5;
/// Characters of an output that are shown; `drawloom tasks show` shows all of it.
const OUTPUT_CHARS_MAX: usize = 72;
/// Number of tasks that wait for a person and are shown with their question.
const WAITING_MAX: usize = 3;

/// Show a run: its graph, its tasks, the reason for each branch taken, and what it waits for
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom runs show last
  drawloom runs show last --events
  drawloom runs show 19a8c --json | jq '.tasks[] | {id, status}'")]
pub(crate) struct RunsShowArgs {
    /// Run id, unique prefix, or `last`
    run: String,
    /// Show all events in order, and every task of a foreach
    #[arg(long)]
    events: bool,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A run with its tasks and events.
struct RunDetails {
    run: RunRow,
    name: String,
    input: Value,
    workflow: std::sync::Arc<Workflow>,
    tasks: Vec<TaskRow>,
    events: Vec<RunEvent>,
}

impl RunsShowArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let run = use_cases.wait(use_cases.find(&self.run))?;
        let story = RunDetails {
            name: name_of(&use_cases, &run)?,
            input: use_cases.wait(use_cases.input(&run.id))?,
            workflow: use_cases.wait(use_cases.workflow(&run))?,
            tasks: use_cases.wait(use_cases.tasks(Some(&run.id), TaskSelection::All))?,
            events: use_cases.wait(use_cases.events(&run.id))?,
            run,
        };
        if self.json {
            let told: Vec<Value> = story.events.iter().map(event_json).collect();
            output::json(&json!({
                "run": story.run, "input": story.input, "tasks": story.tasks, "events": told,
            }))?;
            return Ok(CliExit::Done);
        }
        let mut text = story.heading(session.surroundings.now_ms as u64);
        let picture = RunPicture::of(&story.run.id, &story.workflow, &story.events);
        let diagram = story.workflow.document().diagram();
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n{}\n",
            diagram.to_text(width(), &picture.statuses())
        );
        let rows = story.rows(self.events);
        text.push_str(&match output::width() {
            Some(width) => table::render_within(&rows, width),
            None => table::render(&rows),
        });
        let lines = story.lines(self.events);
        if !lines.is_empty() {
            let _ = write!(text, "\n{}\n", lines.join("\n"));
        }
        if let Some(next) = next(&use_cases, &story.run.id)? {
            let _ = write!(text, "\n{next}\n");
        }
        output::styled(&output::harmless(&text))?;
        Ok(CliExit::Done)
    }
}

impl RunDetails {
    fn heading(&self, now_ms: u64) -> String {
        let run = &self.run;
        let mut text = format!("run {} of {} is {}", run.id, self.name, run.status.name());
        if let Some(reason) = &run.reason {
            let _ = write!(text, ": {reason}");
        }
        let until = run.ended_ms.unwrap_or(now_ms);
        let took = span(until.saturating_sub(run.created_ms));
        let verb = match run.ended_ms {
            Some(_) => "took",
            None => "for",
        };
        let _ = write!(text, "\nbegun {}, {verb} {took}", when(run.created_ms));
        if let Some(spent) = spent(run.spent) {
            let _ = write!(text, ", {spent}");
        }
        if let Some(parent) = &run.parent {
            let _ = write!(text, "\nstarted by {parent}");
        }
        if !run.tags.is_empty() {
            let _ = write!(text, "\ntags {}", run.tags.join(", "));
        }
        let _ = writeln!(text, "\ninput {}", shown(&self.input.to_string()));
        text
    }

    /// Returns a row for every task; of the many of a foreach, only for those that are not just
    /// done.
    fn rows(&self, all: bool) -> Vec<Vec<String>> {
        let times = times(&self.events);
        let mut done: BTreeMap<&str, usize> = BTreeMap::new();
        for task in self.tasks.iter().filter(|task| is_plain(task)) {
            *done.entry(task.id.step.as_str()).or_default() += 1;
        }
        let is_summed = |task: &TaskRow| {
            !all && is_plain(task) && done.get(task.id.step.as_str()) > Some(&ITEMS_MAX)
        };
        let mut told = BTreeSet::new();
        let mut rows: Vec<Vec<String>> = Vec::new();
        for task in &self.tasks {
            let step = task.id.step.as_str();
            if !is_summed(task) {
                rows.push(row(task, &times));
            } else if told.insert(step) {
                let count = done.get(step).copied().unwrap_or(0);
                let name = format!("…/{step}");
                rows.push(vec![name, format!("{count} completed")]);
            }
        }
        rows
    }

    /// Describes the events, each with its time since the beginning.
    fn lines(&self, all: bool) -> Vec<String> {
        let detail = match all {
            true => EventDetail::Everything,
            false => EventDetail::BesidePicture,
        };
        let lines = self.events.iter().filter_map(|event| {
            let line = told(Some(&self.workflow), event, detail)?;
            let at = event.at_ms.saturating_sub(self.run.created_ms);
            Some(format!("{:>12}  {line}", format!("+{}", span(at))))
        });
        lines.collect()
    }
}

/// True if it is one of many tasks about which there is nothing to report.
fn is_plain(task: &TaskRow) -> bool {
    task.id.path.last().is_some() && task.status == TaskStatus::Completed && task.attempt <= 1
}

fn row(task: &TaskRow, times: &HashMap<TaskId, u64>) -> Vec<String> {
    let child = RunId::child_of(&task.id, task.fence);
    let has_failed = task.status == TaskStatus::Failed || task.output.is_none();
    let what = match (&task.hold, &task.failure, &task.output) {
        (Some(hold), ..) => shown(&hold.reason),
        (None, Some(failure), _) if has_failed => shown(&failure.message),
        (None, _, Some(output)) => opening(&output.to_string()),
        (None, None, None) if task.kind == WorkflowTaskKind::Subflow => format!("run {child}"),
        (None, _, None) => String::new(),
    };
    let begun = times.get(&task.id).copied();
    let took = begun.zip(task.ended_ms);
    let took = took.map(|(begun, ended)| span(ended.saturating_sub(begun)));
    vec![
        place(&task.id),
        task.status.name().to_owned(),
        match task.attempt {
            0 => "-".to_owned(),
            attempt => format!("attempt {attempt}"),
        },
        took.unwrap_or_else(|| "-".to_owned()),
        spent(task.spent).unwrap_or_else(|| "-".to_owned()),
        what,
    ]
}

/// Returns the beginning of an output.
fn opening(output: &str) -> String {
    let output = shown(output);
    match output.chars().count() > OUTPUT_CHARS_MAX {
        true => format!(
            "{}…",
            output.chars().take(OUTPUT_CHARS_MAX).collect::<String>()
        ),
        false => output,
    }
}

/// Returns the time at which each task was first started.
fn times(events: &[RunEvent]) -> HashMap<TaskId, u64> {
    let mut times = HashMap::new();
    for event in events {
        if let EventKind::TaskMoved { task, by, .. } = &event.what
            && by.to() == TaskStatus::InProgress
        {
            times.entry(task.clone()).or_insert(event.at_ms);
        }
    }
    times
}

fn spent(spent: SpentAmount) -> Option<String> {
    let money = (spent.micros > 0).then(|| llm::CallCost::Known(spent.micros).to_string());
    match (spent.tokens, money) {
        (0, None) => None,
        (0, Some(money)) => Some(money),
        (tokens, None) => Some(format!("{tokens} tokens")),
        (tokens, Some(money)) => Some(format!("{tokens} tokens, {money}")),
    }
}

/// Returns the command a person can run next.
fn next(use_cases: &TerminalUseCases, run: &RunId) -> Result<Option<String>, CliError> {
    let resume = format!("drawloom runs resume {run} --wait");
    let text = match use_cases.wait(use_cases.standing(run))? {
        RunActivity::Ended(_) => return Ok(None),
        RunActivity::Going => format!("`drawloom worker` works on it, or `{resume}`"),
        RunActivity::Paused(_) => format!("`{resume}` goes on"),
        RunActivity::Waiting(tasks) => {
            let mut text = String::new();
            for task in tasks.iter().take(WAITING_MAX) {
                let said = match is_for_people(task) {
                    true => how_to_answer(use_cases, task),
                    false => format!(
                        "{} is on hold\n  fix it, then: drawloom tasks retry {}",
                        place(&task.id),
                        task.id
                    ),
                };
                let _ = writeln!(text, "{said}");
            }
            if tasks.len() > WAITING_MAX {
                let more = tasks.len() - WAITING_MAX;
                let _ = writeln!(
                    text,
                    "and {more} more: drawloom tasks list --run {run} --waiting"
                );
            }
            let _ = write!(text, "then: {resume}");
            text
        }
    };
    Ok(Some(text))
}
