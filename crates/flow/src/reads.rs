//! The references of a step: the values it reads when it is executed, so that only those are looked
//! up.

use std::collections::HashMap;

use expr::NameReference;
use serde_json::{Map, Value};

use crate::config::{StepConfig, StepHandler, StepType};
use crate::expression;
use crate::id::StepId;
use crate::workflow::WorkflowStep;

/// Returns the references in the texts of a step, and those that its handler always reads.
pub(crate) fn of(config: &StepConfig) -> Vec<NameReference> {
    let mut reads = unasked(config);
    let context = config.context_from.iter().flatten();
    reads.extend(context.map(|id| NameReference {
        path: vec!["steps".to_owned(), id.clone()],
        offset: 0,
        exact: true,
    }));
    let prompt = config.prompt.iter();
    reads.extend(prompt.flat_map(|text| expression::text_reads(text)));
    // A task of a file is taken as it is written.
    if config.handler != Some(StepHandler::Task) {
        for value in config.config.iter().flat_map(Map::values) {
            collect(value, &mut reads);
        }
    }
    reads
}

/// Adds the item to the references of steps that ask a person or a model inside a foreach, whether
/// or not the prompt mentions it.
pub(crate) fn add_items(steps: &mut [WorkflowStep]) {
    let variables: HashMap<StepId, String> = steps
        .iter()
        .filter(|step| step.step_type == StepType::Foreach)
        .map(|step| (step.id.clone(), step.item_variable().to_owned()))
        .collect();
    for step in steps.iter_mut() {
        let is_asked = step.config.handler.unwrap_or_default() == StepHandler::AiInteraction;
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

/// Returns the references that a handler reads without being told: a command gets the whole state
/// on its standard input; a question is sent with the previous output, and a no-op step passes that
/// on, unless it has an output of its own.
fn unasked(config: &StepConfig) -> Vec<NameReference> {
    let says_output =
        || (config.config.as_ref()).is_some_and(|config| config.contains_key("output"));
    match config.handler.unwrap_or_default() {
        StepHandler::Command => expression::reads("[input, output]"),
        StepHandler::NoOp if says_output() => Vec::new(),
        StepHandler::AiInteraction | StepHandler::NoOp => expression::reads("output"),
        _ => Vec::new(),
    }
}

fn collect(value: &Value, reads: &mut Vec<NameReference>) {
    match value {
        Value::String(text) => reads.extend(expression::text_reads(text)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, reads)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, reads)),
        _ => {}
    }
}
