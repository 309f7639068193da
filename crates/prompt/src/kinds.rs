//! The rule of each kind of answer: which values fit, and which typed value they mean.

use crate::problem::AnswerRule;
use crate::questionnaire::{AnswerKind, Question};
use crate::{fence, guardrails, schema, strict_json, text};
use serde_json::{Number, Value};

/// Number of allowed values a message lists.
const LISTED_MAX: usize = 20;

/// The rule a value broke, worded to follow "Answer `key`".
pub(crate) struct BrokenRule {
    pub rule: AnswerRule,
    pub message: String,
}

impl BrokenRule {
    pub(crate) fn new(rule: AnswerRule, message: impl Into<String>) -> Self {
        let message = message.into();
        BrokenRule { rule, message }
    }
}

/// Returns the typed value of an answer other than `null`, by the question's kind, schema and
/// guardrails.
pub(crate) fn typed(question: &Question, value: &Value) -> Result<Value, BrokenRule> {
    let typed = of_kind(question, value)?;
    check_items(question, &typed)?;
    check_not_empty(question, &typed)?;
    guardrails::check(question, value, &typed)?;
    Ok(typed)
}

fn of_kind(question: &Question, value: &Value) -> Result<Value, BrokenRule> {
    let typed = match &question.kind {
        AnswerKind::Any => value.clone(),
        AnswerKind::Text => check_text(value)?,
        AnswerKind::Code { .. } => check_code(value)?,
        AnswerKind::Json => return check_json(question, value),
        AnswerKind::Boolean => check_boolean(value)?,
        AnswerKind::Select { from } => check_select(from, value)?,
        AnswerKind::Pick { from } => check_pick(from, value)?,
        AnswerKind::Order { from } => check_order(from, value)?,
        AnswerKind::Number => check_number(value)?,
        AnswerKind::List => check_list(value)?,
    };
    check_schema(question, &typed)?;
    Ok(typed)
}

/// Refuses an empty text as the answer to a required question.
fn check_not_empty(question: &Question, typed: &Value) -> Result<(), BrokenRule> {
    let is_written = matches!(
        question.kind,
        AnswerKind::Any | AnswerKind::Text | AnswerKind::Code { .. }
    );
    // A schema or a length that allows nothing is a rule of the author's own.
    let is_ruled = question.schema.is_some() || question.guardrails.length_min.is_some();
    match typed {
        Value::String(text)
            if is_written && question.required && !is_ruled && text.trim().is_empty() =>
        {
            let message = "is empty. Answer it, or make the question optional (`required: false`).";
            Err(BrokenRule::new(AnswerRule::Missing, message))
        }
        _ => Ok(()),
    }
}

fn check_items(question: &Question, typed: &Value) -> Result<(), BrokenRule> {
    let (rule, Value::Array(items)) = (
        match question.kind {
            AnswerKind::Pick { .. } => AnswerRule::Pick,
            AnswerKind::List => AnswerRule::List,
            _ => return Ok(()),
        },
        typed,
    ) else {
        return Ok(());
    };
    let count = items.len() as u64;
    let least = question.items.least(question.required);
    if count >= least && question.items.max.is_none_or(|max| count <= max) {
        return Ok(());
    }
    let wanted = question
        .items
        .words()
        .unwrap_or_else(|| "at least 1".to_owned());
    let message = format!("must have {wanted} of them, but has {count}.");
    Err(BrokenRule::new(rule, message))
}

/// Makes the problem `must be X, but is Y.`
fn must_be<T>(rule: AnswerRule, what: &str, found: &Value) -> Result<T, BrokenRule> {
    let message = format!("must be {what}, but is {}.", text::shown(found));
    Err(BrokenRule::new(rule, message))
}

