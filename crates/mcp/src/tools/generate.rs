//! `generate`: recipes, listed and run in two passes.

use app::application::{RecipeOutcome, RecipePass, RecipeRunInput};
use recipe::Recipe;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{CallOutcome, NoArguments};
use crate::DrawloomServer;

/// Arguments of `run_recipe`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecipeArguments {
    /// The recipe's name.
    name: String,
    /// Values of its variables by name.
    #[serde(default)]
    values: Map<String, Value>,
    /// Answers to its questions by key.
    #[serde(default)]
    answers: Map<String, Value>,
    /// Show what would be written.
    #[serde(default)]
    dry_run: bool,
}

pub(crate) async fn list(server: &DrawloomServer, _: NoArguments) -> CallOutcome {
    let catalog = server.use_cases.recipes()?;
    let mut recipes = Vec::new();
    for listing in catalog.all() {
        // A recipe that cannot be read says so by its problem.
        let recipe = server.use_cases.recipe(&listing.id).ok();
        recipes.push(json!({
            "name": listing.id,
            "description": listing.description,
            "variables": recipe.as_ref().map(variables),
            "problem": listing.problem.as_ref().map(ToString::to_string),
        }));
    }
    Ok(json!({ "recipes": recipes }))
}

pub(crate) async fn run(server: &DrawloomServer, arguments: RecipeArguments) -> CallOutcome {
    let RecipeArguments {
        name,
        values,
        answers,
        dry_run,
    } = arguments;
    let wish = RecipeRunInput {
        recipe: name,
        values,
        answers,
        is_forced: false,
    };
    let pass = match dry_run {
        true => RecipePass::Preview,
        false => RecipePass::Apply,
    };
    let outcome = server.use_cases.run_recipe(&wish, pass).await?;
    Ok(match outcome {
        RecipeOutcome::Done(report) => json!({ "status": "done", "report": report }),
        RecipeOutcome::Ready(plan) => json!({ "status": "preview", "plan": plan }),
        RecipeOutcome::AnswersNeeded(request) => json!({
            "status": "answers_needed",
            "request": request,
            "next": "call run_recipe again with the same name and values, and `answers` by key",
        }),
        RecipeOutcome::Conflicts(files) => json!({
            "status": "conflicts",
            "files": files,
            "next": format!(
                "nothing was written; a person decides: drawloom run {} --force", wish.recipe
            ),
        }),
    })
}

/// The variables of a recipe, as a caller has to give them.
pub(crate) fn variables(recipe: &Recipe) -> Vec<Value> {
    let variables = recipe.variables();
    let described = variables.iter().map(|(name, variable)| {
        json!({
            "name": name,
            "type": format!("{:?}", variable.kind).to_lowercase(),
            "required": variable.required,
            "description": variable.description.as_ref().or(variable.prompt.as_ref()),
            "values": variable.values,
        })
    });
    described.collect()
}
