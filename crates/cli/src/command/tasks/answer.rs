//! `drawloom tasks answer`: a person does a manual task, or decides about one on hold.

use clap::Args;
use flow::engine::{Answer as Given, Command};
use serde_json::json;

use crate::command::workflow::{Keeping, input_value, value_of};
use crate::exit::{Exit, Trouble};
use crate::output::{self, Form};
use crate::session::Session;

/// Answer a task that waits for a person
///
/// The answer is the task's output: JSON, a text, @FILE or - for stdin, or NAME=VALUE words. A step with
/// an `outputSchema` refuses what does not fit. A call back proves with `--token` that it may answer.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom tasks answer last/G '{\"approved\": true}'
  drawloom tasks answer last/G approved=true note='looks good'
  drawloom tasks answer last/G --accept
  drawloom tasks answer last/G --fail 'nobody knows'")]
pub(crate) struct Answer {
    /// The task: `RUN/STEP`, `RUN/STEP~VISIT` or `RUN/FOREACH[INDEX]/STEP`
    task: String,
    /// The output: JSON, a text, @FILE, -, or NAME=VALUE words
    output: Vec<String>,
    /// What is there already is good enough
    #[arg(long, conflicts_with_all = ["output", "fail"])]
    accept: bool,
    /// It cannot be done, and why
    #[arg(long, value_name = "WHY", conflicts_with = "output")]
    fail: Option<String>,
    /// Who answers; you if left out
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// The token that was sent along with a call
    #[arg(long)]
    token: Option<String>,
    #[command(flatten)]
    keeping: Keeping,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Answer {
    pub(super) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let answer = self.answer(session)?;
        let loom = self.keeping.look(session)?;
        let task = loom.task(&self.task)?;
        if let Some(token) = &self.token {
            loom.check_token(&task.id, token)?;
        }
        let by = match (&self.by, &self.token) {
            (Some(by), _) => by.clone(),
            (None, Some(_)) => "callback".to_owned(),
            (None, None) => loom.person(),
        };
        loom.execute(Command::Answer {
            task: task.id.clone(),
            by,
            answer,
        })?;
        match Form::from(self.json) {
            Form::Json => output::json(&json!({ "task": task.id, "did": "answered" }))?,
            Form::Text => output::say(format!("{} is answered", task.id)),
        }
        Ok(Exit::Done)
    }

    fn answer(&self, session: &Session) -> Result<Given, Trouble> {
        if self.accept {
            return Ok(Given::Accept);
        }
        if let Some(message) = &self.fail {
            let message = message.clone();
            return Ok(Given::Failed { message });
        }
        let output = match self.output.as_slice() {
            [] => {
                return Err(Trouble::usage("there is no answer")
                    .hint("give one, or `--accept`, or `--fail WHY`"));
            }
            [one] if one.starts_with('@') || one == "-" => {
                input_value(session, Some(one), &[])?.unwrap_or_default()
            }
            [one] if !is_named(one) => value_of(one),
            words => input_value(session, None, words)?.unwrap_or_default(),
        };
        Ok(Given::Done { output })
    }
}

/// Whether a word is NAME=VALUE.
fn is_named(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || c == '_' || c == '-')
    })
}
