//! `recipe`: runs a recipe with values that the step maps; its questions go to the configured
//! transport.

use std::sync::Arc;

use ::recipe::{
    GivenValues, OnConflict, RecipeRunMode, RecipeRunOutcome, RecipeRunRequest, RecipeTrust,
    SilentHost,
};
use exec::CommandCancel;
use flow::WorkflowStep;
use flow::engine::{self, AttemptReport, FailureClass};
use serde_json::{Map, Value, json};
use transport::SilentObserver;

use super::budget::{ModelUse, within_budget};
use super::{
    ExecutorContext, ExecutorFuture, StepAttempt, StepExecutor, failed, failed_by, interpolate,
    invalid, needs_text,
};
use super::{on_a_thread, setting, unknown_settings};
use crate::ai::{
    self, AiOverrides, AskOutcome, CallPurpose, LazyAnswerer, RecipeAttempt, RunParticipants,
};
use crate::{Project, recipes, trust};

pub(super) struct RunRecipe;

impl StepExecutor for RunRecipe {
    fn check(&self, step: &WorkflowStep) -> Vec<String> {
        let mut problems = unknown_settings(step, &["recipe", "values", "onConflict"]);
        problems.extend(needs_text(step, "recipe"));
        if setting(step, "values").is_some_and(|values| !values.is_object()) {
            problems.push("`config.values` must be an object: a value for each name.".to_owned());
        }
        if let Some(word) = setting(step, "onConflict")
            && !matches!(word.as_str(), Some("force" | "skip" | "fail"))
        {
            problems.push("`config.onConflict` must be force, skip or fail.".to_owned());
        }
        problems
    }

    fn execute<'a>(&'a self, job: &'a StepAttempt) -> ExecutorFuture<'a> {
        Box::pin(async move {
            let fields = Value::Object(job.step.config.config.clone().unwrap_or_default());
            let fields = match interpolate::json(&fields, &job.state) {
                Ok(Value::Object(fields)) => fields,
                Ok(_) => Map::new(),
                Err(problem) => return invalid(problem),
            };
            let hands = Arc::clone(&job.hands);
            within_budget(job, ModelUse::Perhaps, |wish| {
                on_a_thread(move |cancel| carry_out(&hands, wish, &fields, cancel))
            })
            .await
        })
    }
}

/// Returns the problems of the recipe that a step names, and of the values it gives.
pub(crate) fn problems_of(project: &Project, step: &WorkflowStep) -> Vec<String> {
    let name = setting(step, "recipe").and_then(Value::as_str);
    let Some(name) = name.filter(|name| !name.contains("{{")) else {
        return Vec::new();
    };
    let found = match recipes::find_named(project, name) {
        Ok(found) => found,
        Err(error) => {
            return vec![format!("`recipe`: {error}.")];
        }
    };
    let variables = found.recipe.variables();
    let values = setting(step, "values").and_then(Value::as_object);
    let given = values.into_iter().flatten().map(|(name, _)| name);
    let unknown = given.filter(|given| !variables.contains_key(given.as_str()));
    let told = unknown.map(|given| {
        let names = variables.keys().map(String::as_str);
        let meant = match crate::nearest(given, names.clone()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if variables.is_empty() => "it takes none".to_owned(),
            None => format!("it takes {}", names.collect::<Vec<_>>().join(", ")),
        };
        format!("`values`: the recipe `{name}` has no variable `{given}`; {meant}")
    });
    told.collect()
}

fn carry_out(
    hands: &ExecutorContext,
    wish: AiOverrides,
    fields: &Map<String, Value>,
    cancel: CommandCancel,
) -> AttemptReport {
    let project = &*hands.project;
    let name = fields
        .get("recipe")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let found = match recipes::find_named(project, name) {
        Ok(found) => found,
        Err(error) => return failed_by(&error),
    };
    let own_recipes = match trust::own_recipes(project, &found.recipe) {
        Ok(own_recipes) => own_recipes,
        Err(error) => return failed_by(&error),
    };
    let mut request = request(hands, fields, cancel.clone());
    request.own_recipes = own_recipes;
    let mut silent = SilentObserver;
    let company = RunParticipants {
        person: None,
        observer: &mut silent,
        cancel,
    };
    let mut answerer = LazyAnswerer::new(
        project,
        &hands.surroundings,
        wish,
        CallPurpose::Answer,
        company,
    );
    let ended = ai::answer(&mut answerer, &mut request, &mut |request| {
        let outcome = ::recipe::run(&found.recipe, &project.root, request, &mut SilentHost)?;
        Ok(match outcome {
            RecipeRunOutcome::AnswersNeeded(needed) => RecipeAttempt::Needed(Box::new(needed)),
            RecipeRunOutcome::Done(_) => RecipeAttempt::Done(outcome),
            RecipeRunOutcome::Shown(_) | RecipeRunOutcome::Conflicts(_) => {
                RecipeAttempt::Unwritten(outcome)
            }
        })
    });
    match ended.came {
        Ok(AskOutcome::To(RecipeRunOutcome::Done(report))) => {
            AttemptReport::completed(json!(report))
        }
        Ok(AskOutcome::To(RecipeRunOutcome::Conflicts(conflicts))) => {
            let files: Vec<String> = conflicts.iter().map(|one| one.path.to_string()).collect();
            let message = format!(
                "The recipe `{name}` would change files that exist: {}. Set `config.onConflict`.",
                files.join(", ")
            );
            failed(FailureClass::Failed, message)
        }
        Ok(AskOutcome::Deferred(needed)) => AttemptReport::of(engine::AttemptOutcome::Asked {
            reason: format!(
                "The recipe `{name}` asks questions, and no model or program is set up to answer."
            ),
            output: Some(needed.json),
        }),
        Ok(AskOutcome::To(_) | AskOutcome::Left) => {
            failed(FailureClass::Cancelled, "It was stopped.")
        }
        Err(error) => failed_by(&error),
    }
}

fn request(
    hands: &ExecutorContext,
    fields: &Map<String, Value>,
    cancel: CommandCancel,
) -> RecipeRunRequest {
    let settings = &hands.project.settings;
    let values = fields.get("values").and_then(Value::as_object);
    // A value that is null here is left to the recipe: its default, or its error.
    let known = values.into_iter().flatten();
    let known = known.filter(|(_, value)| !value.is_null());
    let named = known.map(|(name, value)| {
        let words = match value {
            Value::Array(items) => items.iter().map(word).collect(),
            value => vec![word(value)],
        };
        (name.clone(), words)
    });
    RecipeRunRequest {
        values: GivenValues {
            positional: Vec::new(),
            named: named.collect(),
        },
        conflicts: match fields.get("onConflict").and_then(Value::as_str) {
            Some("force") => OnConflict::Force,
            Some("skip") => OnConflict::Skip,
            _ => OnConflict::Fail,
        },
        trust: match settings.run.trust || hands.surroundings.trusts_once {
            true => RecipeTrust::Given,
            false => RecipeTrust::Asked,
        },
        mode: RecipeRunMode::Perform,
        policy: settings.agent.policy.clone(),
        limits: settings.limits,
        now_ms: Some(hands.surroundings.now_ms),
        cancel: Some(cancel),
        ..RecipeRunRequest::default()
    }
}

/// Writes a value as it would be typed.
fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
