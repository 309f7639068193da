//! `drawloom tasks list`: what has not ended, and what waits for a person.

use clap::Args;
use flow::engine::{TaskRow, TaskStatus};
use flow::{Execution, Which};
use serde_json::json;

use crate::command::workflow::Keeping;
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
    mine: bool,
    /// Also those that have ended
    #[arg(long)]
    all: bool,
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
        let which = match self.all {
            true => Which::All,
            false => Which::Active,
        };
        let mut tasks = loom.tasks(run.as_ref().map(|run| &run.id), which)?;
        tasks.retain(|task| self.status.is_none_or(|status| task.status == status));
        tasks.retain(|task| !self.mine || waits_for_a_person(task));
        if self.json {
            output::json(&json!({ "tasks": tasks }))?;
            return Ok(Exit::Done);
        }
        if tasks.is_empty() {
            output::say("There are no such tasks.");
        }
        let rows: Vec<Vec<String>> = tasks.iter().map(row).collect();
        output::styled(&table::render(&rows))?;
        Ok(Exit::Done)
    }
}

fn waits_for_a_person(task: &TaskRow) -> bool {
    let is_manual = task.status == TaskStatus::Pending && task.execution == Execution::Manual;
    is_manual || task.status == TaskStatus::OnHold
}

fn row(task: &TaskRow) -> Vec<String> {
    let why = task.hold.as_ref().map(|hold| shown(&hold.reason));
    vec![
        task.id.to_string(),
        task.status.name().to_owned(),
        match task.execution {
            Execution::Manual => task
                .assignee
                .clone()
                .unwrap_or_else(|| "a person".to_owned()),
            Execution::Automated => task.assignee.clone().unwrap_or_else(|| "-".to_owned()),
        },
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
