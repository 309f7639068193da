//! `drawloom builds`: the builds that are kept, and what a person decides about them.

pub(crate) mod decide;
pub(crate) mod diff;
pub(crate) mod edit;
pub(crate) mod list;
pub(crate) mod publish;
pub(crate) mod review;
pub(crate) mod show;

use clap::Subcommand;

use crate::exit::{Exit, Trouble};
use crate::session::Session;

/// List builds, look at them, and decide about them
#[derive(Debug, Subcommand)]
pub(crate) enum Builds {
    List(list::List),
    Show(show::Show),
    Diff(diff::Diff),
    Approve(decide::Approve),
    Review(review::ReviewWork),
    Edit(edit::Edit),
    Reject(decide::Reject),
    Cancel(decide::Cancel),
    Publish(publish::Publish),
}

impl Builds {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
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
