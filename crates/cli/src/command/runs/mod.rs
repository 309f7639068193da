//! `drawloom runs`: runs of workflows, looked at and steered.

mod delete;
mod list;
mod rerun;
mod show;
mod signal;
mod steer;

use clap::Subcommand;

pub(crate) use list::{COUNTED_MAX, and_more, when};

use crate::exit::{Exit, Trouble};
use crate::session::Session;

/// Look at runs of workflows, and steer them
#[derive(Debug, Subcommand)]
pub(crate) enum Runs {
    List(list::List),
    Show(show::Show),
    Cancel(steer::Cancel),
    Pause(steer::Pause),
    Resume(steer::Resume),
    Rerun(rerun::Rerun),
    Delete(delete::Delete),
    Signal(signal::Signal),
}

impl Runs {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        match self {
            Self::List(list) => list.run(session),
            Self::Show(show) => show.run(session),
            Self::Cancel(cancel) => cancel.run(session),
            Self::Pause(pause) => pause.run(session),
            Self::Resume(resume) => resume.run(session),
            Self::Rerun(rerun) => rerun.run(session),
            Self::Delete(delete) => delete.run(session),
            Self::Signal(signal) => signal.run(session),
        }
    }
}
