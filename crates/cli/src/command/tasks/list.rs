//! `drawloom tasks list`: what has not ended, and what waits for whom.

use std::collections::HashMap;
use std::sync::Arc;

use app::workflows::TaskFilter;
use clap::Args;
use flow::engine::{TaskRow, TaskStatus};
use flow::{ExecutionMode, RunId, Workflow};
use serde_json::json;

use crate::agent_progress::shown;
use crate::command::runs::{COUNTED_MAX, and_more};
use crate::command::workflow::{DatabaseArgs, span};
use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;
use crate::table;
use crate::use_cases::TerminalUseCases;

/// List the tasks of runs that have not ended
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom tasks list --mine
  drawloom tasks list --waiting --assignee ada
  drawloom tasks list --run last --all
  drawloom tasks list --json | jq '.tasks[] | select(.status == \"on_hold\")'")]
pub(crate) struct TasksListArgs {
    /// Only tasks of this run: id, unique prefix, or `last`
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Only tasks with this status, such as pending or on_hold
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Option<TaskStatus>,
    /// Only tasks that wait for a person
    #[arg(long)]
    waiting: bool,
    /// Only tasks that wait for you, or have no assignee
    #[arg(long, conflicts_with = "assignee")]
    mine: bool,
    /// Only tasks of this person or agent
    #[arg(long, value_name = "NAME")]
    assignee: Option<String>,
    /// Include tasks that have ended
    #[arg(long)]
    all: bool,
    /// Maximum number to list
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl TasksListArgs {
    pub(super) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let run = self
            .run
            .as_deref()
            .map(|run| use_cases.wait(use_cases.find(run)))
            .transpose()?;
        let me = self
            .assignee
            .clone()
            .or(self.mine.then(|| use_cases.person()));
        let filter = TaskFilter {
            run: run.map(|run| run.id),
            has_ended: self.all,
            status: self.status,
            is_waiting: self.waiting || self.mine,
            assignee: me.clone(),
            is_anybodys: self.mine,
        };
        let tasks = use_cases.wait(use_cases.list_tasks(&filter, self.limit))?;
        let counted = match tasks.len() < self.limit {
            true => tasks.len(),
            false => use_cases.wait(use_cases.count_tasks(&filter, self.limit + COUNTED_MAX))?,
        };
        let more = counted - tasks.len();
        if self.json {
            output::json(&json!({ "tasks": tasks, "more": more }))?;
            return Ok(CliExit::Done);
        }
        if tasks.is_empty() {
            output::say("There are no such tasks.");
        }
        let now_ms = session.surroundings.now_ms as u64;
        let mut names = StepNames::of(&use_cases);
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
            let others =
                use_cases.wait(use_cases.count_tasks(&all, counted + COUNTED_MAX))? - counted;
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
        Ok(CliExit::Done)
    }
}

pub(super) fn waits_for_a_person(task: &TaskRow) -> bool {
    let is_manual = task.status == TaskStatus::Pending && task.execution == ExecutionMode::Manual;
    is_manual || task.status == TaskStatus::OnHold
}

/// Names of steps, by run.
struct StepNames<'l> {
    use_cases: &'l TerminalUseCases,
    known: HashMap<RunId, Option<Arc<Workflow>>>,
}

impl<'l> StepNames<'l> {
    fn of(use_cases: &'l TerminalUseCases) -> Self {
        let known = HashMap::new();
        Self { use_cases, known }
    }

    fn name(&mut self, task: &TaskRow) -> String {
        let use_cases = self.use_cases;
        let workflow = self.known.entry(task.id.run.clone()).or_insert_with(|| {
            let run = use_cases.wait(use_cases.run(&task.id.run)).ok().flatten()?;
            use_cases.wait(use_cases.workflow(&run)).ok()
        });
        let step = workflow
            .as_ref()
            .and_then(|workflow| workflow.step(&task.id.step));
        step.map(|step| shown(&step.name)).unwrap_or_default()
    }
}

fn row(task: &TaskRow, names: &mut StepNames<'_>, now_ms: u64) -> Vec<String> {
    let why = task.hold.as_ref().map(|hold| shown(&hold.reason));
    let nobody = match task.execution {
        ExecutionMode::Manual => "a person",
        ExecutionMode::Automated => "-",
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

/// Parses a status as it is typed.
fn status(word: &str) -> Result<TaskStatus, String> {
    let all = TaskStatus::ALL.map(TaskStatus::name).join(", ");
    TaskStatus::ALL
        .into_iter()
        .find(|status| status.name() == word)
        .ok_or_else(|| format!("there are: {all}"))
}
