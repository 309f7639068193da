//! `drawloom builds`: the stored builds, and a person's decisions about them.

pub(crate) mod decide;
pub(crate) mod diff;
pub(crate) mod edit;
pub(crate) mod list;
pub(crate) mod publish;
pub(crate) mod review;
pub(crate) mod show;

use clap::Subcommand;

use crate::exit::{CliError, CliExit};
use crate::session::CliSession;

/// List and show builds, and decide about them
#[derive(Debug, Subcommand)]
pub(crate) enum BuildsCommand {
    List(list::BuildsListArgs),
    Show(show::BuildsShowArgs),
    Diff(diff::BuildsDiffArgs),
    Approve(decide::BuildsApproveArgs),
    Review(review::BuildsReviewArgs),
    Edit(edit::BuildsEditArgs),
    Reject(decide::BuildsRejectArgs),
    Cancel(decide::BuildsCancelArgs),
    Publish(publish::BuildsPublishArgs),
}

impl BuildsCommand {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        match self {
            Self::List(list) => list.run(session),
            Self::Show(show) => show.run(session),
            Self::Diff(diff) => diff.run(session),
            Self::Approve(approve) => approve.run(session),
            Self::Review(review) => review.run(session),
            Self::Edit(edit) => edit.run(session),
            Self::Reject(reject) => reject.run(session),
            Self::Cancel(cancel) => cancel.run(session),
            Self::Publish(publish) => publish.run(session),
        }
    }
}
