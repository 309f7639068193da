//! The variables of a recipe: given, defaulted, or wanted from somebody.

use std::rc::Rc;

use expr::Value;
use prompt::{AnswerKind, Question, Source};
use serde_json::{Map, Value as Json, json};

use super::{At, Certainty, Condition, Walk};
use crate::error::{Diagnostic, Error, Kind};
use crate::host::{Ask, AskKind};
use crate::manifest::{Datum, Step, Tool, Type, Variable};
use crate::scope::Scope;
use crate::unit::Unit;
use crate::unknown::Why;
use crate::variables::typed;

/// A value somebody must be asked for.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    pub(crate) variable: Variable,
    pub(crate) source: Source,
}

impl Walk<'_> {
    /// The scope a recipe begins with.
    pub(super) fn declare(&mut self, unit: &Rc<Unit>, mut scope: Scope) -> Result<Scope, Error> {
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
        for (name, variable) in &manifest.variables {
            self.found.variables.insert(name.clone(), variable.clone());
            if let Some(computed) = &variable.computed {
                if scope.has(name) {
                    let message = format!("`{name}` is computed, and cannot be given");
                    return Err(unit.error(Kind::Usage, computed.place, message));
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
                    Source {
                        file: unit.recipe.file.clone(),
                        line,
                    },
                );
                scope.set_unknown(name, Why::Asked, stand_in(variable), &self.tracker);
            } else {
                scope.set(name, Value::Undefined);
            }
        }
        Ok(scope)
    }

    pub(super) fn want(&mut self, name: &str, variable: &Variable, source: Source) {
        if !self.found.wanted.iter().any(|wanted| wanted.name == name) {
            let (name, variable) = (name.to_owned(), variable.clone());
            self.found.wanted.push(Wanted {
                name,
                variable,
                source,
            });
        }
    }

    /// Applies a default, which may be a template over the variables before it.
    fn default(
        &mut self,
        unit: &Rc<Unit>,
        scope: &mut Scope,
        (name, variable): (&str, &Variable),
    ) -> Result<(), Error> {
        match &variable.default {
            Some(default) => self.set_value(unit, scope, (name, variable), default),
            None => Ok(()),
        }
    }

    /// Whether the variable's condition holds, as far as the variables before it say.
    fn is_wanted(
        &mut self,
        unit: &Rc<Unit>,
        scope: &Scope,
        variable: &Variable,
    ) -> Result<bool, Error> {
        let mut step = nameless();
        step.when.clone_from(&variable.when);
        let at = At {
            unit,
            step: &step,
            scope: scope.clone(),
        };
        // What depends on a value that is still asked for is asked in the next round.
        Ok(matches!(self.condition(&at)?, Condition::Yes))
    }

    /// Sets a variable from a value of the manifest, which may be a template over those before it.
    fn set_value(
        &mut self,
        unit: &Rc<Unit>,
        scope: &mut Scope,
        (name, variable): (&str, &Variable),
        default: &Datum,
    ) -> Result<(), Error> {
        let step = nameless();
        let at = At {
            unit,
            step: &step,
            scope: scope.clone(),
        };
        let (value, certainty) = self.value(&at, &default.value, default.place)?;
        match certainty {
            Certainty::Later => {
                scope.set_unknown(name, Why::Asked, stand_in(variable), &self.tracker);
            }
            _ => {
                let value = typed(variable, &value).map_err(|wrong| {
                    let message = format!("the default of `{name}` {wrong}");
                    unit.error(Kind::Manifest, default.place, message)
                })?;
                scope.set_json(name, &value);
            }
        }
        Ok(())
    }
}

impl Wanted {
    /// The question for a person.
    pub(crate) fn ask(&self) -> Ask {
        let variable = &self.variable;
        let message = variable
            .prompt
            .clone()
            .or_else(|| variable.description.clone());
        Ask {
            name: self.name.clone(),
            message: message.unwrap_or_else(|| self.name.clone()),
            kind: ask_kind(variable),
            default: variable.default.as_ref().map(|datum| datum.value.clone()),
            suggestion: variable.suggestion.clone(),
            refused: None,
            labels: labels(variable),
            is_secret: variable.secret,
        }
    }

    /// The question for the document.
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
            Type::String | Type::File | Type::Directory => AnswerKind::Text,
            Type::Number => AnswerKind::Number,
            Type::Boolean => AnswerKind::Boolean,
            Type::Enum if variable.multiple => AnswerKind::Pick { from: words() },
            Type::Enum => AnswerKind::Select { from: words() },
            Type::Array => AnswerKind::List,
            Type::Object => AnswerKind::Json,
        };
        if variable.kind == Type::Object {
            question.schema = Some(json!({ "type": "object" }));
        }
        question
    }
}

/// One error that lists everything that is missing.
pub(crate) fn missing(wanted: &[Wanted]) -> Error {
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
    Error::of(Kind::Missing, vec![diagnostic])
}

/// What each allowed word is called, in the order of the words.
fn labels(variable: &Variable) -> Vec<String> {
    let label = |word: &String| {
        let found = variable.labels.iter().find(|(of, _)| of == word);
        found.map_or_else(|| word.clone(), |(_, label)| label.clone())
    };
    variable.values.iter().map(label).collect()
}

fn ask_kind(variable: &Variable) -> AskKind {
    match variable.kind {
        Type::String | Type::File | Type::Directory => AskKind::Text,
        Type::Number => AskKind::Number,
        Type::Boolean => AskKind::Confirm,
        Type::Enum if variable.multiple => AskKind::MultiSelect(variable.values.clone()),
        Type::Enum => AskKind::Select(variable.values.clone()),
        Type::Array => AskKind::List,
        Type::Object => AskKind::Object,
    }
}

fn format_of(variable: &Variable) -> String {
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
    if matches!(variable.kind, Type::File | Type::Directory) {
        rules.push("A path inside the project.".to_owned());
    }
    rules.join(" ")
}

/// What a variable reads as until its value is known.
fn stand_in(variable: &Variable) -> Value {
    match variable.kind {
        Type::Number => Value::Number(0.0),
        Type::Boolean => Value::Bool(false),
        Type::Array => Value::array(Vec::new()),
        Type::Enum if variable.multiple => Value::array(Vec::new()),
        Type::Object => Value::from_json(&Json::Object(Map::new())),
        _ => Value::from(""),
    }
}

fn line_of(unit: &Unit, name: &str) -> u32 {
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

/// Texts outside any step are evaluated as if a nameless one had them.
pub(super) fn nameless() -> Step {
    Step {
        name: String::new(),
        place: crate::error::Place::default(),
        tool: Tool::EnsureDirs(crate::manifest::EnsureDirs { paths: Vec::new() }),
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
