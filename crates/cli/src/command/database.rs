//! `drawloom database`: maintains the database that holds the runs.

use clap::{Args, Subcommand};
use serde_json::json;

use crate::command::workflow::DatabaseArgs;
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;

/// Maintain the database that holds the runs
#[derive(Debug, Subcommand)]
pub(crate) enum DatabaseCommand {
    Compact(DatabaseCompactArgs),
}

/// Free the disk space of deleted runs
///
/// A SQLite file is rewritten, which needs as much free space again as its rows take; other
/// commands wait meanwhile. On PostgreSQL, new rows reuse the space of deleted ones, and only space
/// at the end of a table is freed.
#[derive(Args, Debug)]
pub(crate) struct DatabaseCompactArgs {
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl DatabaseCommand {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        match self {
            Self::Compact(compact) => compact.run(session),
        }
    }
}

impl DatabaseCompactArgs {
    fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let (before, after) = use_cases.wait(use_cases.compact())?;
        match OutputFormat::from(self.json) {
            OutputFormat::Json => {
                output::json(&json!({ "before_bytes": before, "after_bytes": after }))?;
            }
            OutputFormat::Text => output::say(format!(
                "the database took {}, and now takes {}",
                size(before),
                size(after)
            )),
        }
        Ok(CliExit::Done)
    }
}

pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}
