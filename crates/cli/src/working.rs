//! The flags of commands that have a model work with tools, and the end of such a run.

use std::path::{Path, PathBuf};

use app::Project;
use app::ai::{Mode, TapeWish, Wish};
use app::tasks::{self, Ended, Job, RunKind, Start};
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::Value;

use crate::exit::Trouble;
use crate::interrupt;
use crate::live::Live;
use crate::output::{self, Form};
use crate::session::Session;

/// Who does the work, for every command that has some.
#[derive(Args, Debug)]
pub(crate) struct Working {
    /// Go on where the last run of this file stopped; what was done is not done again
    #[arg(long, help_heading = "Work")]
    resume: bool,
    #[command(flatten)]
    hands: Hands,
    /// Print every event as one line of JSON, the result last
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Whose hands do the work.
#[derive(Args, Debug, Default)]
pub(crate) struct Hands {
    /// Who does the work: api (a model), command (a program, in a copy of the project) or auto
    #[arg(long, value_name = "MODE", value_enum, hide_possible_values = true)]
    #[arg(help_heading = "Work")]
    ai_mode: Option<WorkMode>,
    /// Keep what the model answers in this folder, to be replayed
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "replay",
        help_heading = "Work"
    )]
    record: Option<PathBuf>,
    /// Answer from a folder that `--record` made, and ask nobody
    #[arg(long, value_name = "DIR", help_heading = "Work")]
    replay: Option<PathBuf>,
}

/// The modes in which somebody can work with tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorkMode {
    Auto,
    Api,
    Command,
}

impl Working {
    pub(crate) fn form(&self) -> Form {
        Form::from(self.json)
    }

    /// Does the work, watched, and ended by Ctrl-C.
    pub(crate) fn watched<T>(
        &self,
        session: &Session,
        project: &Project,
        work: impl FnOnce(Job<'_>) -> T,
    ) -> T {
        let mut live = Live::new(self.form());
        let _busy = interrupt::Busy::start();
        let done = work(Job {
            project,
            surroundings: &session.surroundings,
            wish: self.hands.wish(),
            start: self.start(),
            observer: &mut live,
            cancel: interrupt::cancel(),
        });
        live.finish();
        done
    }

    /// Says that there is a run to go on with, before another is begun.
    pub(crate) fn say_unfinished(
        &self,
        session: &Session,
        project: &Project,
        (kind, file): (RunKind, &Path),
    ) -> Result<(), Trouble> {
        if self.start() == Start::Resume || self.form() == Form::Json {
            return Ok(());
        }
        if let Some(run) = tasks::unfinished(project, &session.surroundings, kind, file)? {
            output::say(format!(
                "note: run {run} of this file was not finished; `--resume` goes on with it"
            ));
        }
        Ok(())
    }

    fn start(&self) -> Start {
        match self.resume {
            true => Start::Resume,
            false => Start::Anew,
        }
    }
}

impl Hands {
    pub(crate) fn wish(&self) -> Wish {
        let mode = match (self.ai_mode, &self.replay) {
            (Some(WorkMode::Auto), _) => Some(Mode::Auto),
            (Some(WorkMode::Api), _) => Some(Mode::Api),
            (Some(WorkMode::Command), _) => Some(Mode::Command),
            // What was recorded is what a model said.
            (None, Some(_)) => Some(Mode::Api),
            (None, None) => None,
        };
        let taping = match (&self.record, &self.replay) {
            (Some(folder), _) => TapeWish::Record(folder.clone()),
            (None, Some(folder)) => TapeWish::Replay(folder.clone()),
            (None, None) => TapeWish::No,
        };
        Wish {
            mode,
            taping,
            ..Wish::default()
        }
    }
}

/// A path as it is typed in a shell.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    match shlex::try_quote(&text) {
        Ok(quoted) => quoted.into_owned(),
        Err(_) => text,
    }
}

/// The last event of a run: what came of it, with the run's number and warnings in front.
pub(crate) fn result_event<T>(
    ended: &Ended<T>,
    status: Option<&str>,
    came: &impl Serialize,
) -> Value {
    let mut event = serde_json::Map::new();
    event.insert("event".to_owned(), "result".into());
    event.insert("run".to_owned(), ended.run.0.into());
    if let Some(status) = status {
        event.insert("status".to_owned(), status.into());
    }
    event.insert("warnings".to_owned(), ended.warnings.clone().into());
    if let Ok(Value::Object(fields)) = serde_json::to_value(came) {
        event.extend(fields);
    }
    Value::Object(event)
}

/// Says what went wrong beside the work.
pub(crate) fn say_warnings(warnings: &[String], form: Form) {
    if form == Form::Text {
        warnings
            .iter()
            .for_each(|text| output::say(format!("warning: {}", output::harmless(text))));
    }
}