fn check_text(value: &Value) -> Result<Value, BrokenRule> {
    match value {
        Value::String(_) => Ok(value.clone()),
        Value::Array(_) | Value::Object(_) => {
            let message = format!(
                "must be text, but is {}. If the template wants a list or an object, declare \
                 `type: 'json'` in its `@output`.",
                text::shown(value)
            );
            Err(BrokenRule::new(AnswerRule::Text, message))
        }
        _ => must_be(AnswerRule::Text, "text in double quotes", value),
    }
}

fn check_code(value: &Value) -> Result<Value, BrokenRule> {
    match value {
        Value::String(code) => Ok(match fence::strip_surrounding(code) {
            Some(inside) => Value::from(inside),
            None => value.clone(),
        }),
        _ => must_be(AnswerRule::Code, "code as one JSON string", value),
    }
}

/// Checks a JSON answer. A string may be the answer itself or JSON written into a string. The JSON
/// in it is meant, unless only the string fits the schema.
fn check_json(question: &Question, value: &Value) -> Result<Value, BrokenRule> {
    let Value::String(written) = value else {
        check_schema(question, value)?;
        return Ok(value.clone());
    };
    let inside = fence::strip_surrounding(written).unwrap_or(written).trim();
    let parsed = match strict_json::parse(inside) {
        Ok(parsed) if !parsed.is_null() => parsed,
        Err(fault) if inside.starts_with(['{', '[']) => {
            let message = format!(
                "is text that looks like JSON but is wrong at {}:{}: {}. {}",
                fault.line, fault.column, fault.detail, fault.hint
            );
            return Err(BrokenRule::new(AnswerRule::Json, message));
        }
        _ => value.clone(),
    };
    match check_schema(question, &parsed) {
        Ok(()) => Ok(parsed),
        Err(broken) => match check_schema(question, value) {
            Ok(()) => Ok(value.clone()),
            Err(_) => Err(broken),
        },
    }
}

/// Strict, as the JSON Schema that goes out with the question is.
fn check_boolean(value: &Value) -> Result<Value, BrokenRule> {
    match value {
        Value::Bool(_) => Ok(value.clone()),
        _ => must_be(AnswerRule::Boolean, "true or false", value),
    }
}

fn check_number(value: &Value) -> Result<Value, BrokenRule> {
    match value {
        Value::Number(_) => Ok(value.clone()),
        _ => must_be(AnswerRule::Number, "a number", value),
    }
}

/// Reads a bare word as a value, on a terminal or in a reply to a single question, where JSON is
/// not expected.
pub(crate) fn from_word(kind: &AnswerKind, word: &str) -> Option<Value> {
    let word = word.trim().trim_end_matches('.').to_lowercase();
    match (kind, word.as_str()) {
        (AnswerKind::Boolean, "true" | "yes") => Some(Value::Bool(true)),
        (AnswerKind::Boolean, "false" | "no") => Some(Value::Bool(false)),
        (AnswerKind::Number, number) => number.parse::<Number>().ok().map(Value::Number),
        _ => None,
    }
}

fn check_list(value: &Value) -> Result<Value, BrokenRule> {
    match as_list(value) {
        Some(items) => Ok(Value::Array(items)),
        None => must_be(AnswerRule::List, "a JSON array", value),
    }
}

fn check_select(from: &[Value], value: &Value) -> Result<Value, BrokenRule> {
    if let Some(chosen) = member(from, value) {
        return Ok(chosen.clone());
    }
    let offered = text::listed(from.iter(), LISTED_MAX);
    let message = format!(
        "must be one of {offered}, but is {}.{}",
        text::shown(value),
        nearest_choice(from, value)
    );
    Err(BrokenRule::new(AnswerRule::Select, message))
}

