//! Rounds: walk, ask what came up, take the answers, walk again until nothing is open.
//!
//! A round ends when everything it asks is answered; only then does the next begin. So the
//! questions of a round depend on nothing but the answers before it, and the id of a round's
//! questionnaire is the same however many runs it takes to answer it.

use diagnostics::suggestion;
use indexmap::IndexSet;
use prompt::{Answers, Question, Questionnaire, RequestId};
use serde_json::Value;

use crate::error::{Diagnostic, Error, FileSpan, RecipeErrorKind};
use crate::generation_record::question_hash;
use crate::host::RecipeHost;
use crate::request::{AskMissing, ChangedQuestions};
use crate::session::{PassResult, RecipeSession};
use crate::step::{KnownInputs, WantedVariable, missing};
use crate::variables::checked;

/// Most rounds of questions that depend on one another.
pub(crate) const ROUNDS_MAX: usize = 100;

/// Result of all rounds.
pub(crate) enum RoundsOutcome {
    Decided(Box<PassResult>),
    /// The missing questions, and the id of the round that asks them.
    Needed(Questionnaire, RequestId, Box<PassResult>),
}

/// Goes through the rounds.
pub(crate) fn decide(
    session: &RecipeSession<'_>,
    known: &mut KnownInputs,
    host: &mut dyn RecipeHost,
) -> Result<RoundsOutcome, Error> {
    let mut asked = AskedQuestions::default();
    for _ in 0..ROUNDS_MAX {
        let walked = session.walk(known)?;
        session.check_trust(&walked)?;
        let answers = session.answers();
        if take_variables(&walked, known, answers)? {
            continue;
        }
        if session.ask_missing() != AskMissing::Document && !walked.found.wanted.is_empty() {
            ask(&walked.found.wanted, session.ask_missing(), known, host)?;
            continue;
        }
        if take_defaults(&walked.found.wanted, known) {
            continue;
        }
        let questionnaire = questions(session, &walked)?;
        match asked.round(questionnaire, known, session, &walked)? {
            RoundOutcome::Answered => {}
            RoundOutcome::Missing(missing, id) => {
                return Ok(RoundsOutcome::Needed(missing, id, Box::new(walked)));
            }
            RoundOutcome::Nothing => {
                asked.check(answers, &walked)?;
                if let Some(unseen) = asked.unseen(answers) {
                    let id = asked
                        .ids
                        .last()
                        .cloned()
                        .unwrap_or_else(|| unseen.request_id());
                    return Ok(RoundsOutcome::Needed(unseen, id, Box::new(walked)));
                }
                return Ok(RoundsOutcome::Decided(Box::new(walked)));
            }
        }
    }
    let message =
        format!("questions still lead to questions after ROUNDS_MAX = {ROUNDS_MAX} rounds");
    Err(Error::new(RecipeErrorKind::Limit, message))
}

/// Refuses questions that came up while commands were running already.
pub(crate) fn check_late(walked: &PassResult) -> Result<(), Error> {
    let found = &walked.found;
    if !found.unsettled && found.wanted.is_empty() {
        return Ok(());
    }
    let keys: Vec<&str> = found.unanswered.keys().map(String::as_str).collect();
    let wanted = found.wanted.iter().map(|wanted| wanted.name.as_str());
    let keys: Vec<&str> = keys.into_iter().chain(wanted).collect();
    let message = format!(
        "questions appeared only after a command had run, too late to be asked: {}",
        keys.join(", ")
    );
    let hint = "make the question independent of values that commands export";
    Err(Error::new(RecipeErrorKind::Template, message).hint(hint))
}

/// Result of one round.
enum RoundOutcome {
    /// Everything it asked is answered: the next may begin.
    Answered,
    Missing(Questionnaire, RequestId),
    /// It asked nothing new.
    Nothing,
}

/// Everything asked so far.
#[derive(Default)]
struct AskedQuestions {
    ids: Vec<RequestId>,
    keys: IndexSet<String>,
    /// Optional questions that were left out, with the round that asked them.
    declined: Vec<(usize, Question)>,
}

