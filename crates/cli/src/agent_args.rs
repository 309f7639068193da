//! The flags of commands that have a model work with tools, and the end of such a run.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use app::Project;
use app::ai::{AiOverrides, TransportMode};
use app::run_target::TargetKind;
use app::tasks::{self, EndedRun, StartMode, TaskRequest};
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::Value;

use crate::agent_progress::{AgentProgress, TaskProgress};
use crate::exit::CliError;
use crate::interrupt;
use crate::output::{self, OutputFormat};
use crate::session::CliSession;

/// Flags of every command that has an agent work.
#[derive(Args, Debug)]
pub(crate) struct AgentArgs {
    /// Continue where the last run of this file stopped; finished work is not repeated
    #[arg(long, help_heading = "Work")]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) hands: AgentModeArgs,
    /// Print every event as one line of JSON, the result last
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Flags that choose who does the work.
#[derive(Args, Debug, Default)]
pub(crate) struct AgentModeArgs {
    /// How the work is done: api (by a model), command (by a program, in a copy of the project) or
    /// auto
    #[arg(long, value_name = "MODE", value_enum, hide_possible_values = true)]
    #[arg(help_heading = "Work")]
    pub(crate) ai_mode: Option<WorkMode>,
    /// Record the model's answers in this folder, for `--replay`
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "replay",
        help_heading = "Work"
    )]
    pub(crate) record: Option<PathBuf>,
    /// Take the answers from a folder that `--record` wrote, and ask no model
    #[arg(long, value_name = "DIR", help_heading = "Work")]
    pub(crate) replay: Option<PathBuf>,
}

/// The modes in which an agent can work with tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorkMode {
    Auto,
    Api,
    Command,
}

impl AgentArgs {
    pub(crate) fn form(&self) -> OutputFormat {
        OutputFormat::from(self.json)
    }

    /// Does the work, watched, and ended by Ctrl-C.
    pub(crate) fn watched<T>(
        &self,
        session: &CliSession,
        project: &Arc<Project>,
        work: impl AsyncFnOnce(TaskRequest<'_>) -> T,
    ) -> T {
        let live = Arc::new(Mutex::new(AgentProgress::new(self.form())));
        let _busy = interrupt::InterruptGuard::work();
        let shared = Arc::clone(&live);
        let done = session.wait(work(TaskRequest {
            project: Arc::clone(project),
            surroundings: &session.surroundings,
            wish: self.hands.wish(),
            start: self.start(),
            observers: Arc::new(move || Box::new(TaskProgress::new(&shared))),
            cancel: interrupt::cancel(),
        }));
        live.lock().unwrap_or_else(PoisonError::into_inner).finish();
        done
    }

    /// Says that there is a run to go on with, before another is begun.
    pub(crate) fn say_unfinished(
        &self,
        session: &CliSession,
        project: &Arc<Project>,
        (kind, file): (TargetKind, &Path),
    ) -> Result<(), CliError> {
        if self.start() == StartMode::Resume || self.form() == OutputFormat::Json {
            return Ok(());
        }
        let project = Arc::clone(project);
        if let Some(run) = session.wait(tasks::unfinished(
            project,
            &session.surroundings,
            (kind, file),
        ))? {
            output::say(format!(
                "note: run {run} of this file was not finished; `--resume` continues it"
            ));
        }
        Ok(())
    }

    fn start(&self) -> StartMode {
        match self.resume {
            true => StartMode::Resume,
            false => StartMode::Anew,
        }
    }
}

impl AgentModeArgs {
    pub(crate) fn wish(&self) -> AiOverrides {
        let mode = match (self.ai_mode, &self.replay) {
            (Some(WorkMode::Auto), _) => Some(TransportMode::Auto),
            (Some(WorkMode::Api), _) => Some(TransportMode::Api),
            (Some(WorkMode::Command), _) => Some(TransportMode::Command),
            // A recording holds the answers of a model.
            (None, Some(_)) => Some(TransportMode::Api),
            (None, None) => None,
        };
        let taping = crate::ai_args::recording(self.record.as_ref(), self.replay.as_ref());
        AiOverrides {
            mode,
            taping,
            ..AiOverrides::default()
        }
    }
}

/// Returns a path as it is typed in a shell.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    match shlex::try_quote(&text) {
        Ok(quoted) => quoted.into_owned(),
        Err(_) => text,
    }
}

/// Makes the last event of a run: its outcome, with the run's id and warnings in front.
pub(crate) fn result_event<T>(
    ended: &EndedRun<T>,
    status: Option<&str>,
    came: &impl Serialize,
) -> Value {
    let mut event = serde_json::Map::new();
    event.insert("event".to_owned(), "result".into());
    event.insert("run".to_owned(), ended.run.as_str().into());
    if let Some(status) = status {
        event.insert("status".to_owned(), status.into());
    }
    event.insert("warnings".to_owned(), ended.warnings.clone().into());
    if let Ok(Value::Object(fields)) = serde_json::to_value(came) {
        event.extend(fields);
    }
    Value::Object(event)
}

/// Prints the warnings of a run.
pub(crate) fn say_warnings(warnings: &[String], form: OutputFormat) {
    if form == OutputFormat::Text {
        warnings
            .iter()
            .for_each(|text| output::say(format!("warning: {}", output::harmless(text))));
    }
}
