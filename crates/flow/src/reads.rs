//! What a step reads when it is worked on, so that only that is looked up.

use std::collections::HashMap;

use expr::Reference;
use serde_json::{Map, Value};

use crate::config::{Config, Handler, StepType};
use crate::expression;
use crate::id::StepId;
use crate::workflow::Step;

/// What the texts of a step name, and what its handler takes unasked.
pub(crate) fn of(config: &Config) -> Vec<Reference> {
    let mut reads = unasked(config);
    let context = config.context_from.iter().flatten();
    reads.extend(context.map(|id| Reference {
        path: vec!["steps".to_owned(), id.clone()],
        offset: 0,
        exact: true,
    }));
    let prompt = config.prompt.iter();
    reads.extend(prompt.flat_map(|text| expression::text_reads(text)));
    for value in config.config.iter().flat_map(Map::values) {
        collect(value, &mut reads);
    }
    reads
}

/// Whoever is asked inside of a foreach is told about the item, whether the prompt mentions it or not.
pub(crate) fn add_items(steps: &mut [Step]) {
    let variables: HashMap<StepId, String> = steps
        .iter()
        .filter(|step| step.step_type == StepType::Foreach)
        .map(|step| (step.id.clone(), step.item_variable().to_owned()))
        .collect();
    for step in steps.iter_mut() {
        let is_asked = step.config.handler.unwrap_or_default() == Handler::AiInteraction;
        if !is_asked || !step.has_work() {
            continue;
        }
        let mut around = step.scope.clone();
        if step.step_type == StepType::Foreach {
            around.push(step.id.clone());
        }
        let names = around.iter().rev().filter_map(|id| variables.get(id));
        step.item_variables = names.take(1).cloned().collect();
        for name in &step.item_variables {
            step.reads
                .extend(expression::reads(&format!("[{name}, total]")));
        }
    }
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
