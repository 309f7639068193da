//! `drawloom builds publish`: pushes what a build made, again or for the first time.

use app::builds;
use clap::Args;

use crate::building::{Which, report, watched};
use crate::exit::{Exit, Trouble};
use crate::output::Form;
use crate::session::Session;
use crate::working::Hands;

/// Push the branch of a build and open its pull request
///
/// For a build whose push or pull request failed, or that was kept local with `--no-pr`. No model is
/// asked. Publishing twice is publishing once: an open pull request of the branch is brought up to
/// date.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom builds publish last")]
pub(crate) struct Publish {
    #[command(flatten)]
    which: Which,
    /// Print every event as one line of JSON, the result last
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl Publish {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let form = Form::from(self.json);
        let id = self.which.find(&project)?;
        let nobody = Hands::default();
        let done = watched(session, &project, (&nobody, form), |order| {
            builds::publish(order, &id)
        })?;
        report(&done, form)
    }
}
