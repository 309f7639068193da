//! `drawloom builds show`: everything about one build.

use app::builds;
use clap::Args;
use serde_json::json;

use crate::build_report;
use crate::build_run::{BuildIdArgs, document};
use crate::command::workflow::DatabaseArgs;
use crate::exit::{CliError, CliExit};
use crate::output;
use crate::session::CliSession;

/// Show a build: its request, plan, checks and result
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom builds show last
  drawloom builds show last --history
  drawloom builds show last --plan > plan.json
  drawloom builds show last --json | jq .result.tokenUsage")]
pub(crate) struct BuildsShowArgs {
    #[command(flatten)]
    keeping: DatabaseArgs,
    #[command(flatten)]
    which: BuildIdArgs,
    /// Show its history, step by step
    #[arg(long)]
    history: bool,
    /// Print the plan alone, as JSON that `drawloom builds edit --plan` takes
    #[arg(long, conflicts_with_all = ["history", "json"])]
    plan: bool,
    /// Print the build as one JSON document
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl BuildsShowArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let session = &self.keeping.session(session);
        let project = session.project()?;
        let id = self.which.find(session, &project)?;
        let shown = session.wait(builds::show(&project, &session.surroundings, &id))?;
        if self.plan {
            let Some(plan) = &shown.job.plan else {
                let message = format!("the build {id} has no plan yet");
                return Err(CliError::failed("E_CONFLICT", message));
            };
            output::data(plan.to_json().as_bytes())?;
            return Ok(CliExit::Done);
        }
        let progress = match self.history || self.json {
            true => session.wait(builds::progress(&project, &session.surroundings, &id))?,
            false => Vec::new(),
        };
        if self.json {
            let mut value = document(&shown.job);
            value["isInterrupted"] = json!(shown.is_interrupted());
            value["isHeld"] = json!(shown.is_held);
            value["progress"] = json!(progress);
            output::json(&value)?;
            return Ok(CliExit::Done);
        }
        let mut text = build_report::whole(&shown.job);
        if let Some(failure) = &shown.job.error {
            let message = output::harmless(&failure.message);
            text.push_str(&format!("\nfailed at `{}`: {message}\n", failure.step));
        }
        if !progress.is_empty() {
            text.push('\n');
        }
        for told in &progress {
            let (status, message) = (told.status.as_str(), output::harmless(&told.message));
            let detail = told.detail.as_deref().map(crate::agent_progress::shown);
            let detail = detail.map_or(String::new(), |detail| format!("  {detail}"));
            text.push_str(&format!("{status:<15} {message}{detail}\n"));
        }
        output::styled(&text)?;
        if shown.is_interrupted() {
            output::say(format!(
                "no process works on it any more. `drawloom build --resume {id}` continues it, \
                 `drawloom builds cancel {id}` ends it"
            ));
        }
        Ok(CliExit::Done)
    }
}
