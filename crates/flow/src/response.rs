//! Reads replies: tolerant in form, strict in meaning.
//!
//! The five sections may come as Markdown or as a JSON object, fenced or bare, in snake_case or in
//! camelCase. Status and next action must be present and known words; a reply that cannot be read
//! never counts as a result.

use prompt::{AnswerKind, Question, QuestionSource};
use serde_json::{Map, Value};

use crate::engine::{AttemptFailure, AttemptOutcome, AttemptReport, FailureClass};
use crate::layers::ReplyForm;
use crate::markdown::ReplySections;

/// Limits the requests for a corrected reply after one that cannot be read.
pub const REPAIRS_MAX: u32 = 2;
/// Limits the length of a reply.
pub const REPLY_BYTES_MAX: usize = 4 << 20;
/// Limits the schema violations that are listed.
const VIOLATIONS_MAX: usize = 20;
/// Limits the tags taken from a reply, and their length.
const TAGS_MAX: usize = 20;
const TAG_CHARS_MAX: usize = 64;

/// A parsed reply.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentReply {
    pub status: ReplyStatus,
    pub summary: String,
    /// The output: JSON if the text parses as such, otherwise the text.
    pub output: Value,
    pub next: NextAction,
    /// The reason that CONTINUE, ESCALATE and HOLD give.
    pub reason: Option<String>,
    pub confidence: Option<f64>,
    pub tags: Vec<String>,
    /// Shown to people. Routing never reads it.
    pub suggested_next_stage: Option<String>,
}

/// The status that a reply gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReplyStatus {
    Success,
    Partial,
    Blocked,
    Failed,
}

/// The next action that a reply asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NextAction {
    Complete,
    Continue,
    Escalate,
    Hold,
}

/// The problems of a reply that cannot be read: sentences for the model or person that has to
/// correct it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", problems.join(" "))]
pub struct UnreadableReply {
    pub problems: Vec<String>,
}

/// Reads a reply, and checks its output against the step's schema if the output is used.
///
/// # Errors
///
/// Everything that is missing, unknown or violates the schema.
pub fn read(text: &str, schema: Option<&Value>) -> Result<AgentReply, UnreadableReply> {
    if text.len() > REPLY_BYTES_MAX {
        let bytes = text.len();
        let problem =
            format!("The reply has {bytes} bytes, more than REPLY_BYTES_MAX = {REPLY_BYTES_MAX}.");
        return Err(UnreadableReply {
            problems: vec![problem],
        });
    }
    let mut problems = Vec::new();
    let said = said(text, &mut problems);
    let (Some(said), true) = (said, problems.is_empty()) else {
        return Err(UnreadableReply { problems });
    };
    let reply = &said.reply;
    let used = matches!(reply.status, ReplyStatus::Success | ReplyStatus::Partial);
    match schema.filter(|_| used && reply.next != NextAction::Continue) {
        None => Ok(said.reply),
        Some(schema) => fitting(said, schema),
    }
}

/// Returns the text of an answer that is a whole reply: five sections, or an envelope with
/// `status`, `output` and the next action. Any other answer is the output itself.
#[must_use]
pub(crate) fn as_reply(answer: &Value) -> Option<String> {
    match answer {
        Value::String(text) => {
            let sections = ReplySections::read(text);
            let is_whole =
                sections.status.is_some() && sections.output.is_some() && sections.next.is_some();
            is_whole.then(|| text.clone())
        }
        Value::Object(map) => {
            let status = map.get("status").and_then(Value::as_str)?;
            let is_known = STATUSES.iter().any(|(name, _)| *name == status);
            let next = map.get("next_action").or_else(|| map.get("nextAction"));
            (is_known && next.is_some() && map.contains_key("output")).then(|| answer.to_string())
        }
        _ => None,
    }
}

