//! The one error: an `AI_…` code, what happened, what others said about it, and what to do.

use std::fmt;

use llm::secret::scrub;
use llm::{Code, Secret};
use prompt::Answers;

use crate::transport::Spending;

pub type Result<T> = std::result::Result<T, Error>;

/// The most of a program's last words that an error repeats.
pub const TAIL_BYTES_MAX: usize = 2_000;
/// Most lines of it.
const TAIL_LINES_MAX: usize = 20;

/// Questions that were not answered. Boxed: it travels in results that mostly hold answers.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct Error(Box<Failure>);

#[derive(Clone, Debug, PartialEq)]
struct Failure {
    code: Code,
    what: String,
    said: Option<Said>,
    advice: String,
    cancelled: bool,
    spending: Spending,
    answered: Answers,
}

/// What stands below the sentences, on lines of its own.
#[derive(Clone, Debug, PartialEq)]
struct Said {
    heading: &'static str,
    text: String,
}

impl Error {
    /// `what` begins a sentence and has no full stop, `advice` is one or more sentences.
    pub fn new(code: Code, what: impl Into<String>, advice: impl Into<String>) -> Error {
        Error(Box::new(Failure {
            code,
            what: what.into(),
            said: None,
            advice: advice.into(),
            cancelled: false,
            spending: Spending::default(),
            answered: Answers::empty(),
        }))
    }

    /// The code to branch on.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// What happened, without the advice.
    pub fn what(&self) -> &str {
        &self.0.what
    }

    /// What to do next.
    pub fn advice(&self) -> &str {
        &self.0.advice
    }

    /// The last words of a program, or the list of what is wrong with its answers.
    pub fn said(&self) -> Option<&str> {
        self.0.said.as_ref().map(|said| said.text.as_str())
    }

    /// Whether somebody asked for the end.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled
    }

    /// What had been spent when it failed.
    pub fn spending(&self) -> &Spending {
        &self.0.spending
    }

    /// What had been answered when it failed, where questions are asked one by one.
    pub fn answered(&self) -> &Answers {
        &self.0.answered
    }

    pub(crate) fn having_answered(mut self, answered: Answers) -> Error {
        self.0.answered = answered;
        self
    }

    pub(crate) fn cancelled() -> Error {
        let mut error = Error::new(
            Code::TransportFailed,
            "the question was cancelled before it was answered",
            "Run it again to ask once more.",
        );
        error.0.cancelled = true;
        error
    }

    /// With the end of what a program said; nothing is added when it said nothing.
    pub(crate) fn saying(mut self, text: &str) -> Error {
        let text = tail(text, TAIL_BYTES_MAX);
        let heading = "It said last:";
        self.0.said = (!text.is_empty()).then_some(Said { heading, text });
        self
    }

    /// With another word on what to do.
    pub(crate) fn advising(mut self, advice: &str) -> Error {
        advice.clone_into(&mut self.0.advice);
        self
    }

    /// A reply that is of no use, also after its author was told why so many times.
    pub(crate) fn unusable(whom: &str, why: &prompt::Error, corrections: u32) -> Error {
        let also = match corrections {
            0 => String::new(),
            1 => ", also after a correction".to_owned(),
            count => format!(", also after {count} corrections"),
        };
        // Answers that can be read are wrong; what cannot be read did not arrive.
        if let prompt::Error::ReplyWrong { problems } = why {
            let lines: Vec<String> = problems.iter().map(|one| format!("- {one}")).collect();
            let mut error = Error::new(
                Code::AnswerInvalid,
                format!("the answers of {whom} do not fit the questions{also}"),
                "Run it again, ask another model or command, or answer by hand with \
                 `--ai-mode stdout`.",
            );
            error.0.said = Some(Said {
                heading: "What is wrong:",
                text: lines.join("\n"),
            });
            return error;
        }
        let why = why.to_string();
        let why = why.trim_end_matches('.');
        Error::new(
            Code::TransportFailed,
            format!("the reply of {whom} could not be read{also}: {why}"),
            "Run it again, ask another model or command, or answer by hand with \
             `--ai-mode stdout`.",
        )
    }

    pub(crate) fn having_spent(mut self, spending: Spending) -> Error {
        self.0.spending = spending;
        self
    }

    /// Without any of these keys, whoever quoted them.
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

/// The end of a text, from the beginning of a line where that is near.
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
    use llm::{Code, Secret};

    #[test]
    fn an_error_reads_as_sentences_with_the_last_words_below() {
        let error = Error::new(Code::TransportFailed, "the command `x` failed", "Check it.");
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
        let error = Error::new(Code::TransportFailed, "no sk-secret-1", "Not sk-secret-1.");
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
