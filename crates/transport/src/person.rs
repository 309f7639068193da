//! The person at the terminal: answers one question after the other, and sees at once what is
//! wrong.

use llm::AiErrorCode;
use prompt::{AnswerKind, Answers, Question, reply};

use crate::error::{Error, Result};
use crate::transport::{AnswerRequest, AnswerResult, DeferReason};

/// The most times a person is asked the same question.
pub const TRIES_MAX: u32 = 5;

/// A person who can be asked. The implementation chooses between a line and an editor.
pub trait Person {
    /// Returns the answer as typed; an empty one skips an optional question. `None` means that the
    /// person wants to stop.
    fn ask(&mut self, asked: &PersonQuestion<'_>) -> Option<String>;
}

/// A question for a person.
#[derive(Clone, Copy, Debug)]
pub struct PersonQuestion<'a> {
    pub question: &'a Question,
    /// Contexts that all questions share.
    pub contexts: &'a [String],
    /// Counted from 1.
    pub number: usize,
    pub count: usize,
    /// The problems of earlier answers, if all questions are asked once more.
    pub feedback: Option<&'a str>,
    /// The previous input and its problem.
    pub refused: Option<RefusedAnswer<'a>>,
}

/// An answer that was rejected.
#[derive(Clone, Copy, Debug)]
pub struct RefusedAnswer<'a> {
    pub typed: &'a str,
    pub why: &'a str,
}

impl PersonQuestion<'_> {
    /// Returns true if the answer probably needs more than one line.
    pub fn is_long(&self) -> bool {
        let structured = matches!(
            self.question.kind,
            AnswerKind::Code { .. } | AnswerKind::Json | AnswerKind::List
        );
        let example_lines = self
            .question
            .examples
            .iter()
            .any(|text| text.contains('\n'));
        structured || self.question.schema.is_some() || example_lines
    }
}

pub(crate) fn ask(person: &mut dyn Person, request: &AnswerRequest<'_>) -> Result<AnswerResult> {
    let mut answers = Answers::empty();
    let count = request.questionnaire.len();
    for (at, question) in request.questionnaire.questions().enumerate() {
        let asked = PersonQuestion {
            question,
            contexts: request.questionnaire.contexts(),
            number: at + 1,
            count,
            feedback: request.feedback,
            refused: None,
        };
        match ask_one(person, asked) {
            Ok(PersonReply::Answer(value)) => answers.insert(question.key.clone(), value),
            Ok(PersonReply::Nothing) => {}
            Ok(PersonReply::Enough) => {
                return Ok(Err(DeferReason::PersonLeft { answered: answers }));
            }
            Err(error) => return Err(error.having_answered(answers)),
        }
    }
    answers.set_request_id(request.questionnaire.request_id());
    Ok(Ok(answers))
}

enum PersonReply {
    Answer(serde_json::Value),
    Nothing,
    Enough,
}

fn ask_one(person: &mut dyn Person, asked: PersonQuestion<'_>) -> Result<PersonReply> {
    let question = asked.question;
    let mut last: Option<(String, String)> = None;
    for _ in 0..TRIES_MAX {
        let refused = last
            .as_ref()
            .map(|(typed, why)| RefusedAnswer { typed, why });
        let Some(typed) = person.ask(&PersonQuestion { refused, ..asked }) else {
            return Ok(PersonReply::Enough);
        };
        let why = match reply::read_one(&typed, question) {
            Ok(value) => return Ok(PersonReply::Answer(value)),
            Err(prompt::Error::ReplyEmpty) if !question.required => {
                return Ok(PersonReply::Nothing);
            }
            Err(prompt::Error::ReplyEmpty) => "An answer is needed.".to_owned(),
            Err(prompt::Error::ReplyWrong { problems }) => {
                let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
                lines.join("\n")
            }
            Err(why) => why.to_string(),
        };
        last = Some((typed, why));
    }
    let why = last.map(|(_, why)| why).unwrap_or_default();
    Err(Error::new(
        AiErrorCode::AnswerInvalid,
        format!(
            "the question `{}` was not answered in {TRIES_MAX} tries (TRIES_MAX): {}",
            question.key,
            why.trim_end_matches('.')
        ),
        "Run it again, or write the answers to a file and pass it with `--answers`.",
    ))
}
