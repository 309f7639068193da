//! `drawloom builds approve|reject|cancel`: decides about a build. Of two decisions at once one
//! wins, and the other is refused.

use app::builds;
use builder::decide::PlanApproval;
use clap::Args;

use crate::agent_args::AgentModeArgs;
use crate::build_run::{BuildIdArgs, decided, document, report, watched};
use crate::command::workflow::DatabaseArgs;
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::session::CliSession;

/// Approve a plan and build it
///
/// Ends like `drawloom build`: with 1 if the build failed or ended as a draft. If another decision
/// came first, nothing happens and the error is E_CONFLICT.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom builds approve last
  drawloom builds approve last --dry-run
  drawloom builds approve 1k8x2m9q4t7wd --json")]
pub(crate) struct BuildsApproveArgs {
    #[command(flatten)]
    keeping: DatabaseArgs,
    #[command(flatten)]
    which: BuildIdArgs,
    /// Do everything up to the review, and publish nothing
    #[arg(long)]
    dry_run: bool,
    /// Keep the branch here: no push, no pull request
    #[arg(long)]
    no_pr: bool,
    /// Stop before anything is pushed, for `drawloom builds review`
    #[arg(long)]
    review: bool,
    #[command(flatten)]
    hands: AgentModeArgs,
    /// Print every event as one line of JSON, the result last
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl BuildsApproveArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let session = &self.keeping.session(session);
        let project = session.project()?;
        let form = OutputFormat::from(self.json);
        let id = self.which.find(session, &project)?;
        let done = watched(session, &project, (&self.hands, form), async |order| {
            let how = PlanApproval {
                dry_run: self.dry_run,
                is_local: self.no_pr,
                review: self.review,
            };
            builds::approve(order, &id, how).await
        })?;
        report(&done, form)
    }
}

/// Drop a plan that waits for a decision, or work that waits for a review
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom builds reject last")]
pub(crate) struct BuildsRejectArgs {
    #[command(flatten)]
    keeping: DatabaseArgs,
    #[command(flatten)]
    which: BuildIdArgs,
    /// Print the build as one JSON document
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl BuildsRejectArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let session = &self.keeping.session(session);
        let project = session.project()?;
        let form = OutputFormat::from(self.json);
        let id = self.which.find(session, &project)?;
        let done = decided(session, &project, form, async |order| {
            builds::reject(order, &id).await
        })?;
        match form {
            OutputFormat::Json => output::json(&document(&done.job))?,
            OutputFormat::Text => {
                output::say(format!("the build {id} is dropped; nothing was pushed"))
            }
        }
        Ok(CliExit::Done)
    }
}

/// Cancel a build at any stage
///
/// The process that works on it stops within a moment. The files written so far are kept as a
/// patch; `drawloom builds show` says where.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom builds cancel last")]
pub(crate) struct BuildsCancelArgs {
    #[command(flatten)]
    keeping: DatabaseArgs,
    #[command(flatten)]
    which: BuildIdArgs,
    /// Print the build as one JSON document
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl BuildsCancelArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let session = &self.keeping.session(session);
        let project = session.project()?;
        let form = OutputFormat::from(self.json);
        let id = self.which.find(session, &project)?;
        let done = decided(session, &project, form, async |order| {
            builds::cancel(order, &id).await
        })?;
        match form {
            OutputFormat::Json => output::json(&document(&done.job))?,
            OutputFormat::Text => {
                output::say(format!("the build {id} is cancelled"));
                let notes = done.job.result.notes.iter();
                notes.for_each(|note| output::say(format!("note: {}", output::harmless(note))));
            }
        }
        Ok(CliExit::Done)
    }
}
