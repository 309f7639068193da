//! Rules that a written answer must keep beyond its kind: its length, its syntax, its imports.
//!
//! They are checked with every other rule, so a broken one is reported in the same words as a wrong
//! type, with the line and the column of the answer.

mod data;
mod imports;
mod javascript;
mod nesting;
mod position;
mod python;
mod rust;
mod syntax;

pub use syntax::GuardedSyntax;

use crate::kinds::BrokenRule;
use crate::problem::AnswerRule;
use crate::questionnaire::{AnswerKind, Question};
use crate::{fence, strict_json, text};
use imports::AnswerImport;
use serde_json::{Map, Value, json};

/// Number of names a rule or a message lists.
const LISTED_MAX: usize = 20;

/// The rules of a written answer. The default allows everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Guardrails {
    /// The language the whole answer must be correct in.
    pub syntax: Option<GuardedSyntax>,
    /// The only modules the answer may import, in addition to its own project's.
    pub allowed_imports: Option<Vec<String>>,
    /// Modules the answer may not import, whatever else allows them.
    pub blocked_imports: Vec<String>,
    /// Fewest characters; from 1 on, white space alone is no answer.
    pub length_min: Option<usize>,
    /// Most characters.
    pub length_max: Option<usize>,
}

impl Guardrails {
    pub fn is_empty(&self) -> bool {
        *self == Guardrails::default()
    }

    /// Returns the rules as sentences for the reader of the question; that an answer must not be
    /// blank goes without saying.
    pub fn rules(&self) -> Vec<String> {
        let mut rules = Vec::new();
        if let Some(syntax) = self.syntax {
            let title = syntax.title();
            rules.push(format!("The answer as a whole is valid {title}."));
        }
        if let Some(allowed) = &self.allowed_imports {
            rules.push(match allowed.is_empty() {
                true => "It imports nothing from outside its own project.".to_owned(),
                false => format!(
                    "It imports nothing from outside its own project but {}.",
                    listed(allowed)
                ),
            });
        }
        if !self.blocked_imports.is_empty() {
            let blocked = listed(&self.blocked_imports);
            rules.push(format!("It never imports {blocked}."));
        }
        match (self.length_min.filter(|min| *min > 1), self.length_max) {
            (Some(min), Some(max)) => {
                rules.push(format!("It has between {min} and {max} characters."));
            }
            (Some(min), None) => rules.push(format!("It has at least {min} characters.")),
            (None, Some(max)) => rules.push(format!("It has at most {max} characters.")),
            (None, None) => {}
        }
        rules
    }

    /// Returns the rules as data; absent ones are left out.
    pub(crate) fn json(&self) -> Value {
        let mut object = Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                object.insert(name.to_owned(), value);
            }
        };
        let blocked = Some(&self.blocked_imports).filter(|blocked| !blocked.is_empty());
        put("syntax", self.syntax.map(|syntax| json!(syntax.name())));
        put(
            "allowedImports",
            self.allowed_imports.as_ref().map(|list| json!(list)),
        );
        put("blockedImports", blocked.map(|list| json!(list)));
        put("minLength", self.length_min.map(|min| json!(min)));
        put("maxLength", self.length_max.map(|max| json!(max)));
        Value::Object(object)
    }
}

/// Checks an answer that has passed the check of its kind; `given` is the value it was made from.
/// Reports every problem at once.
pub(crate) fn check(question: &Question, given: &Value, typed: &Value) -> Result<(), BrokenRule> {
    let rails = &question.guardrails;
    if rails.is_empty() {
        return Ok(());
    }
    let mut found = Vec::new();
    match (typed, &question.kind) {
        // Data is checked as data; the only open question is whether a text was meant as such.
        (_, AnswerKind::Json) => found.extend(check_data(rails, given)),
        (Value::String(answer), _) => {
            found.extend(check_length(rails, answer));
            found.extend(check_code(rails, answer));
        }
        _ => {}
    }
    let mut found = found.into_iter();
    let Some(mut first) = found.next() else {
        return Ok(());
    };
    for other in found {
        first.message.push_str(" It also ");
        first.message.push_str(&other.message);
    }
    Err(first)
}

/// Checks an answer to a question for JSON. Text counts as prose, unless it is JSON itself.
fn check_data(rails: &Guardrails, given: &Value) -> Option<BrokenRule> {
    let (Some(GuardedSyntax::Json), Value::String(written)) = (rails.syntax, given) else {
        return None;
    };
    let inside = fence::strip_surrounding(written).unwrap_or(written).trim();
    let fault = strict_json::parse(inside).err()?;
    let message = format!(
        "is text, and not valid JSON: line {}, column {}: {}. {}",
        fault.line, fault.column, fault.detail, fault.hint
    );
    Some(BrokenRule::new(AnswerRule::Syntax, message))
}

fn check_length(rails: &Guardrails, answer: &str) -> Option<BrokenRule> {
    let length = answer.chars().count();
    let message = if rails.length_min.is_some_and(|min| min > 0) && answer.trim().is_empty() {
        "is empty. Answer it.".to_owned()
    } else if let Some(min) = rails.length_min.filter(|min| length < *min) {
        format!("is too short: {length} characters are less than `minLength` ({min}).")
    } else {
        let max = rails.length_max.filter(|max| length > *max)?;
        format!("is too long: {length} characters exceed `maxLength` ({max}).")
    };
    Some(BrokenRule::new(AnswerRule::Length, message))
}

fn check_code(rails: &Guardrails, answer: &str) -> Vec<BrokenRule> {
    let Some(syntax) = rails.syntax.filter(|_| !answer.trim().is_empty()) else {
        return Vec::new();
    };
    // Readers of data bound their own depth.
    let read = match syntax.has_imports() {
        true => nesting::with_stack_for(answer, move |answer| syntax.read(answer)),
        false => Ok(syntax.read(answer)),
    };
    match read {
        Err(too_much) => vec![BrokenRule::new(AnswerRule::TooLarge, too_much)],
        Ok(Err(fault)) => {
            let title = syntax.title();
            let message = format!("is not valid {title}: {}", fault.sentence(answer));
            vec![BrokenRule::new(AnswerRule::Syntax, message)]
        }
        Ok(Ok(found)) => check_imports(rails, syntax, &found).into_iter().collect(),
    }
}

fn check_imports(
    rails: &Guardrails,
    syntax: GuardedSyntax,
    found: &[AnswerImport],
) -> Option<BrokenRule> {
    let mut wrong = Vec::new();
    for import in found {
        if let Some(why) = imports::refused(rails, syntax, import) {
            wrong.push(why);
        }
    }
    wrong.dedup();
    let more = wrong.len().saturating_sub(LISTED_MAX);
    wrong.truncate(LISTED_MAX);
    if wrong.is_empty() {
        return None;
    }
    let mut message = wrong.join("; ");
    if more > 0 {
        message.push_str(&format!("; and {more} more"));
    }
    message.push('.');
    Some(BrokenRule::new(AnswerRule::Imports, message))
}

/// Lists names: `` `a`, `b` and 3 more ``.
fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(LISTED_MAX);
    let shown: Vec<String> = names
        .iter()
        .take(LISTED_MAX)
        .map(|name| fence::span(&text::shorten(name)))
        .collect();
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
