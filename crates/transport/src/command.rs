//! A program that is started for each request, such as `claude -p {prompt}`, `llm` or `aichat`.
//!
//! The command line is split into words first; then the prompt replaces `{prompt}` in one of them,
//! or goes to standard input. No shell is involved.

use std::path::PathBuf;
use std::time::Duration;

use exec::{
    AGENT_MARKERS, ChildEnvironment, CommandCancel, CommandOutcome, CommandStatus, Invocation,
    OutputStream,
};
use llm::AiErrorCode;
use prompt::{Answers, Question, reply};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::mode::CommandMode;
use crate::observe::{AskEvent, AskObserver};
use crate::question;
use crate::transport::AnswerRequest;

/// Marks the place of the prompt in a command line.
pub(crate) const PLACEHOLDER: &str = "{prompt}";
/// The longest argument that Linux passes on, its terminator included; a longer one goes to
/// standard input.
pub const ARGUMENT_BYTES_MAX: usize = 128 * 1024;
/// The most lines of a program's error output that are passed on.
pub(crate) const LOG_LINES_MAX: usize = 1_000;

/// A command line, split into words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandWords {
    pub program: String,
    pub arguments: Vec<String>,
    /// True if a word looks like JSON whose quotes were removed by the splitting.
    pub lost_quotes: bool,
}

/// A command and the way it is run.
#[derive(Clone, Debug)]
pub struct CommandPlan {
    pub words: CommandWords,
    pub mode: CommandMode,
    pub timeout: Duration,
    pub output_bytes_max: usize,
}

/// Splits a setting into words like a shell, without any other shell feature.
pub(crate) fn split(line: &str, key: &str) -> Result<CommandWords> {
    let words = shlex::split(line).filter(|words| !words.is_empty());
    let Some(words) = words else {
        return Err(Error::new(
            AiErrorCode::TransportFailed,
            format!("`{key}` cannot be split into words"),
            "Close its quotes, and write a backslash twice.",
        ));
    };
    let mut words = words.into_iter();
    let program = words.next().unwrap_or_default();
    if program.is_empty() || program.contains(PLACEHOLDER) {
        return Err(Error::new(
            AiErrorCode::TransportFailed,
            format!("`{key}` does not begin with a program"),
            "Write the program first, for instance `claude -p {prompt}`.",
        ));
    }
    let arguments: Vec<String> = words.collect();
    let is_bare = |word: &String| {
        let word = word.replace(PLACEHOLDER, "");
        word.starts_with('{') && word.ends_with('}') && word.contains(':') && !word.contains('"')
    };
    Ok(CommandWords {
        program,
        lost_quotes: line.contains('"') && arguments.iter().any(is_bare),
        arguments,
    })
}

/// A command may print this many times the bytes that are kept of its output; more stops it.
const FLOOD_FACTOR: u64 = 64;

pub(crate) struct CommandTransport {
    plan: CommandPlan,
    cwd: PathBuf,
    cancel: CommandCancel,
}

impl CommandTransport {
    pub(crate) fn new(plan: CommandPlan, cwd: PathBuf, cancel: CommandCancel) -> CommandTransport {
        CommandTransport { plan, cwd, cancel }
    }

    pub(crate) fn ask(
        &self,
        request: &AnswerRequest<'_>,
        observer: &mut dyn AskObserver,
    ) -> Result<Answers> {
        match self.plan.mode {
            CommandMode::Batched => self.ask_all(request, observer),
            CommandMode::PerBlock => self.ask_each(request, observer),
        }
    }

    fn ask_all(
        &self,
        request: &AnswerRequest<'_>,
        observer: &mut dyn AskObserver,
    ) -> Result<Answers> {
        let asked = question::batched(request);
        let mut prompt = asked.clone();
        let corrections = question::corrections(request.questionnaire);
        let mut left = corrections;
        loop {
            let outcome = self.run(&prompt, observer)?;
            let text = said(&outcome);
            let why = match reply::read(&text, request.questionnaire) {
                Ok(answers) => return Ok(answers),
                Err(why) if left == 0 => {
                    return Err(self.unusable(&why, &outcome, None, corrections));
                }
                Err(why) => why,
            };
            left -= 1;
            observer.notice(AskEvent::Correcting {
                why: &why.to_string(),
            });
            let correction = reply::correction(&why, request.questionnaire);
            prompt = question::again(&asked, &text, &correction);
        }
    }

    fn ask_each(
        &self,
        request: &AnswerRequest<'_>,
        observer: &mut dyn AskObserver,
    ) -> Result<Answers> {
        let mut answers = Answers::empty();
        for question in request.questionnaire.questions() {
            match self.ask_one(request, question, observer) {
                Ok(Some(value)) => answers.insert(question.key.clone(), value),
                Ok(None) => {}
                Err(error) => return Err(error.having_answered(answers)),
            }
        }
        answers.set_request_id(request.questionnaire.request_id());
        Ok(answers)
    }