impl AskedQuestions {
    fn round(
        &mut self,
        questionnaire: Questionnaire,
        known: &mut KnownInputs,
        session: &RecipeSession<'_>,
        walked: &PassResult,
    ) -> Result<RoundOutcome, Error> {
        let is_new = |question: &&Question| {
            !known.answers.contains_key(&question.key) && !known.values.contains_key(&question.key)
        };
        let new: Vec<Question> = questionnaire.questions().filter(is_new).cloned().collect();
        if new.is_empty() {
            return Ok(RoundOutcome::Nothing);
        }
        self.ids.push(questionnaire.request_id());
        self.keys
            .extend(new.iter().map(|question| question.key.clone()));
        let given = session.answers();
        let mut problems = Vec::new();
        let mut open = Vec::new();
        for question in new {
            let fresh = given.and_then(|given| given.get(&question.key));
            let fresh = fresh.filter(|value| !(value.is_null() && question.required));
            let asks = question_hash(&question);
            let old = session.remembered(&question.key).filter(|old| {
                let is_same = old.question.as_ref().is_none_or(|then| *then == asks);
                is_same || session.request.changed_questions == ChangedQuestions::KeepAnswer
            });
            known.questions.insert(question.key.clone(), asks.clone());
            let taken = match (fresh, old) {
                (Some(value), _) => take(&question, value, known, walked),
                // An old answer that does not fit any more is no answer.
                (None, Some(old)) if take(&question, &old.value, known, walked).is_ok() => {
                    if old.question.as_ref().is_some_and(|then| *then != asks) {
                        known.answers_kept.insert(question.key.clone());
                    }
                    Ok(())
                }
                _ => {
                    open.push(question);
                    Ok(())
                }
            };
            problems.extend(taken.err());
        }
        if let Some(given) = given.filter(|_| !problems.is_empty()) {
            return Err(self.wrong(problems, given));
        }
        let must_ask = match given {
            // The author of the given answers has seen the optional questions and left them out.
            Some(_) => open.iter().any(|question| question.required),
            None => !open.is_empty(),
        };
        if must_ask {
            if let Some(given) = given {
                self.check_keys(given, walked)?;
                self.check_stale(given)?;
            }
            return Ok(self.missing(&questionnaire, open));
        }
        for question in open {
            known.answers.insert(question.key.clone(), Value::Null);
            self.declined.push((self.ids.len() - 1, question));
        }
        Ok(RoundOutcome::Answered)
    }

    /// Makes the questionnaire of the open questions, under the id of the whole round.
    fn missing(&self, round: &Questionnaire, open: Vec<Question>) -> RoundOutcome {
        let mut missing = Questionnaire::new();
        for context in round.contexts() {
            missing.add_context(context);
        }
        for question in open {
            // Each was asked before in the round's own questionnaire, so it cannot be refused.
            missing.ask(question).ok();
        }
        RoundOutcome::Missing(missing, round.request_id())
    }

    /// Runs the last checks, when no question is open any more.
    fn check(&self, given: Option<&Answers>, walked: &PassResult) -> Result<(), Error> {
        if let Some(given) = given {
            self.check_keys(given, walked)?;
            self.check_stale(given)?;
        }
        let found = &walked.found;
        let unasked = found
            .unanswered
            .keys()
            .find(|key| !self.keys.contains(*key));
        if let Some(key) = unasked {
            let message = format!("a template reads `answers.{key}`, and no question has that key");
            let hint = suggestion(key, self.keys.iter().map(String::as_str));
            let hint = hint.unwrap_or_else(|| "nothing is asked".to_owned());
            return Err(Error::new(RecipeErrorKind::Template, message).hint(hint));
        }
        match found.excused.first() {
            Some(error) => Err(error.clone()),
            None if found.unsettled => {
                let message = "a step waits for an answer to a question that was never asked";
                Err(Error::new(RecipeErrorKind::Template, message))
            }
            None => Ok(()),
        }
    }

    /// Refuses answers to questions that were never asked. While a question is open, the matching
    /// one may still come.
    fn check_keys(&self, given: &Answers, walked: &PassResult) -> Result<(), Error> {
        let found = &walked.found;
        let variables = found.variables.keys().map(String::as_str);
        let postponed = found.postponed.iter().map(String::as_str);
        let known = self
            .keys
            .iter()
            .map(String::as_str)
            .chain(variables)
            .chain(postponed);
        let may_come = found.unsettled && found.postponed.iter().any(String::is_empty);
        let problems = prompt::unknown_keys(known, given);
        if problems.is_empty() || may_come {
            return Ok(());
        }
        let diagnostics = problems
            .iter()
            .map(|problem| Diagnostic::new(problem.to_string()).about(problem));
        Err(Error::of(RecipeErrorKind::Answers, diagnostics.collect()))
    }

    fn check_stale(&self, given: &Answers) -> Result<(), Error> {
        // Answers to nothing but variables need no round.
        if self.ids.is_empty() {
            return Ok(());
        }
        match prompt::stale(&self.ids, given) {
            Some(problem) => {
                let diagnostic = Diagnostic::new(problem.to_string()).about(&problem);
                Err(Error::of(RecipeErrorKind::Answers, vec![diagnostic]))
            }
            None => Ok(()),
        }
    }

    fn wrong(&self, problems: Vec<Diagnostic>, given: &Answers) -> Error {
        let error = Error::of(RecipeErrorKind::Answers, problems);
        match prompt::stale(&self.ids, given) {
            Some(_) => error.hint(
                "the answers carry the id of another request; if the recipe has changed, run again \
                 without them and answer the new document",
            ),
            None => error,
        }
    }

