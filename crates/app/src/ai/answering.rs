//! A run and its questions: tried, answered, tried again until nothing is open.
//!
//! The recipe decides what is asked and whether answers fit; the transport gets them. Whatever was
//! answered is kept in a file when the run does not come to its end.

use prompt::{Answers, Questionnaire, RequestId};
use recipe::{Kind, Needed};
use transport::{Reason, Resolution};

use super::kept::{self, Kept};
use super::{Answerer, Request};
use crate::{Code, Error};

/// How often answers that a recipe refuses are asked for again, in one run.
pub const REASKED_MAX: u32 = 3;
/// How often one run may ask; more than the rounds any recipe has.
pub const ASKED_MAX: u32 = 200;

/// How far one attempt came.
pub enum Attempt<T> {
    /// To its end: the answers are part of the project's records.
    Done(T),
    /// To its end without writing anything, so that the answers would be lost.
    Unwritten(T),
    Needed(Box<Needed>),
}

/// What the attempts came to.
#[derive(Debug)]
pub enum Came<T> {
    To(T),
    /// Somebody else has to answer these.
    Deferred(Box<Needed>),
    /// The person at the terminal left, or stopped the run.
    Left,
}

/// How it ended, and where the answers are that somebody gave in vain.
#[derive(Debug)]
pub struct Ended<T> {
    pub came: Result<Came<T>, Error>,
    pub kept: Option<Result<Kept, Error>>,
}

/// Attempts, asks, and attempts again. `request` gathers the answers.
pub fn answer<T>(
    answerer: &mut Answerer<'_>,
    request: &mut recipe::Request,
    attempt: &mut dyn FnMut(&recipe::Request) -> Result<Attempt<T>, recipe::Error>,
) -> Ended<T> {
    let mut round = Round::default();
    let ended = loop {
        let needed = match attempt(request) {
            Ok(Attempt::Done(result)) => {
                return Ended {
                    came: Ok(Came::To(result)),
                    kept: None,
                };
            }
            Ok(Attempt::Unwritten(result)) => break Ok(Came::To(result)),
            Ok(Attempt::Needed(needed)) => {
                // The next attempt must not ask the person for the same values again.
                request.asked.clone_from(&needed.asked);
                needed
            }
            Err(error) if round.take_back(&error, request) => continue,
            Err(error) => break Err(error.into()),
        };
        match round.ask(answerer, &needed, request) {
            Ok(None) if answerer.is_cancelled() => break Ok(Came::Left),
            Ok(None) => {}
            Ok(Some(Reason::PersonLeft { .. })) => break Ok(Came::Left),
            Ok(Some(_)) => break Ok(Came::Deferred(needed)),
            Err(error) => break Err(error),
        }
    };
    let answers = request.answers.as_ref().filter(|_| round.gained);
    Ended {
        came: ended,
        kept: answers.map(|answers| kept::keep(answerer.project, answers)),
    }
}

/// What was asked last.
#[derive(Default)]
struct Round {
    keys: Vec<String>,
    feedback: Option<String>,
    asked: u32,
    reasked: u32,
    /// Whether anybody answered anything.
    gained: bool,
}

impl Round {
    /// Puts the questions to whoever answers, and takes the answers over.
    fn ask(
        &mut self,
        answerer: &mut Answerer<'_>,
        needed: &Needed,
        request: &mut recipe::Request,
    ) -> Result<Option<Reason>, Error> {
        self.asked += 1;
        if self.asked > ASKED_MAX {
            let message = format!("the run asked more than ASKED_MAX ({ASKED_MAX}) times");
            return Err(Error::new(Code::Limit, message)
                .hint("let its questions depend less on each other"));
        }
        let feedback = self.feedback.take();
        let resolved = answerer.resolve(&Request {
            questionnaire: &needed.questionnaire,
            document: &needed.document,
            feedback: feedback.as_deref(),
        });
        let (answers, reason) = match resolved {
            Ok(Resolution::Resolved(answers, _)) => (answers, None),
            Ok(Resolution::Deferred(Reason::PersonLeft { answered })) => {
                let answered_none = Answers::empty();
                (
                    answered,
                    Some(Reason::PersonLeft {
                        answered: answered_none,
                    }),
                )
            }
            Ok(Resolution::Deferred(reason)) => return Ok(Some(reason)),
            Err(error) => {
                if let Error::Ai(failed) = &error {
                    self.take(failed.answered().clone(), needed, request);
                }
                return Err(error);
            }
        };
        self.keys = keys(&needed.questionnaire);
        self.take(answers, needed, request);
        Ok(reason)
    }

    /// The answers carry the id of the whole round, of which this may have been a part.
    fn take(&mut self, answers: Answers, needed: &Needed, request: &mut recipe::Request) {
        if answers.is_empty() && request.answers.is_none() && !self.keys_are_optional(needed) {
            return;
        }
        self.gained |= !answers.is_empty();
        let known = request.answers.get_or_insert_default();
        known.extend(answers);
        if let Some(id) = needed.json["request"].as_str() {
            known.set_request_id(RequestId::new(id));
        }
    }

    /// Whether leaving everything out is an answer.
    fn keys_are_optional(&self, needed: &Needed) -> bool {
        needed
            .questionnaire
            .questions()
            .all(|question| !question.required)
    }

    /// Takes answers back that the recipe refuses, so that they are asked for once more. False
    /// when the refusal is about something else, or has come too often.
    fn take_back(&mut self, error: &recipe::Error, request: &mut recipe::Request) -> bool {
        if error.kind() != Kind::Answers || self.reasked == REASKED_MAX {
            return false;
        }
        let text = error.to_string();
        let is_wrong = |key: &&str| {
            let asked = self.keys.iter().any(|asked| asked == *key);
            asked && text.contains(&format!("`{key}`"))
        };
        let Some(answers) = request.answers.as_mut() else {
            return false;
        };
        let wrong: Vec<String> = answers.keys().filter(is_wrong).map(str::to_owned).collect();
        if wrong.is_empty() {
            return false;
        }
        let mut left = Answers::empty();
        for (key, value) in answers
            .iter()
            .filter(|(key, _)| !wrong.iter().any(|one| one == key))
        {
            left.insert(key, value.clone());
        }
        if let Some(id) = answers.request_id() {
            left.set_request_id(id.clone());
        }
        *answers = left;
        self.feedback = Some(text);
        self.reasked += 1;
        true
    }
}

fn keys(questionnaire: &Questionnaire) -> Vec<String> {
    questionnaire.keys().map(str::to_owned).collect()
}
