//! The words a model is given for a task. What is the same for all tasks comes first.

use std::fmt::Write;

use llm::SystemBlock;

use super::context::TaskContext;
use crate::plan;
use crate::task::{Criterion, Task};

/// Returns the system prompt of `code_generation`.
pub(super) fn code_generation() -> Vec<SystemBlock> {
    vec![SystemBlock::stable(include_str!(
        "../prompts/code_generation.md"
    ))]
}

/// Returns the system prompt of `ai_interaction`.
pub(super) fn ai_interaction() -> Vec<SystemBlock> {
    vec![SystemBlock::stable(include_str!(
        "../prompts/ai_interaction.md"
    ))]
}

/// Returns the system prompt of `planning`, with the schema that a plan has to fit.
pub(super) fn planning() -> Vec<SystemBlock> {
    let schema = plan::schema().to_string();
    let text = include_str!("../prompts/planning.md");
    vec![SystemBlock::stable(format!(
        "{text}\n{}",
        fenced("json", &schema)
    ))]
}

/// Returns the message to the model about a plan that cannot be run.
pub(super) fn plan_correction(problems: &str) -> String {
    include_str!("../prompts/plan_correction.md").replace("{{problems}}", &fenced("", problems))
}

/// Returns the message that describes the task.
pub(super) fn of_task(task: &Task, context: &TaskContext) -> String {
    let mut text = format!("# Task: {}\n", task.title());
    if !task.description.is_empty() {
        write!(text, "\n{}\n", task.description.trim_end()).ok();
    }
    let steps = task.instructions.iter().enumerate();
    let steps: Vec<String> = steps
        .map(|(index, step)| format!("{}. {}", index + 1, step.trim_end()))
        .collect();
    section(&mut text, "Instructions", &steps.join("\n"));
    section(&mut text, "Context", context.text.trim_end());
    section(
        &mut text,
        "Constraints",
        &list(task.constraints.iter().map(String::as_str)),
    );
    let outputs = task.output_artifacts.iter().map(|path| format!("`{path}`"));
    let outputs: Vec<String> = outputs.collect();
    section(
        &mut text,
        "Output artifacts: these files have to be there in the end",
        &list(outputs.iter().map(String::as_str)),
    );
    let criteria: Vec<String> = task.validation_criteria.iter().map(criterion).collect();
    section(
        &mut text,
        "Validation: this is checked when you say that you are done",
        &list(criteria.iter().map(String::as_str)),
    );
    let raw = task.raw_text.as_deref().unwrap_or_default().trim();
    if !raw.is_empty() {
        let language = if raw.starts_with('{') { "json" } else { "" };
        section(
            &mut text,
            "The task as it was written",
            fenced(language, raw).trim_end(),
        );
    }
    text
}

/// Makes a fenced block that its content cannot end.
pub(super) fn fenced(language: &str, body: &str) -> String {
    prompt::document::fenced(language, body) + "\n"
}

fn section(text: &mut String, heading: &str, body: &str) {
    if !body.is_empty() {
        write!(text, "\n## {heading}\n\n{body}\n").ok();
    }
}

fn list<'i>(items: impl Iterator<Item = &'i str>) -> String {
    let items: Vec<String> = items.map(|item| format!("- {}", item.trim_end())).collect();
    items.join("\n")
}

fn criterion(criterion: &Criterion) -> String {
    match criterion {
        Criterion::Run(run) => match &run.cwd {
            Some(cwd) => format!("the command `{}` in `{cwd}` ends with code 0", run.run),
            None => format!("the command `{}` ends with code 0", run.run),
        },
        Criterion::FileExists(file) => format!("`{}` exists", file.file_exists),
        Criterion::Describe(description) => description.describe.clone(),
        Criterion::Text(text) => text.clone(),
    }
}
