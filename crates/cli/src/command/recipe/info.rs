//! `drawloom recipe info`: what a recipe wants and what it does.

use std::fmt::Write as _;

use clap::Args;
use indexmap::IndexMap;
use recipe::manifest::{RecipeManifest, RecipeStep, RecipeVariable, VariableType};
use recipe::{Recipe, RecipeOrigin};
use serde_json::{Map, Value, json};

use crate::arguments::HEADING;
use crate::exit::{CliError, CliExit};
use crate::retry_command::quote;
use crate::session::CliSession;
use crate::{arguments, output, table};

/// Show a recipe's variables, steps and examples
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  drawloom recipe info hello
  drawloom recipe info ./recipes/model.yml --json")]
pub(crate) struct RecipeInfoArgs {
    /// A recipe's name or path
    recipe: String,
    /// Print it as one JSON document
    #[arg(long)]
    json: bool,
}

impl RecipeInfoArgs {
    pub(crate) fn run(&self, session: &CliSession) -> Result<CliExit, CliError> {
        let project = session.project()?;
        let words = [self.recipe.clone()];
        let found = app::recipes::find(&project, &session.surroundings.cwd, &words)?;
        match self.json {
            true => output::json(&as_json(&found.recipe))?,
            false => output::styled(&as_text(&found.recipe, &self.recipe))?,
        }
        Ok(CliExit::Done)
    }
}

/// Describes the recipe for people; `name` is its name on the command line.
pub(crate) fn as_text(recipe: &Recipe, name: &str) -> String {
    let manifest = &recipe.manifest;
    let mut text = output::quoted(&manifest.name).into_owned();
    if let Some(version) = &manifest.version {
        text.push(' ');
        text.push_str(&output::quoted(version));
    }
    // Writing to a String cannot fail.
    if let Some(description) = &manifest.description {
        let _ = write!(text, ": {}", output::quoted(description));
    }
    let _ = write!(text, "\n{}\n", recipe.file);
    if let RecipeOrigin::Outside { .. } = recipe.origin {
        text.push_str("From outside the project: its commands need `--trust`.\n");
    }
    let _ = write!(
        text,
        "\n{HEADING}Usage:{HEADING:#} {}\n",
        usage(manifest, name)
    );
    let variables = recipe.variables();
    if !variables.is_empty() {
        let _ = write!(
            text,
            "\n{HEADING}Variables:{HEADING:#}\n{}",
            indented(&variable_rows(&variables))
        );
    }
    let steps: Vec<Vec<String>> = manifest.steps.iter().map(step_row).collect();
    let _ = write!(text, "\n{HEADING}Steps:{HEADING:#}\n{}", indented(&steps));
    if !manifest.examples.is_empty() {
        let _ = write!(text, "\n{HEADING}Examples:{HEADING:#}\n");
        for example in &manifest.examples {
            let line = example_line(name, &example.variables);
            let (line, title) = (output::quoted(&line), output::quoted(&example.title));
            let _ = writeln!(text, "  {line}  # {title}");
        }
    }
    text
}

fn indented(rows: &[Vec<String>]) -> String {
    table::render(rows)
        .lines()
        .map(|line| format!("  {line}\n"))
        .collect()
}

fn usage(manifest: &RecipeManifest, name: &str) -> String {
    let mut positional: Vec<(&String, &RecipeVariable)> = manifest
        .variables
        .iter()
        .filter(|(_, variable)| variable.position.is_some())
        .collect();
    positional.sort_by_key(|(_, variable)| variable.position);
    let mut words = vec![format!("drawloom run {name}")];
    words.extend(
        positional
            .iter()
            .map(|(name, variable)| match variable.required {
                true => name.to_uppercase(),
                false => format!("[{}]", name.to_uppercase()),
            }),
    );
    if manifest.variables.len() > positional.len() {
        words.push("[--NAME VALUE]...".to_owned());
    }
    words.join(" ")
}

fn variable_rows(variables: &IndexMap<String, RecipeVariable>) -> Vec<Vec<String>> {
    let row = |(name, variable): (&String, &RecipeVariable)| {
        let option = match variable.kind {
            _ if arguments::needs_set(name) => format!("--set {name}={}", kind(variable)),
            VariableType::Boolean => format!("--{name}"),
            _ => format!("--{name} {}", kind(variable)),
        };
        let mut about = about(variable);
        if let Some(option) = arguments::shadowed_options(&[name]).first() {
            let note = format!("drawloom's own --{option} goes before the recipe's name");
            about = match about.is_empty() {
                true => note,
                false => format!("{about}; {note}"),
            };
        }
        vec![option, about]
    };
    variables.iter().map(row).collect()
}