    fn ask_one(
        &self,
        request: &AnswerRequest<'_>,
        question: &Question,
        observer: &mut dyn AskObserver,
    ) -> Result<Option<Value>> {
        let asked = question::single(request, question);
        let mut prompt = asked.clone();
        let corrections = question::corrections(request.questionnaire);
        let mut left = corrections;
        loop {
            let outcome = self.run(&prompt, observer)?;
            let text = said(&outcome);
            let why = match reply::read_one(&text, question) {
                Ok(value) => return Ok(Some(value)),
                Err(prompt::Error::ReplyEmpty) if !question.required => return Ok(None),
                Err(why) if left == 0 => {
                    let key = Some(question.key.as_str());
                    return Err(self.unusable(&why, &outcome, key, corrections));
                }
                Err(why) => why,
            };
            left -= 1;
            observer.notice(AskEvent::Correcting {
                why: &why.to_string(),
            });
            let correction = question::single_correction(&why);
            prompt = question::again(&asked, &text, &correction);
        }
    }

    /// Runs the program once, and returns a successful outcome.
    fn run(&self, prompt: &str, observer: &mut dyn AskObserver) -> Result<CommandOutcome> {
        let program = &self.plan.words.program;
        observer.notice(AskEvent::Asking { whom: program });
        let invocation = self.invocation(prompt, observer);
        let mut log_lines = 0;
        let mut listen = |stream: OutputStream, line: &str| {
            if stream == OutputStream::Stderr && log_lines < LOG_LINES_MAX {
                log_lines += 1;
                observer.notice(AskEvent::Log(line));
            }
        };
        let outcome = exec::run_observed(&invocation, &mut listen).map_err(|error| {
            Error::new(
                AiErrorCode::TransportFailed,
                error.to_string(),
                "`ai.command` names it.",
            )
        })?;
        match outcome.status {
            CommandStatus::Exited(0) => Ok(outcome),
            CommandStatus::Cancelled => Err(Error::cancelled()),
            status => Err(self.failed(status, &outcome)),
        }
    }

    fn invocation(&self, prompt: &str, observer: &mut dyn AskObserver) -> Invocation {
        let words = &self.plan.words;
        let invocation = Invocation::new(&words.program)
            .cwd(&self.cwd)
            .env(ChildEnvironment::default().remove_all(AGENT_MARKERS))
            .timeout(self.plan.timeout)
            .output_bytes_max(self.plan.output_bytes_max)
            .output_bytes_stop(self.plan.output_bytes_max as u64 * FLOOD_FACTOR)
            .cancel(self.cancel.clone());
        match filled_in(&words.arguments, prompt) {
            PromptPassing::Argument(arguments) => invocation.args(arguments),
            PromptPassing::Stdin { arguments, note } => {
                if let Some(note) = note {
                    observer.notice(AskEvent::Note(&note));
                }
                invocation.args(arguments).stdin(prompt)
            }
        }
    }

    fn failed(&self, status: CommandStatus, outcome: &CommandOutcome) -> Error {
        let advice = match status {
            CommandStatus::TimedOut => format!(
                "Raise `ai.timeout_ms` (it is {}), or check what the command waits for.",
                self.plan.timeout.as_millis()
            ),
            CommandStatus::Flooded => format!(
                "It may print {FLOOD_FACTOR} times `ai.output_bytes_max` (it is {}). Make it say less, \
                 or raise the limit.",
                self.plan.output_bytes_max
            ),
            _ => "Run the command by hand to see what is wrong, or use another mode.".to_owned(),
        };
        // Some programs print errors on the wrong stream.
        let (stderr, stdout) = (outcome.stderr_text(), outcome.stdout_text());
        let words = if stderr.trim().is_empty() {
            stdout
        } else {
            stderr
        };
        let what = format!("the command `{}` {status}", self.plan.words.program);
        Error::new(AiErrorCode::TransportFailed, what, advice).saying(&words)
    }