    /// Returns optional questions that came up after the answers were written, so their author has
    /// not seen them.
    fn unseen(&self, given: Option<&Answers>) -> Option<Questionnaire> {
        let request = given?.request_id()?;
        let answered = self.ids.iter().position(|id| id == request)?;
        let mut unseen = Questionnaire::new();
        for (round, question) in &self.declined {
            if *round > answered {
                unseen.ask(question.clone()).ok();
            }
        }
        (!unseen.is_empty()).then_some(unseen)
    }
}

/// Checks one answer and keeps it, as an answer or as a variable's value.
fn take(
    question: &Question,
    value: &Value,
    known: &mut KnownInputs,
    walked: &PassResult,
) -> Result<(), Diagnostic> {
    let placed = |message: String| {
        let place = FileSpan {
            line: question.source.line,
            column: 1,
            width: 1,
        };
        let message = format!("the answer `{}` {message}", question.key);
        Diagnostic::new(message).in_file(&question.source.file, Some(place))
    };
    let typed = prompt::check(question, value)
        .map_err(|problem| placed(problem.message.clone()).about(&problem))?;
    match walked
        .found
        .wanted
        .iter()
        .find(|wanted| wanted.name == question.key)
    {
        None => {
            known.answers.insert(question.key.clone(), typed);
        }
        Some(wanted) => {
            let value = checked(&wanted.variable, &typed);
            let value = value.map_err(|wrong| placed(wrong).about_variable(&question.key))?;
            known.values.insert(question.key.clone(), value);
        }
    }
    Ok(())
}

/// Takes the values of variables that the answers carry by name; returns true if some are new.
fn take_variables(
    walked: &PassResult,
    known: &mut KnownInputs,
    given: Option<&Answers>,
) -> Result<bool, Error> {
    let Some(given) = given else { return Ok(false) };
    let mut problems = Vec::new();
    let mut is_new = false;
    for (name, variable) in &walked.found.variables {
        let taken = known.values.contains_key(name) || walked.assigned.contains(name);
        let Some(value) = given.get(name).filter(|value| !taken && !value.is_null()) else {
            continue;
        };
        match checked(variable, value) {
            Ok(value) => {
                known.values.insert(name.clone(), value);
                is_new = true;
            }
            Err(wrong) => {
                let problem = Diagnostic::new(format!("the answer `{name}` {wrong}"));
                problems.push(problem.about_variable(name));
            }
        }
    }
    match problems.is_empty() {
        true => Ok(is_new),
        false => Err(Error::of(RecipeErrorKind::Answers, problems)),
    }
}

/// Gets wanted values from a person, else from defaults, else fails with all that is missing.
fn ask(
    wanted: &[WantedVariable],
    who: AskMissing,
    known: &mut KnownInputs,
    host: &mut dyn RecipeHost,
) -> Result<(), Error> {
    let mut open = Vec::new();
    for wanted in wanted {
        let answer = match who {
            AskMissing::Person => ask_person(wanted, host),
            _ => None,
        };
        let default = wanted
            .variable
            .default
            .as_ref()
            .map(|datum| datum.value.clone());
        if let Some(answer) = answer.as_ref().filter(|_| !wanted.variable.secret) {
            known.asked.insert(wanted.name.clone(), answer.clone());
        }
        match answer.or(default) {
            Some(value) => {
                known.values.insert(wanted.name.clone(), value);
            }
            None => open.push(wanted.clone()),
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(missing(&open))
    }
}

/// Asks until the answer fits.
fn ask_person(wanted: &WantedVariable, host: &mut dyn RecipeHost) -> Option<Value> {
    let ask = wanted.ask();
    let check = |value: &Value| checked(&wanted.variable, value).map(drop);
    loop {
        let value = host.ask(&ask, &check)?;
        if let Ok(value) = checked(&wanted.variable, &value) {
            return Some(value);
        }
    }
}

/// Collects the questions of a round: values that must be given, then those of templates.
fn questions(session: &RecipeSession<'_>, walked: &PassResult) -> Result<Questionnaire, Error> {
    let mut questionnaire = Questionnaire::new();
    let refused = |error: prompt::Error| Error::new(RecipeErrorKind::Template, error.to_string());
    if session.ask_missing() == AskMissing::Document {
        for wanted in &walked.found.wanted {
            questionnaire.ask(wanted.question()).map_err(refused)?;
        }
    }
    questionnaire
        .merge(walked.found.questionnaire.clone())
        .map_err(refused)?;
    Ok(questionnaire)
}

/// Takes the defaults of prompts as answers if no person is there to ask; returns true if it took
/// one.
fn take_defaults(wanted: &[WantedVariable], known: &mut KnownInputs) -> bool {
    let before = known.values.len();
    for wanted in wanted {
        if let Some(default) = &wanted.variable.default {
            known
                .values
                .insert(wanted.name.clone(), default.value.clone());
        }
    }
    known.values.len() > before
}