/// Turns a reply into the report of an attempt. `confidence` is the least that the step requires.
#[must_use]
pub fn report(reply: AgentReply, confidence: Option<f64>) -> AttemptReport {
    let tags = reply.tags.clone();
    let reason = |word: &str| {
        let given = reply.reason.as_deref().filter(|reason| !reason.is_empty());
        let given = given.unwrap_or(reply.summary.as_str());
        format!("{word}: {given}")
    };
    let unsure = confidence
        .zip(reply.confidence.or(Some(0.0)))
        .filter(|(least, given)| given < least);
    let outcome = match (reply.status, reply.next) {
        (ReplyStatus::Failed, _) => AttemptOutcome::Failed(AttemptFailure {
            class: FailureClass::Failed,
            message: reason("FAILED"),
        }),
        (ReplyStatus::Blocked, _) => AttemptOutcome::Asked {
            reason: reason("BLOCKED"),
            output: Some(reply.output),
        },
        (_, NextAction::Escalate) => AttemptOutcome::Asked {
            reason: reason("ESCALATE"),
            output: Some(reply.output),
        },
        (_, NextAction::Hold) => AttemptOutcome::Asked {
            reason: reason("HOLD"),
            output: Some(reply.output),
        },
        (_, NextAction::Continue) => AttemptOutcome::Continue {
            note: reason("CONTINUE"),
            output: Some(reply.output),
        },
        (_, NextAction::Complete) => match unsure {
            Some((least, given)) => AttemptOutcome::Unsure {
                reason: format!(
                    "The reply has a confidence of {given}, and the step asks for {least}."
                ),
                output: reply.output,
            },
            None => AttemptOutcome::Completed {
                output: reply.output,
                partial: reply.status == ReplyStatus::Partial,
            },
        },
    };
    AttemptReport {
        tags,
        ..AttemptReport::of(outcome)
    }
}

/// Returns the report of an attempt whose replies could not be read, after [`REPAIRS_MAX`]
/// corrections.
#[must_use]
pub fn unreadable(error: &UnreadableReply) -> AttemptReport {
    AttemptReport::failed(AttemptFailure {
        class: FailureClass::UnparsableReply,
        message: format!("The reply is still unreadable after {REPAIRS_MAX} corrections. {error}"),
    })
}

/// Writes the message that asks for a corrected reply.
#[must_use]
pub fn correction(error: &UnreadableReply, form: ReplyForm) -> String {
    let whole = match form {
        ReplyForm::Sections => "with all five sections",
        ReplyForm::Envelope => "as one JSON object with all its fields",
    };
    let listed: Vec<String> = error
        .problems
        .iter()
        .map(|problem| format!("- {problem}"))
        .collect();
    format!(
        "Your reply could not be used:\n\n{}\n\nWrite the whole reply again, {whole} and nothing \
         else.",
        listed.join("\n")
    )
}

/// Returns every violation of a JSON Schema by an output, or one sentence if the schema itself is
/// broken. References to other documents are never fetched.
#[must_use]
pub fn violations(schema: &Value, output: &Value) -> Vec<String> {
    let validator = match jsonschema::options().offline().build(schema) {
        Ok(validator) => validator,
        Err(error) => return vec![format!("the schema cannot be used: {error}")],
    };
    let errors = validator.iter_errors(output).take(VIOLATIONS_MAX);
    errors
        .map(|error| {
            let message = crate::settings::plainly(&error.to_string());
            // The whole value has no path that a person would know.
            match error.instance_path().as_str() {
                "" => message,
                at => format!("{at}: {message}"),
            }
        })
        .collect()
}

/// A reply, and the original text of its output, if it had one.
struct ParsedReply {
    reply: AgentReply,
    written: Option<String>,
}

impl ParsedReply {
    /// Parses the output of a reply as JSON if its text is JSON.
    fn written(reply: AgentReply, text: &str) -> ParsedReply {
        ParsedReply {
            reply: AgentReply {
                output: parsed(text),
                ..reply
            },
            written: Some(text.to_owned()),
        }
    }
}

