//! `drawloom runs show`: the story of one run: its graph, its tasks, why each branch was taken, what was
//! tried again, what it took and cost, and what it waits for.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use app::workflows::{Loom, Standing};
use clap::Args;
use flow::engine::{Event, RunRow, Spent, TaskKind, TaskRow, TaskStatus, What};
use flow::{RunId, TaskId, Which, Workflow};
use serde_json::{Value, json};

use super::list::{name_of, when};
use crate::command::workflow::{
    Detail, Keeping, Picture, event_json, how_to_answer, is_for_people, place, span, told, width,
};
use crate::exit::{Exit, Trouble};
use crate::live::shown;
use crate::output;
use crate::session::Session;
use crate::table;

/// How many tasks of one step under foreaches are listed; of more, only those that are not just done.
const ITEMS_MAX: usize = 5;
/// How much of an output is shown; `drawloom tasks show` shows all of it.
const OUTPUT_CHARS_MAX: usize = 72;
/// How many tasks that wait for a person are shown with what they ask.
const WAITING_MAX: usize = 3;

/// Show a run: its graph, its tasks, why each branch was taken, and what it waits for
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom runs show last
  drawloom runs show last --events
  drawloom runs show 19a8c --json | jq '.tasks[] | {id, status}'")]
pub(crate) struct Show {
    /// The run: its id, the begin of it, or `last`
    run: String,
    /// Everything that happened, in order, and every task of a foreach
    #[arg(long)]
    events: bool,
    #[command(flatten)]
    keeping: Keeping,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is known of a run.
struct Story {
    run: RunRow,
    name: String,
    input: Value,
    workflow: std::sync::Arc<Workflow>,
    tasks: Vec<TaskRow>,
    events: Vec<Event>,
}

impl Show {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let loom = self.keeping.look(session)?;
        let run = loom.find(&self.run)?;
        let story = Story {
            name: name_of(&loom, &run)?,
            input: loom.input(&run.id)?,
            workflow: loom.workflow(&run)?,
            tasks: loom.tasks(Some(&run.id), Which::All)?,
            events: loom.events(&run.id)?,
            run,
        };
        if self.json {
            let told: Vec<Value> = story.events.iter().map(event_json).collect();
            output::json(&json!({
                "run": story.run, "input": story.input, "tasks": story.tasks, "events": told,
            }))?;
            return Ok(Exit::Done);
        }
        let mut text = story.heading(session.surroundings.now_ms as u64);
        let picture = Picture::of(&story.run.id, &story.workflow, &story.events);
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
        if let Some(next) = next(&loom, &story.run.id)? {
            let _ = write!(text, "\n{next}\n");
        }
        output::styled(&output::harmless(&text))?;
        Ok(Exit::Done)
    }
}

impl Story {
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

    /// A row for every task; of the many of a foreach, for those that are not just done.
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

    /// What happened, each with its time since the begin.
    fn lines(&self, all: bool) -> Vec<String> {
        let detail = match all {
            true => Detail::Everything,
            false => Detail::BesidePicture,
        };
        let lines = self.events.iter().filter_map(|event| {
            let line = told(Some(&self.workflow), event, detail)?;
            let at = event.at_ms.saturating_sub(self.run.created_ms);
            Some(format!("{:>12}  {line}", format!("+{}", span(at))))
        });
        lines.collect()
    }
}

/// Whether it is one of many of which there is nothing to say.
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
        (None, None, None) if task.kind == TaskKind::Subflow => format!("run {child}"),
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

/// How an output begins.
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

/// When tasks were taken up first.
fn times(events: &[Event]) -> HashMap<TaskId, u64> {
    let mut times = HashMap::new();
    for event in events {
        if let What::TaskMoved { task, by, .. } = &event.what
            && by.to() == TaskStatus::InProgress
        {
            times.entry(task.clone()).or_insert(event.at_ms);
        }
    }
    times
}

fn spent(spent: Spent) -> Option<String> {
    let money = (spent.micros > 0).then(|| llm::Cost::Known(spent.micros).to_string());
    match (spent.tokens, money) {
        (0, None) => None,
        (0, Some(money)) => Some(money),
        (tokens, None) => Some(format!("{tokens} tokens")),
        (tokens, Some(money)) => Some(format!("{tokens} tokens, {money}")),
    }
}

/// What a person can do about it now.
fn next(loom: &Loom, run: &RunId) -> Result<Option<String>, Trouble> {
    let resume = format!("drawloom runs resume {run} --wait");
    let text = match loom.standing(run)? {
        Standing::Ended(_) => return Ok(None),
        Standing::Going => format!("`drawloom worker` works on it, or `{resume}`"),
        Standing::Paused(_) => format!("`{resume}` goes on"),
        Standing::Waiting(tasks) => {
            let mut text = String::new();
            for task in tasks.iter().take(WAITING_MAX) {
                let said = match is_for_people(task) {
                    true => how_to_answer(loom, task),
                    false => format!(
                        "{} is on hold\n  mend it, then: drawloom tasks retry {}",
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