/// Returns notes on variables that are named like options of drawloom.
pub(crate) fn notes_on_names(recipe: &Recipe) -> Vec<String> {
    let variables = recipe.variables();
    let names = variables.keys().filter_map(|name| {
        let is_shadowing = !arguments::shadowed_options(&[name]).is_empty();
        let way = match (arguments::needs_set(name), is_shadowing) {
            (true, _) => format!("it can only be given as `--set {name}=VALUE`"),
            (_, true) => {
                "drawloom's option goes before the recipe's name, the variable after it".to_owned()
            }
            _ => return None,
        };
        Some(format!(
            "`{name}` is named like an option of drawloom: {way}"
        ))
    });
    names.collect()
}

fn kind(variable: &RecipeVariable) -> String {
    match variable.kind {
        VariableType::Enum => variable.values.join("|"),
        kind => kind.as_str().to_uppercase(),
    }
}

fn about(variable: &RecipeVariable) -> String {
    let text = variable.description.as_ref().or(variable.prompt.as_ref());
    let mut notes = Vec::new();
    if variable.required {
        notes.push("required".to_owned());
    }
    if let Some(default) = &variable.default {
        notes.push(format!("default {}", shown(&default.value)));
    }
    if let Some(suggestion) = &variable.suggestion {
        notes.push(format!("e.g. {}", shown(suggestion)));
    }
    if let Some(pattern) = &variable.pattern {
        notes.push(format!("matching {}", pattern.text));
    }
    let range = [("at least", variable.min), ("at most", variable.max)];
    notes.extend(
        range
            .into_iter()
            .filter_map(|(word, at)| Some(format!("{word} {}", at?))),
    );
    if variable.multiple || variable.kind == VariableType::Array {
        notes.push("repeatable".to_owned());
    }
    let notes = notes.join(", ");
    match text {
        Some(text) if notes.is_empty() => text.clone(),
        Some(text) => format!("{text} ({notes})"),
        None => notes,
    }
}

fn shown(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn step_row(step: &RecipeStep) -> Vec<String> {
    let condition = step.when.as_ref().map(|when| format!("when {}", when.text));
    vec![
        step.name.clone(),
        step.tool.name().to_owned(),
        condition.unwrap_or_default(),
    ]
}

fn example_line(name: &str, variables: &Map<String, Value>) -> String {
    let mut words = vec![format!("drawloom run {name}")];
    words.extend(variables.iter().map(|(name, value)| match value {
        Value::Bool(true) => format!("--{name}"),
        Value::Bool(false) => format!("--no-{name}"),
        value => quote(&format!("--{name}={}", shown(value))),
    }));
    words.join(" ")
}

fn as_json(recipe: &Recipe) -> Value {
    let manifest = &recipe.manifest;
    let declared = recipe.variables();
    let variables = declared.iter().map(|(name, variable)| {
        let value = json!({
            "type": variable.kind.as_str(),
            "required": variable.required,
            "default": variable.default.as_ref().map(|default| &default.value),
            "suggestion": variable.suggestion,
            "prompt": variable.prompt,
            "description": variable.description,
            "pattern": variable.pattern.as_ref().map(|pattern| &pattern.text),
            "min": variable.min,
            "max": variable.max,
            "values": variable.values,
            "multiple": variable.multiple,
            "position": variable.position,
        });
        (name.clone(), value)
    });
    let steps = manifest.steps.iter().map(|step| {
        let when = step.when.as_ref().map(|when| &when.text);
        json!({ "name": step.name, "tool": step.tool.name(), "when": when })
    });
    let examples = manifest.examples.iter().map(|example| {
        json!({
            "title": example.title,
            "description": example.description,
            "variables": example.variables,
        })
    });
    json!({
        "name": manifest.name,
        "description": manifest.description,
        "version": manifest.version,
        "file": recipe.file,
        "outside": recipe.is_outside(),
        "variables": variables.collect::<Map<String, Value>>(),
        "steps": steps.collect::<Vec<Value>>(),
        "examples": examples.collect::<Vec<Value>>(),
        "provides": manifest.provides,
    })
}
