//! Prompts that a person can pick in a client: write a workflow, write a recipe, explain a run.

use rmcp::model::{ErrorData, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Map, Value};

/// The name of a prompt, what it is for, its one argument and its text.
struct PromptEntry {
    name: &'static str,
    description: &'static str,
    argument: (&'static str, &'static str),
    text: &'static str,
}

const PROMPTS: [PromptEntry; 3] = [
    PromptEntry {
        name: "write_workflow",
        description: "Write a workflow as a Mermaid diagram that Drawloom can run",
        argument: ("goal", "What the workflow is to do"),
        text: include_str!("prompts/write_workflow.md"),
    },
    PromptEntry {
        name: "write_recipe",
        description: "Write a recipe: templates that become files",
        argument: ("goal", "The files the recipe is to make"),
        text: include_str!("prompts/write_recipe.md"),
    },
    PromptEntry {
        name: "explain_run",
        description: "Explain why a run of a workflow went where it went",
        argument: ("run", "The run's id, or `last`"),
        text: include_str!("prompts/explain_run.md"),
    },
];

pub(crate) fn list() -> Vec<Prompt> {
    let prompts = PROMPTS.iter().map(|entry| {
        let (name, description) = entry.argument;
        let argument = PromptArgument::new(name)
            .with_description(description)
            .with_required(true);
        Prompt::new(entry.name, Some(entry.description), Some(vec![argument]))
    });
    prompts.collect()
}

pub(crate) fn get(
    name: &str,
    arguments: &Map<String, Value>,
) -> Result<GetPromptResult, ErrorData> {
    let Some(entry) = PROMPTS.iter().find(|entry| entry.name == name) else {
        let message = format!("there is no prompt `{name}`");
        return Err(ErrorData::invalid_params(message, None));
    };
    let (argument, _) = entry.argument;
    let Some(given) = arguments.get(argument).and_then(Value::as_str) else {
        let message = format!("the prompt `{name}` needs the argument `{argument}`");
        return Err(ErrorData::invalid_params(message, None));
    };
    // The text is the author's; what the person gave is put at its end and read by a model only.
    let text = format!("{}\n{argument}: {given}\n", entry.text);
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description(entry.description))
}
