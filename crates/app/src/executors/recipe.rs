//! `recipe`: runs a recipe with values that the step maps; its questions go to whoever answers here.

use std::sync::Arc;

use ::recipe::{Given, Mode, Nobody, OnConflict, Outcome, Request, Trust};
use exec::Cancel;
use flow::Step;
use flow::engine::{self, FailureClass, Report};
use serde_json::{Map, Value, json};
use transport::Silent;

use super::purse::{Asks, within_budget};
use super::{Executor, Hands, Job, Working, failed, failed_by, fill, invalid, needs_text};
use super::{on_a_thread, setting, unknown_settings};
use crate::ai::{self, Answerer, Attempt, Came, Company, Errand, Wish};
use crate::{recipes, trust};

pub(super) struct RunRecipe;

impl Executor for RunRecipe {
    fn check(&self, step: &Step) -> Vec<String> {
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

    fn execute<'a>(&'a self, job: &'a Job) -> Working<'a> {
        Box::pin(async move {
            let fields = Value::Object(job.step.config.config.clone().unwrap_or_default());
            let fields = match fill::json(&fields, &job.state) {
                Ok(Value::Object(fields)) => fields,
                Ok(_) => Map::new(),
                Err(problem) => return invalid(problem),
            };
            let hands = Arc::clone(&job.hands);
            within_budget(job, Asks::Perhaps, |wish| {
                on_a_thread(move |cancel| carry_out(&hands, wish, &fields, cancel))
            })
            .await
        })
    }
}

fn carry_out(hands: &Hands, wish: Wish, fields: &Map<String, Value>, cancel: Cancel) -> Report {
    let project = &*hands.project;
    let name = fields
        .get("recipe")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let found = match recipes::find(project, project.folder(), &[name.to_owned()]) {
        Ok(found) => found,
        Err(error) => return failed_by(&error),
    };
    let own_recipes = match trust::own_recipes(project, &found.recipe) {
        Ok(own_recipes) => own_recipes,
        Err(error) => return failed_by(&error),
    };
    let mut request = request(hands, fields, cancel.clone());
    request.own_recipes = own_recipes;
    let mut silent = Silent;
    let company = Company {
        person: None,
        observer: &mut silent,
        cancel,
    };
    let mut answerer = Answerer::new(project, &hands.surroundings, wish, Errand::Answer, company);
    let ended = ai::answer(&mut answerer, &mut request, &mut |request| {
        let outcome = ::recipe::run(&found.recipe, &project.root, request, &mut Nobody)?;
        Ok(match outcome {
            Outcome::AnswersNeeded(needed) => Attempt::Needed(Box::new(needed)),
            Outcome::Done(_) => Attempt::Done(outcome),
            Outcome::Shown(_) | Outcome::Conflicts(_) => Attempt::Unwritten(outcome),
        })
    });
    match ended.came {
        Ok(Came::To(Outcome::Done(report))) => Report::completed(json!(report)),
        Ok(Came::To(Outcome::Conflicts(conflicts))) => {
            let files: Vec<String> = conflicts.iter().map(|one| one.path.to_string()).collect();
            let message = format!(
                "The recipe `{name}` would change files that exist: {}. Set `config.onConflict`.",
                files.join(", ")
            );
            failed(FailureClass::Failed, message)
        }
        Ok(Came::Deferred(needed)) => Report::of(engine::Outcome::Asked {
            reason: format!("The recipe `{name}` asks questions, and nobody is set up to answer."),
            output: Some(needed.json),
        }),
        Ok(Came::To(_) | Came::Left) => failed(FailureClass::Cancelled, "It was stopped."),
        Err(error) => failed_by(&error),
    }
}

fn request(hands: &Hands, fields: &Map<String, Value>, cancel: Cancel) -> Request {
    let settings = &hands.project.settings;
    let values = fields.get("values").and_then(Value::as_object);
    // What is not known here is left to the recipe: its default, or its refusal.
    let known = values.into_iter().flatten();
    let known = known.filter(|(_, value)| !value.is_null());
    let named = known.map(|(name, value)| {
        let words = match value {
            Value::Array(items) => items.iter().map(word).collect(),
            value => vec![word(value)],
        };
        (name.clone(), words)
    });
    Request {
        values: Given {
            positional: Vec::new(),
            named: named.collect(),
        },
        conflicts: match fields.get("onConflict").and_then(Value::as_str) {
            Some("force") => OnConflict::Force,
            Some("skip") => OnConflict::Skip,
            _ => OnConflict::Fail,
        },
        trust: match settings.run.trust || hands.surroundings.trusts_once {
            true => Trust::Given,
            false => Trust::Asked,
        },
        mode: Mode::Perform,
        policy: settings.agent.policy.clone(),
        limits: settings.limits,
        now_ms: Some(hands.surroundings.now_ms),
        cancel: Some(cancel),
        ..Request::default()
    }
}

/// A value as it would be typed.
fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