fn check_pick(from: &[Value], value: &Value) -> Result<Value, BrokenRule> {
    let offered = text::listed(from.iter(), LISTED_MAX);
    let Some(items) = as_list(value) else {
        let what = format!("a JSON array of some of {offered}");
        return must_be(AnswerRule::Pick, &what, value);
    };
    let mut picked: Vec<Value> = Vec::new();
    let (mut foreign, mut repeated) = (Vec::new(), Vec::new());
    for item in &items {
        match member(from, item) {
            None => foreign.push(item),
            Some(chosen) if picked.contains(chosen) => repeated.push(item),
            Some(chosen) => picked.push(chosen.clone()),
        }
    }
    let faults = faults(&[("not offered", &foreign), ("picked twice", &repeated)]);
    if faults.is_empty() {
        return Ok(Value::Array(picked));
    }
    let hint = foreign
        .first()
        .map_or(String::new(), |item| nearest_choice(from, item));
    let message = format!("must pick from {offered}, each at most once: {faults}.{hint}");
    Err(BrokenRule::new(AnswerRule::Pick, message))
}

fn check_order(from: &[Value], value: &Value) -> Result<Value, BrokenRule> {
    let offered = text::listed(from.iter(), LISTED_MAX);
    let Some(items) = as_list(value) else {
        let what = format!("a JSON array of all of {offered}, in order");
        return must_be(AnswerRule::Order, &what, value);
    };
    let mut left: Vec<&Value> = from.iter().collect();
    let mut ordered = Vec::with_capacity(from.len());
    let (mut foreign, mut repeated) = (Vec::new(), Vec::new());
    for item in &items {
        match left.iter().position(|choice| same(choice, item)) {
            Some(at) => ordered.push(left.remove(at).clone()),
            None if member(from, item).is_some() => repeated.push(item),
            None => foreign.push(item),
        }
    }
    let faults = faults(&[
        ("missing", &left),
        ("not offered", &foreign),
        ("repeated", &repeated),
    ]);
    if faults.is_empty() {
        return Ok(Value::Array(ordered));
    }
    let message = format!("must order all of {offered}: {faults}.");
    Err(BrokenRule::new(AnswerRule::Order, message))
}

/// Lists the faults that occurred: `missing: "a"; repeated: "b"`.
fn faults(named: &[(&str, &Vec<&Value>)]) -> String {
    named
        .iter()
        .filter(|(_, values)| !values.is_empty())
        .map(|(name, values)| {
            format!(
                "{name}: {}",
                text::listed(values.iter().copied(), LISTED_MAX)
            )
        })
        .collect::<Vec<_>>()
        .join("; ")
}

fn check_schema(question: &Question, value: &Value) -> Result<(), BrokenRule> {
    let Some(own) = &question.schema else {
        return Ok(());
    };
    let validator = schema::compile(own).map_err(|detail| {
        let message = format!(
            "cannot be checked: its schema is not a usable JSON Schema: {detail}. Correct the schema \
             where the question is asked."
        );
        BrokenRule::new(AnswerRule::BrokenSchema, message)
    })?;
    let violations = schema::violations(&validator, value);
    if violations.is_empty() {
        return Ok(());
    }
    let message = format!("does not match its schema: {}.", violations.join("; "));
    Err(BrokenRule::new(AnswerRule::Schema, message))
}

/// Returns a list, also one written as JSON into a string.
fn as_list(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(items) => Some(items.clone()),
        Value::String(written) => {
            let inside = fence::strip_surrounding(written).unwrap_or(written);
            match strict_json::parse(inside.trim()) {
                Ok(Value::Array(items)) => Some(items),
                _ => None,
            }
        }
        _ => None,
    }
}

fn member<'a>(from: &'a [Value], value: &Value) -> Option<&'a Value> {
    from.iter().find(|choice| same(choice, value))
}

/// Equal as JSON, where `1` and `1.0` are one number.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

fn nearest_choice(from: &[Value], value: &Value) -> String {
    let Value::String(word) = value else {
        return String::new();
    };
    let near = diagnostics::nearest(word, from.iter().filter_map(Value::as_str));
    near.map_or(String::new(), |near| {
        format!(" Did you mean {}?", Value::from(near))
    })
}
