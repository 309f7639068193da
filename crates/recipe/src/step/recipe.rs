//! `recipe`: a recipe within a recipe. Its questions join the parent's, its files land in the project.

use std::rc::Rc;

use prompt::suggestion;
use serde_json::Value as Json;

use super::{At, Certainty, Outcome, RECIPE_DEPTH_MAX, Walk};
use crate::error::{Error, Kind};
use crate::manifest::SubRecipe;
use crate::scope::Scope;
use crate::unit::Unit;
use crate::unknown::Why;
use crate::variables::typed;

impl Walk<'_> {
    /// Decides a whole recipe over the values it is given; its final scope comes back.
    pub(crate) fn recipe(&mut self, unit: &Rc<Unit>, given: Scope) -> Result<Scope, Error> {
        self.chain.push(unit.recipe.file.clone());
        let mut scope = self.declare(unit, given)?;
        let manifest = &unit.recipe.manifest;
        self.steps(unit, &mut scope, (&manifest.steps, &manifest.order))?;
        self.chain.pop();
        Ok(scope)
    }

    pub(super) fn sub_recipe(
        &mut self,
        at: &mut At<'_>,
        tool: &SubRecipe,
        scope: &mut Scope,
    ) -> Result<Outcome, Error> {
        let (name, certainty) = self.text(at, &tool.recipe)?;
        if certainty == Certainty::Later {
            return Ok(Outcome::Later);
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
            let error = at.unit.error(Kind::Limit, place, message);
            return Err(error.hint("look for a recipe that runs itself"));
        }
        let given = self.child_values(at, tool, &unit)?;
        let inner = self.recipe(&unit, given)?;
        for name in &unit.recipe.manifest.provides {
            scope.take_over(name, &inner, name);
        }
        Ok(Outcome::Value(Json::Null))
    }

    /// The values a child begins with: inherited, mapped, then given.
    fn child_values(
        &mut self,
        at: &At<'_>,
        tool: &SubRecipe,
        unit: &Rc<Unit>,
    ) -> Result<Scope, Error> {
        let variables = &unit.recipe.manifest.variables;
        let mut given = Scope::default();
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
                let error = at.unit.error(Kind::Manifest, at.step.place, message);
                let hint = suggestion(name, variables.keys().map(String::as_str));
                return Err(error.hint(hint.unwrap_or_else(|| "it declares none".to_owned())));
            }
            let (value, certainty) = self.value(at, value, at.step.place)?;
            match certainty {
                Certainty::Sure => given.set_json(name, &value),
                Certainty::AfterCommand => {
                    let stand_in = expr::Value::from_json(&value);
                    given.set_unknown(name, Why::Command, stand_in, &self.tracker);
                }
                Certainty::Later => given.set_unknown(name, Why::Asked, "".into(), &self.tracker),
            }
        }
        for (name, variable) in variables {
            let Some(value) = given.json(name) else {
                continue;
            };
            let value = typed(variable, &value).map_err(|wrong| {
                let message = format!("for the recipe `{}`, `{name}` {wrong}", tool.recipe.text);
                let error = at.unit.error(Kind::Manifest, at.step.place, message);
                error.hint("give it under `args:`, or set `inheritVariables: false`")
            })?;
            given.set_json(name, &value);
        }
        Ok(given)
    }
}

/// The chain of recipes; where it goes round, once round.
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
