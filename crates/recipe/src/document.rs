//! The document that asks for missing answers, as text and as data.

use std::rc::Rc;

use prompt::{DocumentInput, Questionnaire, RequestId, document};
use serde_json::{Map, Value};
use template::{MapLoader, TemplateEngine, TemplateLayout};

use crate::error::Error;
use crate::evaluate::from_template;
use crate::request::{NeededAnswers, RecipeRunRequest};

/// Name of the built-in template in errors.
const BUILT_IN: &str = "document.jig";
const GIVEN: &str = "prompt template";

/// Writes the document for the missing answers of a round.
pub(crate) fn write(
    missing: Questionnaire,
    round: &RequestId,
    request: &RecipeRunRequest,
    (provided, asked): (Vec<(String, Value)>, Map<String, Value>),
) -> Result<NeededAnswers, Error> {
    // Values that a person typed are not on the command line; without them the next run would ask
    // again.
    let command = format!(
        "{}{}{}",
        request.rerun_command,
        options(&asked),
        request.rerun_end
    );
    let input = DocumentInput {
        title: None,
        command: command.clone(),
        answers_path: request.answers_path.clone(),
        provided,
    };
    // The document shows only missing questions but carries the id of the whole round, so that
    // answers written in several sittings belong to one request.
    let of_missing = missing.request_id();
    let with_round = |mut value: Value| {
        replace(&mut value, of_missing.as_str(), round.as_str());
        value
    };
    let data = with_round(document::data(&missing, &input));
    let json = with_round(document::json(&missing, &input));
    let document = render(request.prompt_template.as_deref(), &data)?;
    Ok(NeededAnswers {
        questionnaire: missing,
        document,
        json,
        command,
        asked,
    })
}

/// Writes values as options of a command line, each with a space before it.
pub fn options(values: &Map<String, Value>) -> String {
    let option = |(name, value): (&String, &Value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        // The one thing that cannot be quoted is a NUL byte, and no argument can hold one.
        let quoted =
            shlex::try_quote(&text).map_or_else(|_| text.clone(), |text| text.into_owned());
        match value {
            Value::Bool(_) => format!(" --{name}={quoted}"),
            _ if text.starts_with('-') || text.is_empty() => format!(" --{name}={quoted}"),
            _ => format!(" --{name} {quoted}"),
        }
    };
    values.iter().map(option).collect()
}

fn render(template: Option<&str>, data: &Value) -> Result<String, Error> {
    let (name, text) = match template {
        Some(text) => (GIVEN, text),
        None => (BUILT_IN, prompt::DOCUMENT_TEMPLATE),
    };
    let engine = TemplateEngine::new(Rc::new(MapLoader::new()));
    let compiled = engine
        .compile(name, text, TemplateLayout::Jig)
        .map_err(|error| from_template(&error))?;
    let state = match data {
        Value::Object(map) => expr::JsObject::from_json_map(map),
        _ => expr::JsObject::new(),
    };
    let rendered = engine.render(&compiled, &state, &Default::default());
    Ok(rendered.map_err(|error| from_template(&error))?.text)
}

fn replace(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text.contains(from) => *text = text.replace(from, to),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, from, to)),
        Value::Object(map) => map.values_mut().for_each(|item| replace(item, from, to)),
        _ => {}
    }
}
