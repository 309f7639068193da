//! `drawloom database`: the database that runs are kept in.

use clap::{Args, Subcommand};
use serde_json::json;

use crate::command::workflow::Keeping;
use crate::exit::{Exit, Trouble};
use crate::output::{self, Form};
use crate::session::Session;

/// Look after the database that runs are kept in
#[derive(Debug, Subcommand)]
pub(crate) enum Database {
    Compact(Compact),
}

/// Give the room of deleted runs back to the disk
///
/// A SQLite file is written anew, which needs as much free room again as its rows take; other commands
/// wait meanwhile. On PostgreSQL, deleted rows make room for new ones, and only room at the end of a
/// table goes back to the disk.
#[derive(Args, Debug)]
pub(crate) struct Compact {
    #[command(flatten)]
    keeping: Keeping,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Database {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        match self {
            Self::Compact(compact) => compact.run(session),
        }
    }
}

impl Compact {
    fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let (before, after) = self.keeping.look(session)?.compact()?;
        match Form::from(self.json) {
            Form::Json => {
                output::json(&json!({ "before_bytes": before, "after_bytes": after }))?;
            }
            Form::Text => output::say(format!(
                "the database had {}, and has {}",
                size(before),
                size(after)
            )),
        }
        Ok(Exit::Done)
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}
