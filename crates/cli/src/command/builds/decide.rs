//! `drawloom builds approve|reject|cancel`: what becomes of a build. Of two decisions at once one
//! holds, and the other is told so.

use app::builds;
use builder::decide::Approval;
use clap::Args;

use crate::building::{Which, decided, document, report, watched};
use crate::exit::{Exit, Trouble};
use crate::output::{self, Form};
use crate::session::Session;
use crate::working::Hands;

/// Approve a plan and build it
///
/// Ends like `drawloom build`: with 1 if the build failed or ended as a draft. If somebody else
/// decided meanwhile, nothing happens and the error is E_CONFLICT.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom builds approve last
  drawloom builds approve last --dry-run
  drawloom builds approve 1k8x2m9q4t7wd --json")]
pub(crate) struct Approve {
    #[command(flatten)]
    which: Which,
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
    hands: Hands,
    /// Print every event as one line of JSON, the result last
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl Approve {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let form = Form::from(self.json);
        let id = self.which.find(&project)?;
        let done = watched(session, &project, (&self.hands, form), |order| {
            let how = Approval {
                dry_run: self.dry_run,
                is_local: self.no_pr,
                review: self.review,
            };
            builds::approve(order, &id, how)
        })?;
        report(&done, form)
    }
}

/// Drop a plan that waits for a decision, or work that waits for a review
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom builds reject last")]
pub(crate) struct Reject {
    #[command(flatten)]
    which: Which,
    /// Print the build as one JSON document
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl Reject {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let form = Form::from(self.json);
        let id = self.which.find(&project)?;
        let done = decided(session, &project, form, |order| builds::reject(order, &id))?;
        match form {
            Form::Json => output::json(&document(&done.job))?,
            Form::Text => output::say(format!("the build {id} is dropped; nothing was pushed")),
        }
        Ok(Exit::Done)
    }
}

/// End a build wherever it is
///
/// A process that works on it notices within a moment and stops. What was written so far is kept as
/// a patch; `drawloom builds show` says where.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom builds cancel last")]
pub(crate) struct Cancel {
    #[command(flatten)]
    which: Which,
    /// Print the build as one JSON document
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl Cancel {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let form = Form::from(self.json);
        let id = self.which.find(&project)?;
        let done = decided(session, &project, form, |order| builds::cancel(order, &id))?;
        match form {
            Form::Json => output::json(&document(&done.job))?,
            Form::Text => {
                output::say(format!("the build {id} is cancelled"));
                let notes = done.job.result.notes.iter();
                notes.for_each(|note| output::say(format!("note: {}", output::harmless(note))));
            }
        }
        Ok(Exit::Done)
    }
}
