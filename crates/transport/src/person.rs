//! The person at the terminal: asked one question after the other, told at once what is wrong.

use llm::Code;
use prompt::{AnswerKind, Answers, Question, reply};

use crate::error::{Error, Result};
use crate::transport::{Given, Reason, Request};

/// How often a person is asked the same question.
pub const TRIES_MAX: u32 = 5;

/// Somebody who can be asked. Whether on a line or in an editor is theirs to decide.
pub trait Person {
    /// The answer as it was typed; nothing typed leaves an optional question out. `None` means
    /// that the person does not want to go on.
    fn ask(&mut self, asked: &Asked<'_>) -> Option<String>;
}

/// A question as it is put to a person.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub question: &'a Question,
    /// Contexts that all questions share.
    pub contexts: &'a [String],
    /// Counted from 1.
    pub number: usize,
    pub count: usize,
    /// What is wrong with earlier answers, when all is asked once more.
    pub feedback: Option<&'a str>,
    /// What was typed before and what is wrong with it.
    pub refused: Option<Refused<'a>>,
}

/// An answer that was not taken.
#[derive(Clone, Copy, Debug)]
pub struct Refused<'a> {
    pub typed: &'a str,
    pub why: &'a str,
}

impl Asked<'_> {
    /// Whether the answer will hardly fit on a line.
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

pub(crate) fn ask(person: &mut dyn Person, request: &Request<'_>) -> Result<Given> {
    let mut answers = Answers::empty();
    let count = request.questionnaire.len();
    for (at, question) in request.questionnaire.questions().enumerate() {
        let asked = Asked {
            question,
            contexts: request.questionnaire.contexts(),
            number: at + 1,
            count,
            feedback: request.feedback,
            refused: None,
        };
        match ask_one(person, asked) {
            Ok(Said::Answer(value)) => answers.insert(question.key.clone(), value),
            Ok(Said::Nothing) => {}
            Ok(Said::Enough) => return Ok(Err(Reason::PersonLeft { answered: answers })),
            Err(error) => return Err(error.having_answered(answers)),
        }
    }
    answers.set_request_id(request.questionnaire.request_id());
    Ok(Ok(answers))
}

enum Said {
    Answer(serde_json::Value),
    Nothing,
    Enough,
}

fn ask_one(person: &mut dyn Person, asked: Asked<'_>) -> Result<Said> {
    let question = asked.question;
    let mut last: Option<(String, String)> = None;
    for _ in 0..TRIES_MAX {
        let refused = last.as_ref().map(|(typed, why)| Refused { typed, why });
        let Some(typed) = person.ask(&Asked { refused, ..asked }) else {
            return Ok(Said::Enough);
        };
        let why = match reply::read_one(&typed, question) {
            Ok(value) => return Ok(Said::Answer(value)),
            Err(prompt::Error::ReplyEmpty) if !question.required => return Ok(Said::Nothing),
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
        Code::AnswerInvalid,
        format!(
            "the question `{}` was not answered in {TRIES_MAX} tries (TRIES_MAX): {}",
            question.key,
            why.trim_end_matches('.')
        ),
        "Run it again, or write the answers to a file and pass it with `--answers`.",
    ))
}
