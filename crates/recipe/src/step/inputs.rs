//! The variables of a recipe: given, defaulted, or still to be asked for.

use std::rc::Rc;

use expr::Value;
use prompt::{AnswerKind, Question, QuestionSource};
use serde_json::{Map, Value as Json, json};

use super::{StepCondition, StepContext, StepPass, ValueCertainty};
use crate::error::{Diagnostic, Error, RecipeErrorKind};
use crate::host::{AskKind, VariablePrompt};
use crate::loaded_recipe::LoadedRecipe;
use crate::manifest::{ManifestValue, RecipeStep, RecipeVariable, StepTool, VariableType};
use crate::scope::VariableScope;
use crate::unknown_values::UnknownReason;
use crate::variables::typed;

/// A variable whose value must be asked for.
#[derive(Clone, Debug)]
pub(crate) struct WantedVariable {
    pub(crate) name: String,
    pub(crate) variable: RecipeVariable,
    pub(crate) source: QuestionSource,
}

impl StepPass<'_> {
    /// Makes the scope a recipe begins with.
    pub(super) fn declare(
        &mut self,
        unit: &Rc<LoadedRecipe>,
        mut scope: VariableScope,
    ) -> Result<VariableScope, Error> {
        let manifest = &unit.recipe.manifest;
        scope.set_json(
            "recipe",
            &json!({
                "name": manifest.name,
                "description": manifest.description,
                "version": manifest.version,
            }),
        );
        for (name, function) in self.project.functions() {
            scope.set(name, function);
        }
        let helpers = unit.helpers()?;
        for name in helpers.keys() {
            scope.set(&name, helpers.get(&name).unwrap_or_default());
        }
        for (name, variable) in &manifest.variables {
            self.found.variables.insert(name.clone(), variable.clone());
            if let Some(computed) = &variable.computed {
                if scope.has(name) {
                    let message = format!("`{name}` is computed, and cannot be given");
                    return Err(unit.error(RecipeErrorKind::Usage, computed.place, message));
                }
                self.set_value(unit, &mut scope, (name, variable), computed)?;
                continue;
            }
            if scope.has(name) {
                continue;
            }
            if let Some(value) = self.known.values.get(name) {
                scope.set_json(name, value);
            } else if variable.default.is_some() {
                self.default(unit, &mut scope, (name, variable))?;
            } else if variable.required && self.is_wanted(unit, &scope, variable)? {
                let line = line_of(unit, name);
                self.want(
                    name,
                    variable,
                    QuestionSource {
                        file: unit.recipe.file.clone(),
                        line,
                    },
                );
                scope.set_unknown(
                    name,
                    UnknownReason::Asked,
                    stand_in(variable),
                    &self.tracker,
                );
            } else {
                scope.set(name, Value::Undefined);
            }
        }
        Ok(scope)
    }

    pub(super) fn want(&mut self, name: &str, variable: &RecipeVariable, source: QuestionSource) {
        if !self.found.wanted.iter().any(|wanted| wanted.name == name) {
            let (name, variable) = (name.to_owned(), variable.clone());
            self.found.wanted.push(WantedVariable {
                name,
                variable,
                source,
            });
        }
    }

    /// Applies a default, which may be a template over the variables before it.
    fn default(
        &mut self,
        unit: &Rc<LoadedRecipe>,
        scope: &mut VariableScope,
        (name, variable): (&str, &RecipeVariable),
    ) -> Result<(), Error> {
        match &variable.default {
            Some(default) => self.set_value(unit, scope, (name, variable), default),
            None => Ok(()),
        }
    }

    /// Returns true if the variable's condition holds, as far as the variables before it are known.
    fn is_wanted(
        &mut self,
        unit: &Rc<LoadedRecipe>,
        scope: &VariableScope,
        variable: &RecipeVariable,
    ) -> Result<bool, Error> {
        let mut step = nameless();
        step.when.clone_from(&variable.when);
        let at = StepContext {
            unit,
            step: &step,
            scope: scope.clone(),
        };
        // A variable that depends on a value still asked for is asked for in the next round.
        Ok(matches!(self.condition(&at)?, StepCondition::Yes))
    }

    /// Sets a variable from a value of the manifest, which may be a template over those before it.
    fn set_value(
        &mut self,
        unit: &Rc<LoadedRecipe>,
        scope: &mut VariableScope,
        (name, variable): (&str, &RecipeVariable),
        default: &ManifestValue,
    ) -> Result<(), Error> {
        let step = nameless();
        let at = StepContext {
            unit,
            step: &step,
            scope: scope.clone(),
        };
        let (value, certainty) = self.value(&at, &default.value, default.place)?;
        match certainty {
            ValueCertainty::Later => {
                scope.set_unknown(
                    name,
                    UnknownReason::Asked,
                    stand_in(variable),
                    &self.tracker,
                );
            }
            _ => {
                let value = typed(variable, &value).map_err(|wrong| {
                    let message = format!("the default of `{name}` {wrong}");
                    unit.error(RecipeErrorKind::Manifest, default.place, message)
                })?;
                scope.set_json(name, &value);
            }
        }
        Ok(())
    }
}

impl WantedVariable {
    /// Makes the question for a person.
    pub(crate) fn ask(&self) -> VariablePrompt {
        let variable = &self.variable;
        let message = variable
            .prompt
            .clone()
            .or_else(|| variable.description.clone());
        VariablePrompt {
            name: self.name.clone(),
            message: message.unwrap_or_else(|| self.name.clone()),
            kind: ask_kind(variable),
            default: variable.default.as_ref().map(|datum| datum.value.clone()),
            suggestion: variable.suggestion.clone(),
            labels: labels(variable),
            is_secret: variable.secret,
        }
    }

