//! The flags that choose who answers questions, and the messages at the end of a run with
//! questions.

use std::ffi::OsString;
use std::path::PathBuf;

use app::ai::{
    AiOverrides, AskOutcome, AskReport, CallPurpose, LazyAnswerer, RecipeAttempt, RecordingFlag,
    RunParticipants, SavedAnswers, TransportMode,
};
use app::{Project, ai};
use clap::{Args, ValueEnum};
use recipe::{NeededAnswers, RecipeRunRequest};
use serde_json::{Map, Value, json};

use crate::ask_progress::AskProgress;
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::respondent::TerminalRespondent;
use crate::session::CliSession;
use crate::terminal_person::CommandEcho;
use crate::{interrupt, retry_command};

/// Flags that choose who answers, for every command that asks questions.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Questions")]
pub(crate) struct AiArgs {
    /// How `@ai` questions are answered: auto, api, command, stdio, stdout or off (by you, on a
    /// terminal)
    #[arg(long, value_name = "MODE", value_enum, hide_possible_values = true)]
    pub(crate) ai_mode: Option<AiMode>,
    /// Record the answers in this folder, for `--replay`
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,
    /// Take the answers from a folder that `--record` wrote, and ask no model
    #[arg(long, value_name = "DIR")]
    pub(crate) replay: Option<PathBuf>,
}

/// The modes, as `--ai-mode` spells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AiMode {
    Auto,
    Api,
    Command,
    Stdio,
    Stdout,
    Off,
}

impl AiArgs {
    pub(crate) fn wish(&self) -> AiOverrides {
        let mode = self.ai_mode.map(|mode| match mode {
            AiMode::Auto => TransportMode::Auto,
            AiMode::Api => TransportMode::Api,
            AiMode::Command => TransportMode::Command,
            AiMode::Stdio => TransportMode::Stdio,
            AiMode::Stdout => TransportMode::Stdout,
            AiMode::Off => TransportMode::Off,
        });
        let taping = recording(self.record.as_ref(), self.replay.as_ref());
        AiOverrides {
            mode,
            taping,
            ..AiOverrides::default()
        }
    }
}

/// Reads `--record` and `--replay`, of which clap takes one.
pub(crate) fn recording(record: Option<&PathBuf>, replay: Option<&PathBuf>) -> RecordingFlag {
    match (record, replay) {
        (Some(folder), _) => RecordingFlag::Record(folder.clone()),
        (None, Some(folder)) => RecordingFlag::Replay(folder.clone()),
        (None, None) => RecordingFlag::No,
    }
}

/// The outcome of a run with questions, for the command to report.
pub(crate) enum AnsweredRun<T> {
    To(T, Option<ResumeHint>),
    Deferred(Box<NeededAnswers>),
    /// Everything has been said.
    Left(CliExit),
}

/// The file that holds the answers, and the command that continues with them.
#[derive(Debug)]
pub(crate) struct ResumeHint {
    path: String,
    command: String,
    count: usize,
}

impl ResumeHint {
    fn new(
        session: &CliSession,
        project: &Project,
        (words, asked): (&[OsString], &Map<String, Value>),
        kept: &SavedAnswers,
    ) -> Self {
        let path = session.shown(&project.folder().join(kept.path.as_path()));
        Self {
            command: retry_command::go_on(words, &path, asked),
            path,
            count: kept.count,
        }
    }

    pub(crate) fn sentence(&self) -> String {
        let (what, them) = match self.count {
            1 => ("1 answer is".to_owned(), "it"),
            count => (format!("{count} answers are"), "them"),
        };
        format!(
            "{what} saved in {}; to continue with {them}:\n  {}",
            self.path, self.command
        )
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({ "path": self.path, "command": self.command })
    }
}

/// A run whose questions are answered on the way.
pub(crate) struct QuestionRun<'a> {
    pub(crate) session: &'a CliSession,
    pub(crate) project: &'a Project,
    pub(crate) wish: AiOverrides,
    pub(crate) form: OutputFormat,
}

impl QuestionRun<'_> {
    /// Attempts the run, has questions answered, and says what that cost.
    pub(crate) fn answer<T>(
        &self,
        request: &mut RecipeRunRequest,
        attempt: &mut dyn FnMut(&RecipeRunRequest) -> Result<RecipeAttempt<T>, recipe::Error>,
    ) -> AskReport<T> {
        let echo = CommandEcho::from(self.form);
        let surroundings = &self.session.surroundings;
        let mut respondent = TerminalRespondent::new(surroundings.editor());
        let mut watcher = AskProgress::new(echo);
        let company = RunParticipants {
            person: respondent.if_there(echo),
            observer: &mut watcher,
            cancel: interrupt::cancel(),
        };
        let wish = self.wish.clone();
        let mut answerer = LazyAnswerer::new(
            self.project,
            surroundings,
            wish,
            CallPurpose::Answer,
            company,
        );
        let mut busy = None;
        let ended = ai::answer(&mut answerer, request, &mut |request| {
            busy = None;
            let came = attempt(request)?;
            // From here on a person is asked, and Ctrl-C must not lose their answers.
            if matches!(came, RecipeAttempt::Needed(_)) {
                busy = Some(interrupt::InterruptGuard::start());
            }
            Ok(came)
        });
        let trouble = answerer.trouble();
        drop(answerer);
        drop(busy);
        say_spent(watcher.spent(), trouble, self.form);
        ended
    }

    /// Reports how the run ended. Answers of a failed run are saved, and the report says how to go
    /// on.
    pub(crate) fn close<T>(
        &self,
        ended: AskReport<T>,
        again: (&[OsString], &Map<String, Value>),
    ) -> Result<AnsweredRun<T>, CliError> {
        let go_on = match ended.kept {
            Some(Ok(kept)) => Some(ResumeHint::new(self.session, self.project, again, &kept)),
            Some(Err(error)) => {
                output::say(format!("warning: the answers could not be kept: {error}"));
                None
            }
            None => None,
        };
        match ended.came {
            Ok(AskOutcome::To(result)) => Ok(AnsweredRun::To(result, go_on)),
            Ok(AskOutcome::Deferred(needed)) => Ok(AnsweredRun::Deferred(needed)),
            Ok(AskOutcome::Left) => {
                say_left(go_on.as_ref());
                Ok(AnsweredRun::Left(CliExit::Interrupted))
            }
            Err(_) if interrupt::was_interrupted() => {
                say_left(go_on.as_ref());
                Ok(AnsweredRun::Left(CliExit::Interrupted))
            }
            Err(error) => {
                let trouble = CliError::from(error);
                Err(match go_on {
                    Some(go_on) => trouble.and_note(go_on.sentence()),
                    None => trouble,
                })
            }
        }
    }
}

fn say_left(go_on: Option<&ResumeHint>) {
    // Files that were put back have been told.
    if !interrupt::was_told() {
        interrupt::told();
        output::say("stopped: nothing was written");
    }
    if let Some(go_on) = go_on {
        output::say(go_on.sentence());
    }
}

/// Reports the cost of the answers, and problems met besides.
pub(crate) fn say_spent(spent: Option<String>, trouble: Option<String>, form: OutputFormat) {
    if form == OutputFormat::Json {
        return;
    }
    if let Some(spent) = spent {
        output::say(spent);
    }
    if let Some(why) = trouble {
        output::say(format!(
            "warning: the call could not be written into {}: {why}",
            ai::LEDGER_DIR
        ));
    }
}