    fn unusable(
        &self,
        why: &prompt::Error,
        outcome: &CommandOutcome,
        key: Option<&str>,
        corrections: u32,
    ) -> Error {
        let program = &self.plan.words.program;
        let whom = match key {
            Some(key) => format!("the command `{program}` to the question `{key}`"),
            None => format!("the command `{program}`"),
        };
        if outcome.stdout_truncated && !matches!(why, prompt::Error::ReplyWrong { .. }) {
            return Error::new(
                AiErrorCode::TransportFailed,
                format!(
                    "the reply of {whom} is longer than `ai.output_bytes_max` ({}), and no answer \
                     was found in what was kept of it",
                    self.plan.output_bytes_max
                ),
                "Make the command say less, or raise the limit.",
            )
            .saying(&outcome.stderr_text());
        }
        let mut error = Error::unusable(&whom, why, corrections);
        if self.plan.words.lost_quotes {
            error = error.advising(
                "The line is split into words as a shell does it, which takes quotes off: write JSON in \
                 single quotes, such as echo '{\"key\": \"value\"}'.",
            );
        }
        match error.said() {
            None => error.saying(&outcome.stderr_text()),
            Some(_) => error,
        }
    }
}

/// Returns the program's reply, taken out of the report that some programs wrap around it.
fn said(outcome: &CommandOutcome) -> String {
    let text = outcome.stdout_text();
    reply::unwrapped(&text).unwrap_or_else(|| text.into_owned())
}

/// The way the prompt reaches the program.
#[derive(Debug, PartialEq, Eq)]
enum PromptPassing {
    Argument(Vec<String>),
    Stdin {
        arguments: Vec<String>,
        /// Explains why the prompt is not passed as the requested argument.
        note: Option<String>,
    },
}

fn filled_in(arguments: &[String], prompt: &str) -> PromptPassing {
    if !arguments.iter().any(|word| word.contains(PLACEHOLDER)) {
        return PromptPassing::Stdin {
            arguments: arguments.to_vec(),
            note: None,
        };
    }
    let filled = arguments
        .iter()
        .map(|word| word.replace(PLACEHOLDER, prompt));
    let filled: Vec<String> = filled.collect();
    let longest = filled.iter().map(String::len).max().unwrap_or_default();
    let why = if longest >= ARGUMENT_BYTES_MAX {
        format!(
            "the prompt makes an argument of {longest} bytes, more than ARGUMENT_BYTES_MAX \
             ({ARGUMENT_BYTES_MAX}); it goes to standard input instead"
        )
    } else if prompt.contains('\0') {
        "the prompt contains a NUL character, which no argument can; it goes to standard input \
         instead"
            .to_owned()
    } else {
        return PromptPassing::Argument(filled);
    };
    // Drops a word that is only the prompt; other words remain without the placeholder.
    let left = arguments.iter().filter(|word| *word != PLACEHOLDER);
    PromptPassing::Stdin {
        arguments: left.map(|word| word.replace(PLACEHOLDER, "")).collect(),
        note: Some(why),
    }
}

#[cfg(test)]
mod tests {
    use super::{ARGUMENT_BYTES_MAX, PromptPassing, filled_in, split};

    #[track_caller]
    fn check(line: &str, prompt: &str, expected: &str) {
        let shown = match split(line, "ai.command") {
            Err(error) => error.to_string(),
            Ok(words) => match filled_in(&words.arguments, prompt) {
                PromptPassing::Argument(arguments) => format!("{} {arguments:?}", words.program),
                PromptPassing::Stdin { arguments, note } => {
                    let note = note.map_or("", |_| " noted");
                    format!("{} {arguments:?} < prompt{note}", words.program)
                }
            },
        };
        assert_eq!(shown, expected);
    }

    #[test]
    fn the_prompt_is_one_argument_or_standard_input() {
        let hostile = "a'b\"c $(rm -rf /) `x`\n{prompt} \\";
        check(
            "claude -p {prompt} --model x",
            hostile,
            &format!("claude {:?}", ["-p", hostile, "--model", "x"]),
        );
        check("llm", "hi", "llm [] < prompt");
        check(
            "aichat -r 'my coder'",
            "hi",
            r#"aichat ["-r", "my coder"] < prompt"#,
        );
        check("x --ask='Q: {prompt}'", "hi", r#"x ["--ask=Q: hi"]"#);
        let long = "x".repeat(ARGUMENT_BYTES_MAX);
        check(
            "claude -p {prompt}",
            &long,
            r#"claude ["-p"] < prompt noted"#,
        );
        check("x --ask={prompt}", &long, r#"x ["--ask="] < prompt noted"#);
        check(
            "claude -p {prompt}",
            "a\0b",
            r#"claude ["-p"] < prompt noted"#,
        );
    }

    #[test]
    fn a_line_that_names_no_program_says_so() {
        check(
            "claude -p 'x",
            "hi",
            "`ai.command` cannot be split into words. Close its quotes, and write a backslash twice.",
        );
        check(
            "{prompt}",
            "hi",
            "`ai.command` does not begin with a program. Write the program first, for instance \
             `claude -p {prompt}`.",
        );
    }
}
