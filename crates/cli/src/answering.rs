//! The flags about who answers questions, and what is said when a run with questions ends.

use std::ffi::OsString;
use std::path::PathBuf;

use app::ai::{Answerer, Attempt, Came, Company, Ended, Errand, Kept, Mode, TapeWish, Wish};
use app::{Project, ai};
use clap::{Args, ValueEnum};
use recipe::{Needed, Request};
use serde_json::{Map, Value, json};

use crate::exit::{Exit, Trouble};
use crate::output::{self, Form};
use crate::person::Echo;
use crate::respondent::Respondent;
use crate::session::Session;
use crate::watcher::Watcher;
use crate::{interrupt, rerun};

/// Who answers questions, for every command that asks some.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Questions")]
pub(crate) struct Answering {
    /// Who answers `@ai` questions: auto, api, command, stdio, stdout or off (you, on a terminal)
    #[arg(long, value_name = "MODE", value_enum, hide_possible_values = true)]
    pub(crate) ai_mode: Option<AiMode>,
    /// Keep what is answered in this folder, to be replayed
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,
    /// Answer from a folder that `--record` made, and ask nobody
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

impl Answering {
    pub(crate) fn wish(&self) -> Wish {
        let mode = self.ai_mode.map(|mode| match mode {
            AiMode::Auto => Mode::Auto,
            AiMode::Api => Mode::Api,
            AiMode::Command => Mode::Command,
            AiMode::Stdio => Mode::Stdio,
            AiMode::Stdout => Mode::Stdout,
            AiMode::Off => Mode::Off,
        });
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

/// What a run with questions came to, for the command to say.
pub(crate) enum Closed<T> {
    To(T, Option<GoOn>),
    Deferred(Box<Needed>),
    /// Everything has been said.
    Left(Exit),
}

/// Where answers are kept, and the command that goes on with them.
#[derive(Debug)]
pub(crate) struct GoOn {
    path: String,
    command: String,
    count: usize,
}

impl GoOn {
    fn new(
        session: &Session,
        project: &Project,
        (words, asked): (&[OsString], &Map<String, Value>),
        kept: &Kept,
    ) -> Self {
        let path = session.shown(&project.folder().join(kept.path.as_path()));
        Self {
            command: rerun::go_on(words, &path, asked),
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
            "{what} kept in {}; to go on with {them}:\n  {}",
            self.path, self.command
        )
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({ "path": self.path, "command": self.command })
    }
}

/// A run whose questions are answered on the way.
pub(crate) struct Job<'a> {
    pub(crate) session: &'a Session,
    pub(crate) project: &'a Project,
    pub(crate) wish: Wish,
    pub(crate) form: Form,
}

impl Job<'_> {
    /// Attempts the run, has questions answered, and says what that cost.
    pub(crate) fn answer<T>(
        &self,
        request: &mut Request,
        attempt: &mut dyn FnMut(&Request) -> Result<Attempt<T>, recipe::Error>,
    ) -> Ended<T> {
        let echo = Echo::from(self.form);
        let surroundings = &self.session.surroundings;
        let mut respondent = Respondent::new(surroundings.editor());
        let mut watcher = Watcher::new(echo);
        let company = Company {
            person: respondent.if_there(echo),
            observer: &mut watcher,
            cancel: interrupt::cancel(),
        };
        let wish = self.wish.clone();
        let mut answerer = Answerer::new(self.project, surroundings, wish, Errand::Answer, company);
        let mut busy = None;
        let ended = ai::answer(&mut answerer, request, &mut |request| {
            busy = None;
            let came = attempt(request)?;
            // From here on somebody is asked, and Ctrl-C must not lose what they said.
            if matches!(came, Attempt::Needed(_)) {
                busy = Some(interrupt::Busy::start());
            }
            Ok(came)
        });
        let trouble = answerer.trouble();
        drop(answerer);
        drop(busy);
        say_spent(watcher.spent(), trouble, self.form);
        ended
    }

    /// Sorts out how it ended. Answers that were given in vain are kept, and the way on is said.
    pub(crate) fn close<T>(
        &self,
        ended: Ended<T>,
        again: (&[OsString], &Map<String, Value>),
    ) -> Result<Closed<T>, Trouble> {
        let go_on = match ended.kept {
            Some(Ok(kept)) => Some(GoOn::new(self.session, self.project, again, &kept)),
            Some(Err(error)) => {
                output::say(format!("warning: the answers could not be kept: {error}"));
                None
            }
            None => None,
        };
        match ended.came {
            Ok(Came::To(result)) => Ok(Closed::To(result, go_on)),
            Ok(Came::Deferred(needed)) => Ok(Closed::Deferred(needed)),
            Ok(Came::Left) => {
                say_left(go_on.as_ref());
                Ok(Closed::Left(Exit::Interrupted))
            }
            Err(_) if interrupt::was_interrupted() => {
                say_left(go_on.as_ref());
                Ok(Closed::Left(Exit::Interrupted))
            }
            Err(error) => {
                let trouble = Trouble::from(error);
                Err(match go_on {
                    Some(go_on) => trouble.and_note(go_on.sentence()),
                    None => trouble,
                })
            }
        }
    }
}

fn say_left(go_on: Option<&GoOn>) {
    interrupt::told();
    output::say("stopped: nothing was written");
    if let Some(go_on) = go_on {
        output::say(go_on.sentence());
    }
}

/// Says what the asking cost, and what went wrong beside it.
pub(crate) fn say_spent(spent: Option<String>, trouble: Option<String>, form: Form) {
    if form == Form::Json {
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
