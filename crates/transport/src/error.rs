//! The one error: an `AI_…` code, the failure, quoted output, and advice.

use std::fmt;

use llm::secret::scrub;
use llm::{AiErrorCode, Secret};
use prompt::Answers;

use crate::transport::AskSpending;

pub type Result<T> = std::result::Result<T, Error>;

/// The most bytes of a program's last output that an error quotes.
pub const TAIL_BYTES_MAX: usize = 2_000;
/// The most lines of it.
const TAIL_LINES_MAX: usize = 20;

/// A questionnaire that was not answered. Boxed, because results mostly hold answers and should
/// stay small.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct Error(Box<FailureDetails>);

#[derive(Clone, Debug, PartialEq)]
struct FailureDetails {
    code: AiErrorCode,
    what: String,
    said: Option<QuotedOutput>,
    advice: String,
    cancelled: bool,
    spending: AskSpending,
    answered: Answers,
}

/// Quoted output below the sentences, on its own lines.
#[derive(Clone, Debug, PartialEq)]
struct QuotedOutput {
    heading: &'static str,
    text: String,
}

impl Error {
    /// `what` begins a sentence and has no full stop, `advice` is one or more sentences.
    pub fn new(code: AiErrorCode, what: impl Into<String>, advice: impl Into<String>) -> Error {
        Error(Box::new(FailureDetails {
            code,
            what: what.into(),
            said: None,
            advice: advice.into(),
            cancelled: false,
            spending: AskSpending::default(),
            answered: Answers::empty(),
        }))
    }

    /// The code to branch on.
    pub fn code(&self) -> AiErrorCode {
        self.0.code
    }

    /// The sentence about the failure, without the advice.
    pub fn what(&self) -> &str {
        &self.0.what
    }

    /// The sentence about the next step.
    pub fn advice(&self) -> &str {
        &self.0.advice
    }

    /// The last output of a program, or the list of problems of its answers.
    pub fn said(&self) -> Option<&str> {
        self.0.said.as_ref().map(|said| said.text.as_str())
    }

    /// Returns true if a cancellation ended it.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled
    }

    /// The spending until the failure.
    pub fn spending(&self) -> &AskSpending {
        &self.0.spending
    }

    /// The answers given until the failure, if the questions are asked one by one.
    pub fn answered(&self) -> &Answers {
        &self.0.answered
    }

    pub(crate) fn having_answered(mut self, answered: Answers) -> Error {
        self.0.answered = answered;
        self
    }

    pub(crate) fn cancelled() -> Error {
        let mut error = Error::new(
            AiErrorCode::TransportFailed,
            "the question was cancelled before it was answered",
            "Run it again to ask once more.",
        );
        error.0.cancelled = true;
        error
    }

    /// Quotes the end of a program's output, unless it is empty.
    pub(crate) fn saying(mut self, text: &str) -> Error {
        let text = tail(text, TAIL_BYTES_MAX);
        let heading = "It said last:";
        self.0.said = (!text.is_empty()).then_some(QuotedOutput { heading, text });
        self
    }

    /// Replaces the advice.
    pub(crate) fn advising(mut self, advice: &str) -> Error {
        advice.clone_into(&mut self.0.advice);
        self
    }

    /// An unusable reply, after so many corrections.
    pub(crate) fn unusable(whom: &str, why: &prompt::Error, corrections: u32) -> Error {
        let also = match corrections {
            0 => String::new(),
            1 => ", also after a correction".to_owned(),
            count => format!(", also after {count} corrections"),
        };
        // Readable but wrong answers get their own code; an unreadable reply counts as no answer.
        if let prompt::Error::ReplyWrong { problems } = why {
            let lines: Vec<String> = problems.iter().map(|one| format!("- {one}")).collect();
            let mut error = Error::new(
                AiErrorCode::AnswerInvalid,
                format!("the answers of {whom} do not fit the questions{also}"),
                "Run it again, ask another model or command, or answer by hand with \
                 `--ai-mode stdout`.",
            );
            error.0.said = Some(QuotedOutput {
                heading: "What is wrong:",
                text: lines.join("\n"),
            });
            return error;
        }
        let why = why.to_string();
        let why = why.trim_end_matches('.');
        Error::new(
            AiErrorCode::TransportFailed,
            format!("the reply of {whom} could not be read{also}: {why}"),
            "Run it again, ask another model or command, or answer by hand with \
             `--ai-mode stdout`.",
        )
    }

    pub(crate) fn having_spent(mut self, spending: AskSpending) -> Error {
        self.0.spending = spending;
        self
    }

    /// Removes these keys from every text of the error, since a program or server may have quoted
    /// them.
    pub(crate) fn scrubbed(mut self, secrets: &[Secret]) -> Error {
        self.0.what = scrub(&self.0.what, secrets);
        self.0.advice = scrub(&self.0.advice, secrets);
        if let Some(said) = &mut self.0.said {
            said.text = scrub(&said.text, secrets);
        }
        self
    }
}

impl From<llm::Error> for Error {
    fn from(error: llm::Error) -> Error {
        let whole = error.to_string();
        let what = whole
            .strip_suffix(&error.advice)
            .and_then(|what| what.strip_suffix(". "))
            .unwrap_or(&error.what);
        Error::new(error.code, what, error.advice.clone())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}. {}", self.0.what, self.0.advice)?;
        if let Some(said) = &self.0.said {
            write!(f, "\n{}", said.heading)?;
            for line in said.text.lines() {
                write!(f, "\n  {line}")?;
            }
        }
        Ok(())
    }
}

/// Returns the end of a text, from the beginning of a line if one is near.
fn tail(text: &str, bytes_max: usize) -> String {
    let text = text.trim();
    let lines = text.lines().count();
    if lines > TAIL_LINES_MAX {
        let last: Vec<&str> = text.lines().skip(lines - TAIL_LINES_MAX).collect();
        return format!("…\n{}", tail(&last.join("\n"), bytes_max));
    }
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let from = (text.len() - bytes_max..text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len());
    let end = &text[from..];
    let line = end.find('\n').map_or(0, |at| at + 1);
    format!(
        "…\n{}",
        if line < end.len() / 2 {
            &end[line..]
        } else {
            end
        }
    )
}

#[cfg(test)]
mod tests {
    use super::{Error, tail};
    use llm::{AiErrorCode, Secret};

    #[test]
    fn an_error_reads_as_sentences_with_the_last_words_below() {
        let error = Error::new(
            AiErrorCode::TransportFailed,
            "the command `x` failed",
            "Check it.",
        );
        assert_eq!(error.to_string(), "the command `x` failed. Check it.");
        assert_eq!(
            error.clone().saying("one\ntwo\n").to_string(),
            "the command `x` failed. Check it.\nIt said last:\n  one\n  two"
        );
        assert_eq!(error.clone().saying(" \n"), error);
    }

    #[test]
    fn no_key_is_left_in_any_part() {
        let secrets = [Secret::new("sk-secret-1")];
        let error = Error::new(
            AiErrorCode::TransportFailed,
            "no sk-secret-1",
            "Not sk-secret-1.",
        );
        let error = error.saying("bad key sk-secret-1").scrubbed(&secrets);
        assert!(!error.to_string().contains("sk-secret"), "{error}");
        assert!(!format!("{error:?}").contains("sk-secret"), "{error:?}");
    }

    #[test]
    fn only_the_end_of_long_words_is_kept() {
        assert_eq!(tail("short\n", 10), "short");
        assert_eq!(tail("0123456789\nab\ncdefgh\n", 10), "…\nab\ncdefgh");
        assert_eq!(tail("ääääää", 5), "…\nää");
    }
}
