//! `drawloom builds publish`: pushes what a build made, again or for the first time.

use app::builds;
use clap::Args;

use crate::agent_args::AgentModeArgs;
use crate::build_run::{BuildIdArgs, report, watched};
use crate::command::workflow::DatabaseArgs;
use crate::exit::{CliError, CliExit};
use crate::output::OutputFormat;
use crate::session::CliSession;

/// Push the branch of a build and open its pull request
///
/// For a build whose push or pull request failed, or that was kept local with `--no-pr`. No model
/// is asked. Publishing again updates the open pull request of the branch.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom builds publish last")]
pub(crate) struct BuildsPublishArgs {
    #[command(flatten)]
    keeping: DatabaseArgs,
    #[command(flatten)]
    which: BuildIdArgs,
    /// Print every event as one line of JSON, the result last
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl BuildsPublishArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let session = &self.keeping.session(session);
        let project = session.project()?;
        let form = OutputFormat::from(self.json);
        let id = self.which.find(session, &project)?;
        let nobody = AgentModeArgs::default();
        let done = watched(session, &project, (&nobody, form), async |order| {
            builds::publish(order, &id).await
        })?;
        report(&done, form)
    }
}
