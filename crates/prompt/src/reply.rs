//! A model's raw reply, read into answers: the one place that knows how models misformat JSON.
//!
//! Forgiven, because nothing is lost by it: a byte order mark, prose and fences around the object,
//! commas before a closing bracket, and raw line breaks inside strings. Everything else is an
//! [`Error`] that [`correction`] turns into one more turn.

use crate::answers::{Answers, REQUEST_KEY};
use crate::check::{check, check_all, unknown_keys};
use crate::error::Error;
use crate::limits::{ANSWERS_MAX, REPLY_BYTES_MAX, REPLY_STARTS_MAX};
use crate::questionnaire::{AnswerKind, Question, Questionnaire};
use crate::strict_json::{self, JsonFault};
use crate::{fence, kinds, text};
use serde_json::{Map, Value};

/// Reads a reply that answers a whole questionnaire.
///
/// The answers have exactly the keys that were asked for and have passed their checks; they are
/// returned as given, because [`check_all`] makes typed values of them once and not twice. They
/// carry this questionnaire's request id, whatever the model made of it.
pub fn read(reply: &str, questionnaire: &Questionnaire) -> Result<Answers, Error> {
    let mut object = find_object(bounded(reply)?, questionnaire)?;
    object.shift_remove(REQUEST_KEY);
    let mut answers = Answers::empty();
    for (key, value) in object {
        answers.insert(key, value);
    }
    answers.set_request_id(questionnaire.request_id());
    let mut problems = unknown_keys(questionnaire.keys(), &answers);
    if let Err(wrong) = check_all(questionnaire, &answers) {
        problems.extend(wrong);
    }
    if problems.is_empty() {
        Ok(answers)
    } else {
        Err(Error::ReplyWrong { problems })
    }
}

/// Reads a reply that is the answer to one question and nothing else: text unchanged, JSON for the
/// kinds that want it. The value has passed its check and is returned as given.
pub fn read_one(reply: &str, question: &Question) -> Result<Value, Error> {
    let reply = bounded(reply)?;
    let value = match &question.kind {
        AnswerKind::Text => Value::from(reply),
        AnswerKind::Code { .. } => Value::from(code_in(reply)),
        AnswerKind::Any if question.schema.is_none() => match json_in(reply) {
            Some(value @ (Value::Array(_) | Value::Object(_))) => value,
            _ => Value::from(reply),
        },
        AnswerKind::Boolean | AnswerKind::Number | AnswerKind::Select { .. } => {
            let value = json_in(reply).unwrap_or_else(|| Value::from(reply));
            let word = value.as_str().map(str::to_owned);
            word.and_then(|word| kinds::from_word(&question.kind, &word))
                .unwrap_or(value)
        }
        // A string is left as it was written: the check looks for JSON inside it.
        _ => match json_in(reply).or_else(|| structure_in(reply)) {
            Some(value) if !value.is_string() => value,
            _ => Value::from(reply),
        },
    };
    match check(question, &value) {
        Ok(_) => Ok(value),
        Err(problem) => Err(Error::ReplyWrong {
            problems: vec![problem],
        }),
    }
}

/// Returns the text that a program wrapped into a report of its own: `claude -p --output-format
/// json` prints one object with the reply under `result`, `stream-json` a line for each event and
/// such an object last.
pub fn unwrapped(text: &str) -> Option<String> {
    let trimmed = text.trim();
    let whole = trimmed.starts_with(['{', '[']).then_some(trimmed)?;
    let report = match serde_json::from_str(whole) {
        Ok(Value::Array(events)) => events.last()?.clone(),
        Ok(report) => report,
        Err(_) => serde_json::from_str(whole.lines().last()?).ok()?,
    };
    let is_report = report.get("type").and_then(Value::as_str) == Some("result");
    let result = report.get("result").filter(|_| is_report)?;
    result.as_str().map(str::to_owned)
}

