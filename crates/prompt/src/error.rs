//! The one error of this crate: each variant is a case a caller may treat differently.

use crate::problem::AnswerProblem;
use crate::questionnaire::QuestionSource;

/// An error of a questionnaire; the message says what to do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A key that could not be used in an answers file or a document.
    #[error("{place}: {key:?} cannot be the key of a question: {reason}. Choose another key.")]
    KeyInvalid {
        key: String,
        place: QuestionSource,
        reason: &'static str,
    },
    /// Two questions that are not the same want one key.
    #[error(
        "Two different questions are asked under the key `{key}`, at {first} and at {second}: \
         their {difference} differs. Give one of them another key, or make them the same."
    )]
    QuestionConflict {
        key: String,
        first: QuestionSource,
        second: QuestionSource,
        difference: &'static str,
    },
    /// A `select` with an empty list can never be answered.
    #[error(
        "{place}: the question `{key}` offers nothing to choose from. Give `from` at least one value."
    )]
    NothingToChoose { key: String, place: QuestionSource },
    /// The schema of a question is itself wrong.
    #[error("{place}: the schema of the question `{key}` is not a usable JSON Schema: {detail}.")]
    SchemaBroken {
        key: String,
        place: QuestionSource,
        detail: String,
    },
    /// `type:` names no kind of answer.
    #[error("`{name}` is not a kind of answer. Use one of {known}.{}", did_you_mean(.nearest))]
    KindUnknown {
        name: String,
        known: String,
        nearest: Option<&'static str>,
    },
    /// `syntax:` names no language that can be checked.
    #[error("`{name}` is no language whose syntax is checked. Use one of {known}.{}", did_you_mean(.nearest))]
    SyntaxUnknown {
        name: String,
        known: String,
        nearest: Option<&'static str>,
    },
    /// A named bound is exceeded.
    #[error("{what} is too large: {size} exceeds {limit} ({max}).")]
    TooLarge {
        what: String,
        size: usize,
        limit: &'static str,
        max: usize,
    },
    /// An answers file that is not JSON.
    #[error("{origin}:{line}:{column}: the answers cannot be read: {detail}. {hint}")]
    AnswersUnreadable {
        origin: String,
        line: usize,
        column: usize,
        detail: String,
        hint: &'static str,
    },
    /// An answers file that is JSON but not an object, or whose `$request` is no text.
    #[error("{origin}: {detail}. {hint}")]
    AnswersMisshapen {
        origin: String,
        detail: String,
        hint: &'static str,
    },
    /// The model said nothing.
    #[error("The reply is empty. Reply with the JSON object that was asked for.")]
    ReplyEmpty,
    /// The model said something, but nothing that looks like answers.
    #[error(
        "The reply holds no JSON object; it begins {begins:?}. Reply with the JSON object only."
    )]
    ReplyWithoutObject { begins: String },
    /// The reply stops in the middle of the answers.
    #[error(
        "The reply ends inside the JSON object that begins at line {line}: it was cut off. \
         Reply again, shorter or with a higher output limit."
    )]
    ReplyCutOff { line: usize },
    /// The reply holds answers with a mistake in their JSON.
    #[error(
        "The JSON object in the reply is wrong at {line}:{column}: {detail}, near {near:?}. {hint}"
    )]
    ReplyMalformed {
        line: usize,
        column: usize,
        detail: String,
        near: String,
        hint: &'static str,
    },
    /// The reply was read, and its answers are not what was asked for.
    #[error("The answers in the reply do not fit the questions:{}", bullets(.problems))]
    ReplyWrong { problems: Vec<AnswerProblem> },
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |name| format!(" Did you mean `{name}`?"))
}

fn bullets(problems: &[AnswerProblem]) -> String {
    problems
        .iter()
        .map(|problem| format!("\n- {problem}"))
        .collect()
}
