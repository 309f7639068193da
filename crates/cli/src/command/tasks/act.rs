//! `drawloom tasks assign` and `retry`.

use app::workflows::Loom;
use clap::Args;
use flow::TaskId;
use flow::engine::Command;
use serde_json::json;

use super::named;
use crate::command::workflow::Keeping;
use crate::exit::{Exit, Trouble};
use crate::output::{self, Form};
use crate::session::Session;

/// Give a task to somebody
#[derive(Args, Debug)]
pub(crate) struct Assign {
    /// The task: `RUN/STEP`, `RUN/STEP~VISIT` or `RUN/FOREACH[INDEX]/STEP`
    task: String,
    /// To whom; left out, it is nobody's
    assignee: Option<String>,
    #[command(flatten)]
    keeping: Keeping,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Try a task on hold again, with all its attempts
#[derive(Args, Debug)]
pub(crate) struct Retry {
    /// The task: `RUN/STEP`, `RUN/STEP~VISIT` or `RUN/FOREACH[INDEX]/STEP`
    task: String,
    #[command(flatten)]
    keeping: Keeping,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Assign {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let loom = self.keeping.look(session)?;
        let task = named(&loom, &self.task)?.id;
        let assignee = self.assignee.clone();
        done(&loom, &task, |task| Command::Assign { task, assignee })?;
        said(&task, "assigned", self.json)
    }
}

impl Retry {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let loom = self.keeping.look(session)?;
        let task = named(&loom, &self.task)?.id;
        done(&loom, &task, |task| Command::Retry { task })?;
        said(&task, "tried again", self.json)
    }
}

/// Does it, or says where to look.
fn done(
    loom: &Loom,
    task: &TaskId,
    command: impl FnOnce(TaskId) -> Command,
) -> Result<(), Trouble> {
    let refused = |error| {
        Trouble::from(error).or_hint(format!("`drawloom tasks show {task}` shows how it stands"))
    };
    loom.execute(command(task.clone())).map_err(refused)
}

fn said(task: &TaskId, word: &str, json: bool) -> Result<Exit, Trouble> {
    match Form::from(json) {
        Form::Json => output::json(&json!({ "task": task, "did": word }))?,
        Form::Text => output::say(format!("{task} is {word}")),
    }
    Ok(Exit::Done)
}
