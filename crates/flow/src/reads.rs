//! What a step reads when it is worked on, so that only that is looked up.

use expr::Reference;
use serde_json::{Map, Value};

use crate::config::{Config, Handler};
use crate::expression;

/// What the texts of a step name, and what its handler takes unasked.
pub(crate) fn of(config: &Config) -> Vec<Reference> {
    let mut reads = unasked(config);
    let prompt = config.prompt.iter();
    reads.extend(prompt.flat_map(|text| expression::text_reads(text)));
    for value in config.config.iter().flat_map(Map::values) {
        collect(value, &mut reads);
    }
    reads
}

/// A command is told everything on its standard input; a question goes with what came before, and a
/// step that does nothing hands that on, unless it says what it gives.
fn unasked(config: &Config) -> Vec<Reference> {
    let says_output =
        || (config.config.as_ref()).is_some_and(|config| config.contains_key("output"));
    match config.handler.unwrap_or_default() {
        Handler::Command => expression::reads("[input, output]"),
        Handler::NoOp if says_output() => Vec::new(),
        Handler::AiInteraction | Handler::NoOp => expression::reads("output"),
        _ => Vec::new(),
    }
}

fn collect(value: &Value, reads: &mut Vec<Reference>) {
    match value {
        Value::String(text) => reads.extend(expression::text_reads(text)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, reads)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, reads)),
        _ => {}
    }
}
