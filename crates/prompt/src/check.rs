//! Checks answers against their questions, and returns the typed values.

use crate::answers::{Answers, REQUEST_KEY};
use crate::kinds::{self, BrokenRule};
use crate::limits::{ANSWER_BYTES_MAX, ANSWER_DEPTH_MAX};
use crate::problem::{AnswerProblem, AnswerRule};
use crate::questionnaire::{Question, Questionnaire, RequestId};
use crate::text;
use indexmap::IndexMap;
use serde_json::Value;
use std::collections::HashSet;

/// Number of known keys a message lists.
const LISTED_MAX: usize = 20;

/// Answers that passed their checks, as the values they mean.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TypedAnswers(IndexMap<String, Value>);

impl TypedAnswers {
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Joins the answers of a later round; the later answer to the same key holds.
    pub fn extend(&mut self, later: TypedAnswers) {
        self.0.extend(later.0);
    }

    /// Returns the object that templates know as `answers`.
    pub fn into_value(self) -> Value {
        Value::Object(self.0.into_iter().collect())
    }
}

/// Returns the typed value of an answer, or its problem.
///
/// `null` is no answer: a problem for a required question, `null` again for an optional one.
pub fn check(question: &Question, value: &Value) -> Result<Value, AnswerProblem> {
    if value.is_null() {
        return match question.required {
            true => Err(problem(
                question,
                BrokenRule::new(AnswerRule::Missing, "is missing."),
            )),
            false => Ok(Value::Null),
        };
    }
    check_size(value).map_err(|broken| problem(question, broken))?;
    check_filled_in(question, value)
        .and_then(|()| kinds::typed(question, value))
        .map_err(|broken| AnswerProblem {
            found: Some(Box::new(value.clone())),
            ..problem(question, broken)
        })
}

/// Checks all answers and reports every wrong or missing one at once.
///
/// Keys without a question are ignored: see [`unknown_keys`]. An optional question that was not
/// answered has no typed answer.
pub fn check_all(
    questionnaire: &Questionnaire,
    answers: &Answers,
) -> Result<TypedAnswers, Vec<AnswerProblem>> {
    let mut typed = TypedAnswers::default();
    let mut problems = Vec::new();
    for question in questionnaire.questions() {
        match check(question, answers.get(&question.key).unwrap_or(&Value::Null)) {
            Ok(Value::Null) => {}
            Ok(value) => {
                typed.0.insert(question.key.clone(), value);
            }
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() {
        Ok(typed)
    } else {
        Err(problems)
    }
}

/// Returns a problem for each answer without a question, with the known key that was probably
/// meant.
pub fn unknown_keys<'a>(
    known: impl Iterator<Item = &'a str>,
    answers: &Answers,
) -> Vec<AnswerProblem> {
    let known: Vec<&str> = known.collect();
    let lookup: HashSet<&str> = known.iter().copied().collect();
    let unknown = answers.iter().filter(|(key, _)| !lookup.contains(key));
    unknown
        .map(|(key, value)| AnswerProblem {
            key: key.to_owned(),
            rule: AnswerRule::UnknownKey,
            message: format!("is not asked for. {}", instead(key, &known)),
            found: Some(Box::new(value.clone())),
            place: None,
        })
        .collect()
}

/// Returns a problem if the answers carry a request id that this run did not ask with (it has one
/// id per round). Answers without an id are accepted.
pub fn stale(asked: &[RequestId], answers: &Answers) -> Option<AnswerProblem> {
    let given = answers
        .request_id()
        .filter(|given| !asked.contains(given))?;
    let asked: Vec<String> = asked.iter().map(|id| format!("`{id}`")).collect();
    Some(AnswerProblem {
        key: REQUEST_KEY.to_owned(),
        rule: AnswerRule::StaleRequest,
        message: format!(
            "is `{}`, but the questions are now {}: they have changed since they were answered. \
             Run without the answers and answer the new document, or remove `{REQUEST_KEY}` to \
             use these answers as they are.",
            text::shorten(given.as_str()),
            asked.join(", "),
        ),
        found: Some(Box::new(Value::from(given.as_str()))),
        place: None,
    })
}

fn instead(key: &str, known: &[&str]) -> String {
    if let Some(near) = diagnostics::nearest(key, known.iter().copied()) {
        return format!("Did you mean `{near}`?");
    }
    if known.is_empty() {
        return "Nothing is asked.".to_owned();
    }
    let values: Vec<Value> = known.iter().map(|key| Value::from(*key)).collect();
    format!("Known keys: {}.", text::listed(values.iter(), LISTED_MAX))
}

fn problem(question: &Question, broken: BrokenRule) -> AnswerProblem {
    AnswerProblem {
        key: question.key.clone(),
        rule: broken.rule,
        message: broken.message,
        found: None,
        place: Some(question.source.clone()),
    }
}

/// Depth first: writing a value recurses as deep as the value is.
fn check_size(value: &Value) -> Result<(), BrokenRule> {
    if depth_exceeds(value, ANSWER_DEPTH_MAX) {
        let message = format!("is nested deeper than ANSWER_DEPTH_MAX ({ANSWER_DEPTH_MAX}).");
        return Err(BrokenRule::new(AnswerRule::TooDeep, message));
    }
    let bytes = value.to_string().len();
    if bytes > ANSWER_BYTES_MAX {
        let message =
            format!("is too large: {bytes} bytes exceed ANSWER_BYTES_MAX ({ANSWER_BYTES_MAX}).");
        return Err(BrokenRule::new(AnswerRule::TooLarge, message));
    }
    Ok(())
}

/// Recursion stops at the limit, however deep the value is.
fn depth_exceeds(value: &Value, left: usize) -> bool {
    match value {
        Value::Array(_) | Value::Object(_) if left == 0 => true,
        Value::Array(items) => items.iter().any(|inner| depth_exceeds(inner, left - 1)),
        Value::Object(object) => object.values().any(|inner| depth_exceeds(inner, left - 1)),
        _ => false,
    }
}

fn check_filled_in(question: &Question, value: &Value) -> Result<(), BrokenRule> {
    if value.as_str() == Some(&question.placeholder()) {
        let message = "still has the placeholder value. Replace it with the answer.";
        return Err(BrokenRule::new(AnswerRule::Placeholder, message));
    }
    Ok(())
}
