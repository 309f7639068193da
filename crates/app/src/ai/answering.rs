//! Runs a recipe, asks its questions and runs it again until no question is open.
//!
//! The recipe decides what is asked and whether answers fit; the transport gets them. If the run
//! fails, the answers given so far are kept in a file.

use prompt::{Answers, Questionnaire, RequestId};
use recipe::{NeededAnswers, RecipeErrorKind};
use transport::{AskResolution, DeferReason};

use super::saved_answers::{self, SavedAnswers};
use super::{AnswerRequest, LazyAnswerer};
use crate::{AppErrorCode, Error};

/// Limit on asking again for answers that the recipe refuses, in one run.
pub const REASKED_MAX: u32 = 3;
/// Limit on the rounds of one run; more than any recipe has.
pub const ASKED_MAX: u32 = 200;

/// Result of one attempt to run the recipe.
pub enum RecipeAttempt<T> {
    /// To its end: the answers are part of the project's records.
    Done(T),
    /// To its end without writing anything, so that the answers would be lost.
    Unwritten(T),
    Needed(Box<NeededAnswers>),
}

/// Result of all attempts.
#[derive(Debug)]
pub enum AskOutcome<T> {
    To(T),
    /// No transport answers these questions here; the user gets them as a document.
    Deferred(Box<NeededAnswers>),
    /// The person at the terminal left, or stopped the run.
    Left,
}

/// The end of the loop, and the file that keeps answers which the run did not use.
#[derive(Debug)]
pub struct AskReport<T> {
    pub came: Result<AskOutcome<T>, Error>,
    pub kept: Option<Result<SavedAnswers, Error>>,
}

/// Attempts, asks, and attempts again. `request` gathers the answers.
pub fn answer<T>(
    answerer: &mut LazyAnswerer<'_>,
    request: &mut recipe::RecipeRunRequest,
    attempt: &mut dyn FnMut(&recipe::RecipeRunRequest) -> Result<RecipeAttempt<T>, recipe::Error>,
) -> AskReport<T> {
    let mut round = AskRound::default();
    let ended = loop {
        let needed = match attempt(request) {
            Ok(RecipeAttempt::Done(result)) => {
                return AskReport {
                    came: Ok(AskOutcome::To(result)),
                    kept: None,
                };
            }
            Ok(RecipeAttempt::Unwritten(result)) => break Ok(AskOutcome::To(result)),
            Ok(RecipeAttempt::Needed(needed)) => {
                // The next attempt must not ask the person for the same values again.
                request.asked.clone_from(&needed.asked);
                needed
            }
            Err(error) if round.take_back(&error, request) => continue,
            Err(error) => break Err(error.into()),
        };
        match round.ask(answerer, &needed, request) {
            Ok(None) if answerer.is_cancelled() => break Ok(AskOutcome::Left),
            Ok(None) => {}
            Ok(Some(DeferReason::PersonLeft { .. })) => break Ok(AskOutcome::Left),
            Ok(Some(_)) => break Ok(AskOutcome::Deferred(needed)),
            Err(error) => break Err(error),
        }
    };
    let answers = request.answers.as_ref().filter(|_| round.gained);
    AskReport {
        came: ended,
        kept: answers.map(|answers| saved_answers::keep(answerer.project, answers)),
    }
}

/// The last questions, and the counters of the loop.
#[derive(Default)]
struct AskRound {
    keys: Vec<String>,
    feedback: Option<String>,
    asked: u32,
    reasked: u32,
    /// True if at least one answer was given.
    gained: bool,
}

impl AskRound {
    /// Asks the configured transport, and adds the answers to the request.
    fn ask(
        &mut self,
        answerer: &mut LazyAnswerer<'_>,
        needed: &NeededAnswers,
        request: &mut recipe::RecipeRunRequest,
    ) -> Result<Option<DeferReason>, Error> {
        self.asked += 1;
        if self.asked > ASKED_MAX {
            let message = format!("the run asked more than ASKED_MAX ({ASKED_MAX}) times");
            return Err(Error::new(AppErrorCode::Limit, message)
                .hint("let its questions depend less on each other"));
        }
        let feedback = self.feedback.take();
        let resolved = answerer.resolve(&AnswerRequest {
            questionnaire: &needed.questionnaire,
            document: &needed.document,
            feedback: feedback.as_deref(),
        });
        let (answers, reason) = match resolved {
            Ok(AskResolution::Resolved(answers, _)) => (answers, None),
            Ok(AskResolution::Deferred(DeferReason::PersonLeft { answered })) => {
                let answered_none = Answers::empty();
                (
                    answered,
                    Some(DeferReason::PersonLeft {
                        answered: answered_none,
                    }),
                )
            }
            Ok(AskResolution::Deferred(reason)) => return Ok(Some(reason)),
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

    /// Adds the answers to the request. They carry the id of the whole round, of which this may
    /// have been a part.
    fn take(
        &mut self,
        answers: Answers,
        needed: &NeededAnswers,
        request: &mut recipe::RecipeRunRequest,
    ) {
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

    /// Returns true if every question is optional, so that no answer at all is an answer.
    fn keys_are_optional(&self, needed: &NeededAnswers) -> bool {
        needed
            .questionnaire
            .questions()
            .all(|question| !question.required)
    }

    /// Takes answers back that the recipe refuses, so that they are asked for once more. False
    /// when the refusal is about something else, or has come too often.
    fn take_back(&mut self, error: &recipe::Error, request: &mut recipe::RecipeRunRequest) -> bool {
        if error.kind() != RecipeErrorKind::Answers || self.reasked == REASKED_MAX {
            return false;
        }
        let is_wrong = |key: &&str| {
            let asked = self.keys.iter().any(|asked| asked == *key);
            asked && error.wrong_answers().any(|wrong| wrong == *key)
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
        self.feedback = Some(error.to_string());
        self.reasked += 1;
        true
    }
}

fn keys(questionnaire: &Questionnaire) -> Vec<String> {
    questionnaire.keys().map(str::to_owned).collect()
}
