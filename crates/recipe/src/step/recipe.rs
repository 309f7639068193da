//! `recipe`: a recipe within a recipe. Its questions join the parent's, its files land in the project.

use std::rc::Rc;

use diagnostics::suggestion;
use serde_json::Value as Json;

use super::{RECIPE_DEPTH_MAX, StepContext, StepPass, ToolExport, ValueCertainty};
use crate::error::{Error, RecipeErrorKind};
use crate::loaded_recipe::LoadedRecipe;
use crate::manifest::SubRecipe;
use crate::scope::VariableScope;
use crate::unknown_values::UnknownReason;
use crate::variables::typed;

impl StepPass<'_> {
    /// Decides a whole recipe over the values it is given; its final scope comes back.
    pub(crate) fn recipe(
        &mut self,
        unit: &Rc<LoadedRecipe>,
        given: VariableScope,
    ) -> Result<VariableScope, Error> {
        self.chain.push(unit.recipe.file.clone());
        let mut scope = self.declare(unit, given)?;
        let manifest = &unit.recipe.manifest;
        self.steps(unit, &mut scope, (&manifest.steps, &manifest.order))?;
        self.chain.pop();
        Ok(scope)
    }

    pub(super) fn sub_recipe(
        &mut self,
        at: &mut StepContext<'_>,
        tool: &SubRecipe,
        scope: &mut VariableScope,
    ) -> Result<ToolExport, Error> {
        let (name, certainty) = self.text(at, &tool.recipe)?;
        if certainty == ValueCertainty::Later {
            return Ok(ToolExport::Later);
        }
        let place = tool.recipe.place;
        let unit = self
            .library
            .sub(at.unit, name.trim())
            .map_err(|error| error.at(&at.unit.recipe.file, &at.unit.recipe.text, place))?;
        if self.chain.len() >= RECIPE_DEPTH_MAX {
            let message = format!(
                "recipes are nested deeper than RECIPE_DEPTH_MAX = {RECIPE_DEPTH_MAX}: {}",
                cycle(&self.chain)
            );
            let error = at.unit.error(RecipeErrorKind::Limit, place, message);
            return Err(error.hint("look for a recipe that runs itself"));
        }
        let given = self.child_values(at, tool, &unit)?;
        let inner = self.recipe(&unit, given)?;
        for name in &unit.recipe.manifest.provides {
            scope.take_over(name, &inner, name);
        }
        Ok(ToolExport::Value(Json::Null))
    }

    /// Makes the values a child begins with: inherited, mapped, then given.
    fn child_values(
        &mut self,
        at: &StepContext<'_>,
        tool: &SubRecipe,
        unit: &Rc<LoadedRecipe>,
    ) -> Result<VariableScope, Error> {
        let variables = &unit.recipe.manifest.variables;
        let mut given = VariableScope::default();
        let mapped = tool
            .mapping
            .iter()
            .map(|(from, to)| (from.as_str(), to.text.as_str()));
        let inherited = variables.keys().map(|name| (name.as_str(), name.as_str()));
        let inherited = inherited.filter(|_| tool.inherit);
        for (from, to) in inherited.chain(mapped) {
            if !at.scope.has(from)
                || (at.scope.json(from).is_none_or(|value| value.is_null())
                    && at.scope.unknown(from).is_none())
            {
                continue;
            }
            given.take_over(from, &at.scope, to);
        }
        for (name, value) in &tool.args {
            if !variables.contains_key(name) {
                let message = format!("the recipe `{}` has no variable `{name}`", tool.recipe.text);
                let error = at
                    .unit
                    .error(RecipeErrorKind::Manifest, at.step.place, message);
                let hint = suggestion(name, variables.keys().map(String::as_str));
                return Err(error.hint(hint.unwrap_or_else(|| "it declares none".to_owned())));
            }
            let (value, certainty) = self.value(at, value, at.step.place)?;
            match certainty {
                ValueCertainty::Sure => given.set_json(name, &value),
                ValueCertainty::AfterCommand => {
                    let stand_in = expr::Value::from_json(&value);
                    given.set_unknown(name, UnknownReason::Command, stand_in, &self.tracker);
                }
                ValueCertainty::Later => {
                    given.set_unknown(name, UnknownReason::Asked, "".into(), &self.tracker)
                }
            }
        }
        for (name, variable) in variables {
            let Some(value) = given.json(name) else {
                continue;
            };
            let value = typed(variable, &value).map_err(|wrong| {
                let message = format!("for the recipe `{}`, `{name}` {wrong}", tool.recipe.text);
                let error = at
                    .unit
                    .error(RecipeErrorKind::Manifest, at.step.place, message);
                error.hint("give it under `args:`, or set `inheritVariables: false`")
            })?;
            given.set_json(name, &value);
        }
        Ok(given)
    }
}

/// Prints the chain of recipes, with one turn of a cycle.
fn cycle(chain: &[String]) -> String {
    let Some(last) = chain.last() else {
        return String::new();
    };
    match chain.iter().rev().skip(1).position(|link| link == last) {
        Some(before) => {
            let round = &chain[chain.len() - 2 - before..];
            format!("{}, again and again", round.join(" -> "))
        }
        None => chain.join(" -> "),
    }
}
