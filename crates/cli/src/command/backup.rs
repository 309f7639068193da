//! `drawloom backup` and `drawloom restore`: the database as one file, and back.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::database::size;
use crate::command::workflow::DatabaseArgs;
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;

/// Write a snapshot of the database into a file
///
/// Workers and servers go on meanwhile. A database on PostgreSQL is left to its own tools: the error
/// names the `pg_dump` command.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom backup ~/backups/monday.db
  drawloom restore ~/backups/monday.db")]
pub(crate) struct BackupDatabase {
    /// The new file
    file: PathBuf,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Put a backup in the place of the database
///
/// Stop workers and servers first. The database that was there stays beside it, under another name.
#[derive(Args, Debug)]
pub(crate) struct RestoreDatabase {
    /// The file that `drawloom backup` wrote
    file: PathBuf,
    #[command(flatten)]
    keeping: DatabaseArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl BackupDatabase {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let use_cases = self.keeping.look(session)?;
        let file = session.path(&self.file);
        let bytes = use_cases.wait(use_cases.back_up(&file))?;
        match OutputFormat::from(self.json) {
            OutputFormat::Json => output::json(&json!({ "file": file, "bytes": bytes }))?,
            OutputFormat::Text => {
                output::say(format!("{} has {}", self.file.display(), size(bytes)))
            }
        }
        Ok(CliExit::Done)
    }
}

impl RestoreDatabase {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = session.project()?;
        let file = session.path(&self.file);
        let restoring =
            app::restore_database(&project, &session.surroundings, self.keeping.url(), &file);
        let report = session.wait(restoring)?;
        match OutputFormat::from(self.json) {
            OutputFormat::Json => {
                output::json(&json!({ "database": report.place, "before": report.before }))?;
            }
            OutputFormat::Text => {
                output::say(format!("restored {}", session.shown(&report.place)));
                if let Some(before) = &report.before {
                    output::say(format!("the database before is {}", session.shown(before)));
                }
            }
        }
        Ok(CliExit::Done)
    }
}
