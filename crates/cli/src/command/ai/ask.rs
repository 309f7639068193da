//! `drawloom ai ask`: one question, answered in whatever mode is configured.

use std::path::{Path, PathBuf};

use app::ai::question::{self, QuestionReply};
use app::ai::{AskHistory, AskSpending, CallPurpose, LazyAnswerer, RunParticipants, TransportMode};
use clap::Args;
use serde_json::json;

use crate::ai_args::{AiArgs, say_spent};
use crate::ask_progress::AskProgress;
use crate::exit::{CliError, CliExit};
use crate::output::{self, OutputFormat};
use crate::respondent::TerminalRespondent;
use crate::session::CliSession;
use crate::terminal_person::CommandEcho;
use crate::{input, interrupt};

/// Ask one question in the configured mode
///
/// The answer goes to stdout, everything else to stderr. In the mode `stdout`, and when no mode is
/// configured, the question is printed as a document and the exit code is 2. Text that is piped in
/// is added to the question. The last conversation of a project is stored, for `--continue`.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom ai ask \"Name three colours.\"
  git diff | drawloom ai ask \"What does this change?\"
  drawloom ai ask - < question.md
  drawloom ai ask \"Review this.\" --file src/main.rs --system \"You are strict.\"
  drawloom ai ask --continue \"And the second one?\"
  drawloom ai ask \"Is it plugged in?\" --json")]
pub(crate) struct AiAskArgs {
    /// The question; `-` reads it from stdin. Piped text is added to a question given as words
    #[arg(allow_hyphen_values = true)]
    question: String,
    /// Continue the last conversation: its questions and answers precede this question
    #[arg(short, long = "continue")]
    continues: bool,
    /// Instructions for the answer, sent before the question and stored with the conversation
    #[arg(short, long, value_name = "TEXT")]
    system: Option<String>,
    /// A text file to add to the question; can be given several times
    #[arg(short, long, value_name = "FILE")]
    file: Vec<PathBuf>,
    #[command(flatten)]
    answering: AiArgs,
    /// Print the answer with its cost as one JSON document
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl AiAskArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = session.project()?;
        let text = self.text(session)?;
        let mut history = match self.continues {
            true => AskHistory::last(&project)?,
            false => AskHistory::default(),
        };
        if self.system.is_some() {
            history.system.clone_from(&self.system);
        }
        let form = OutputFormat::from(self.json);
        let echo = CommandEcho::from(form);
        let mut respondent = TerminalRespondent::new(session.surroundings.editor());
        let mut watcher = AskProgress::new(echo);
        let company = RunParticipants {
            person: respondent.if_there(echo),
            observer: &mut watcher,
            cancel: interrupt::cancel(),
        };
        let wish = self.answering.wish();
        let surroundings = &session.surroundings;
        let mut answerer =
            LazyAnswerer::new(&project, surroundings, wish, CallPurpose::Ask, company);
        let busy = interrupt::InterruptGuard::start();
        let asked = question::ask(&mut answerer, &text, &history);
        let (mode, trouble) = (answerer.mode(), answerer.trouble());
        let because = answerer.because().to_owned();
        drop(answerer);
        drop(busy);
        say_spent(watcher.spent(), trouble, form);
        match asked? {
            QuestionReply::Answered {
                text: answer,
                spending,
            } => {
                answered(&answer, &spending, mode, form)?;
                history.add(&text, &answer);
                // The answer is there; that it cannot be continued does not make it wrong.
                if let Err(error) = history.keep(&project) {
                    output::say(format!(
                        "warning: the conversation could not be kept: {error}"
                    ));
                }
                Ok(CliExit::Done)
            }
            QuestionReply::Deferred { document } => {
                output::data(document.as_bytes())?;
                output::say(format!("no model was asked: {because}"));
                output::say(
                    "set `ai.provider` and `ai.model`, or `ai.command`, in drawloom.toml, and leave \
                     `ai.mode` at \"auto\", to have questions answered (docs/ai.md)",
                );
                Ok(CliExit::AnswersNeeded)
            }
            QuestionReply::Left => Ok(CliExit::Interrupted),
        }
    }
}

impl AiAskArgs {
    /// Returns the question, with piped text and the named files.
    fn text(&self, session: &CliSession) -> Result<String, CliError> {
        let mut text = match self.question.as_str() {
            "-" => input::file_text(session, Path::new("-"))?,
            text => match input::piped_text()? {
                Some(piped) => format!("{text}\n\n{}", prompt::document::fenced("", &piped)),
                None => text.to_owned(),
            },
        };
        if text.trim().is_empty() {
            return Err(CliError::usage("the question is empty")
                .hint("write it in quotes, or `-` to read it from stdin"));
        }
        for file in &self.file {
            let content = input::file_text(session, file)?;
            let fenced = prompt::document::fenced("", &content);
            text.push_str(&format!("\n\n`{}`:\n\n{fenced}", file.display()));
        }
        Ok(text)
    }
}

fn answered(
    text: &str,
    spending: &AskSpending,
    mode: TransportMode,
    form: OutputFormat,
) -> Result<(), CliError> {
    if form == OutputFormat::Text {
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