/// Makes the one corrective turn: the problem, and what to send instead.
pub fn correction(error: &Error, questionnaire: &Questionnaire) -> String {
    let keys: Vec<String> = questionnaire.keys().map(|key| format!("`{key}`")).collect();
    format!(
        "Your reply could not be used.\n\n{error}\n\nReply again with one JSON object with the \
         keys {}, and with nothing before or after it.",
        keys.join(", ")
    )
}

fn bounded(reply: &str) -> Result<&str, Error> {
    if reply.len() > REPLY_BYTES_MAX {
        return Err(Error::TooLarge {
            what: "The reply".to_owned(),
            size: reply.len(),
            limit: "REPLY_BYTES_MAX",
            max: REPLY_BYTES_MAX,
        });
    }
    let reply = strict_json::without_bom(reply.trim_start()).trim();
    if reply.is_empty() {
        return Err(Error::ReplyEmpty);
    }
    Ok(reply)
}

/// Finds the object that answers the most questions; of equals the last, since models restate the
/// skeleton before they fill it in.
fn find_object(reply: &str, asked: &Questionnaire) -> Result<Map<String, Value>, Error> {
    let found = scan(reply, '{');
    let known =
        |object: &Map<String, Value>| object.keys().filter(|key| asked.get(key).is_some()).count();
    let objects = found.values.into_iter().filter_map(|value| match value {
        Value::Object(object) => Some((known(&object), object)),
        _ => None,
    });
    let best = objects.max_by_key(|(known, _)| *known);
    match (best, found.fault) {
        (Some((known, object)), _) if known > 0 => within_bounds(object),
        (_, Some((at, fault))) => Err(located(reply, at, fault)),
        (Some((_, object)), None) => within_bounds(object),
        (None, None) => Err(Error::ReplyWithoutObject {
            begins: text::shorten(reply),
        }),
    }
}

fn within_bounds(object: Map<String, Value>) -> Result<Map<String, Value>, Error> {
    if object.len() <= ANSWERS_MAX {
        return Ok(object);
    }
    Err(Error::TooLarge {
        what: "The number of answers in the reply".to_owned(),
        size: object.len(),
        limit: "ANSWERS_MAX",
        max: ANSWERS_MAX,
    })
}

/// The text between matching brackets: the values that could be read, and the first fault met, with
/// the byte at which its value starts.
#[derive(Default)]
struct BracketScan {
    values: Vec<Value>,
    fault: Option<(usize, JsonFault)>,
}

fn scan(reply: &str, open: char) -> BracketScan {
    let mut found = BracketScan::default();
    let mut from = 0;
    for _ in 0..REPLY_STARTS_MAX {
        let Some(start) = next_start(reply, from, open) else {
            break;
        };
        let end = closing(&reply[start..]).map(|length| start + length);
        match tolerant(&reply[start..end.unwrap_or(reply.len())]) {
            Ok(value) => found.values.push(value),
            Err(fault) => {
                found.fault.get_or_insert((start, fault));
            }
        }
        // The inside of a value that never closes may still hold the answers: prose has brackets
        // too.
        from = end.unwrap_or(start + open.len_utf8());
    }
    found
}

/// Finds the next bracket that can start a JSON value. `{` in prose or code is rarely followed by a
/// double quote; in JSON it always is, unless the object is empty.
fn next_start(reply: &str, from: usize, open: char) -> Option<usize> {
    reply[from..]
        .match_indices(open)
        .map(|(at, _)| from + at)
        .find(|at| {
            let inside = reply[at + open.len_utf8()..].trim_start();
            open != '{' || inside.starts_with(['"', '}'])
        })
}

/// Returns the length of the text up to and including the bracket that closes its first one.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Strict first; then without commas before closing brackets, which keeps every position; then
/// with raw control characters in strings escaped.
fn tolerant(json: &str) -> Result<Value, JsonFault> {
    strict_json::parse(json).or_else(|_| {
        let json = without_trailing_commas(json);
        strict_json::parse(&json)
            .or_else(|fault| strict_json::parse(&with_controls_escaped(&json)).map_err(|_| fault))
    })
}

