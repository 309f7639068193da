//! `drawloom tasks list`: what has not ended, and what waits for whom.

use std::collections::HashMap;
use std::sync::Arc;

use app::workflows::{Loom, TaskFilter};
use clap::Args;
use flow::engine::{TaskRow, TaskStatus};
use flow::{Execution, RunId, Workflow};
use serde_json::json;

use crate::command::runs::{COUNTED_MAX, and_more};
use crate::command::workflow::{Keeping, span};
use crate::exit::{Exit, Trouble};
use crate::live::shown;
use crate::output;
use crate::session::Session;
use crate::table;

/// List the tasks of runs that have not ended
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom tasks list --mine
  drawloom tasks list --waiting --assignee ada
  drawloom tasks list --run last --all
  drawloom tasks list --json | jq '.tasks[] | select(.status == \"on_hold\")'")]
pub(crate) struct List {
    /// Only those of this run: its id, the begin of it, or `last`
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Only those of this status, such as pending or on_hold
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Option<TaskStatus>,
    /// Only those that wait for a person
    #[arg(long)]
    waiting: bool,
    /// Only those that wait for you, or for anybody
    #[arg(long, conflicts_with = "assignee")]
    mine: bool,
    /// Only those of this person or agent
    #[arg(long, value_name = "NAME")]
    assignee: Option<String>,
    /// Also those that have ended
    #[arg(long)]
    all: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    #[command(flatten)]
    keeping: Keeping,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let loom = self.keeping.look(session)?;
        let run = self.run.as_deref().map(|run| loom.find(run)).transpose()?;
        let me = self.assignee.clone().or(self.mine.then(|| loom.person()));
        let filter = TaskFilter {
            run: run.map(|run| run.id),
            has_ended: self.all,
            status: self.status,
            is_waiting: self.waiting || self.mine,
            assignee: me.clone(),
            is_anybodys: self.mine,
        };
        let tasks = loom.list_tasks(&filter, self.limit)?;
        let counted = match tasks.len() < self.limit {
            true => tasks.len(),
            false => loom.count_tasks(&filter, self.limit + COUNTED_MAX)?,
        };
        let more = counted - tasks.len();
        if self.json {
            output::json(&json!({ "tasks": tasks, "more": more }))?;
            return Ok(Exit::Done);
        }
        if tasks.is_empty() {
            output::say("There are no such tasks.");
        }
        let now_ms = session.surroundings.now_ms as u64;
        let mut names = Names::of(&loom);
        let rows = tasks.iter().map(|task| row(task, &mut names, now_ms));
        output::styled(&table::render(&rows.collect::<Vec<_>>()))?;
        if more > 0 {
            output::say(and_more(more));
        }
        if self.mine {
            let all = TaskFilter {
                assignee: None,
                ..filter
            };
            let others = loom.count_tasks(&all, counted + COUNTED_MAX)? - counted;
            let is_more = others >= COUNTED_MAX;
            match others {
                0 => {}
                1 => {
                    output::say("1 task waits for others; `drawloom tasks list --waiting` lists it")
                }
                _ => output::say(format!(
                    "{others}{} tasks wait for others; `drawloom tasks list --waiting` lists them",
                    if is_more { " or more" } else { "" }
                )),
            }
        }
        Ok(Exit::Done)
    }
}

pub(super) fn waits_for_a_person(task: &TaskRow) -> bool {
    let is_manual = task.status == TaskStatus::Pending && task.execution == Execution::Manual;
    is_manual || task.status == TaskStatus::OnHold
}

/// What steps are called, by their run.
struct Names<'l> {
    loom: &'l Loom,
    known: HashMap<RunId, Option<Arc<Workflow>>>,
}

impl<'l> Names<'l> {
    fn of(loom: &'l Loom) -> Self {
        let known = HashMap::new();
        Self { loom, known }
    }

    fn name(&mut self, task: &TaskRow) -> String {
        let loom = self.loom;
        let workflow = self.known.entry(task.id.run.clone()).or_insert_with(|| {
            let run = loom.run(&task.id.run).ok().flatten()?;
            loom.workflow(&run).ok()
        });
        let step = workflow
            .as_ref()
            .and_then(|workflow| workflow.step(&task.id.step));
        step.map(|step| shown(&step.name)).unwrap_or_default()
    }
}

fn row(task: &TaskRow, names: &mut Names<'_>, now_ms: u64) -> Vec<String> {
    let why = task.hold.as_ref().map(|hold| shown(&hold.reason));
    let nobody = match task.execution {
        Execution::Manual => "a person",
        Execution::Automated => "-",
    };
    let until = task.ended_ms.unwrap_or(now_ms);
    vec![
        task.id.to_string(),
        names.name(task),
        task.status.name().to_owned(),
        task.assignee.clone().unwrap_or_else(|| nobody.to_owned()),
        span(until.saturating_sub(task.created_ms)),
        why.unwrap_or_default(),
    ]
}

/// A status as it is typed.
fn status(word: &str) -> Result<TaskStatus, String> {
    let all = TaskStatus::ALL.map(TaskStatus::name).join(", ");
    TaskStatus::ALL
        .into_iter()
        .find(|status| status.name() == word)
        .ok_or_else(|| format!("there are: {all}"))
}
