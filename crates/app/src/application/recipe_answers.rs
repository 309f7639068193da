//! Answers of a model to a recipe's questions, for a person to look at before anything is written.

use prompt::Answers;
use recipe::{RecipeRunOutcome, SilentHost};
use serde_json::{Map, Value};
use transport::SilentObserver;

use super::UseCases;
use super::recipe_runs::{RecipePass, RecipeRunInput};
use crate::ai::{self, AskOutcome, CallPurpose, LazyAnswerer, RecipeAttempt, RunParticipants};
use crate::{AppErrorCode, CommandCancel, Error};

/// The answers of a run with those that a model has given, and the questions they belong to.
#[derive(Clone, Debug, Default)]
pub struct ProposedAnswers {
    /// All answers, by key: those of the person and those of the model.
    pub answers: Map<String, Value>,
    /// The questions that the model was asked, as the document shows them.
    pub questions: Vec<Value>,
}

/// Asks the model of the settings for the answers that the wish leaves open.
pub(super) fn ask_model(
    use_cases: &UseCases,
    wish: &RecipeRunInput,
) -> Result<ProposedAnswers, Error> {
    let recipe = use_cases.named_recipe(&wish.recipe)?;
    let mut request = use_cases.recipe_request(wish, (&recipe, RecipePass::Preview))?;
    let mut observer = SilentObserver;
    let participants = RunParticipants {
        person: None,
        observer: &mut observer,
        cancel: CommandCancel::default(),
    };
    let app = use_cases.app();
    let mut answerer = LazyAnswerer::new(
        use_cases.project(),
        app.surroundings(),
        app.wish().clone(),
        CallPurpose::Answer,
        participants,
    );
    let mut proposed = ProposedAnswers::default();
    let root = &use_cases.project().root;
    let report = ai::answer(&mut answerer, &mut request, &mut |request| {
        Ok(
            match recipe::run(&recipe, root, request, &mut SilentHost)? {
                RecipeRunOutcome::AnswersNeeded(needed) => {
                    let questions = needed.json["questions"].as_array();
                    proposed
                        .questions
                        .extend(questions.into_iter().flatten().cloned());
                    RecipeAttempt::Needed(Box::new(needed))
                }
                _ => RecipeAttempt::Done(()),
            },
        )
    });
    match report.came? {
        AskOutcome::To(()) => {}
        AskOutcome::Deferred(_) | AskOutcome::Left => return Err(no_model()),
    }
    let given = request.answers.as_ref().map(Answers::iter);
    let given = given.into_iter().flatten();
    proposed.answers = given
        .map(|(key, value)| (key.to_owned(), value.clone()))
        .collect();
    Ok(proposed)
}

fn no_model() -> Error {
    let message = "no model is set up that could answer the questions";
    Error::new(AppErrorCode::NoModel, message)
        .hint("set `[ai] provider` in drawloom.toml, or answer them yourself")
}