/// Finds the reply in a text: the whole text as an object, its sections, or an object somewhere in
/// it.
fn said(text: &str, problems: &mut Vec<String>) -> Option<ParsedReply> {
    let text = text.trim().trim_start_matches('\u{feff}');
    if text.is_empty() {
        problems.push("The reply is empty.".to_owned());
        return None;
    }
    let whole = structure(text).filter(|_| text.starts_with(['{', '`']));
    if let Some(envelope) = whole.and_then(envelope) {
        return of_envelope(&envelope, problems);
    }
    let sections = ReplySections::read(text);
    if sections.status.is_some() {
        return of_sections(&sections, problems);
    }
    match structure(text).and_then(envelope) {
        Some(envelope) => of_envelope(&envelope, problems),
        None => {
            problems.push(
                "There is neither a `## Status` section nor a JSON object with `status`."
                    .to_owned(),
            );
            None
        }
    }
}

/// Returns the last list or object in a text, ignoring the text around it.
fn structure(text: &str) -> Option<Value> {
    let source = QuestionSource {
        file: String::new(),
        line: 1,
    };
    let mut question = Question::new("reply", source);
    question.kind = AnswerKind::Json;
    prompt::reply::read_one(text, &question).ok()
}

fn envelope(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(map) if map.contains_key("status") => Some(map),
        _ => None,
    }
}

fn of_envelope(map: &Map<String, Value>, problems: &mut Vec<String>) -> Option<ParsedReply> {
    let text = |names: &[&str]| {
        let found = names.iter().find_map(|name| map.get(*name));
        found.and_then(Value::as_str).map(str::to_owned)
    };
    let status = word(text(&["status"]).as_deref(), "status", &STATUSES, problems);
    let next = text(&["next_action", "nextAction"]);
    let next = word(next.as_deref(), "next_action", &NEXTS, problems);
    let output = map.get("output").cloned();
    if output.is_none() {
        problems.push("`output` is missing.".to_owned());
    }
    let metadata = map.get("metadata").and_then(Value::as_object);
    let reply = AgentReply {
        summary: text(&["summary"]).unwrap_or_default(),
        reason: text(&["next_action_reason", "nextActionReason"]),
        ..noted(status?, next?, metadata.unwrap_or(map), problems)
    };
    Some(match output? {
        Value::String(text) => ParsedReply::written(reply, &text),
        output => ParsedReply {
            reply: AgentReply { output, ..reply },
            written: None,
        },
    })
}

fn of_sections(sections: &ReplySections<'_>, problems: &mut Vec<String>) -> Option<ParsedReply> {
    let status = word(sections.status, "## Status", &STATUSES, problems);
    let (first, reason) = match sections.next {
        Some(text) => {
            let (first, rest) = text.trim().split_once('\n').unwrap_or((text.trim(), ""));
            (Some(first), format!("{}\n{rest}", after_word(first)))
        }
        None => (None, String::new()),
    };
    let next = word(first, "## Next Action", &NEXTS, problems);
    if sections.output.is_none() {
        problems.push("The section `## Output` is missing.".to_owned());
    }
    let metadata = match sections.metadata.map(str::trim) {
        None | Some("") => Map::new(),
        Some(text) => match structure(text) {
            Some(Value::Object(map)) => map,
            _ => {
                problems.push("The section `## Metadata` is no JSON object.".to_owned());
                Map::new()
            }
        },
    };
    let reply = noted(status?, next?, &metadata, problems);
    let reply = AgentReply {
        summary: sections.summary.unwrap_or_default().trim().to_owned(),
        reason: Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty()),
        ..reply
    };
    Some(ParsedReply::written(reply, sections.output?.trim()))
}

