//! `drawloom notices`: lists and removes undelivered notices.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::agent_progress::shown;
use crate::command::workflow::DatabaseArgs;
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;
use crate::table;

/// Number of notices that are listed.
const NOTICES_MAX: usize = 1_000;

/// List and remove undelivered notices
///
/// Runs leave a notice when a person is asked, when a task is on hold, and when they end. Workers deliver
/// them to the commands under `[notify]` in drawloom.toml, and discard those that no rule wants.
#[derive(Debug, Subcommand)]
pub(crate) enum NoticesCommand {
    List(NoticesListArgs),
    Acknowledge(NoticesAcknowledgeArgs),
}

/// List undelivered notices, oldest first
#[derive(Args, Debug)]
pub(crate) struct NoticesListArgs {
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Remove notices without delivering them
#[derive(Args, Debug)]
pub(crate) struct NoticesAcknowledgeArgs {
    /// The numbers of the notices, as `drawloom notices list` shows them
    #[arg(required_unless_present = "all", value_parser = notice_number)]
    notices: Vec<u64>,
    /// All of them
    #[arg(long, conflicts_with = "notices")]
    all: bool,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn notice_number(text: &str) -> Result<u64, String> {
    let number = text.parse();
    number.map_err(|_| "write a number that `drawloom notices list` shows".to_owned())
}

impl NoticesCommand {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        match self {
            Self::List(list) => list.run(session),
            Self::Acknowledge(acknowledge) => acknowledge.run(session),
        }
    }
}

impl NoticesListArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let notices = use_cases.wait(use_cases.notices(NOTICES_MAX))?;
        if self.json {
            let listed = notices.iter().map(|kept| {
                json!({ "id": kept.id, "tries": kept.tries, "due_ms": kept.due_ms, "notice": kept.notice })
            });
            output::json(&json!({ "notices": listed.collect::<Vec<Value>>() }))?;
            return Ok(CliExit::Done);
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
        Ok(CliExit::Done)
    }
}

impl NoticesAcknowledgeArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let mut count = 0;
        loop {
            let ids: Vec<u64> = match self.all {
                true => use_cases
                    .wait(use_cases.notices(NOTICES_MAX))?
                    .iter()
                    .map(|kept| kept.id)
                    .collect(),
                false => self.notices.clone(),
            };
            count += use_cases.wait(use_cases.acknowledge(&ids))?;
            if !self.all || ids.is_empty() {
                break;
            }
        }
        if let ([one, rest @ ..], 0) = (self.notices.as_slice(), count) {
            let message = match rest {
                [] => format!("there is no notice {one}"),
                _ => "none of these notices is there".to_owned(),
            };
            return Err(CliError::failed("E_NOT_FOUND", message)
                .hint("`drawloom notices list` lists those that wait"));
        }
        match OutputFormat::from(self.json) {
            OutputFormat::Json => {
                output::json(&json!({ "notices": count, "did": "acknowledged" }))?
            }
            OutputFormat::Text => output::say(format!("acknowledged: {count}")),
        }
        Ok(CliExit::Done)
    }
}