    /// Makes the question for the document.
    pub(crate) fn question(&self) -> Question {
        let variable = &self.variable;
        let mut question = Question::new(self.name.clone(), self.source.clone());
        let texts = [variable.prompt.as_deref(), variable.description.as_deref()];
        let mut texts: Vec<&str> = texts.into_iter().flatten().collect();
        texts.dedup();
        question.prompt = match texts.is_empty() {
            true => format!("A value for the variable `{}`.", self.name),
            false => texts.join("\n\n"),
        };
        if let Some(suggestion) = &variable.suggestion {
            question.examples.push(match suggestion {
                Json::String(text) => text.clone(),
                other => other.to_string(),
            });
        }
        question.format = format_of(variable);
        let words = || {
            variable
                .values
                .iter()
                .map(|word| Json::String(word.clone()))
                .collect()
        };
        question.kind = match variable.kind {
            VariableType::String | VariableType::File | VariableType::Directory => AnswerKind::Text,
            VariableType::Number => AnswerKind::Number,
            VariableType::Boolean => AnswerKind::Boolean,
            VariableType::Enum if variable.multiple => AnswerKind::Pick { from: words() },
            VariableType::Enum => AnswerKind::Select { from: words() },
            VariableType::Array => AnswerKind::List,
            VariableType::Object => AnswerKind::Json,
        };
        if variable.kind == VariableType::Object {
            question.schema = Some(json!({ "type": "object" }));
        }
        question
    }
}

/// Makes one error that lists everything that is missing.
pub(crate) fn missing(wanted: &[WantedVariable]) -> Error {
    let names: Vec<String> = wanted
        .iter()
        .map(|wanted| {
            let what = wanted
                .variable
                .description
                .as_ref()
                .or(wanted.variable.prompt.as_ref());
            let what = what.map_or_else(String::new, |what| format!(": {what}"));
            format!(
                "`{}` ({}{what})",
                wanted.name,
                wanted.variable.kind.as_str()
            )
        })
        .collect();
    let flags: Vec<String> = wanted
        .iter()
        .map(|wanted| format!("--{} VALUE", wanted.name))
        .collect();
    let message = match names.len() {
        1 => format!("a required value is missing: {}", names[0]),
        count => format!("{count} required values are missing: {}", names.join(", ")),
    };
    let diagnostic = Diagnostic::new(message).hint(format!(
        "give {}, or have them asked for with the other questions: --ask document",
        flags.join(" ")
    ));
    Error::of(RecipeErrorKind::Missing, vec![diagnostic])
}

/// Returns the label of each allowed word, in the order of the words.
fn labels(variable: &RecipeVariable) -> Vec<String> {
    let label = |word: &String| {
        let found = variable.labels.iter().find(|(of, _)| of == word);
        found.map_or_else(|| word.clone(), |(_, label)| label.clone())
    };
    variable.values.iter().map(label).collect()
}

fn ask_kind(variable: &RecipeVariable) -> AskKind {
    match variable.kind {
        VariableType::String | VariableType::File | VariableType::Directory => AskKind::Text,
        VariableType::Number => AskKind::Number,
        VariableType::Boolean => AskKind::Confirm,
        VariableType::Enum if variable.multiple => AskKind::MultiSelect(variable.values.clone()),
        VariableType::Enum => AskKind::Select(variable.values.clone()),
        VariableType::Array => AskKind::List,
        VariableType::Object => AskKind::Object,
    }
}

fn format_of(variable: &RecipeVariable) -> String {
    let mut rules = Vec::new();
    if let Some(pattern) = &variable.pattern {
        rules.push(format!(
            "It must match the regular expression `{}`.",
            pattern.text
        ));
    }
    match (variable.min, variable.max) {
        (Some(min), Some(max)) => rules.push(format!("Between {min} and {max}.")),
        (Some(min), None) => rules.push(format!("At least {min}.")),
        (None, Some(max)) => rules.push(format!("At most {max}.")),
        (None, None) => {}
    }
    if matches!(variable.kind, VariableType::File | VariableType::Directory) {
        rules.push("A path inside the project.".to_owned());
    }
    rules.join(" ")
}

/// Returns the value a variable has until its real value is known.
fn stand_in(variable: &RecipeVariable) -> Value {
    match variable.kind {
        VariableType::Number => Value::Number(0.0),
        VariableType::Boolean => Value::Bool(false),
        VariableType::Array => Value::array(Vec::new()),
        VariableType::Enum if variable.multiple => Value::array(Vec::new()),
        VariableType::Object => Value::from_json(&Json::Object(Map::new())),
        _ => Value::from(""),
    }
}

fn line_of(unit: &LoadedRecipe, name: &str) -> u32 {
    let wanted = format!("{name}:");
    let found = unit
        .recipe
        .text
        .lines()
        .position(|line| line.trim_start().starts_with(&wanted));
    found
        .and_then(|index| u32::try_from(index + 1).ok())
        .unwrap_or(1)
}

/// Returns a step without a name, for texts outside any step.
pub(super) fn nameless() -> RecipeStep {
    RecipeStep {
        name: String::new(),
        place: crate::error::FileSpan::default(),
        tool: StepTool::EnsureDirs(crate::manifest::EnsureDirs { paths: Vec::new() }),
        description: None,
        when: None,
        depends_on: Vec::new(),
        continue_on_error: false,
        timeout: None,
        retries: 0,
        variables: Map::new(),
        environment: Vec::new(),
        exports: Vec::new(),
        for_each: None,
        parallel: false,
    }
}
