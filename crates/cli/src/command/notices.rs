//! `drawloom notices`: what nobody was told of yet.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::command::workflow::Keeping;
use crate::exit::{Exit, Trouble};
use crate::live::shown;
use crate::output::{self, Form};
use crate::session::Session;
use crate::table;

/// How many notices are listed.
const NOTICES_MAX: usize = 1_000;

/// Look at notices that were not delivered yet
///
/// Runs leave a notice when a person is asked, when a task is on hold, and when they end. Workers deliver
/// them to the commands under `[notify]` in drawloom.toml, and discard those that no rule wants.
#[derive(Debug, Subcommand)]
pub(crate) enum Notices {
    List(List),
    Acknowledge(Acknowledge),
}

/// List notices that were not delivered yet, the oldest first
#[derive(Args, Debug)]
pub(crate) struct List {
    #[command(flatten)]
    keeping: Keeping,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Remove notices without delivering them
#[derive(Args, Debug)]
pub(crate) struct Acknowledge {
    /// The numbers of the notices
    #[arg(required_unless_present = "all")]
    notices: Vec<u64>,
    /// All of them
    #[arg(long, conflicts_with = "notices")]
    all: bool,
    #[command(flatten)]
    keeping: Keeping,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Notices {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        match self {
            Self::List(list) => list.run(session),
            Self::Acknowledge(acknowledge) => acknowledge.run(session),
        }
    }
}

impl List {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let notices = self.keeping.look(session)?.notices(NOTICES_MAX)?;
        if self.json {
            let listed = notices.iter().map(|kept| {
                json!({ "id": kept.id, "tries": kept.tries, "due_ms": kept.due_ms, "notice": kept.notice })
            });
            output::json(&json!({ "notices": listed.collect::<Vec<Value>>() }))?;
            return Ok(Exit::Done);
        }
        if notices.is_empty() {
            output::say("No notices wait.");
        }
        let rows = notices.iter().map(|kept| {
            let of = kept.notice.task.as_ref().map(ToString::to_string);
            let failed = match (kept.tries, kept.due_ms) {
                (0, _) => String::new(),
                (tries, Some(_)) => format!("failed {tries} times"),
                (tries, None) => format!("gave up after {tries} times"),
            };
            vec![
                kept.id.to_string(),
                of.unwrap_or_else(|| kept.notice.run.to_string()),
                failed,
                shown(&kept.notice.message),
            ]
        });
        output::styled(&table::render(&rows.collect::<Vec<_>>()))?;
        Ok(Exit::Done)
    }
}

impl Acknowledge {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let loom = self.keeping.look(session)?;
        let mut count = 0;
        loop {
            let ids: Vec<u64> = match self.all {
                true => loom
                    .notices(NOTICES_MAX)?
                    .iter()
                    .map(|kept| kept.id)
                    .collect(),
                false => self.notices.clone(),
            };
            count += ids.len();
            loom.acknowledge(&ids)?;
            if !self.all || ids.is_empty() {
                break;
            }
        }
        match Form::from(self.json) {
            Form::Json => output::json(&json!({ "notices": count, "did": "acknowledged" }))?,
            Form::Text => output::say(format!("acknowledged: {count}")),
        }
        Ok(Exit::Done)
    }
}