/// Adds the metadata to a reply.
fn noted(
    status: ReplyStatus,
    next: NextAction,
    metadata: &Map<String, Value>,
    problems: &mut Vec<String>,
) -> AgentReply {
    let either = |snake: &str, camel: &str| metadata.get(snake).or_else(|| metadata.get(camel));
    let confidence = match metadata.get("confidence") {
        None | Some(Value::Null) => None,
        Some(value) => {
            let number = value.as_f64().filter(|number| (0.0..=1.0).contains(number));
            if number.is_none() {
                problems.push("`confidence` is no number from 0 to 1.".to_owned());
            }
            number
        }
    };
    let tags = either("suggested_tags", "suggestedTags").and_then(Value::as_array);
    let tags = tags.into_iter().flatten().filter_map(Value::as_str);
    let tags = tags
        .map(str::trim)
        .filter(|tag| !tag.is_empty() && tag.chars().count() <= TAG_CHARS_MAX);
    let stage = either("suggested_next_stage", "suggestedNextStage").and_then(Value::as_str);
    AgentReply {
        status,
        summary: String::new(),
        output: Value::Null,
        next,
        reason: None,
        confidence,
        tags: tags.take(TAGS_MAX).map(str::to_owned).collect(),
        suggested_next_stage: stage.map(str::to_owned),
    }
}

const STATUSES: [(&str, ReplyStatus); 4] = [
    ("SUCCESS", ReplyStatus::Success),
    ("PARTIAL", ReplyStatus::Partial),
    ("BLOCKED", ReplyStatus::Blocked),
    ("FAILED", ReplyStatus::Failed),
];

const NEXTS: [(&str, NextAction); 4] = [
    ("COMPLETE", NextAction::Complete),
    ("CONTINUE", NextAction::Continue),
    ("ESCALATE", NextAction::Escalate),
    ("HOLD", NextAction::Hold),
];

/// Returns the one known word of a text. No word is a problem, and so are two: the model has
/// repeated the list of choices.
fn word<T: Copy>(
    text: Option<&str>,
    place: &str,
    known: &[(&'static str, T)],
    problems: &mut Vec<String>,
) -> Option<T> {
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let Some(text) = text else {
        problems.push(format!(
            "`{place}` is missing: it is one of {}.",
            names.join(", ")
        ));
        return None;
    };
    let first = text.trim().lines().next().unwrap_or_default();
    let words = first
        .split(|c: char| !c.is_ascii_alphabetic())
        .map(str::to_uppercase);
    let words: Vec<String> = words.collect();
    let mut found = known
        .iter()
        .filter(|(name, _)| words.iter().any(|word| word == name));
    match (found.next(), found.next()) {
        (Some((_, value)), None) => Some(*value),
        (Some(_), Some(_)) => {
            problems.push(format!(
                "`{place}` has more than one of {}.",
                names.join(", ")
            ));
            None
        }
        _ => {
            problems.push(format!("`{place}` must be one of {}.", names.join(", ")));
            None
        }
    }
}

/// Returns the text behind the first word of a line.
fn after_word(line: &str) -> &str {
    let rest = line.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    rest.trim_start_matches(|c: char| !c.is_alphanumeric())
}

/// Parses an output as JSON, or returns it as text.
fn parsed(text: &str) -> Value {
    let text = text.trim();
    let inside = crate::markdown::unfenced(text).unwrap_or(text).trim();
    match serde_json::from_str::<Value>(inside) {
        Ok(Value::String(_)) | Err(_) => {}
        Ok(value) => return value,
    }
    let begins = inside.starts_with(['{', '[']);
    let read = begins.then(|| structure(inside)).flatten();
    read.unwrap_or_else(|| Value::from(text))
}

fn fitting(said: ParsedReply, schema: &Value) -> Result<AgentReply, UnreadableReply> {
    let reply = said.reply;
    let wrong = violations(schema, &reply.output);
    if wrong.is_empty() {
        return Ok(reply);
    }
    // If the schema wants a text, a text that happens to be a number or an object stays a text;
    // data that a model has put into prose is the data.
    let text = said.written.as_deref().map(Value::from);
    let found = said.written.as_deref().and_then(structure);
    let mut others = text.into_iter().chain(found);
    let output = others.find(|one| violations(schema, one).is_empty());
    if let Some(output) = output {
        return Ok(AgentReply { output, ..reply });
    }
    let problems = wrong
        .into_iter()
        .map(|wrong| format!("The output does not fit its schema: {wrong}."));
    Err(UnreadableReply {
        problems: problems.collect(),
    })
}
