//! `drawloom runs`: runs of every kind listed, those of the engine looked at and steered.

mod control;
mod delete;
mod list;
mod relocate;
mod rerun;
mod show;
mod signal;

use clap::Subcommand;

pub(crate) use list::{COUNTED_MAX, and_more, when};

use crate::exit::{CliError, CliExit};
use crate::session::CliSession;

/// List runs of every kind, show and control them
#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    List(list::RunsListArgs),
    Show(show::RunsShowArgs),
    Cancel(control::RunsCancelArgs),
    Pause(control::RunsPauseArgs),
    Resume(control::RunsResumeArgs),
    Rerun(rerun::RunsRerunArgs),
    Delete(delete::RunsDeleteArgs),
    Signal(signal::RunsSignalArgs),
    Move(relocate::RunsMoveArgs),
}

impl RunsCommand {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        match self {
            Self::List(list) => list.run(session),
            Self::Show(show) => show.run(session),
            Self::Cancel(cancel) => cancel.run(session),
            Self::Pause(pause) => pause.run(session),
            Self::Resume(resume) => resume.run(session),
            Self::Rerun(rerun) => rerun.run(session),
            Self::Delete(delete) => delete.run(session),
            Self::Signal(signal) => signal.run(session),
            Self::Move(relocate) => relocate.run(session),
        }
    }
}
