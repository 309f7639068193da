//! `drawloom tasks answer`: a person does a manual task, or decides about one on hold.

use app::workflows::Loom;
use clap::Args;
use flow::Which;
use flow::engine::{Answer as Given, Command, RunStatus, TaskRow};
use serde_json::json;

use super::list::waits_for_a_person;
use super::named;
use crate::command::workflow::{Keeping, answer_value, ask};
use crate::exit::{Exit, Trouble};
use crate::output::{self, Form};
use crate::session::Session;

/// Answer a task that waits for a person
///
/// The answer is the task's output: a text, JSON, @FILE or - for stdin, or NAME=VALUE words. Without one,
/// you are asked at the terminal. A step with an `outputSchema` refuses what does not fit. A call back
/// proves with `--token` that it may answer.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom tasks answer last                    (asks, if one task of the last run waits)
  drawloom tasks answer last/G approved=true note='looks good'
  drawloom tasks answer last/G '{\"approved\": true}'
  drawloom tasks answer last/G @review.md
  drawloom tasks answer last/G --accept
  drawloom tasks answer last/G --fail 'nobody knows'")]
pub(crate) struct Answer {
    /// The task: `RUN/STEP`, `RUN/STEP~VISIT` or `RUN/FOREACH[INDEX]/STEP`; or a run of which one task
    /// waits
    task: String,
    /// The output: a text, JSON, @FILE, -, or NAME=VALUE words
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
        let task = self.task(&loom)?;
        if let Some(token) = &self.token {
            loom.check_token(&task.id, token)?;
        }
        let form = Form::from(self.json);
        let Some(answer) = answer else {
            let is_person = form == Form::Text && self.token.is_none() && output::has_person();
            return match is_person && ask(&loom, &task)? {
                true => told(&loom, &task, form),
                false => Err(Trouble::usage("there is no answer")
                    .hint("give one, or `--accept`, or `--fail WHY`")),
            };
        };
        let by = match (&self.by, &self.token) {
            (Some(by), _) => by.clone(),
            (None, Some(_)) => "callback".to_owned(),
            (None, None) => loom.person(),
        };
        let command = Command::Answer {
            task: task.id.clone(),
            by,
            answer,
        };
        let refused = |error| {
            let id = &task.id;
            Trouble::from(error).or_hint(format!("`drawloom tasks show {id}` shows how it stands"))
        };
        loom.execute(command).map_err(refused)?;
        told(&loom, &task, form)
    }

    /// The task that is named, or the only one of the run that is.
    fn task(&self, loom: &Loom) -> Result<TaskRow, Trouble> {
        if self.task.contains('/') {
            return named(loom, &self.task);
        }
        let run = loom.find(&self.task)?;
        let mut waiting = loom.tasks(Some(&run.id), Which::Active)?;
        waiting.retain(waits_for_a_person);
        if waiting.len() > 1 {
            let names: Vec<String> = waiting.iter().map(|task| task.id.to_string()).collect();
            let message = format!("{} tasks of this run wait", waiting.len());
            return Err(Trouble::usage(message).hint(format!("name one: {}", names.join(", "))));
        }
        waiting.pop().ok_or_else(|| {
            let id = &run.id;
            Trouble::failed(
                "E_NOT_FOUND",
                format!("no task of the run {id} waits for a person"),
            )
            .hint(format!("`drawloom runs show {id}` shows how it stands"))
        })
    }

    fn answer(&self, session: &Session) -> Result<Option<Given>, Trouble> {
        if self.accept {
            return Ok(Some(Given::Accept));
        }
        if let Some(message) = &self.fail {
            let message = message.clone();
            return Ok(Some(Given::Failed { message }));
        }
        if self.output.is_empty() {
            return Ok(None);
        }
        let output = answer_value(session, &self.output)?;
        Ok(Some(Given::Done { output }))
    }
}

/// Says what the answer came to: the run goes on, or it has ended with it.
fn told(loom: &Loom, task: &TaskRow, form: Form) -> Result<Exit, Trouble> {
    let id = &task.id;
    if form == Form::Json {
        output::json(&json!({ "task": id, "did": "answered" }))?;
        return Ok(Exit::Done);
    }
    output::say(format!("{id} is answered"));
    let run = loom.run(&id.run)?;
    output::say(match run.map(|run| run.status) {
        Some(status) if status.is_terminal() => format!("the run is {}", status.name()),
        Some(RunStatus::Paused) => format!(
            "the run is paused; `drawloom runs show {}` shows why",
            id.run
        ),
        _ => format!(
            "a worker goes on with the run, or `drawloom runs resume {} --wait`",
            id.run
        ),
    });
    Ok(Exit::Done)
}
