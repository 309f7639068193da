//! `drawloom ai ask`: one question, answered in whatever mode is configured.

use std::path::Path;

use app::ai::question::{self, Reply};
use app::ai::{Answerer, Company, Errand, Mode, Spending};
use clap::Args;
use serde_json::json;

use crate::answering::{Answering, say_spent};
use crate::exit::{Exit, Trouble};
use crate::output::{self, Form};
use crate::person::Echo;
use crate::respondent::Respondent;
use crate::session::Session;
use crate::watcher::Watcher;
use crate::{input, interrupt};

/// Ask one question in whatever mode is configured
///
/// The answer goes to stdout, everything else to stderr. In the mode `stdout`, and where nobody is
/// configured, the question is printed as a document and the exit code is 2. Text that is piped in is
/// added to the question.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom ai ask \"Name three colours.\"
  git diff | drawloom ai ask \"What does this change?\"
  drawloom ai ask - < question.md
  drawloom ai ask \"Is it plugged in?\" --json")]
pub(crate) struct Ask {
    /// The question; `-` reads it from stdin. What is piped in is added to a question in words
    #[arg(allow_hyphen_values = true)]
    question: String,
    #[command(flatten)]
    answering: Answering,
    /// Print the answer with its cost as one JSON document
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl Ask {
    pub(crate) fn run(&self, session: &Session) -> Result<Exit, Trouble> {
        let project = session.project()?;
        let text = match self.question.as_str() {
            "-" => input::file_text(session, Path::new("-"))?,
            text => match input::piped_text()? {
                Some(piped) => format!("{text}\n\n{}", prompt::document::fenced("", &piped)),
                None => text.to_owned(),
            },
        };
        if text.trim().is_empty() {
            return Err(Trouble::usage("the question is empty")
                .hint("write it in quotes, or `-` to read it from stdin"));
        }
        let form = Form::from(self.json);
        let echo = Echo::from(form);
        let mut respondent = Respondent::new(session.surroundings.editor());
        let mut watcher = Watcher::new(echo);
        let company = Company {
            person: respondent.if_there(echo),
            observer: &mut watcher,
            cancel: interrupt::cancel(),
        };
        let wish = self.answering.wish();
        let surroundings = &session.surroundings;
        let mut answerer = Answerer::new(&project, surroundings, wish, Errand::Ask, company);
        let busy = interrupt::Busy::start();
        let asked = question::ask(&mut answerer, &text);
        let (mode, trouble) = (answerer.mode(), answerer.trouble());
        let because = answerer.because().to_owned();
        drop(answerer);
        drop(busy);
        say_spent(watcher.spent(), trouble, form);
        match asked? {
            Reply::Answered { text, spending } => {
                answered(&text, &spending, mode, form)?;
                Ok(Exit::Done)
            }
            Reply::Deferred { document } => {
                output::data(document.as_bytes())?;
                output::say(format!("nobody was asked: {because}"));
                output::say(
                    "set `ai.provider` and `ai.model`, or `ai.command`, in drawloom.toml, and leave \
                     `ai.mode` at \"auto\", to have questions answered (docs/ai.md)",
                );
                Ok(Exit::AnswersNeeded)
            }
            Reply::Left => Ok(Exit::Interrupted),
        }
    }
}

fn answered(text: &str, spending: &Spending, mode: Mode, form: Form) -> Result<(), Trouble> {
    if form == Form::Text {
        return output::data(format!("{}\n", text.trim_end_matches('\n')).as_bytes());
    }
    let calls = spending.entries.iter().map(|entry| {
        json!({
            "provider": entry.provider,
            "model": entry.model,
            "usage": entry.usage,
            "micro_usd": entry.cost.micro_usd(),
        })
    });
    let calls: Vec<_> = calls.collect();
    output::json(&json!({ "answer": text, "mode": mode.name(), "calls": calls }))
}
