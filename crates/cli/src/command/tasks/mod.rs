//! `drawloom tasks`: the tasks of runs: who waits for what, and the answers.

mod act;
mod answer;
mod list;
mod show;

use clap::Subcommand;

use crate::exit::{Exit, Trouble};
use crate::session::Session;

/// Look at the tasks of runs, and answer those that wait for a person
#[derive(Debug, Subcommand)]
pub(crate) enum Tasks {
    List(list::List),
    Show(show::Show),
    Answer(answer::Answer),
    Assign(act::Assign),
    Retry(act::Retry),
}

impl Tasks {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        match self {
            Self::List(list) => list.run(session),
            Self::Show(show) => show.run(session),
            Self::Answer(answer) => answer.run(session),
            Self::Assign(assign) => assign.run(session),
            Self::Retry(retry) => retry.run(session),
        }
    }
}