fn without_trailing_commas(json: &str) -> String {
    let mut clean = String::with_capacity(json.len());
    let mut comma: Option<usize> = None;
    for (c, in_string) in marked(json) {
        match c {
            ',' if !in_string => comma = Some(clean.len()),
            '}' | ']' if !in_string => {
                if let Some(at) = comma.take() {
                    clean.replace_range(at..=at, " ");
                }
            }
            c if c.is_whitespace() => {}
            _ => comma = None,
        }
        clean.push(c);
    }
    clean
}

fn with_controls_escaped(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for (c, in_string) in marked(json) {
        match c {
            '\n' if in_string => escaped.push_str("\\n"),
            '\r' if in_string => escaped.push_str("\\r"),
            '\t' if in_string => escaped.push_str("\\t"),
            c if in_string && c < ' ' => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Pairs each character with true if it is inside a string; the quotes count as inside.
fn marked(json: &str) -> impl Iterator<Item = (char, bool)> {
    let (mut in_string, mut escaped) = (false, false);
    json.chars().map(move |c| {
        let was_in_string = in_string;
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        (c, was_in_string || in_string)
    })
}

/// Turns a fault of a part into an error of the whole reply.
fn located(reply: &str, start: usize, fault: JsonFault) -> Error {
    let before = &reply[..start];
    let lines_before = before.matches('\n').count();
    if fault.cut_off {
        return Error::ReplyCutOff {
            line: lines_before + 1,
        };
    }
    let line = lines_before + fault.line;
    let column = match fault.line {
        1 => before.len() - before.rfind('\n').map_or(0, |at| at + 1) + fault.column,
        _ => fault.column,
    };
    let near = reply.lines().nth(line - 1).unwrap_or_default().trim();
    Error::ReplyMalformed {
        line,
        column,
        detail: fault.detail,
        near: text::shorten(near),
        hint: fault.hint,
    }
}

/// Returns the code of the only fenced block, if there is prose around it; the check strips a fence
/// around a whole reply.
fn code_in(reply: &str) -> &str {
    match fence::strip_surrounding(reply) {
        Some(_) => reply,
        None => fence::only_block(reply).unwrap_or(reply),
    }
}

/// Returns the JSON object in a reply: all of it, the last fenced block, or from the first brace to
/// the last.
///
/// It is text and may be broken: the caller reports the error when it reads it.
pub fn object_in(reply: &str) -> &str {
    let reply = reply.trim();
    if reply.starts_with('{') && reply.ends_with('}') {
        return reply;
    }
    if let Some(block) = last_block(reply) {
        return block;
    }
    match (reply.find('{'), reply.rfind('}')) {
        (Some(from), Some(to)) if from < to => &reply[from..=to],
        _ => reply,
    }
}

/// Returns the content of the last fenced block that begins with a brace.
fn last_block(reply: &str) -> Option<&str> {
    let mut found = None;
    let mut rest = reply;
    while let Some(open) = rest.find("```") {
        let after = &rest[open + 3..];
        let body = after.find('\n').map_or("", |end| &after[end + 1..]);
        // A reply that was cut off has no closing fence.
        let end = body.find("\n```").unwrap_or(body.len());
        let block = body[..end].trim();
        if block.starts_with('{') {
            found = Some(block);
        }
        rest = body.get(end + 4..).unwrap_or_default();
    }
    found
}

/// Parses the reply as JSON, if all of it is.
fn json_in(reply: &str) -> Option<Value> {
    let inside = fence::strip_surrounding(reply).unwrap_or(reply);
    tolerant(inside.trim()).ok()
}

/// Finds the last list or object in a reply with prose around it.
fn structure_in(reply: &str) -> Option<Value> {
    let first = reply.find(['[', '{'])?;
    let open = if reply[first..].starts_with('[') {
        '['
    } else {
        '{'
    };
    scan(reply, open).values.pop()
}
