//! `prompt`: a value a person is asked for in the middle of a recipe.

use prompt::Source;
use serde_json::{Value as Json, json};

use super::{At, Certainty, Outcome, Walk};
use crate::error::{Error, Kind};
use crate::fields::Text;
use crate::manifest::{PromptKind, PromptStep, Type, Variable};
use crate::scope::Scope;
use crate::unknown::Why;
use crate::variables::typed;

impl Walk<'_> {
    pub(super) fn prompt(
        &mut self,
        at: &mut At<'_>,
        tool: &PromptStep,
        scope: &mut Scope,
    ) -> Result<Outcome, Error> {
        let mut certainty = Certainty::Sure;
        let message = match &tool.message {
            Some(message) => {
                let (text, sure) = self.text(at, message)?;
                certainty = certainty.max(sure);
                Some(text)
            }
            None => None,
        };
        let variable = variable(tool, message);
        self.found
            .variables
            .insert(tool.variable.clone(), variable.clone());
        let given = self.known.values.get(&tool.variable).cloned();
        if let Some(value) = given {
            scope.set_json(&tool.variable, &value);
            return Ok(Outcome::Value(json!({ "value": value })));
        }
        if certainty == Certainty::Later {
            scope.set_unknown(&tool.variable, Why::Asked, "".into(), &self.tracker);
            return Ok(Outcome::Later);
        }
        let source = Source {
            file: at.unit.recipe.file.clone(),
            line: at.step.place.line,
        };
        let mut variable = variable;
        if let Some(default) = &tool.default {
            let (value, _) = self.value(at, &default.value, default.place)?;
            let value = typed(&variable, &value).map_err(|wrong| {
                let message = format!("the default of `{}` {wrong}", tool.variable);
                at.unit.error(Kind::Manifest, default.place, message)
            })?;
            variable.default = Some(crate::manifest::Datum {
                value,
                place: default.place,
            });
        }
        self.want(&tool.variable, &variable, source);
        scope.set_unknown(&tool.variable, Why::Asked, "".into(), &self.tracker);
        Ok(Outcome::Later)
    }
}

/// A prompt step as the variable it fills.
pub(crate) fn variable(tool: &PromptStep, message: Option<String>) -> Variable {
    let kind = match tool.kind {
        PromptKind::Text => Type::String,
        PromptKind::Confirm => Type::Boolean,
        PromptKind::Select | PromptKind::MultiSelect => Type::Enum,
    };
    let pattern = tool.validate.as_ref().map(|text| {
        let bare = text
            .text
            .strip_prefix('/')
            .and_then(|rest| rest.strip_suffix('/'));
        Text {
            text: bare.unwrap_or(&text.text).to_owned(),
            place: text.place,
        }
    });
    Variable {
        kind,
        required: tool.default.is_none(),
        default: None,
        suggestion: tool
            .default
            .as_ref()
            .map(|datum| datum.value.clone())
            .filter(|value| {
                // A template says nothing to a person before it is rendered.
                !matches!(value, Json::String(text) if text.contains("{{"))
            }),
        prompt: message,
        description: None,
        pattern: pattern.filter(|_| kind == Type::String),
        min: None,
        max: None,
        values: tool.options.clone(),
        multiple: tool.kind == PromptKind::MultiSelect,
        position: None,
        secret: false,
        when: None,
        labels: Vec::new(),
        computed: None,
        message: None,
    }
}
